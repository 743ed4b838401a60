"""Singular values of the layers and of the coefficients along a trajectory."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from limitpoint.dynamics.trajectory import Trajectory, as_trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.result import Result

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Spectrum", "spectrum"]

EPS = float(np.finfo(np.float64).eps)
# Singular values nearer than this, relative to the largest, are taken as one: integrators leave
# about 1e-9 of a matrix undetermined, which turns the vectors of such values by 1e-3 and more.
SAME = 1e-6
# A matrix this many times wider than high is first reduced to a square one.
WIDE = 2
# Eigenvalues of WWᵀ are right to a few eps·σ₁², singular values from them to a few eps·(σ₁/σ)²/2,
# relative: down to this ratio of the smallest eigenvalue to the largest, to 1e-9. That is three
# times as fast as what keeps all digits.
GRAM_RATIO = 1e-6
# Sums of squares of larger entries overflow.
LARGEST_SQUARED = 1e140
# A printed table shows this many moments, and this many values of each matrix.
ROWS_SHOWN = 12
VALUES_SHOWN = 3


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(Result):
    """Singular values along time, each followed through crossings.

    Column i is the same singular value at all times, the i-th largest at the end; at other times
    the columns need not be in order.

    Attributes
    ----------
    times
        Times of the records.
    layers
        For each layer times × its singular values; a vector among matrices has its norm.
    coefs
        The same for the coefficients.
    kind
        What was run, in words.
    steps
        Step numbers of a training run, None for a flow.
    """

    times: Float
    layers: tuple[Float, ...]
    coefs: Float
    kind: str
    steps: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for array in (self.times, *self.layers, self.coefs):
            read_only(array)
        if self.steps is not None:
            read_only(self.steps)

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set."""
        named = {f"layer_{i}": values for i, values in enumerate(self.layers)}
        data = xr.Dataset(
            {
                name: (("time", f"{name}_value"), values)
                for name, values in {**named, "coef": self.coefs}.items()
            },
            coords={"time": self.times},
            attrs={"kind": self.kind},
        )
        return data if self.steps is None else data.assign_coords(step=("time", self.steps))

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        steps = {} if self.steps is None else {"steps": self.steps.tolist()}
        return {
            "kind": self.kind,
            "times": self.times.tolist(),
            **steps,
            "layers": [values.tolist() for values in self.layers],
            "coefs": self.coefs.tolist(),
        }

    def _facts(self) -> tuple[str, ...]:
        values = sum(layer.shape[1] for layer in self.layers) + self.coefs.shape[1]
        return self.kind, counted(len(self.times), "record"), counted(values, "singular value")

    def _page(self) -> Page:
        rows = np.unique(np.linspace(0, len(self.times) - 1, ROWS_SHOWN).astype(int))
        matrices = {f"W{i + 1}": values for i, values in enumerate(self.layers)} | {"β": self.coefs}
        shown = [
            (f"σ{j + 1}({name})", values[:, j])
            for name, values in matrices.items()
            for j in range(min(values.shape[1], VALUES_SHOWN))
        ]
        moments = self.times if self.steps is None else self.steps
        columns = ("time" if self.steps is None else "step", *(name for name, _ in shown))
        body = [(number(float(moments[r])), *(f"{v[r]:.4g}" for _, v in shown)) for r in rows]
        counts = ", ".join(str(values.shape[1]) for values in (*self.layers, self.coefs))
        title = f"Singular values along {self.kind}: {len(self.times)} records, {counts} values"
        some = left_out(
            (len(rows), len(self.times), "records"),
            (len(shown), sum(values.shape[1] for values in matrices.values()), "singular values"),
            where=".layers and .coefs or --json",
        )
        return table(title, columns, body, some)


def spectrum(trajectory: Trajectory) -> Spectrum:
    """Singular values of every layer and of the coefficients along a trajectory.

    Consecutive records are matched by their singular vectors, from the end backwards: values that
    start equal (all `√(2γ)`, from orthonormal rows) take the labels of where they go. Where values
    meet, the vectors of the later record are carried through the space that they span together, so
    that a crossing does not exchange them. Records that are not finite have NaN.

    Parameters
    ----------
    trajectory
        One that recorded its layers, at least one of them a matrix.

    Raises
    ------
    LimitpointError
        If there are no layers, or no matrix among them.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]])
    >>> network = lp.TwoLayer(width=3)
    >>> problem = lp.Problem(network, lp.Init.orthogonal(network, task, gamma=0.01), task)
    >>> run = lp.train(problem, lp.GD(0.1), steps=500)
    >>> spectrum(run).coefs[-1].round(6).tolist()
    [2.0, 1.0]
    """
    layers = as_trajectory(trajectory).layers
    if layers is None:
        raise LimitpointError("the trajectory has no layers; record them to see singular values")
    if all(layer.ndim < 3 for layer in layers):
        raise LimitpointError(
            "the trajectory has no layer that is a matrix: its layers are vectors, which have no "
            "singular values"
        )
    return Spectrum(
        times=trajectory.times.copy(),
        layers=tuple(track(_matrices(layer)) for layer in layers),
        coefs=_coef_values(trajectory),
        kind=trajectory.kind,
        steps=None if trajectory.steps is None else trajectory.steps.copy(),
    )


def _coef_values(trajectory: Trajectory) -> Float:
    """Those of the coefficients; none where the network has none."""
    if trajectory.coef.size == 0:
        return np.empty((len(trajectory.times), 0))
    return track(_matrices(trajectory.coefs))


def track(matrices: Float) -> Float:
    """Singular values of a sequence of matrices (times × m × n), times × min(m, n).

    Only the vectors of the shorter side are compared: they are a whole basis, and with them a
    record's others are determined.
    """
    if matrices.shape[1] > matrices.shape[2]:
        matrices = matrices.swapaxes(1, 2)
    values = np.full(matrices.shape[:2], np.nan)
    reference: Float | None = None
    for record in np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))[::-1]:
        found, vectors = _short_svd(matrices[record])
        if reference is None:
            values[record], reference = found, vectors
            continue
        order = _match(reference, vectors)
        values[record] = found[order]
        reference = _carried(reference, vectors[:, order], values[record])
    return values


def _matrices(records: Float) -> Float:
    """Times × m × n, vectors as columns; layers with more axes are matrices of their last two."""
    if records.ndim == 2:
        return records[:, :, None]
    if records.ndim > 3:
        raise LimitpointError(
            f"layers must be vectors or matrices; one has shape {records.shape[1:]}"
        )
    return records


def _short_svd(matrix: Float) -> tuple[Float, Float]:
    """Singular values, falling, and the vectors of the shorter (first) side."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest > LARGEST_SQUARED:  # a run that diverges, shortly before it has
        values, vectors = _short_svd(matrix / largest)
        with np.errstate(over="ignore"):
            return largest * values, vectors
    high, wide = matrix.shape
    if high == 1:
        return np.array([np.linalg.norm(matrix)]), np.ones((1, 1))
    if wide >= WIDE * high:
        squares, vectors = np.linalg.eigh(matrix @ matrix.T)
        if squares[0] > GRAM_RATIO * squares[-1]:
            return np.sqrt(squares[::-1]), vectors[:, ::-1]
        matrix = np.asarray(np.linalg.qr(matrix.T, mode="r")).T
    vectors, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return values, vectors


def _match(reference: Float, vectors: Float) -> NDArray[np.intp]:
    """For each column of the reference the column of `vectors` that continues it."""
    overlaps = (reference.T @ vectors) ** 2
    nearest: NDArray[np.intp] = overlaps.argmax(axis=1)
    # Rows and columns sum to one: an overlap above ½ is the largest of both.
    if (overlaps[np.arange(len(nearest)), nearest] > 0.5).all():
        return nearest
    best: NDArray[np.intp] = linear_sum_assignment(overlaps, maximize=True)[1]
    return best


def _carried(reference: Float, vectors: Float, values: Float) -> Float:
    """The vectors to compare with next: where values are the same, those of the reference.

    A basis of the space of equal values is arbitrary. The one that continues the reference is its
    projection, made orthonormal as far as one step of Newton's iteration for the polar factor does
    it: singular values s of the projection become s(3 − s²)/2, so that none ever shrinks.
    """
    order = np.argsort(-values, kind="stable")
    gaps = values[order][:-1] - values[order][1:]
    groups = np.split(order, np.flatnonzero(gaps > SAME * values[order[0]]) + 1)
    carried = vectors.copy()
    for group in groups:
        if len(group) > 1:
            inside = vectors[:, group].T @ reference[:, group]
            inside = 1.5 * inside - 0.5 * inside @ (inside.T @ inside)
            carried[:, group] = vectors[:, group] @ inside
    return carried
