"""Run every benchmark and print one table: `python -m benchmarks`."""

import sys

from rich.console import Console
from rich.table import Table

from benchmarks import (
    azulay,
    flows,
    maps,
    noise,
    predict,
    proofs,
    saddle_path,
    scale_path,
    sgd_sweep,
    startup,
    step_sums,
    two_layers,
)
from benchmarks.timing import machine


def main() -> int:
    rows = [
        *startup.rows(),
        *predict.rows(),
        *proofs.rows(),
        *scale_path.rows(),
        *flows.rows(),
        *maps.rows(),
        *azulay.rows(),
        *saddle_path.rows(),
        *sgd_sweep.rows(),
        *step_sums.rows(),
        *two_layers.rows(),
        *noise.rows(),
    ]
    table = Table(title=f"limitpoint against peers, one run\n{machine()}", title_justify="left")
    for column in ("job", "peer", "ours [s]", "peer [s]", "ratio", "at least", "error", "peer's"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row.job,
            row.peer,
            f"{row.seconds:.2e}",
            f"{row.peer_seconds:.2e}",
            f"{row.ratio:.3g}×" + ("" if row.passed else "  MISSED"),
            f"{row.at_least:.3g}×",
            f"{row.accuracy:.1e}",
            f"{row.peer_accuracy:.1e}",
        )
    console = Console(width=130)
    console.print(table)
    console.print(saddle_path.cost_table())
    console.print(proofs.cost_table())
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
