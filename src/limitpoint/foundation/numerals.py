"""Numbers as people write them: one that no float holds is refused instead of rounded."""

import math
from decimal import Decimal
from typing import Any

from limitpoint.errors import LimitpointError

__all__ = ["float_of"]


def float_of(text: Any, instead: str = "") -> float:
    """The float of a numeral.

    Parameters
    ----------
    text
        The numeral, or a number.
    instead
        What to give instead of a number that is out of range, with `{log:.8g}` for its logarithm.

    Raises
    ------
    LimitpointError
        Where the float is 0 or infinite and the number is not.
    ValueError
        Where it is no number.

    Examples
    --------
    >>> float_of("0"), float_of("inf"), float_of("1e-300")
    (0.0, inf, 1e-300)
    >>> float_of("1e-400", "; its logarithm is {log:.3g}")
    Traceback (most recent call last):
    limitpoint.errors.LimitpointError: 1e-400 is below the smallest float64; its logarithm is -921
    """
    value = float(text)
    if value != 0 and not math.isinf(value):
        return value
    exact = Decimal(str(text).strip().replace("_", ""))
    if exact.is_infinite() or exact.is_zero():
        return value
    where = "below the smallest" if value == 0 else "beyond the largest"
    log = float(abs(exact).ln())
    raise LimitpointError(f"{text} is {where} float64{instead.format(log=log)}")
