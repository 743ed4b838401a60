"""Counts of calls: what a computation costs, whatever else the machine is doing."""

from collections import Counter


def count_calls(monkeypatch, kind, *names):
    """From now on, how often each method of this class is called."""
    counts = Counter()
    for name in names:
        monkeypatch.setattr(kind, name, _counted(getattr(kind, name), name, counts))
    return counts


def _counted(method, name, counts):
    def call(*args, **kwargs):
        counts[name] += 1
        return method(*args, **kwargs)

    return call
