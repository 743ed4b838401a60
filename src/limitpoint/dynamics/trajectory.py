"""The record of a flow or a training run."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind, read_only
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import Labelled
from limitpoint.foundation.result import Result
from limitpoint.status import Status

if TYPE_CHECKING:
    import xarray as xr

    from limitpoint.dynamics.training.start_of_flow import EffectiveStart
    from limitpoint.init import Init
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Trajectory", "as_trajectory"]

# A printed table shows this many moments and this many coefficients, the largest at the end.
ROWS_SHOWN = 12
COEFS_SHOWN = 4
# Coefficients between e to the minus this and e to this are multiplied as they are.
LARGEST_LOG = 300.0


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Labelled, Result):
    """Coefficients, loss, layers and duals along time.

    Attributes
    ----------
    times
        Times of the records (for training: steps times learning rate).
    coefs
        Coefficients, times × n, or times × n × k for k outputs.
    losses
        Loss at each time.
    status
        How the run ended.
    kind
        What was run, in words.
    relative_residual
        How far from fitting the data it ended: the part of the residual that can be fitted,
        relative to the part of y that can. Of a classification, the share of samples on the wrong
        side, those with margins of 0 or less.
    signs
        Signs of the coefficients, also of those too small for float64.
    log_abs_coefs
        Natural logarithms of the coefficients' moduli.
    log_times, log_losses
        Natural logarithms of times and losses; those of a classification may be beyond float64.
    layers
        The layers, each times × its shape, where they were recorded.
    duals
        Duals `ν(t) = loss_factor · ∫(y − Xβ)`, times × m, of a flow in sample space.
    steps
        Step numbers of a training run, None for a flow.
    margins
        Margins `y_i f(x_i)`, times × m, of a classification: there the coefficients grow for ever.
    effective_start
        Of gradient steps of a network of two layers with one number per coefficient and layer: from
        where gradient flow would get where each record is, and the sums that this takes.
    feature_names, target_names
        The names that the task has for its features and outputs, or None.
    """

    times: Float
    coefs: Float
    losses: Float
    status: Status
    kind: str
    relative_residual: float
    signs: Float
    log_abs_coefs: Float
    log_times: Float
    log_losses: Float
    layers: tuple[Float, ...] | None = None
    duals: Float | None = None
    steps: NDArray[np.int64] | None = None
    margins: Float | None = None
    effective_start: "EffectiveStart | None" = None

    def __post_init__(self) -> None:
        for array in (*self._along_time().values(), *(self.layers or ())):
            read_only(array)

    @classmethod
    def build(
        cls,
        *,
        kind: str,
        status: Status,
        times: Float,
        coefs: Float,
        losses: Float,
        relative_residual: float,
        signs: Float | None = None,
        logs: Float | None = None,
        layers: tuple[Float, ...] | None = None,
        duals: Float | None = None,
        steps: NDArray[np.int64] | None = None,
        log_times: Float | None = None,
        log_losses: Float | None = None,
        margins: Float | None = None,
    ) -> "Trajectory":
        """Assemble the record; signs and logarithms are computed where they are not given."""
        times, coefs, losses = (np.asarray(array, float) for array in (times, coefs, losses))
        with np.errstate(divide="ignore"):
            return cls(
                times,
                coefs,
                losses,
                status,
                kind,
                float(relative_residual),
                np.sign(coefs) if signs is None else signs,
                np.log(np.abs(coefs)) if logs is None else logs,
                np.log(times) if log_times is None else log_times,
                np.log(losses) if log_losses is None else log_losses,
                None if layers is None else tuple(layers),
                duals,
                steps,
                margins,
            )

    def _along_time(self) -> dict[str, Any]:
        """Everything that has times as its first axis but the layers."""
        names = ("times", "coefs", "losses", "signs", "log_abs_coefs", "log_times", "log_losses")
        optional = ("duals", "steps", "margins")
        found = {name: getattr(self, name) for name in (*names, *optional)}
        return {name: array for name, array in found.items() if array is not None}

    def select(self, records: Any) -> "Trajectory":
        """The same run with these of its records only: whole numbers, truths or a slice."""
        chosen = {name: np.asarray(array)[records] for name, array in self._along_time().items()}
        layers = None if self.layers is None else tuple(layer[records] for layer in self.layers)
        start = self.effective_start
        found = None if start is None else start.select(records)
        return replace(self, **chosen, layers=layers, effective_start=found)

    @property
    def effective_init(self) -> "tuple[Init, ...]":
        """The effective start at every record: gradient flow from there fits `Xβ` there with β.

        The law of the step, `limitpoint.step_law`. Empty where it does not hold.
        """
        start = self.effective_start
        return () if start is None else tuple(start.init(r) for r in range(len(self.times)))

    @property
    def coef(self) -> Float:
        """Coefficients at the end."""
        end: Float = self.coefs[-1]
        return end

    @property
    def directions(self) -> Float:
        """The coefficients divided by their norm, times × n; zero where they are all zero."""
        count, coefs, logs = len(self.times), self.coefs, self.log_abs_coefs
        largest = logs.reshape(count, -1).max(axis=1, initial=-np.inf)
        largest = np.where(np.isfinite(largest), largest, 0.0).reshape(-1, *[1] * (coefs.ndim - 1))
        # From the coefficients themselves, to all digits, where squares of them are representable.
        held = np.abs(largest) < LARGEST_LOG
        with np.errstate(all="ignore"):
            shaped = np.where(
                held,
                coefs * np.exp(-np.where(held, largest, 0.0)),
                self.signs * np.exp(logs - largest),
            )
            norms = np.sqrt((shaped.reshape(count, -1) ** 2).sum(axis=1)).reshape(largest.shape)
            directions: Float = shaped / np.where(norms > 0, norms, 1.0)
        return directions

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set, with the status in its attributes."""
        along = ("time", "feature", "output")[: self.coefs.ndim]
        data = xr.Dataset(
            {
                "coef": (along, self.coefs),
                "sign": (along, self.signs),
                "log_abs_coef": (along, self.log_abs_coefs),
                "loss": ("time", self.losses),
            },
            coords={"time": self.times, **self._coords(self.coefs.shape[1])},
            attrs={
                "status": self.status.name,
                "kind": self.kind,
                "relative_residual": self.relative_residual,
            },
        )
        for i, layer in enumerate(self.layers or ()):
            axes = ("time", *(f"layer_{i}_axis_{j}" for j in range(layer.ndim - 1)))
            data[f"layer_{i}"] = (axes, layer)
        if self.duals is not None:
            data["dual"] = (("time", "sample", "output")[: self.duals.ndim], self.duals)
        if self.margins is not None:
            data = data.assign_coords(log_time=("time", self.log_times))
            data["log_loss"] = ("time", self.log_losses)
            data["margin"] = (("time", "sample"), self.margins)
        if self.effective_start is not None:
            data["log_shrinkage"] = (("time", "feature"), self.effective_start.log_shrinkage)
            data["shift"] = (("time", "feature"), self.effective_start.shift)
        return data if self.steps is None else data.assign_coords(step=("time", self.steps))

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values (coefficients and losses along time, not the layers)."""
        steps = {} if self.steps is None else {"steps": self.steps.tolist()}
        margins = self.margins
        separation = (
            {}
            if margins is None
            else {
                "log_times": self.log_times.tolist(),
                "log_losses": self.log_losses.tolist(),
                "margins": margins.tolist(),
                "directions": self.directions.tolist(),
            }
        )
        return {
            **self._names(),
            "kind": self.kind,
            "status": self.status.name,
            "message": str(self.status),
            "relative_residual": self.relative_residual,
            "times": self.times.tolist(),
            **steps,
            "coefs": self.coefs.tolist(),
            "signs": self.signs.tolist(),
            "log_abs_coefs": self.log_abs_coefs.tolist(),
            "losses": self.losses.tolist(),
            **separation,
        }

    def _facts(self) -> tuple[str, ...]:
        return (
            self.kind,
            counted(len(self.times), "record"),
            counted(self.coef.size, "coefficient"),
            self.status.words,
        )

    def _page(self) -> Page:
        rows = np.unique(np.linspace(0, len(self.times) - 1, ROWS_SHOWN).astype(int))
        shown = np.sort(np.argsort(-self.log_abs_coefs[-1].ravel(), kind="stable")[:COEFS_SHOWN])
        places = [np.unravel_index(i, self.coef.shape) for i in shown]
        steps = self.steps
        named = [self.coef_label(place) for place in places]
        margins = self.margins
        if margins is None:
            columns = ["time", "loss", *named]
            numbers = [self.times, self.losses]
            shown_coefs = self.coefs
        else:
            columns = ["log time", "log loss", "margin", *(f"{name}/‖β‖" for name in named)]
            numbers = [self.log_times, self.log_losses, margins.min(axis=1)]
            shown_coefs = self.directions
        body = [
            (
                *(number(each[r]) for each in numbers),
                *(f"{shown_coefs[r][place]:.4g}" for place in places),
            )
            for r in rows
        ]
        if steps is not None:
            columns[0] = "step"
            body = [(str(steps[r]), *row[1:]) for r, row in zip(rows, body, strict=True)]
        title = f"{self.kind}: {len(self.times)} records, {self.coef.size} coefficients"
        some = left_out(
            (len(rows), len(self.times), "records"),
            (len(shown), self.coef.size, "coefficients"),
            where=".times and .coefs or --json",
        )
        return Page(table(title, columns, body, some), str(self.status))


def as_trajectory(value: Any, name: str = "trajectory") -> Trajectory:
    """Return an argument that must be a run, or raise `LimitpointError` naming it."""
    wanted = "a Trajectory, like flow(problem) or train(problem, ...)"
    return as_kind(value, Trajectory, wanted, name, LimitpointError)
