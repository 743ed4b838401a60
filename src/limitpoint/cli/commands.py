"""The commands."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.figure import Figure

from limitpoint import examples, plot
from limitpoint.cli.output import Json, Plot, conclude, console, save, show
from limitpoint.cli.problem_options import Margin, check_margin, numbers, on_a_problem
from limitpoint.dynamics import (
    GD,
    SGD,
    LabelNoise,
    Optimiser,
    ParameterSpace,
    Spectrum,
    flow,
    limit_direction,
    made_optimiser,
    made_probe,
    spectrum,
    train,
    train_many,
)
from limitpoint.errors import LimitpointError, NoTheoremApplies
from limitpoint.init import Init
from limitpoint.networks import Diagonal, activation_times
from limitpoint.problem import Problem
from limitpoint.theory import (
    convergence_bound,
    explain,
    predict,
    predict_path,
    saddles,
    spectral_jumps,
)
from limitpoint.verify import verify

__all__ = ["app"]

# The theorem behind the bound on the loss.
RATE = "labarriere2024.theorem2"

app = typer.Typer(
    help="Which solution does a linear neural network reach, and by which path?",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

TEnd = Annotated[
    float | None, typer.Option(help="End of the flow (default: convergence, or --margin).")
]
Parameters = Annotated[
    bool, typer.Option("--parameters", help="Integrate in parameter space instead of sample space.")
]
LogMargin = Annotated[
    float | None, typer.Option(help="Logarithm of the margin at which to stop (default: 1e5).")
]
Bound = Annotated[
    bool, typer.Option("--bound", help="Draw the convergence bound over the loss (with --plot).")
]
LearningRate = Annotated[float, typer.Option(help="Learning rate of gradient descent.")]
BatchSize = Annotated[
    int | None, typer.Option(help="Samples in a batch: stochastic gradient descent.")
]
Shuffle = Annotated[
    bool, typer.Option("--shuffle", help="Batches without replacement, reshuffled every epoch.")
]
OptimiserName = Annotated[
    str | None, typer.Option("--optimiser", help="An optimiser by its name: gd, sgd, or your own.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of --optimiser, like batch_size=2; may be repeated."),
]
ProbeNames = Annotated[
    list[str] | None,
    typer.Option("--probe", help="Record this too: start-term, noise-term, or your own."),
]
NoiseSize = Annotated[
    float | None, typer.Option(help="Add noise of this size to the labels at every step.")
]
BatchSeed = Annotated[int, typer.Option(help="Seed of the batches, or of the noise.")]
Steps = Annotated[int, typer.Option(help="Number of training steps.")]
Seeds = Annotated[int, typer.Option(help="Number of runs of SGD at each scale.")]
ScaleList = Annotated[
    str | None, typer.Option("--scales", help="Scales, like 0.1,1,10 (default: the problem's).")
]
Lowest = Annotated[float, typer.Option("--from", help="The smallest scale.")]
Highest = Annotated[float, typer.Option("--to", help="The largest scale.")]
Points = Annotated[int, typer.Option(help="Number of scales, evenly spaced in logarithms.")]
Zero = Annotated[bool, typer.Option("--zero", help="Also the limit of vanishing initialisation.")]
Infinity = Annotated[bool, typer.Option("--infinity", help="Also the lazy limit, scale infinity.")]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"limitpoint {version('limitpoint')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Which solution does a linear neural network reach, and by which path?"""


@app.command("predict")
@on_a_problem()
def predict_command(problem: Problem, json_: Json = False, plot_: Plot = None) -> None:
    """Predict the limit of training, with its certificate."""
    limit = predict(problem)
    show(limit, json_)
    save(plot_, lambda: plot.plot_limit(limit))


@app.command("flow")
@on_a_problem()
def flow_command(
    problem: Problem,
    t_end: TEnd = None,
    margin: Margin = None,
    parameters: Parameters = False,
    bound: Bound = False,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Simulate exact gradient flow."""
    if bound:
        _check_bound(problem, plot_)
    if margin is not None and t_end is not None:
        raise LimitpointError("--margin and --t-end do not go together: each is an end")
    check_margin(problem, margin)
    space = ParameterSpace() if parameters else None
    trajectory = flow(problem, t_end=t_end, margin=margin, space=space)
    show(trajectory, json_)
    curve = convergence_bound(problem, trajectory.times) if bound else None
    save(plot_, lambda: plot.plot_trajectory(trajectory, bound=curve))


@app.command("direction")
@on_a_problem()
def direction_command(
    problem: Problem, log_margin: LogMargin = None, json_: Json = False, plot_: Plot = None
) -> None:
    """Follow the direction of a classification's flow to its end, beyond all margins."""
    found = (
        limit_direction(problem)
        if log_margin is None
        else limit_direction(problem, log_margin=log_margin)
    )
    show(found, json_)
    save(plot_, lambda: plot.plot_limit_direction(found))


def _check_bound(problem: Problem, path: Path | None) -> None:
    """Refuse a bound that would not be drawn, or that does not hold."""
    if path is None:
        raise LimitpointError("--bound needs --plot: it is drawn, not printed")
    if RATE not in {theorem.id for theorem in explain(problem).applicable}:
        raise LimitpointError(f"--bound: {RATE} does not apply here; see limitpoint explain")


@app.command("train")
@on_a_problem()
def train_command(
    problem: Problem,
    learning_rate: LearningRate = 1e-2,
    batch_size: BatchSize = None,
    shuffle: Shuffle = False,
    label_noise: NoiseSize = None,
    batch_seed: BatchSeed = 0,
    optimiser: OptimiserName = None,
    settings: Settings = None,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Train by gradient descent, SGD (--batch-size), with --label-noise or a named --optimiser."""
    rule = (
        _optimiser(learning_rate, batch_size, shuffle, batch_seed, label_noise)
        if optimiser is None and not settings
        else _named_optimiser(optimiser, learning_rate, settings)
    )
    trajectory = train(problem, rule, steps)
    show(trajectory, json_)
    save(plot_, lambda: plot.plot_trajectory(trajectory))


@app.command("verify")
@on_a_problem()
def verify_command(
    problem: Problem,
    learning_rate: Annotated[
        float | None, typer.Option(help="Also train, with this learning rate.")
    ] = None,
    batch_size: BatchSize = None,
    shuffle: Shuffle = False,
    batch_seed: BatchSeed = 0,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Predict, simulate, and certify that the two agree.

    Exit status 1 if they do not, 3 if something decisive could not be compared.
    """
    if learning_rate is None and batch_size is not None:
        raise LimitpointError("--batch-size needs --learning-rate: without it nothing is trained")
    training = (
        None
        if learning_rate is None
        else _optimiser(learning_rate, batch_size, shuffle, batch_seed)
    )
    conclude(verify(problem, training=training, steps=steps), json_, plot_)


def _optimiser(
    learning_rate: float,
    batch_size: int | None,
    shuffle: bool,
    seed: int,
    label_noise: float | None = None,
) -> Optimiser:
    """Gradient descent, SGD where a batch size is given, or with noise on the labels."""
    if label_noise is not None:
        if batch_size is not None or shuffle:
            raise LimitpointError("--label-noise does not go with --batch-size or --shuffle")
        return LabelNoise(learning_rate, label_noise, seed=seed)
    if batch_size is not None:
        return SGD(learning_rate, batch_size, replacement=not shuffle, seed=seed)
    if shuffle or seed != 0:
        raise LimitpointError("--shuffle and --batch-seed belong to --batch-size")
    return GD(learning_rate)


def _named_optimiser(
    name: str | None, learning_rate: float, settings: list[str] | None
) -> Optimiser:
    """An optimiser of the registry, with its settings as NAME=NUMBER."""
    if name is None:
        raise LimitpointError("--set belongs to --optimiser: add it")
    given: dict[str, Any] = {"learning_rate": learning_rate}
    for setting in settings or ():
        key, sign, value = setting.partition("=")
        try:
            number = float(value)
        except ValueError:
            sign = ""
        if not sign:
            raise LimitpointError(f"--set must be like batch_size=2; it is {setting!r}")
        given[key] = int(number) if number.is_integer() and "." not in value else number
    return made_optimiser(name.replace("-", "_"), **given)


@app.command("sweep")
@on_a_problem()
def sweep_command(
    problem: Problem,
    learning_rate: LearningRate = 1e-3,
    batch_size: Annotated[int, typer.Option(help="Samples in a batch of SGD.")] = 1,
    shuffle: Shuffle = False,
    scales: ScaleList = None,
    seeds: Seeds = 10,
    probes: ProbeNames = None,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Train by GD and by SGD at many scales and seeds: who ends nearer to minimum norm?"""
    if seeds < 1:
        raise LimitpointError(f"--seeds must be at least 1; it is {seeds}")
    found = train_many(
        problem,
        [GD(learning_rate), SGD(learning_rate, batch_size, replacement=not shuffle)],
        steps,
        scales=None if scales is None else numbers(scales, "scales"),
        seeds=range(seeds),
        probes=[made_probe(name.replace("-", "_")) for name in probes or ()] or None,
    )
    show(found, json_)
    save(plot_, lambda: plot.plot_sweep(found))


@app.command("spectrum")
@on_a_problem()
def spectrum_command(
    problem: Problem,
    layer: Annotated[int, typer.Option(help="The layer to draw, counted from 1.")] = 1,
    t_end: TEnd = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Train with this learning rate instead of the flow.")
    ] = None,
    batch_size: BatchSize = None,
    shuffle: Shuffle = False,
    label_noise: NoiseSize = None,
    batch_seed: BatchSeed = 0,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Follow the singular values of the layers and of the coefficients.

    With predicted limits and, on whitened data, predicted jump times in the figure.
    """
    if learning_rate is None:
        if batch_size is not None or label_noise is not None:
            raise LimitpointError("--batch-size and --label-noise need --learning-rate")
        run = flow(problem, t_end=t_end)
    else:
        optimiser = _optimiser(learning_rate, batch_size, shuffle, batch_seed, label_noise)
        run = train(problem, optimiser, steps)
    found = spectrum(run)
    if not 1 <= layer <= len(found.layers):
        raise LimitpointError(f"--layer must be from 1 to {len(found.layers)}; it is {layer}")
    show(found, json_)
    save(plot_, lambda: _draw_spectrum(problem, found, layer - 1))


def _draw_spectrum(problem: Problem, found: Spectrum, layer: int) -> Figure:
    """With what is predicted, where something is."""
    try:
        limit = predict(problem)
    except NoTheoremApplies:
        limit = None
    ends = None
    if limit is not None and limit.layers is not None and limit.layers[layer].ndim == 2:
        ends = np.linalg.svd(limit.layers[layer], compute_uv=False)
    try:
        jumps = spectral_jumps(problem) if found.steps is None else None
    except LimitpointError:
        jumps = None
    return plot.plot_spectrum(found, layer=layer, predicted=ends, jumps=jumps)


@app.command("saddles")
@on_a_problem(default_scale=0.0)
def saddles_command(problem: Problem, json_: Json = False, plot_: Plot = None) -> None:
    """Follow the saddles that training visits as the initialisation vanishes.

    The scale (0 by default here, else below 1) only sets the unit of time.
    """
    path = saddles(problem)
    show(path, json_)
    save(plot_, lambda: plot.plot_saddles(path))


@app.command("scales")
@on_a_problem(without=("scale", "log_scale", "norm"))
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
    show(path, json_)
    save(plot_, lambda: plot.plot_path(path))


@app.command("activation")
@on_a_problem(default_scale=0.0)
def activation_command(problem: Problem, json_: Json = False) -> None:
    """Print how long every coefficient stays inactive as the initialisation vanishes.

    The scale (0 by default here) only sets the unit of time.
    """
    names = problem.task.feature_names
    show(activation_times(problem.network, problem.init, feature_names=names), json_)
    if not json_:
        degree = problem.network.degree
        console.print("The unit is", "log(1/s)." if degree == 2 else f"s^{2 - degree}.")


@app.command("explain")
@on_a_problem()
def explain_command(problem: Problem, json_: Json = False) -> None:
    """Show which theorems apply and, for the others, which condition fails and by how much."""
    show(explain(problem), json_)


@app.command("demo")
def demo_command(json_: Json = False, plot_: Plot = None) -> None:
    """Predict, flow, train and verify the 2×4 example of Zhao et al. (2026), Eq. (7)."""
    task = examples.zhao_eq7()
    network = Diagonal(depth=2)
    problem = Problem(network, Init.random(network, task, scale=1e-4, seed=0), task)
    verdict = verify(problem, training=GD(learning_rate=2e-3), steps=60_000)
    if not json_:
        console.print(verdict.limit)
    conclude(verdict, json_, plot_)
