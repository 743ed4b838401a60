"""What to change in a submodule that keeps a module from being linear in its input."""

from typing import Any

__all__ = ["advice_on"]

# By the name of the module of torch.nn.modules that a class is defined in.
ADVICE = {
    "activation": "Leave the nonlinear activation out",
    "adaptive": "Use a linear read-out, bias=False",
    "batchnorm": "Leave batch normalisation out, and scale X instead",
    "distance": "Use a linear layer, bias=False",
    "dropout": "Leave dropout out: use p=0, or call .eval() on the submodule for training, too",
    "instancenorm": "Leave the normalisation out, and scale X instead",
    "normalization": "Leave the normalisation out, and scale X instead",
    "pooling": "Use average pooling, which is linear, or none",
    "rnn": "Recurrent networks are not linear in their input: use linear layers, bias=False",
    "sparse": "Embeddings take whole numbers: use a linear layer of one-hot features, bias=False",
    "transformer": "Attention is not linear in its input: use linear layers, bias=False",
}
# The names of those that take samples of more than one axis begin so.
SHAPED = ("Conv", "Unfold", "Fold")
UNFLATTEN = "Begin the module with an Unflatten: Unflatten(1, (1, n)) before a Conv1d"
BIAS = "Drop the bias (bias=False), and centre X and y instead"
# Those that the module of `activation` holds, too.
ATTENTION = "MultiheadAttention"


def advice_on(part: Any, *, fails: bool = False) -> str:
    """What would help, in a sentence, empty where that is not known: a part may fail on its input.

    Parameters
    ----------
    part
        The submodule.
    fails
        Whether it cannot be applied to its input at all.
    """
    for kind in type(part).__mro__:
        package, _, group = kind.__module__.rpartition(".")
        if package == "torch.nn.modules" and group in ADVICE:
            return f"{ADVICE['transformer' if kind.__name__ == ATTENTION else group]}."
    if fails:
        return f"{UNFLATTEN}." if type(part).__name__.startswith(SHAPED) else ""
    return f"{BIAS}." if getattr(part, "bias", None) is not None else ""
