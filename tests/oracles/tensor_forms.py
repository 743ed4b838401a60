"""Data tensors M(x) as Yun et al. (2021) print them, entry by entry. Shares no code of ours.

Indices run from 1 as in the paper wherever its formulas are copied. Matrices become vectors column
by column, the paper's `vec`. The whole tensor M is the stack of M(x) over unit vectors x.
"""

from itertools import product

import numpy as np


def whole(data_tensor, features, *settings):
    """M, (n, k₁, …, k_L), from the linear map x → M(x)."""
    return np.stack([data_tensor(x, *settings) for x in np.eye(features)])


def vec(layer):
    """Columns one after the other; a vector is itself."""
    return np.ravel(layer, order="F")


def contract(tensor, vectors):
    """`M∘(v₁, …, v_L)` by the definition: the sum over all entries of M."""
    found = np.zeros(len(tensor))
    for place in product(*(range(size) for size in tensor.shape[1:])):
        weight = 1.0
        for vector, index in zip(vectors, place, strict=True):
            weight *= vector[index]
        found += weight * tensor[(slice(None), *place)]
    return found


def diagonal(x, depth):
    """Section 3: `[M(x)]_{j,…,j} = x_j`."""
    tensor = np.zeros((len(x),) * depth)
    for j, entry in enumerate(x):
        tensor[(j,) * depth] = entry
    return tensor


def convolutional(x, sizes):
    """Section 3: `[M(x)]_{j₁…j_L} = x_{(Σ j_l − L + 1) mod d}`, `a mod d = a − ⌊(a−1)/d⌋d`."""
    d, depth = len(x), len(sizes)
    tensor = np.zeros(sizes)
    for place in product(*(range(1, size + 1) for size in sizes)):
        a = sum(place) - depth + 1
        tensor[tuple(j - 1 for j in place)] = x[a - (a - 1) // d * d - 1]
    return tensor


def convolution(a, b):
    """Section 3: `[a ⋆ b]_i = Σ_j a_{(i+j−1) mod d} b_j`."""
    d = len(a)
    return np.array(
        [
            sum(a[(i + j - 1) - (i + j - 2) // d * d - 1] * b[j - 1] for j in range(1, len(b) + 1))
            for i in range(1, d + 1)
        ]
    )


def convolutional_output(x, filters):
    """Equation (12): `(x ⋆ w₁ ⋆ ⋯ ⋆ w_{L−1})ᵀw_L`."""
    *others, last = filters
    for one in others:
        x = convolution(x, one)
    return float(x @ last)


def fully_connected(x, widths):
    """Appendix B, with T₂ of shape d₁d₂ × d₂ (printed: d₁d₂ × d₁d₂)."""
    tensor, size = np.asarray(x), len(x)
    for width in widths:
        grown = np.zeros((*tensor.shape[:-1], size * width, width))
        for j in range(width):
            grown[..., size * j : size * (j + 1), j] = tensor
        tensor, size = grown, width
    return tensor


def matrix_product(a, depth):
    """`⟨A, W₁ ⋯ W_L⟩` as a sum of dense networks, one per column of A and of W_L.

    The paper gives no data tensor for (13); this one follows from that of Appendix B.
    """
    d = round(len(a) ** 0.5)
    columns = np.reshape(a, (d, d)).T  # features are the sensor's entries row by row
    return np.concatenate([fully_connected(x, (d,) * (depth - 1)) for x in columns], axis=-1)


def orthogonal(x, S, U):
    """Assumption 1, equation (9)."""
    total = 0.0
    for j, weight in enumerate(S @ x):
        term = np.asarray(weight)
        for matrix in U:
            term = np.multiply.outer(term, matrix[:, j])
        total = total + term
    return total


def conserved_forms(tensor):
    """How many independent quadratic forms `Σ_l v_lᵀB_lv_l` gradient flow conserves on any data.

    Their derivative along `v̇_l = M(u)∘(…, I, …)` is `2M(u)∘(…, B_lv_l, …)`, summed over l: it
    vanishes for all u and v if and only if `Σ_l M∘(…, B_l, …) = 0`. A null space, counted by SVD.
    """
    columns = []
    for axis, size in enumerate(tensor.shape[1:], start=1):
        for i in range(size):
            for j in range(i + 1):
                form = np.zeros((size, size))
                form[i, j] = form[j, i] = 1.0
                moved = np.moveaxis(np.tensordot(form, tensor, axes=(1, axis)), 0, axis)
                columns.append(moved.ravel())
    values = np.linalg.svd(np.stack(columns, axis=1), compute_uv=False)
    # Small integers, or orthonormal columns: null values are roundings, others of order 0.1 or 1.
    rank = int((values > 1e-10 * values[0]).sum())
    return len(columns) - rank
