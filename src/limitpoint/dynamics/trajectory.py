"""The record of a flow or a training run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from rich.console import Group

from limitpoint.arrays import Float, read_only
from limitpoint.display import number, table, to_html, to_text
from limitpoint.status import Status

__all__ = ["Trajectory"]

# A printed table shows this many moments and this many coefficients, the largest at the end.
ROWS_SHOWN = 12
COEFS_SHOWN = 4


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Coefficients, loss, layers and duals along time, backed by an `xarray.Dataset`.

    Attributes
    ----------
    data
        The labelled record; every property below reads from it.
    status
        How the run ended.
    kind
        What was run, in words.
    misfit
        How far from fitting the data it ended: the part of the residual that can be fitted,
        relative to the part of y that can.
    """

    data: xr.Dataset
    status: Status
    kind: str
    misfit: float

    @classmethod
    def build(
        cls,
        *,
        kind: str,
        status: Status,
        times: Float,
        coefs: Float,
        losses: Float,
        misfit: float,
        signs: Float | None = None,
        logs: Float | None = None,
        layers: tuple[Float, ...] | None = None,
        duals: Float | None = None,
        steps: NDArray[np.int64] | None = None,
    ) -> "Trajectory":
        """Assemble the data set; signs and logs are taken from the coefficients if not given."""
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
        if steps is not None:
            data = data.assign_coords(step=("time", steps))
        for variable in data.variables.values():
            read_only(variable.values)
        return cls(data, status, kind, float(misfit))

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
        return self.data.assign_attrs(status=self.status.name, kind=self.kind, misfit=self.misfit)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values (coefficients and losses along time, not the layers)."""
        steps = {} if self.steps is None else {"steps": self.steps.tolist()}
        return {
            "kind": self.kind,
            "status": self.status.name,
            "message": str(self.status),
            "misfit": self.misfit,
            "times": self.times.tolist(),
            **steps,
            "coefs": self.coefs.tolist(),
            "signs": self.signs.tolist(),
            "log_abs_coefs": self.log_abs_coefs.tolist(),
            "losses": self.losses.tolist(),
        }

    def __rich__(self) -> Any:
        rows = np.unique(np.linspace(0, len(self.times) - 1, ROWS_SHOWN).astype(int))
        shown = np.sort(np.argsort(-self.log_abs_coefs[-1].ravel(), kind="stable")[:COEFS_SHOWN])
        places = [np.unravel_index(i, self.coef.shape) for i in shown]
        steps = self.steps
        first = "time" if steps is None else "step"
        names = (f"β[{', '.join(str(i) for i in place)}]" for place in places)
        body = [
            (
                number(self.times[r]) if steps is None else str(steps[r]),
                number(self.losses[r]),
                *(f"{self.coefs[r][place]:.4g}" for place in places),
            )
            for r in rows
        ]
        columns = (first, "loss", *names)
        title = f"{self.kind}: {len(self.times)} records, {self.coef.size} coefficients"
        return Group(table(title, columns, body), str(self.status))

    def __repr__(self) -> str:
        return to_text(self.__rich__())

    def _repr_html_(self) -> str:
        return to_html(repr(self))
