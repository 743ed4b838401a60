"""Where gradient flow in parameter space ends, by brute force: NumPy and SciPy alone.

No mirror map, no dual, no potential: the flow is followed step by step until the data are fitted.
"""

import numpy as np
from scipy.integrate import LSODA
from scipy.optimize import nnls
from tests.oracles.brute.families import FAMILIES
from tests.oracles.brute.stepper import Stepper

# The flow has ended when `‖Xβ − best‖` is this small relative to ‖best‖, ...
END_RESIDUAL = 1e-11
# ... or as small as rounding and the corrector's tolerance let it be, relative to `‖|X||β|‖`, ...
END_ROUNDING = 1e-13
# ... or as the rounding of the state itself: where β of order 1 is the difference of powers of
# 1e9, the last digit of a logarithm is worth 1e-9 of β. The last linear step then fits what is
# left, if it moves the state so little that its slopes are those of the end.
END_MOVE = 1e-9
MOST_STEPS = 400_000
# Singular values of `X·√slope`, relative to the largest, that the last linear step can resolve.
LAST_STEP_RCOND = 1e-10
# The error of LSODA's steps, relative to the family's size of state.
RTOL = 1e-11
# An autonomous flow may restart its mirror coordinate. It must before a step is lost in the
# rounding of t.
SMALLEST_STEP = 1e-11
LAST_TIME = 1e250


def limit(family, X, y, layers, loss_factor=1.0):
    """The coefficients where the gradient flow ends: data fitted, or fitted as well as it can.

    `family` is a name in `FAMILIES`, or what `power(depth)` or `general(functions)` return.
    """
    return flow_end(family, X, y, layers, loss_factor)[0]


def flow_end(family, X, y, layers, loss_factor=1.0):
    """The limit and the number of steps it took."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    coordinates = (FAMILIES[family] if isinstance(family, str) else family)(layers)
    best = best_fit(X, y, coordinates.may_rise, coordinates.may_fall)
    run = _until_fitted if coordinates.separable else _until_fitted_lsoda
    state, steps = run(coordinates, X, y, best, loss_factor)
    # Long doubles for the coefficients: at large scales they are differences of larger powers.
    coef = coordinates.coef(state)
    _, gradient, rate, _ = coordinates.parts(state.astype(float))
    relative_residual = (best - X @ coef).astype(float)
    return coef.astype(float) + _remainder(
        X, relative_residual, np.sum(gradient * rate, axis=0)
    ), steps


def best_fit(X, y, may_rise, may_fall):
    """The point nearest to y among the Xβ whose β may go where the flow can take them."""
    columns = np.hstack([X[:, may_rise], -X[:, may_fall]])
    if columns.shape[1] == 0:
        return np.zeros(len(y))
    if np.all(may_rise & may_fall):
        return X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return columns @ nnls(columns, y)[0]


def _until_fitted(coordinates, X, y, best, loss_factor):
    stepper = Stepper(coordinates, X, y, loss_factor)
    ended = _end_of_flow(coordinates, X, best)
    for step in range(MOST_STEPS):
        if ended(stepper.state):
            return stepper.state, step
        stepper.step()
    raise RuntimeError("the brute-force flow did not fit the data")


def _end_of_flow(coordinates, X, best):
    modulus, wanted = np.abs(X), END_RESIDUAL * np.linalg.norm(best)

    def ended(state):
        coef = coordinates.coef(state)
        relative_residual = best - X @ coef
        reached = wanted + END_ROUNDING * np.linalg.norm(modulus @ np.abs(coef))
        if np.linalg.norm(relative_residual) <= reached:
            return True
        _, gradient, rate, _ = coordinates.parts(state.astype(float))
        # Half a digit when the state is stored, as much when β is computed from it.
        rounding = np.finfo(state.dtype).eps * np.sum(np.abs(gradient * state), axis=0)
        if np.linalg.norm(relative_residual) > reached + np.linalg.norm(modulus @ rounding):
            return False
        move = _remainder(
            X, relative_residual.astype(float), np.sum(gradient * rate, axis=0), rcond=None
        )
        return np.all(np.abs(move) <= END_MOVE * np.sum(np.abs(gradient), axis=0))

    return ended


def _until_fitted_lsoda(coordinates, X, y, best, loss_factor):
    """The same by LSODA, for states that are plain parameters with Hessians of their own."""
    shape = coordinates.start.shape
    gram, target = loss_factor * (X.T @ X), loss_factor * (X.T @ y)

    def velocity(_, flat):
        coef, _, rate, _ = coordinates.parts(flat.reshape(shape))
        return ((target - gram @ coef) * rate).ravel()

    def jacobian(_, flat):
        coef, gradient, rate, _ = coordinates.parts(flat.reshape(shape))
        blocks = -rate[:, :, None, None] * gram[:, None, :] * gradient
        every = np.arange(shape[1])
        bends = (target - gram @ coef) * coordinates.bends(flat.reshape(shape))
        blocks[:, every, :, every] += np.moveaxis(bends, -1, 0)
        return blocks.reshape(flat.size, flat.size)

    ended = _end_of_flow(coordinates, X, best)
    flat = coordinates.start.ravel().copy()
    atol = RTOL * np.broadcast_to(coordinates.size, shape).ravel()
    solver = None
    for step in range(MOST_STEPS):
        if ended(flat.reshape(shape)):
            return flat.reshape(shape), step
        if solver is None or solver.step_size < SMALLEST_STEP * solver.t:
            solver = LSODA(velocity, 0.0, flat, LAST_TIME, rtol=RTOL, atol=atol, jac=jacobian)
        solver.step()
        if solver.status != "running" or not np.all(np.isfinite(solver.y)):
            raise RuntimeError(f"the brute-force flow broke off at time {solver.t}")
        flat = solver.y
    raise RuntimeError("the brute-force flow did not fit the data")


def _remainder(X, relative_residual, slope, rcond=LAST_STEP_RCOND):
    """How far the coefficients still move.

    `β̇ = slope ⊙ Xᵀ(relative_residual)` with the slope frozen.
    """
    root = np.sqrt(slope)
    return root * np.linalg.lstsq(X * root, relative_residual, rcond=rcond)[0]
