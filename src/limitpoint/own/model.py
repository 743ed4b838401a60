"""A model of the user's own that is linear in its input: its parameters and its coefficients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float

__all__ = ["Model", "Places"]

Places = np.ndarray[Any, np.dtype[np.intp]]
# What a function returns for one set of blocks.
Coefs = Callable[[Sequence[Float]], Float]
Outputs = Callable[[Sequence[Float], Float], Float]

EPS = float(np.finfo(np.float64).eps)
# Outputs computed by another way differ by the rounding of every layer's sums, each as many
# roundings as it has terms: some hundred thousand of them, relative to the largest output. What is
# less linear than that cannot be told from rounding.
ROUNDINGS = 1e5
# Linearity is tested at the present parameters and at so many random ones.
PROBES = 3


@dataclass(frozen=True)
class TracedCoef:
    """The coefficients by a function in JAX. A class, so that it is pickled if the function is."""

    outputs: Callable[[Sequence[Any], Any], Any]
    n_features: int
    shape: tuple[int, ...]

    def __call__(self, blocks: Sequence[Any]) -> Any:
        """From the outputs of all unit vectors."""
        return self.outputs(blocks, np.eye(self.n_features)).reshape(self.shape)


@dataclass(frozen=True)
class Model:
    """Blocks of parameters, and the coefficients β of `f(x) = ⟨β, x⟩` as a function of them.

    Attributes
    ----------
    names
        One name for every block, as the user knows it.
    start
        The present values, float64.
    frozen
        Which blocks are constants.
    coef
        From all blocks to the coefficients, (n,) or (n, k). Pure; may be slow.
    traced
        The same for traced JAX arrays, where there is such a function: only then can a model that
        is none of the known networks be trained and followed.
    """

    names: tuple[str, ...]
    start: tuple[Float, ...]
    frozen: tuple[bool, ...]
    coef: Coefs
    traced: Callable[[Sequence[Any]], Any] | None = None

    @classmethod
    def from_outputs(
        cls,
        outputs: Outputs,
        names: Sequence[str],
        start: Sequence[Float],
        *,
        n_features: int,
        target_shape: tuple[int, ...] = (),
        frozen: Sequence[bool] | None = None,
        traced: Callable[[Sequence[Any], Any], Any] | None = None,
    ) -> "Model":
        """Read the coefficients off a function, once it is found to be linear in its input.

        Parameters
        ----------
        outputs
            From blocks and X (m, n) to the outputs, of shape (m,) or (m, k). Outputs (m, 1) count
            as (m,) where the targets are a vector.
        names, start, frozen
            As in the class; nothing is frozen by default.
        n_features
            The number of features, n.
        target_shape
            The shape of one target, `y.shape[1:]`.
        traced
            `outputs` for traced JAX arrays, if there is such a function.

        Raises
        ------
        NetworkError
            If the outputs have another shape, are not finite or are not linear in X.
        """
        blocks = tuple(np.array(block, dtype=np.float64) for block in start)
        still = (False,) * len(blocks) if frozen is None else tuple(map(bool, frozen))
        shape, identity = (n_features, *target_shape), np.eye(n_features)

        def coef(values: Sequence[Float]) -> Float:
            found = _shaped(np.asarray(outputs(values, identity)), shape)
            return np.asarray(found, dtype=np.float64)

        by_jax = TracedCoef(traced, n_features, shape) if traced else None
        model = cls(tuple(names), blocks, still, coef, by_jax)
        _check_linear(model, outputs, n_features, target_shape)
        return model

    @property
    def trained(self) -> tuple[int, ...]:
        """The places of the blocks that are trained."""
        return tuple(place for place, still in enumerate(self.frozen) if not still)

    @property
    def size(self) -> int:
        """The number of trained entries."""
        return sum(self.start[place].size for place in self.trained)

    def flat(self, blocks: Sequence[Float]) -> Float:
        """All trained entries, block after block, row by row."""
        parts = [np.ravel(blocks[place]) for place in self.trained]
        return np.concatenate([np.zeros(0), *parts])

    def blocks(self, flat: Float) -> tuple[Float, ...]:
        """All blocks with these trained entries; the frozen ones as they are."""
        found, used = list(self.start), 0
        for place in self.trained:
            block = self.start[place]
            found[place] = flat[used : used + block.size].reshape(block.shape)
            used += block.size
        return tuple(found)

    def places(self) -> tuple[Places, ...]:
        """Where the entries of every trained block stand among all, in the shape of the block."""
        numbered = self.blocks(np.arange(self.size, dtype=np.float64))
        return tuple(numbered[place].astype(np.intp) for place in self.trained)

    def at(self, flat: Float) -> Float:
        """The coefficients of these trained entries, one after the other where there are several.

        Those of (n, k) row by row.
        """
        return np.ravel(self.coef(self.blocks(flat)))


def _shaped(found: Float, wanted: tuple[int, ...]) -> Float:
    """Outputs of this shape; a last axis of length one may be missing or superfluous."""
    if (*found.shape, 1) == wanted or found.shape == (*wanted, 1):
        return found.reshape(wanted)
    if found.shape != wanted:
        raise NetworkError(
            f"the model must return outputs of shape {wanted} for data of {wanted[0]} samples, as "
            f"the targets have it; it returns {found.shape}"
        )
    return found


def _check_linear(model: Model, outputs: Outputs, features: int, target: tuple[int, ...]) -> None:
    """Raise `NetworkError` unless `f(0) = 0` and `f(RX) = R f(X)`, at several parameters."""
    rng = np.random.default_rng(0)
    for probe in range(PROBES + 1):
        flat = model.flat(model.start) if probe == 0 else rng.standard_normal(model.size)
        # At the start terms may cancel; their rounding is relative to what they are elsewhere.
        apart = model.blocks(flat * rng.uniform(0.5, 2.0, model.size))
        where = "its present parameters" if probe == 0 else "random parameters"
        with np.errstate(over="ignore", invalid="ignore"):
            _check_linear_at(model.blocks(flat), apart, where, outputs, (features, target), rng)


def _check_linear_at(
    blocks: tuple[Float, ...],
    apart: tuple[Float, ...],
    where: str,
    outputs: Outputs,
    sizes: tuple[int, tuple[int, ...]],
    rng: np.random.Generator,
) -> None:
    """The same at some parameters; at others, `apart`, outputs are as large as terms are here."""
    features, target = sizes

    def of(X: Float, blocks: tuple[Float, ...] = blocks) -> Float:
        found = np.asarray(outputs(blocks, X), dtype=np.float64)
        return _shaped(found, (len(X), *target))

    X = rng.standard_normal((4, features))
    coefs, offset = of(np.eye(features)), of(np.zeros((2, features)))
    found = of(X)
    if not (np.isfinite(coefs).all() and np.isfinite(found).all()):
        raise NetworkError(f"the model returns numbers that are not finite at {where}")
    size = max(float(np.abs(each).max(initial=0.0)) for each in (coefs, found, of(X, apart)))
    allowed = ROUNDINGS * EPS * size
    if not float(np.abs(offset).max()) <= allowed:
        raise NetworkError(
            f"the model must be linear in its input, so 0 at 0; at {where} f(0) is "
            f"{float(np.abs(offset).max()):.3g}. Drop the bias, and centre the data instead"
        )
    off = max(
        float(np.abs(of(-2.0 * X) + 2.0 * found).max()), float(np.abs(found - X @ coefs).max())
    )
    if not off <= allowed:
        raise NetworkError(
            f"the model must be linear in its input; at {where} it is off by {off:.3g} where "
            f"outputs are up to {size:.3g}. Leave out what is not linear, like activations, "
            "normalisation over samples and dropout, and compute in float64"
        )
