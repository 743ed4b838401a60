"""Limits of rank-one and balanced dense networks at a finite scale: one scalar root.

Notation: z the first layer up to a sign, `β = Ξz`. Training keeps `P_null z`, and ends at
`z = P_null z(0) + X⁺y/Ξ`: with `e = ‖z‖² − ‖P_null z(0)‖²` this leaves `e Ξ² = ‖X⁺y‖²`, where Ξ² is
a product of increasing factors: `Π_k ¼((2‖z‖² + δ_k)² − c_k²)` over the pairs of a rank-one
network, which any start has, and `‖z‖^{2D−2}` for balanced layers of degree D.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from flint import arb, fmpq

from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.prove.coupled.balance import ROUNDING, Pair, Start, start_of
from limitpoint.theory.prove.coupled.radial_root import radial_root
from limitpoint.theory.prove.coupled.row_space import RowSpace, square_norm
from limitpoint.theory.prove.coupled.saddle import ends_at_zero, leaves_zero, points_back
from limitpoint.theory.prove.exact.contributions import visible_sizes
from limitpoint.theory.prove.exact.numbers import entries, object_array, scale_ball
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint

__all__ = ["prove_coupled", "prove_vanishing_coupled"]

RANK_ONE, RANK_ONE_AT_ZERO = "limitpoint.rank_one", "limitpoint.rank_one_at_zero"
SADDLE = "lyu2023.proposition2"
# Of balanced starts, by whether the network is a rank-one one.
BALANCED = {True: "lyu2023.theorem1", False: "lyu2023.theorem2"}


@dataclass(frozen=True)
class _Hypotheses:
    """Which theorem holds, what of it is assumed, and the factors of Ξ² at `e = 0` and scale 1.

    Every factor is `(e + p)² − h`, or `e + p` where h is None.
    """

    theorem: str
    factors: list[tuple[fmpq, fmpq | None]]
    balance: str
    assumed: tuple[str, ...] = ()
    witness: dict[str, Any] = field(default_factory=dict)


def prove_coupled(problem: Problem, hint: Hint | None) -> Found:
    """Enclose the root and the coefficients; or prove that training ends at the saddle."""
    task, start = problem.regression, start_of(problem)
    space = RowSpace.of(task.X, task.y, start.along)
    held = _hypotheses(task, start, space)
    witness = {"balance": held.balance, **held.witness}
    unit = _unit(problem, start)
    if held.theorem == SADDLE:
        return _at_zero(start, space, held, unit, witness)
    multiplier = _multiplier(space, held, unit)
    inverse = 1 / multiplier if multiplier != 0 else arb(0)  # without it z has followed β to zero
    pairs = zip(entries(space.least), entries(space.hidden), strict=True)
    coef: list[Any] = [a if b == 0 else a + multiplier * unit * b for a, b in pairs]
    return Found(
        coef=coef,
        mirror=[
            a * inverse + unit * (b - c)
            for a, b, c in zip(*map(entries, (space.least, space.hidden, start.along)), strict=True)
        ],
        dual=[
            a * inverse - unit * b
            for a, b in zip(entries(space.least_dual), entries(space.seen_dual), strict=True)
        ],
        more={"multiplier": object_array([multiplier])},
        statement=(
            "the equation e Ξ² = ‖X⁺y‖² for e = ‖z‖² − ‖P_null z(0)‖² ≥ 0 has exactly one root, "
            "and each coefficient of Ξz = X⁺y + Ξ P_null z(0) lies in its ball."
        ),
        method=(
            "rational arithmetic for X⁺y and P_null z(0), and monotonicity of the radial equation"
        ),
        assumed=held.assumed,
        fits=space.fits,
        kind="radial root",
        witness=witness,
        sizes=visible_sizes(task.X, task.y, coef) if _open(coef) else None,
        theorem=held.theorem,
    )


def prove_vanishing_coupled(problem: Problem, hint: Hint | None) -> Found:
    """`X⁺y`, in rationals, for all starts but those that point along −Xᵀy."""
    task, start = problem.regression, start_of(problem)
    space = RowSpace.of(task.X, task.y, start.along if start.pairs else None)
    if start.pairs and _kept_pairs(start.pairs, square_norm(space.hidden)) is not None:
        return least_norm(space, theorem=RANK_ONE_AT_ZERO, witness={"balance": "not needed"})
    balance, assumed = _balance(start)
    if points_back(task.X, task.y, start.along):
        raise CannotProve(
            "the start points along −Xᵀy exactly: it is on the stable manifold of the saddle at "
            "zero, as far as its layers are balanced"
        )
    return least_norm(space, assumed=assumed, witness={"balance": balance})


def least_norm(
    space: RowSpace,
    *,
    witness: dict[str, Any],
    theorem: str = "",
    assumed: tuple[str, ...] = (),
) -> Found:
    """The best fit of least norm, mirror coordinates and dual in units of those that vanish."""
    which = "fit" if space.fits else "best fit"
    return Found(
        coef=entries(space.least),
        mirror=entries(space.least),
        dual=entries(space.least_dual),
        statement=(
            f"these rational numbers are the {which} of the data of least ℓ2 norm, X⁺y, and there "
            "is no other."
        ),
        method="solving the normal equations XXᵀν = Xβ in rationals",
        assumed=assumed,
        fits=space.fits,
        kind="least norm",
        witness=witness,
        theorem=theorem,
    )


def _hypotheses(task: Regression, start: Start, space: RowSpace) -> _Hypotheses:
    """Pairs that cannot turn, whatever the balance; or else balance, and a way from the saddle."""
    hidden = square_norm(space.hidden)
    pairs = None if start.pairs is None else _kept_pairs(start.pairs, hidden)
    rank_one = start.pairs is not None
    if pairs is not None:
        theorem = RANK_ONE if start.imbalance else BALANCED[True]
        return _Hypotheses(theorem, pairs, "exact" if not start.imbalance else "not needed")
    balance, assumed = _balance(start)
    factors: list[tuple[fmpq, fmpq | None]] = [(hidden, None)] * (start.degree - 1)
    if hidden != 0 or square_norm(space.least) == 0:
        return _Hypotheses(BALANCED[rank_one], factors, balance, assumed)
    if ends_at_zero(task.X, task.y, start.along):
        if balance != "exact":
            raise CannotProve(
                "the coefficients start on the stable manifold of the saddle at zero exactly, but "
                "whether training leaves it depends on the balance of the layers, which is off by "
                f"{_short(start.imbalance)}"
            )
        return _Hypotheses(SADDLE, factors, balance)
    roots = leaves_zero(task.X, start.along, space.least)
    if roots is not None:
        return _Hypotheses(BALANCED[rank_one], factors, balance, assumed, {"leaves zero": roots})
    saddle = (
        "the start, which lies in the row space of X, is not on the one curve of such starts that "
        "end at the saddle at zero"
    )
    return _Hypotheses(
        BALANCED[rank_one], factors, balance, (*assumed, saddle), {"leaves zero": "assumed"}
    )


def _kept_pairs(pairs: Sequence[Pair], hidden: fmpq) -> list[tuple[fmpq, fmpq | None]] | None:
    """`Ξ² = Π ((ρ + δ/2)² − c²/4)` at `ρ = hidden`, if no factor vanishes for any larger ρ."""
    found: list[tuple[fmpq, fmpq | None]] = []
    for pair in pairs:
        middle, square = hidden + pair.offset / 2, pair.square / 4
        if not (middle > 0 and middle**2 > square):
            return None
        found.append((middle, square))
    return found


def _balance(start: Start) -> tuple[str, tuple[str, ...]]:
    """Exact, or off by what rounding leaves and assumed away by name."""
    if start.imbalance == 0:
        return "exact", ()
    if start.imbalance > ROUNDING:
        turn = "" if start.pairs is None else ", and a pair of inner vectors may become orthogonal"
        raise CannotProve(
            f"the layers are not balanced: off by {_short(start.imbalance)}, relative{turn}"
        )
    what = "‖u_k‖ = ‖v_k‖ = ‖v₁‖, u_k parallel to v_{k+1}"
    if start.pairs is None:
        what = "W_kᵀW_k = W_{k+1}W_{k+1}ᵀ"
    return "assumed", (
        f"the start is balanced, {what}, which the floats are up to {_short(start.imbalance)}, "
        "relative; its z(0) is that of the coefficients at the start",
    )


def _unit(problem: Problem, start: Start) -> arb:
    """`z(0)` is this times `along`: the scale, and for a dense network `‖along‖^{1/D−1}`."""
    scale = scale_ball(problem.init)
    if start.pairs is not None:
        return scale
    root = arb(square_norm(start.along)).root(2 * start.degree)
    return scale / root ** (start.degree - 1)


def _multiplier(space: RowSpace, held: _Hypotheses, unit: arb) -> arb:
    """Ξ at the limit."""
    square, shifts = unit * unit, []
    for middle, minus in held.factors:
        if minus is None:
            shifts.append(square * arb(middle))
            continue
        larger = arb(middle) + arb(minus).sqrt()
        shifts += [square * larger, square * arb(middle**2 - minus) / larger]
    goal = square_norm(space.least)
    if goal == 0:
        return prod(shifts, start=arb(1)).sqrt()
    return (arb(goal) / radial_root(shifts, arb(goal))).sqrt()


def _at_zero(
    start: Start, space: RowSpace, held: _Hypotheses, unit: arb, witness: dict[str, Any]
) -> Found:
    """Coefficients that tend to zero: z goes straight to it."""
    return Found(
        coef=[fmpq(0)] * start.along.nrows(),
        mirror=[-unit * one for one in entries(start.along)],
        dual=[-unit * one for one in entries(space.seen_dual)],
        statement=(
            "the layers are balanced, z(0) = −c Xᵀy with c > 0, and Xᵀy is an eigenvector of XᵀX, "
            "all exactly: the start is on the stable manifold of the saddle at zero, and the "
            "coefficients tend to zero."
        ),
        method="rational arithmetic",
        fits=False,
        kind="saddle",
        witness=witness,
        theorem=SADDLE,
    )


def _open(coef: list[Any]) -> bool:
    return any(isinstance(one, arb) and one.contains(0) for one in coef)


def _short(value: fmpq) -> str:
    return f"{float(arb(value)):.1e}"
