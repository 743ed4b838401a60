"""Limits of separable mirror flows: the root of the dual problem, enclosed.

`XΨ(Xᵀν) = y` has at most one root ν in the range of X, since `X diag(Ψ') Xᵀ` is positive definite
there; `β = Ψ(Xᵀν)` is then the minimiser of the potential among the best fits, and the limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.contributions import visible_sizes
from limitpoint.theory.prove.exact.faces import Face
from limitpoint.theory.prove.exact.interval_newton import enclosed_root, solved
from limitpoint.theory.prove.exact.numbers import (
    as_balls,
    as_rationals,
    ball_column,
    column,
    entries,
    midpoints,
    scale_ball,
)
from limitpoint.theory.prove.exact.rough_inverse import quick_root
from limitpoint.theory.prove.exact.row_reduction import Rows, determined, independent, reduced_rows
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision
from limitpoint.theory.prove.reduced.exact_data import AlgebraicData, ExactData
from limitpoint.theory.prove.separable.beside_poles import LOST, BesidePoles, lost_bits
from limitpoint.theory.prove.separable.closed_form_maps import coefs_of_direction
from limitpoint.theory.prove.separable.mirror_maps import mirror_maps
from limitpoint.theory.prove.separable.sign_constraints import split_by_signs, under_signs
from limitpoint.theory.prove.separable.starting_points import (
    from_coefs,
    least_norm,
    near_a_root,
    quick_start,
)

__all__ = ["minimiser", "prove_separable"]

# Newton steps at one precision; each doubles the digits once it is near, and float64 starts near.
STEPS = 60
# A step is halved at most so often.
HALVINGS = 60
# The square of a step is below rounding by so many bits, for what the constant of quadratic
# convergence may be.
SQUARED = 32


def prove_separable(problem: Problem, hint: Hint | None) -> Found:
    """Enclose the limit of a network whose coefficients have mirror maps."""
    task = problem.regression
    if task.y.ndim > 1:
        raise CannotProve("several outputs are not separable")
    found = minimiser(
        mirror_maps(problem),
        ExactData(task.X),
        task.y,
        _at_start(problem),
        hint,
        lost=lost_bits(problem),
    )
    return replace(found, sizes=visible_sizes(task.X, task.y, found.coef))


def minimiser(
    maps: Sequence[Any],
    data: ExactData | AlgebraicData,
    y: Float,
    start: Sequence[arb | fmpq],
    hint: Hint | None,
    *,
    lost: int = 0,
) -> Found:
    """Enclose the minimiser of the potential whose mirror maps these are, among the best fits.

    `start` are the coefficients at the start: where a column is zero, or a map None, they stay.
    Maps that lose many bits to their poles must know what is `along` a pole.
    """
    # A coefficient of a column of zeros stays where it starts, and so does one without a curve.
    moving = [i for i, one in enumerate(maps) if one is not None and data.seen(i)]
    # Those that their signs force to zero in every best fit stay out: the others have a root.
    face, moving, forced = split_by_signs(data, y, maps, moving)
    if not moving and not forced:
        raise CannotProve("no coefficient that can move reaches any sample")
    X = data.some(moving)
    rows, targets = _rows(X, y)
    coef: list[Any] = list(start)
    mirror: list[Any] = [arb(0)] * len(maps)
    dual: list[Any] = [fmpq(0)] * len(y)
    witness: dict[str, Any] = {} if rows is None else {"rows": rows.kept}
    if moving:
        kept = X.balls(None if rows is None else rows.kept)
        system = _System([maps[i] for i in moving], kept, targets)
        root, xi, moved, beside = _answers(lost, system, hint, moving, face)
        dual = root if rows is None else entries(_ball_product(rows, root))
        if beside:
            witness["poles"] = [moving[k] for k in beside]
        if any(one.contains(0) for one in moved) and X.rational is not None:
            for place, value in determined(X.rational, *_exact_rows(rows, y)).items():
                moved[place] = value
        for i, value, position in zip(moving, moved, xi, strict=True):
            coef[i], mirror[i] = value, position
    for i in forced:
        coef[i], mirror[i] = fmpq(0), -np.inf if maps[i].lower else np.inf
    fit = "fit the data" if rows is None or rows.fits else "are best fits of the data"
    found = Found(
        coef=coef,
        mirror=mirror,
        dual=dual,
        statement=(
            f"of all coefficients that {fit}, the potential of the mirror flow has exactly one "
            "minimiser, and each of its coefficients lies in its ball."
        ),
        method="the interval Newton test on the dual problem XΨ(Xᵀν) = y",
        fits=rows is None or rows.fits,
        kind="mirror root",
        witness=witness,
    )
    return found if face is None else under_signs(found, face, y, moving, forced)


class _System:
    """`f(ν) = XΨ(Xᵀν) − c` and its Jacobian `X diag(Ψ') Xᵀ` on a box."""

    def __init__(self, maps: Sequence[Any], matrix: arb_mat, targets: arb_mat) -> None:
        self.maps, self.matrix, self.targets = list(maps), matrix, targets
        self.transposed = matrix.transpose()
        near = [float(one.mid()) for one in entries(matrix)]
        self.floats = np.array(near).reshape(matrix.nrows(), matrix.ncols())

    def __call__(self, dual: list[arb]) -> tuple[arb_mat, list[arb]]:
        xi = entries(self.transposed * ball_column(dual))
        values, slopes = zip(*(m.at(x) for m, x in zip(self.maps, xi, strict=True)), strict=True)
        return self.matrix * ball_column(values) - self.targets, list(slopes)

    def weighted(self, slopes: Sequence[arb]) -> arb_mat:
        """`X diag(slopes) Xᵀ`."""
        rows, columns = self.transposed.nrows(), self.transposed.ncols()
        flat = entries(self.transposed)
        scaled = [flat[i * columns + j] * slopes[i] for i in range(rows) for j in range(columns)]
        return self.matrix * arb_mat(rows, columns, scaled)

    def near(self, dual: list[arb]) -> list[arb]:
        """Newton's method on midpoints, its steps shortened so that none overshoots."""
        current, smallest = dual, None
        values, slopes = self(current)
        for _ in range(STEPS):
            step = midpoints(solved(self.weighted(slopes), values))
            current, values, slopes = self._shortened(current, step, values)
            size = max(
                abs(s) / (abs(c) + abs(s) + arb(2) ** -999999)
                for s, c in zip(step, current, strict=True)
            )
            # The next step would be of the size of this one squared.
            if size < arb(2) ** (-(ctx.prec + SQUARED) // 2):
                break
            if smallest is not None and size < arb(2) ** -20 and not size < smallest / 2:
                break
            smallest = size.mid()
        return current

    def _shortened(self, dual: list[arb], step: list[arb], values: arb_mat) -> Any:
        """Along a step, and what is there.

        The dual is convex: along a step its slope rises, and must not rise past what it was.
        """
        before = _dot(step, values)
        share = arb(1)
        for _ in range(HALVINGS):
            there = [(c - share * s).mid() for c, s in zip(dual, step, strict=True)]
            try:
                found, slopes = self(there)
                after = _dot(step, found)
                if after.is_finite() and not abs(after) > abs(before):
                    return there, found, slopes
            except MorePrecision:  # beyond a pole
                pass
            share = share / 2
        raise MorePrecision("Newton's method finds no descent at this precision")


def _dot(step: list[arb], values: arb_mat) -> arb:
    return sum((s * v for s, v in zip(step, entries(values), strict=True)), arb(0))


def _answers(
    lost: int, system: _System, hint: Hint | None, moving: Sequence[int], face: Face | None
) -> tuple[list[arb], list[Any], list[Any], list[int]]:
    """Dual, mirror coordinates and coefficients; and who has an unknown of its own."""
    logs = _hinted(hint, moving)
    if lost > LOST:
        if logs is not None:
            beside = BesidePoles(system, *logs)
            try:
                return *beside.answers(beside.root()), beside.places
            except MorePrecision:
                pass  # a hint may be wrong
        if ctx.prec < lost:
            raise MorePrecision("mirror coordinates cannot be told from their poles")
    root = _root(system, hint, moving, face)
    xi = entries(system.transposed * ball_column(root))
    return root, xi, [one.at(x)[0] for one, x in zip(system.maps, xi, strict=True)], []


def _root(
    system: _System, hint: Hint | None, moving: Sequence[int], face: Face | None
) -> list[arb]:
    """Where Newton's method leads to, from the first of several starts from which it does."""
    why, logs = "", _hinted(hint, moving)
    if logs is not None:
        try:
            return quick_root(system, *quick_start(system, *logs))
        except MorePrecision:
            pass  # a hint may be wrong, and float64 too coarse
    for start in _starts(system, hint, moving, face):
        try:
            return enclosed_root(system, system.near(start()))
        except MorePrecision as error:
            why = str(error)  # a hint may be wrong
    raise MorePrecision(why)


def _starts(
    system: _System, hint: Hint | None, moving: Sequence[int], face: Face | None
) -> list[Callable[[], list[arb]]]:
    """At the coefficients of float64, at some fit (inside the signs), and where training starts."""

    def from_fit() -> list[arb]:
        fit = least_norm(system) if face is None else [face.interior[k] for k in face.alive]
        return near_a_root(system, fit)

    starts: list[Callable[[], list[arb]]] = [from_fit, lambda: [arb(0)] * system.matrix.nrows()]
    logs = _hinted(hint, moving)
    if logs is not None:
        starts.insert(0, lambda: from_coefs(system, *logs))
    return starts


def _hinted(hint: Hint | None, moving: Sequence[int]) -> tuple[list[float], list[float]] | None:
    """Signs and logarithms of the coefficients by a hint, if it has numbers for all."""
    if hint is None:
        return None
    signs, logs = hint.signs[list(moving)], hint.log_abs_coef[list(moving)]
    if not np.isfinite(signs).all() or np.isnan(logs).any():
        return None
    return signs.tolist(), logs.tolist()


def _at_start(problem: Problem) -> list[arb]:
    """The coefficients at the start: all are homogeneous in the layers."""
    unit = scale_ball(problem.init) ** problem.network.degree
    return [arb(one) * unit for one in coefs_of_direction(problem)]


def _rows(X: ExactData | AlgebraicData, y: Float) -> tuple[Rows | None, arb_mat]:
    """None where all rows are independent: the interval Newton test then proves that they are."""
    if independent(X.near):
        return None, ball_column(y.tolist())
    rows = reduced_rows(X.relations, y)
    return rows, ball_column(as_balls(entries(rows.targets)))


def _exact_rows(rows: Rows | None, y: Float) -> tuple[list[int], fmpq_mat]:
    """The kept rows and their targets, as rationals."""
    if rows is None:
        return list(range(len(y))), column(as_rationals(y.tolist()))
    return rows.kept, rows.targets


def _ball_product(rows: Rows, root: Sequence[arb]) -> arb_mat:
    return arb_mat(rows.spread) * ball_column(root)
