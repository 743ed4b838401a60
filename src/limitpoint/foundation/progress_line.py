"""Progress as one line on a terminal."""

import os
import sys
import time
from threading import Event, Lock, Thread
from typing import TextIO

from limitpoint.foundation.progress import Progress

__all__ = ["ProgressLine"]

# Jobs shorter than this, in seconds, show nothing; afterwards the line is drawn this often.
PATIENCE = 2.0
INTERVAL = 0.25
NARROW = 20


class ProgressLine:
    """A line that is drawn over itself while a job runs, and is gone after it.

    Only on a terminal. A thread of its own draws it, so that time is seen to go by also where a job
    has no parts to report.

    Attributes
    ----------
    last
        The last progress that was reported.
    """

    def __init__(self, what: str = "working", stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._what = what
        self._begin = time.monotonic()
        self._ended, self._lock, self._is_drawn = Event(), Lock(), False
        self._thread: Thread | None = None
        self.last: Progress | None = None

    def report(self, now: Progress) -> None:
        """Take notice; what draws is the thread."""
        self.last = now

    def __enter__(self) -> "ProgressLine":
        if self._stream.isatty():
            self._thread = Thread(target=self._draw_on, name="progress line", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._clear()

    def _draw_on(self) -> None:
        pause = PATIENCE
        while not self._ended.wait(pause):
            pause = INTERVAL
            try:
                self._draw()
            except OSError:  # the terminal has gone; the job need not
                return

    def _draw(self) -> None:
        with self._lock:
            line = line_of(self.last, self._what, time.monotonic() - self._begin)
            try:
                columns = os.get_terminal_size(self._stream.fileno()).columns
            except (OSError, ValueError):
                columns = 80
            # The last column is left free: a terminal goes on to the next line after it. Of a line
            # that is too long the end says most.
            room = max((columns or 80) - 1, NARROW)
            shown = line if len(line) <= room else "..." + line[len(line) - room + 3 :]
            self._stream.write(f"\r{shown}\x1b[K")
            self._stream.flush()
            self._is_drawn = True

    def _clear(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def line_of(now: Progress | None, what: str, seconds: float) -> str:
    """The progress in words, with its time."""
    share = ""
    if now is not None and now.total:
        share = f" ({min(now.done / now.total, 1.0):.0%})"
    return f"{what if now is None else now}{share}, {seconds:.0f} s"
