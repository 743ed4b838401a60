"""The limit as a function of the scale of the initialisation."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, LimitpointError
from limitpoint.foundation.arrays import Float, as_number_array, as_truth, read_only, shown
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import named_after
from limitpoint.foundation.progress import job
from limitpoint.foundation.result import Result
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.atlas import strongest
from limitpoint.theory.escalation import escalated
from limitpoint.theory.limit import Limit
from limitpoint.theory.predict import predict

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["LimitPath", "predict_path"]

# A printed table shows this many scales and this many coefficients, the largest at the end.
ROWS_SHOWN = 12
COEFS_SHOWN = 4


@dataclass(frozen=True, eq=False, repr=False)
class LimitPath(Result):
    """Limits of one problem at several scales.

    Attributes
    ----------
    scales
        The scales, as given.
    limits
        The limit at each of them, with its own theorem, certificate and status.
    """

    scales: Float
    limits: tuple[Limit, ...]

    def __post_init__(self) -> None:
        read_only(self.scales)

    @property
    def coefs(self) -> Float:
        """Coefficients, scales × n."""
        return np.stack([limit.coef for limit in self.limits])

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, where they have some."""
        return self.limits[0].feature_names

    @property
    def target_names(self) -> tuple[str, ...] | None:
        """The names of several outputs, where they have some."""
        return self.limits[0].target_names

    @property
    def iterations(self) -> int:
        """Newton steps in all."""
        return sum(limit.iterations for limit in self.limits)

    @property
    def certified(self) -> bool:
        """Whether every limit is certified."""
        return all(limit.certificate.ok for limit in self.limits)

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set along the scale."""
        return xr.concat(
            [limit.to_xarray().drop_attrs() for limit in self.limits],
            dim=xr.Variable("scale", self.scales),
        ).assign(
            certificate=("scale", [limit.certificate.worst for limit in self.limits]),
            potential=("scale", [limit.potential for limit in self.limits]),
            theorem=("scale", [limit.theorem.id for limit in self.limits]),
            status=("scale", [limit.status.name for limit in self.limits]),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        names = self.feature_names
        return {
            "feature_names": None if names is None else list(names),
            "scales": self.scales.tolist(),
            "limits": [limit.to_dict() for limit in self.limits],
        }

    def _facts(self) -> tuple[str, ...]:
        good = sum(limit.status.ok for limit in self.limits)
        return (
            f"{counted(len(self.limits), 'scale')} from {self.scales.min():.3g} to "
            f"{self.scales.max():.3g}",
            counted(self.limits[0].coef.size, "coefficient"),
            "all certified" if good == len(self.limits) else f"{good} certified",
        )

    def _page(self) -> Page:
        rows = np.unique(np.linspace(0, len(self.limits) - 1, ROWS_SHOWN).astype(int))
        coefs = self.coefs
        names = [self.limits[0].coef_label(place) for place in np.ndindex(coefs.shape[1:])]
        coefs = coefs.reshape(len(coefs), -1)
        features = np.sort(np.argsort(-np.abs(coefs).max(axis=0), kind="stable")[:COEFS_SHOWN])
        body = [
            (
                number(self.scales[r]),
                *(f"{coefs[r, i]:.6g}" for i in features),
                number(self.limits[r].certificate.worst),
            )
            for r in rows
        ]
        columns = ("scale", *(names[i] for i in features), "certificate")
        title = f"Limits at {len(self.limits)} scales, {coefs.shape[1]} coefficients"
        some = left_out(
            (len(rows), len(self.limits), "scales"),
            (len(features), coefs.shape[1], "coefficients"),
            where=".scales and .coefs or --json",
        )
        return table(title, columns, body, some)


def predict_path(problem: Problem, scales: ArrayLike, *, escalate: bool = True) -> LimitPath:
    """Predict the limits of one problem at several scales, each solved from its neighbour.

    Parameters
    ----------
    problem
        Network, direction of the initialisation, and task; its own scale is not used.
    scales
        Numbers in [0, ∞], in any order.
    escalate
        As of `predict`.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=3)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    >>> lp.predict_path(problem, [0.0, 1e-3, 1.0, float("inf")]).coefs.round(4).tolist()
    [[0.0, 0.5], [0.0, 0.5], [0.1809, 0.4096], [0.2, 0.4]]
    """
    as_problem(problem)
    values = _checked(scales)
    escalate = as_truth(escalate, "escalate", LimitpointError)
    # Downwards: at large scales the problem is close to linear.
    order = np.argsort(-values, kind="stable")
    inside = [i for i in order if 0.0 < values[i] < math.inf]
    limits: dict[int, Limit] = {}
    if inside:
        first = _at(problem, values[inside[0]])
        theorem = strongest(first)
        if theorem is not None and theorem.path is not None:
            found = theorem.path(first, [math.log(values[i]) for i in inside])
            limits.update((i, one) for i, one in zip(inside, found, strict=True) if one is not None)
        if theorem is not None and escalate:
            limits = {
                i: escalated(_at(problem, values[i]), theorem, one) for i, one in limits.items()
            }
    left = [i for i in order if i not in limits]
    with job("limits", len(left), unit="scales") as alone:
        for i in left:
            limits[i] = predict(_at(problem, values[i]), escalate=escalate)
            alone.advance()
    named = (named_after(limits[i], problem.task) for i in range(len(values)))
    return LimitPath(values, tuple(named))


def _at(problem: Problem, scale: float) -> Problem:
    return replace(problem, init=problem.init.at_scale(float(scale)))


def _checked(scales: ArrayLike) -> Float:
    rule = "scales must hold numbers in [0, inf]"
    try:
        values = as_number_array(scales, "scales", InitError, ndim=(1,))
    except InitError as error:
        raise InitError(f"{rule}, in one dimension: {error}") from None
    if values.size == 0:
        raise InitError(f"{rule}, in one dimension; it is empty")
    if (values < 0).any():
        raise InitError(f"{rule}; it is {shown(scales)}")
    return values
