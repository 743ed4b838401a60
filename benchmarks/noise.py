"""What noise does, in absolute time: many paths of a diffusion, many steps of label noise.

Each must take less than 30 seconds on two cores, compilation included; no ratio is asked for. The
peers are NumPy loops of the same steps, written for the one equation.
"""

import jax.numpy as jnp
import numpy as np

import limitpoint as lp
from benchmarks.timing import Row, best_of
from limitpoint.dynamics.training.label_noise import LabelNoise
from limitpoint.papers.varre2023.noise_process import NoiseProcess

MOST_SECONDS = 30.0
PATHS, T_END = 20_000, 3.0
STEPS, WIDTH, SAMPLES = 100_000, 200, 5
LEARNING_RATE, DELTA = 1e-2, 0.5
# The two round differently, a few units in each step; label noise forgets.
AGREEMENT = 1e-9


def rows() -> list[Row]:
    # JAX finds its devices at the first operation of a process.
    jnp.zeros(1).block_until_ready()
    return [many_paths(), label_noise()]


def many_paths() -> Row:
    """The noise process at d = 2; compilation is part of our time.

    The error is that of the mean of ‖W‖² at t = ½, in exact standard errors.
    """
    process = NoiseProcess(2)
    records = 30
    seconds, paths = best_of(
        1, lambda: lp.sde.simulate(process, T_END, paths=PATHS, records=records)
    )
    _within_limit("simulating the paths", seconds)
    peer_seconds, peer = best_of(1, lambda: numpy_paths(process, records))
    return Row(
        job=f"noise process, d = 2, {PATHS} paths to t = {T_END:g} (< {MOST_SECONDS:g} s)",
        peer="all paths at once in a NumPy loop",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=_off(process, paths.states, paths.times),
        peer_accuracy=_off(process, peer, paths.times),
        at_least=0.0,
        negligible=5.0,
    )


def numpy_paths(process: NoiseProcess, records: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    each = round(T_END / process.time_step / records)
    first, second = np.tile(np.eye(2), (PATHS, 1, 1)), np.zeros((PATHS, 2))
    kept = [np.concatenate([first.reshape(PATHS, 4), second], axis=1)]
    for _ in range(records):
        for _ in range(each):
            kick = np.sqrt(process.time_step) * rng.standard_normal((PATHS, 2))
            moved = (kick[:, None, :] @ first)[:, 0]
            first = first + kick[:, :, None] * second[:, None, :]
            second = second + moved
        kept.append(np.concatenate([first.reshape(PATHS, 4), second], axis=1))
    return np.stack(kept, axis=1)


def _off(process: NoiseProcess, states: np.ndarray, times: np.ndarray) -> float:
    at = int(np.searchsorted(times, 0.5))
    mean = float(np.sum(process.split(states)[0][:, at] ** 2, axis=(1, 2)).mean())
    exact = process.mean_squares(times[at])[0]
    return abs(mean - exact) / process.standard_errors(times[at], PATHS)[0]


def label_noise() -> Row:
    """Width 200 on five orthonormal samples (varre, Fig. 1b)."""
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((SAMPLES, SAMPLES)))[0]
    task, network = lp.Regression(X, X @ rng.standard_normal(SAMPLES)), lp.TwoLayer(width=WIDTH)
    problem = lp.Problem(network, lp.Init.orthogonal(network, task, gamma=0.5), task)
    rule = LabelNoise(LEARNING_RATE, DELTA)
    seconds, run = best_of(1, lambda: lp.train(problem, rule, STEPS))
    _within_limit("label noise", seconds)
    peer_seconds, coef = best_of(1, lambda: numpy_label_noise(problem, rule))
    return Row(
        job=f"label noise, width {WIDTH}, {STEPS:.0e} steps (< {MOST_SECONDS:g} s)",
        peer="the same steps in a NumPy loop",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=float(np.abs(run.coef - coef).max()),
        peer_accuracy=0.0,
        at_least=0.0,
        negligible=AGREEMENT,
    )


def numpy_label_noise(problem: lp.Problem, rule: LabelNoise) -> np.ndarray:
    X, y = problem.task.X, problem.task.y
    first, second = problem.init.layers
    for noise in rule.draws(SAMPLES, 0, STEPS):
        neg_grad = rule.learning_rate * (X.T @ (y + rule.delta * noise - X @ (first @ second)))
        first, second = first + np.outer(neg_grad, second), second + first.T @ neg_grad
    return first @ second


def _within_limit(what: str, seconds: float) -> None:
    if seconds > MOST_SECONDS:
        raise RuntimeError(f"{what} took {seconds:.1f} s, more than {MOST_SECONDS:g}")
