"""All commands together: what is typed goes in, an exit status comes out."""

import codecs
import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import typer

from limitpoint.cli import (
    example_command,
    experiment_commands,
    plane_command,
    prediction_commands,
    simulation_commands,
    verdict_commands,
)
from limitpoint.cli.application import app
from limitpoint.cli.output import BAD_INPUT, INTERRUPTED, tell
from limitpoint.errors import Cancelled, LimitpointError

__all__ = ["app", "run"]

# Importing a module of commands registers them; these are all.
MODULES = (
    prediction_commands,
    simulation_commands,
    verdict_commands,
    plane_command,
    experiment_commands,
    example_command,
)
NAME = "limitpoint"
# --help lists them in this order.
_PLACES = {module.__name__: place for place, module in enumerate(MODULES)}
app.registered_commands.sort(key=lambda one: _PLACES[getattr(one.callback, "__module__", "")])
# What a wrong option or argument raises; the command-line library does not export the class itself.
USAGE_ERROR: Any = typer.BadParameter.__base__
# What letters that few terminals lack look like in ASCII.
SIMILAR = {
    "─": "-",
    "−": "-",
    "–": "-",
    "—": "-",
    "‖": "|",
    "×": "x",
    "·": ".",
    "→": ">",
    "≤": "<",
    "≥": ">",
}
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def run(arguments: Sequence[str]) -> int:
    """Run a command, turning bad input and interruptions into one line; the exit status."""
    _write_what_can_be_written()
    try:
        _show_completion(arguments)
        status = app([*arguments] or ["--help"], prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
    except Cancelled as stopped:
        return _say(f"interrupted: {stopped}", INTERRUPTED)
    except typer.Abort:
        return _say("interrupted: nothing had begun", INTERRUPTED)
    except LimitpointError as error:
        return _say(f"error: {error}", BAD_INPUT)
    except USAGE_ERROR as error:
        return _say(f"error: {error.format_message()}", BAD_INPUT)
    except OSError as error:
        what = error.strerror or str(error)
        named = what if error.filename is None else f"{error.filename}: {what}"
        return _say(f"error: {named}", BAD_INPUT)
    return status if isinstance(status, int) else 0


def _say(message: str, status: int) -> int:
    tell(message)
    return status


def _write_what_can_be_written() -> None:
    """On a terminal that has no t⁺ write t+, and a question mark for what is like nothing."""
    codecs.register_error("nearest", _nearest)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="nearest")


def _nearest(error: UnicodeError) -> tuple[str, int]:
    """As many letters as could not be written, so that tables stay in line."""
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    return "".join(_in_ascii(letter) for letter in lost), error.end


def _in_ascii(letter: str) -> str:
    plain = unicodedata.normalize("NFKD", letter)[0]
    near = SIMILAR.get(plain, plain)
    return near if near.isascii() else "?"


def _show_completion(arguments: Sequence[str]) -> None:
    """For a shell that is named; else the library finds out which one it is."""
    if len(arguments) == 2 and arguments[0] == "--show-completion":
        if arguments[1] not in SHELLS:
            known = ", ".join(SHELLS)
            raise LimitpointError(
                f"--show-completion knows the shells {known}; it is {arguments[1]}"
            )
        os.environ[f"_{NAME.upper()}_COMPLETE"] = f"source_{arguments[1]}"
