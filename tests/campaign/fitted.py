"""Certified limits that are said to fit: do they, at scales from 1e-12 to 1e12?

No oracle is needed: each row is summed in rational arithmetic.
"""

import sys
from itertools import count, islice

from tests.campaign.families import FAMILIES, draw
from tests.campaign.measure import fit_of
from tests.campaign.workers import in_order

COUNT = 2000
SCALES = (-12.0, 12.0)
# Units are milder than in the campaign over units: here the scale is what strains the sums.
DECADES = 2.0
AT_ONCE = 20  # problems of a family drawn in one go
MOST = 50  # goes without a certified limit in all of them before a family is given up
HEAD = f"{'family':<18}{'drawn':>7}{'fitted':>8}{'missed':>9}{'scale':>9}{'misses':>8}{'defect':>8}"
LEGEND = """\
fitted  certified as a fit
missed  worst |x_j'b - y_j| / |y_j| of these, and the scale at which
misses  those that miss a row by more than 1e-6 of |y_j|
defect  exceptions that do not name their reason"""


def add_arguments(parser):
    parser.add_argument("--count", type=int, default=COUNT, help="certified limits in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", default=finite(), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="processes")


def finite():
    """The families at finite scale."""
    return [name for name in FAMILIES if not name.startswith("scale")]


def run(given):
    """Print the table; whether every certified limit fits."""
    print(HEAD)
    share, more = divmod(given.count, len(given.families))
    passed = True
    for place, name in enumerate(given.families):
        found = limits_of(name, given.seed, share + (place < more), given.jobs)
        print(row(name, found), flush=True)
        passed = passed and not faults(found)
    print(LEGEND, file=sys.stderr)
    return passed


def limits_of(name, seed, wanted, jobs=1):
    """Fits of a family's problems, until so many are certified."""
    found, fitted, idle = [], 0, 0
    numbers = count()
    while fitted < wanted and idle < MOST:
        todo = [(name, seed, number) for number in islice(numbers, AT_ONCE)]
        before = fitted
        for fit in in_order(one_fit, todo, jobs):
            if fitted < wanted:
                found.append(fit)
                fitted += fit.certified
        idle = idle + 1 if fitted == before else 0
    return found


def one_fit(name, seed, number):
    """One problem, drawn and measured."""
    return fit_of(draw(name, seed, number, decades=DECADES, scales=SCALES))


def faults(found):
    """What must not be, in words."""
    return [
        f"{fit.family} {fit.number}: {fit.defect or f'misses a row by {fit.missed:.1e}'}"
        for fit in found
        if fit.defect or fit.misses
    ]


def row(name, found):
    """Counts and the worst of one family."""
    fitted = [fit for fit in found if fit.certified]
    worst = max(fitted, key=lambda fit: fit.missed, default=None)
    figures = f"{worst.missed:>9.1e}{worst.scale:>9.1e}" if worst else f"{'-':>9}{'-':>9}"
    return (
        f"{name:<18}{len(found):>7}{len(fitted):>8}{figures}"
        f"{sum(fit.misses for fit in found):>8}{sum(bool(fit.defect) for fit in found):>8}"
    )
