"""What a proof costs beside the float64 prediction, over sizes, depths and digits."""

import numpy as np
from rich.table import Table

import limitpoint as lp
from benchmarks.timing import Row, best_of

# A proof of 40×100 data, two layers and 30 digits must cost less than so many predictions.
PREDICTIONS = 20
SIZES = ((5, 10), (10, 40), (20, 100), (40, 100), (40, 400))
DEPTHS, DIGITS = (2, 3, 5), (15, 30, 100)
SCALE = 1e-2


def rows() -> list[Row]:
    """The size that is promised."""
    problem = gaussian_problem(40, 100, depth=2)
    seconds, proof = best_of(5, lambda: lp.prove(problem, digits=30))
    peer_seconds, limit = best_of(20, lambda: lp.predict(problem, escalate=False))
    assert proof.coef is not None, proof.reason
    off = np.abs(limit.coef - proof.coef.values)
    return [
        Row(
            job="proof of 30 digits, 40×100, two layers",
            peer=f"{PREDICTIONS} float64 predictions",
            seconds=seconds,
            peer_seconds=PREDICTIONS * peer_seconds,
            accuracy=float(proof.coef.radii.max()),
            peer_accuracy=float(off.max()),
            at_least=1.0,
        )
    ]


def cost_table() -> Table:
    """Seconds of a prediction, and by how many times a proof takes longer."""
    table = Table(
        title="Cost of a proof, in float64 predictions of the same problem", title_justify="left"
    )
    columns = ("X", "depth", "predict [s]", *(f"{digits} digits" for digits in DIGITS))
    for column in columns:
        table.add_column(column)
    for m, n in SIZES:
        for depth in DEPTHS:
            problem = gaussian_problem(m, n, depth)
            seconds, _ = best_of(5, lambda p=problem: lp.predict(p, escalate=False))
            ratios = []
            for digits in DIGITS:
                cost, proof = best_of(2, lambda p=problem, d=digits: lp.prove(p, d))
                ratios.append(f"{cost / seconds:.1f}×" if proof.ok else "not proved")
            table.add_row(f"{m}×{n}", str(depth), f"{seconds:.2e}", *ratios)
    return table


def gaussian_problem(m: int, n: int, depth: int) -> lp.Problem:
    rng = np.random.default_rng(0)
    task = lp.Regression(rng.standard_normal((m, n)), rng.standard_normal(m))
    network = lp.Diagonal(depth)
    return lp.Problem(network, lp.Init.random(network, task, scale=SCALE, seed=0), task)
