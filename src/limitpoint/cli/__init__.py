"""The `limitpoint` command.

Exit status: 0 if all went well, 1 if a verdict failed, 2 if the input was bad (one line says how),
3 if a verdict is inconclusive.
"""

import sys
from typing import Any

import typer

from limitpoint.cli import commands, experiment_commands, plane_command
from limitpoint.cli.commands import app
from limitpoint.cli.output import BAD_INPUT
from limitpoint.errors import LimitpointError
from limitpoint.extend import load_extensions

__all__ = ["app", "main"]

# Importing a module of commands registers them; these are all.
MODULES = (commands, experiment_commands, plane_command)
# What a wrong option or argument raises; the command-line library does not export the class itself.
USAGE_ERROR: Any = typer.BadParameter.__base__


def main() -> None:
    """Run the command, turning bad input into one line and exit status 2."""
    try:
        load_extensions()
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except LimitpointError as error:
        message = str(error)
    except USAGE_ERROR as error:
        message = error.format_message()
    except OSError as error:
        message = f"{error.filename}: {error.strerror}"
    else:
        sys.exit(status if isinstance(status, int) else 0)
    typer.echo(f"error: {message}", err=True)
    sys.exit(BAD_INPUT)
