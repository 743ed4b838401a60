"""In which coordinates a flow is integrated: the choices, and which is taken by default."""

from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import as_positive, shown
from limitpoint.dynamics.flows.radial import safe_radial_map
from limitpoint.dynamics.integrate.options import check_options
from limitpoint.errors import LimitpointError
from limitpoint.mirror import MirrorMap
from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem

__all__ = [
    "LogCoordinates",
    "NormalisedTime",
    "ParameterSpace",
    "SampleSpace",
    "default_coordinates",
    "is_resolved",
]

# Local error per step, relative. The end point corrects itself (the root is unique), so this
# governs the times of events along the way.
RTOL = 1e-10
# A flow that was given no end stops when its relative residual, relative, has fallen to this.
RESIDUAL_TOLERANCE = 1e-10
MAX_STEPS = 200_000
# A flow of a classification that was given no end stops at this margin, a loss of e^−1000000. Its
# direction is then about as far from its limit as the inverse, or the root of that.
MARGIN = 1e6
# Nothing corrects its errors on the way to that: a tenth of the tolerance of a flow that converges
# leaves times, and losses, to 1e-8.
MARGIN_RTOL = 1e-11
# Margins beyond this are rounded to a thousandth, which is then the error of every sample's weight;
# the integrator fails a little later.
LARGEST_MARGIN = 1e12


@dataclass(frozen=True)
class SampleSpace:
    """Integrate `dν/dt = loss_factor (y − XΨ(Xᵀν))`: m numbers.

    Needs a mirror map whose mirror coordinates float64 resolves: any scale for two layers,
    `scale^(2−L)` up to 100 for deeper networks. Rank-one networks, and balanced dense ones, have a
    map of all coefficients together, `dν/dt = loss_factor Ξ (y − Xβ)`, `β = Ξ(z(0) + Xᵀν)`, at any
    scale. `TwoLayer` networks are integrated in the directions that move: as many as X has rank on
    the side of the features, that and the number of outputs at most on the side of the neurons.

    Parameters
    ----------
    rtol
        Local error per step, relative: at least 1e-13, which is what the integrators can do.
    residual_tolerance
        Stop when the relative residual has fallen to this, unless an end is given.
    max_steps
        Stop after so many steps of the integrator.
    """

    rtol: float = RTOL
    residual_tolerance: float = RESIDUAL_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class ParameterSpace:
    """Integrate the parameters themselves, as plain numbers. Any network.

    No logarithms, no mirror map, and nothing is eliminated by what the flow conserves, so that the
    conserved quantities can drift, and show what the integration is worth. Where each coefficient
    has parameters of its own they are turned to an orthonormal basis, which no gradient flow
    notices: two layers as `(a ± b)/√2`, each to `rtol` of itself. Two layers are then held down to
    scales of about 1e-150, where `a − b` underflows; deep products as long as float64 holds the
    differences of the squared layers beside these, to about 1e-6. Below take `LogCoordinates()`.
    """

    rtol: float = RTOL
    residual_tolerance: float = RESIDUAL_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class LogCoordinates:
    """Integrate logarithms of the parameters' growth: exact at any scale, in another chart.

    For networks that have such coordinates (`Diagonal`, `Power`, `SignedPower`, `Paired`,
    `General`). It inverts no mirror map, but it uses what the flow conserves: at depth 2 the
    logarithms of `a + b` and `a − b` move by opposite amounts, and beyond it the other layers
    follow from the smallest by the differences of their squares. So it is no independent test of
    a prediction; `ParameterSpace()` is.
    """

    rtol: float = RTOL
    residual_tolerance: float = RESIDUAL_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class NormalisedTime:
    """Integrate the parameters of a classification, `dθ/dτ = −∇ log loss`, `dτ = loss dt`.

    Losses far below the smallest float are reached, and times far beyond the largest, which the
    trajectory has in logarithms.

    Parameters
    ----------
    margin
        Stop when the smallest margin is as large as this, unless an end is given; at most 1e12:
        beyond, rounding of the margins blurs which samples weigh how much.
    rtol
        Local error per step, relative; a hundredth of `1/margin` where that is smaller.
    max_steps
        Stop after so many steps of the integrator.
    own_layers
        Integrate the layers themselves, divided by their norm, where by default (`Diagonal`,
        `Power`, `SignedPower`, `Paired`, `General`) logarithms of their growth are. Those use what
        the flow conserves, and are exact at any scale; layers are held down to about 1e-9.
    """

    margin: float = MARGIN
    rtol: float = MARGIN_RTOL
    max_steps: int = MAX_STEPS
    own_layers: bool = False

    def __post_init__(self) -> None:
        margin = as_positive(self.margin, "margin", LimitpointError)
        if margin > LARGEST_MARGIN:
            raise LimitpointError(
                f"margin must be at most {LARGEST_MARGIN:g}, to which float64 holds margins to a "
                f"thousandth; it is {margin:g}"
            )
        object.__setattr__(self, "margin", margin)
        if not isinstance(self.own_layers, bool | np.bool_):
            raise LimitpointError(
                f"own_layers must be True or False; it is {shown(self.own_layers)}"
            )
        object.__setattr__(self, "own_layers", bool(self.own_layers))
        check_options(self)


def default_coordinates(problem: Problem) -> SampleSpace | LogCoordinates | ParameterSpace:
    """The coordinates of a regression's flow where none are asked for.

    Sample space where the network has a mirror map that float64 resolves, a radial map, or two
    layers; else logarithmic coordinates where it has them; else the parameters.
    """
    mirror = problem.network.mirror_map(problem.init)
    mapped = safe_radial_map(problem) is not None or (
        mirror is not None and is_resolved(problem, mirror)
    )
    if mapped or isinstance(problem.network, TwoLayer):
        return SampleSpace()
    growth = problem.network.log_chart(problem.init)
    return ParameterSpace() if growth is None else LogCoordinates()


def is_resolved(problem: Problem, mirror: MirrorMap) -> bool:
    """Whether float64 mirror coordinates give the coefficients that fit the data."""
    return mirror.resolves(problem.regression.fit_size)
