"""How a comparison is measured and shown."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Row:
    """One comparison: the same job done by limitpoint and by a peer."""

    job: str
    peer: str
    seconds: float
    peer_seconds: float
    accuracy: float
    peer_accuracy: float
    at_least: float  # the ratio below which the comparison counts as failed
    negligible: float = 0.0  # errors below this are no worse than the peer's

    @property
    def ratio(self) -> float:
        """How many times faster than the peer."""
        return self.peer_seconds / self.seconds

    @property
    def passed(self) -> bool:
        """Fast enough, and at least as accurate as the peer."""
        accurate = self.accuracy <= max(self.peer_accuracy, self.negligible)
        return self.ratio >= self.at_least and accurate


def best_of(repeats: int, job: Callable[[], Result]) -> tuple[float, Result]:
    """Shortest time of several runs (the least disturbed one) and the last result."""
    shortest = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        result = job()
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest, result


def machine() -> str:
    """The machine and the versions, recorded with every table."""
    names = ("limitpoint", "numpy", "scipy", "jax")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        f"{versions}"
    )
