"""Prove the limit: choose the method, raise the precision until it is enough, say what was proved.

The prover uses no solver, mirror map or certificate of ours: a float64 prediction may say where to
look, and nothing that is proved rests on it.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flint import arb, ctx, fmpq

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Network
from limitpoint.problem import Problem
from limitpoint.tasks import Classification
from limitpoint.theory.prove.coupled.coupled import prove_coupled, prove_vanishing_coupled
from limitpoint.theory.prove.coupled.loss_vanishes import prove_vanishing_dense
from limitpoint.theory.prove.coupled.two_layer_spectrum import prove_two_layer
from limitpoint.theory.prove.exact.numbers import as_rationals, rational, rational_matrix
from limitpoint.theory.prove.margins.fourier_margin import prove_fourier_margin
from limitpoint.theory.prove.margins.least_euclidean_margin import prove_euclidean_margin
from limitpoint.theory.prove.margins.least_sum_margin import (
    prove_sparse_margin,
    prove_transformed_margin,
)
from limitpoint.theory.prove.margins.one_sample_direction import prove_one_sample_direction
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision
from limitpoint.theory.prove.proof import Balls, Proof
from limitpoint.theory.prove.reduced.diagonalisable import prove_diagonalisable
from limitpoint.theory.prove.reduced.one_sample import prove_one_sample
from limitpoint.theory.prove.separable.beside_poles import LOST, lost_bits
from limitpoint.theory.prove.separable.lazy import prove_lazy
from limitpoint.theory.prove.separable.separable import prove_separable
from limitpoint.theory.prove.vanishing.activation import given_times
from limitpoint.theory.prove.vanishing.vanishing import prove_saddles, prove_vanishing

__all__ = ["METHODS", "MOST_BITS", "proof_by_method", "proof_of", "proof_of_path", "refused"]

# Bits beyond the digits asked for at the first try, and the most that is tried: what 10^-1000 to
# the power of a network of a few layers needs.
SPARE_BITS, MOST_BITS = 64, 1 << 14
BITS_PER_DIGIT = 3.33
LOG_2 = math.log(2.0)
# Doublings after the accuracy is reached by all coefficients but some whose sign is not decided: a
# coefficient that is exactly zero never decides it.
PATIENCE = 2

# Of the saddle path of given activation times.
VANISHING = "zhao2026.corollary4.6"
GIVEN_TIMES = "the activation times are those of the network"

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
    VANISHING: prove_vanishing,
    "limitpoint.sign_constrained_at_zero": prove_vanishing,
    "limitpoint.one_sample": prove_one_sample,
    "limitpoint.diagonalisable": prove_diagonalisable,
    "yun2021.theorem5": prove_diagonalisable,
    "yun2021.corollary6": prove_diagonalisable,
    "yun2021.corollary7": prove_diagonalisable,
    "yun2021.theorem6": prove_one_sample,
    "yun2021.corollary1": prove_euclidean_margin,
    "yun2021.corollary2": prove_sparse_margin,
    "yun2021.corollary3": prove_fourier_margin,
    "yun2021.theorem2": prove_transformed_margin,
    "yun2021.theorem3": prove_one_sample_direction,
    "yun2021.corollary4": prove_one_sample_direction,
}


def proof_of(
    problem: Problem, theorem: str, digits: int, hint: Hint | None, most_bits: int = MOST_BITS
) -> Proof:
    """Prove the limit that a theorem gives to so many digits, or say why not."""
    about = described(problem)
    if theorem not in METHODS:
        return refused(problem, f"limits by {theorem} are not proved so far", digits, 0.0)
    shape = problem.network.coef(problem.init.direction).shape
    method = METHODS[theorem]
    bits = int(BITS_PER_DIGIT * digits) + SPARE_BITS
    if method is prove_separable and lost_bits(problem) <= LOST:
        bits += lost_bits(problem)
    return proof_by_method(
        lambda: method(problem, hint),
        about,
        theorem,
        digits,
        bits=bits,
        shape=shape,
        most_bits=most_bits,
    )


def proof_of_path(
    X: Float, y: Float, t_plus: Float, t_minus: Float, digits: int, *, bounded: bool = False
) -> Proof:
    """Prove the saddle path of these floats; infinite activation times are of sides that are none.

    `bounded` says that coefficients have bounds other than zero, which is not proved so far.
    """
    about = {
        "task": "saddle path",
        "X": X.tolist(),
        "y": y.tolist(),
        "t_plus": t_plus.tolist(),
        "t_minus": t_minus.tolist(),
    }

    def method() -> Found:
        if bounded:
            raise CannotProve("paths of coefficients with bounds other than zero are not proved")
        times = given_times(*([_finite(one) for one in t.tolist()] for t in (t_plus, t_minus)))
        found = prove_saddles(rational_matrix(X), as_rationals(y.tolist()), times)
        return replace(found, assumed=(GIVEN_TIMES, *found.assumed))

    bits = int(BITS_PER_DIGIT * digits) + SPARE_BITS
    return proof_by_method(method, about, VANISHING, digits, bits=bits, shape=t_plus.shape)


def _finite(time: float) -> fmpq | None:
    return None if math.isinf(time) else rational(time)


def proof_by_method(
    method: Callable[[], Found],
    about: Mapping[str, Any],
    theorem: str,
    digits: int,
    *,
    bits: int,
    shape: tuple[int, ...],
    most_bits: int = MOST_BITS,
) -> Proof:
    """What a method proves of a problem (plain values), or why it does not.

    Parameters
    ----------
    bits, most_bits
        The precision to begin with, and the highest that is tried.
    shape
        Of the coefficients.
    """
    began = time.perf_counter()
    try:
        found, bits = _at_some_precision(method, digits, bits, max(bits, most_bits))
    except CannotProve as error:
        return _nothing(about, error, digits, time.perf_counter() - began)
    shape = found.shape or shape
    every = [*found.coef, *(found.mirror or ()), *(found.dual or ())]
    every += [one for array in found.more.values() for one in array.ravel()]
    # What is infinite is a float.
    rational = all(isinstance(one, fmpq | float) for one in every)

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
            problem=about,
        )


def _at_some_precision(
    method: Callable[[], Found], digits: int, bits: int, most_bits: int
) -> tuple[Found, int]:
    """Double the precision until the radii are what was asked for."""
    why, reached, waited = "", None, 0
    while bits <= most_bits:
        with ctx.workprec(bits):
            try:
                found = method()
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
    raise CannotProve(f"{why or 'the radii stay too large'} (up to {most_bits} bits were tried)")


def _short_of(found: Found, digits: int) -> tuple[bool, bool]:
    """Whether a radius is larger than asked for; and whether that is so of undecided signs only."""
    allowed, undecided = arb(10) ** -digits, False
    sizes: Sequence[Any] = found.sizes or [None] * len(found.coef)
    pairs = [*zip(found.coef, sizes, strict=True), *((one, None) for one in found.also)]
    for one, size in pairs:
        if isinstance(one, fmpq) or one.rad() <= allowed * one.abs_lower():
            continue
        if size is None or not one.contains(0) or not one.rad() <= allowed * arb(size.abs_lower()):
            return True, False
        undecided = True
    return False, undecided


def refused(problem: Problem, reason: str, digits: int, seconds: float) -> Proof:
    """No proof, and why."""
    return _nothing(described(problem), CannotProve(reason), digits, seconds)


def _nothing(about: Mapping[str, Any], why: CannotProve, digits: int, seconds: float) -> Proof:
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
        kind=why.kind,
        witness=why.witness,
        reason=str(why),
        digits=digits,
        bits=0,
        seconds=seconds,
        problem=about,
    )


def described(problem: Problem) -> dict[str, Any]:
    """The exact problem as plain values: floats are written so that they are read back exactly."""
    init, task = problem.init, problem.task
    loss = {"loss": task.loss_name} if isinstance(task, Classification) else {}
    scale = {"log_scale": init.log_scale} if init.log_scale_given else {"scale": init.scale}
    return {
        "network": str(problem.network),
        **_arrays(problem.network),
        "direction": [layer.tolist() for layer in init.direction],
        **scale,
        "task": type(task).__name__,
        **loss,
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
