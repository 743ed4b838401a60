"""Networks made to measure: biased towards solutions that are sparse under a chosen transform."""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import as_depth, as_float_array
from limitpoint.networks.kinds.multilinear import check_entries
from limitpoint.networks.tensor.orthogonal_tensor import OrthogonalTensor

__all__ = ["design"]

# A transform that loses more digits than this is refused: the network would be biased towards
# sparsity under something else.
LARGEST_CONDITION = 1e8


def design(T: ArrayLike, depth: int = 2) -> OrthogonalTensor:
    """A network whose implicit bias is sparsity under T: from a small start, `‖Tβ‖₁` is least.

    Parameters
    ----------
    T
        Invertible matrix (n, n); the transform of β is `Tβ`.
    depth
        Number of layers. The bias of classification is towards small `‖Tβ‖_{2/depth}`.

    Returns
    -------
    OrthogonalTensor
        With `S = T⁻ᵀ` and `U_l = I`: its coefficients are `β = T⁻¹(v₁ ⊙ ⋯ ⊙ v_L)`, so that the
        products are the transform of the coefficients.

    Notes
    -----
    Yun et al. (2021), Remark 3, set `S = T`. By their own Theorems 2 and 5 what is then sparse is
    `T⁻ᵀβ`, which is the same if and only if T is orthogonal (or a multiple), as the Fourier, cosine
    and wavelet transforms are.

    Examples
    --------
    A wave, sparse under the cosine transform, is found from 10 of its 32 values.

    >>> import numpy as np
    >>> from scipy.fft import dct
    >>> import limitpoint as lp
    >>> cosines = dct(np.eye(32), norm="ortho", axis=0)
    >>> wave = cosines[3] - 0.5 * cosines[10]
    >>> seen = np.random.default_rng(0).choice(32, 10, replace=False)
    >>> task = lp.Regression(np.eye(32)[seen], wave[seen])
    >>> network = lp.analysis.design(cosines, depth=3)
    >>> start = lp.Init([np.ones(32), np.ones(32), np.zeros(32)], scale=1e-3)
    >>> bool(np.abs(lp.flow(lp.Problem(network, start, task)).coef - wave).max() < 1e-4)
    True
    """
    matrix = as_float_array(T, "T", NetworkError, ndim=(2,))
    check_entries(matrix, "T")
    if matrix.shape[0] != matrix.shape[1]:
        raise NetworkError(f"T must be a square matrix; it has shape {matrix.shape}")
    layers = as_depth(depth, NetworkError)
    condition = float(np.linalg.cond(matrix))
    if not condition <= LARGEST_CONDITION:
        raise NetworkError(
            f"T must be invertible, with a condition number of at most {LARGEST_CONDITION:g}; "
            f"it has {condition:.3g}"
        )
    identity = np.eye(len(matrix))
    return OrthogonalTensor(np.linalg.inv(matrix).T, [identity] * layers)
