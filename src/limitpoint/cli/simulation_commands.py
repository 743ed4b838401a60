"""The commands that simulate: the exact flow, training, and many runs at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import limitpoint as lp
from limitpoint.cli.application import command
from limitpoint.cli.names import PROBES, chosen, completing, hyphened
from limitpoint.cli.optimiser_options import (
    BatchSeed,
    BatchSize,
    LearningRate,
    NoiseSize,
    OptimiserName,
    Settings,
    Shuffle,
    Steps,
    check_batch_size,
    gd_and_sgd,
    named_optimiser,
    optimiser_of,
)
from limitpoint.cli.output import Json, Plot, judge, not_reached, save, show
from limitpoint.cli.problem_options import Margin
from limitpoint.cli.problem_reading import check_margin, on_a_problem
from limitpoint.cli.typed_values import numbers
from limitpoint.errors import LimitpointError, NoTheoremApplies

if TYPE_CHECKING:
    from limitpoint.dynamics import Spectrum
    from limitpoint.problem import Problem

__all__: list[str] = []

# The theorem behind the bound on the loss.
RATE = "labarriere2024.theorem2"

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
ProbeNames = Annotated[
    list[str] | None,
    typer.Option(
        "--probe",
        metavar="NAME",
        help=f"Record this too: {', '.join(hyphened(PROBES))}, or your own; may be repeated.",
        autocompletion=completing(*PROBES),
    ),
]
BothSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of both, like momentum=0.9; may be repeated."),
]
Seeds = Annotated[int, typer.Option(help="Number of runs of SGD at each scale.")]
ScaleList = Annotated[
    str | None, typer.Option("--scales", help="Scales, like 0.1,1,10 (default: the problem's).")
]


@command("flow")
@on_a_problem()
def flow_command(
    problem: "Problem",
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
    space = lp.ParameterSpace() if parameters else None
    trajectory = lp.flow(problem, t_end=t_end, margin=margin, space=space)
    show(trajectory, json_)
    curve = lp.atlas.convergence_bound(problem, trajectory.times) if bound else None
    save(plot_, lambda: lp.plot.plot_trajectory(trajectory, bound=curve))
    judge(trajectory.status, *_end_of(t_end))


def _end_of(t_end: float | None) -> "list[lp.Status]":
    """A flow that was given an end need not converge before it."""
    return [] if t_end is None else [lp.Status.REACHED_END]


def _check_bound(problem: "Problem", path: Path | None) -> None:
    """Refuse a bound that would not be drawn, or that does not hold."""
    if path is None:
        raise LimitpointError("--bound needs --plot: it is drawn, not printed")
    if RATE not in {theorem.id for theorem in lp.explain(problem).applicable}:
        raise LimitpointError(f"--bound: {RATE} does not apply here; see limitpoint explain")


@command("direction")
@on_a_problem()
def direction_command(
    problem: "Problem", log_margin: LogMargin = None, json_: Json = False, plot_: Plot = None
) -> None:
    """Follow the direction of a classification's flow to its end.

    Over margins beyond all floats. Exit status 3 if it still turns there.
    """
    from limitpoint.dynamics import limit_direction

    end: dict[str, Any] = {} if log_margin is None else {"log_margin": log_margin}
    found = limit_direction(problem, **end)
    show(found, json_)
    save(plot_, lambda: lp.plot.plot_limit_direction(found))
    if log_margin is None and found.status is lp.Status.SEPARATED:
        not_reached("SEPARATED: the direction had not converged; see limitpoint direction --help")
    judge(found.status)


@command("train")
@on_a_problem()
def train_command(
    problem: "Problem",
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
    """Train by gradient descent, SGD or with noise on the labels.

    By gradient descent unless --batch-size, --label-noise or --optimiser says otherwise. Exit
    status 3 if it diverges; a run that has not converged by its last step is what was asked for.
    """
    check_batch_size(batch_size, problem)
    rule = (
        optimiser_of(learning_rate, batch_size, shuffle, batch_seed, label_noise)
        if optimiser is None and not settings
        else named_optimiser(optimiser, learning_rate, settings)
    )
    trajectory = lp.train(problem, rule, steps)
    show(trajectory, json_)
    save(plot_, lambda: lp.plot.plot_trajectory(trajectory))
    judge(trajectory.status, lp.Status.REACHED_END)


@command("sweep")
@on_a_problem()
def sweep_command(
    problem: "Problem",
    learning_rate: LearningRate = 1e-3,
    batch_size: Annotated[int, typer.Option(help="Samples in a batch of SGD.")] = 1,
    shuffle: Shuffle = False,
    scales: ScaleList = None,
    seeds: Seeds = 10,
    probes: ProbeNames = None,
    settings: BothSettings = None,
    steps: Steps = 20_000,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Train by GD and by SGD at many scales and seeds.

    Which of the two ends nearer to minimum norm? Exit status 3 if runs diverge.
    """
    from limitpoint import dynamics

    if seeds < 1:
        raise LimitpointError(f"--seeds must be at least 1; it is {seeds}")
    check_batch_size(batch_size, problem)
    known = [chosen(name, dynamics.PROBES, "--probe") for name in probes or ()]
    found = lp.train_many(
        problem,
        gd_and_sgd(learning_rate, batch_size, shuffle, settings),
        steps,
        scales=None if scales is None else numbers(scales, "--scales"),
        seeds=range(seeds),
        probes=[dynamics.made_probe(name) for name in known] or None,
    )
    show(found, json_)
    save(plot_, lambda: lp.plot.plot_sweep(found))
    if found.diverged.any():
        not_reached(
            f"DIVERGED: {found.diverged.sum()} of {found.diverged.size} runs; the learning rate "
            "is too large for them"
        )


@command("spectrum")
@on_a_problem()
def spectrum_command(
    problem: "Problem",
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
    """Follow the singular values of the layers and coefficients.

    With predicted limits and, on whitened data, predicted jump times in the figure.
    """
    from limitpoint.dynamics import spectrum

    if learning_rate is None:
        if batch_size is not None or label_noise is not None:
            raise LimitpointError("--batch-size and --label-noise need --learning-rate")
        run = lp.flow(problem, t_end=t_end)
    else:
        check_batch_size(batch_size, problem)
        optimiser = optimiser_of(learning_rate, batch_size, shuffle, batch_seed, label_noise)
        run = lp.train(problem, optimiser, steps)
    found = spectrum(run)
    if not 1 <= layer <= len(found.layers):
        raise LimitpointError(f"--layer must be from 1 to {len(found.layers)}; it is {layer}")
    show(found, json_)
    save(plot_, lambda: _draw_spectrum(problem, found, layer - 1))
    judge(run.status, *_end_of(t_end if learning_rate is None else 0.0))


def _draw_spectrum(problem: "Problem", found: "Spectrum", layer: int) -> Any:
    """With what is predicted, where something is."""
    import numpy as np

    from limitpoint.theory import spectral_jumps

    try:
        limit = lp.predict(problem)
    except NoTheoremApplies:
        limit = None
    ends = None
    if limit is not None and limit.layers is not None and limit.layers[layer].ndim == 2:
        ends = np.linalg.svd(limit.layers[layer], compute_uv=False)
    try:
        jumps = spectral_jumps(problem) if found.steps is None else None
    except LimitpointError:
        jumps = None
    return lp.plot.plot_spectrum(found, layer=layer, predicted=ends, jumps=jumps)
