"""A campaign of random calls from the command line."""

import argparse
import os
import sys

os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("MPLBACKEND", "agg")

from tests.fuzz.campaign import KINDS, run

parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
parser.add_argument("--count", type=int, default=20_000, help="number of cases")
parser.add_argument("--seed", type=int, default=0, help="seed of the campaign")
parser.add_argument("--start", type=int, default=0, help="number of the first case")
parser.add_argument("--case", type=int, help="only this one")
parser.add_argument("--only", choices=[kind.__name__ for kind in KINDS], help="only this kind")
options = parser.parse_args()
one = options.case is not None
report = run(
    1 if one else options.count,
    options.seed,
    start=options.case if one else options.start,
    only=options.only,
    tell=lambda failure: print(failure, flush=True),
)
print(report)
sys.exit(bool(report.failures))
