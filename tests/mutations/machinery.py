"""Mutations of bounds, saddle paths, mirror maps and logarithmic charts."""

import dataclasses

import numpy as np
from tests.mutations.mutation import PART, NotApplicable, mutation
from tests.mutations.runs import ENGINES

import limitpoint as lp
from limitpoint.mirror.units import in_units
from limitpoint.networks import CoupledNetwork


@mutation("b", "the bound on the loss -1 %", "bound")
def lower_bound(patch, case):
    patch.setattr(ENGINES, "convergence_bound", _lowered(ENGINES.convergence_bound))
    bounds = ENGINES.two_layer_bounds
    patch.setattr(
        ENGINES,
        "two_layer_bounds",
        lambda *given: {name: (1 - PART) * one for name, one in bounds(*given).items()},
    )


def _lowered(function):
    return lambda *given: (1 - PART) * function(*given)


@mutation("e", "the exponent of the bound on the loss +1 %", "bound")
def faster_bound(patch, case):
    for name in ("convergence_bound", "two_layer_bounds"):
        function = getattr(ENGINES, name)
        patch.setattr(
            ENGINES,
            name,
            lambda problem, times, function=function: function(problem, (1 + PART) * times),
        )


def _path(patch, change):
    def saddles(problem):
        path = lp.analysis.saddles(problem)
        return dataclasses.replace(path, **change(path))

    patch.setattr(ENGINES, "saddles", saddles)


@mutation("v", "values of the saddles +1 %", "path")
def values(patch, case):
    _path(patch, lambda path: {"sparse_coefs": (1 + PART) * path.sparse_coefs})


@mutation("m", "times of the saddles +1 %", "path")
def times(patch, case):
    _path(patch, lambda path: {"path_times": (1 + PART) * path.path_times})


@mutation("u", "duals of the saddles +1 %", "path")
def duals(patch, case):
    _path(patch, lambda path: {"duals": (1 + PART) * path.duals})


@mutation("x", "the first two saddles exchanged", "path")
def order(patch, case):
    def swapped(path):
        if path.n_saddles < 2:
            raise NotApplicable
        rows = np.arange(path.n_saddles + 1)
        rows[[1, 2]] = [2, 1]
        return {"sparse_coefs": path.sparse_coefs[rows]}

    _path(patch, swapped)


@mutation(
    "M",
    "the mirror map of one coefficient +1 %",
    "map",
    keeps=frozenset({"parameter flow", "logarithmic flow", "training"}),
)
def mirror_map(patch, case):
    """Prediction and sample flow share it, and agree: runs without a map must tell."""
    kinds = {type(case.problem.network), lp.Diagonal}
    for kind in kinds:
        function = kind.mirror_map
        patch.setattr(kind, "mirror_map", lambda self, init, f=function: _stretched(f(self, init)))
        if issubclass(kind, CoupledNetwork):
            radial = kind.radial_map
            patch.setattr(kind, "radial_map", lambda self, init, f=radial: _shifted(f(self, init)))


def _stretched(mirror):
    if mirror is None:
        return None
    factors = np.ones(len(mirror.lower))
    factors[0] += PART
    mapped = in_units(mirror, np.ones_like(factors), factors)
    # Activation times are no part of the map.
    return _with(mapped, activation_times=lambda self: mirror.activation_times())


def _shifted(radial):
    if radial is None:
        return None
    start = np.array(radial.start)
    start[0] *= 1 + PART
    return dataclasses.replace(radial, start=start)


@mutation(
    "K",
    "the logarithmic chart's coefficients +1 %, of one",
    "logarithmic flow",
    keeps=frozenset({"sample flow", "parameter flow", "training"}),
)
def chart(patch, case):
    for kind in {type(case.problem.network), lp.Diagonal}:
        function = kind.log_chart
        patch.setattr(kind, "log_chart", lambda self, init, f=function: _scaled(f(self, init)))


def _scaled(growth):
    """The chart with another map to coefficients: its class, one method changed."""
    if growth is None:
        return None
    kind = type(growth)

    def coefs(self, states):
        found = np.array(kind.coefs(self, states))
        found[..., 0] *= 1 + PART
        return found

    return _with(growth, coefs=coefs)


def _with(value, **methods):
    """The same value, some of its methods changed."""
    kind = type(value)
    copy = object.__new__(type(f"Off{kind.__name__}", (kind,), methods))
    copy.__dict__.update(value.__dict__)
    return copy
