"""`train_many` against a NumPy loop: GD and SGD of a rank-one network, scales × seeds."""

import jax.numpy as jnp
import numpy as np
from tests.oracles.rank_one_numpy import descend

import limitpoint as lp
from benchmarks.timing import Row, best_of

SAMPLES, FEATURES, INFORMATIVE = 40, 100, 20
DEPTH, WIDTH = 3, 100
# Scales of the layers; the coefficients start with these to the power 5 as norm.
SCALES = (0.5, 0.7, 0.8, 0.9, 1.0)
SEEDS = range(20)
STEPS = 20_000
LEARNING_RATE, BATCH_SIZE = 1e-3, 4
# The two round differently, and training contracts: the distances of all runs, of order 1, agree to
# some thousand roundings.
AGREEMENT = 1e-10


def rows() -> list[Row]:
    return [sweep_against_numpy()]


def rank_one_problem() -> tuple[lp.Problem, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((SAMPLES, FEATURES))
    truth = np.zeros(FEATURES)
    truth[:INFORMATIVE] = rng.standard_normal(INFORMATIVE)
    task = lp.Regression(X, X @ truth, loss_factor=2 / SAMPLES)
    network = lp.RankOne(depth=DEPTH, width=WIDTH)
    return lp.Problem(network, lp.Init.balanced(network, task, scale=1.0), task), truth


def sweep_against_numpy() -> Row:
    """Distance to the minimum-norm solution along all runs; compilation is part of our time."""
    problem, _ = rank_one_problem()
    optimisers = [lp.GD(LEARNING_RATE), lp.SGD(LEARNING_RATE, BATCH_SIZE)]
    # JAX finds its devices at the first operation of a process.
    jnp.zeros(1).block_until_ready()
    # Every call compiles its programs anew. The shortest of three, since one lasts as long as a
    # hiccup of the machine; the peer's loop is long enough to average over them.
    seconds, sweep = best_of(
        3, lambda: lp.train_many(problem, optimisers, STEPS, scales=SCALES, seeds=SEEDS)
    )
    peer_seconds, distances = best_of(1, lambda: numpy_runs(problem, sweep.steps.tolist()))
    ours = sweep.data["distance_l2"].values
    return Row(
        job=f"{len(SCALES)} scales × (GD, SGD × {len(SEEDS)} seeds), {STEPS} steps",
        peer="the same runs in a NumPy loop",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=float(np.abs(ours - distances).max()),
        peer_accuracy=0.0,
        at_least=20.0,
        negligible=AGREEMENT,
    )


def numpy_runs(problem: lp.Problem, record: list[int]) -> np.ndarray:
    """One run after the other; gradient descent once for each scale."""
    X, y, factor = problem.task.X, problem.task.y, problem.task.loss_factor
    target = np.linalg.pinv(X) @ y
    result = np.empty((2, len(SCALES), len(SEEDS), len(record)))
    for i, scale in enumerate(SCALES):
        layers = problem.init.at_scale(scale).layers
        result[0, i] = descend(X, y, layers, LEARNING_RATE, factor, STEPS, record, target)[0]
        for j, seed in enumerate(SEEDS):
            batches = lp.SGD(LEARNING_RATE, BATCH_SIZE, seed=seed).draws(SAMPLES, 0, STEPS)
            result[1, i, j] = descend(X, y, layers, LEARNING_RATE, factor, batches, record, target)[
                0
            ]
    return result
