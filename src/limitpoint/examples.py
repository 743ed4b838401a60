"""Built-in data: small examples of the papers."""

import numpy as np

from limitpoint.arrays import as_whole_number
from limitpoint.errors import DataError
from limitpoint.tasks import Regression

__all__ = ["relu_teacher", "zhao_eq7"]


def zhao_eq7() -> Regression:
    """The 2×4 example of Zhao et al. (2026), Eq. (7).

    Three saddles lead to its minimum ℓ1 solution (0, 0, 10/7, −10/49). The loss is theirs,
    `‖Xβ − y‖²` (loss factor 2).
    """
    X = [[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]]
    return Regression(X, [1.0, 0.0], loss_factor=2.0)


def relu_teacher(
    samples: int = 10, features: int = 5, neurons: int = 2, seed: int = 0
) -> Regression:
    """Gaussian inputs labelled by a small ReLU network: Varre et al. (2023), Figures 2 and 5.

    `y_i = Σ_j c_j σ(w_jᵀx_i)` with weights w_j uniform on the unit sphere and signs `c_j = 1, −1,
    1, …`. The paper gives neither the weights nor the data; the defaults are its sizes.

    Examples
    --------
    >>> task = relu_teacher()
    >>> task.n_samples, task.n_features
    (10, 5)
    """
    sizes = {"samples": samples, "features": features, "neurons": neurons}
    m, n, k = (as_whole_number(size, 1, name, DataError) for name, size in sizes.items())
    rng = np.random.default_rng(as_whole_number(seed, 0, "seed", DataError))
    X, weights = rng.standard_normal((m, n)), rng.standard_normal((n, k))
    weights /= np.linalg.norm(weights, axis=0)
    signs = (-1.0) ** np.arange(k)
    return Regression(X, np.maximum(X @ weights, 0.0) @ signs)
