"""The command that writes data to try the others on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from limitpoint.cli.application import command
from limitpoint.cli.output import Overwrite, check_free, naming, tell
from limitpoint.errors import LimitpointError

__all__: list[str] = []

SAMPLES, FEATURES, OUTPUTS = 6, 12, 3
PROBLEM = """\
# A problem file: data, network and initialisation. Paths are relative to it.

[task]
X = "X.csv"
y = "y.csv"

[network]
kind = "diagonal"
depth = 2

[init]
kind = "random"
seed = 0
scale = 1e-3
"""


@command("example")
def example_command(
    folder: Annotated[Path, typer.Argument(help="The folder; it is made if need be.")],
    overwrite: Overwrite = False,
) -> None:
    """Write example data to a folder: a problem file and CSV tables.

    X.csv (6 samples of 12 features), y.csv (their targets), Y.csv (three targets each),
    classes.csv (their classes, -1 and 1), problem.toml, which points at X.csv and y.csv, and
    weights.csv: the coefficients to which gradient descent took that problem elsewhere.
    """
    files = _files()
    if folder.exists() and not folder.is_dir():
        raise LimitpointError(f"{folder} must be a folder; there is a file of this name")
    for name in files:
        check_free(folder / name, overwrite)
    with naming(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    tell(f"{', '.join(files)} written to {folder}")


def _files() -> dict[str, str]:
    """The text of every file, by its name. Two features of the twelve make the targets."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((SAMPLES, FEATURES)).round(3)
    truth = np.zeros((FEATURES, OUTPUTS))
    truth[:OUTPUTS] = np.diag([2.0, 1.0, 0.5])
    y = X[:, 0] - 0.5 * X[:, 3]
    return {
        "X.csv": _table([f"x{i + 1}" for i in range(FEATURES)], X),
        "y.csv": _table(["y"], y[:, None]),
        "Y.csv": _table([f"y{i + 1}" for i in range(OUTPUTS)], X @ truth),
        "classes.csv": _table(["class"], np.sign(y)[:, None]),
        "problem.toml": PROBLEM,
        "weights.csv": _table(["weight"], _trained(X, y)[:, None]),
    }


def _trained(X: Any, y: Any) -> Any:
    """20,000 steps of 0.01 from the start of the problem file, as anybody would write them."""
    import numpy as np

    a, b = 1e-3 * np.random.default_rng(0).standard_normal((2, FEATURES))
    for _ in range(20_000):
        slope = X.T @ (X @ (a * b) - y)
        a, b = a - 0.01 * b * slope, b - 0.01 * a * slope
    return a * b


def _table(names: list[str], rows: Any) -> str:
    lines = [",".join(names), *(",".join(f"{entry:.6g}" for entry in row) for row in rows)]
    return "\n".join(lines) + "\n"
