"""What is asked of every call; a case is a chain of calls that ends where one is refused."""

import contextlib
import dataclasses
import re
import signal
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning, NotFittedError

import limitpoint as lp
from limitpoint.errors import LimitpointError

# A call that takes longer hangs: thousands of times what one is expected to take.
HANGS_AFTER = 120
# What Python itself says of a call that does not match the signature.
SIGNATURE = re.compile(
    r"missing \d+ required|unexpected keyword argument|takes \d+ positional|"
    r"takes from \d+ to \d+ positional|multiple values for argument"
)
# Fields that may be infinite although all went well: logarithms of zero, mirror coordinates of
# coefficients that end at a bound and their duals, scales, squares of large numbers.
MAY_BE_INFINITE = {
    *("log_abs_coef", "log_abs_coefs", "log_times", "log_losses"),
    *("mirror", "mirrors", "duals", "dual", "scales", "losses"),
}


class Refused(Exception):
    """The library refused a call as it should: the case ends here."""


class Failure(AssertionError):
    """Something that no call may do."""


class Hang(BaseException):
    """A call took too long; no `except Exception` of the library may stop it."""


class Judge:
    """Makes the calls of one case, and keeps what was called, for the report."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.answered = 0

    def __call__(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """The result of a call, checked; `Refused` where it was refused, else `Failure`."""
        self.calls.append(_written(function, arguments, options))
        before = _snapshot((arguments, options))
        result = self._result(function, arguments, options)
        if not _same(before, _snapshot((arguments, options))):
            raise Failure("an argument was changed")
        check_finite(result)
        self.answered += 1
        return result

    def _result(self, function: Any, arguments: Any, options: Any) -> Any:
        try:
            with warnings.catch_warnings(), _guard():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", DataConversionWarning)
                return function(*arguments, **options)
        except LimitpointError as error:
            if not str(error).strip():
                raise Failure("an error without a message") from error
            raise Refused(str(error)) from None
        except NotFittedError as error:
            raise Refused(str(error)) from None
        except TypeError as error:
            if SIGNATURE.search(str(error)) and _at_the_call(error):
                raise Refused(str(error)) from None
            raise Failure(f"{type(error).__name__}: {error}") from error
        except Exception as error:
            raise Failure(f"{type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _guard():
    """Raise `Hang` in this thread when a call takes too long."""

    def stop(*_: Any) -> None:
        raise Hang

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER)
    try:
        yield
    except Hang:
        raise Failure(f"no answer within {HANGS_AFTER} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _at_the_call(error: TypeError) -> bool:
    """Whether Python refused the call itself, rather than one further down."""
    frames, here = 0, error.__traceback__
    while here is not None:
        frames += 1
        here = here.tb_next
    return frames == 1


def check_finite(result: Any) -> None:
    """Raise `Failure` for arrays that are not finite in a result whose status is good."""
    status = getattr(result, "status", None)
    if not isinstance(status, lp.Status) or not status.ok or not dataclasses.is_dataclass(result):
        return
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                bad = np.isnan(array) if field.name in MAY_BE_INFINITE else ~np.isfinite(array)
                if bad.any():
                    kind = type(result).__name__
                    raise Failure(f"{kind}.{field.name} is not finite, and {status.name}: {array}")


def _snapshot(value: Any) -> Any:
    """A copy of what a call could change: arrays, lists and dictionaries, however deep."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: _snapshot(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_snapshot(one) for one in value]
    return value if isinstance(value, int | float | str | bytes) else id(value)


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, np.ndarray):
        return before.tobytes() == after.tobytes() and before.shape == after.shape
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_same(before[k], after[k]) for k in before)
    if isinstance(before, list):
        return len(before) == len(after) and all(map(_same, before, after))
    return bool(before is after or before == after or before != before)


def _written(function: Any, arguments: Any, options: Any) -> str:
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "a call")
    parts = [_short(one) for one in arguments]
    return f"{name}({', '.join([*parts, *(f'{k}={_short(v)}' for k, v in options.items())])})"


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= 160 else f"{text[:160]}…"
