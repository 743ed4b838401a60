"""Store the numbers of a few hundred problems, or compare with those stored, bit for bit.

    python -m tests.stored write        before a change that must not change numbers
    python -m tests.stored compare      after it

Bits depend on the processor and on the versions of NumPy, SciPy and JAX: write on the machine that
compares, from the commit before the change. Both take minutes.
"""

import argparse
import gzip
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from tests.campaign.workers import in_order
from tests.stored.problems import KINDS, jobs, numbers

# So many numbers of each array are kept as they are, so that a difference can be put in figures.
KEPT = 4
STORE = Path(__file__).with_name("numbers.json.gz")


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.stored",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("--file", type=Path, default=STORE)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--every", type=int, default=1, help="only each so many-th problem")
    given = parser.parse_args()
    todo = [job for i, job in enumerate(jobs()) if job[0] in given.kinds and i % given.every == 0]
    found = in_order(numbers, todo, given.jobs)
    records = {name: {what: record(a) for what, a in arrays.items()} for name, arrays in found}
    if given.action == "write":
        text = json.dumps(records, indent=0).encode()
        given.file.write_bytes(gzip.compress(text, mtime=0))
        print(f"{len(records)} problems stored, {sum(map(len, records.values()))} arrays")
        sys.exit(0)
    differing = differences(json.loads(gzip.decompress(given.file.read_bytes())), records)
    print("\n".join(differing))
    print(f"{len(records)} problems compared: {len(differing)} arrays differ")
    sys.exit(1 if differing else 0)


def record(array):
    """Shape, the hash of all bits, and a few of the numbers."""
    array = np.ascontiguousarray(array, dtype=float)
    array = np.where(np.isnan(array), np.nan, array) + 0.0  # one NaN, one zero
    places = np.linspace(0, array.size - 1, min(KEPT, array.size)).astype(int)
    kept = array.ravel()[places]
    return {
        "shape": list(array.shape),
        "hash": hashlib.sha256(array.tobytes()).hexdigest()[:24],
        "kept": [float(value).hex() for value in kept],
    }


def differences(stored, found):
    """One line for each array that is not the same."""
    lines = []
    for name, arrays in found.items():
        before = stored.get(name)
        if before is None:
            lines.append(f"{name}: not stored")
            continue
        lines += [f"{name}: no {what} any more" for what in before.keys() - arrays.keys()]
        for what, after in arrays.items():
            if what not in before:
                lines.append(f"{name}: {what} is new")
            elif before[what] != after:
                lines.append(f"{name}: {what} {in_figures(before[what], after)}")
    return lines


def in_figures(before, after):
    """How far apart two records are, as far as their kept numbers tell."""
    if before["shape"] != after["shape"]:
        return f"had shape {before['shape']}, has {after['shape']}"
    old, new = (np.array([float.fromhex(v) for v in r["kept"]]) for r in (before, after))
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(old), np.abs(new))
        apart = np.where(old == new, 0.0, np.abs(old - new) / np.where(size > 0, size, 1.0))
    return f"differs, by {np.nanmax(apart, initial=0.0):.1e} of the numbers kept"


if __name__ == "__main__":
    main()
