"""Compare `predict` with the brute-force flow on all 200 problems of every family and depth.

    python -m tests.oracles.full_families [first] [last] [seconds]

runs problems first to last − 1 of each (0 and 200 by default), prints one line per problem and a
table at the end. A flow that takes longer than `seconds` (120 by default) is given up, and counted.
"""

import signal
import sys
from itertools import islice

from tests.oracles.problem_sets import random_problems
from tests.theory.solvers.test_families import (
    AGREED,
    CASES,
    SEED,
    distance,
    end_of_flow,
    prediction,
    why_not_certified,
)

PROBLEMS = 200
PATIENCE = 120


def main(first=0, last=PROBLEMS, patience=PATIENCE):
    """Run, print, and return whether nothing failed."""
    signal.signal(signal.SIGALRM, _give_up)
    sets = {case: list(islice(random_problems(last, SEED, *case), first, None)) for case in CASES}
    rows = []
    # Problem by problem over all families, so that a run that is stopped has seen all of them.
    for number in range(first, last):
        for case in CASES:
            problem = sets[case][number - first]
            failure, apart = _compare(case, problem, patience)
            rows.append((case, failure, apart))
            family, depth = case
            print(
                f"{family} {depth} #{number}: {problem[0].shape}, scale {problem[3]:.1e}: "
                f"{'given up' if apart is None else f'{apart:.1e}'} {failure or ''}",
                flush=True,
            )
    return _report(rows)


def _compare(case, problem, patience):
    """Why the prediction is not certified (or None), and its distance (None if given up)."""
    found = prediction(*case, *problem)
    signal.alarm(patience)
    try:
        return why_not_certified(found), distance(found.coef, end_of_flow(*case, *problem[:3]))
    except TimeoutError:
        return why_not_certified(found), None
    finally:
        signal.alarm(0)


def _give_up(*_):
    raise TimeoutError


def _report(rows):
    good = True
    for case in CASES:
        mine = [(failure, apart) for name, failure, apart in rows if name == case]
        compared = [apart for _, apart in mine if apart is not None]
        uncertified = sum(failure is not None for failure, _ in mine)
        far = sum(not apart <= AGREED for apart in compared)
        worst = max(compared, default=float("nan"))
        print(
            f"{case[0]:14} depth {case[1]}: {len(mine)} predicted, {uncertified} not certified, "
            f"{len(compared)} compared, {far} too far, worst {worst:.1e}"
        )
        good = good and not uncertified and not far and len(compared) == len(mine)
    return good


if __name__ == "__main__":
    sys.exit(not main(*map(int, sys.argv[1:])))
