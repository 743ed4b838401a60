"""The saddle path against linear programming, LARS, SPGL1 and a cone solver."""

import warnings
from collections.abc import Callable

import cvxpy
import numpy as np
import spgl1
from rich.table import Table
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import lars_path

import limitpoint as lp
from benchmarks.timing import Row, best_of

Instance = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
SIZES = ((200, 2000, 40), (500, 5000, 80))
# Objectives that agree to this, relative, are equally good: LARS and SPGL1 stop at about 1e-11.
EQUAL_OBJECTIVE = 1e-9


def rows() -> list[Row]:
    found = []
    for size in SIZES:
        weighted, plain = gaussian(*size, weighted=True), gaussian(*size, weighted=False)
        found += [
            compare(weighted, "weighted", "HiGHS (SciPy linprog)", highs, at_least=20.0),
            compare(weighted, "weighted", "Clarabel (cvxpy)", clarabel, at_least=1.0),
            compare(plain, "unweighted", "LARS (scikit-learn)", lars, at_least=1 / 1.5, repeats=5),
            compare(plain, "unweighted", "SPGL1", spgl, at_least=1.0),
        ]
    return found


def gaussian(m: int, n: int, nonzeros: int, *, weighted: bool, seed: int = 0) -> Instance:
    rng = np.random.default_rng(seed)
    X, truth = rng.standard_normal((m, n)), np.zeros(n)
    truth[rng.choice(n, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
    t_plus = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    t_minus = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    return X, X @ truth, t_plus, t_minus


def compare(
    instance: Instance,
    kind: str,
    peer: str,
    solve: Callable[..., np.ndarray],
    at_least: float,
    repeats: int = 1,
) -> Row:
    X, _, t_plus, t_minus = instance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn about accuracies they cannot reach
        seconds, path = best_of(7, lambda: lp.saddle_path(*instance))
        peer_seconds, other = best_of(repeats, lambda: solve(*instance))
    costs = [
        float(t_plus @ np.maximum(k, 0) + t_minus @ np.maximum(-k, 0)) for k in (path.coef, other)
    ]
    return Row(
        job=f"{kind} basis pursuit, {X.shape[0]}×{X.shape[1]}",
        peer=peer,
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=costs[0] / min(costs) - 1,
        peer_accuracy=costs[1] / min(costs) - 1,
        at_least=at_least,
        negligible=EQUAL_OBJECTIVE,
    )


def highs(X: np.ndarray, y: np.ndarray, t_plus: np.ndarray, t_minus: np.ndarray) -> np.ndarray:
    costs = np.concatenate([t_plus, t_minus])
    found = linprog(costs, A_eq=np.hstack([X, -X]), b_eq=y, method="highs").x
    return found[: len(t_plus)] - found[len(t_plus) :]


def clarabel(X: np.ndarray, y: np.ndarray, t_plus: np.ndarray, t_minus: np.ndarray) -> np.ndarray:
    coef = cvxpy.Variable(X.shape[1])
    cost = t_plus @ cvxpy.pos(coef) + t_minus @ cvxpy.neg(coef)
    cvxpy.Problem(cvxpy.Minimize(cost), [X @ coef == y]).solve(solver=cvxpy.CLARABEL)
    return coef.value


def lars(X: np.ndarray, y: np.ndarray, *_: np.ndarray) -> np.ndarray:
    return lars_path(X, y, method="lasso", alpha_min=0)[2][:, -1]


def spgl(X: np.ndarray, y: np.ndarray, *_: np.ndarray) -> np.ndarray:
    return spgl1.spg_bp(X, y, opt_tol=1e-9, iter_lim=10_000)[0]


def cost_table() -> Table:
    """How the cost per saddle grows with the size of X, and a large sparse instance."""
    table = Table(title="Cost per saddle", title_justify="left")
    for column in ("X", "saddles", "seconds", "µs per saddle", "ns per saddle and entry of X"):
        table.add_column(column)
    rng = np.random.default_rng(0)
    for m, n in ((100, 1000), (100, 4000), (100, 16000), (200, 4000), (400, 4000), (400, 16000)):
        X, y = rng.standard_normal((m, n)), rng.standard_normal(m)
        seconds, path = best_of(1, lambda X=X, y=y: lp.saddle_path(X, y))
        each = seconds / path.n_saddles
        table.add_row(
            f"{m}×{n}",
            str(path.n_saddles),
            f"{seconds:.3f}",
            f"{1e6 * each:.0f}",
            f"{1e9 * each / (m * n):.3f}",
        )
    seconds, path = best_of(1, lambda: lp.saddle_path(*sparse_instance()))
    table.add_row(
        f"sparse 5000×50000, {path.status.name.lower()}, certificate {path.certificate.worst:.0e}",
        str(path.n_saddles),
        f"{seconds:.3f}",
        f"{1e6 * seconds / path.n_saddles:.0f}",
        "",
    )
    return table


def sparse_instance() -> tuple[sparse.csc_array, np.ndarray]:
    """Density 1e-3, columns of norm 1, 100 non-zero coefficients."""
    rng = np.random.default_rng(0)
    X = sparse.random_array(
        (5000, 50000), density=1e-3, rng=rng, format="csc", data_sampler=rng.standard_normal
    )
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=0)).reshape(-1))
    X = sparse.csc_array(X @ sparse.diags_array(1 / np.where(norms > 0, norms, 1)))
    truth = np.zeros(50000)
    truth[rng.choice(50000, 100, replace=False)] = rng.standard_normal(100)
    return X, X @ truth
