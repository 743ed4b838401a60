"""The table of checks and mutations: which mutation makes which check fail, in which family."""

from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from tests.mutations import machinery, predictions, records  # noqa: F401  (they register)
from tests.mutations.kinds import kind_of, objects_of
from tests.mutations.mutation import MUTATIONS, NotApplicable
from tests.mutations.runs import Runs

import limitpoint as lp


@dataclass(eq=False)
class Row:
    """What became of one case: by kind of check, the letters of the mutations that fail it.

    Attributes
    ----------
    refused
        Mutations that `verify` refused to judge, with what it said.
    """

    case: object
    passed: bool
    verdict: object
    failed: dict[str, set[str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def never(self):
        """The checks that no mutation of what they are about makes fail."""
        return [kind for kind, letters in self.failed.items() if not letters]


def row_of(case):
    """Break everything that the checks of a case are about, one thing at a time."""
    case.runs = Runs()
    with pytest.MonkeyPatch.context() as patch:
        case.runs.install(patch)
        verdict = case.verdict()
    found = Row(case, verdict.passed, verdict)
    found.failed = {kind_of(check.name): set() for check in verdict.checks}
    objects = set().union(*(objects_of(kind) for kind in found.failed))
    for one in MUTATIONS:
        if one.breaks in objects:
            for kind in _failing(case, one, found):
                if one.breaks in objects_of(kind) and kind in found.failed:
                    found.failed[kind].add(one.letter)
    return found


def _failing(case, one, found):
    case.runs.change, case.runs.keeps = (lambda kind, run: run), one.keeps
    with pytest.MonkeyPatch.context() as patch:
        case.runs.install(patch)
        try:
            one.apply(patch, case)
            verdict = case.verdict()
        except NotApplicable:
            return set()
        except lp.errors.LimitpointError as error:
            found.refused[f"{one.letter} ({one.breaks})"] = str(error)
            return set()
    return {kind_of(check.name) for check in verdict.checks if not check.passed}


# The width of a table, of its first column, and of the others.
WIDTH, FIRST, CELL = 80, 30, 10


def in_words(rows):
    """The tables, one for each group of families, and a legend."""
    groups = defaultdict(list)
    for row in rows:
        groups[row.case.group].append(row)
    per_table = (WIDTH - FIRST) // CELL
    parts = []
    for name, some in groups.items():
        for start in range(0, len(some), per_table):
            parts += [_table(name, some[start : start + per_table]), ""]
    return "\n".join([*parts, _legend(rows)])


def _table(name, rows):
    kinds = list(dict.fromkeys(kind for row in rows for kind in row.failed))
    lines = [
        "".join(
            [name.upper().ljust(FIRST), *(row.case.name[: CELL - 1].ljust(CELL) for row in rows)]
        )
    ]
    lines = [line.rstrip() for line in lines]
    for kind in kinds:
        words = _folded(kind)
        cells = [_cell(row.failed[kind]) if kind in row.failed else "" for row in rows]
        lines += [
            *words[:-1],
            "".join([words[-1].ljust(FIRST), *(c.ljust(CELL) for c in cells)]).rstrip(),
        ]
    return "\n".join(lines)


def _folded(kind):
    """The name of a kind in lines that fit the first column."""
    lines = [""]
    for word in kind.split(" "):
        joined = f"{lines[-1]} {word}".strip() if len(lines) == 1 else f"{lines[-1]} {word}"
        if len(joined) >= FIRST:
            lines.append(f"  {word}")
        else:
            lines[-1] = joined
    return lines


def _cell(letters):
    shown = "".join(sorted(letters))
    if not shown:
        return "never"
    return shown if len(shown) < CELL else f"{shown[: CELL - 3]}…"


def _legend(rows):
    used = {letter for row in rows for letters in row.failed.values() for letter in letters}
    words = dict(sorted({one.letter: one.words for one in MUTATIONS}.items()))
    lines = [f"{letter}  {words[letter]}" for letter in words if letter in used]
    unused = [letter for letter in words if letter not in used]
    if unused:
        lines.append(f"Nothing failed by: {', '.join(unused)}")
    return "\n".join(lines)
