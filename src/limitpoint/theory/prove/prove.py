"""Prove the limit: choose the method, raise the precision until it is enough, say what was proved.

The prover uses no solver, mirror map or certificate of ours: a float64 prediction may say where to
look, and nothing that is proved rests on it.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flint import arb, ctx, fmpq

from limitpoint.networks import Network
from limitpoint.problem import Problem
from limitpoint.theory.prove.beside_poles import LOST, lost_bits
from limitpoint.theory.prove.coupled import prove_coupled, prove_vanishing_coupled
from limitpoint.theory.prove.lazy import prove_lazy
from limitpoint.theory.prove.loss_vanishes import prove_vanishing_dense
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision
from limitpoint.theory.prove.proof import Balls, Proof
from limitpoint.theory.prove.separable import prove_separable
from limitpoint.theory.prove.two_layer_spectrum import prove_two_layer

__all__ = ["METHODS", "proof_of"]

# Bits beyond the digits asked for at the first try, and the most that is tried: what 10^-1000 to
# the power of a network of a few layers needs.
SPARE_BITS, MOST_BITS = 64, 1 << 14
BITS_PER_DIGIT = 3.33
LOG_2 = math.log(2.0)
# Doublings after the accuracy is reached by all coefficients but some whose sign is not decided: a
# coefficient that is exactly zero never decides it.
PATIENCE = 2

Method = Callable[[Problem, Hint | None], Found]

# How the limit by each theorem of the atlas is proved.
METHODS: Mapping[str, Method] = {
    "labarriere2024.theorem1": prove_separable,
    "yun2021.corollary5": prove_separable,
    "limitpoint.separable": prove_separable,
    "limitpoint.sign_constrained": prove_separable,
    "limitpoint.boundary": prove_separable,
    "limitpoint.lazy": prove_lazy,
    "lyu2023.theorem1": prove_coupled,
    "lyu2023.theorem2": prove_coupled,
    "lyu2023.proposition2": prove_coupled,
    "limitpoint.rank_one": prove_coupled,
    "lyu2023.corollary1.1": prove_vanishing_coupled,
    "limitpoint.rank_one_at_zero": prove_vanishing_coupled,
    "yun2021.theorem7": prove_vanishing_dense,
    "varre2023.theorem3.1": prove_two_layer,
    "varre2023.theorem3.1_at_zero": prove_two_layer,
}


def proof_of(problem: Problem, theorem: str, digits: int, hint: Hint | None) -> Proof:
    """Prove the limit that a theorem gives to so many digits, or say why not."""
    began = time.perf_counter()
    try:
        if theorem not in METHODS:
            raise CannotProve(f"limits by {theorem} are not proved so far")
        found, bits = _at_some_precision(METHODS[theorem], problem, digits, hint)
    except CannotProve as error:
        return refused(problem, str(error), digits, time.perf_counter() - began)
    shape = found.shape or problem.network.coef(problem.init.direction).shape
    numbers = [*found.coef, *(one for array in found.more.values() for one in array.ravel())]
    rational = all(isinstance(one, fmpq) for one in numbers)

    def balls(
        numbers: Sequence[Any] | None, of_shape: tuple[int, ...] | None, most: int = 0
    ) -> Balls | None:
        if numbers is None:
            return None
        return Balls.of(numbers, of_shape or (len(numbers),), digits + 5, most)

    with ctx.workprec(bits + SPARE_BITS):
        return Proof(
            ok=True,
            statement=found.statement,
            theorem=found.theorem or theorem,
            assumed=found.assumed,
            fits=found.fits,
            coef=balls(found.coef, shape),
            mirror=balls(found.mirror, found.mirror_shape),
            # In full: next to a pole a coefficient is lost with the last digits of the dual.
            dual=balls(found.dual, found.dual_shape, bits),
            more={
                name: Balls.of(list(array.ravel()), array.shape, digits + 5)
                for name, array in found.more.items()
            },
            method=found.method,
            kind=found.kind,
            witness=found.witness,
            reason="",
            digits=digits,
            bits=0 if rational else bits,
            seconds=time.perf_counter() - began,
            problem=described(problem),
        )


def _at_some_precision(
    method: Method, problem: Problem, digits: int, hint: Hint | None
) -> tuple[Found, int]:
    """Double the precision until the radii are what was asked for."""
    lost = problem.network.degree - 2 if method is prove_separable else 0
    bits, why, reached, waited = _first_bits(problem, digits, lost), "", None, 0
    while bits <= MOST_BITS:
        with ctx.workprec(bits):
            try:
                found = method(problem, hint)
                open_, undecided = _short_of(found, digits)
            except MorePrecision as error:
                why, open_, undecided = str(error), True, False
        if not open_ and not undecided:
            return found, bits
        if not open_ and undecided:
            reached, waited = (found, bits), waited + 1
            if waited > PATIENCE:
                return reached
        bits *= 2
    if reached is not None:
        return reached
    raise CannotProve(f"{why or 'the radii stay too large'} (up to {MOST_BITS} bits were tried)")


def _first_bits(problem: Problem, digits: int, power: int) -> int:
    """What the digits take, and what a small scale s takes of them, a part `s^power`.

    The mirror coordinates of L > 2 layers end within a part `s^{L−2}` of their poles.
    """
    lost = lost_bits(problem)
    return int(BITS_PER_DIGIT * digits) + (lost if lost <= LOST else 0) + SPARE_BITS


def _short_of(found: Found, digits: int) -> tuple[bool, bool]:
    """Whether a radius is larger than asked for; and whether that is so of undecided signs only."""
    allowed, undecided = arb(10) ** -digits, False
    sizes: Sequence[Any] = found.sizes or [None] * len(found.coef)
    for one, size in zip(found.coef, sizes, strict=True):
        if isinstance(one, fmpq) or one.rad() <= allowed * one.abs_lower():
            continue
        if size is None or not one.contains(0) or not one.rad() <= allowed * arb(size.abs_lower()):
            return True, False
        undecided = True
    return False, undecided


def refused(problem: Problem, reason: str, digits: int, seconds: float) -> Proof:
    """No proof, and why."""
    return Proof(
        ok=False,
        statement="Nothing is proved.",
        theorem="",
        assumed=(),
        fits=False,
        coef=None,
        mirror=None,
        dual=None,
        more={},
        method="",
        kind="",
        witness={},
        reason=reason,
        digits=digits,
        bits=0,
        seconds=seconds,
        problem=described(problem),
    )


def described(problem: Problem) -> dict[str, Any]:
    """The exact problem as plain values: floats are written so that they are read back exactly."""
    init, task = problem.init, problem.task
    scale = {"log_scale": init.log_scale} if init.log_scale_given else {"scale": init.scale}
    return {
        "network": str(problem.network),
        **_arrays(problem.network),
        "direction": [layer.tolist() for layer in init.direction],
        **scale,
        "task": type(task).__name__,
        "X": task.X.tolist(),
        "y": task.y.tolist(),
    }


def _arrays(network: Network) -> dict[str, Any]:
    """The arrays that a network is given by, which its name leaves out."""
    found: dict[str, Any] = {}
    for name in ("S", "U", "M"):
        value = getattr(network, name, None)
        if value is not None:
            found[name] = [one.tolist() for one in value]
    return found
