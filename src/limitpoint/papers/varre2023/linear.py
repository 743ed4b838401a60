"""What the figures of linear networks share: the data, the flow on a grid, and two kinds of bounds.

Notation: `β = W₁W₂`, `M = W₁W₁ᵀ`, `C = W₁ᵀW₁ − W₂W₂ᵀ`, which the flow conserves.

The paper hopes for "a perturbation analysis" of starts that are not orthonormal. Here is one; ours,
exact, for any start and any time. `W₁CW₁ᵀ = M² − ββᵀ`. If `2g ≤ C ≤ 2G` on the space that the rows
of W₁ and the columns of W₂ span at the start, and always span, then `ββᵀ ≤ M² − 2gM` and
`ββᵀ ≥ M² − 2GM`; eigenvalues keep such orders, so that every singular value of W₁ lies between
`√(g + √(g² + σ²))` and `√(G + √(G² + σ²))`, σ that of β. At `g = G = γ` this is Corollary 3.1.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from scipy.integrate import cumulative_simpson

from limitpoint.dynamics.flow import flow
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.plot.style import COLOURS
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = [
    "HiddenBounds",
    "bounds_off",
    "draw_bounds",
    "flow_on_grid",
    "hidden_values",
    "integral",
    "padded_values",
    "vector_task",
]


def vector_task(samples: int, features: int, outputs: int, seed: int) -> Regression:
    """Gaussian data labelled by a Gaussian ground truth; the loss is a mean over the samples."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    truth = rng.standard_normal((features, outputs))
    return Regression(X, X @ truth, loss_factor=1.0 / samples)


def flow_on_grid(problem: Problem, records: int) -> Trajectory:
    """The flow until the data are fitted, on times that crowd at the start as squares do."""
    end = float(flow(problem).times[-1])
    return flow(problem, times=end * np.linspace(0.0, 1.0, records) ** 2)


def hidden_values(matrices: Float) -> Float:
    """Singular values of every record of a layer, the largest first."""
    return np.asarray(np.linalg.svd(matrices, compute_uv=False), dtype=np.float64)


def integral(values: Float, times: Float) -> tuple[Float, float]:
    """The integral from the first time to every second one, and how far off it may be.

    By Simpson's rule, along the first axis. The error is estimated by what half as many points
    give: at fourth order that is fifteen times the error of all.
    """
    fine = cumulative_simpson(values, x=times, axis=0, initial=0.0)[::2]
    coarse = cumulative_simpson(values[::2], x=times[::2], axis=0, initial=0.0)
    return fine, float(np.abs(fine - coarse).max())


@dataclass(frozen=True)
class HiddenBounds:
    """Half the smallest and the largest eigenvalue of C on the space of the start."""

    low: float
    high: float

    @classmethod
    def of(cls, first: Float, second: Float) -> "HiddenBounds":
        """From the layers at the start."""
        basis = np.linalg.svd(np.concatenate([first, second.T]), full_matrices=False)[2]
        rank = np.linalg.matrix_rank(np.concatenate([first, second.T]))
        inside, outwards = first @ basis[:rank].T, basis[:rank] @ second
        eigenvalues = np.linalg.eigvalsh(inside.T @ inside - outwards @ outwards.T)
        return cls(float(eigenvalues[0]) / 2, float(eigenvalues[-1]) / 2)

    @property
    def ends(self) -> Float:
        """The ends of both runs."""
        return np.array([self.low, self.high])

    def around(self, coef: Float, count: int) -> tuple[Float, Float]:
        """Bounds on the `count` singular values of W₁, given β."""
        values = padded_values(coef, count)
        low, high = (
            np.sqrt(np.maximum(g + np.hypot(g, values), 0.0)) for g in (self.low, self.high)
        )
        return low, high


def padded_values(coef: Float, count: int) -> Float:
    """The singular values of β, and zeros up to `count` of them."""
    values = np.zeros(count)
    found = np.linalg.svd(coef, compute_uv=False)
    values[: len(found)] = found
    return values


def bounds_off(low: Float, high: Float, ends: Float, values: Float) -> float:
    """How far the bounds are from solving `M² − 2gM = σ²` for M their squares; relative.

    `ends` are half the smallest and the largest eigenvalue of C, and `values` those of β, both
    measured at the end of a run.
    """
    off = []
    for squares, half in ((low**2, ends[0]), (high**2, ends[1])):
        size = squares**2 + np.abs(2 * half * squares) + values**2
        off.append(np.abs(squares**2 - 2 * half * squares - values**2) / size.max())
    return float(np.max(off))


def draw_bounds(axes: Axes, low: Float, high: Float, rank: int, at: float) -> None:
    """The bounds of the first `rank` values, side by side from this time on, and of the others."""
    # On a logarithmic axis each an eighth further.
    for i in range(rank):
        axes.plot([at * 1.18**i] * 2, [low[i], high[i]], color=COLOURS[i], marker="_", lw=1.2)
    rest = [low[rank:].min(), high[rank:].max()]
    axes.plot([at * 1.18**rank] * 2, rest, color="0.5", marker="_", lw=1.2)
