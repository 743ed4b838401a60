"""The options that make a problem, shared by all commands that are about one."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from limitpoint.errors import LimitpointError
from limitpoint.init import Init
from limitpoint.networks import Network
from limitpoint.problem import Problem
from limitpoint.problem_file import INITS, NETWORKS, load_problem, make_network, read_data
from limitpoint.tasks import Regression

__all__ = ["Command", "flag", "numbers", "on_a_problem"]

Command = Callable[..., None]

ProblemFile = Annotated[
    Path | None, typer.Argument(help="A problem file (TOML). Or give --X and --y.")
]
XFile = Annotated[str | None, typer.Option("--X", help="Data matrix: CSV, NPY or NPZ file.")]
YFile = Annotated[str | None, typer.Option("--y", help="Targets: CSV, NPY or NPZ file.")]
# On the command line words are joined by hyphens, in problem files by underscores.
KNOWN_NETWORKS = ", ".join(kind.replace("_", "-") for kind in NETWORKS)
NetworkName = Annotated[
    str | None,
    typer.Option("--network", help=f"Architecture: {KNOWN_NETWORKS} (default diagonal)."),
]
Depth = Annotated[
    int | None, typer.Option(help="Number of layers, or the power (default 2; not for paired).")
]
Width = Annotated[
    int | None, typer.Option(help="Width of a rank-one (default 1) or two-layer network.")
]
Widths = Annotated[
    str | None, typer.Option(help="Hidden widths of a fully connected network, like 10,10.")
]
Filters = Annotated[
    str | None, typer.Option(help="Filter sizes of a convolutional network, like 2,10.")
]
Scale = Annotated[float | None, typer.Option(help="Scale of the initialisation (default 1).")]
LogScale = Annotated[
    float | None, typer.Option(help="Natural logarithm of the scale, for scales below 1e-300.")
]
Norm = Annotated[
    float | None, typer.Option(help="Norm of the first coefficients, instead of the scale.")
]
Gamma = Annotated[
    float | None, typer.Option(help="γ of the orthogonal start, instead of the scale √(2γ).")
]
Seed = Annotated[int | None, typer.Option(help="Seed of the random direction (default 0).")]
ZeroLast = Annotated[
    bool, typer.Option("--zero-last", help="Start from ones, the last layer zero; no seed.")
]
Unbiased = Annotated[
    bool, typer.Option("--unbiased", help="Start from layers of ones that cancel; no seed.")
]
Shape = Annotated[
    float | None, typer.Option(help="Start from pairs of this shape, in (-1, 1); no seed.")
]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Start from layers of equal norm (rank-one, dense).")
]
Imbalance = Annotated[
    float | None, typer.Option(help="Start a rank-one network off balance by this Δ.")
]
OneNeuron = Annotated[
    bool, typer.Option("--one-neuron", help="Start with every other hidden layer one neuron wide.")
]
Orthogonal = Annotated[
    bool, typer.Option("--orthogonal", help="Start from orthonormal rows, then zero (two-layer).")
]
Perturbation = Annotated[
    float | None, typer.Option(help="Size of noise added to the orthogonal start (default 0).")
]
LossFactor = Annotated[
    float | None, typer.Option(help="Factor of the loss ½‖Xβ − y‖² (default 1).")
]

# Options that choose the start, and the kind of start that each of them chooses; random if none.
STARTS = {
    "zero_last": "zero_last",
    "unbiased": "unbiased",
    "shape": "shaped",
    "balanced": "balanced",
    "imbalance": "perturbed",
    "one_neuron": "one_neuron",
    "orthogonal": "orthogonal",
}
# Options that belong to some starts only, and those starts where they are not the rule.
OF_SOME_STARTS = {
    "seed": "",
    "norm": "--balanced or --imbalance",
    "gamma": "--orthogonal",
    "perturbation": "--orthogonal",
}
# Options each of which sets the scale.
SCALES = ("scale", "log_scale", "norm", "gamma")


def flag(name: str) -> str:
    """The option of this name."""
    return f"--{name.replace('_', '-')}"


def numbers(text: str, name: str, kind: type = float) -> list[Any]:
    """Numbers separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise LimitpointError(
            f"{flag(name)} must be numbers separated by commas; it is {text!r}"
        ) from None


def on_a_problem(
    default_scale: float = 1.0, without: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Give a command whose first argument is a problem the options that make one."""

    def decorate(command: Command) -> Command:
        making = {
            name: parameter
            for name, parameter in inspect.signature(_read_problem).parameters.items()
            if name not in without
        }
        _, *own = inspect.signature(command).parameters.values()

        @wraps(command)
        def run(**options: Any) -> None:
            made = {name: options.pop(name) for name in making}
            if all(made.get(name) is None for name in ("file", *SCALES)):
                made["scale"] = default_scale
            command(_read_problem(**made), **options)

        shown = [*making.values(), *own]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # for typer
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return run

    return decorate


def _read_problem(
    file: ProblemFile = None,
    X: XFile = None,
    y: YFile = None,
    network: NetworkName = None,
    depth: Depth = None,
    width: Width = None,
    widths: Widths = None,
    filters: Filters = None,
    scale: Scale = None,
    log_scale: LogScale = None,
    norm: Norm = None,
    gamma: Gamma = None,
    seed: Seed = None,
    zero_last: ZeroLast = False,
    unbiased: Unbiased = False,
    shape: Shape = None,
    balanced: Balanced = False,
    imbalance: Imbalance = None,
    one_neuron: OneNeuron = False,
    orthogonal: Orthogonal = False,
    perturbation: Perturbation = None,
    loss_factor: LossFactor = None,
) -> Problem:
    """The problem from its file, or from the options."""
    options = {n: v for n, v in locals().items() if v is not None and v is not False}
    if file is not None:
        given = [flag(name) for name in options if name != "file"]
        if given:
            raise LimitpointError(
                f"{', '.join(given)} cannot go with a problem file: give one or the other, not both"
            )
        return load_problem(file)
    if X is None or y is None:
        raise LimitpointError("give a problem file, or both --X and --y")
    chosen = _network("diagonal" if network is None else network, options)
    task = read_data(X, y, 1.0 if loss_factor is None else loss_factor)
    return Problem(chosen, _init(chosen, task, options), task)


def _network(name: str, options: dict[str, Any]) -> Network:
    kind = name.replace("-", "_")
    if kind not in NETWORKS:
        raise LimitpointError(f"--network must be one of {KNOWN_NETWORKS}; it is {name}")
    settings: dict[str, Any] = {
        entry: options[entry] for entry in ("depth", "width") if entry in options
    }
    if "widths" in options:
        settings["widths"] = numbers(options["widths"], "widths", int)
    if "filters" in options:
        settings["filter_sizes"] = numbers(options["filters"], "filters", int)
    return make_network(kind, **settings)


def _init(network: Network, task: Regression, options: dict[str, Any]) -> Init:
    """The start that one of the options chooses; a random one by default."""
    starts = [name for name in STARTS if name in options]
    kind = INITS[STARTS[starts[0]] if starts else "random"]
    misplaced = [n for n in OF_SOME_STARTS if n in options and n not in kind.takes]
    if misplaced and not starts:
        name = misplaced[0]
        raise LimitpointError(f"{flag(name)} belongs to {OF_SOME_STARTS[name]}: add it")
    if len(starts) > 1 or misplaced:
        clash = " and ".join(flag(name) for name in (*misplaced, *starts))
        raise LimitpointError(f"{clash} do not go together: each is a start of its own")
    given = {"seed": 0} if "seed" in kind.takes else {}
    given |= {
        name: options[name] for name in (*kind.takes, "scale", "log_scale") if name in options
    }
    return kind.make(network, task, **given)
