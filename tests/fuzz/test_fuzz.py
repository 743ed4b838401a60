"""A few thousand random calls, and that the fuzzer sees what it looks for."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.campaign import KINDS, run
from tests.fuzz.judge import Failure, Judge, Refused

import limitpoint as lp
from limitpoint.errors import DataError

SEED, CASES = 2026, 1000


@pytest.mark.usefixtures("as_registered")
def test_only_results_and_errors_of_ours(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    report = run(CASES, SEED)
    assert not report.failures, "\n\n".join(report.failures)
    assert report.calls > 3000
    # Neither are all arguments right, nor are all refused.
    assert sum(report.answered.values()) > 0.2 * CASES
    assert sum(report.refused.values()) > 0.2 * CASES
    assert len(report.seconds) >= len(KINDS) - 2


# What is called by another name, has no arguments of its own, or is tested with what extends it.
NOT_CALLED = {
    *("Status", "Paths", "Spectrum", "JumpProcess", "Condition", "Theorem"),
    *("Diffusion", "Probe", "InitKind", "register", "register_network"),
    *("progress", "show_versions", "Table"),
}


def test_everything_public_is_called():
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))
    rooms = (lp, lp.analysis, lp.spectral, lp.sde, lp.atlas, lp.plot, lp.io, lp.examples)
    for room in rooms:
        for name in room.__all__:
            value = getattr(room, name)
            if callable(value) and name not in NOT_CALLED:
                assert re.search(rf"\.{name}\b", sources), f"{room.__name__}.{name} is not called"
    starts = [name for name, each in vars(lp.Init).items() if isinstance(each, classmethod)]
    assert all(f"Init.{name}" in sources for name in starts)


def _crash():
    raise ZeroDivisionError("oh")


def _warn():
    warnings.warn("invalid value", RuntimeWarning, stacklevel=1)


def _change(values):
    values[0] = 7.0


def _inner_type_error():
    return (lambda: None)(1)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (_crash, (), "ZeroDivisionError"),
        (_warn, (), "RuntimeWarning"),
        (_change, (np.ones(2),), "argument was changed"),
        (_change, ([1.0],), "argument was changed"),
        (_inner_type_error, (), "TypeError"),
    ],
)
def test_what_no_call_may_do_is_a_failure(call, arguments, message):
    with pytest.raises(Failure, match=message):
        Judge()(call, *arguments)


def test_a_good_status_with_numbers_that_are_not_finite_is_a_failure():
    limit = lp.predict(_problem())
    object.__setattr__(limit, "coef", limit.coef * np.nan)
    with pytest.raises(Failure, match=r"Limit\.coef is not finite"):
        Judge()(lambda: limit)


def test_a_call_that_hangs_is_a_failure(monkeypatch):
    monkeypatch.setattr("tests.fuzz.judge.HANGS_AFTER", 0.05)

    def hang():
        while True:
            pass

    with pytest.raises(Failure, match="no answer within"):
        Judge()(hang)


def test_refusals_are_no_failures():
    with pytest.raises(Refused):
        Judge()(lp.Diagonal, depth="x")
    with pytest.raises(Refused):
        Judge()(lp.Diagonal, depth=2, no_such_option=1)

    def refuse():
        raise DataError("")

    with pytest.raises(Failure, match="without a message"):
        Judge()(refuse)


def test_a_case_is_made_by_its_number_alone():
    """Whatever was run before it: so a failure is found again."""
    last, alone = run(25, 5), run(1, 5, start=24)
    assert alone.calls <= last.calls
    before = run(24, 5)
    assert last.calls - before.calls == alone.calls


def _problem():
    task, network = lp.Regression([[1.0, 2.0]], [1.0]), lp.Diagonal(2)
    return lp.Problem(network, lp.Init.zero_last(network, task, 0.1), task)
