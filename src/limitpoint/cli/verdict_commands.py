"""The commands that certify: a verdict on a problem, and on a built-in example."""

from typing import TYPE_CHECKING, Annotated

import typer

import limitpoint as lp
from limitpoint.cli.application import command
from limitpoint.cli.optimiser_options import (
    BatchSeed,
    BatchSize,
    Shuffle,
    Steps,
    check_batch_size,
    optimiser_of,
)
from limitpoint.cli.output import Json, Plot, conclude, write
from limitpoint.cli.problem_reading import on_a_problem
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.problem import Problem

__all__: list[str] = []


@command("verify")
@on_a_problem()
def verify_command(
    problem: "Problem",
    learning_rate: Annotated[
        float | None, typer.Option(help="Also train, with this learning rate.")
    ] = None,
    batch_size: BatchSize = None,
    shuffle: Shuffle = False,
    batch_seed: BatchSeed = 0,
    steps: Steps = 20_000,
    prove: Annotated[
        bool, typer.Option("--prove", help="Also prove the limit, and compare with the proof.")
    ] = False,
    json_: Json = False,
    plot_: Plot = None,
) -> None:
    """Predict, simulate, and certify that the two agree.

    Exit status 1 if they do not, 3 if something decisive could not be compared.
    """
    if learning_rate is None and batch_size is not None:
        raise LimitpointError("--batch-size needs --learning-rate: without it nothing is trained")
    check_batch_size(batch_size, problem)
    training = (
        None
        if learning_rate is None
        else optimiser_of(learning_rate, batch_size, shuffle, batch_seed)
    )
    conclude(lp.verify(problem, training=training, steps=steps, prove=prove), json_, plot_)


@command("compare")
def compare_command(
    file: Annotated[str, typer.Argument(metavar="PROBLEM", help="The problem, a TOML file.")],
    weights: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="What training came to: an NPZ file of coef or of the layers in order, or a table "
            "or NPY file of coefficients.",
        ),
    ],
    learning_rate: Annotated[
        float | None, typer.Option(help="That of the run, if it is known.")
    ] = None,
    batch_size: BatchSize = None,
    shuffle: Shuffle = False,
    steps: Annotated[int | None, typer.Option(help="Steps of the run, if known.")] = None,
    json_: Json = False,
) -> None:
    """Compare a run made elsewhere with its predicted limit.

    Exit status 1 if they disagree, 3 if something decisive could not be compared.
    """
    problem = lp.io.load_problem(file)
    check_batch_size(batch_size, problem)
    if learning_rate is None and (batch_size is not None or shuffle or steps is not None):
        raise LimitpointError("--batch-size, --shuffle and --steps need --learning-rate")
    training = (
        None if learning_rate is None else optimiser_of(learning_rate, batch_size, shuffle, 0)
    )
    conclude(lp.compare(problem, lp.io.read_run(weights), training, steps=steps), json_, None)


@command("demo")
def demo_command(json_: Json = False, plot_: Plot = None) -> None:
    """Predict, flow, train and verify a built-in example.

    The 2×4 example of Zhao et al. (2026), Eq. (7).
    """
    task = lp.examples.zhao_eq7()
    network = lp.Diagonal(depth=2)
    problem = lp.Problem(network, lp.Init.random(network, task, scale=1e-4, seed=0), task)
    verdict = lp.verify(problem, training=lp.GD(learning_rate=2e-3), steps=60_000)
    if not json_:
        write(f"{verdict.limit}\n")
    conclude(verdict, json_, plot_)
