"""The commands about the papers: their figures, their errata, the atlas of their theorems."""

import json
from pathlib import Path
from typing import Annotated

import typer

from limitpoint.cli.commands import app
from limitpoint.cli.output import FAILED, Json, show
from limitpoint.errors import LimitpointError
from limitpoint.foundation.display import Page
from limitpoint.papers import (
    Experiment,
    atlas_page,
    experiment,
    experiments,
    report,
    reproduce,
)
from limitpoint.papers.errata import demonstrate_all
from limitpoint.theory.atlas import theorems

__all__ = ["app"]

Out = Annotated[Path, typer.Option(help="Folder of the experiments' folders.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the page of the documentation.")]


@app.command("reproduce")
def reproduce_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments, like zhao2026-figure1, or papers.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All experiments of all papers.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Only list them.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller configurations, the same checks.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run also what is finished already.")
    ] = False,
    out: Out = Path("out"),
    json_: Json = False,
) -> None:
    """Reproduce figures of the papers; exit status 1 if a check fails.

    Writes a folder for each with the figure, its data and its checks. What is finished is not run
    again, so that an interrupted run goes on where it was.
    """
    if list_:
        for one in experiments():
            typer.echo(f"{one.id}: {one.title}")
        return
    if all_ == bool(names):
        raise LimitpointError("name experiments or papers, or give --all; --list shows them")
    chosen = experiments() if all_ else [one for name in names or () for one in _named(name)]
    found = reproduce(dict.fromkeys(chosen), out, quick=quick, fresh=fresh)
    show(found, json_)
    if not found.passed:
        raise typer.Exit(FAILED)


def _named(name: str) -> list[Experiment]:
    """The experiments of a paper, or the one of this id."""
    of_paper = [one for one in experiments() if one.paper == name]
    return of_paper or [experiment(name)]


@app.command("report")
def report_command(
    out: Out = Path("out"),
    to: Annotated[
        Path | None, typer.Option(help="The page (default report.html in that folder).")
    ] = None,
) -> None:
    """Build one HTML page from the experiments that are finished."""
    typer.echo(str(report(out, to)))


@app.command("errata")
def errata_command(markdown: Markdown = False, json_: Json = False) -> None:
    """Show where the papers slip, each by a calculation; exit status 1 if one is not shown."""
    found = demonstrate_all()
    if markdown:
        typer.echo(found.to_markdown(), nl=False)
    else:
        show(found, json_)
    if not found.shown:
        raise typer.Exit(FAILED)


@app.command("atlas")
def atlas_command(markdown: Markdown = False, json_: Json = False) -> None:
    """List every theorem: its source and its statement."""
    if markdown:
        typer.echo(atlas_page(), nl=False)
        return
    if json_:
        fields = ("id", "citation", "concludes", "statement")
        typer.echo(json.dumps([{f: getattr(t, f) for f in fields} for t in theorems()], indent=2))
        return
    for theorem in theorems():
        heading = f"{theorem.id} (concludes a {theorem.concludes})"
        typer.echo(f"{Page(heading, theorem.statement, theorem.citation)}\n")
