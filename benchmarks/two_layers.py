"""The flow of a wide two-layer network in the directions that move, against that of all weights."""

import numpy as np

import limitpoint as lp
from benchmarks.timing import Row, best_of

SAMPLES, FEATURES, OUTPUTS, WIDTH = 100, 200, 3, 2000
GAMMA = 1e-2


def rows() -> list[Row]:
    return [reduced_against_full()]


def reduced_against_full() -> Row:
    """The same flow to convergence, with the same tolerance; both against the predicted limit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((SAMPLES, FEATURES))
    truth = rng.standard_normal((FEATURES, OUTPUTS)) / np.sqrt(FEATURES)
    task = lp.Regression(X, X @ truth)
    network = lp.TwoLayer(WIDTH)
    problem = lp.Problem(network, lp.Init.orthogonal(network, task, gamma=GAMMA), task)
    expected = lp.predict(problem).coef
    seconds, reduced = best_of(3, lambda: lp.flow(problem))
    peer_seconds, full = best_of(1, lambda: lp.flow(problem, space=lp.ParameterSpace()))
    size = float(np.linalg.norm(expected))
    return Row(
        job=f"flow of TwoLayer({WIDTH}), {FEATURES} features, {OUTPUTS} outputs",
        peer="the flow of all its weights",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=float(np.linalg.norm(reduced.coef - expected)) / size,
        peer_accuracy=float(np.linalg.norm(full.coef - expected)) / size,
        at_least=20.0,
        # Both stop when the relative residual is 1e-10.
        negligible=1e-8,
    )
