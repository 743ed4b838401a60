"""Check a proof from its problem and its JSON export alone: fractions and mpmath's intervals.

None of our code: an hour with a textbook of interval arithmetic should suffice to write it again.
`check` raises `Rejected` unless the claimed balls contain enclosures that are computed here anew.
One module for each kind of proof.
"""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import NotKnown, Rejected, claimed, flat
from tests.oracles.proof_checker.face_root import face_root
from tests.oracles.proof_checker.fourier_margin import fourier_margin
from tests.oracles.proof_checker.least_norm import least_norm
from tests.oracles.proof_checker.margins import (
    euclidean_margin,
    not_separable,
    not_unique,
    signed,
    sparse_margin,
)
from tests.oracles.proof_checker.mirror_root import mirror_root
from tests.oracles.proof_checker.one_sample import one_sample, one_sample_at_zero
from tests.oracles.proof_checker.products import least_products, products, products_on_face
from tests.oracles.proof_checker.radial_root import least_of_all, radial_root, saddle
from tests.oracles.proof_checker.singular_vectors import singular_vectors
from tests.oracles.proof_checker.two_layer_spectrum import two_layer_spectrum
from tests.oracles.proof_checker.vanishing import least_weighted_l1, saddle_path, two_minimisers

__all__ = ["KINDS", "REFUSALS", "NotKnown", "Rejected", "check", "check_refusal"]

KINDS = {
    "mirror root": mirror_root,
    "mirror root on a face": face_root,
    "weighted least norm": least_norm,
    "radial root": radial_root,
    "saddle": saddle,
    "least norm": least_of_all,
    "two-layer spectrum": two_layer_spectrum,
    "saddle path": saddle_path,
    "least weighted l1": least_weighted_l1,
    "products": products,
    "products on a face": products_on_face,
    "products of least norm": least_products,
    "one sample": one_sample,
    "one sample at scale zero": one_sample_at_zero,
    "ℓ2 margin": euclidean_margin,
    "ℓ1 margin": sparse_margin,
    "Fourier ℓ1 margin": fourier_margin,
    "top singular vectors": singular_vectors,
}
# What proves that there is no proof.
REFUSALS = {
    "two minimisers": two_minimisers,
    "not unique": not_unique,
    "not separable": lambda problem, exported: not_separable(
        signed(problem), exported["witness"]["weights"]
    ),
}


def check(problem, exported):
    """`problem`: network, direction, scale or log_scale, X and y, as in the export."""
    if exported.get("format") != "limitpoint proof 1" or exported.get("ok") is not True:
        raise Rejected("not a proof")
    if exported["problem"] != problem:
        raise Rejected("a proof of another problem")
    _accurate(exported)
    _run(KINDS, problem, exported)


def check_refusal(problem, exported):
    """Nothing was proved, for a reason that the witness proves."""
    if exported.get("format") != "limitpoint proof 1" or exported.get("ok") is not False:
        raise Rejected("not a refusal")
    if exported["problem"] != problem:
        raise Rejected("a refusal of another problem")
    _run(REFUSALS, problem, exported)


def _run(kinds, problem, exported):
    if exported["kind"] not in kinds:
        raise NotKnown(f"a kind that is not known: {exported['kind']}")
    precision = mp.prec, iv.prec
    mp.prec = iv.prec = 2 * exported["bits"] + 8 * exported["digits"] + 200
    try:
        kinds[exported["kind"]](problem, exported)
    except ZeroDivisionError as error:
        raise Rejected(f"an inverse that does not exist: {error}") from None
    finally:
        mp.prec, iv.prec = precision


def _accurate(exported):
    """As many digits as it says, of every coefficient whose sign is decided; fractions in balls."""
    for middle, radius in claimed(exported["coef"]):
        if radius < 0 or (radius < abs(middle) and radius > abs(middle) / 10 ** exported["digits"]):
            raise Rejected("a radius is not what the digits say")
    exact = flat(exported["coef"].get("exact", []))
    for (middle, radius), one in zip(claimed(exported["coef"]), exact, strict=False):
        if abs(Fraction(one) - middle) > radius:
            raise Rejected("a fraction is not in its ball")
