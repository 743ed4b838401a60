"""The command that draws the plane picture of Yun et al. (2021), Figures 1 and 3."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from limitpoint.cli.application import command
from limitpoint.cli.output import Json, Plot, judge, save, show
from limitpoint.cli.problem_options import (
    Classify,
    Header,
    IndexColumn,
    LossFactor,
    LossName,
    Margin,
    XFile,
    YFile,
)
from limitpoint.cli.problem_reading import given_of, read_options
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.tasks import Task

__all__: list[str] = []


@command("plane")
def plane_command(
    X: XFile = None,
    y: YFile = None,
    header: Header = None,
    index_column: IndexColumn = None,
    classify: Classify = False,
    loss: LossName = None,
    loss_factor: LossFactor = None,
    scale: Annotated[float, typer.Option(help="Scale of the initialisation.")] = 0.5,
    starts: Annotated[int, typer.Option(help="Number of starts.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the starts.")] = 0,
    margin: Margin = None,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Follow three networks in the plane from the same coefficients.

    Dense, diagonal and convolutional, of two layers, on data with two features, as in Yun et al.
    (2021), Figures 1 and 3; without --X and --y on the data of these figures.
    """
    options = given_of(locals())
    from limitpoint.cli.plane_runs import follow

    task = read_options(options) if "X" in options or "y" in options else _example(options)
    found = follow(task, scale, starts, seed, margin)
    show(found, json_)
    save(plot_, found.figure)
    for one in found.runs:
        judge(one.run.status)


def _example(options: dict[str, Any]) -> "Task":
    """The data of the figures, with the loss that is asked for."""
    from limitpoint import examples
    from limitpoint.tasks import Classification, Regression, Task

    settings = {name: options[name] for name in ("loss", "loss_factor") if name in options}
    make: Callable[..., Task] = Classification if "classify" in options else Regression
    if "loss" in settings and make is Regression:
        raise LimitpointError("--loss belongs to --classify: add it")
    task = examples.yun_two_points() if make is Classification else examples.yun_point()
    return make(task.X, task.y, **settings)
