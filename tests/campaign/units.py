"""The campaign over units: every family against its oracle, rows and columns times 10^U(−8, 8)."""

import sys

from tests.campaign.families import FAMILIES, draw
from tests.campaign.measure import measure
from tests.campaign.report import failures
from tests.campaign.workers import in_order

COUNT = 300
# At least this share of well-conditioned problems must be certified.
SHARE = 0.97
HEAD = (
    f"{'family':<18}{'n':>5}{'cert.':>7}{'well':>7}{'error':>9}{'missed':>9}"
    f"{'stat.':>6}{'ref.':>6}{'def.':>6}"
)
LEGEND = """\
cert.   certified limits
well    the same among data whose condition number is below 1e6 once equilibrated,
        where the limit is unique and float64 holds it well enough to fit
error   worst |x_ji d_i| / (|x_j|'|b| + |y_j|) of the certified, d the error of b
missed  worst |x_j'b - y_j| / |y_j| of those that are said to fit
stat.   said to fit where nothing fits, or the reverse, or unique where it is not
ref.    errors that name their reason
def.    other exceptions, which are defects"""


def add_arguments(parser):
    parser.add_argument("--count", type=int, default=COUNT, help="problems of every family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--failures", metavar="FILE", help="append the worst cases, with their code"
    )


def run(given):
    """Print the table; whether every family passes."""
    passed = True
    print(HEAD)
    for name in given.families:
        todo = [(name, given.seed, number) for number in range(given.count)]
        outcomes = list(in_order(outcome_of, todo, given.jobs))
        print(row(name, outcomes), flush=True)
        for outcome in outcomes:
            if outcome.no_oracle:
                print(f"  no oracle for {name} {outcome.number}: {outcome.no_oracle}")
        if given.failures:
            with open(given.failures, "a") as file:
                file.write(failures(name, given.seed, outcomes))
        passed = passed and not faults(outcomes)
    print(LEGEND, file=sys.stderr)
    return passed


def outcome_of(name, seed, number):
    """One problem, drawn and measured."""
    return measure(draw(name, seed, number))


def faults(outcomes, spared=0):
    """What a family must not have, in words; `spared` well-conditioned ones need no certificate."""
    well = [o for o in outcomes if o.well_conditioned]
    missing = [o for o in well if not o.certified]
    found = [f"{o.family} {o.number}: certified and wrong" for o in outcomes if o.wrong]
    found += [f"{o.family} {o.number}: {o.defect}" for o in outcomes if o.defect]
    found += [f"{o.family} {o.number}: no oracle, {o.no_oracle}" for o in outcomes if o.no_oracle]
    if len(missing) > max(spared, (1 - SHARE) * len(well)):
        found += [f"{o.family} {o.number}: {o.status}, not certified" for o in missing]
    return found


def row(name, outcomes):
    """Counts and worst figures of one family."""
    certified = [o for o in outcomes if o.certified]
    well = [o for o in outcomes if o.well_conditioned]
    right = [o for o in well if o.certified]
    verdict = " FAILS" if faults(outcomes) else ""
    return (
        f"{name:<18}{len(outcomes):>5}{_share(certified, outcomes):>7}{_share(right, well):>7}"
        f"{_worst(o.error for o in certified):>9}{_worst(o.missed for o in certified):>9}"
        f"{sum(o.wrong_status for o in outcomes):>6}{sum(bool(o.refused) for o in outcomes):>6}"
        f"{sum(bool(o.defect) for o in outcomes):>6}{verdict}"
    ).rstrip()


def _share(part, whole):
    return f"{100 * len(part) / len(whole):.1f}%" if whole else "-"


def _worst(values):
    return f"{max(values, default=0.0):.1e}"
