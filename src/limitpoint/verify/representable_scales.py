"""Which scales float64 holds the flow of the parameters at, and what its errors do to the limit.

Where coefficients grow on curves of their own, the errors of a run are those of its start: the
parameters' relative errors, and errors of what the flow conserves, which tell one curve from
another. Perturbing the start by them moves the mirror coordinate ξ that belongs to a coefficient by
δξ, and so the limit, to first order, by

    δβ = (D − DXᵀ(XDXᵀ)⁻¹XD) δξ = √D (I − P) √D δξ,

D the slopes of the mirror map and P the projector on the rows of X√D.

Two layers in `(a ± b)/√2`, and powers of one layer, are held to a relative error of their own. What
layers a_j of a deep product conserve, `a_j² − a_k²`, of the size of the start's squares, is a
difference of numbers that grow to the size of the coefficients: float64 loses it below 1e-16 of
them. A run at such a scale trains another start. So do layers that are not taken apart, of a
network that reduces to a diagonal one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.dynamics.flows.separate_parameters import (
    OwnParameters,
    SumsOfPowers,
    own_parameters,
)
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import General, Network
from limitpoint.problem import Problem
from limitpoint.theory import Reduction

__all__ = ["KEPT", "StartErrors", "at_log_scale"]

# Conserved differences of squares are kept to this part of the largest square of the layers: some
# hundred roundings. (An integrator that is linear in the state does to a difference of layers what
# it does to the layers; so much is left in runs of three and four layers down to scales of 1e-6.)
KEPT = 1e-13
# Derivatives in the logarithm of the start, by central differences: curvature leaves the square of
# this step, rounding 1e-13 over it.
STEP = 1e-4
# Conserved differences that are off by more than this part of the start's squares, of a coefficient
# whose layers have not grown to so many times these, are lost.
LARGEST_LOST = 0.1
GROWN = 100.0
# Rows of data whose singular values are below this part of the largest are dependent in float64.
RANK = 1e-13
# Large parameters are integrated to a part of the tolerance, this at least: integrators accept none
# below 1e-13.
FINEST_SHARE = 1e-3
# Coordinates that decay to less than this may vanish in float64.
SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class StartErrors:
    """How errors of the start move the limit of coefficients with curves of their own.

    Attributes
    ----------
    problem
        The problem with such coefficients: the one that is run, or the diagonal one within it.
    is_turned
        Whether two layers are run as `(a ± b)/√2`.
    """

    problem: Problem
    is_turned: bool

    @classmethod
    def of(cls, problem: Problem, reduction: Reduction | None) -> "StartErrors | None":
        """Where the network has a mirror map, or one within."""
        if reduction is not None:
            return cls(reduction.diagonal, is_turned=False)
        if problem.network.mirror_map(problem.init) is None or not _has_own(problem):
            return None
        return cls(problem, is_turned=True)

    def at_log_scale(self, log_scale: float) -> "StartErrors":
        """The same at another scale."""
        return StartErrors(at_log_scale(self.problem, log_scale), self.is_turned)

    def moves(self, coef: Float, error: float, drifts: Float | float) -> Float:
        """By how much each coefficient of the limit `coef` moves, to first order.

        Parameters
        ----------
        error
            Relative error of every parameter; of those that hardly move, as much less as moves
            their coefficient by this part of the size of the others.
        drifts
            Errors of conserved differences of squares, one for each coefficient or for all.
        """
        shifts = self._shifts(coef, error, np.broadcast_to(drifts, coef.shape))
        mirror = self.problem.network.mirror_map(self.problem.init)
        assert mirror is not None, "by construction"
        with np.errstate(invalid="ignore"):
            slopes = np.nan_to_num(mirror.slopes_of(coef), nan=0.0, posinf=0.0)
        roots = np.sqrt(slopes)
        rows = self.problem.regression.X * roots
        # |√D(I − P)√D| |δξ|, a row at a time by way of the projector's factor.
        _, values, across = np.linalg.svd(rows, full_matrices=False)
        across = across[values > RANK * values.max(initial=0.0)]
        free = np.eye(len(coef)) - across.T @ across
        moved: Float = roots * (np.abs(free) @ (roots * shifts))
        return moved

    def is_first_order(self, coef: Float, drifts: Float | float) -> bool:
        """Whether all that is still to be told of the start is known well enough.

        The conserved differences decide when a coefficient grows that is small at the limit; of one
        that has grown, and stays, they decide nothing more.
        """
        network, init = self.problem.network, self.problem.init
        if isinstance(network, General):
            start = np.linalg.norm(init.direction[0], axis=1)[None]
        else:
            own = _parameters(network, init.direction)
            if isinstance(own, SumsOfPowers) and self.is_turned:
                return True  # each of them to a relative error of its own
            start = own.start
        squares = (np.exp(init.log_scale) * start) ** 2
        nearest = np.where(squares > 0, squares, np.inf).min(axis=0)
        grown = np.abs(coef) ** (2 / network.degree) > GROWN * squares.max(axis=0)
        lost = np.broadcast_to(drifts, coef.shape) > LARGEST_LOST * nearest
        return not bool((lost & ~grown).any())

    def kept_drifts(self, coef: Float) -> Float:
        """What float64 can lose of the conserved differences on the way to these coefficients."""
        init, degree = self.problem.init, self.problem.network.degree
        # One row per parameter of a coefficient.
        rows = init.direction[0].T if init.direction[0].ndim == 2 else np.stack(init.direction)
        with np.errstate(over="ignore", under="ignore"):
            squares = (np.exp(init.log_scale) * np.abs(rows).max(axis=0)) ** 2
        largest: Float = np.maximum(squares, np.abs(coef) ** (2 / degree))
        return KEPT * largest

    def is_representable(self, coef: Float) -> bool:
        """Whether float64 holds the start, and what decays while the rest grows.

        Of a general network what decays is driven by the rest too, and not told from that below
        the rounding of the latter.
        """
        init, largest = self.problem.init, float(np.abs(coef).max(initial=0.0))
        try:
            layers = init.layers
        except LimitpointError:
            return False
        if isinstance(self.problem.network, General):
            sizes = (layers[0] ** 2).sum(axis=1)
            return bool(np.where(sizes > 0, sizes, np.inf).min() > KEPT * largest)
        if self.problem.network.degree != 2:
            return True
        own = _parameters(self.problem.network, layers)
        start = np.abs(own.start)
        grown = np.sqrt(2 * largest) + start.max()
        smallest = float(np.where(start > 0, start, np.inf).min())
        return bool(smallest * smallest / grown > SMALLEST)

    def _shifts(self, coef: Float, error: float, drifts: Float) -> Float:
        """`|δξ|` of every coefficient."""
        network, init = self.problem.network, self.problem.init
        scale = np.exp(init.log_scale)
        if isinstance(network, General):
            # Near zero k is quadratic, and its parameters grow as e^{λξ}.
            blocks = scale * np.abs(init.direction[0])
            squares = np.where((blocks > 0).any(axis=1), (blocks**2).sum(axis=1), np.inf)
            with np.errstate(divide="ignore"):
                return _general_times(self.problem) * (error + drifts / squares)
        own = _parameters(network, init.direction)
        wanted = self.problem.regression.fit_size
        with np.errstate(divide="ignore", over="ignore"):
            terms = own.terms() * np.exp(network.degree * init.log_scale)
            part = np.minimum(1.0, wanted / terms)
            # Those whose coefficient is no larger than wanted are counted from the start.
            begin = np.abs(network.coef(init.direction)) * np.exp(network.degree * init.log_scale)
            part = np.where(begin <= wanted, part, np.maximum(part, FINEST_SHARE))
            errors = error * part * np.ones_like(own.start)
        squares = (scale * own.start) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            if not isinstance(own, SumsOfPowers):
                # One square off by the drift of the difference.
                errors += np.where(squares > 0, drifts / (2 * squares), 0.0)
            elif not self.is_turned:
                # a² − b² = 2z₊z₋.
                errors[1] += drifts / (2 * np.sqrt(squares[0] * squares[1]))
        shifts = np.zeros_like(coef)
        for row in range(len(own.start)):
            slope = self._mirror_slopes(own, row, coef)
            with np.errstate(invalid="ignore"):
                shifts += np.nan_to_num(slope * errors[row], nan=0.0, posinf=np.inf)
        return shifts

    def _mirror_slopes(self, own: "OwnParameters | _Layers", row: int, coef: Float) -> Float:
        """`|∂ξ/∂ log z_row|` at fixed coefficients."""
        xi = []
        for factor in (1.0 - STEP, 1.0 + STEP):
            values = own.start.copy()
            values[row] *= factor
            start = Init(own.layers(values), log_scale=self.problem.init.log_scale)
            mirror = self.problem.network.mirror_map(start)
            assert mirror is not None, "as from the start itself"
            with np.errstate(all="ignore"):
                xi.append(mirror.mirror_coords(coef))
        with np.errstate(invalid="ignore"):
            slopes: Float = np.abs(xi[1] - xi[0]) / (2 * STEP)
        # A coefficient that has ended at a bound, or is no float any more, moves nothing.
        return np.nan_to_num(slopes, nan=0.0, posinf=0.0)


@dataclass(frozen=True, eq=False)
class _Layers:
    """The layers of a network that is not one of ours, each with an entry for each coefficient."""

    start: Float
    coef: Float

    def layers(self, values: Float) -> tuple[Float, ...]:
        """The layers that these parameters are."""
        return tuple(values)

    def terms(self) -> Float:
        """Nothing is known to cancel."""
        return np.abs(self.coef)


def _has_own(problem: Problem) -> bool:
    """Whether each parameter is known to belong to one coefficient."""
    shapes = {layer.shape for layer in problem.init.direction}
    return isinstance(problem.network, General) or shapes == {(problem.task.n_features,)}


def _parameters(network: Network, layers: Sequence[Float]) -> OwnParameters | _Layers:
    """Each coefficient's own parameters, (k, n)."""
    own = own_parameters(network, layers, np.inf)
    return _Layers(np.stack(layers), network.coef(layers)) if own is None else own


def _general_times(problem: Problem) -> Float:
    """The longer of the two activation times of every coefficient: the unit of its ξ."""
    times = problem.network.activation_times(problem.init)
    if times is None:
        return np.ones(problem.task.n_features)
    both = np.stack([times.t_plus, times.t_minus])
    longest: Float = np.max(np.where(np.isfinite(both), both, 0.0), axis=0)
    return longest


def at_log_scale(problem: Problem, log_scale: float) -> Problem:
    """The same problem from the same direction at another scale."""
    return replace(problem, init=problem.init.at_scale(log_scale=log_scale))
