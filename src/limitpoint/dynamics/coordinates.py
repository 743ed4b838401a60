"""In which coordinates a flow is integrated: the choices, and which is taken by default."""

from dataclasses import dataclass

from limitpoint.dynamics.flows.radial_flow import safe_radial_map
from limitpoint.dynamics.integrate.options import check_options
from limitpoint.foundation.display import Setting
from limitpoint.mirror import MirrorMap
from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem
from limitpoint.tasks import Classification, Regression

__all__ = [
    "RTOL",
    "Coordinates",
    "LogCoordinates",
    "ParameterSpace",
    "SampleSpace",
    "default_coordinates",
    "is_resolved",
    "tolerance_of",
]

# Local error per step, relative. The end point corrects itself (the root is unique), so this
# governs the times of events along the way.
RTOL = 1e-10
# A flow that was given no end stops when its relative residual has fallen to this.
RESIDUAL_TOLERANCE = 1e-10
MAX_STEPS = 200_000
# Nothing corrects the errors of a classification: a tenth of the tolerance of a flow that converges
# leaves times, and losses, to 1e-8.
MARGIN_RTOL = 1e-11


@dataclass(frozen=True)
class SampleSpace(Setting):
    """Integrate `dν/dt = loss_factor (y − XΨ(Xᵀν))`: m numbers.

    Needs a mirror map whose mirror coordinates float64 resolves: any scale for two layers,
    `scale^(2−L)` up to 100 for deeper networks. Rank-one networks, and balanced dense ones, have a
    map of all coefficients together, `dν/dt = loss_factor Ξ (y − Xβ)`, `β = Ξ(z(0) + Xᵀν)`, at any
    scale. `TwoLayer` networks are integrated in the directions that move: as many as X has rank on
    the side of the features, that and the number of outputs at most on the side of the neurons.

    Parameters
    ----------
    rtol
        Local error per step, relative: at least 1e-13, which is what the integrators can do. By
        default 1e-10.
    residual_tolerance
        Stop when the relative residual has fallen to this, unless an end is given.
    max_steps
        Stop after so many steps of the integrator.
    """

    rtol: float | None = None
    residual_tolerance: float = RESIDUAL_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class ParameterSpace(Setting):
    """Integrate the parameters themselves, as plain numbers. Any network.

    No logarithms, no mirror map, and nothing is eliminated by what the flow conserves, so that the
    conserved quantities can drift, and show what the integration is worth. Where each coefficient
    has parameters of its own they are turned to an orthonormal basis, which no gradient flow
    notices: two layers as `(a ± b)/√2`, each to `rtol` of itself. Two layers are then held down to
    scales of about 1e-150, where `a − b` underflows; deep products as long as float64 holds the
    differences of the squared layers beside these, to about 1e-6. Below take `LogCoordinates()`.

    Of a classification, whose errors nothing corrects, `rtol` is 1e-11 by default; it stops at a
    margin, and `residual_tolerance` says nothing.
    """

    rtol: float | None = None
    residual_tolerance: float = RESIDUAL_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class LogCoordinates(Setting):
    """Integrate logarithms of the parameters' growth: exact at any scale, in another chart.

    For networks that have such coordinates (`Diagonal`, `Power`, `SignedPower`, `Paired`,
    `General`). It inverts no mirror map, but it uses what the flow conserves: at depth 2 the
    logarithms of `a + b` and `a − b` move by opposite amounts, and beyond it the other layers
    follow from the smallest by the differences of their squares. So it is no independent test of
    a prediction; `ParameterSpace()` is. Classifications are followed as in `ParameterSpace()`.
    """

    rtol: float | None = None
    residual_tolerance: float = RESIDUAL_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


Coordinates = SampleSpace | ParameterSpace | LogCoordinates


def default_coordinates(problem: Problem) -> Coordinates:
    """The coordinates of a flow where none are asked for.

    Sample space where the network has a mirror map that float64 resolves, a radial map, or two
    layers; else logarithmic coordinates where it has them; else the parameters. A classification,
    whose mirror coordinates grow for ever, has no flow in sample space.
    """
    if isinstance(problem.task, Regression):
        mirror = problem.network.mirror_map(problem.init)
        mapped = safe_radial_map(problem) is not None or (
            mirror is not None and is_resolved(problem, mirror)
        )
        if mapped or isinstance(problem.network, TwoLayer):
            return SampleSpace()
    chart = problem.network.log_chart(problem.init)
    return ParameterSpace() if chart is None else LogCoordinates()


def is_resolved(problem: Problem, mirror: MirrorMap) -> bool:
    """Whether float64 mirror coordinates give the coefficients that fit the data."""
    return mirror.resolves(problem.regression.fit_size)


def tolerance_of(space: Coordinates, problem: Problem) -> float:
    """The local error per step that is asked for, or the default."""
    if space.rtol is not None:
        return space.rtol
    return MARGIN_RTOL if isinstance(problem.task, Classification) else RTOL
