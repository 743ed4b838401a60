"""How many steps a compiled loop takes before it comes up to breathe."""

import time
from collections.abc import Iterator

__all__ = ["Chunks"]

# The steps of the first call; it is compiled there, and its time tells nothing.
FIRST = 256
# Calls should take about so many seconds: a job that is stopped has to wait for one of them, and
# what a call costs besides its steps, some ten microseconds, is nothing beside that.
SHORT, LONG = 0.1, 0.4


class Chunks:
    """Stretches of steps, each as long as a fraction of a second lasts.

    A step of a run does not depend on where the calls begin and end: neither does the result.
    """

    def __init__(self) -> None:
        self._steps = FIRST
        self._is_compiled = False

    def between(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """The first and last step of each call; the time between two of them is measured."""
        first = begin
        while first < end:
            last = min(first + self._steps, end)
            before = time.perf_counter()
            yield first, last
            self._took(last - first, time.perf_counter() - before)
            first = last

    def _took(self, steps: int, seconds: float) -> None:
        if not self._is_compiled:
            self._is_compiled = True
        elif seconds > LONG:
            self._steps = max(int(steps * LONG / seconds), 1)
        elif seconds < SHORT and steps == self._steps:
            self._steps *= 2
