"""How the coefficients depend on the parameters: degree and derivatives, exact for polynomials."""

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.own.model import Model

__all__ = ["EQUAL", "LARGEST_JACOBIAN", "LARGEST_PROBED", "ROUNDING", "Probed", "without_unused"]

# So many trained entries at most are probed one by one.
LARGEST_PROBED = 20_000
# And so many derivatives are held at most (160 MB).
LARGEST_JACOBIAN = 20_000_000
# Numbers computed from random parameters count as equal when they differ by less, relative to the
# largest: they have some thousand roundings, and others differ by more but for a chance of about
# this times the square of their number. What is taken for equal by chance is found out in the end.
EQUAL = 1e-9
# Relative size of what is rounding beside the largest.
ROUNDING = 1e-12


class Probed:
    """A model at random parameters, the same for all that ask.

    Attributes
    ----------
    model
        The model.
    start
        The trained entries as they are.
    point
        Random trained entries, θ.
    coef
        The coefficients there, one after the other, N in all.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rng = np.random.default_rng(20)
        self.start = model.flat(model.start)
        self.point = self.rng.standard_normal(model.size)
        self.coef = model.at(self.point)

    @property
    def outputs(self) -> int:
        """The number of outputs; 1 where coefficients are a vector."""
        shape = np.shape(self.model.coef(self.model.start))
        return shape[1] if len(shape) == 2 else 1

    @cached_property
    def degree(self) -> int | None:
        """D, if `β(2θ) = 2^D β(θ)` for a whole number D; else None."""
        return _degree(self.coef, self.model.at(2.0 * self.point))

    def is_affine_in(self, place: int) -> bool:
        """Whether the coefficients are linear in a block, up to what does not depend on it."""
        model, blocks = self.model, list(self.model.blocks(self.point))
        values = []
        for factor in (0.0, 1.0, 2.0, -3.0):
            blocks[place] = factor * self.model.blocks(self.point)[place]
            values.append(np.ravel(model.coef(blocks)))
        none, one, two, third = values
        size = max(float(np.abs(each).max()) for each in values)
        off = max(np.abs(two - 2 * one + none).max(), np.abs(third + 3 * one - 4 * none).max())
        return bool(off <= EQUAL * size)

    def degree_in(self, place: int) -> int | None:
        """The degree in one block, or None where the coefficients are not homogeneous in it."""
        blocks = list(self.model.blocks(self.point))
        blocks[place] = 2.0 * blocks[place]
        return _degree(self.coef, np.ravel(self.model.coef(blocks)))

    @cached_property
    def is_multilinear(self) -> bool:
        """Whether the coefficients are linear in each trained block, and vanish with each."""
        trained = self.model.trained
        if self.degree != len(trained) or len(trained) < 2:
            return False
        return all(self.is_affine_in(place) for place in trained)

    @cached_property
    def jacobian(self) -> Float:
        """`∂β/∂θ` at the point, N × p."""
        return self.jacobian_at(self.point)

    def jacobian_at(self, point: Float) -> Float:
        """`∂β/∂θ`, N × p, without errors but rounding."""
        assert self.degree is not None, "a polynomial's derivatives are exact, no other's"
        columns = []
        for place in self.model.trained:
            blocks = list(self.model.blocks(point))
            one = self._affine if self.is_affine_in(place) else self._central
            columns.append(one(place, blocks))
        return np.concatenate(columns, axis=1)

    def _affine(self, place: int, blocks: list[Float]) -> Float:
        """`β(unit block) − β(zero block)`, exact where terms are."""
        shape = blocks[place].shape
        blocks[place] = np.zeros(shape)
        none = np.ravel(self.model.coef(blocks))
        columns = np.empty((len(none), blocks[place].size))
        for entry in range(blocks[place].size):
            unit = np.zeros(blocks[place].size)
            unit[entry] = 1.0
            blocks[place] = unit.reshape(shape)
            columns[:, entry] = np.ravel(self.model.coef(blocks)) - none
        return columns

    def _central(self, place: int, blocks: list[Float]) -> Float:
        """Central differences at as many steps as make them exact for the degree."""
        assert self.degree is not None, "asked for before"
        steps = np.arange(1.0, (self.degree + 1) // 2 + 1)
        powers = 2 * np.arange(len(steps)) + 1
        # Σ w_s (f(s) − f(−s)) is the derivative: of odd powers only the first counts.
        weights = np.linalg.solve(2 * steps ** powers[:, None], np.eye(len(steps))[0])
        here = blocks[place]
        columns = np.zeros((len(self.coef), here.size))
        for entry in range(here.size):
            for step, weight in zip(steps, weights, strict=True):
                for sign in (1.0, -1.0):
                    moved = here.copy().ravel()
                    moved[entry] += sign * step
                    blocks[place] = moved.reshape(here.shape)
                    columns[:, entry] += sign * weight * np.ravel(self.model.coef(blocks))
        return columns


def without_unused(model: Model) -> Model:
    """The model with blocks that have no influence counted as frozen: nothing trains them."""
    rng = np.random.default_rng(29)
    one, two = (model.blocks(rng.standard_normal(model.size)) for _ in range(2))
    here, frozen = model.coef(one), list(model.frozen)
    for place in model.trained:
        changed = [*one[:place], two[place], *one[place + 1 :]]
        frozen[place] = bool(np.array_equal(model.coef(changed), here))
    return replace(model, frozen=tuple(frozen))


def _degree(once: Float, doubled: Float) -> int | None:
    """The whole number D ≥ 1 with `doubled = 2^D once`, or None."""
    size, larger = (float(np.abs(each).max(initial=0.0)) for each in (once, doubled))
    if size == 0.0 or not 0.0 < larger / size < math.inf:
        return None
    whole = round(math.log2(larger / size))
    off = np.abs(doubled - 2.0**whole * once).max()
    return whole if whole >= 1 and off <= EQUAL * larger else None
