"""The options that make an optimiser."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

import limitpoint as lp
from limitpoint.cli.names import OPTIMISERS, chosen, completing, hyphened
from limitpoint.cli.wording import as_typed
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.dynamics import Optimiser
    from limitpoint.problem import Problem

__all__ = [
    "BatchSeed",
    "BatchSize",
    "LearningRate",
    "NoiseSize",
    "OptimiserName",
    "Settings",
    "Shuffle",
    "Steps",
    "check_batch_size",
    "gd_and_sgd",
    "named_optimiser",
    "optimiser_of",
]

TRUTHS = {"true": True, "false": False}

LearningRate = Annotated[float, typer.Option(help="Learning rate of gradient descent.")]
BatchSize = Annotated[
    int | None, typer.Option(help="Samples in a batch: stochastic gradient descent.")
]
Shuffle = Annotated[
    bool, typer.Option("--shuffle", help="Batches without replacement, reshuffled every epoch.")
]
OptimiserName = Annotated[
    str | None,
    typer.Option(
        "--optimiser",
        help=f"An optimiser by its name: {', '.join(hyphened(OPTIMISERS))}, or your own.",
        autocompletion=completing(*OPTIMISERS),
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of --optimiser, like momentum=0.9 or nesterov=true; may be repeated.",
    ),
]
NoiseSize = Annotated[
    float | None, typer.Option(help="Add noise of this size to the labels at every step.")
]
BatchSeed = Annotated[int, typer.Option(help="Seed of the batches, or of the noise.")]
Steps = Annotated[int, typer.Option(help="Number of training steps.")]


def check_batch_size(batch_size: int | None, problem: "Problem") -> None:
    """Refuse batches of more samples than there are."""
    samples = problem.task.n_samples
    if batch_size is not None and batch_size > samples:
        raise LimitpointError(
            f"--batch-size must be at most the number of samples, {samples}; it is {batch_size}"
        )


def optimiser_of(
    learning_rate: float,
    batch_size: int | None,
    shuffle: bool,
    seed: int,
    label_noise: float | None = None,
) -> "Optimiser":
    """Gradient descent, SGD where a batch size is given, or with noise on the labels."""
    if label_noise is not None:
        if batch_size is not None or shuffle:
            raise LimitpointError("--label-noise does not go with --batch-size or --shuffle")
        return lp.LabelNoise(learning_rate, label_noise, seed=seed)
    if batch_size is not None:
        return lp.SGD(learning_rate, batch_size, replacement=not shuffle, seed=seed)
    if shuffle or seed != 0:
        raise LimitpointError("--shuffle and --batch-seed belong to --batch-size")
    return lp.GD(learning_rate)


def named_optimiser(
    name: str | None, learning_rate: float, settings: list[str] | None
) -> "Optimiser":
    """An optimiser of the registry, with its settings as NAME=VALUE."""
    from limitpoint import dynamics

    if name is None:
        raise LimitpointError("--set belongs to --optimiser: add it")
    kind = chosen(name, dynamics.OPTIMISERS, "--optimiser")
    return _made(kind, {"learning_rate": learning_rate, **_values(settings)})


def gd_and_sgd(
    learning_rate: float, batch_size: int, shuffle: bool, settings: list[str] | None
) -> "list[Optimiser]":
    """Gradient descent and SGD, with the same settings."""
    given = {"learning_rate": learning_rate, **_values(settings)}
    batches = {"batch_size": batch_size, "replacement": not shuffle}
    return [_made("gd", given), _made("sgd", batches | given)]


def _made(kind: str, given: dict[str, Any]) -> "Optimiser":
    """From the registry; complaints name the options."""
    from limitpoint import dynamics

    made = dynamics.OPTIMISERS[kind]
    known = [field.name for field in fields(made)]  # type: ignore[arg-type]  # data classes all
    typed = {key: f"--set {key}" for key in known} | {"learning_rate": "--learning-rate"}
    with as_typed(typed):
        return dynamics.made_optimiser(kind, **given)


def _values(settings: list[str] | None) -> dict[str, Any]:
    """NAME=NUMBER, true or false."""
    given: dict[str, Any] = {}
    for setting in settings or ():
        key, sign, value = setting.partition("=")
        if sign and value.lower() in TRUTHS:
            given[key] = TRUTHS[value.lower()]
            continue
        try:
            number = float(value)
        except ValueError:
            sign = ""
        if not sign:
            raise LimitpointError(
                f"--set must be like batch_size=2 or nesterov=true; it is {setting!r}"
            )
        given[key] = int(number) if number.is_integer() and "." not in value else number
    return given
