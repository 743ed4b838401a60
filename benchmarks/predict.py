"""`predict` against direct minimisation of the same potential, and against training."""

import numpy as np
from scipy.optimize import minimize

import limitpoint as lp
from benchmarks.timing import Row, best_of

# Accuracy asked of gradient descent, relative distance to the limit.
TRAINING_ACCURACY = 1e-4
# The step size alone moves the end of training by an amount proportional to it: 9e-5 here, so
# that a larger step would never arrive.
LEARNING_RATE = 2.5e-5
MOST_STEPS = 4_000_000
# Newton's method takes 60 steps at most; each may cost one and a half of its systems.
MOST_ITERATIONS = 90


# SLSQP stops when the objective changes by less than `ftol`. The loose value leaves the optimality
# conditions at about 1e-6; only the tight one brings them below 1e-9, where `predict` certifies.
LOOSE_FTOL, TIGHT_FTOL = 1e-15, 1e-18


def rows() -> list[Row]:
    return [
        against_slsqp(TIGHT_FTOL, at_least=300.0),
        against_slsqp(LOOSE_FTOL, at_least=100.0),
        against_gradient_descent(),
        *(against_factorisations(scale) for scale in (1.0, 1e-4, 1e-100)),
    ]


def gaussian_problem(m: int, n: int, scale: float) -> lp.Problem:
    rng = np.random.default_rng(0)
    task = lp.Regression(rng.standard_normal((m, n)), rng.standard_normal(m))
    network = lp.Diagonal(depth=2)
    return lp.Problem(network, lp.Init.zero_last(network, task, scale=scale), task)


def against_slsqp(ftol: float, at_least: float) -> Row:
    """SciPy's SLSQP on `min Q(β) s.t. Xβ = y`, with gradients, from the minimum-norm solution."""
    problem = gaussian_problem(10, 100, scale=1e-4)
    X, y = problem.task.X, problem.task.y
    half_delta = problem.init.scale**2 / 2  # Δ/2 for layers (α, 0)

    def potential(coef: np.ndarray) -> tuple[float, np.ndarray]:
        xi = 0.5 * np.arcsinh(coef / half_delta)
        value = coef @ xi - 0.5 * np.sum(np.hypot(coef, half_delta) - half_delta)
        return float(value), xi

    def solve() -> np.ndarray:
        found = minimize(
            potential,
            np.linalg.pinv(X) @ y,
            jac=True,
            method="SLSQP",
            constraints={"type": "eq", "fun": lambda b: X @ b - y, "jac": lambda b: X},
            options={"maxiter": 20_000, "ftol": ftol},
        )
        return found.x

    seconds, limit = best_of(20, lambda: lp.predict(problem))
    peer_seconds, peer_coef = best_of(1, solve)
    return Row(
        job="limit, 10×100, α = 1e-4",
        peer=f"SciPy SLSQP with gradients, ftol = {ftol:g}",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=optimality_gap(problem, limit.coef),
        peer_accuracy=optimality_gap(problem, peer_coef),
        at_least=at_least,
    )


def optimality_gap(problem: lp.Problem, coef: np.ndarray) -> float:
    """Residual of the optimality conditions, relative: infeasibility plus misplaced gradient.

    The part of `Q'(β)` outside the row space of X, times the slope, is how far the coefficients
    are from stationary. The same formula for both sides, written without the package.
    """
    X, y = problem.task.X, problem.task.y
    half_delta = problem.init.scale**2 / 2
    xi = 0.5 * np.arcsinh(coef / half_delta)
    basis = np.linalg.qr(X.T)[0]
    stray = 2 * np.hypot(coef, half_delta) * (xi - basis @ (basis.T @ xi))
    infeasible = np.linalg.norm(X @ coef - y) / np.linalg.norm(y)
    return float(infeasible + np.linalg.norm(stray) / np.linalg.norm(coef))


def against_factorisations(scale: float) -> Row:
    """As many systems `XDXᵀ` made and solved as Newton's method may take steps, and half again."""
    problem = gaussian_problem(100, 1000, scale)
    X, y = problem.task.X, problem.task.y
    weights = np.random.default_rng(1).uniform(0.5, 1.5, len(X.T))

    def solve() -> None:
        for _ in range(MOST_ITERATIONS):
            np.linalg.solve((X * weights) @ X.T, y)

    seconds, limit = best_of(5, lambda: lp.predict(problem))
    peer_seconds, _ = best_of(3, solve)
    return Row(
        job=f"limit, 100×1000, α = {scale:g}",
        peer=f"{MOST_ITERATIONS} systems of 100×1000 data",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=float(limit.certificate.worst),
        peer_accuracy=0.0,
        at_least=1.0,
        negligible=1e-9,
    )


def against_gradient_descent() -> Row:
    """Compiled gradient descent, until it is as close to the limit as its step size lets it be."""
    problem = gaussian_problem(40, 100, scale=1e-2)
    seconds, limit = best_of(20, lambda: lp.predict(problem))
    optimiser = lp.GD(learning_rate=LEARNING_RATE)

    def distance(run: lp.results.Trajectory) -> np.ndarray:
        return np.linalg.norm(run.coefs - limit.coef, axis=1) / np.linalg.norm(limit.coef)

    schedule = np.arange(0, MOST_STEPS + 1, 20_000)
    run = lp.train(problem, optimiser, MOST_STEPS, record=schedule)
    arrived = distance(run) <= TRAINING_ACCURACY
    if not arrived.any():
        raise RuntimeError(f"gradient descent ended at distance {distance(run)[-1]:.2e}")
    steps = int(run.steps[int(np.argmax(arrived))])
    peer_seconds, run = best_of(1, lambda: lp.train(problem, optimiser, steps, record=1))
    return Row(
        job="limit, 40×100, α = 1e-2",
        peer=f"GD to {TRAINING_ACCURACY:g} ({steps} compiled steps)",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=float(limit.certificate.worst),
        peer_accuracy=float(distance(run)[-1]),
        at_least=1.0,
    )
