"""What a saddle path returns: the saddles, their times, and how the path ended."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_number, as_whole_number, read_only
from limitpoint.foundation.display import Page, counted, left_out, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import Labelled
from limitpoint.foundation.result import Result
from limitpoint.foundation.values import Value
from limitpoint.status import Status
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design, euclidean_norm
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

# A slope below this fraction of ‖x‖‖r‖ is shown as zero: r is recomputed from k here, so its
# rounding error is that of y, not of r.
STILL_TOL = 1e-12
# A printed table shows at most this many saddles and this many coefficients of each.
ROWS_SHOWN = 30
COEFS_SHOWN = 4


@dataclass(frozen=True, eq=False)
class Saddle(Value):
    """One saddle of a path, as shown to a ``stop`` function.

    ``number`` counts from 1, ``time`` is cumulative, ``loss`` is ``½‖Xk − y‖²``; ``support`` and
    ``values`` are the non-zero coefficients.
    """

    number: int
    time: float
    loss: float
    support: NDArray[np.intp]
    values: Float
    entered: tuple[int, ...]
    left: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SaddlePath(Labelled, Result):
    """The saddles that training visits as the initialisation vanishes, from 0 to the limit.

    Row 0 is the start (k = 0, s = 0, time 0); row p is the p-th saddle, entered at
    ``path_times[p]``.

    Attributes
    ----------
    path_times : array (p+1,)
        Cumulative Σδ, in units of h(s) (and for the loss ½‖Xk − y‖²).
    losses : array (p+1,)
        ½‖Xk − y‖² at every saddle; falls strictly.
    entered, left : tuples of tuples of int
        For each of the p steps, the coefficients that became non-zero, and those that came back
        to rest at zero.
    degenerate : array (p+1,) of bool
        The saddles whose coefficients are not determined by X, y and the activation times (their
        fit Xk is). ``status`` reports the last one.
    objective : float
        ``Σ t⁺k⁺ + t⁻k⁻`` of the last saddle.
    certificate : Certificate
        Optimality residuals of the last saddle, computed from k and ν alone.
    status : Status
    sparse_coefs : csr_array (p+1, n)
        The coefficients of every saddle.
    duals : array (p+1, m)
        ν of every saddle; ``s = Xᵀν``.
    time_unit : float
        What one unit of ``path_times`` stands for: 1, or h(s)/loss_factor for the path of a
        problem.
    feature_names : tuple of str, or None
        The names of the features: those of a frame, or those given.
    """

    path_times: Float
    losses: Float
    entered: tuple[tuple[int, ...], ...]
    left: tuple[tuple[int, ...], ...]
    degenerate: NDArray[np.bool_]
    objective: float
    certificate: Certificate
    status: Status
    sparse_coefs: sparse.csr_array
    duals: Float
    _problem: tuple[Design, Float, WeightedL1] = field(repr=False)
    time_unit: float = 1.0

    def __post_init__(self) -> None:
        for array in (self.path_times, self.losses, self.degenerate, self.duals):
            read_only(array)

    @property
    def data(self) -> tuple[Design, Float, WeightedL1]:
        """What it is the path of: X, y, and the activation times with the bounds."""
        return self._problem

    @cached_property
    def coefs(self) -> Float:
        """The coefficients of every saddle, dense (p+1, n), starting with zeros."""
        dense: Float = read_only(self.sparse_coefs.toarray())
        return dense

    @cached_property
    def mirrors(self) -> Float:
        """``s = Xᵀν`` of every saddle (p+1, n), computed on first use.

        Where a coefficient moves, its mirror coordinate is the activation time at which it stands.
        """
        design, _, penalty = self._problem
        xi = np.stack([design.rmatvec(nu) for nu in self.duals])
        entries = self.sparse_coefs.tocoo()  # with those that underflow to zero, unlike nonzero()
        rows, columns, values = entries.row, entries.col, entries.data
        inside = (values > penalty.lower[columns]) & (values < penalty.upper[columns])
        moves = inside & (values != 0)
        thresholds = np.where(values > 0, penalty.t_plus[columns], -penalty.t_minus[columns])
        xi[rows[moves], columns[moves]] = thresholds[moves]
        read_only(xi)
        return xi

    @cached_property
    def coef(self) -> Float:
        """The coefficients of the last saddle: the limit, if the path is complete."""
        last: Float = read_only(np.asarray(self.sparse_coefs[[-1], :].toarray()).reshape(-1))
        return last

    def waiting_times(self, number: int) -> Float:
        """δ of every coefficient at saddle ``number``: how long until its s is at a threshold.

        ``(t⁺ − s)/u`` for u > 0 and ``(t⁻ + s)/|u|`` for u < 0 (zhao, lines 8 and 9); infinite
        for a coefficient that moves already, stands still, or may not move. The smallest is the
        time to the next saddle.
        """
        last = len(self.path_times) - 1
        number = as_whole_number(number, 0, "number", LimitpointError, most=last)
        design, y, penalty = self._problem
        k = np.asarray(self.sparse_coefs[[number], :].toarray()).reshape(-1)
        s, residual = design.rmatvec(self.duals[number]), y - design.matvec(k)
        u = design.rmatvec(residual)
        down, up = penalty.thresholds()
        up = np.where(k < 0, np.where(k <= penalty.lower, -penalty.t_minus, np.inf), up)
        down = np.where(k > 0, np.where(k >= penalty.upper, penalty.t_plus, -np.inf), down)
        up, down = np.where(k > 0, np.inf, up), np.where(k < 0, -np.inf, down)
        moves = np.abs(u) > STILL_TOL * design.norms * euclidean_norm(residual)
        distance = np.maximum(np.where(u > 0, up - s, s - down), 0.0)
        waits: Float = np.divide(distance, np.abs(u), out=np.full(len(u), np.inf), where=moves)
        return waits

    @property
    def n_saddles(self) -> int:
        """The number of saddles, not counting the start."""
        return len(self.entered)

    def in_units_of(self, time_unit: float) -> "SaddlePath":
        """The same path with another time unit."""
        rule = "time_unit must be a positive number, or infinity"
        unit = as_number(time_unit, rule, LimitpointError)
        if not unit > 0:
            raise LimitpointError(f"{rule}; it is {unit}")
        return replace(self, time_unit=unit)

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set: coefficients and mirror coordinates by saddle and feature."""
        return xr.Dataset(
            {
                "coef": (("saddle", "feature"), self.coefs),
                "mirror": (("saddle", "feature"), self.mirrors),
                "dual": (("saddle", "sample"), self.duals),
                "loss": ("saddle", self.losses),
                "path_time": ("saddle", self.path_times),
                "degenerate": ("saddle", self.degenerate),
            },
            coords={"saddle": np.arange(self.n_saddles + 1), **self._coords(len(self.coef))},
            attrs={
                "objective": self.objective,
                "certificate": self.certificate.worst,
                "status": self.status.name,
                "time_unit": self.time_unit,
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values; coefficients of each saddle as {feature: value}."""
        rows = self.sparse_coefs
        return {
            **self._names(),
            "status": self.status.name,
            "message": str(self.status),
            "objective": self.objective,
            "time_unit": self.time_unit,
            "path_times": self.path_times.tolist(),
            "losses": self.losses.tolist(),
            "entered": [list(step) for step in self.entered],
            "left": [list(step) for step in self.left],
            "coefs": [
                {
                    int(i): float(value)
                    for i, value in zip(rows[[p], :].indices, rows[[p], :].data, strict=True)
                }
                for p in range(rows.shape[0])
            ],
            "certificate": self.certificate.to_dict(),
        }

    def _facts(self) -> tuple[str, ...]:
        return (
            counted(self.n_saddles, "saddle"),
            counted(self.sparse_coefs.shape[1], "coefficient"),
            f"objective {self.objective:.6g}",
            "certified" if self.status.ok else self.status.words,
        )

    def _page(self) -> Page:
        count = self.n_saddles
        rows = list(range(1, count + 1))
        if count > ROWS_SHOWN:
            rows = [*range(1, ROWS_SHOWN - 1), count - 1, count]
        body = [
            (
                str(p),
                f"{self.path_times[p]:.6g}",
                f"{self.losses[p]:.3g}",
                self._listed(self.entered[p - 1]),
                self._listed(self.left[p - 1]),
                self._coefs_in_words(p),
            )
            for p in rows
        ]
        scaled = np.isfinite(self.time_unit) and self.time_unit != 1.0
        unit = f", times in units of {self.time_unit:.6g}" if scaled else ""
        columns = ("saddle", "time", "loss", "entered", "left", "coefficients")
        most = int(np.diff(self.sparse_coefs.indptr).max(initial=0))
        some = left_out(
            (len(body), count, "saddles"),
            (min(most, COEFS_SHOWN), most, "nonzero coefficients of a saddle"),
            where=".coefs or --json",
        )
        return Page(
            table(f"Saddle path: {count} saddles{unit}", columns, body, some),
            f"Objective {self.objective:.9g}. {self.status}",
            self._certificate_shown()._page(),
        )

    def _certificate_shown(self) -> Certificate:
        """Of a path that was stopped, that the data are fitted is not asked of its last saddle."""
        if self.status not in (Status.STOPPED, Status.CROSS_VALIDATED, Status.SADDLE_LIMIT):
            return self.certificate
        asked = {k: v for k, v in self.certificate.residuals.items() if k != "feasibility"}
        return replace(self.certificate, residuals=asked)

    def _coefs_in_words(self, number: int) -> str:
        row = self.sparse_coefs[[number], :]
        largest = np.argsort(-np.abs(row.data), kind="stable")[:COEFS_SHOWN]
        shown = [
            f"{self.coef_label((row.indices[i],))} = {row.data[i]:.4g}" for i in np.sort(largest)
        ]
        return ", ".join([*shown, "…"] if row.nnz > COEFS_SHOWN else shown)

    def _listed(self, indices: tuple[int, ...]) -> str:
        """At most three features: ties of more are rare and long."""
        shown = ", ".join(self._place((i,)) for i in indices[:3])
        return f"{shown}, … {len(indices) - 3} more" if len(indices) > 3 else shown
