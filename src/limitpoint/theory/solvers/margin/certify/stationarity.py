"""The test of a stationary point of `min ‖z‖_{2/L}` with all margins at least 1."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from limitpoint.errors import DataError, NetworkError
from limitpoint.foundation.arrays import Float, as_float_array, as_positive
from limitpoint.networks import Convolutional, Diagonal, OrthogonalTensor
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem
from limitpoint.theory.solvers.margin.margin_spaces import (
    Coordinates,
    Fourier,
    MarginSpace,
    Transformed,
)

__all__ = ["space_of", "stationarity"]

# Halfway, in logarithms, between the active coordinates and the others, which are 1e-6 of them at
# the margin 1e6 where a flow ends unless told otherwise.
ACTIVE = 1e-3
# At margin γ the margins of the support vectors still differ by about 1/γ of them, and the layers
# of a coordinate by γ^{−2/L}: 1e-4 for three layers at 1e6.
TOLERANCE = 1e-4


def stationarity(
    problem: Problem,
    direction: ArrayLike,
    *,
    active: float = ACTIVE,
    tolerance: float = TOLERANCE,
) -> Certificate:
    """Test whether a direction is a stationary point of the `ℓ_{2/L}` max-margin problem.

    The problem is `min ‖ρ‖_{2/L}` with all margins at least 1, in the network's own space: the
    coefficients of a diagonal network, their Fourier transform for a convolutional one of full
    length, `S^{−T}β` for an orthogonally decomposable tensor network, all of depth L ≥ 2 (Yun et
    al. 2021, Theorem 2 with Corollaries 2 and 3). At a stationary point there are multipliers
    `μ ≥ 0` of the samples, zero where the margin exceeds the smallest, so that
    `u_j = [Σ_i μ_i y_i S x_i]_j` is the same multiple of `|ρ_j|^{2/L−1}·ρ_j/|ρ_j|` in all
    active coordinates. They are found by non-negative least squares.

    Parameters
    ----------
    problem
        Its network and its task count, not its start.
    direction
        Coefficients; their length does not matter. For a tensor network whose S is not square,
        the coordinates ρ.
    active
        Coordinates count as active from this size, relative to the largest. For L ≥ 3 those that
        end inactive stay bounded, so that at margin γ they are of size 1/γ: the default suits
        margins around 1e6, `γ^{−1/2}` any margin. For L = 2 they are of size γ^{−rate}
        (`Limit.rate`), which may be slow; a coordinate taken for active then shows in the spread.
    tolerance
        Of the certificate.

    Returns
    -------
    Certificate
        - margins: `Σ μ_i (m_i − 1)/Σ μ_i m_i`, the excess of the margins m_i over the smallest,
          which is 1, weighted by the multipliers; infinite if the direction does not separate;
        - spread: largest minus smallest of `Re(u_j ρ̄_j)/|ρ_j|^{2/L}` over the active coordinates,
          relative to their mean; and what of u_j is not along ρ_j, where they are complex;
        - inactive (L = 2 only): what `|u_j|` of an inactive coordinate has above the mean of the
          active ones, relative to it.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Classification([[1, 2], [0, -3]], [1, -1])
    >>> network = lp.Diagonal(depth=3)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    >>> stationarity(problem, [0, 1]).ok, stationarity(problem, [1, 1]).ok
    (True, False)
    """
    space = space_of(as_problem(problem))
    if space is None:
        raise NetworkError(
            "stationarity is for diagonal networks, convolutional ones with full-length filters "
            f"and orthogonally decomposable tensor networks; the network is {problem.network}"
        )
    task = problem.classification
    margins = space.problem(task.signed)
    given = as_float_array(direction, "direction", DataError, ndim=(1,))
    square = margins.rows.shape[1] == task.n_features
    if given.shape != (margins.rows.shape[1],):
        what = "coefficients" if square else "coordinates of the rows of S"
        raise DataError(
            f"direction must hold {margins.rows.shape[1]} {what}; it has shape {given.shape}"
        )
    share = as_positive(active, "active", DataError)
    if share > 1:
        raise DataError(f"active must be at most 1, the size of the largest; it is {share:g}")
    coordinates = space.coordinates(given) if square else given
    residuals = _residuals(margins, coordinates, 2 / problem.network.degree, share)
    return Certificate(residuals, as_positive(tolerance, "tolerance", DataError))


def space_of(problem: Problem) -> MarginSpace | None:
    """The space in which the network is a diagonal one, if there is such."""
    network = problem.network
    if isinstance(network, Diagonal):
        return Coordinates()
    if isinstance(network, OrthogonalTensor):
        return Transformed(network.S)
    if isinstance(network, Convolutional) and network.is_full_length:
        return Fourier(problem.task.n_features)
    return None


def _residuals(
    problem: MarginProblem, coordinates: Float, power: float, share: float
) -> dict[str, float]:
    names = ("margins", "spread", "inactive")[: 3 if power == 1 else 2]
    margins = problem.rows @ coordinates
    if not margins.min() > 0:
        return dict.fromkeys(names, np.inf)
    coordinates, margins = coordinates / margins.min(), margins / margins.min()
    # Weighted norms are those of the frequencies themselves, of which a group has w² equal ones.
    norms = problem.norms(coordinates) / problem.weights
    used = norms >= share * float(norms.max())
    kept = used[problem.group_of]
    # u_g must be |ρ_g|^{power−2} ρ_g: divided by |ρ_g|^{power−1}, a unit vector, w of them.
    sizes = norms[problem.group_of][kept]
    units = coordinates[kept] / sizes
    rows = problem.rows[:, kept] / sizes ** (power - 1)
    # Σ_i μ_i m_i = Σ_g w²|ρ_g|^power at a stationary point: the excess is relative to that.
    total = float((problem.weights**2 * norms**power)[used].sum())
    system = np.vstack([rows.T, (margins - 1) / total])
    multipliers, _ = nnls(system, np.append(units, 0.0), maxiter=100 * sum(system.shape))
    if not multipliers.any():
        return dict.fromkeys(names, np.inf)
    dual_images = rows.T @ multipliers
    starts = np.flatnonzero(np.diff(problem.group_of[kept], prepend=-1))
    along = np.add.reduceat(dual_images * units, starts) / problem.weights[used] ** 2
    mean = float(along.mean())
    group = np.cumsum(np.diff(problem.group_of[kept], prepend=-1) != 0) - 1
    across = np.add.reduceat((dual_images - along[group] * units) ** 2, starts)
    turned = float(np.sqrt(across / problem.weights[used] ** 2).max())
    residuals = {
        "margins": float(multipliers @ (margins - 1) / (multipliers @ margins)),
        "spread": max(float(np.ptp(along)), turned) / mean if mean > 0 else np.inf,
    }
    if power == 1:
        shares = problem.norms(problem.rows.T @ multipliers) / problem.weights
        idle = float(shares[~used].max(initial=0.0))
        residuals["inactive"] = max(0.0, idle / mean - 1.0) if mean > 0 else np.inf
    return residuals
