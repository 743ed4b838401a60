"""Bring your own network, optimiser, probe or theorem, from outside the package.

Subclass one of the classes here; register it, and problem files and the command line know it by
name. A theorem is a value: `limitpoint.atlas.register` puts it into the atlas, and `predict` uses
it wherever its conditions hold. Packages that name a module as an entry point of the group
`limitpoint.extensions` have it imported by the `limitpoint` command, and `load_extensions` does
the same in Python.
"""

from importlib.metadata import entry_points

from limitpoint.dynamics import Optimiser, Probe, register_optimiser, register_probe
from limitpoint.io import register_network
from limitpoint.mirror import ActivationTimes, CurveMap, MirrorMap, MirrorPoint, RadialMap
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.networks import CoupledNetwork, MultilinearNetwork, Network, WithoutMirrorMap
from limitpoint.tasks import Task

__all__ = [
    "ActivationTimes",
    "CoupledNetwork",
    "CurveMap",
    "LogChart",
    "MirrorMap",
    "MirrorPoint",
    "MultilinearNetwork",
    "Network",
    "Optimiser",
    "Probe",
    "RadialMap",
    "Task",
    "WithoutMirrorMap",
    "load_extensions",
    "register_network",
    "register_optimiser",
    "register_probe",
]

GROUP = "limitpoint.extensions"


def load_extensions() -> tuple[str, ...]:
    """Import what installed packages offer as extensions; their names."""
    found = tuple(sorted(entry_points(group=GROUP), key=lambda point: point.name))
    for point in found:
        point.load()
    return tuple(point.name for point in found)
