"""The commands about the papers: their figures, their errata, the atlas of their theorems."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from limitpoint.cli.application import command
from limitpoint.cli.names import EXPERIMENTS, completing, did_you_mean
from limitpoint.cli.output import FAILED, Json, Overwrite, check_free, naming, show, write
from limitpoint.errors import LimitpointError

if TYPE_CHECKING:
    from limitpoint.papers import Experiment

__all__: list[str] = []

PAPERS = tuple(dict.fromkeys(name.partition("-")[0] for name in EXPERIMENTS))

Out = Annotated[Path, typer.Option(help="Folder of the experiments' folders.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the page of the documentation.")]


@command("reproduce")
def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...",
            help="Experiments, like zhao2026-figure1, or papers.",
            autocompletion=completing(*PAPERS, *EXPERIMENTS),
        ),
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
    """Reproduce figures of the papers, by experiments that can fail.

    Writes a folder for each with the figure, its data and its checks; exit status 1 if a check
    fails. What is finished is not run
    again, so that an interrupted run goes on where it was.
    """
    from limitpoint.papers import experiments, reproduce

    if list_:
        for one in experiments():
            write(f"{one.id}: {one.title}")
        return
    if all_ == bool(names):
        raise LimitpointError("name experiments or papers, or give --all; --list shows them")
    chosen = experiments() if all_ else [one for name in names or () for one in _named(name)]
    found = reproduce(dict.fromkeys(chosen), out, quick=quick, fresh=fresh)
    show(found, json_)
    if not found.passed:
        raise typer.Exit(FAILED)


def _named(name: str) -> "list[Experiment]":
    """The experiments of a paper, or the one of this id."""
    from limitpoint.papers import experiment, experiments

    of_paper = [one for one in experiments() if one.paper == name]
    if not of_paper and name not in {one.id for one in experiments()}:
        near = did_you_mean(name, [*PAPERS, *(one.id for one in experiments())])
        raise LimitpointError(f"there is no experiment or paper {name!r}{near or '; see --list'}")
    return of_paper or [experiment(name)]


def _checked_page(context: typer.Context, page: Path | None) -> Path | None:
    if page is not None and not context.resilient_parsing:
        check_free(page, bool(context.params.get("overwrite")))
    return page


@command("report")
def report_command(
    out: Out = Path("out"),
    to: Annotated[
        Path | None,
        typer.Option(
            help="The page (default report.html in that folder, which is replaced).",
            callback=_checked_page,
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Build one HTML page from the experiments that are finished."""
    from limitpoint.papers import report

    with naming(str(to or out)):
        write(str(report(out, to)))


@command("errata")
def errata_command(markdown: Markdown = False, json_: Json = False) -> None:
    """Show where the papers slip, each by a calculation.

    Exit status 1 if one is not shown.
    """
    from limitpoint.papers.errata import demonstrate_all

    found = demonstrate_all()
    if markdown:
        write(found.to_markdown(), nl=False)
    else:
        show(found, json_)
    if not found.shown:
        raise typer.Exit(FAILED)


@command("atlas")
def atlas_command(markdown: Markdown = False, json_: Json = False) -> None:
    """List every theorem: its source and its statement."""
    from limitpoint.foundation.display import Page
    from limitpoint.theory.atlas import theorems

    if markdown:
        from limitpoint.papers import atlas_page

        write(atlas_page(), nl=False)
        return
    if json_:
        fields = ("id", "citation", "concludes", "statement")
        write(json.dumps([{f: getattr(t, f) for f in fields} for t in theorems()], indent=2))
        return
    for theorem in theorems():
        heading = f"{theorem.id} (concludes a {theorem.concludes})"
        write(f"{Page(heading, theorem.statement, theorem.citation)}\n")
