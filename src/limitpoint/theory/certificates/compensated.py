"""Products as if in twice the working precision.

``Σ aᵢbᵢ`` from error-free transformations (Dekker 1971; Ogita, Rump & Oishi 2005, "Accurate sum and
dot product"): the error is ``EPS·|result|`` and about ``log2(p)·EPS²·Σ|aᵢbᵢ|``, where a plain sum
has ``p·EPS·Σ|aᵢbᵢ|``. What is left of a residual after cancellation is then right.
"""

import numpy as np

from limitpoint.foundation.arrays import Float

# Dekker's splitting factor for 53 bits.
SPLITTER = 2.0**27 + 1.0


def residuals(A: Float, x: Float, target: Float) -> Float:
    """Return ``target − Ax``, every entry right to its last few bits.

    Entries of A and x must be below 1e150 in modulus, lest their products overflow.

    Examples
    --------
    >>> A, x = np.array([[1.0, 2.0**-70]]), np.array([1.0, 3.0])
    >>> residuals(A, x, np.array([1.0])) == -3.0 * 2.0**-70
    array([ True])
    """
    products = -(A * x)
    errors = _product_errors(A, x, products)
    high = np.concatenate([target[:, None], products], axis=1)
    low = errors.sum(axis=1)
    while high.shape[1] > 1:
        if high.shape[1] % 2:
            high = np.concatenate([high, np.zeros((len(high), 1))], axis=1)
        a, b = high[:, 0::2], high[:, 1::2]
        high = a + b
        shadow = high - a
        low += ((a - (high - shadow)) + (b - shadow)).sum(axis=1)
    return np.asarray(high[:, 0] + low)


def _product_errors(A: Float, x: Float, products: Float) -> Float:
    """``−Ax − products``, term by term, without rounding."""
    a_high, a_low = _split(A)
    x_high, x_low = _split(x)
    errors = products + a_high * x_high
    errors += a_high * x_low
    errors += a_low * x_high
    errors += a_low * x_low
    return -errors


def _split(a: Float) -> tuple[Float, Float]:
    """Two halves of 26 bits each."""
    shifted = SPLITTER * a
    high = shifted - (shifted - a)
    return high, a - high
