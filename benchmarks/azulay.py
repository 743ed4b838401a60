"""The grid of Azulay et al. (2021): scale against shape of the initialisation, whole.

Their figure trains `β = u₊v₊ − u₋v₋` on 100 samples of 1000 features at every point of a grid of
shapes and scales, up to 1e7 epochs each. Here every point is predicted and certified; the peer is
compiled training of a single point, which is timed and multiplied by the size of the grid.
"""

import numpy as np

import limitpoint as lp
from benchmarks.timing import Row, best_of

SHAPES = (0.0, 0.2, 0.5, 0.8, 0.95)
# Their scale α is the product u·v at the start: the square of the scale of the layers.
ALPHAS = np.geomspace(1e-5, 0.25, 20)
SPARSITY = 5
MOST_SECONDS = 10.0
# Training of one point, in the middle of the grid: its step size, near the largest that is stable,
# and the accuracy asked of it, relative to the limit.
LEARNING_RATE = 1e-4
CLOSE = 1e-2
MOST_STEPS = 50_000


def task() -> lp.Regression:
    """Gaussian data and a sparse truth of norm 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1000))
    truth = np.zeros(1000)
    truth[:SPARSITY] = 1 / np.sqrt(SPARSITY)
    return lp.Regression(X, X @ truth)


def grid() -> list[lp.results.LimitPath]:
    """Every point: a path along the scales for each shape."""
    data, network = task(), lp.Paired()
    return [
        lp.predict_path(
            lp.Problem(network, lp.Init.shaped(network, data, shape=shape), data), np.sqrt(ALPHAS)
        )
        for shape in SHAPES
    ]


def rows() -> list[Row]:
    seconds, paths = best_of(1, grid)
    if seconds > MOST_SECONDS or not all(path.ok for path in paths):
        raise RuntimeError(f"the grid took {seconds:.1f} s, or a point is not certified")
    worst = max(limit.certificate.worst for path in paths for limit in path.limits)
    points = len(SHAPES) * len(ALPHAS)
    data, network = task(), lp.Paired()
    middle = len(ALPHAS) // 2
    init = lp.Init.shaped(network, data, float(np.sqrt(ALPHAS[middle])), shape=0.5)
    problem, limit = lp.Problem(network, init, data), lp.predict(lp.Problem(network, init, data))
    optimiser = lp.GD(learning_rate=LEARNING_RATE)
    schedule = np.arange(0, MOST_STEPS + 1, 500)
    run = lp.train(problem, optimiser, MOST_STEPS, record=schedule)
    away = np.linalg.norm(run.coefs - limit.coef, axis=1) / np.linalg.norm(limit.coef)
    if not (away <= CLOSE).any():
        raise RuntimeError(f"training ended at distance {away[-1]:.2e} from the limit")
    steps = int(run.steps[int(np.argmax(away <= CLOSE))])
    peer_seconds, _ = best_of(1, lambda: lp.train(problem, optimiser, steps, record=1))
    return [
        Row(
            job=f"Azulay's grid, {points} limits, 100×1000",
            peer=f"{points} × GD to {CLOSE:g} ({steps} compiled steps)",
            seconds=seconds,
            peer_seconds=points * peer_seconds,
            accuracy=worst,
            peer_accuracy=CLOSE,
            at_least=1.0,
        )
    ]
