"""Settings that must be in place before SciPy is imported, the width of what is printed, Ctrl-C."""

import os
import signal

import pytest

# Without it scikit-learn skips its check of array API input on our estimators.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# As in a pipe, whatever terminal the tests run in.
os.environ["COLUMNS"] = "100"


@pytest.fixture(autouse=True)
def _interruptions():
    """Python answers Ctrl-C: a job in the background ignores it, and polars leaves it to others."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def as_registered():
    """What a test registers is gone after it."""
    from limitpoint import dynamics, io
    from limitpoint.foundation.values import Value
    from limitpoint.theory import atlas

    tables = (io.NETWORKS, dynamics.OPTIMISERS, dynamics.PROBES, atlas._REGISTRY, Value.kinds)
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
