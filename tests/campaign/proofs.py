"""The campaign over proofs: every family, at scales from 10^-1000 to 10^6.

Every other problem has the scale that its family draws, the others one of `WIDE`. A proof is held
against the oracle where that takes no more digits than a second allows, against the checker that
shares no code where that knows the kind, and against a proof to more digits; and the limit of
float64, where that is certified, against the proof.
"""

import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx
from mpmath import mp, mpf
from tests.campaign.families import FAMILIES, draw
from tests.campaign.gaussian import gaussian
from tests.campaign.measure import WELL_CONDITIONED, condition, predicted
from tests.campaign.workers import in_order
from tests.oracles.exact.separable import NotSolved
from tests.oracles.proof_checker import NotKnown, Rejected, check

import limitpoint as lp

COUNT = 200
# Powers of ten of the scales that are drawn besides those of the family.
WIDE = (-1000.0, 6.0)
# The digits asked for, and those of the second proof: balls that do not meet are wrong.
DIGITS, MORE = 30, 45
# The oracle has 55 digits, of which it may lose as many as coefficients cancel.
ORACLE = mpf(10) ** -50
# Networks of L layers need `(L − 2) log₁₀(1/s)` digits more; beyond so many the quadratures of an
# oracle take minutes, and beyond so many bits the checker does.
ORACLE_DIGITS, CHECKER_BITS = 100, 10_000
# The checker takes decimals for fractions: those of larger exponents fill the memory.
LARGEST_EXPONENT = 100_000
# Oracles know of no start from which training ends at the saddle although the data can be fitted.
SADDLE = "lyu2023.proposition2"
NO_THEOREM = "no theorem determines the limit"
# At least this share of well-conditioned Gaussian problems must be proved.
SHARE = 0.99
# What is smaller is zero in float64.
SMALLEST = float(np.spacing(0.0))
# Bits in which decimals are compared: of 45 digits and floats, many more than they have.
BITS = 512
HEAD = (
    f"{'family':<18}{'n':>5}{'proved':>8}{'oracle':>8}{'checked':>8}{'wrong':>7}"
    f"{'cert.':>7}{'out':>5}{'median':>8}{'slowest':>9}"
)
LEGEND = """\
proved   limits enclosed to 30 digits
oracle   of those, that the oracle answered and that contain its answer
checked  of those, that the checker knows and accepts
wrong    proofs that the oracle, the checker or a proof to 45 digits contradict
cert.    certified float64 limits of what is proved; out: outside of their certificate's bound
median, slowest: seconds of a proof"""
HEAD_OF_SHARES = (
    f"{'family':<18}{'n':>5}{'well':>6}{'proved':>8}{'share':>8}{'median':>8}{'slowest':>9}"
)


@dataclass(frozen=True)
class Proved:
    """One problem of the campaign.

    Attributes
    ----------
    power
        The scale, as a power of ten.
    reason
        Why it was not proved; empty where it was.
    oracle, checker
        "yes", "no" with what is wrong, or empty where there is none.
    apart
        Whether a proof to more digits contradicts it.
    certified, outside
        Whether float64 certifies its limit, and the largest share of a coefficient's error in the
        bound of its certificate; above one the certificate was wrong.
    condition
        The equilibrated condition number.
    defect
        The message of an exception.
    """

    family: str
    number: int
    kind: str
    power: float
    reason: str = ""
    seconds: float = 0.0
    oracle: str = ""
    checker: str = ""
    apart: bool = False
    certified: bool = False
    outside: float = 0.0
    condition: float = 0.0
    defect: str = ""

    @property
    def ok(self):
        """Whether it was proved."""
        return not self.reason and not self.defect

    @property
    def wrong(self):
        """Whether anything contradicts the proof."""
        return self.oracle.startswith("no") or self.checker.startswith("no") or self.apart

    @property
    def is_outside(self):
        """Whether the certificate of float64 was wrong."""
        return self.certified and self.outside > 1


def add_arguments(parser):
    parser.add_argument("--count", type=int, default=COUNT, help="problems of every family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--gaussian", action="store_true", help="Gaussian data: the share that is proved"
    )


def run(given):
    """Print the table; whether every family passes."""
    passed = True
    print(HEAD_OF_SHARES if given.gaussian else HEAD)
    measured, line, wrong = (
        (gaussian_outcome, share_row, unproved) if given.gaussian else (outcome_of, row, faults)
    )
    for name in given.families:
        todo = [(name, given.seed, number) for number in range(given.count)]
        outcomes = list(in_order(measured, todo, given.jobs))
        print(line(name, outcomes), flush=True)
        for words in (*notes(outcomes), *wrong(outcomes)):
            print(f"  {words}", flush=True)
        passed = passed and not wrong(outcomes)
    print(LEGEND, file=sys.stderr)
    return passed


def drawn(name, seed, number):
    """One problem of a family: every other at a scale that no float holds."""
    case = draw(name, seed, number)
    if number % 2 == 0 or not case.problem.init.is_finite:
        return case
    rng = np.random.default_rng([seed, number, DIGITS])
    return case.at_scale(float(rng.uniform(*WIDE)))


def outcome_of(name, seed, number):
    """One problem, drawn, proved and compared."""
    return measured(drawn(name, seed, number))


def gaussian_outcome(name, seed, number):
    """One problem of Gaussian data, proved."""
    rng = np.random.default_rng([seed, number, DIGITS])
    return proved(gaussian(draw(name, seed, number, decades=0.0), rng, WIDE))[0]


def measured(case):
    """Proved, and compared with all that there is."""
    found, proof = proved(case)
    if not found.ok:
        return found
    limit, _ = predicted(case.problem, escalate=False)
    certified = limit is not None and limit.certificate.ok and limit.status.ok
    return Proved(
        **vars(found)
        | {
            "oracle": _by_oracle(case, proof),
            "checker": _by_checker(proof),
            "apart": _apart(proof, lp.prove(case.problem, digits=MORE)),
            "certified": bool(certified),
            "outside": outside(limit, proof) if certified else 0.0,
        }
    )


def proved(case):
    """What became of a proof, and the proof."""
    init = case.problem.init
    known = {
        "family": case.family,
        "number": case.number,
        "kind": case.kind,
        "power": float(init.log_scale / np.log(10.0)),
        "condition": condition(case.design),
    }
    try:
        proof = lp.prove(case.problem, digits=DIGITS)
    except Exception as error:
        return Proved(**known, defect=f"{type(error).__name__}: {error}"[:200]), None
    return Proved(**known, reason=proof.reason, seconds=proof.seconds), proof


def balls_of(balls):
    """As balls of Arb, which have room for every exponent."""
    pairs = zip(balls.midpoint.ravel(), balls.radius.ravel(), strict=True)
    return [arb(str(middle), arb(str(radius))) for middle, radius in pairs]


def _by_oracle(case, proof):
    init, network = case.problem.init, case.problem.network
    lost = max(0.0, (network.degree - 2) * -init.log_scale / np.log(10.0)) if init.is_finite else 0
    if case.oracle is None or lost > ORACLE_DIGITS or proof.theorem == SADDLE:
        return ""
    try:
        truth = case.oracle()
    except NotSolved:
        return ""
    if not truth.unique:
        return "no: the oracle says that the limit is not unique"
    if truth.fits != proof.fits:
        return f"no: the oracle says that fits is {truth.fits}"
    numbers = [b for one in truth.coef for b in (one if isinstance(one, list) else [one])]
    with mp.workdps(80):
        # Where the proof says zero exactly, the oracle's own error is one of the others.
        largest = max(abs(b) for b in numbers)
        balls = zip(proof.coef.midpoint.ravel(), proof.coef.radius.ravel(), strict=True)
        missed = [
            i
            for i, ((m, r), b) in enumerate(zip(balls, numbers, strict=True))
            if abs(mpf(m) - b) > mpf(r) + ORACLE * (largest if abs(mpf(m)) <= mpf(r) else abs(b))
        ]
    return f"no: coefficients {missed} are not contained" if missed else "yes"


def _by_checker(proof):
    powers = (int(one.partition("e")[2] or 0) for one in proof.coef.midpoint.ravel())
    if proof.bits > CHECKER_BITS or max(map(abs, powers), default=0) > LARGEST_EXPONENT:
        return ""
    try:
        check(dict(proof.problem), proof.to_dict())
    except NotKnown:
        return ""
    except Rejected as error:
        return f"no: {error}"
    return "yes"


def _apart(proof, finer):
    """Whether balls of two proofs do not meet; nothing is known where there is but one."""
    if not finer.ok:
        return False
    with ctx.workprec(BITS):
        pairs = zip(balls_of(proof.coef), balls_of(finer.coef), strict=True)
        return not all(a.overlaps(b) for a, b in pairs)


def outside(limit, proof):
    """The largest share that an error has in its bound; coefficients that no float holds apart.

    The error is measured against the nearest point of the ball. Certificates without bounds of
    their coefficients bound what these contribute, all in one.
    """
    bounds = limit.certificate.coef_errors
    if bounds is None:
        return 0.0
    worst = 0.0
    with ctx.workprec(BITS):
        found = zip(limit.coef.ravel(), bounds.ravel(), balls_of(proof.coef), strict=True)
        for value, bound, ball in found:
            if np.isfinite(bound):
                error = arb((arb(float(value)) - ball).abs_lower())
                worst = max(worst, float((error / (arb(float(bound)) + SMALLEST)).mid()))
    return worst


def faults(outcomes):
    """What a family must not have, in words."""
    found = []
    for o in outcomes:
        words = [o.defect] if o.defect else []
        words += [side for side in (o.oracle, o.checker) if side.startswith("no")]
        words += ["a proof to more digits contradicts it"] if o.apart else []
        words += [f"float64 is off by {o.outside:.2g} of its bound"] if o.is_outside else []
        found += [f"{o.family} {o.number} ({o.kind}, 10^{o.power:.1f}): {one}" for one in words]
    return found


def notes(outcomes):
    """Why what is not proved is not, and one number of each reason."""
    reasons = Counter(_short(o.reason) for o in outcomes if o.reason)
    first = {_short(o.reason): o.number for o in reversed(outcomes)}
    return [f"{count} × {words} (number {first[words]})" for words, count in reasons.items()]


def _short(reason):
    return NO_THEOREM if reason.startswith(NO_THEOREM) else reason.split("\n")[0][:120]


def row(name, outcomes):
    """Counts of one family."""
    right = [o for o in outcomes if o.ok]
    certified = [o for o in right if o.certified]
    verdict = " FAILS" if faults(outcomes) else ""
    return (
        f"{name:<18}{len(outcomes):>5}{len(right):>8}{sum(o.oracle == 'yes' for o in right):>8}"
        f"{sum(o.checker == 'yes' for o in right):>8}{sum(o.wrong for o in right):>7}"
        f"{len(certified):>7}{sum(o.is_outside for o in certified):>5}{_seconds(right)}{verdict}"
    )


def _well(outcomes):
    """Those well conditioned whose limit some theorem gives: not all do with other data."""
    return [
        o
        for o in outcomes
        if o.condition < WELL_CONDITIONED and not o.reason.startswith(NO_THEOREM)
    ]


def share_row(name, outcomes):
    """The share of well-conditioned Gaussian problems that is proved."""
    well = _well(outcomes)
    right = [o for o in well if o.ok]
    share = f"{100 * len(right) / len(well):.1f}%" if well else "-"
    verdict = " FAILS" if unproved(outcomes) else ""
    return (
        f"{name:<18}{len(outcomes):>5}{len(well):>6}{len(right):>8}{share:>8}"
        f"{_seconds(right)}{verdict}"
    )


def unproved(outcomes):
    """The well-conditioned ones that are not proved, if they are too many."""
    well = _well(outcomes)
    missing = [o for o in well if not o.ok]
    found = [f"{o.family} {o.number}: {o.defect}" for o in missing if o.defect]
    if len(missing) > (1 - SHARE) * len(well):
        numbers = ", ".join(str(o.number) for o in missing)
        found.append(f"{missing[0].family}: not proved are {numbers}")
    return found


def _seconds(right):
    times = [o.seconds for o in right] or [0.0]
    return f"{np.median(times):>8.2g}{max(times):>9.2g}"
