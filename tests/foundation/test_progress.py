"""Every long job reports how far it is, and stops where it is told to."""

import io
import os
import signal
import threading
from threading import Event

import numpy as np
import pytest
from tests.papers.toys import Toy

import limitpoint as lp
from limitpoint.dynamics.training import chunks
from limitpoint.errors import Cancelled, LimitpointError
from limitpoint.foundation import progress_line
from limitpoint.foundation.progress import Progress, in_threads, job
from limitpoint.foundation.progress_line import ProgressLine
from limitpoint.papers import reproduce

# A run of so many steps would take days: what ends was stopped.
ENDLESS = 10**12


def problem(network=None, scale=0.1, task=None):
    network = network or lp.Diagonal(depth=2)
    task = task or lp.examples.zhao_eq7()
    return lp.Problem(network, lp.Init.random(network, task, scale=scale, seed=0), task)


def rank_one():
    network, task = lp.RankOne(depth=2, width=4), lp.examples.zhao_eq7()
    return lp.Problem(network, lp.Init.balanced(network, task, scale=1.0, seed=0), task)


def sgd_model():
    task = lp.Regression([[1.0, 2.0]], [1.0])
    network = lp.RankOne(depth=2)
    start = lp.Problem(network, lp.Init.balanced(network, task, norm=1.0), task)
    return lp.sde.SGDModel(start, lp.SGD(learning_rate=1e-3, batch_size=1))


TWO_CLASSES = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
JOBS = {
    "flow": (lambda: lp.flow(problem()), "gradient flow"),
    "flow of parameters": (
        lambda: lp.flow(problem(), space=lp.ParameterSpace()),
        "gradient flow",
    ),
    "flow to a margin": (lambda: lp.flow(problem(task=TWO_CLASSES)), "gradient flow"),
    "limit direction": (
        lambda: lp.analysis.limit_direction(problem(task=TWO_CLASSES), margin=1.5),
        "direction of the flow",
    ),
    "train": (lambda: lp.train(problem(), lp.GD(1e-4), ENDLESS), "training"),
    "train by SGD": (lambda: lp.train(problem(), lp.SGD(1e-4, 1), ENDLESS), "training"),
    "train many": (
        lambda: lp.train_many(rank_one(), [lp.GD(1e-4), lp.SGD(1e-4, 1)], ENDLESS),
        "training",
    ),
    "simulate": (
        lambda: lp.sde.simulate(sgd_model(), t_end=1e-3 * ENDLESS, paths=3),
        "paths of the diffusion",
    ),
    "predict path": (
        lambda: lp.predict_path(problem(), np.geomspace(1e-3, 1.0, 9)),
        "limits",
    ),
    "predict path one by one": (
        lambda: lp.predict_path(rank_one(), np.geomspace(1e-3, 1.0, 9)),
        "limits",
    ),
    "saddle path": (
        lambda: lp.saddle_path(lp.examples.zhao_eq7().X, lp.examples.zhao_eq7().y),
        "saddle path",
    ),
    "verify": (lambda: lp.verify(problem(), training=lp.GD(1e-4), steps=ENDLESS), "training"),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_stops_where_it_is_told_to(name):
    call, what = JOBS[name]
    seen = []

    def report(now):
        seen.append(now)
        if now.what == what and now.done >= 2:
            raise Cancelled("enough")

    with lp.progress(report), pytest.raises(Cancelled, match="enough"):
        call()
    # Another thread may have been within a chunk when the first was stopped.
    assert len([now for now in seen if now.what == what and now.done >= 2]) <= 2
    assert all(now.total is None or now.done <= now.total for now in seen)
    assert not [t for t in threading.enumerate() if "ThreadPool" in t.name]
    if name == "verify":
        assert str(seen[-1]).startswith("verify: 4 parts done, training > training: ")


def test_an_interrupted_sweep_ends():
    """The signal reaches the caller, who waits for threads that know nothing of it."""
    signals = iter([signal.SIGINT])

    def interrupt(_):
        for one in signals:
            os.kill(os.getpid(), one)

    with lp.progress(interrupt), pytest.raises(KeyboardInterrupt):
        lp.train_many(rank_one(), [lp.GD(1e-4), lp.SGD(1e-4, 1)], ENDLESS)
    assert not [t for t in threading.enumerate() if "ThreadPool" in t.name]


def test_threads_stop_when_one_of_them_fails():
    begun = Event()

    def work(number):
        with job("work") as steps:
            if number == 0:
                begun.wait()
                raise LimitpointError("number 0 cannot")
            while True:
                begun.set()
                steps.advance()

    with pytest.raises(LimitpointError, match="number 0 cannot"):
        in_threads(work, [0, 1], workers=2)


def test_threads_return_in_the_order_of_their_items():
    assert in_threads(lambda number: number**2, range(5), workers=2) == [0, 1, 4, 9, 16]


def test_runs_do_not_depend_on_where_their_calls_end(monkeypatch):
    """Bit for bit: calls of 256 steps, which hold the run, against calls of seven."""
    rules, record = [lp.GD(1e-2), lp.SGD(1e-2, 1)], np.arange(0, 101, 3)

    def all_runs():
        many = lp.train_many(
            rank_one(), rules, 100, scales=[0.5, 1.0], seeds=range(3), record=record
        )
        alone = [lp.train(problem(), rule, 100, record=record) for rule in rules]
        return [many.losses, many.coefs, *(run.coefs for run in alone)]

    in_one = all_runs()
    monkeypatch.setattr(chunks, "FIRST", 7)
    monkeypatch.setattr(chunks, "SHORT", 0.0)
    for whole, cut in zip(in_one, all_runs(), strict=True):
        np.testing.assert_array_equal(cut, whole)


def test_what_reproduce_has_finished_is_kept(tmp_path):
    seen = []

    def report(now):
        seen.append(now)
        if now.done == 1:
            raise Cancelled("enough")

    with lp.progress(report), pytest.raises(Cancelled):
        reproduce([Toy(), Toy(number=1)], tmp_path)
    assert [folder.name for folder in tmp_path.iterdir()] == [Toy().id]
    assert seen[-1].kept == f"in {tmp_path}"
    assert seen[0].doing == Toy().id


def test_reports_of_threads_are_their_own():
    """A listener of one context hears nothing of another."""
    heard = []
    with lp.progress(heard.append):
        thread = threading.Thread(target=lambda: lp.flow(problem()))
        thread.start()
        thread.join()
    assert heard == []


def test_a_report_must_be_a_function():
    with (
        pytest.raises(LimitpointError, match="report must be a function of one argument"),
        lp.progress(5),
    ):
        pass


class Terminal(io.StringIO):
    """A terminal that remembers what was drawn, and says so."""

    def __init__(self, is_terminal=True):
        super().__init__()
        self._is_terminal, self.drawn = is_terminal, Event()

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        count = super().write(text)
        self.drawn.set()
        return count


def test_the_line_is_drawn_and_cleared(monkeypatch):
    assert progress_line.PATIENCE == 2.0  # as all pages say
    monkeypatch.setattr(progress_line, "PATIENCE", 0.0)
    terminal = Terminal()
    with ProgressLine("flow", terminal) as line:
        terminal.drawn.wait()
        outer = Progress("reproduce", 1, 36, "experiments", "zhao2026-figure1 " + 60 * "x")
        line.report(Progress("training", 250, 1000, within=outer))
        terminal.drawn.clear()
        terminal.drawn.wait()
        terminal.drawn.clear()
        terminal.drawn.wait()
    first, *_, cleared = terminal.getvalue().split("\r")[1:]
    assert first.startswith("flow, ")
    assert cleared == "\x1b[K"
    longest = max(terminal.getvalue().replace("\x1b[K", "").split("\r"), key=len)
    assert len(longest) == 79  # of a line that is too long the end is shown
    assert "x > training: 250 of 1000 steps (25%), " in longest


@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_line_for_short_jobs_nor_elsewhere_than_on_terminals(monkeypatch, is_terminal):
    monkeypatch.setattr(progress_line, "PATIENCE", 3600.0 if is_terminal else 0.0)
    terminal = Terminal(is_terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    with lp.progress():
        lp.flow(problem())
    assert terminal.getvalue() == ""
