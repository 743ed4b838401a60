"""Coefficients of long convolutions, and mirror maps of many coordinates."""

import jax
import numpy as np
from scipy.integrate import quad

import limitpoint as lp
from benchmarks.timing import Row, best_of
from limitpoint.mirror import DeepMap

LENGTH, FILTERS = 4096, 4
COORDINATES, ASKED = 1000, 20
# Of sums of thousands of terms, relative.
ROUNDING = 1e-12


def rows() -> list[Row]:
    return [convolution(), gradient(), mirror_coords()]


def filters() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(LENGTH) for _ in range(FILTERS)]


def convolution() -> Row:
    """Four filters of full length, against sums over all pairs, folded."""
    network, layers = lp.Convolutional((LENGTH,) * FILTERS), filters()
    seconds, coef = best_of(10, lambda: network.coef(layers))
    peer_seconds, other = best_of(1, lambda: folded(layers))
    apart = float(np.abs(coef - other).max() / np.abs(other).max())
    return Row(
        job=f"coefficients, {FILTERS} filters of {LENGTH}",
        peer="NumPy convolve, folded",
        seconds=seconds,
        peer_seconds=peer_seconds,
        accuracy=apart,
        peer_accuracy=0.0,
        at_least=10.0,
        negligible=ROUNDING,
    )


def folded(layers: list[np.ndarray]) -> np.ndarray:
    found = layers[0]
    for layer in layers[1:]:
        straight = np.convolve(found, layer)
        found = straight[:LENGTH].copy()
        found[: len(straight) - LENGTH] += straight[LENGTH:]
    return found


def gradient() -> Row:
    """The compiled gradient of a loss, against twenty evaluations of the coefficients."""
    network, layers = lp.Convolutional((LENGTH,) * FILTERS), filters()
    rng = np.random.default_rng(1)
    task = lp.Regression(rng.standard_normal((2, LENGTH)), rng.standard_normal(2))
    with jax.enable_x64(True):
        step = jax.jit(jax.grad(lambda layers: task.loss(network.coef(layers))))
        traced = [jax.numpy.asarray(layer) for layer in layers]
        jax.block_until_ready(step(traced))
        seconds, _ = best_of(10, lambda: jax.block_until_ready(step(traced)))
    one, _ = best_of(10, lambda: network.coef(layers))
    return Row(
        job=f"gradient, {FILTERS} filters of {LENGTH}",
        peer="20 evaluations of the coefficients",
        seconds=seconds,
        peer_seconds=20 * one,
        accuracy=0.0,
        peer_accuracy=0.0,
        at_least=1.0,
    )


def mirror_coords() -> Row:
    """ξ of five layers at given coefficients' curve parameters, against quadrature one by one."""
    layers = np.random.default_rng(0).uniform(0.5, 1.5, (5, COORDINATES))
    mirror = DeepMap.from_layers(layers, 0.0)
    coefs = np.prod(layers, axis=0) * np.random.default_rng(1).uniform(1.5, 3.0, COORDINATES)
    mirror.mirror_coords(coefs)  # makes the table
    seconds, found = best_of(10, lambda: mirror.mirror_coords(coefs))

    def one_by_one() -> np.ndarray:
        return np.array([by_quadrature(layers[:, i], coefs[i]) for i in range(ASKED)])

    peer_seconds, due = best_of(1, one_by_one)
    return Row(
        job=f"mirror coordinates of {COORDINATES} coefficients, depth 5",
        peer=f"SciPy quad, {ASKED} of them, in proportion",
        seconds=seconds,
        peer_seconds=peer_seconds * COORDINATES / ASKED,
        accuracy=float(np.abs(found[:ASKED] / due - 1).max()),
        peer_accuracy=0.0,
        at_least=10.0,
        negligible=1e-9,
    )


def by_quadrature(layer: np.ndarray, coef: float) -> float:
    """The mirror coordinate of `β = Π√(u_j² + g)`, g the same for all layers: `dξ = dg/(2β)`."""
    squares = layer**2

    def products(grown: float) -> np.ndarray:
        return squares + grown

    high = 1.0
    while np.sqrt(np.prod(products(high))) < coef:
        high *= 2
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sqrt(np.prod(products(middle))) < coef else (low, middle)
    return float(quad(lambda g: 0.5 / np.sqrt(np.prod(products(g))), 0.0, low, epsabs=1e-13)[0])
