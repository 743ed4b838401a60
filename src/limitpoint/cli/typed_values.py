"""Numbers as they are typed: those that no float holds are refused instead of rounded."""

from typing import Any

import typer

from limitpoint.errors import LimitpointError
from limitpoint.foundation.numerals import float_of

__all__ = ["numbers", "real_number", "scale_number"]


def real_number(text: Any) -> float:
    """A number, `inf` or `nan`; what parses an option."""
    return _option(text, "")


def scale_number(text: Any) -> float:
    """A scale: one that no float holds has a logarithm."""
    return _option(text, "; give its natural logarithm, --log-scale {log:.8g}")


def numbers(text: str, option: str, kind: type = float) -> list[Any]:
    """Numbers separated by commas."""
    try:
        return [float_of(part) if kind is float else kind(part) for part in text.split(",")]
    except LimitpointError as error:
        raise LimitpointError(f"{option}: {error}") from None
    except ValueError:
        raise LimitpointError(
            f"{option} must be numbers separated by commas; it is {text!r}"
        ) from None


def _option(text: Any, instead: str) -> float:
    try:
        return float_of(text, instead)
    except LimitpointError as error:
        raise typer.BadParameter(str(error)) from None
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None
