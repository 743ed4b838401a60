"""The flow of a classification in the layers themselves, their size in logarithms."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from limitpoint.dynamics.classification.charts import EPS, FINEST, NormalisedChart, norm, sharpening
from limitpoint.dynamics.classification.traced_layers import Shapes, split_layers, traced_polar
from limitpoint.dynamics.integrate.until_converged import LARGEST_JACOBIAN
from limitpoint.foundation.arrays import Float
from limitpoint.networks import Network
from limitpoint.networks.kinds.layer_gradients import flattened, jacobian
from limitpoint.problem import Problem
from limitpoint.tasks import Classification

__all__ = ["polar_chart"]

# Entries of the layers are followed to the tolerance asked for, relative to themselves, while they
# are larger than this part of all; below it relative to that, far above their rounding.
SMALL_ENTRIES = 1e-2


class Polar(Protocol):
    """The motion of a state (v, ℓ), as `NormalisedChart` wants it."""

    def motion(self, state: Float) -> Float:
        """`d state/ds` and, last, `log(dt/ds)`."""

    def slope(self, state: Float) -> Float:
        """The derivative of all that in the state."""

    def margins(self, state: Float) -> Float:
        """The margins of the samples."""


def polar_chart(
    problem: Problem, rtol: float, atol: float, sharpness: float | None = None
) -> NormalisedChart:
    """The layers θ as `e^ℓ v`, state (v, ℓ); `ρ = ‖θ‖^(L−2)`.

    v keeps its norm, which is 1: with `F = e^−ℓ dθ/ds`, `dℓ/ds = ⟨v, F⟩/‖v‖²` and
    `dv/ds = F − v dℓ/ds`. So float64 holds layers of any size, and errors are relative to it. With
    a sharpness the weights are those of margins of that size (see `far_charts`).
    """
    network, task, init = problem.network, problem.classification, problem.init
    degree = network.degree
    init.check_products(degree)
    shapes = tuple(layer.shape for layer in init.direction)
    whole = np.concatenate([np.ravel(layer) for layer in init.direction])
    size = norm(whole) or 1.0
    start = np.append(whole / size, init.log_scale + np.log(size))
    largest = float(np.abs(start[:-1]).max())
    polar: Polar
    if network.writes_gradient:
        polar = WrittenOut(network, task, shapes, sharpness)
    else:
        polar = traced_polar(network, task, shapes, largest, sharpness)

    def layers_at(states: Float) -> tuple[Float, ...]:
        with np.errstate(under="ignore", over="ignore"):
            return tuple(split_layers(np.exp(states[..., -1:]) * states[..., :-1], shapes))

    def signs_and_logs(states: Float) -> tuple[Float | None, Float | None]:
        if not network.is_homogeneous:
            return None, None
        shape = np.asarray(network.coef(split_layers(states[..., :-1], shapes)))
        with np.errstate(divide="ignore"):
            return np.sign(shape), np.log(np.abs(shape)) + degree * states[..., -1:]

    # Rounding of the velocity, relative to what it is made of.
    rounding = len(start) * degree * EPS

    def at_rest(state: Float) -> bool:
        """Neither turning nor growing; shrinking along a ray goes on for ever."""
        moved = polar.motion(state)
        return norm(moved[:-2]) <= rounding and float(moved[-2]) <= rounding

    solvable = len(start) <= LARGEST_JACOBIAN
    return NormalisedChart(
        start=start,
        motion=polar.motion,
        slope=polar.slope if solvable else None,
        margins=polar.margins,
        log_loss=lambda state: float(task.log_loss(polar.margins(state))),
        coefs=lambda states: np.asarray(network.coef(layers_at(states))),
        layers=layers_at,
        signs_and_logs=signs_and_logs,
        rtol=np.append(np.full(len(whole), rtol), FINEST),
        atol=np.append(np.full(len(whole), SMALL_ENTRIES * atol), rtol),
        at_rest=at_rest,
    )


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """The motion of a homogeneous network that knows its gradient.

    With `s(v)` the margins of v, `m = e^(Lℓ)s(v)`, weights w at `m` (or, far out, at m times what
    makes the smallest of them the sharpness), `S = ∂s/∂v` and `r = ⟨w, ‖x_i‖⟩‖v‖^(L−2)`:

        p = Sᵀw/r,   γ = ⟨v, p⟩/‖v‖²,   dv/ds = p − γv,   dℓ/ds = γ,
        log(dt/ds) = −log r − (L−2)ℓ − log loss(m).
    """

    network: Network
    task: Classification
    shapes: Shapes
    sharpness: float | None

    @cached_property
    def signed(self) -> Float:
        """The rows `y_i x_i`."""
        return self.task.signed

    @cached_property
    def norms(self) -> Float:
        """Norms of the rows of X."""
        norms: Float = np.linalg.norm(self.task.X, axis=1)
        return norms

    def margins(self, state: Float) -> Float:
        """`e^(Lℓ)s(v)`."""
        with np.errstate(over="ignore", invalid="ignore"):
            shape = self.signed @ self.network.coef(split_layers(state[:-1], self.shapes))
            margins: Float = np.exp(self.network.degree * state[-1]) * shape
            return margins

    def motion(self, state: Float) -> Float:
        """`d state/ds` and `log(dt/ds)`."""
        with np.errstate(all="ignore"):
            return self._parts(state)[0]

    def slope(self, state: Float) -> Float:
        """The derivative of the motion; its columns are those of (v, ℓ)."""
        with np.errstate(all="ignore"):
            moved, push, rate, weights, seen, margins = self._parts(state)
            v, degree, task = state[:-1], self.network.degree, self.task
            layers, growth = split_layers(v, self.shapes), moved[-2]
            S = jacobian(self.network, layers, self.signed)
            dm = np.column_stack([np.exp(degree * state[-1]) * S, degree * margins])
            dw = task.weight_changes(seen * margins, seen * dm)
            bend = self.network.layer_hessian(layers, self.signed.T @ weights)
            along_layers = S.T @ dw
            along_layers[:, :-1] += bend
            square = _square(v)
            along = np.append(v, 0.0)  # half the derivative of ‖v‖²
            d_log_rate = (self.norms @ dw) / (self.norms @ weights) + (degree - 2) * along / square
            dp = along_layers / rate - np.outer(push, d_log_rate)
            d_growth = (np.append(push, 0.0) + v @ dp - 2 * growth * along) / square
            turning = dp - np.outer(v, d_growth)
            turning[:, :-1] -= growth * np.eye(len(v))
            d_log_time = task.weights(margins) @ dm - d_log_rate
            d_log_time[-1] -= degree - 2
            return np.vstack([turning, d_growth, d_log_time])

    def _parts(self, state: Float) -> tuple[Float, Float, float, Float, float, Float]:
        """The motion, and what its derivative is made of."""
        v, log_size, degree, task = state[:-1], state[-1], self.network.degree, self.task
        layers = split_layers(v, self.shapes)
        margins = self.margins(state)
        seen = 1.0 if self.sharpness is None else float(sharpening(margins, self.sharpness))
        weights = task.weights(seen * margins)
        square = _square(v)
        rate = float(weights @ self.norms) * square ** (0.5 * degree - 1.0)
        found = self.network.layer_gradients(layers, self.signed.T @ weights)
        assert found is not None, "the network knows its gradient"
        push = flattened(found, self.shapes) / rate
        growth = (v @ push) / square
        log_time = -np.log(rate) - (degree - 2) * log_size - task.log_loss(margins)
        moved = np.concatenate([push - growth * v, [growth, log_time]])
        return moved, push, rate, weights, seen, margins


def _square(v: Float) -> float:
    """`‖v‖²`, or 1 for layers that are all zero."""
    return float(v @ v) or 1.0
