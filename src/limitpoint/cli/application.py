"""The application: how commands are registered, shown by --help, and followed while they run."""

import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

import limitpoint
from limitpoint.cli.output import OVERWRITE, PIPE_CLOSED, naming, write
from limitpoint.cli.typed_values import real_number
from limitpoint.cli.wording import as_typed
from limitpoint.errors import Cancelled

__all__ = ["Command", "app", "command", "flag", "panel"]

Command = Callable[..., None]

# The options of output; all others are of the run, but for those that make a problem.
OUTPUT = ("json_", "plot_", "markdown", "out", "to", OVERWRITE.name)

EPILOG = (
    "Exit status: 0 all went well; 1 a verdict, a check or a demonstration failed; 2 bad input; "
    "3 a result is not certified, not converged, diverged or inconclusive; 130 interrupted."
)

app = typer.Typer(
    help="Which solution does a linear neural network reach, and by which path?",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class InPanels(TyperCommand):
    """A command whose options are listed under the headings that they carry."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write them, the headings in the order in which they occur."""
        listed: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            shown = parameter.get_help_record(ctx)
            if shown is not None:
                heading = getattr(parameter, "rich_help_panel", None) or "Help"
                listed.setdefault(heading, []).append(shown)
        for heading, rows in listed.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def command(name: str) -> Callable[[Command], Command]:
    """Register a command under this name.

    Numbers that are no floats are refused, what has --plot gets --overwrite, errors name options as
    they are typed, and the job is followed: its progress on a terminal, its interruption in a line.
    """

    def register(function: Command) -> Command:
        parameters = [*inspect.signature(function).parameters.values()]
        draws = any(parameter.name == "plot_" for parameter in parameters)
        parameters += [OVERWRITE] * draws
        own = {}
        for parameter in parameters:
            settings = panel(parameter, "Output" if parameter.name in OUTPUT else "Run")
            kind = parameter.annotation.__origin__
            if float in (kind, *get_args(kind)):
                settings.parser = settings.parser or real_number
            if settings.rich_help_panel == "Run":  # what makes a problem has its own words
                own[parameter.name] = flag(parameter)

        @wraps(function)
        def run(**options: Any) -> None:
            if draws:
                del options[OVERWRITE.name]  # the check of --plot has read it
            with _followed(name), as_typed(own):
                _load_extensions()
                function(**options)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # for typer
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return app.command(name, cls=InPanels)(run)

    return register


def panel(parameter: inspect.Parameter, heading: str) -> Any:
    """Put an option under a heading, unless it has one; its settings."""
    settings = parameter.annotation.__metadata__[0]
    settings.rich_help_panel = settings.rich_help_panel or heading
    return settings


def flag(parameter: inspect.Parameter | str) -> str:
    """The option as it is typed."""
    if isinstance(parameter, str):
        return f"--{parameter.replace('_', '-')}"
    typed: tuple[str, ...] = parameter.annotation.__metadata__[0].param_decls or ()
    return typed[0].partition("/")[0] if typed else flag(parameter.name.rstrip("_"))


def _load_extensions() -> None:
    """Import what other packages offer, if there is any; only then is all of ours loaded for it."""
    from importlib.metadata import entry_points

    if entry_points(group="limitpoint.extensions"):
        from limitpoint.extend import load_extensions

        load_extensions()


@contextmanager
def _followed(name: str) -> Iterator[None]:
    """Show the progress of a command on a terminal; say what is kept when it is interrupted."""
    from limitpoint.foundation.progress import Progress, progress
    from limitpoint.foundation.progress_line import ProgressLine

    line = ProgressLine(name)

    def report(now: Progress) -> None:
        line.report(now)
        if interrupted:
            raise KeyboardInterrupt

    try:
        with line, progress(report), _interruptions() as interrupted, naming("standard output"):
            yield
    except KeyboardInterrupt:
        whole = None if line.last is None else line.last.outermost
        done = name if whole is None else str(replace(whole, doing=""))
        kept = f"kept {whole.kept}" if whole is not None and whole.kept else "nothing was kept"
        raise Cancelled(f"{done}, {kept}") from None
    except BrokenPipeError:
        # Whoever read has enough; Python must not find out again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None


@contextmanager
def _interruptions() -> Iterator[list[int]]:
    """The interruptions so far: one that a library has swallowed ends the job at its next advance.

    Python raises `KeyboardInterrupt` wherever it is, which may be where exceptions are ignored.
    """
    seen: list[int] = []

    def note(number: int, _: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        before = signal.signal(signal.SIGINT, note) if is_ours else None
    except ValueError:  # not in the main thread: signals go elsewhere
        before = None
    try:
        yield seen
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _show_version(asked: bool) -> None:
    if asked:
        write(f"limitpoint {limitpoint.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Which solution does a linear neural network reach, and by which path?"""
