"""Optimisers and probes by name, ours and those of others."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from limitpoint.dynamics.training.label_noise import LabelNoise
from limitpoint.dynamics.training.optimisers import GD, SGD, Optimiser
from limitpoint.dynamics.training.probes import NoiseTerm, Probe, StartTerm
from limitpoint.errors import LimitpointError
from limitpoint.foundation.registry import add, as_maker, look_up

__all__ = [
    "OPTIMISERS",
    "PROBES",
    "made_optimiser",
    "made_probe",
    "register_optimiser",
    "register_probe",
]

OPTIMISERS: dict[str, type[Optimiser]] = {"gd": GD, "sgd": SGD, "label_noise": LabelNoise}
# Those that need nothing but their name.
PROBES: dict[str, type[Probe]] = {"start_term": StartTerm, "noise_term": NoiseTerm}


def register_optimiser(name: str, optimiser: type[Optimiser]) -> type[Optimiser]:
    """Let the command line know an optimiser, a data class, by this name."""
    as_maker(name, optimiser, Optimiser, "optimiser")
    _check_data_class(name, optimiser)
    return add(OPTIMISERS, name, optimiser, "optimiser")


def register_probe(name: str, probe: type[Probe]) -> type[Probe]:
    """Let the command line know a probe that needs nothing but its name."""
    as_maker(name, probe, Probe, "probe")
    return add(PROBES, name, probe, "probe")


def made_optimiser(name: str, **settings: Any) -> Optimiser:
    """The optimiser of this name with these of its fields."""
    make = look_up(OPTIMISERS, name, "optimiser")
    known = [field.name for field in fields(make)]  # type: ignore[arg-type]  # data classes all
    for field in fields(make):  # type: ignore[arg-type]  # data classes all
        if field.default is MISSING and field.name not in settings:
            raise LimitpointError(f"the optimiser {name} needs {field.name}")
    for setting in settings:
        if setting not in known:
            raise LimitpointError(
                f"the optimiser {name} has no {setting}; it has {', '.join(known)}"
            )
    return make(**settings)


def made_probe(name: str) -> Probe:
    """The probe of this name."""
    return look_up(PROBES, name, "probe")()


def _check_data_class(name: str, make: type[Any]) -> None:
    if not is_dataclass(make):
        raise LimitpointError(f"{name} must be a data class: its fields are what options set")
