"""A problem from its file, or from the options that make one."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from limitpoint.cli.application import Command, flag, panel
from limitpoint.cli.names import did_you_mean, hyphened
from limitpoint.cli.problem_options import (
    METAVARS,
    OF_SOME_STARTS,
    PANELS,
    READING,
    SCALES,
    SHORT_NAMES,
    STARTS,
    TYPED,
    Balanced,
    Classify,
    Depth,
    Filters,
    Gamma,
    Header,
    Imbalance,
    IndexColumn,
    LogScale,
    LossFactor,
    LossName,
    NetworkName,
    Norm,
    OneNeuron,
    Orthogonal,
    Perturbation,
    ProblemFile,
    Scale,
    Seed,
    Sensors,
    Shape,
    Unbiased,
    Width,
    Widths,
    XFile,
    YFile,
    ZeroLast,
)
from limitpoint.cli.typed_values import numbers
from limitpoint.cli.wording import as_typed
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.init import Init
    from limitpoint.networks import Network
    from limitpoint.problem import Problem
    from limitpoint.tasks import Task

__all__ = ["check_margin", "given_of", "on_a_problem", "read_options"]


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
    header: Header = None,
    index_column: IndexColumn = None,
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
    options = given_of(locals())
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


def given_of(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that were given."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and (value is not False or name in READING)
    }


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
        name: options[name]
        for name in ("X", "y", "loss", "loss_factor", *READING)
        if name in options
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
