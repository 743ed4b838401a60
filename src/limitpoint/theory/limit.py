"""The predicted limit of training."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind, read_only
from limitpoint.foundation.display import Page, counted, largest, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import Labelled
from limitpoint.foundation.result import Result
from limitpoint.status import Status
from limitpoint.tasks import Classification
from limitpoint.theory.certificates.certificate import Certificate

if TYPE_CHECKING:
    import xarray as xr

    from limitpoint.theory.atlas import Theorem
    from limitpoint.theory.prove.proof import Proof
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Limit", "as_limit"]

# A printed table shows this many coefficients, the largest ones.
COEFS_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Limit(Labelled, Result):
    """What training converges to, by which theorem, and the proof that it solves its problem.

    Attributes
    ----------
    coef
        The coefficients.
    signs, log_abs_coef
        Their signs and log-moduli, also where float64 cannot hold the coefficient itself.
    mirror
        `ξ = Q'(β)`, the time integral of the negative gradient in each coefficient.
    dual
        Sample-space dual ν with `ξ = Xᵀν`: `loss_factor` times the time integral of the residual.
    theorem
        The theorem that gives it.
    potential
        The minimised potential at the limit.
    certificate
        Residuals of the optimality conditions.
    status
        How the computation ended.
    iterations
        Newton steps taken, those of the continuation in the scale included.
    layers
        The limit of the layers, where the theorem determines them.
    rate
        Of a classification, where it is known: the direction of the coefficients is off by a
        multiple of `margin^−rate` when the smallest margin is `margin`.
    proof
        The proof of it, where float64 did not certify it and exact arithmetic took over.
    feature_names, target_names
        The names that the task has for its features and outputs, or None.

    Notes
    -----
    Of a classification the coefficients grow for ever, and `direction` is what they tend to;
    `coef` is then the solution of the margin problem, with smallest margin 1.
    """

    coef: Float
    signs: Float
    log_abs_coef: Float
    mirror: Float
    dual: Float
    theorem: "Theorem"
    potential: float
    certificate: Certificate
    status: Status
    iterations: int
    layers: tuple[Float, ...] | None = None
    rate: float | None = None
    proof: "Proof | None" = None

    def __post_init__(self) -> None:
        arrays = (self.coef, self.signs, self.log_abs_coef, self.mirror, self.dual)
        for array in (*arrays, *(self.layers or ())):
            read_only(array)

    @property
    def direction(self) -> Float:
        """The coefficients divided by their norm; zero where they are zero."""
        norm = float(np.linalg.norm(self.coef))
        direction: Float = read_only(self.coef / (norm or 1.0))
        return direction

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set."""
        along = ("feature", "output")[: self.coef.ndim]
        # A network that reduces to another has the mirror coordinates of that one.
        own = along if self.mirror.shape == self.coef.shape else ("reduced",)
        layers = {
            f"layer_{i}": (tuple(f"layer_{i}_axis_{j}" for j in range(layer.ndim)), layer)
            for i, layer in enumerate(self.layers or ())
        }
        return xr.Dataset(
            {
                "coef": (along, self.coef),
                "sign": (along, self.signs),
                "log_abs_coef": (along, self.log_abs_coef),
                "mirror": (own, self.mirror),
                "dual": (("sample", "output")[: self.dual.ndim], self.dual),
                **layers,
            },
            coords={**self._coords(len(self.coef)), "sample": np.arange(len(self.dual))},
            attrs={
                "theorem": self.theorem.id,
                "potential": self.potential,
                "status": self.status.name,
                "iterations": self.iterations,
                "certificate": self.certificate.worst,
                **({} if self.rate is None else {"rate": self.rate}),
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        known = self.layers is not None
        layers = {"layers": [layer.tolist() for layer in self.layers or ()]} if known else {}
        return {
            **self._names(),
            "coef": self.coef.tolist(),
            "signs": self.signs.tolist(),
            "log_abs_coef": self.log_abs_coef.tolist(),
            "mirror": self.mirror.tolist(),
            "dual": self.dual.tolist(),
            "theorem": self.theorem.id,
            "potential": self.potential,
            "status": self.status.name,
            "message": str(self.status),
            "iterations": self.iterations,
            "certificate": self.certificate.to_dict(),
            **({} if self.rate is None else {"rate": self.rate}),
            **({} if self.proof is None else {"proof": self.proof.to_dict()}),
            **layers,
        }

    def _facts(self) -> tuple[str, ...]:
        status = self.status
        ended = ("certified",) if status.ok else ()
        return (
            counted(self.coef.size, "coefficient"),
            f"{int(np.count_nonzero(self.signs))} nonzero",
            f"theorem {self.theorem.id}",
            *ended,
            *(() if status is Status.CONVERGED else (status.words,)),
        )

    def _page(self) -> Page:
        if issubclass(self.theorem.task, Classification):
            return self._direction_page()
        order = np.argsort(-self.log_abs_coef.ravel(), kind="stable")[:COEFS_SHOWN]
        places = [np.unravel_index(i, self.coef.shape) for i in order]
        rows = [
            (
                self._place(place),
                f"{self.coef[place]:.9g}",
                _size(float(self.signs[place]), float(self.log_abs_coef[place])),
            )
            for place in places
        ]
        feature = "feature" if self.coef.ndim == 1 else "feature, output"
        more = self._left_out(len(order))
        shown = largest(len(order), self.coef.size, "coefficient")
        return Page(
            f"Limit by {self.theorem.id} ({self.iterations} Newton steps, "
            f"potential {number(self.potential)}, certificate {number(self.certificate.worst)})",
            str(self.status),
            table(f"Limit: {shown}", (feature, "coefficient", "size"), rows, more),
            self.certificate._page(),
        )

    def _left_out(self, shown: int) -> str:
        return left_out((shown, self.coef.size, "coefficients"), where=".coef or --json")

    def _direction_page(self) -> Page:
        """Of a classification: the direction, and the coefficients with smallest margin 1."""
        order = np.argsort(-self.log_abs_coef, kind="stable")[:COEFS_SHOWN]
        rows = [
            (self._place((i,)), f"{self.direction[i]:.9g}", f"{self.coef[i]:.9g}") for i in order
        ]
        norm = float(np.linalg.norm(self.coef))
        rate = (
            "How fast the direction gets there is not known."
            if self.rate is None
            else f"The direction is off by a multiple of margin^-{self.rate:.3g}."
        )
        return Page(
            f"Limit direction by {self.theorem.id} (smallest margin {number(1.0 / norm)} at norm "
            f"1, potential {number(self.potential)}, "
            f"certificate {number(self.certificate.worst)})",
            str(self.status),
            rate,
            table(
                f"Limit: {largest(len(order), self.coef.size, 'coefficient')}",
                ("feature", "direction", "with smallest margin 1"),
                rows,
                self._left_out(len(order)),
            ),
            self.certificate._page(),
        )


def _size(sign: float, log_modulus: float) -> str:
    """A power of ten, also for what float64 cannot hold."""
    if np.isneginf(log_modulus):
        return "0"
    return f"{'-' if sign < 0 else ''}10^{log_modulus / np.log(10):.2f}"


def as_limit(value: Any, shape: tuple[int, ...] | None = None) -> Limit:
    """Return the argument `limit` of a function, or raise `LimitpointError`.

    With a shape, that of the coefficients beside which it is shown.
    """
    limit = as_kind(value, Limit, "a Limit, like predict(problem)", "limit", LimitpointError)
    if shape is not None and limit.coef.shape != shape:
        raise LimitpointError(
            f"limit must have coefficients of shape {shape}, as the run has; they have shape "
            f"{limit.coef.shape}"
        )
    return limit
