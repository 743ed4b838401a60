"""Print the table of checks and mutations; exit 1 if a verdict or a check is not as it must be.

python -m tests.mutations [FAMILY ...]

`proofs` breaks the prover in every family of the campaigns; it is no part of the other table.
"""

import argparse
import sys

from tests.campaign.families import FAMILIES
from tests.mutations import proofs
from tests.mutations.problems import CASES
from tests.mutations.table import in_words, row_of


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("families", nargs="*", help="groups or families; all if none is given")
    given = parser.parse_args().families
    if given == ["proofs"]:
        rows = {name: proofs.row_of(name) for name in FAMILIES}
        print(proofs.in_words(rows))
        sys.exit(1 if proofs.wrong(rows) else 0)
    cases = [case for case in CASES if not given or {case.group, case.name} & set(given)]
    rows = []
    for case in cases:
        rows.append(row_of(case))
        print(f"{case.group}: {case.name} done", file=sys.stderr, flush=True)
    print(in_words(rows))
    wrong = [row for row in rows if not row.passed]
    for row in wrong:
        print(f"\nUnbroken, but not passed: {row.case.group}, {row.case.name}\n{row.verdict}")
    for row in rows:
        for letter, words in row.refused.items():
            print(f"refused: {row.case.group}, {row.case.name}, {letter}: {words[:100]}")
    never = [(row, kind) for row in rows for kind in row.never]
    for row, kind in never:
        print(f"never: {row.case.group}, {row.case.name}: {kind}")
    sys.exit(1 if wrong or never else 0)


if __name__ == "__main__":
    main()
