"""The model of the paper's Figure 1, and what its figures read off a run."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics import Trajectory
from limitpoint.examples import zhao_eq7
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import General
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import SaddlePath

__all__ = ["activations", "figure1_problem"]


def _smooth(block: Any) -> Any:
    """`2ab + (a² + b² + c²)c` in `p = (a+b)/√2`, `q = (a−b)/√2`.

    Neither gradient descent nor the flow notices a rotation. Floating point does: where a + b has
    grown to order 1 while a − b is 10^-100, the difference of a and b would be rounding.
    """
    p, q, c = block
    return p**2 - q**2 + (p**2 + q**2 + c**2) * c


def _transcendental(block: Any) -> Any:
    """`a tanh a − (e^b − 1)²`; the third parameter is unused."""
    a, b, _ = block
    return a * jnp.tanh(a) - jnp.expm1(b) ** 2


_NETWORK = General([_smooth, _smooth, _transcendental, _transcendental], block_size=3)


def figure1_problem(log_scale: float, seed: int) -> Problem:
    """The network on the data (7), from uniform parameters; the loss is `½‖Xk − y‖²`.

    The paper's loss is `‖Xk − y‖²`, but its equations, and the epochs in its text, leave out the
    factor 2 of the gradient.
    """
    blocks = np.random.default_rng(seed).uniform(-1.0, 1.0, (4, 3))
    a, b = blocks[:2, 0].copy(), blocks[:2, 1].copy()
    blocks[:2, 0], blocks[:2, 1] = (a + b) / np.sqrt(2), (a - b) / np.sqrt(2)
    printed = zhao_eq7()
    task = Regression(printed.X, printed.y)
    return Problem(_NETWORK, Init([blocks], log_scale=log_scale), task)


def activations(run: Trajectory, path: SaddlePath) -> tuple[Float, NDArray[np.intp]]:
    """When each entering coefficient passes half of its value at its saddle, and the record before.

    Between records the logarithm of the coefficient is taken to be linear in time, as it is while
    it grows.
    """
    times, before = [], []
    for saddle, (coefficient, *_) in enumerate(path.entered, start=1):
        value = path.coefs[saddle, coefficient]
        logs = run.log_abs_coefs[:, coefficient]
        grown = (logs >= np.log(abs(value) / 2)) & (run.signs[:, coefficient] == np.sign(value))
        if not grown.any():
            raise RuntimeError(f"coefficient {coefficient} never reached saddle {saddle}")
        i = int(np.argmax(grown)) - 1
        part = (np.log(abs(value) / 2) - logs[i]) / (logs[i + 1] - logs[i])
        times.append(run.times[i] + part * (run.times[i + 1] - run.times[i]))
        before.append(i)
    return np.array(times), np.array(before)
