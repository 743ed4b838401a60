"""How far a long job is, and how it is stopped: one protocol for all of them.

A verb that may take long opens a `job` and calls `advance` at its natural boundaries: a step of the
integrator, a chunk of training steps, a scale, an experiment. It knows nothing of who listens.
Whoever wants to know opens `progress(report)` around the call: `report` is then told of every
advance and may raise an exception, `Cancelled` say, which ends the job there. Without one an
advance costs as good as nothing.

Listeners belong to a context (`contextvars`), so that calls in several threads have each their own;
`in_threads` hands the caller's on to threads that a verb starts itself, and stops all of them when
one fails or the caller is interrupted.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, TypeVar

from limitpoint.errors import Cancelled, LimitpointError

__all__ = ["Job", "Progress", "Report", "in_threads", "job", "progress"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes
    ----------
    what
        The job in words, like "training".
    done
        How many parts of it are done.
    total
        Of how many; None where that is not known.
    unit
        What the parts are, like "steps".
    doing
        The part that is worked on, where it has a name of its own.
    kept
        What of it outlasts an interruption, in words; empty where nothing does.
    within
        The job that this one is a part of, if it is.
    """

    what: str
    done: int = 0
    total: int | None = None
    unit: str = "steps"
    doing: str = ""
    kept: str = ""
    within: "Progress | None" = None

    @property
    def outermost(self) -> "Progress":
        """The whole job."""
        return self if self.within is None else self.within.outermost

    def __str__(self) -> str:
        """From the whole to the part, in one line."""
        own = f"{self.what}: {self.done}"
        own += f" {self.unit}" if self.total is None else f" of {self.total} {self.unit}"
        own += f", {self.doing}" if self.doing else ""
        return own if self.within is None else f"{self.within} > {own}"


Report = Callable[[Progress], object]


class _Listener:
    """Tells a report of every advance, one at a time."""

    def __init__(self, report: Report) -> None:
        self._report, self._lock = report, Lock()

    def tell(self, now: Progress) -> None:
        with self._lock:
            self._report(now)


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)
_stop: ContextVar[Event | None] = ContextVar("stop", default=None)
_current: ContextVar["Job | None"] = ContextVar("current", default=None)


class Job:
    """What a verb counts its parts on; `job` opens one."""

    def __init__(
        self, what: str, total: int | None = None, unit: str = "steps", kept: str = ""
    ) -> None:
        self._what, self._total, self._unit, self._kept = what, total, unit, kept
        self._done, self._doing, self._lock = 0, "", Lock()
        self._within = _current.get()

    def advance(self, by: int = 1, doing: str = "") -> None:
        """Count so many parts more as done, and name the one that comes.

        Raises
        ------
        Cancelled
            Where the job was stopped from another thread; and whatever the report raises.
        """
        stop, listener = _stop.get(), _listener.get()
        if stop is not None and stop.is_set():
            raise Cancelled("stopped")
        if listener is not None:
            with self._lock:
                self._done, self._doing = self._done + by, doing
            listener.tell(self.progress)

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        within = None if self._within is None else self._within.progress
        return Progress(
            self._what, self._done, self._total, self._unit, self._doing, self._kept, within
        )


@contextmanager
def job(
    what: str, total: int | None = None, *, unit: str = "steps", kept: str = ""
) -> Iterator[Job]:
    """Open a job: those opened inside are parts of it. Its arguments are those of `Progress`."""
    opened = Job(what, total, unit, kept)
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)


@contextmanager
def progress(report: Report | None = None) -> Iterator[None]:
    """Follow, and stop, the long jobs that are called inside.

    Parameters
    ----------
    report
        Called with a `Progress` at every advance, from one thread at a time, though not always the
        caller's. What it raises ends the job and reaches the caller; `limitpoint.errors.Cancelled`
        is there for that. By default a line on standard error, where that is a terminal, from two
        seconds on.

    Notes
    -----
    flow, verify, train, train_many, simulate, predict_path, saddle_path, limit_direction, reproduce
    and all that is made of them report. A job that is stopped leaves nothing behind, but for the
    experiments that `reproduce` has finished.

    Examples
    --------
    >>> import limitpoint as lp
    >>> network, task = lp.Diagonal(depth=2), lp.Regression([[1.0, 2.0]], [1.0])
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e-4), task)
    >>> def stop_early(now):
    ...     if now.done >= 500:
    ...         raise lp.errors.Cancelled(f"enough after {now.what}")
    >>> with lp.progress(stop_early):
    ...     lp.train(problem, lp.GD(1e-2), steps=10**9)
    Traceback (most recent call last):
    limitpoint.errors.Cancelled: enough after training
    """
    if report is None:
        from limitpoint.foundation.progress_line import ProgressLine

        with ProgressLine() as line, progress(line.report):
            yield
        return
    if not callable(report):
        raise LimitpointError(
            f"report must be a function of one argument, the progress; it is {report!r}"
        )
    token = _listener.set(_Listener(report))
    try:
        yield
    finally:
        _listener.reset(token)


def in_threads(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """Call a function on each item, in threads that stop together.

    When one raises, or the caller is interrupted, the others end at their next advance and what has
    not begun does not begin; all are waited for.
    """
    stop = Event()

    def begin(item: T) -> R:
        _stop.set(stop)
        return function(item)

    with ThreadPoolExecutor(max_workers=max(min(workers, len(items)), 1)) as pool:
        futures: list[Future[Any]] = []
        try:
            for item in items:
                futures.append(pool.submit(copy_context().run, begin, item))
            wait(futures, return_when="FIRST_EXCEPTION")
            first = [one for one in futures if one.done() and one.exception() is not None]
            return [one.result() for one in (*first, *futures)][len(first) :]
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
