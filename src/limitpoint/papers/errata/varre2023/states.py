"""What the errata share: moments of a flow, and how errors are told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.flow import flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import TwoLayer
from limitpoint.papers.errata.erratum import Demonstration
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = [
    "DIFFERENCE",
    "DIFFERENCE_ERROR",
    "EXACT",
    "FLOW",
    "TURNING_GAMMA",
    "TURNING_X",
    "TURNING_Y",
    "State",
    "demonstration",
    "off",
    "state_of",
    "state_of_three",
    "turning_state",
]

# Identities between matrices of a flow, which is right to about 1e-9.
FLOW = 1e-7
# Identities between given matrices: some hundred roundings.
EXACT = 1e-12
# Central differences over 1e-5, relative, of functions whose values have all digits: 1e-10 + 1e-11.
DIFFERENCE = 1e-5
DIFFERENCE_ERROR = 1e-8
# Two features of different size, the smaller with the larger coefficient.
TURNING_X, TURNING_Y, TURNING_GAMMA = np.diag([1.0, 0.1]), np.array([[1.0], [5.0]]), 0.1


@dataclass(frozen=True)
class State:
    """A moment of a flow in the coordinates of Lemma 3.1."""

    X: Float
    Y: Float
    gamma: float
    Z1: Float
    Z2: Float

    @property
    def beta(self) -> Float:
        """`β = Z₁Z₂`."""
        product: Float = self.Z1 @ self.Z2
        return product

    @property
    def neg_grad(self) -> Float:
        """The negative gradient in β, R."""
        slope: Float = self.X.T @ (self.Y - self.X @ self.beta)
        return slope

    @property
    def alpha(self) -> Float:
        """`α = Z₁^{−⊤}Z₂`."""
        return np.asarray(np.linalg.solve(self.Z1.T, self.Z2), dtype=np.float64)

    @property
    def beta_speed(self) -> Float:
        """`β̇ = Z₁Z₁ᵀR + RZ₂ᵀZ₂`."""
        speed: Float = self.Z1 @ self.Z1.T @ self.neg_grad + self.neg_grad @ self.Z2.T @ self.Z2
        return speed


def state_of_three(outputs: int, gamma: float, time: float = 0.3) -> State:
    """In the middle of a flow with three features and samples."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3, 3))
    return state_of(X, X @ rng.standard_normal((3, outputs)), gamma, time)


def turning_state() -> State:
    """Where β, first drawn to the easy feature, turns to the other: one output, badly scaled."""
    return state_of(TURNING_X, TURNING_Y, TURNING_GAMMA, 2.0)


def state_of(X: Float, Y: Float, gamma: float, time: float) -> State:
    """A moment of the flow on these data."""
    task, network = Regression(X, Y), TwoLayer(width=X.shape[1])
    init = Init.orthogonal(network, task, gamma=gamma, seed=2)
    run = flow(Problem(network, init, task), times=[time])
    assert run.layers is not None
    P = init.layers[0] / np.sqrt(2 * gamma)
    return State(X, Y, gamma, run.layers[0][-1] @ P.T, P @ run.layers[1][-1])


def off(found: NDArray[Any], truth: NDArray[Any]) -> float:
    """Distance relative to the size of the truth."""
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def demonstration(measure: str, errors: Sequence[float], tolerance: float) -> Demonstration:
    """From the errors of the printed and of the corrected form."""
    printed, corrected = errors
    return Demonstration(measure, printed, corrected, tolerance)
