"""`predict_path` along 60 scales against single predictions: what warm starts save."""

from dataclasses import replace

import numpy as np

import limitpoint as lp
from benchmarks.timing import Row, best_of

SCALES = np.geomspace(1e-8, 1e2, 60)
# The path must cost less than this many single predictions, averaged over the same scales.
SINGLES = 15
SIZES = ((3, 8), (10, 40), (20, 200), (40, 100), (100, 1000))


def rows() -> list[Row]:
    return [against_singles(m, n, depth) for m, n in SIZES for depth in (2, 3, 5)]


def against_singles(m: int, n: int, depth: int) -> Row:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    data = lp.Regression(X, X @ (rng.standard_normal(n) * (rng.random(n) < 0.1)))
    network = lp.Diagonal(depth)
    problem = lp.Problem(network, lp.Init.random(network, data, seed=1), data)
    singles = [replace(problem, init=problem.init.at_scale(float(scale))) for scale in SCALES]
    seconds, path = best_of(3, lambda: lp.predict_path(problem, SCALES))
    all_seconds, limits = best_of(3, lambda: [lp.predict(single) for single in singles])
    return Row(
        job=f"60 limits, scales 1e-8 to 1e2, {m}×{n}, depth {depth}",
        peer=f"{SINGLES} single predictions",
        seconds=seconds,
        peer_seconds=SINGLES * all_seconds / len(SCALES),
        accuracy=max(limit.certificate.worst for limit in path.limits),
        peer_accuracy=max(limit.certificate.worst for limit in limits),
        at_least=1.0,
        negligible=1e-9,
    )
