"""The options that make a problem, shared by all commands that are about one."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from limitpoint.cli.application import Command, flag, panel
from limitpoint.cli.names import (
    LOSSES,
    NETWORKS,
    SHORT_NETWORKS,
    completing,
    did_you_mean,
    hyphened,
)
from limitpoint.cli.typed_values import numbers, scale_number
from limitpoint.cli.wording import as_typed
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.init import Init
    from limitpoint.networks import Network
    from limitpoint.problem import Problem
    from limitpoint.tasks import Task

__all__ = ["check_margin", "on_a_problem", "read_options"]

ProblemFile = Annotated[
    Path | None, typer.Argument(help="A problem file (TOML). Or give --X and --y.")
]
XFile = Annotated[str | None, typer.Option("--X", help="Data matrix: CSV, NPY or NPZ file.")]
YFile = Annotated[
    str | None, typer.Option("--y", help="Targets, or classes -1 and 1: CSV, NPY or NPZ file.")
]
Sensors = Annotated[
    str | None, typer.Option(help="Square matrices instead of --X: matrix sensing (NPY, NPZ, CSV).")
]
Classify = Annotated[
    bool, typer.Option("--classify", help="Separate the classes -1 and 1 instead of fitting y.")
]
LossName = Annotated[
    str | None,
    typer.Option(
        help="With --classify: exponential (default) or logistic.",
        autocompletion=completing(*LOSSES),
    ),
]
SHORT_NAMES = ", ".join(SHORT_NETWORKS)
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--network",
        help=f"Architecture: {', '.join(hyphened(NETWORKS))}; in short {SHORT_NAMES} "
        "(default diagonal, with --sensors matrix-product).",
        autocompletion=completing(*NETWORKS, *SHORT_NETWORKS),
    ),
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
    str | None,
    typer.Option(
        help="Filter sizes of a convolutional network: 2 is two layers, 2,3 is three; the last "
        "filter is as long as the data, and counts as left out unless the list ends with that "
        "length. Or full, for filters that are all of that length. With --depth the number of "
        "sizes decides."
    ),
]
Scale = Annotated[
    float | None,
    typer.Option(help="Scale of the initialisation, 0 to inf (default 1).", parser=scale_number),
]
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
    bool, typer.Option("--zero-last", help="Start from ones or their like, the last layer zero.")
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
    float | None, typer.Option(help="Factor of the loss, ½‖Xβ − y‖² or Σ e^−margin (default 1).")
]

Margin = Annotated[
    float | None,
    typer.Option(help="Of a classification: stop at this smallest margin (default 1e6)."),
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


# The headings under which --help lists them; what is not named here makes the data.
PANELS = {
    "Network": ("network", "depth", "width", "widths", "filters"),
    "Initialisation": (*SCALES, *STARTS, "seed", "perturbation"),
}
# What stands for a value there, instead of its type.
METAVARS = {
    "file": "PROBLEM",
    **dict.fromkeys(("X", "y", "sensors"), "FILE"),
    **dict.fromkeys(("network", "loss"), "NAME"),
    **dict.fromkeys(("widths", "filters"), "N,..."),
}
# Arguments of tasks, networks and starts, as the options that give them; the others are added.
TYPED = {
    "A": "--sensors",
    "filter_sizes": "--filters",
    "shaped": "--shape",
    "perturbed": "--imbalance",
}


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
    sensors: Sensors = None,
    classify: Classify = False,
    loss: LossName = None,
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
) -> "Problem":
    """The problem from its file, or from the options."""
    options = {n: v for n, v in locals().items() if v is not None and v is not False}
    from limitpoint.io import load_problem
    from limitpoint.problem import Problem

    if file is not None:
        given = [flag(name) for name in options if name != "file"]
        if given:
            raise LimitpointError(
                f"{', '.join(given)} cannot go with a problem file: give one or the other, not both"
            )
        return load_problem(file)
    with as_typed(TYPED):
        task = read_options(options)
        chosen = _network(options, task)
        return Problem(chosen, _init(chosen, task, options), task)


def _dress(name: str, parameter: inspect.Parameter) -> None:
    """Put an option under its heading, and know it by its name."""
    heading = next((heading for heading, names in PANELS.items() if name in names), "Data")
    settings = panel(parameter, heading)
    settings.metavar = settings.metavar or METAVARS.get(name)
    if name not in ("file", "network"):  # which are words of many messages
        TYPED[name] = flag(parameter)


for _name, _parameter in inspect.signature(_read_problem).parameters.items():
    _dress(_name, _parameter)


def read_options(options: dict[str, Any]) -> "Task":
    """The task that the options for data make."""
    from limitpoint.io import read_task

    samples = [name for name in ("X", "sensors") if name in options]
    if not samples or "y" not in options:
        raise LimitpointError("give a problem file, or both --X and --y")
    if len(samples) > 1:
        raise LimitpointError("--X and --sensors do not go together: each holds the samples")
    if "sensors" in options and "classify" in options:
        raise LimitpointError("--sensors and --classify do not go together: sensors measure")
    if "loss" in options and "classify" not in options:
        raise LimitpointError("--loss belongs to --classify: add it")
    table: dict[str, Any] = {
        name: options[name] for name in ("X", "y", "loss", "loss_factor") if name in options
    }
    if "sensors" in options:
        table |= {"kind": "matrix_sensing", "A": options["sensors"]}
    if "classify" in options:
        table["kind"] = "classification"
    return read_task(table)


def check_margin(problem: "Problem", margin: float | None) -> None:
    """Refuse a margin of what has none."""
    from limitpoint.tasks import Classification

    if margin is not None and not isinstance(problem.task, Classification):
        raise LimitpointError("--margin is for a classification: add --classify")


def _network(options: dict[str, Any], task: "Task") -> "Network":
    from limitpoint.io import ALIASES, NETWORKS, full_name, make_network

    default = "matrix-product" if "sensors" in options else "diagonal"
    name = options.get("network", default)
    kind = full_name(name)
    if kind not in NETWORKS:
        raise LimitpointError(
            f"--network must be one of {', '.join(hyphened(NETWORKS))} (in short {SHORT_NAMES}); "
            f"it is {name}{did_you_mean(name, [*NETWORKS, *ALIASES])}"
        )
    settings: dict[str, Any] = {
        entry: options[entry] for entry in ("depth", "width") if entry in options
    }
    if "widths" in options:
        settings["widths"] = numbers(options["widths"], "--widths", int)
    if "filters" in options:
        filters = options["filters"]
        settings["filter_sizes"] = (
            filters if filters == "full" else numbers(filters, "--filters", int)
        )
    return make_network(kind, task, **settings)


def _init(network: "Network", task: "Task", options: dict[str, Any]) -> "Init":
    """The start that one of the options chooses; a random one by default."""
    from limitpoint.io import INITS

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
