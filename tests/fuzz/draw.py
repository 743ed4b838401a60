"""Random values: right ones, borderline ones and wrong ones."""

from typing import Any

import numpy as np
from scipy import sparse

MASKED = np.ma.masked_array([1.0, 2.0], [False, True])


class Unshown:
    """An object that cannot even be printed."""

    def __repr__(self):
        raise RuntimeError("no text")


# Of no use to anyone who asked for something.
OBJECTS = (None, "x", b"x", "", 1j, True, object(), Unshown(), {"a": 1}, {1.0}, [], (), lambda: 1)
NOT_NUMBERS = (*OBJECTS, np.nan, -np.inf, 10**400, -1, -1.0, "1", [1.0], np.ones(2), MASKED)
BORDER_NUMBERS = (
    *(0, 0.0, -0.0, 5e-324, 1e-308, 1e-75, 1e-16, 1e16, 1e75, 1e308, np.inf, 2**63, 2**64),
    *(
        np.float32(0.1),
        np.longdouble("0.1"),
        np.int8(1),
        np.float64(1e-300),
        np.longdouble("1e999"),
    ),
)
NOT_ARRAYS = (
    *OBJECTS,
    *(MASKED, np.ones(2) * 1j, ["a", "b"], [[1.0], [1.0, 2.0]], [np.nan], [[np.inf, 1.0]]),
    *([10**400], np.array(["1"], dtype=object), np.array([None, 1.0]), np.ones((1, 1, 1, 1))),
    *(np.array(["2020-01-01"], dtype="M8[D]"), iter([1.0]), np.zeros((0, 2)), np.zeros((2, 0))),
)
# Factors of data: those in the middle leave the range of what can be squared.
SIZES = (1e-4, 1e4, 1e-8, 1e8, 1e-16, 1e16, 1e-60, 1e60, 1e-80, 1e80, 1e-300, 1e300)


class Draw:
    """Random choices from one generator: one seed, one case."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, values: Any) -> Any:
        values = tuple(values)
        return values[int(self.rng.integers(len(values)))]

    def whole(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def mostly(self, value: Any, others: Any, wrong: float = 0.15) -> Any:
        """The right value, or with some probability one of the others."""
        return self.pick(others) if self.chance(wrong) else value

    def number(self, wrong: float = 0.15) -> Any:
        """A positive number of any size."""
        right = float(10.0 ** self.rng.uniform(-3, 2))
        return self.mostly(right, (*NOT_NUMBERS, *BORDER_NUMBERS), wrong)

    def count(self, low: int, high: int, wrong: float = 0.15) -> Any:
        others = (*NOT_NUMBERS, 0, 1.5, np.int64(-3), np.float64(2.0), np.uint8(2), 2**63)
        return self.mostly(self.whole(low, high), others, wrong)

    def scale(self, wrong: float = 0.06) -> Any:
        others = (*NOT_NUMBERS, *BORDER_NUMBERS, 1e-200, 1e200)
        return self.mostly(self.pick((0.0, 1e-3, 0.1, 1.0, 3.0, np.inf)), others, wrong)

    def truth(self) -> Any:
        return self.mostly(self.pick((True, False)), (None, 1, 0, "yes", [], np.bool_(True)), 0.1)

    def array(self, *shape: int, wrong: float = 0.04) -> Any:
        """Numbers of a shape, in one of the forms in which users hold them."""
        if self.chance(wrong):
            return self.pick(NOT_ARRAYS)
        return self.dressed(self.numbers(*shape))

    def numbers(self, *shape: int) -> np.ndarray:
        """Normal, whole, sparse, or with rows that depend on each other; at times far from 1."""
        kind = self.whole(0, 5)
        values = self.rng.standard_normal(shape)
        if kind == 1:
            values = np.round(2 * values)
        elif kind == 2:
            values = np.where(self.rng.random(shape) < 0.5, 0.0, values)
        elif kind == 3 and len(shape) == 2 and shape[0] > 1:
            values[-1] = self.pick((1.0, -2.0, 0.1)) * values[0]
        elif kind == 4 and len(shape) == 2 and shape[1] > 1:
            values[:, -1] = self.pick((1.0, -1.0, 1.0 + 1e-15)) * values[:, 0]
        size = self.pick(SIZES)
        if kind == 5 and shape and self.chance(0.3):  # one entry in another unit
            values[tuple(self.whole(0, each - 1) for each in shape)] *= size
            return values
        return values * size if self.chance(0.15) else values

    def dressed(self, values: np.ndarray) -> Any:
        """The same numbers as a list, in another order of memory, of another type, read-only."""
        kind = self.whole(0, 19)
        values = np.asarray(values)
        if kind == 0:
            return values.tolist()
        if kind == 1:
            return np.asfortranarray(values)
        if kind == 2:
            with np.errstate(over="ignore"):
                return values.astype(np.float32)
        if kind == 3:
            values.flags.writeable = False
        if kind == 4 and values.ndim == 2:
            return np.repeat(values, 2, axis=0)[::2]
        if kind == 5 and values.ndim == 2:
            return self.pick((sparse.csr_array, sparse.csc_array, sparse.coo_array))(values)
        if kind == 6:
            return values.astype(object)
        if kind == 7:
            return np.clip(np.round(values), -100, 100).astype(np.int32)
        return values

    def options(self, **values: Any) -> dict[str, Any]:
        """Some of the options, each with its value; seldom one that does not exist."""
        chosen = {name: make() for name, make in values.items() if self.chance(0.5)}
        if self.chance(0.01):
            chosen["no_such_option"] = 1
        return chosen
