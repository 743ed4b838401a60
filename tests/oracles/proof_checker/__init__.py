"""Check a proof from its problem and its JSON export alone: fractions and mpmath's intervals.

None of our code: an hour with a textbook of interval arithmetic should suffice to write it again.
`check` raises `Rejected` unless the claimed balls contain enclosures that are computed here anew.
One module for each kind of proof.
"""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import NotKnown, Rejected, claimed, flat
from tests.oracles.proof_checker.face_root import face_root
from tests.oracles.proof_checker.least_norm import least_norm
from tests.oracles.proof_checker.mirror_root import mirror_root
from tests.oracles.proof_checker.radial_root import least_of_all, radial_root, saddle
from tests.oracles.proof_checker.two_layer_spectrum import two_layer_spectrum

__all__ = ["KINDS", "NotKnown", "Rejected", "check"]

KINDS = {
    "mirror root": mirror_root,
    "mirror root on a face": face_root,
    "weighted least norm": least_norm,
    "radial root": radial_root,
    "saddle": saddle,
    "least norm": least_of_all,
    "two-layer spectrum": two_layer_spectrum,
}


def check(problem, exported):
    """`problem`: network, direction, scale or log_scale, X and y, as in the export."""
    if exported.get("format") != "limitpoint proof 1" or exported.get("ok") is not True:
        raise Rejected("not a proof")
    if exported["problem"] != problem:
        raise Rejected("a proof of another problem")
    if exported["kind"] not in KINDS:
        raise NotKnown(f"a kind of proof that is not known: {exported['kind']}")
    _accurate(exported)
    precision = mp.prec, iv.prec
    mp.prec = iv.prec = 2 * exported["bits"] + 8 * exported["digits"] + 200
    try:
        KINDS[exported["kind"]](problem, exported)
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
