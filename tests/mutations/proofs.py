"""Mutations of the prover: none may lead to a proof that is accepted and says something else.

Of every family the first problem whose proof the independent checker knows is proved anew with one
thing broken. The proof must then fail, or be rejected by the checker, or say the same as before.
"""

import dataclasses
import importlib
from itertools import count, islice

import numpy as np
import pytest
from flint import arb, ctx
from tests.campaign.families import draw
from tests.campaign.proofs import BITS, balls_of
from tests.mutations.mutation import PART, NotApplicable
from tests.oracles.proof_checker import NotKnown, Rejected, check

import limitpoint as lp

PROVE = importlib.import_module("limitpoint.theory.prove.prove")
PROVING = importlib.import_module("limitpoint.theory.proving")
SEPARABLE = importlib.import_module("limitpoint.theory.prove.separable.separable")
DIGITS = 20
# So many problems of a family are drawn in search of one that is proved and can be checked.
DRAWN = 20
# What a number is changed by that is seen in none but its last digits, and a radius is divided by.
LAST_DIGIT, FINER = "1e-15", 10**30
MUTATIONS = {}


def mutation(name):
    """Register a function that breaks something by a `pytest.MonkeyPatch`."""

    def register(apply):
        MUTATIONS[name] = apply
        return apply

    return register


def _afterwards(patch, change):
    """What the prover hands out is changed."""
    function = PROVE.proof_of

    def proof_of(*given):
        proof = function(*given)
        return dataclasses.replace(proof, **change(proof)) if proof.ok else proof

    patch.setattr(PROVING, "proof_of", proof_of)


def _decimals(patch, part, change):
    """All midpoints, or all radii, of the coefficients that are handed out."""

    def changed(proof):
        array = getattr(proof.coef, part)
        with ctx.workprec(BITS):
            found = [
                change(arb(str(one))).mid().str(2 * DIGITS, radius=False) for one in array.ravel()
            ]
        balls = {part: np.array(found).reshape(array.shape), "exact": None}
        return {"coef": dataclasses.replace(proof.coef, **balls)}

    _afterwards(patch, changed)


@mutation("midpoints off in the 16th digit")
def midpoints(patch, proof):
    if not any(proof.coef.values):
        raise NotApplicable
    _decimals(patch, "midpoint", lambda one: one * (1 + arb(LAST_DIGIT)))


@mutation("radii too small")
def radii(patch, proof):
    if not any(proof.coef.radii):
        raise NotApplicable  # rational, and exact
    _decimals(patch, "radius", lambda one: one / FINER)


@mutation("the enclosure of a root narrowed")
def narrowed(patch, proof):
    for name in ("enclosed_root", "quick_root"):
        enclosed = getattr(SEPARABLE, name)

        def narrow(*given, enclosed=enclosed):
            return [one.mid() + arb(LAST_DIGIT) * one.mid() for one in enclosed(*given)]

        patch.setattr(SEPARABLE, name, narrow)


@mutation("the mirror map of one coefficient +1 %")
def mirror_map(patch, proof):
    maps_of = SEPARABLE.mirror_maps

    def stretched(problem):
        maps = maps_of(problem)
        place = next(i for i, one in enumerate(maps) if one is not None)
        return [_Stretched(one) if i == place else one for i, one in enumerate(maps)]

    patch.setattr(SEPARABLE, "mirror_maps", stretched)


class _Stretched:
    """A map whose coefficients are one per cent larger."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def at(self, xi):
        value, slope = self._inner.at(xi)
        return (1 + PART) * value, (1 + PART) * slope


@mutation("a hint with the wrong signs and sizes")
def hint(patch, proof):
    function = PROVE.proof_of

    def misled(problem, theorem, digits, hint, *most_bits):
        if hint is None:
            raise NotApplicable
        wrong = dataclasses.replace(
            hint, signs=-hint.signs, log_abs_coef=hint.log_abs_coef[::-1] + 1, dual=-7 * hint.dual
        )
        return function(problem, theorem, digits, wrong, *most_bits)

    patch.setattr(PROVING, "proof_of", misled)


def _by_another(method):
    def apply(patch, proof):
        ids = [one for one, made in PROVE.METHODS.items() if made is not method]
        if len(ids) == len(PROVE.METHODS):
            raise NotApplicable
        patch.setattr(PROVE, "METHODS", dict.fromkeys(PROVE.METHODS, method))

    return apply


for _method in dict.fromkeys(PROVE.METHODS.values()):
    mutation(f"by {_method.__name__}")(_by_another(_method))


def accepted(proof):
    """Whether the checker accepts; `NotKnown` where it does not know the kind."""
    try:
        check(dict(proof.problem), proof.to_dict())
    except NotKnown:
        raise
    except (Rejected, ValueError, KeyError, IndexError, ZeroDivisionError, TypeError):
        return False
    return True


def example_of(family):
    """The first problem of a family whose proof the checker accepts, and the proof; or None."""
    for number in islice(count(), DRAWN):
        case = draw(family, 0, number, decades=1.0, scales=(-2.0, 0.0))
        proof = lp.prove(case.problem, digits=DIGITS)
        try:
            if proof.ok and accepted(proof):
                return case.problem, proof
        except NotKnown:
            continue
    return None


def row_of(family):
    """What becomes of each mutation: why it is harmless, or "WRONG"."""
    example = example_of(family)
    if example is None:
        return None
    problem, proof = example
    found = {}
    for name, apply in MUTATIONS.items():
        with pytest.MonkeyPatch.context() as patch:
            try:
                apply(patch, proof)
                broken = lp.prove(problem, digits=DIGITS)
            except NotApplicable:
                continue
            except Exception:  # a method made for other problems
                found[name] = "refused"
            else:
                found[name] = _outcome(broken, proof)
    return found


def _outcome(broken, proof):
    if not broken.ok:
        return "refused"
    try:
        if not accepted(broken):
            return "rejected"
    except NotKnown:
        pass
    with ctx.workprec(BITS):
        pairs = zip(balls_of(broken.coef), balls_of(proof.coef), strict=True)
        return "same" if all(a.overlaps(b) for a, b in pairs) else "WRONG"


def wrong(rows):
    """The families and mutations that led to a proof of something else."""
    pairs = [
        (family, name, end) for family, row in rows.items() for name, end in (row or {}).items()
    ]
    return [(family, name) for family, name, end in pairs if end == "WRONG"]


def in_words(rows):
    """One line for each mutation: in how many families it came to what."""
    lines = [f"{'PROOFS':<45}refused rejected same WRONG"]
    for name in MUTATIONS:
        ends = [row[name] for row in rows.values() if row is not None and name in row]
        counts = [ends.count(one) for one in ("refused", "rejected", "same", "WRONG")]
        lines.append(f"{name:<45}{counts[0]:>7}{counts[1]:>9}{counts[2]:>5}{counts[3]:>6}")
    without = [name for name, row in rows.items() if row is None]
    return "\n".join([*lines, f"no proof that can be checked: {', '.join(without) or 'none'}"])
