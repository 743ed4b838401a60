"""How results leave the command: tables, JSON, figures, an exit status."""

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from limitpoint.cli.wording import as_typed
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.status import Status
    from limitpoint.verify import Verdict

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERRUPTED",
    "NOT_REACHED",
    "OVERWRITE",
    "PIPE_CLOSED",
    "Json",
    "Overwrite",
    "Plot",
    "check_free",
    "conclude",
    "in_one_line",
    "judge",
    "naming",
    "not_reached",
    "save",
    "show",
    "tell",
    "write",
]

# The exit statuses besides 0; the last is the shell's for a command that wrote to a closed pipe.
FAILED, BAD_INPUT, NOT_REACHED, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse to write over a file, unless --overwrite says so."""
    if path.is_file() and not overwrite:
        raise LimitpointError(f"{path} is there already: add --overwrite to replace it")


def _checked_plot(context: typer.Context, path: Path | None) -> Path | None:
    """Refuse a figure that could not be written before anything is computed for it."""
    if path is not None and not context.resilient_parsing:
        check_free(path, bool(context.params.get(OVERWRITE.name)))
        from limitpoint.foundation.extras import load_extra

        load_extra("matplotlib.figure", "--plot")
        from limitpoint import plot

        with as_typed({"path": "--plot"}):
            plot.check_format(path)
    return path


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="Write a figure to this file: .png, .pdf or .svg.", callback=_checked_plot
    ),
]
# Eager: known when the names of files are checked.
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a file that is there already.", is_eager=True)
]
OVERWRITE = inspect.Parameter(
    "overwrite", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Overwrite
)


def write(text: str, *, nl: bool = True) -> None:
    """Write to standard output, as it is encoded: the library takes ASCII for a mistake."""
    typer.echo(text, file=sys.stdout, nl=nl)


def tell(text: str) -> None:
    """Write to standard error, in the same way."""
    typer.echo(text, file=sys.stderr)


def show(result: Any, as_json: bool) -> None:
    """Print a result as a table or as JSON."""
    if as_json:
        write(_json(result.to_dict()))
    else:
        write(str(result))


def _json(content: Any) -> str:
    """JSON proper: numbers that are not finite become null."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(item) for key, item in value.items()}
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, float):  # NumPy's own are, too
            return float(value) if math.isfinite(value) else None
        return value

    return json.dumps(clean(content), indent=2)


def save(path: Path | None, draw: Callable[[], Any]) -> None:
    """Write a figure, if one was asked for."""
    if path is not None:
        from limitpoint import plot

        with naming(str(path)):
            plot.save(draw(), path)
        tell(f"figure written to {path}")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in errors of the system that do not."""
    try:
        yield
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            error.filename = name
        raise


def judge(status: "Status", *fine: "Status") -> None:
    """Exit with status 3 where a result is not ok, nor as it was asked for."""
    if not (status.ok or status in fine):
        not_reached(in_one_line(status))


def in_one_line(status: "Status") -> str:
    """A status by its name and its sentence, which may begin with the name."""
    sentence = str(status).removeprefix(f"{status.name.capitalize()}: ")
    return f"{status.name}: {sentence}"


def not_reached(why: str) -> None:
    """Exit with status 3, saying why in one line."""
    tell(why)
    raise typer.Exit(NOT_REACHED)


def conclude(verdict: "Verdict", as_json: bool, path: Path | None) -> None:
    """Print a verdict; exit status 1 if it failed, 3 if it is inconclusive."""
    import limitpoint as lp
    from limitpoint.verify import Outcome

    show(verdict, as_json)
    save(path, lambda: lp.plot.plot_trajectory(verdict.flows[0], verdict.limit, verdict.training))
    if verdict.outcome is Outcome.FAILED:
        raise typer.Exit(FAILED)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        raise typer.Exit(NOT_REACHED)
