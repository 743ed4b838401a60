"""Networks in hiding: functions from blocks to coefficients, and what they are."""

import numpy as np

import limitpoint as lp

N = 6


def rotation(rng, size):
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def cyclic(*filters):
    """The cyclic convolution, the last filter as long as the data."""
    *short, found = filters
    for each in short:
        shifts = (np.arange(N)[:, None] - np.arange(len(each))) % N
        found = found[shifts] @ each
    return found


def conv1d(x, weight, padding):
    """`torch.nn.Conv1d(1, 1, k, padding, padding_mode="circular")`."""
    reached = (np.arange(N)[:, None] + np.arange(len(weight)) - padding) % N
    return x[..., reached] @ weight


def _diagonal(rng):
    p, q = rng.permutation(N), rng.permutation(N)
    Q, R, V = rotation(rng, N), rotation(rng, N), rotation(rng, N + 3)[:, :N]
    sign = rng.choice([-1.0, 1.0], N)
    layers = ((N,),) * 3
    two, three = lp.Diagonal(2), lp.Diagonal(3)
    return {
        "as it stands": (lambda a, b, c: a * b * c, layers, three),
        "permuted": (lambda a, b, c: a[p] * c * b[q], layers, three),
        "one block": (lambda W: W[0] * W[1][::-1] * W[2], ((3, N),), three),
        "signs and a factor": (lambda a, b: 0.3 * sign * a * b[p], layers[:2], two),
        "rotated": (lambda a, b: (Q @ a) * (R @ b), layers[:2], two),
        "rotated, three": (lambda a, b, c: (Q @ a) * b * (R @ c), layers, three),
        "within a larger block": (lambda a, b: (V.T @ a) * b, ((N + 3,), (N,)), two),
        "differences of squares": (
            lambda a, b: ((a + b) ** 2 - (a - b) ** 2) / 4,
            layers[:2],
            two,
        ),
    }


def _powers(rng):
    p, Q, R = rng.permutation(N), rotation(rng, N), rotation(rng, N)
    both = rotation(rng, 2 * N)
    one, two = ((N,),), ((N,), (N,))

    def turned(z):
        z = both @ z
        return z[:N] ** 2 - z[N:] ** 2

    return {
        "power": (lambda u: u[p] ** 4 / 2, one, lp.Power(4)),
        "odd power": (lambda u: -(u**3), one, lp.Power(3)),
        "rotated power": (lambda u: (Q @ u) ** 2, one, lp.Power(2)),
        "rotated cube": (lambda u: (Q @ u) ** 3, one, lp.Power(3)),
        "negative power": (lambda u: -(u**2), one, lp.SignedPower(2)),
        "signed": (lambda u, w: w[p] ** 2 - u**2, two, lp.SignedPower(2)),
        "signed, odd": (lambda u, w: w[p] ** 3 + u**3, two, lp.SignedPower(3)),
        "signed, rotated": (lambda u, w: (Q @ u) ** 2 - (R @ w) ** 2, two, lp.SignedPower(2)),
        "signed, rotated in one": (turned, ((2 * N,),), lp.SignedPower(2)),
    }


def _pairs(rng):
    p, shape = rng.permutation(N), ((N,),) * 4
    return {
        "as it stands": (lambda a, b, c, d: a * b - c * d, shape, lp.Paired()),
        "sum": (lambda a, b, c, d: 2 * (a[p] * c + b * d), shape, lp.Paired()),
        "one block": (lambda W: W[0] * W[1] - W[2] * W[3], ((4, N),), lp.Paired()),
    }


def _dense(rng):
    d, e = 5, 3
    P = rng.permutation(N * d)
    Q, R, S = rotation(rng, N), rotation(rng, d), rotation(rng, N * d)
    two, three = lp.FullyConnected((d,)), lp.FullyConnected((d, e))
    return {
        "as it stands": (lambda W, v: W @ v, ((N, d), (d,)), two),
        "transposed": (lambda W, v: (v @ W)[0], ((d, N), (1, d)), two),
        "torch, scaled": (
            lambda A, B, C: 0.5 * (C @ B @ A)[0],
            ((d, N), (e, d), (1, e)),
            three,
        ),
        "backwards": (lambda v, W, A: A @ W @ v, ((e,), (d, e), (N, d)), three),
        "permuted": (lambda W, v: W.ravel()[P].reshape(N, d) @ v, ((N, d), (d,)), two),
        "rotations between": (lambda W, v: Q @ W @ R @ v, ((N, d), (d,)), two),
        "rotated": (lambda W, v: (S @ W.ravel()).reshape(N, d) @ v, ((N, d), (d,)), two),
        "wide": (lambda W, v: W @ v, ((N, 3 * d), (3 * d,)), lp.FullyConnected((3 * d,))),
    }


def _two_layer(rng):
    d, k = 5, 2
    Q, R, S = rotation(rng, N), rotation(rng, d), rotation(rng, k)
    return {
        "as it stands": (lambda W, V: W @ V, ((N, d), (d, k)), lp.TwoLayer(d)),
        "transposed": (lambda V, W: -(V @ W).T, ((k, d), (d, N)), lp.TwoLayer(d)),
        "rotated": (lambda W, V: Q @ W.T @ R @ V.T @ S, ((d, N), (k, d)), lp.TwoLayer(d)),
    }


def _rank_one(rng):
    d = 4
    Q, R = rotation(rng, N), rotation(rng, d)
    shape = ((N,), *((d,),) * 4)
    return {
        "as it stands": (lambda v, a, b, c, d: v * (a @ b) * (c @ d), shape, lp.RankOne(3, d)),
        "in another order": (
            lambda a, b, c, d, v: Q @ v * (a @ R @ c) * (b @ d),
            (*shape[1:], shape[0]),
            lp.RankOne(3, d),
        ),
        "two layers": (lambda u, w, v: 2 * v * (u @ w), ((d,), (d,), (N,)), lp.RankOne(2, d)),
    }


def _convolutions(rng):
    full, p = ((N,),) * 3, rng.permutation(N)
    eye = np.eye(N)
    return {
        "as it stands": (cyclic, full, lp.Convolutional((N,) * 3)),
        "torch": (
            lambda w, v: conv1d(eye, w[0, 0], 1) @ v[0],
            ((1, 1, 3), (1, N)),
            lp.Convolutional((3, N)),
        ),
        "torch, two": (
            lambda w, u, v: conv1d(conv1d(eye, w[0, 0], 1), u[0, 0], 0) @ v[0],
            ((1, 1, 3), (1, 1, 2), (1, N)),
            lp.Convolutional((3, 2, N)),
        ),
        "read-out first": (lambda v, w: -2 * cyclic(w, v), ((N,), (4,)), lp.Convolutional((4, N))),
        "reversed": (lambda w, v: cyclic(w[::-1], v), ((3,), (N,)), lp.Convolutional((3, N))),
        "permuted": (lambda w, v: cyclic(w[p], v[::-1]), full[:2], lp.Convolutional((N, N))),
        "shared": (lambda w, v: cyclic(w, w, v), full[:2], lp.Convolutional((N,) * 3)),
    }


def _products(rng):
    R = rotation(rng, 3)
    shape = ((3, 3),) * 3
    return {
        "as it stands": (lambda W, V: (W @ V).ravel(), shape[:2], lp.MatrixProduct(2)),
        "transposed": (lambda A, B, C: (A @ B.T @ C).T.ravel(), shape, lp.MatrixProduct(3)),
        "rotated": (lambda A, B: 3 * (B @ R @ A.T).ravel(), shape[:2], lp.MatrixProduct(2)),
    }


def _decomposable(rng):
    A, H, scale = rng.standard_normal((N, N)), rng.standard_normal((N, 9)), rng.uniform(0.5, 2, N)
    Q, R, V = rotation(rng, N), rotation(rng, N), rotation(rng, N + 2)[:, :N]
    two = ((N,), (N,))
    kind = lp.OrthogonalTensor
    return {
        "unequal factors": (lambda a, b: scale * a * b, two, kind),
        "linear map": (lambda a, b: A @ (a * b[::-1]), two, kind),
        "random features": (lambda a, b: H @ (a * b), ((9,), (9,)), kind),
        "powers": (lambda u: A @ u**2, two[:1], kind),
        "signed powers": (lambda u, w: A @ (u**2 - w**2), two, kind),
        "pairs": (lambda a, b, c, d: scale * (a * b - c * d), two * 2, kind),
        "square times one": (lambda u, v: A @ (u**2 * v), two, kind),
        "rotated": (lambda a, b: A @ ((Q @ a) * (R @ b)), two, kind),
        "rotated, three": (
            lambda a, b, c: A @ ((Q @ a) * (V.T @ b) * (R @ c)),
            ((N,), (N + 2,), (N,)),
            kind,
        ),
        "dead coefficients": (lambda a, b: a * b * (np.arange(N) > 1), two, kind),
        "shared, rotated": (lambda u, v: A @ ((Q @ u) ** 2 * (R @ v)), two, kind),
    }


def _tensors(rng):
    M, eye = rng.standard_normal((N, 3, 4)), np.eye(N)
    S = rng.standard_normal((N, 4, 4))
    kind = lp.Tensor
    return {
        "any": (lambda a, b: np.einsum("iab,a,b->i", M, a, b), ((3,), (4,)), kind),
        "channels": (
            lambda w, v: sum(conv1d(eye, w[c, 0], 1) @ v[c] for c in range(2)),
            ((2, 1, 3), (2, N)),
            kind,
        ),
        "quadratic": (lambda u: np.einsum("iab,a,b->i", S, u, u), ((4,),), kind),
        "sum of convolutions": (
            lambda a, b, c: cyclic(a, b) + cyclic(c, c),
            ((N,),) * 3,
            kind,
        ),
    }


FAMILIES = {
    "diagonal": _diagonal,
    "powers": _powers,
    "pairs": _pairs,
    "dense": _dense,
    "two-layer": _two_layer,
    "rank-one": _rank_one,
    "convolutions": _convolutions,
    "matrix products": _products,
    "decomposable": _decomposable,
    "tensors": _tensors,
}
NAMES = [
    (family, name) for family, make in FAMILIES.items() for name in make(np.random.default_rng(0))
]


def drawn(family, name, seed):
    """The function, random blocks and the network."""
    rng = np.random.default_rng(seed)
    function, shapes, network = FAMILIES[family](rng)[name]
    return function, [0.5 * rng.standard_normal(shape) for shape in shapes], network
