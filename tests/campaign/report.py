"""The failures of a campaign in Markdown: how many of which sort, and code that shows the worst."""

from collections import Counter

from tests.campaign.families import draw
from tests.campaign.measure import ALLOWED

# Of each sort so many are shown with their code.
SHOWN = 4


def failures(name, seed, outcomes):
    """One section."""
    parts = [f"\n## {name} (seed {seed}, {len(outcomes)} problems)\n\n", _kinds(outcomes)]
    for words, found in _sorts(outcomes).items():
        if not found:
            continue
        numbers = ", ".join(str(o.number) for o in found)
        parts.append(f"\n### {words}: {len(found)}\n\nnumbers {numbers}\n")
        parts += [_shown(draw(name, seed, o.number), o) for o in found[:SHOWN]]
    return "".join(parts)


def _sorts(outcomes):
    certified = [o for o in outcomes if o.certified]
    off = [o for o in certified if not o.error <= ALLOWED]
    missing = [o for o in certified if o.error <= ALLOWED < o.missed]
    return {
        "exceptions that are defects": [o for o in outcomes if o.defect],
        "certified with wrong coefficients": sorted(off, key=lambda o: -o.error),
        "certified as a fit, but a row is missed": sorted(missing, key=lambda o: -o.missed),
        "wrong status": [o for o in certified if o.wrong_status],
        "well conditioned and not certified": [
            o for o in outcomes if o.well_conditioned and not o.certified and not o.defect
        ],
    }


def _kinds(outcomes):
    rows = ["| kind | problems | certified | wrong |\n| --- | --- | --- | --- |\n"]
    for kind, count in sorted(Counter(o.kind for o in outcomes).items()):
        some = [o for o in outcomes if o.kind == kind]
        certified, wrong = sum(o.certified for o in some), sum(o.wrong for o in some)
        rows.append(f"| {kind} | {count} | {certified} | {wrong} |\n")
    return "".join(rows)


def _shown(case, outcome):
    truth = case.oracle()
    values = [b for one in truth.coef for b in (one if isinstance(one, list) else [one])]
    exact = ", ".join(f"{float(b):.17g}" for b in values)
    return (
        f"\nnumber {outcome.number} ({outcome.kind}): {outcome.status}, error {outcome.error:.2e}, "
        f"missed {outcome.missed:.2e}, condition {outcome.condition:.2e} "
        f"{outcome.refused}{outcome.defect}\n"
        f"```python\n{case.code}\n# exact: {exact}\n"
        f"# an exact fit: {truth.fits}; unique: {truth.unique}\n```\n"
    )
