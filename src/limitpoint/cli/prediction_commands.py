"""The commands that predict: limits, saddles, activation times, and which theorem says so."""

from typing import TYPE_CHECKING, Annotated

import typer

import limitpoint as lp
from limitpoint.cli.application import command
from limitpoint.cli.output import Json, Plot, in_one_line, judge, not_reached, save, show, write
from limitpoint.cli.problem_reading import on_a_problem
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.problem import Problem

__all__: list[str] = []

Lowest = Annotated[float, typer.Option("--from", help="The smallest scale.")]
Highest = Annotated[float, typer.Option("--to", help="The largest scale.")]
Points = Annotated[int, typer.Option(help="Number of scales, evenly spaced in logarithms.")]
Digits = Annotated[int, typer.Option(help="Significant digits of every coefficient.")]
AllTheorems = Annotated[bool, typer.Option("--all", help="Every theorem, with all its conditions.")]
Zero = Annotated[bool, typer.Option("--zero", help="Also the limit of vanishing initialisation.")]
Infinity = Annotated[bool, typer.Option("--infinity", help="Also the lazy limit, scale infinity.")]


@command("predict")
@on_a_problem()
def predict_command(problem: "Problem", json_: Json = False, plot_: Plot = None) -> None:
    """Predict the limit of training, with its certificate."""
    limit = lp.predict(problem)
    show(limit, json_)
    save(plot_, lambda: lp.plot.plot_limit(limit))
    judge(limit.status)


@command("prove")
@on_a_problem()
def prove_command(problem: "Problem", digits: Digits = 30, json_: Json = False) -> None:
    """Prove the limit: a ball around every coefficient."""
    proof = lp.prove(problem, digits)
    show(proof, json_)
    if not proof.ok:
        not_reached(f"not proved: {proof.reason}")


@command("saddles")
@on_a_problem(default_scale=0.0)
def saddles_command(problem: "Problem", json_: Json = False, plot_: Plot = None) -> None:
    """Follow the saddles of training as the initialisation vanishes.

    The scale (0 by default here, else below 1) only sets the unit of time.
    """
    from limitpoint.theory import saddles

    path = saddles(problem)
    show(path, json_)
    save(plot_, lambda: lp.plot.plot_saddles(path))
    judge(path.status)


@command("scales")
@on_a_problem(without=("scale", "log_scale", "norm"))
def scales_command(
    problem: "Problem",
    lowest: Lowest = 1e-8,
    highest: Highest = 1e2,
    points: Points = 60,
    zero: Zero = False,
    infinity: Infinity = False,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Predict the limit at many scales of the initialisation."""
    import numpy as np

    if not 0 < lowest < highest < np.inf:
        raise LimitpointError(
            f"--from and --to must be finite with 0 < from < to; they are {lowest:g} and "
            f"{highest:g}. For the limits add --zero or --infinity"
        )
    if points < 2:
        raise LimitpointError(f"--points must be at least 2; it is {points}")
    between = np.geomspace(lowest, highest, points)
    path = lp.predict_path(problem, [*[0.0] * zero, *between, *[np.inf] * infinity])
    show(path, json_)
    save(plot_, lambda: lp.plot.plot_path(path))
    wrong = [limit.status for limit in path.limits if not limit.status.ok]
    if wrong:
        count = f"{len(wrong)} of {len(path.limits)} limits"
        not_reached(f"{count} are not ok, the first {in_one_line(wrong[0])}")


@command("activation")
@on_a_problem(default_scale=0.0)
def activation_command(problem: "Problem", json_: Json = False) -> None:
    """Print how long every coefficient stays inactive.

    As the initialisation vanishes; the scale (0 by default here) only sets the unit of time.
    """
    from limitpoint.networks import activation_times

    names = problem.task.feature_names
    show(activation_times(problem.network, problem.init, feature_names=names), json_)
    if not json_:
        degree = problem.network.degree
        write("The unit is " + ("log(1/s)." if degree == 2 else f"s^{2 - degree}."))


@command("explain")
@on_a_problem()
def explain_command(problem: "Problem", all_: AllTheorems = False, json_: Json = False) -> None:
    """Show which theorem is used, and why the nearest are not.

    With its margin, and what to change.
    """
    found = lp.explain(problem)
    show(found.full() if all_ and not json_ else found, json_)
