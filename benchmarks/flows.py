"""The exact flow against integrators that know no structure."""

import numpy as np
from scipy.integrate import solve_ivp

import limitpoint as lp
from benchmarks.timing import Row, best_of

# Per step, of the peer; of the ends, what the relative residual at which flows stop leaves open.
RTOL, ENDED = 1e-10, 1e-8


def rows() -> list[Row]:
    return [against_layers(), general_against_parameters()]


def against_layers() -> Row:
    """LSODA on the layers as they stand, at a scale that they can be held at.

    It has the advantage there, by a factor of two: ours records, and knows when to stop.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 50))
    task = lp.Regression(X, X @ (rng.standard_normal(50) * (rng.random(50) < 0.1)))
    network = lp.Diagonal(depth=2)
    problem = lp.Problem(network, lp.Init.random(network, task, scale=1e-2, seed=1), task)
    limit = lp.predict(problem)
    seconds, run = best_of(3, lambda: lp.flow(problem))

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        a, b = state[:50], state[50:]
        neg_grad = X.T @ (task.y - X @ (a * b))
        return np.concatenate([b * neg_grad, a * neg_grad])

    start = np.concatenate(problem.init.layers)
    end = float(run.times[-1])
    peer_seconds, found = best_of(
        1,
        lambda: solve_ivp(velocity, (0.0, end), start, method="LSODA", rtol=RTOL, atol=1e-14),
    )
    state = found.y[:, -1]
    return Row(
        job="flow, 20×50, scale 1e-2",
        peer=f"SciPy LSODA on the layers, rtol = {RTOL:g}",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=relative(run.coef, limit.coef),
        peer_accuracy=relative(state[:50] * state[50:], limit.coef),
        at_least=0.2,
        negligible=ENDED,
    )


def general_against_parameters() -> Row:
    """A general network at 1e-60, in sample space, against the flow of its parameters."""

    def smooth(block: np.ndarray) -> np.ndarray:
        a, b, c = block
        return 2 * a * b + (a**2 + b**2 + c**2) * c

    network = lp.General((smooth,) * 4, block_size=3)
    blocks = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    problem = lp.Problem(network, lp.Init([blocks], 1e-60), lp.examples.zhao_eq7())
    limit = lp.predict(problem)  # compiles and tabulates
    seconds, run = best_of(1, lambda: lp.flow(problem))
    peer_seconds, other = best_of(1, lambda: lp.flow(problem, space=lp.ParameterSpace()))
    return Row(
        job="flow, general network, scale 1e-60",
        peer="the flow of the parameters",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=relative(run.coef, limit.coef),
        peer_accuracy=relative(other.coef, limit.coef),
        at_least=0.5,
        negligible=ENDED,
    )


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
