"""ReLU students of a small teacher, and what a small start predicts of them (Figures 2 and 5).

No theorem of the paper is about these networks. What is used here is ours and heuristic: from a
vanishing start every neuron first turns, before anything grows, towards a direction w that
maximises `±Σ_i y_i σ(wᵀx_i)` on the sphere, with the sign of its outgoing weight. Neurons that
point alike act as one. So the student is followed by a network with as many neurons as there are
such directions, and the saddle in between by the one neuron that grows first.
"""

import numpy as np

from limitpoint.dynamics.training.optimisers import GD
from limitpoint.dynamics.training.train import train
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.examples import relu_teacher
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import ReLU
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = ["aligned_direction", "few_neurons", "student_run", "teacher_task"]

# Ascents from so many random directions, in so many steps that shrink as 1/j: they end at maxima
# inside a cone of equal activations and at those on a kink.
TRIES = 100
ITERATIONS = 500
# Where the few neurons start: two orders below any student.
SMALL = 1e-8


def teacher_task(samples: int, features: int, neurons: int, seed: int) -> Regression:
    """The data of the teacher."""
    return relu_teacher(samples=samples, features=features, neurons=neurons, seed=seed)


def student_run(
    task: Regression, width: int, scale: float, seed: int, rate: float, steps: int, record: Float
) -> Trajectory:
    """Train a student whose weights all start as normal numbers of this size."""
    network = ReLU((width,))
    problem = Problem(network, Init.random(network, task, scale=scale, seed=seed), task)
    return train(problem, GD(rate), steps, record=record.astype(np.int64))


def aligned_direction(task: Regression, sign: float) -> tuple[Float, float]:
    """The direction that maximises `sign·Σ y_i σ(wᵀx_i)` on the unit sphere, and that maximum."""
    X, labels = task.X, sign * task.y
    drawn = np.random.default_rng(0).standard_normal((TRIES, task.n_features))
    w: Float = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    for j in range(1, ITERATIONS + 1):
        slope = ((w @ X.T > 0) * labels) @ X
        w = w + slope / (j * np.linalg.norm(labels @ X))
        w = w / np.linalg.norm(w, axis=1, keepdims=True)
    # A maximum inside a cone points along its own slope.
    slope = ((w @ X.T > 0) * labels) @ X
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    both = np.concatenate([w, np.divide(slope, length, out=w.copy(), where=length > 0)])
    neg_grads = np.maximum(both @ X.T, 0.0) @ labels
    best = int(np.argmax(neg_grads))
    return both[best], float(neg_grads[best])


def few_neurons(task: Regression, count: int, rate: float, steps: int) -> tuple[Float, float]:
    """Singular values of the hidden layer, and the loss, where `count` aligned neurons end.

    One: the sign of steeper descent. Two: both signs.
    """
    found = [(sign, *aligned_direction(task, sign)) for sign in (1.0, -1.0)]
    chosen = sorted(found, key=lambda one: -one[2])[:count]
    first = SMALL * np.stack([direction for _, direction, _ in chosen], axis=1)
    second = SMALL * np.array([sign for sign, _, _ in chosen])
    problem = Problem(ReLU((count,)), Init.from_layers([first, second]), task)
    run = train(problem, GD(rate), steps, record=1)
    values: Float = np.linalg.svd(run.layers[0][-1], compute_uv=False) if run.layers else first
    return values, float(run.losses[-1])
