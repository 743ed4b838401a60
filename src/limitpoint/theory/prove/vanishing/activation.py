"""Activation times, exactly: rational, or rational multiples of integrals that are enclosed.

Two layers: `β = A e^{κξ} − B e^{−κξ}` with A and B of order s², so that it grows at
`ξ = ±(2/κ) log(1/s)`, on a side whose A or B is not zero. Powers of L ≥ 3 have their poles at
`ξ = ±|u|^{2−L}/(L(L−2))`, in units of `s^{2−L}`. Deeper diagonal networks (notation of
`deep_diagonal_map`): `t⁺ = T(|w(0)|)` and `t⁻ = 2T(0) − T(|w(0)|)` where w(0) ≥ 0, and the other
way round where not; where some Δ is zero, only the side of w(0) exists.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from limitpoint.networks import Diagonal, General, Paired, Power, SignedPower
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import as_rationals, ball
from limitpoint.theory.prove.outcome import CannotProve
from limitpoint.theory.prove.separable.closed_form_maps import exponentials, power_terms
from limitpoint.theory.prove.separable.tail_integral import TailIntegral
from limitpoint.theory.prove.vanishing.unit_sums import ONE, Parts, Units, combined

__all__ = ["Times", "activation_times", "given_times"]

Pair = tuple[Parts | None, Parts | None]


@dataclass(frozen=True)
class Times:
    """t⁺ and t⁻ of every coefficient, None for a side towards which it cannot grow."""

    units: Units
    pairs: list[Pair]


def activation_times(problem: Problem) -> Times:
    """The activation times of a problem whose scale vanishes."""
    network = problem.network
    if isinstance(network, General):
        raise CannotProve(
            "the activation times of General come from Hessians of functions in JAX, which have no "
            "rigorous derivatives: prove the saddle path of given activation times"
        )
    columns = [as_rationals(layer.tolist()) for layer in problem.init.direction]
    rows = list(zip(*columns, strict=True))
    units = Units()
    if isinstance(network, Diagonal) and network.depth > 2:
        tails: dict[tuple[fmpq, ...], TailIntegral] = {}
        return Times(units, [_deep(row, units, tails) for row in rows])
    if isinstance(network, Power | SignedPower) and network.depth > 2:
        return Times(units, [_poles(row, network.depth) for row in rows])
    if isinstance(network, Diagonal | Paired | Power | SignedPower):
        return Times(units, [_two_layers(*exponentials(network, row)) for row in rows])
    raise CannotProve(f"the activation times of {network} are not known in rigorous arithmetic")


def given_times(plus: Sequence[fmpq | None], minus: Sequence[fmpq | None]) -> Times:
    """Rational activation times."""
    pairs = zip(plus, minus, strict=True)
    return Times(Units(), [(_rational(one), _rational(two)) for one, two in pairs])


def _rational(value: fmpq | None) -> Parts | None:
    if value is None:
        return None
    return {ONE: value} if value != 0 else {}


def _two_layers(grows: fmpq, decays: fmpq, rate: int) -> Pair:
    time = fmpq(2, rate)
    return _rational(time if grows != 0 else None), _rational(time if decays != 0 else None)


def _poles(row: Sequence[fmpq], degree: int) -> Pair:
    """The nearest pole on either side: that of the largest term."""
    largest = {1: fmpq(0), -1: fmpq(0)}
    for sign, size in power_terms(row, degree):
        largest[sign] = max(largest[sign], size)
    plus, minus = (
        1 / (size ** (degree - 2) * degree * (degree - 2)) if size != 0 else None
        for size in (largest[1], largest[-1])
    )
    return _rational(plus), _rational(minus)


def _deep(row: Sequence[fmpq], units: Units, tails: dict[tuple[fmpq, ...], TailIntegral]) -> Pair:
    smallest, *others = sorted(row, key=abs)
    if smallest == 0 and others[0] == 0:
        return None, None
    negative = sum(1 for one in others if one < 0) % 2 == 1
    outward = (smallest > 0) != negative
    # In units of the largest layer, so that proportional starts share their integrals.
    size = abs(others[-1])
    excesses = tuple((one * one - smallest * smallest) / size**2 for one in others)
    factor = 1 / size ** (len(others) - 1)

    def tail(x: fmpq) -> Parts:
        if not any(excesses):
            return {ONE: factor / (x ** (len(others) - 1) * (len(others) - 1))}

        def enclosed() -> arb:
            if excesses not in tails:
                tails[excesses] = TailIntegral([ball(one) for one in excesses])
            found: arb = tails[excesses].beyond(ball(x))
            return found

        return {units.number((excesses, x), enclosed): factor}

    ahead = tail(abs(smallest) / size)
    behind: Parts | None = None
    if all(one != 0 for one in excesses):
        whole = tail(fmpq(0))
        behind = combined(combined(whole, fmpq(1), whole), fmpq(-1), ahead)
    return (ahead, behind) if outward or smallest == 0 else (behind, ahead)
