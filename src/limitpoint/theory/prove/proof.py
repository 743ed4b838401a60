"""A proof: a ball around every coefficient of the limit, and what exactly is proved of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.display import Page, counted, largest, left_out, table
from limitpoint.foundation.labels import Labelled
from limitpoint.foundation.result import Result
from limitpoint.foundation.values import Value

__all__ = ["Balls", "Proof"]

# A printed table shows this many coefficients, the largest ones, with at most so many digits.
COEFS_SHOWN, DIGITS_SHOWN = 12, 36
# Fractions of more characters than this are left to their balls.
LONGEST_FRACTION = 400
# The name of the file format, which a checker asks for.
FORMAT = "limitpoint proof 1"
# Mirror coordinates of coefficients that are forced to zero, and their signs.
INFINITE = {"inf": 1.0, "-inf": -1.0}


@dataclass(frozen=True, eq=False, repr=False)
class Balls(Value):
    """Numbers enclosed: each lies within `radius` of `midpoint`, both decimal strings.

    Attributes
    ----------
    midpoint, radius
        Arrays of decimal strings; the ball of the two contains the number exactly, the rounding to
        decimals included. What is infinite is `inf` or `-inf`, with radius 0.
    exact
        Fractions, like `"10/7"`, where all are rational and short enough to be read; else None.
    """

    midpoint: NDArray[np.str_]
    radius: NDArray[np.str_]
    exact: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        for array in (self.midpoint, self.radius, self.exact):
            if array is not None:
                read_only(array)

    @classmethod
    def of(
        cls, numbers: Sequence[Any], shape: tuple[int, ...], digits: int, bits: int = 0
    ) -> "Balls":
        """Round balls or rationals outwards to this many significant digits of the midpoint.

        To as many as a ball has, if it has more, and up to so many bits. The floats ±inf stand for
        what is infinite.
        """
        as_balls = [arb(one) if isinstance(one, fmpq) else one for one in numbers]
        pairs = [_decimal(one, max(digits, _digits_of(one, bits))) for one in as_balls]
        mids, radii = zip(*pairs, strict=True) if pairs else ((), ())
        exact = None
        if numbers and all(isinstance(one, fmpq) for one in numbers):
            fractions = [str(one) for one in numbers]
            if max(map(len, fractions)) <= LONGEST_FRACTION:
                exact = np.array(fractions, str).reshape(shape)
        return cls(np.array(mids, str).reshape(shape), np.array(radii, str).reshape(shape), exact)

    @property
    def values(self) -> Float:
        """The midpoints, rounded to the nearest float."""
        found: Float = read_only(self.midpoint.astype(np.float64))
        return found

    @property
    def radii(self) -> Float:
        """The radii, rounded up to floats."""
        nearest = self.radius.astype(np.float64)
        exact = self.radius == "0"
        found: Float = read_only(np.where(exact, 0.0, np.nextafter(nearest, np.inf)))
        return found

    @property
    def signs(self) -> Float:
        """The proved signs, 0 for what is zero exactly; NaN where the ball does not tell."""
        found = [
            _sign(m, r) for m, r in zip(self.midpoint.ravel(), self.radius.ravel(), strict=True)
        ]
        signs: Float = read_only(np.array(found).reshape(self.midpoint.shape))
        return signs

    @property
    def log_abs(self) -> Float:
        """Natural logarithms of the moduli of the midpoints, also beyond the range of floats."""
        logs = np.array([_log_abs(text) for text in self.midpoint.ravel()])
        found: Float = read_only(logs.reshape(self.midpoint.shape))
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        exact = {} if self.exact is None else {"exact": self.exact.tolist()}
        return {"midpoint": self.midpoint.tolist(), "radius": self.radius.tolist(), **exact}

    def text(self, place: Any) -> str:
        """One of them for a table: the fraction, or so many digits and the radius."""
        if self.exact is not None and len(self.exact[place]) <= DIGITS_SHOWN:
            return f"{self.exact[place]} exactly"
        return _text(str(self.midpoint[place]), str(self.radius[place]))

    def _facts(self) -> tuple[str, ...]:
        return counted(
            self.midpoint.size, "ball"
        ), f"largest radius {self.radii.max(initial=0):.1e}"

    def _page(self) -> Page:
        rows = [
            (str(place), self.text(place))
            for place in list(np.ndindex(self.midpoint.shape))[:COEFS_SHOWN]
        ]
        counts = (len(rows), self.midpoint.size, "balls"), self._digits_left_out(rows)
        note = left_out(*counts, where=".midpoint and .radius")
        return table("Balls", ("place", "midpoint ± radius"), rows, note)

    def _digits_left_out(self, rows: Sequence[tuple[str, str]]) -> tuple[int, int, str]:
        """How many digits of the longest number are shown, and of how many."""
        cut = any("…" in text for _, text in rows)
        most = max(map(_digits, self.midpoint.ravel().tolist()), default=0)
        return (DIGITS_SHOWN if cut else most), most, "digits"


def _decimal(number: arb | float, digits: int) -> tuple[str, str]:
    """A ball as midpoint and radius in decimals, rounded outwards."""
    if isinstance(number, float):
        if not np.isinf(number):
            raise TypeError(f"a number that is no ball: {number}")
        return str(float(number)), "0"
    if number.is_exact() and number.is_zero():
        return "0", "0"
    middle, radius, exponent = number.mid_rad_10exp(digits)
    return _written(int(middle), int(exponent)), _written(int(radius), int(exponent))


def _digits_of(number: arb | float, bits: int) -> int:
    """The significant digits that a ball has, up to so many bits."""
    if isinstance(number, float):
        return 0
    return math.ceil(min(bits, number.rel_accuracy_bits()) * math.log10(2.0))


def _written(mantissa: int, exponent: int) -> str:
    """`mantissa · 10^exponent` with one digit before the point."""
    if mantissa == 0:
        return "0"
    sign, digits = "-" if mantissa < 0 else "", str(abs(mantissa))
    power = exponent + len(digits) - 1
    digits = digits.rstrip("0") or "0"
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}" + (f"e{power}" if power else "")


def _parts(text: str) -> tuple[int, int]:
    """The mantissa and the exponent of a decimal string, both integers."""
    number, _, power = text.partition("e")
    whole, _, rest = number.partition(".")
    return int(whole + rest), int(power or 0) - len(rest)


def _sign(midpoint: str, radius: str) -> float:
    if midpoint in INFINITE:
        return INFINITE[midpoint]
    (mid, mid_power), (rad, rad_power) = _parts(midpoint), _parts(radius)
    if mid == rad == 0:
        return 0.0
    # Compare with integers alone: the exponents may be far beyond the range of floats.
    if mid == 0 or len(str(abs(mid))) + mid_power < len(str(rad)) + rad_power - 1:
        return float("nan")
    low = min(mid_power, rad_power)
    decided = rad == 0 or abs(mid) * 10 ** (mid_power - low) > rad * 10 ** (rad_power - low)
    return float(np.sign(mid)) if decided else float("nan")


def _log_abs(text: str) -> float:
    if text in INFINITE:
        return np.inf
    mantissa, power = _parts(text)
    if mantissa == 0:
        return -np.inf
    digits = str(abs(mantissa))
    leading = float(f"{digits[0]}.{digits[1:]}")
    return float(np.log(leading) + (power + len(digits) - 1) * np.log(10.0))


def _text(midpoint: str, radius: str) -> str:
    """A ball for a table: the first digits, an ellipsis where there are more, and the radius."""
    shown = _shortened(midpoint)
    if radius == "0":
        return f"{shown} exactly"
    mantissa, power = _parts(radius)
    while mantissa >= 100:  # two digits, rounded up
        mantissa, power = -(-mantissa // 10), power + 1
    return f"{shown} ± {_written(mantissa, power)}"


def _shortened(number: str) -> str:
    mantissa, _, power = number.partition("e")
    if _digits(number) > DIGITS_SHOWN:
        length = DIGITS_SHOWN + 1 + mantissa.startswith("-")
        mantissa = f"{mantissa[:length]}…"
    return mantissa + (f"e{power}" if power else "")


def _digits(number: str) -> int:
    """How many significant digits a decimal string has."""
    return len(number.partition("e")[0].lstrip("-").replace(".", ""))


@dataclass(frozen=True, eq=False, repr=False)
class Proof(Labelled, Result):
    """What was proved of the limit of a problem, with every number in a ball.

    The data, the directions of the layers and the scale (or the logarithm of it that was given)
    are taken as the exact numbers that the floats are.

    Attributes
    ----------
    ok
        Whether the limit was proved. If not, `reason` says why.
    statement
        What is proved, in one sentence; if nothing is, what was tried.
    theorem
        The id of the theorem that says that training ends there.
    assumed
        What the theorem needs and no computation can check.
    fits
        Whether the limit fits the data exactly (separates them, of a classification); False for a
        least-squares fit, and where nothing is proved.
    coef, mirror, dual
        Balls around the coefficients, the mirror coordinates ξ and the dual ν; None where the proof
        has none.
    more
        Other numbers that were enclosed, by name: singular values, saddles, times.
    method
        How it was proved, in words.
    kind
        The kind of proof by a short name, by which `witness` is to be read; where nothing is proved
        but the refusal, its kind.
    witness
        What a checker needs besides the problem and the balls: supports, Farkas vectors, …
    reason
        Why it could not be proved; empty where it was.
    digits
        How many digits were asked for: the radius of a coefficient is at most `10^-digits` times
        its modulus.
    bits
        The precision of the arithmetic in which the proof succeeded; 0 for rationals alone.
    seconds
        How long it took, the precisions that did not suffice included.
    problem
        The problem, as plain values: floats, and names.
    """

    ok: bool
    statement: str
    theorem: str
    assumed: tuple[str, ...]
    fits: bool
    coef: Balls | None
    mirror: Balls | None
    dual: Balls | None
    more: Mapping[str, Balls]
    method: str
    kind: str
    witness: Mapping[str, Any]
    reason: str
    digits: int
    bits: int
    seconds: float = field(compare=False)
    problem: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("more", "witness", "problem"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values: the file format of a proof, described in the guide."""
        balls = {"coef": self.coef, "mirror": self.mirror, "dual": self.dual}
        return {
            "format": FORMAT,
            **self._names(),
            "ok": self.ok,
            "statement": self.statement,
            "theorem": self.theorem,
            "assumed": list(self.assumed),
            "fits": self.fits,
            **{name: None if one is None else one.to_dict() for name, one in balls.items()},
            "more": {name: one.to_dict() for name, one in self.more.items()},
            "method": self.method,
            "kind": self.kind,
            "witness": dict(self.witness),
            "reason": self.reason,
            "digits": self.digits,
            "bits": self.bits,
            "seconds": self.seconds,
            "problem": dict(self.problem),
        }

    def _facts(self) -> tuple[str, ...]:
        if not self.ok or self.coef is None:
            return "not proved", self.reason
        arithmetic = f"{self.bits} bits" if self.bits else "rationals"
        return (
            counted(self.coef.midpoint.size, "coefficient"),
            f"{self.digits} digits",
            f"theorem {self.theorem}",
            arithmetic,
        )

    def _page(self) -> Page:
        if not self.ok or self.coef is None:
            return Page(f"Not proved: {self.reason}", self.statement)
        order = np.argsort(-self.coef.log_abs.ravel(), kind="stable")[:COEFS_SHOWN]
        places = [np.unravel_index(i, self.coef.midpoint.shape) for i in order]
        rows = [(self._place(place), self.coef.text(place)) for place in places]
        feature = "feature" if self.coef.midpoint.ndim == 1 else "feature, output"
        total = self.coef.midpoint.size
        counts = (len(rows), total, "coefficients"), self.coef._digits_left_out(rows)
        more = left_out(*counts, where=".coef or --json")
        digits = f"to {counted(self.digits, 'digit')} in balls of {self.bits} bits"
        arithmetic = digits if self.bits else "in rational numbers"
        parts: list[str | Page] = [
            f"Proved: {self.statement}",
            f"By {self.method}, {arithmetic} ({self.seconds:.2g} s).",
            *(f"Assumed: {one}." for one in self.assumed),
            table(
                f"Proved: {largest(len(rows), total, 'coefficient')}",
                (feature, "coefficient"),
                rows,
                more,
            ),
        ]
        for name, balls in self.more.items():
            if balls.midpoint.ndim == 1:
                shown = [(str(i), balls.text(i)) for i in range(len(balls.midpoint))][:COEFS_SHOWN]
                parts.append(table(name.replace("_", " ").capitalize(), ("", "value"), shown))
        return Page(*parts)
