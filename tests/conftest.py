"""Settings that must be in place before SciPy is imported, and the width of what is printed."""

import os

import pytest

# Without it scikit-learn skips its check of array API input on our estimators.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# As in a pipe, whatever terminal the tests run in.
os.environ["COLUMNS"] = "100"


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
