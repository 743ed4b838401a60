"""Built-in data: small examples of the papers."""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import (
    Float,
    as_float_array,
    as_seed,
    as_whole_number,
    check_numbers,
)
from limitpoint.tasks import Classification, Regression
from limitpoint.tasks.task import check_size

__all__ = ["relu_teacher", "yun_layers", "yun_point", "yun_two_points", "zhao_eq7"]


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
    largest = max(sizes, key=lambda name: sizes[name])
    check_numbers(max(m * n, n * k, m * k), largest, "the data and the weights", DataError)
    rng = np.random.default_rng(as_seed(seed, "seed", DataError))
    X, weights = rng.standard_normal((m, n)), rng.standard_normal((n, k))
    weights /= np.linalg.norm(weights, axis=0)
    signs = (-1.0) ** np.arange(k)
    return Regression(X, np.maximum(X @ weights, 0.0) @ signs)


def yun_point() -> Regression:
    """The one sample (1, 2) with target 1 of Yun et al. (2021), section 6 and Figures 1 and 3.

    As the initialisation vanishes, two-layer networks end at (0.2, 0.4) if they are dense, at
    (0, 0.5) if diagonal, at (1/3, 1/3) if convolutional.
    """
    return Regression([[1.0, 2.0]], [1.0])


def yun_two_points() -> Classification:
    """The samples (1, 2) and (0, −3), of classes 1 and −1, of Yun et al. (2021), section 6.

    The coefficients of two-layer networks turn towards (1, 2) if they are dense, towards (0, 1) if
    diagonal, towards (1, 1) if convolutional.
    """
    return Classification([[1.0, 2.0], [0.0, -3.0]], [1.0, -1.0])


def yun_layers(coef: ArrayLike) -> dict[str, tuple[Float, ...]]:
    """Layers of three two-layer networks that all have these coefficients.

    The networks are `FullyConnected(widths=(n,))`, `Diagonal(depth=2)` and
    `Convolutional(filter_sizes=(n, n))`; times α the layers have the coefficients `α² coef`, as in
    Yun et al. (2021), section 6. Where they are paired, the first layer outweighs the second by one
    in squares, which is more than the papers' conditions for convergence ask for: `p_j² > q_j²` in
    Theorem 6, `W₁ᵀW₁ − w₂w₂ᵀ ⪰ λI` in Theorem 7.

    Returns
    -------
    dict
        By the names "dense", "diagonal" and "convolutional".

    Examples
    --------
    >>> a, b = yun_layers([0.0, 6.0])["diagonal"]
    >>> (a * b).round(12).tolist(), (a**2 - b**2).round(12).tolist()
    ([0.0, 6.0], [1.0, 1.0])
    """
    wanted = as_float_array(coef, "coef", DataError, ndim=(1,))
    if wanted.size == 0:
        raise DataError("coef must have at least one entry; it is empty")
    check_numbers(wanted.size**2, "coef", "the first dense layer", DataError)
    check_size(wanted, "coef")
    first = _outweighing(np.abs(wanted))
    stretch = _outweighing(np.linalg.norm(wanted))
    # The unitary transform of a convolution is √n times the product of the transforms. The first
    # is real and even, so that its filter is.
    spectrum = np.fft.fft(wanted, norm="ortho") / np.sqrt(wanted.size)
    power = _outweighing(np.abs(spectrum))
    return {
        "dense": (stretch * np.eye(wanted.size), wanted / stretch),
        "diagonal": (first, wanted / first),
        "convolutional": (
            np.fft.ifft(power, norm="ortho").real,
            np.fft.ifft(spectrum / power, norm="ortho").real,
        ),
    }


def _outweighing(product: ArrayLike) -> Float:
    """The factor `a` of `ab = product ≥ 0` for which `a² − b² = 1`."""
    # a² = (1 + √(1 + 4 product²))/2
    return np.sqrt(0.5 * (1.0 + np.hypot(1.0, 2.0 * np.asarray(product, dtype=np.float64))))
