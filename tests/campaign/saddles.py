"""Saddle paths in every unit, against exact rational arithmetic.

Rows and columns of random data are multiplied by 10^U(−8, 8). What is measured of each problem: the
status, the error of the limit in what each coefficient contributes, the same of every saddle on the
way, the error of the times, and the condition number of X once its units are taken out.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from tests.oracles.exact.exact_saddles import ExactPath, contribution_error, exact_saddles

from limitpoint.theory.solvers.basis_pursuit import SaddlePath, saddle_path

# Units of rows and columns: powers of ten within ± this.
DECADES = 8.0
# What a certified limit must hold, and the condition below which at least SHARE must be certified.
LARGEST_ERROR = 1e-6
WELL_CONDITIONED = 1e6
SHARE = 0.97
# Sweeps of scaling by the square roots of row and column maxima: each halves the logarithm of
# what is left.
SWEEPS = 60

KINDS = ("times in the units of columns", "times of order one", "times over six decades")


def problem(number: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, str]:
    """Return X, y, t⁺, t⁻ and what the activation times are measured in."""
    rng = np.random.default_rng([seed, number])
    m, n = int(rng.integers(2, 7)), int(rng.integers(4, 13))
    rows, columns = (10.0 ** rng.uniform(-DECADES, DECADES, size) for size in (m, n))
    plain = rng.normal(size=(m, n))
    X = plain * rows[:, None] * columns
    y = rows * (plain @ rng.normal(size=n) if number % 2 else rng.normal(size=m))
    kind = KINDS[number % len(KINDS)]
    t_plus, t_minus = rng.uniform(0.2, 3.0, (2, n))
    if kind == KINDS[0]:
        t_plus, t_minus = t_plus * columns, t_minus * columns
    elif kind == KINDS[2]:
        t_plus, t_minus = 10.0 ** rng.uniform(-3, 3, (2, n))
    return X, y, t_plus, t_minus, kind


def add_arguments(parser: Any) -> None:
    parser.add_argument("--count", type=int, default=300, help="problems")
    parser.add_argument("--seed", type=int, default=0)


def run(given: Any) -> bool:
    """Print what was found; whether all is as it must be."""
    found = rows(given.count, given.seed)
    words = summary(found)
    for name, value in words.items():
        print(f"{name:<50}{value}")
    return bool(words["passed"])


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Measure ``count`` random problems."""
    found = []
    for number in range(count):
        X, y, t_plus, t_minus, kind = problem(number, seed)
        exact = exact_saddles(X, y, t_plus, t_minus)
        path = saddle_path(X, y, t_plus, t_minus)
        found.append(
            {
                "number": number,
                "family": "saddle path",
                "kind": kind,
                "shape": X.shape,
                "condition": equilibrated_condition(X),
                "status": path.status.name,
                "certified": path.status.ok,
                "fits": exact.fitted,
                "error": contribution_error(X, y, exact.coefs[-1], path.coef),
                "bound": path.certificate.residuals.get("error bound", np.nan),
                **path_errors(X, y, exact, path),
            }
        )
    return found


def path_errors(X: np.ndarray, y: np.ndarray, exact: ExactPath, path: SaddlePath) -> dict[str, Any]:
    """The largest errors of the saddles on the way; infinite if there are more or fewer."""
    if path.n_saddles != len(exact.times) - 1:
        return {"path error": np.inf, "time error": np.inf}
    pairs = zip(exact.coefs, path.coefs, strict=True)
    ratios = [
        abs(float(Fraction(float(found)) / true - 1)) if true else float(found)
        for found, true in zip(path.path_times, exact.times, strict=True)
    ]
    return {
        "path error": max(contribution_error(X, y, true, coef) for true, coef in pairs),
        "time error": max(ratios),
    }


def equilibrated_condition(X: np.ndarray) -> float:
    """The condition number of X after scaling of rows and columns to maxima of one."""
    scaled = np.array(X)
    for _ in range(SWEEPS):
        rows, columns = np.abs(scaled).max(axis=1), np.abs(scaled).max(axis=0)
        scaled = scaled / np.sqrt(np.where(rows > 0, rows, 1.0))[:, None]
        scaled = scaled / np.sqrt(np.where(columns > 0, columns, 1.0))
    return float(np.linalg.cond(scaled))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that decide: worst certified error, and the share that is certified."""
    certified = [row for row in rows if row["certified"]]
    good = [row for row in rows if row["condition"] < WELL_CONDITIONED]
    share = sum(row["certified"] for row in good) / len(good) if good else np.nan
    worst = max((row["error"] for row in certified), default=0.0)
    return {
        "problems": len(rows),
        "certified": len(certified),
        "well conditioned": len(good),
        "share certified of these": share,
        "worst certified error": worst,
        "worst path error of certified": max((r["path error"] for r in certified), default=0.0),
        "worst time error of certified": max((r["time error"] for r in certified), default=0.0),
        "passed": bool(worst < LARGEST_ERROR and share >= SHARE),
    }
