"""What one attempt at a proof comes to: numbers in balls, a refusal, or a call for more bits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float

__all__ = ["CannotProve", "Found", "Hint", "MorePrecision"]


class CannotProve(Exception):
    """No precision helps: the message says why.

    Where that itself is proved, `kind` and `witness` are what a checker needs, as of a proof.
    """

    def __init__(
        self, reason: str, kind: str = "", witness: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.kind, self.witness = kind, dict(witness or {})


class MorePrecision(Exception):
    """The precision at hand does not decide; the message says what."""


@dataclass(frozen=True)
class Hint:
    """Where a float64 solver thinks the limit is: nothing rests on it.

    Attributes
    ----------
    signs, log_abs_coef
        Of the coefficients.
    dual
        The dual, one number per sample.
    """

    signs: Float
    log_abs_coef: Float
    dual: Float

    @property
    def coef(self) -> Float:
        """The coefficients, as far as floats hold them."""
        with np.errstate(over="ignore", under="ignore"):
            found: Float = self.signs * np.exp(self.log_abs_coef)
        return found


@dataclass(frozen=True)
class Found:
    """A limit enclosed: lists of balls or rationals, row by row where there are several outputs.

    Attributes as of `Proof`, `more` with arrays of objects, balls or rationals, of any shape;
    `sizes` are, for each coefficient, what it is measured against where its sign cannot be decided:
    balls for which an error of `10^-digits` of it cannot be seen in any sample. None if a relative
    radius is wanted of all. Infinite mirror coordinates are the floats ±inf. `theorem` is the one
    whose hypotheses hold exactly, where that is another one than float64 found. `also` are other
    numbers of which a relative radius is wanted.
    """

    coef: Sequence[Any]
    statement: str
    method: str
    kind: str
    assumed: tuple[str, ...] = ()
    fits: bool = True
    mirror: Sequence[Any] | None = None
    dual: Sequence[Any] | None = None
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    witness: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[Any] | None = None
    shape: tuple[int, ...] | None = None
    mirror_shape: tuple[int, ...] | None = None
    dual_shape: tuple[int, ...] | None = None
    theorem: str = ""
    also: Sequence[Any] = ()
