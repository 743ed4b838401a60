"""The exact flow of the parameters themselves: no chart, nothing eliminated, no mirror map.

SciPy's LSODA integrates it rather than a Runge–Kutta method: on these flows it needs a tenth of
the time of an implicit one, and explicit ones stop at the first slow tail. The flow of a ReLU
network slides along kinks; they are rounded off, and LSODA follows what is then stiff.
"""

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.fit import loss_at, measured, smooth_loss_at
from limitpoint.dynamics.flows.charted import Chart, follow
from limitpoint.dynamics.flows.separate_parameters import OwnParameters, Products, own_parameters
from limitpoint.dynamics.integrate.until_converged import (
    EXPLICIT_SHARE,
    LARGEST_JACOBIAN,
    LARGEST_TRIAL,
)
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.networks import General, MultilinearNetwork
from limitpoint.networks.kinds.layer_gradients import flattened
from limitpoint.networks.kinds.layer_gradients import jacobian as slopes_of
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

if TYPE_CHECKING:
    import jax
else:
    jax = lazy_module("jax", "the flow of this network")

__all__ = ["flow_in_parameter_space"]

Split = Callable[[Any], tuple[Any, ...]]
Function = Callable[[Float], Float]

EPS = float(np.finfo(np.float64).eps)
# Errors of coordinates that keep their sign are relative to themselves alone, down to numbers that
# float64 cannot divide any more.
SMALLEST = 1e-280
# So many steps without progress, at the level of rounding, are enough: steps grow where the rest of
# the relative residual is rounding, and would follow the gradient of that, far beyond the
# tolerance.
PATIENCE = 5


def flow_in_parameter_space(
    problem: Problem,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    residual_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate the layers' entries, turned within each coefficient where each has its own."""
    problem.init.check_products(problem.network.degree)
    layers = problem.init.layers
    own = own_parameters(problem.network, layers, _wanted(problem) or np.inf)
    return follow(
        problem,
        _plain_chart(problem, rtol) if own is None else _own_chart(problem, own, rtol),
        "gradient flow in parameter space",
        t_end,
        times,
        rtol,
        residual_tolerance,
        max_steps,
    )


def _wanted(problem: Problem) -> float:
    """The largest coefficient of the smallest solution."""
    task = problem.regression
    return float(np.abs(np.linalg.lstsq(task.X, task.y, rcond=None)[0]).max())


def _own_chart(problem: Problem, own: OwnParameters, rtol: float) -> Chart:
    """Coefficients that have parameters of their own: gradient and Hessian in closed form."""
    task, moving, origin = problem.regression, own.moving, own.origin
    positive, negative = own.signs
    lower, upper = np.where(negative, -np.inf, 0.0), np.where(positive, np.inf, 0.0)
    kept = own.coefs(np.zeros_like(own.start))
    basis = RelativeResidual.of(task, own.coefs(own.start - origin), lower, upper).basis
    rows, target = basis.T @ task.X, basis.T @ task.y
    factor = task.loss_factor
    owners = np.nonzero(moving)[1]
    gram = (rows.T @ rows)[np.ix_(owners, owners)] if len(owners) <= LARGEST_JACOBIAN else None
    # Pairs of coordinates of one coefficient, by their places in the state.
    place = np.full(moving.shape, -1)
    place[moving] = np.arange(len(owners))

    all_move = bool(moving.all())

    def moved(states: Float) -> Float:
        """`z − origin`, (…, k, n), from states; what cannot move is where it starts."""
        if all_move:
            return states.reshape(*states.shape[:-1], *moving.shape)
        whole = np.broadcast_to(own.start - origin, (*states.shape[:-1], *moving.shape)).copy()
        whole[..., moving] = states
        return whole

    def coefs(states: Float) -> Float:
        return _cut(own.coefs(moved(states)))

    def neg_grad(state: Float) -> Float:
        result: Float = factor * ((target - rows @ coefs(state)) @ rows)
        return result

    def gradient(state: Float) -> Float:
        return _cut(own.gradient(origin + moved(state)))

    def velocity(state: Float) -> Float:
        result: Float = (neg_grad(state) * gradient(state))[moving]
        return result

    def jacobian(state: Float) -> Float:
        assert gram is not None, "else there is no Jacobian"
        slopes = gradient(state)[moving]
        whole: Float = -factor * (slopes[:, None] * gram * slopes)
        bends = own.hessian(origin + moved(state)) * neg_grad(state)
        for g, row in enumerate(place):
            for h, column in enumerate(place):
                both = (row >= 0) & (column >= 0)
                whole[row[both], column[both]] += bends[g, h, both]
        return _cut(np.nan_to_num(whole))

    held = EPS if gram is not None else EXPLICIT_SHARE * rtol

    def errors_kept(state: Float) -> Float:
        parts = np.abs(gradient(state) * moved(state)).sum(axis=0)
        errors: Float = held * (np.abs(kept) + parts)
        return errors

    units, shares = _own_tolerances(own, _wanted(problem))
    return Chart(
        start=(own.start - origin)[moving],
        unit=units[moving],
        share=1.0 if (shares == 1.0).all() else shares[moving],
        velocity=velocity,
        jacobian=None if gram is None else jacobian,
        coefs=coefs,
        measured=coefs,
        errors_kept=errors_kept,
        loss=lambda state: float(task.loss(coefs(state))),
        signs_and_logs=lambda states: (None, None),
        layers=lambda states: own.layers(origin + moved(states)),
        lower=lower,
        upper=upper,
        is_relative=True,
        patience=PATIENCE,
    )


def _cut(values: Float) -> Float:
    """Cut off what overflows in the integrator's trial steps."""
    cut: Float = np.minimum(np.maximum(values, -LARGEST_TRIAL), LARGEST_TRIAL)
    return cut


def _own_tolerances(own: OwnParameters, wanted: float) -> tuple[Float, Float]:
    """To what errors of the states are relative besides themselves, and shares of the tolerance.

    A coefficient whose terms are larger than those that are wanted must be as much better known. A
    state that is counted from the start may be off by as much as moves its coefficient by the
    tolerance times those; other numbers have a part of the tolerance. A layer that may cross zero
    is relative to others.
    """
    terms = own.terms()
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where((terms > wanted) & (wanted > 0), wanted / terms, 1.0)
    far, units = own.far, own.units()
    if not isinstance(own, Products):
        units = np.where(far, units, SMALLEST)
    shares = np.broadcast_to(np.where(far, 1.0, part), units.shape)
    return np.where(far, part * units, units), shares


def _plain_chart(problem: Problem, rtol: float) -> Chart:
    """The parameters as they are."""
    network, layers = problem.network, problem.init.layers
    shapes = [layer.shape for layer in layers]
    cuts = [0, *accumulate(layer.size for layer in layers)]

    def split(state: Float) -> tuple[Float, ...]:
        """Layers from states; the state is the last axis."""
        return tuple(
            state[..., first:last].reshape(*state.shape[:-1], *shape)
            for (first, last), shape in zip(pairwise(cuts), shapes, strict=True)
        )

    start = np.concatenate([np.ravel(layer) for layer in layers])
    size = float(np.abs(start).max())

    velocity, jacobian = (
        _written_out(problem, split) if network.writes_gradient else _traced(problem, split, size)
    )
    solvable = start.size <= LARGEST_JACOBIAN
    # An explicit method keeps errors of its tolerance; else only rounding is left at the end.
    held = EPS if solvable else EXPLICIT_SHARE * rtol

    def errors_kept(state: Float) -> Float:
        parts = split(state)
        values = measured(problem, parts)
        errors: Float = held * network.degree * np.abs(values)
        if isinstance(network, MultilinearNetwork):
            # Coefficients are sums that may cancel: their rounding is that of the terms.
            errors = held * network.degree * network.moduli(parts)
        if not network.is_linear:
            smooth = np.asarray(network.smooth_outputs(parts, problem.regression.X, size))
            errors += np.abs(smooth - values)
        return errors

    return Chart(
        start=start,
        unit=_units(problem, layers, size),
        velocity=velocity,
        jacobian=jacobian if solvable else None,
        coefs=lambda states: np.asarray(network.coef(split(states))),
        measured=lambda state: measured(problem, split(state)),
        errors_kept=errors_kept,
        loss=lambda state: float(loss_at(problem, split(state))),
        signs_and_logs=lambda states: (None, None),
        layers=split,
        patience=PATIENCE,
    )


def _written_out(problem: Problem, split: Split) -> tuple[Function, Function]:
    """Velocity and Jacobian, with the gradients that the network itself knows."""
    network, task = problem.network, problem.regression
    X, y, factor = task.X, task.y, task.loss_factor
    # One direction for every sample, and every output where there are several.
    outputs = np.eye(*y.shape[1:]) if y.ndim > 1 else None
    seen = X if outputs is None else np.einsum("mi,oc->moic", X, outputs).reshape(-1, *_coefs(task))

    def neg_grad(layers: tuple[Float, ...]) -> Float:
        gradient: Float = factor * (X.T @ (y - X @ network.coef(layers)))
        return gradient

    # What overflows or cancels it in the integrator's trial steps is cut off.
    def velocity(state: Float) -> Float:
        layers = split(state)
        with np.errstate(over="ignore", invalid="ignore"):
            found = network.layer_gradients(layers, neg_grad(layers))
            assert found is not None, "the network knows its gradient"
            return _cut(flattened(found, [layer.shape for layer in layers]))

    def jacobian(state: Float) -> Float:
        layers = split(state)
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = _cut(slopes_of(network, layers, seen))
            bends = network.layer_hessian(layers, _cut(neg_grad(layers)))
            return _cut(np.nan_to_num(bends - factor * (slopes.T @ slopes)))

    return velocity, jacobian


def _coefs(task: Regression) -> tuple[int, ...]:
    return (task.n_features, *task.y.shape[1:])


def _traced(problem: Problem, split: Split, size: float) -> tuple[Function, Function]:
    """Velocity and Jacobian, differentiated by JAX."""

    def loss(state: Any) -> Any:
        return smooth_loss_at(problem, split(state), size)

    gradient, hessian = jax.jit(jax.grad(loss)), jax.jit(jax.hessian(loss))

    def in_float64(function: Callable[[Float], Any]) -> Function:
        def negated(state: Float) -> Float:
            with jax.enable_x64(True):
                return -np.asarray(function(state))

        return negated

    return in_float64(gradient), in_float64(hessian)


def _units(problem: Problem, layers: tuple[Float, ...], size: float) -> Float:
    """Each layer's own size at the start, relative to which its entries must be right.

    One that starts at zero becomes as large as the others, or smaller where these are large: then
    what it is multiplied by is given, and the product is as large as the coefficients.
    """
    if isinstance(problem.network, General):
        # Every coefficient has a block of its own, of its own size.
        blocks = layers[0]
        own_sizes = np.abs(blocks).max(axis=1, keepdims=True)
        return np.broadcast_to(np.where(own_sizes > 0, own_sizes, size), blocks.shape).ravel()
    with np.errstate(over="ignore", under="ignore"):
        grown = _wanted(problem) / size ** (problem.network.degree - 1) if size > 0 else 0.0
    late = min(size, grown) if grown > 0 else size
    own = [float(np.abs(layer).max(initial=0.0)) or late for layer in layers]
    return np.concatenate(
        [np.full(layer.size, unit) for layer, unit in zip(layers, own, strict=True)]
    )
