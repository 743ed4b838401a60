"""How results leave the command: tables, JSON, figures, an exit status."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.figure import Figure

from limitpoint import plot
from limitpoint.verify import Outcome, Verdict

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INCONCLUSIVE",
    "Json",
    "Plot",
    "conclude",
    "save",
    "show",
]

FAILED, BAD_INPUT, INCONCLUSIVE = 1, 2, 3


def _checked_plot(path: Path | None) -> Path | None:
    """Refuse a figure that could not be written before anything is computed for it."""
    if path is not None:
        plot.check_format(path)
    return path


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Write a figure to this file.", callback=_checked_plot),
]


def show(result: Any, as_json: bool) -> None:
    """Print a result as a table or as JSON."""
    if as_json:
        typer.echo(_json(result.to_dict()))
    else:
        typer.echo(str(result))


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


def save(path: Path | None, draw: Any) -> None:
    """Write a figure, if one was asked for."""
    if path is not None:
        figure: Figure = draw()
        plot.save(figure, path)
        typer.echo(f"figure written to {path}", err=True)


def conclude(verdict: Verdict, as_json: bool, path: Path | None) -> None:
    """Print a verdict; exit status 1 if it failed, 3 if it is inconclusive."""
    show(verdict, as_json)
    save(path, lambda: plot.plot_trajectory(verdict.flows[0], verdict.limit, verdict.training))
    if verdict.outcome is Outcome.FAILED:
        raise typer.Exit(FAILED)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        raise typer.Exit(INCONCLUSIVE)
