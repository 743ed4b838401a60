"""The `limitpoint` command.

Importing this loads nothing else, so that Ctrl-C is answered in one line from the first moment on;
what a command needs is loaded when it runs.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command that `sys.argv` holds, and exit with its status."""
    try:
        from limitpoint.cli.program import run

        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing had begun\n")
        status = 130
    sys.exit(status)
