"""The record of a flow or a training run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind, read_only
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.result import Result
from limitpoint.status import Status

__all__ = ["Trajectory", "as_trajectory"]

# A printed table shows this many moments and this many coefficients, the largest at the end.
ROWS_SHOWN = 12
COEFS_SHOWN = 4
# Coefficients between e to the minus this and e to this are multiplied as they are.
LARGEST_LOG = 300.0


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """Coefficients, loss, layers and duals along time, backed by an `xarray.Dataset`.

    Attributes
    ----------
    data
        The labelled record; every property below reads from it.
    status
        How the run ended.
    kind
        What was run, in words.
    relative_residual
        How far from fitting the data it ended: the part of the residual that can be fitted,
        relative to the part of y that can. Of a classification, the share of samples on the wrong
        side, those with margins of 0 or less.

    Notes
    -----
    Of a classification the coefficients grow for ever: it also has `margins`, and times and losses
    in logarithms, where float64 holds them.
    """

    data: xr.Dataset
    status: Status
    kind: str
    relative_residual: float

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
        """Assemble the data set; signs and logs are taken from the coefficients if not given.

        The last three are those of a classification.
        """
        with np.errstate(divide="ignore"):
            signs = np.sign(coefs) if signs is None else signs
            logs = np.log(np.abs(coefs)) if logs is None else logs
        along = ("time", "feature", "output")[: coefs.ndim]
        data = xr.Dataset(
            {
                "coef": (along, coefs),
                "sign": (along, signs),
                "log_abs_coef": (along, logs),
                "loss": ("time", losses),
            },
            coords={"time": times, "feature": np.arange(coefs.shape[1])},
        )
        for i, layer in enumerate(layers or ()):
            axes = ("time", *(f"layer_{i}_axis_{j}" for j in range(layer.ndim - 1)))
            data[f"layer_{i}"] = (axes, layer)
        if duals is not None:
            data["dual"] = (("time", "sample", "output")[: duals.ndim], duals)
        if log_times is not None:
            data = data.assign_coords(log_time=("time", log_times))
        if log_losses is not None:
            data["log_loss"] = ("time", log_losses)
        if margins is not None:
            data["margin"] = (("time", "sample"), margins)
        if steps is not None:
            data = data.assign_coords(step=("time", steps))
        for variable in data.variables.values():
            read_only(variable.values)
        return cls(data, status, kind, float(relative_residual))

    @property
    def times(self) -> Float:
        """Times of the records (for training: steps times learning rate)."""
        return np.asarray(self.data["time"].values)

    @property
    def steps(self) -> NDArray[np.int64] | None:
        """Step numbers of a training run, None for a flow."""
        return np.asarray(self.data["step"].values) if "step" in self.data.coords else None

    @property
    def coefs(self) -> Float:
        """Coefficients, times × n, or times × n × k for k outputs."""
        return np.asarray(self.data["coef"].values)

    @property
    def coef(self) -> Float:
        """Coefficients at the end."""
        end: Float = self.coefs[-1]
        return end

    @property
    def signs(self) -> Float:
        """Signs of the coefficients, also of those too small for float64."""
        return np.asarray(self.data["sign"].values)

    @property
    def log_abs_coefs(self) -> Float:
        """Natural logarithms of the coefficients' moduli."""
        return np.asarray(self.data["log_abs_coef"].values)

    @property
    def losses(self) -> Float:
        """Loss at each time."""
        return np.asarray(self.data["loss"].values)

    @property
    def log_times(self) -> Float:
        """Natural logarithms of the times; those of a classification may be beyond float64."""
        if "log_time" in self.data.coords:
            return np.asarray(self.data["log_time"].values)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.times))

    @property
    def log_losses(self) -> Float:
        """Natural logarithms of the losses; those of a classification may be below float64."""
        if "log_loss" in self.data:
            return np.asarray(self.data["log_loss"].values)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.losses))

    @property
    def margins(self) -> Float | None:
        """Margins `y_i f(x_i)`, times × m; None for a regression."""
        return np.asarray(self.data["margin"].values) if "margin" in self.data else None

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

    @property
    def layers(self) -> tuple[Float, ...] | None:
        """The layers, each times × its shape, where they were recorded."""
        names = [name for name in self.data if str(name).startswith("layer_")]
        if not names:
            return None
        return tuple(np.asarray(self.data[f"layer_{i}"].values) for i in range(len(names)))

    @property
    def duals(self) -> Float | None:
        """Duals `ν(t) = loss_factor · ∫(y − Xβ)`, times × m, of a flow in sample space."""
        return np.asarray(self.data["dual"].values) if "dual" in self.data else None

    def to_xarray(self) -> xr.Dataset:
        """A copy of the labelled record, with the status in its attributes."""
        return self.data.assign_attrs(
            status=self.status.name, kind=self.kind, relative_residual=self.relative_residual
        )

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
        named = [", ".join(str(i) for i in place) for place in places]
        margins = self.margins
        if margins is None:
            columns = ["time", "loss", *(f"β[{name}]" for name in named)]
            numbers = [self.times, self.losses]
            shown_coefs = self.coefs
        else:
            columns = ["log time", "log loss", "margin", *(f"β[{name}]/‖β‖" for name in named)]
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
