"""The `limitpoint` command.

Exit status: 0 if all went well, 1 if a verdict failed, 2 if the input was bad (one line says how).
"""

import inspect
import json
import sys
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

from limitpoint import examples, plot
from limitpoint.dynamics import GD, ParameterSpace, flow, train
from limitpoint.errors import LimitpointError
from limitpoint.init import Init
from limitpoint.networks import Diagonal, Network, growth_times
from limitpoint.problem import Problem
from limitpoint.problem_file import INITS, NETWORKS, load_problem, make_network, read_data
from limitpoint.tasks import Regression
from limitpoint.theory import (
    convergence_bound,
    explain,
    predict,
    predict_path,
    saddles,
    theorems,
)
from limitpoint.verify import Verdict, verify

__all__ = ["main"]

FAILED, BAD_INPUT = 1, 2
# The theorem behind the bound on the loss.
RATE = "labarriere2024.theorem2"
Command = Callable[..., None]

app = typer.Typer(
    help="Which solution does a linear neural network reach, and by which path?",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
console = Console()

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
Scale = Annotated[float | None, typer.Option(help="Scale of the initialisation (default 1).")]
LogScale = Annotated[
    float | None, typer.Option(help="Natural logarithm of the scale, for scales below 1e-300.")
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
LossFactor = Annotated[
    float | None, typer.Option(help="Factor of the loss ½‖Xβ − y‖² (default 1).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
TEnd = Annotated[float | None, typer.Option(help="End of the flow (default: convergence).")]
Parameters = Annotated[
    bool, typer.Option("--parameters", help="Integrate in parameter space instead of sample space.")
]
Bound = Annotated[
    bool, typer.Option("--bound", help="Draw the convergence bound over the loss (with --plot).")
]
LearningRate = Annotated[float, typer.Option(help="Learning rate of gradient descent.")]
Steps = Annotated[int, typer.Option(help="Number of training steps.")]
Lowest = Annotated[float, typer.Option("--from", help="The smallest scale.")]
Highest = Annotated[float, typer.Option("--to", help="The largest scale.")]
Points = Annotated[int, typer.Option(help="Number of scales, evenly spaced in logarithms.")]
Zero = Annotated[bool, typer.Option("--zero", help="Also the limit of vanishing initialisation.")]
Infinity = Annotated[bool, typer.Option("--infinity", help="Also the lazy limit, scale infinity.")]

# Options that choose the start, and the kind of start that each of them chooses.
STARTS = {"seed": "random", "zero_last": "zero_last", "unbiased": "unbiased", "shape": "shaped"}


# What a wrong option or argument raises; the command-line library does not export the class itself.
USAGE_ERROR: Any = typer.BadParameter.__base__


def main() -> None:
    """Run the command, turning bad input into one line and exit status 2."""
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except LimitpointError as error:
        message = str(error)
    except USAGE_ERROR as error:
        message = error.format_message()
    except OSError as error:
        message = f"{error.filename}: {error.strerror}"
    else:
        sys.exit(status if isinstance(status, int) else 0)
    typer.echo(f"error: {message}", err=True)
    sys.exit(BAD_INPUT)


def _checked_plot(path: Path | None) -> Path | None:
    """Refuse a figure that could not be written before anything is computed for it."""
    if path is not None:
        plot.check_format(path)
    return path


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"limitpoint {version('limitpoint')}")
        raise typer.Exit


Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Write a figure to this file.", callback=_checked_plot),
]


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Which solution does a linear neural network reach, and by which path?"""


def _read_problem(
    file: ProblemFile = None,
    X: XFile = None,
    y: YFile = None,
    network: NetworkName = None,
    depth: Depth = None,
    scale: Scale = None,
    log_scale: LogScale = None,
    seed: Seed = None,
    zero_last: ZeroLast = False,
    unbiased: Unbiased = False,
    shape: Shape = None,
    loss_factor: LossFactor = None,
) -> Problem:
    """The problem from its file, or from the options."""
    options = {n: v for n, v in locals().items() if v is not None and v is not False}
    if file is not None:
        given = [_flag(name) for name in options if name != "file"]
        if given:
            raise LimitpointError(
                f"{', '.join(given)} cannot go with a problem file: give one or the other, not both"
            )
        return load_problem(file)
    if X is None or y is None:
        raise LimitpointError("give a problem file, or both --X and --y")
    chosen = _network("diagonal" if network is None else network, depth)
    task = read_data(X, y, 1.0 if loss_factor is None else loss_factor)
    return Problem(chosen, _init(chosen, task, options), task)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _network(name: str, depth: int | None) -> Network:
    kind = name.replace("-", "_")
    if kind not in NETWORKS:
        raise LimitpointError(f"--network must be one of {KNOWN_NETWORKS}; it is {name}")
    return make_network(kind, **({} if depth is None else {"depth": depth}))


def _init(network: Network, task: Regression, options: dict[str, Any]) -> Init:
    """The start that one of the options chooses; a random one by default."""
    starts = [name for name in STARTS if name in options]
    if len(starts) > 1:
        raise LimitpointError(
            f"{' and '.join(_flag(name) for name in starts)} do not go together: "
            "each is a start of its own"
        )
    kind = INITS[STARTS[starts[0]] if starts else "random"]
    given = {"seed": 0} if "seed" in kind.takes else {}
    given |= {
        name: options[name] for name in (*kind.takes, "scale", "log_scale") if name in options
    }
    return kind.make(network, task, **given)


def _on_a_problem(
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
            if all(made.get(name) is None for name in ("file", "scale", "log_scale")):
                made["scale"] = default_scale
            command(_read_problem(**made), **options)

        shown = [*making.values(), *own]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # for typer
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return run

    return decorate


@app.command("predict")
@_on_a_problem()
def predict_command(problem: Problem, json_: Json = False, plot_: Plot = None) -> None:
    """Predict the limit of training, with its certificate."""
    limit = predict(problem)
    _show(limit, json_)
    _save(plot_, lambda: plot.plot_limit(limit))


@app.command("flow")
@_on_a_problem()
def flow_command(
    problem: Problem,
    t_end: TEnd = None,
    parameters: Parameters = False,
    bound: Bound = False,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Simulate exact gradient flow."""
    if bound:
        _check_bound(problem, plot_)
    trajectory = flow(problem, t_end=t_end, space=ParameterSpace() if parameters else None)
    _show(trajectory, json_)
    curve = convergence_bound(problem, trajectory.times) if bound else None
    _save(plot_, lambda: plot.plot_trajectory(trajectory, bound=curve))


def _check_bound(problem: Problem, path: Path | None) -> None:
    """Refuse a bound that would not be drawn, or that does not hold."""
    if path is None:
        raise LimitpointError("--bound needs --plot: it is drawn, not printed")
    if RATE not in {theorem.id for theorem in explain(problem).applicable}:
        raise LimitpointError(f"--bound: {RATE} does not apply here; see limitpoint explain")


@app.command("train")
@_on_a_problem()
def train_command(
    problem: Problem,
    learning_rate: LearningRate = 1e-2,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Train the parameters by gradient descent."""
    trajectory = train(problem, GD(learning_rate), steps)
    _show(trajectory, json_)
    _save(plot_, lambda: plot.plot_trajectory(trajectory))


@app.command("verify")
@_on_a_problem()
def verify_command(
    problem: Problem,
    learning_rate: Annotated[
        float | None, typer.Option(help="Also train, with this learning rate.")
    ] = None,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Predict, simulate, and certify that the two agree; exit status 1 if they do not."""
    training = None if learning_rate is None else GD(learning_rate)
    _conclude(verify(problem, training=training, steps=steps), json_, plot_)


@app.command("saddles")
@_on_a_problem(default_scale=0.0)
def saddles_command(problem: Problem, json_: Json = False, plot_: Plot = None) -> None:
    """Follow the saddles that training visits as the initialisation vanishes.

    The scale (0 by default here, else below 1) only sets the unit of time.
    """
    path = saddles(problem)
    _show(path, json_)
    _save(plot_, lambda: plot.plot_saddles(path))


@app.command("scales")
@_on_a_problem(without=("scale", "log_scale"))
def scales_command(
    problem: Problem,
    lowest: Lowest = 1e-8,
    highest: Highest = 1e2,
    points: Points = 60,
    zero: Zero = False,
    infinity: Infinity = False,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Predict the limit at many scales of the initialisation, from small to large."""
    if not 0 < lowest < highest < np.inf:
        raise LimitpointError(
            f"--from and --to must be finite with 0 < from < to; they are {lowest:g} and "
            f"{highest:g}. For the limits add --zero or --infinity"
        )
    if points < 2:
        raise LimitpointError(f"--points must be at least 2; it is {points}")
    between = np.geomspace(lowest, highest, points)
    path = predict_path(problem, [*[0.0] * zero, *between, *[np.inf] * infinity])
    _show(path, json_)
    _save(plot_, lambda: plot.plot_path(path))


@app.command("growth")
@_on_a_problem(default_scale=0.0)
def growth_command(problem: Problem, json_: Json = False) -> None:
    """Print how long every coefficient stays dormant as the initialisation vanishes.

    The scale (0 by default here) only sets the unit of time.
    """
    _show(growth_times(problem.network, problem.init), json_)
    if not json_:
        degree = problem.network.degree
        console.print("The unit is", "log(1/s)." if degree == 2 else f"s^{2 - degree}.")


@app.command("explain")
@_on_a_problem()
def explain_command(problem: Problem, json_: Json = False) -> None:
    """Show which theorems apply and, for the others, which condition fails and by how much."""
    _show(explain(problem), json_)


@app.command("atlas")
def atlas_command(json_: Json = False) -> None:
    """List every theorem: its source and its statement."""
    if json_:
        fields = ("id", "citation", "concludes", "statement")
        typer.echo(json.dumps([{f: getattr(t, f) for f in fields} for t in theorems()], indent=2))
        return
    for theorem in theorems():
        heading = f"{theorem.id} (concludes a {theorem.concludes})"
        console.print(Text(heading), Text(theorem.statement), Text(theorem.citation), sep="\n")
        console.print()


@app.command("demo")
def demo_command(json_: Json = False, plot_: Plot = None) -> None:
    """Predict, flow, train and verify the 2×4 example of Zhao et al. (2026), Eq. (7)."""
    task = examples.zhao_eq7()
    network = Diagonal(depth=2)
    problem = Problem(network, Init.random(network, task, scale=1e-4, seed=0), task)
    verdict = verify(problem, training=GD(learning_rate=2e-3), steps=60_000)
    if not json_:
        console.print(verdict.limit)
    _conclude(verdict, json_, plot_)


def _show(result: Any, as_json: bool) -> None:
    if as_json:
        typer.echo(_json(result.to_dict()))
    else:
        console.print(result)


def _json(content: Any) -> str:
    """JSON proper: numbers that are not finite become null."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(item) for key, item in value.items()}
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, (float, np.floating)):
            return float(value) if np.isfinite(value) else None
        return value

    return json.dumps(clean(content), indent=2)


def _save(path: Path | None, draw: Any) -> None:
    if path is not None:
        figure: Figure = draw()
        plot.save(figure, path)
        typer.echo(f"figure written to {path}", err=True)


def _conclude(verdict: Verdict, as_json: bool, path: Path | None) -> None:
    _show(verdict, as_json)
    _save(path, lambda: plot.plot_trajectory(verdict.flows[0], verdict.limit, verdict.training))
    if not verdict.passed:
        raise typer.Exit(FAILED)
