"""What coefficients are called: by the names of their features, or by their places.

>>> coef_label((2,), None), coef_label((2,), ("age", "sex", "bmi"))
('β[2]', 'bmi')
>>> coef_label((0, 1), ("age",), ("mean", "spread"))
'age, spread'
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_several, shown
from limitpoint.foundation.frames import listed, names_of

__all__ = ["Labelled", "as_names", "carries_names", "coef_label", "named_after", "place_label"]

P = ParamSpec("P")
R = TypeVar("R")

Names = Sequence[str] | None
# Longer names are shortened in tables and figures; files and data sets have them whole.
LONGEST = 24


def place_label(
    place: Sequence[Any], names: Names, targets: Names = None, longest: int = LONGEST
) -> str:
    """Where a coefficient is: its feature and output, by name where they have one."""
    words = (names, targets)
    return ", ".join(
        str(i) if known is None or i >= len(known) else _shortened(known[i], longest) or str(i)
        for i, known in zip(place, words, strict=False)
    )


def coef_label(place: Sequence[Any], names: Names, targets: Names = None) -> str:
    """What a coefficient is called: the name of its feature, or β with its place."""
    label = place_label(place, names, targets)
    return f"β[{label}]" if names is None else label


def _shortened(name: str, longest: int) -> str:
    name = " ".join(name.split())  # in one line
    if len(name) <= longest:
        return name
    end = longest // 3
    return f"{name[: longest - end - 1]}…{name[-end:]}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Labelled:
    """What a result about coefficients has besides: the names that the task gave them.

    They are part of the value: results that differ in them alone are not equal.
    """

    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None

    def coef_label(self, place: Sequence[Any]) -> str:
        """What the coefficient at this place is called: `bmi`, or `β[2]` without names."""
        return coef_label(place, self.feature_names, self.target_names)

    def _place(self, place: Sequence[Any]) -> str:
        return place_label(place, self.feature_names, self.target_names)

    def _names(self) -> dict[str, Any]:
        """For `to_dict`."""
        targets = {} if self.target_names is None else {"target_names": list(self.target_names)}
        names = None if self.feature_names is None else list(self.feature_names)
        return {"feature_names": names, **targets}

    def _coords(self, features: int) -> dict[str, NDArray[Any]]:
        """For `to_xarray`: the coordinates of the axes of features and, if named, of outputs."""
        names = self.feature_names
        known = names is not None and len(names) == features
        along = np.array(names) if known else np.arange(features)
        if self.target_names is None:
            return {"feature": along}
        return {"feature": along, "output": np.array(self.target_names)}


def named_after(result: R, task: Any) -> R:
    """The result with the names that the task has for its features and outputs."""
    names = (task.feature_names, task.target_names)
    if not isinstance(result, Labelled) or names == (None, None):
        return result
    return cast(R, replace(result, feature_names=names[0], target_names=names[1]))


def carries_names(verb: Callable[P, R]) -> Callable[P, R]:
    """Let the result of a function of a problem, its first argument, carry the task's names."""

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        found = verb(*args, **kwargs)
        problem: Any = args[0] if args else kwargs["problem"]
        return named_after(found, problem.task)

    return call


def as_names(
    given: Any, data: Any, count: int, name: str, what: str, error: type[LimitpointError]
) -> tuple[str, ...] | None:
    """Names of `count` things: those given, else those that the data have; None if neither.

    Parameters
    ----------
    given, name
        The argument and what it is called.
    data, what
        What may have names, and what the names are of, in the singular.
    """
    if given is None:
        found = names_of(data)
        if found is None or len(found) != count:
            return None
        owner = f"the {what}s of a frame"
    else:
        owner = name
        rule = f"{name} must hold {count} words, one per {what}"
        every = as_several(given, f"{count} words, one per {what}", name, error)
        if len(every) != count:
            raise error(f"{rule}; it holds {len(every)}")
        if not all(isinstance(one, str) for one in every):
            raise error(f"{rule}; it is {shown(given)}")
        found = tuple(str(one) for one in every)
    if len(set(found)) < count:
        twice = [one for one, times in Counter(found).items() if times > 1]
        raise error(f"{owner} must have different names; more than once: {listed(twice)}")
    return found
