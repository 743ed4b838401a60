"""The exact flow of a two-layer network in the directions that move.

Notation: `X = UΣVᵀ`, r the rank of `[VᵀW₁(0); W₂(0)ᵀ]`, Q an orthonormal basis (l × r) of its row
space. Since `Ẇ₁ = R W₂ᵀ` and `Ẇ₂ = W₁ᵀR` with R in the row space of X, the layers are
`W₁ = V A Qᵀ + (I − VVᵀ)W₁(0)` and `W₂ = Q C` at all times, with
`Ȧ = E Cᵀ`, `Ċ = AᵀE`, `E = loss_factor · Σ²(Σ⁻¹UᵀY − AC)`: from orthonormal rows ρ² + ρk numbers
for data of rank ρ, whatever the width. (Varre et al., Lemma 3.1, has d² + dk of them.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics.integrate.until_converged import (
    EXPLICIT_SHARE,
    LARGEST_JACOBIAN,
    LARGEST_RECORD,
    LARGEST_TRIAL,
    integrate,
)
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.row_space import RowSpace
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import ScaleNotRepresentable
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem

__all__ = ["check_resolved", "flow_of_two_layers"]

EPS = float(np.finfo(np.float64).eps)
# The smallest tolerance that the integrator can do.
FINEST_RTOL = 1e-13
# A coefficient matrix has as many directions as singular values above this, relative.
RANK_TOLERANCE = 1e-8
# Active layers of size 1 hide inactive directions behind rounding of eps: these must start at least
# this large, so that three digits of them are left when their turn comes.
SMALLEST_INACTIVE = 5e-13
# Squares of the layers must be representable in any case.
SMALLEST = 1e-150


@dataclass(frozen=True, eq=False)
class _Reduced:
    """The moving parts, and the way back to the layers."""

    rows: Float  # Vᵀ, ρ × n
    rates: Float  # loss_factor · Σ²
    target: Float  # Σ⁻¹UᵀY, ρ × k
    neurons: Float  # Q, l × r
    still: Float  # (I − VVᵀ)W₁(0), n × l
    start: tuple[Float, Float]  # A(0), C(0)
    vector: bool  # y is a vector

    @classmethod
    def of(cls, problem: Problem) -> "_Reduced":
        task = problem.regression
        first, second = problem.init.layers
        data = RowSpace.of(task.X)
        left, values, rows = data.left, data.values, data.rows
        outputs = task.y if task.y.ndim == 2 else task.y[:, None]
        second = second if second.ndim == 2 else second[:, None]
        met = rows @ first
        neurons = _span(met.T, second)
        return cls(
            rows=rows,
            rates=task.loss_factor * values**2,
            target=(left.T @ outputs) / values[:, None],
            neurons=neurons,
            still=first - rows.T @ met,
            start=(met @ neurons, neurons.T @ second),
            vector=task.y.ndim == 1,
        )

    @property
    def cut(self) -> int:
        return self.start[0].size

    def parts(self, states: Float) -> tuple[Float, Float]:
        """A and C; the state is the last axis."""
        shapes = [part.shape for part in self.start]
        lead = states.shape[:-1]
        one = states[..., : self.cut].reshape(*lead, *shapes[0])
        return one, states[..., self.cut :].reshape(*lead, *shapes[1])

    @property
    def units(self) -> Float:
        """Sizes at which the state must be resolved.

        A row of A at that of its start, since some never grow; C at that of its start, or of what
        it becomes, `target/A` or as large as A, whichever is smaller.
        """
        a, c = self.start
        largest = float(np.abs(a).max(initial=0.0)) or 1.0
        rows = np.abs(a).max(axis=1, keepdims=True)
        wanted = float(np.abs(self.target).max(initial=0.0)) / largest or largest
        column = max(min(largest, wanted), float(np.abs(c).max(initial=0.0)))
        return np.concatenate(
            [
                np.broadcast_to(np.where(rows > 0, rows, column), a.shape).ravel(),
                np.full(c.size, column),
            ]
        )

    def velocity(self, state: Float) -> Float:
        a, c = self.parts(state)
        neg_grad = self.rates[:, None] * (self.target - a @ c)
        moved = np.concatenate([(neg_grad @ c.T).ravel(), (a.T @ neg_grad).ravel()])
        clipped: Float = np.clip(moved, -LARGEST_TRIAL, LARGEST_TRIAL)
        return clipped

    def jacobian(self, state: Float) -> Float:
        """Minus the Hessian of the loss in A and C."""
        a, c = self.parts(state)
        neg_grad = self.rates[:, None] * (self.target - a @ c)
        steep = self.rates[:, None] * a
        rank, outputs = np.eye(len(c)), np.eye(c.shape[1])
        inner = -np.einsum("i,ij,ab->iajb", self.rates, np.eye(len(a)), c @ c.T)
        mixed = np.einsum("ik,ab->iabk", neg_grad, rank) - np.einsum("ib,ak->iabk", steep, c)
        outer = -np.einsum("kl,ab->akbl", outputs, a.T @ steep)
        size = self.cut
        whole = np.empty((state.size, state.size))
        whole[:size, :size] = inner.reshape(size, size)
        whole[:size, size:] = mixed.reshape(size, -1)
        whole[size:, :size] = whole[:size, size:].T
        whole[size:, size:] = outer.reshape(state.size - size, -1)
        return np.clip(whole, -LARGEST_TRIAL, LARGEST_TRIAL)

    def layers(self, states: Float) -> tuple[Float, Float]:
        a, c = self.parts(states)
        first = self.rows.T @ a @ self.neurons.T + self.still
        second = self.neurons @ c
        return first, second[..., 0] if self.vector else second

    def coefs(self, states: Float) -> Float:
        a, c = self.parts(states)
        coefs: Float = self.rows.T @ (a @ c) + (self.still @ self.neurons) @ c
        return coefs[..., 0] if self.vector else coefs


def check_resolved(problem: Problem) -> None:
    """Raise `ScaleNotRepresentable` where float64 would lose directions that are still inactive."""
    problem.init.check_products(problem.network.degree)
    size = max(float(np.abs(layer).max(initial=0.0)) for layer in problem.init.layers)
    best = np.linalg.lstsq(problem.regression.X, problem.regression.y, rcond=None)[0]
    values = np.linalg.svd(best.reshape(len(best), -1), compute_uv=False)
    several = int((values > values[0] * RANK_TOLERANCE).sum()) > 1
    least = SMALLEST_INACTIVE * float(np.sqrt(values[0])) if several else SMALLEST
    if 0 < size < least:
        raise ScaleNotRepresentable(
            f"at scale {problem.init.scale:g} (log_scale={problem.init.log_scale:.6g}) layers that "
            f"have grown hide those that have not behind their rounding; use a scale above "
            f"{least / size * problem.init.scale:.1g}, or exact_spectrum on whitened data"
        )


def flow_of_two_layers(
    problem: Problem,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    residual_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate A and C; all layers follow from them."""
    reduced, task = _Reduced.of(problem), problem.regression
    start = np.concatenate([part.ravel() for part in reduced.start])
    measure = RelativeResidual.of(task, reduced.coefs(start))
    jacobian: Callable[[Float], Float] | None = reduced.jacobian
    held = EPS
    if start.size > LARGEST_JACOBIAN:
        jacobian, held = None, EXPLICIT_SHARE * rtol
    # Errors made while a direction is inactive grow with it: by the logarithm of its growth in all.
    grown = max(float(np.abs(reduced.target).max(initial=0.0)), EPS) ** 0.5
    size = float(np.abs(start).max(initial=0.0))
    growth = max(float(np.log(grown / size)), 0.0) if size > 0 else 0.0
    fine = max(rtol / (1.0 + growth), FINEST_RTOL)
    found = integrate(
        reduced.velocity,
        jacobian,
        start,
        relative_residual=lambda state: measure.relative_residual(reduced.coefs(state)),
        rounding=lambda state: measure.rounding(2 * held * np.abs(reduced.coefs(state))),
        residual_tolerance=residual_tolerance,
        arrived=measure.arrived,
        t_end=t_end,
        times=times,
        rtol=fine,
        atol=fine * reduced.units,
        max_steps=max_steps,
    )
    # The layers are larger than the state; of very wide ones fewer records are kept.
    numbers = sum(layer.size for layer in problem.init.direction)
    count = len(found.times)
    most = count if times is not None else min(count, max(LARGEST_RECORD // numbers, 2))
    keep = np.unique(np.linspace(0, count - 1, most).round().astype(int))
    states = found.states[keep]
    coefs = reduced.coefs(states)
    return Trajectory.build(
        kind="gradient flow in the directions that move",
        status=found.status,
        times=found.times[keep],
        coefs=coefs,
        losses=np.array([task.loss(coef) for coef in coefs]),
        layers=reduced.layers(states),
        relative_residual=measure.relative_residual(coefs[-1]),
    )


def _span(first: Float, second: Float) -> Float:
    """Orthonormal columns spanning both matrices' columns, each of these on its own scale."""
    both = np.concatenate([first, second], axis=1)
    sizes = np.linalg.norm(both, axis=0)
    left, values, _ = np.linalg.svd(both / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    basis: Float = left[:, values > len(left) * EPS * (values[0] or 1.0)]
    return basis if basis.size else left[:, :1]
