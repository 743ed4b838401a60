"""The field's words: those that we made up once are gone from code, messages, tests and pages.

Names are read as their parts: `own_clocks`, `OwnClocks` and "own clocks" are the same. What may
still say them: the changelog, and the glossary, which explains them to readers of older notes.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RETIRED = (
    "clock",
    "clocks",
    "dormant",
    "asleep",
    "wake",
    "wakes",
    "waking",
    "awake",
    "pull",
    "pulls",
    "pulled",
    "repaced",
    "disguise",
    "half line",
    "half lines",
    "trap",
    "traps",
    "trapped",
    "caught",
    "gauge",
    "gauged",
    "gauges",
    "shaken",
    "settle",
    "settles",
    "settled",
    "settling",
)
# A table that needs the words, and what tells what they mean now.
EXEMPT = ("CHANGELOG.md", "docs/glossary.md", "tests/docs/test_words.py")
ENDINGS = (".py", ".pyi", ".md", ".toml", ".cff")


def pages():
    rooms = [ROOT / room for room in ("src", "tests", "docs", "benchmarks")]
    found = [*ROOT.glob("*"), *(path for room in rooms for path in room.rglob("*"))]
    names = [path.relative_to(ROOT).as_posix() for path in found if path.suffix in ENDINGS]
    return [name for name in names if name not in EXEMPT]


def words_of(text):
    """The text with names cut into their parts, in lower case."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[_\-‑]", " ", parts).lower()


def retired_in(text):
    found = re.findall(rf"(?<![a-z])(?:{'|'.join(RETIRED)})(?![a-z])", words_of(text))
    return sorted(set(found))


def test_retired_words_are_gone():
    wrong = {}
    for name in pages():
        text = (ROOT / name).read_text(encoding="utf-8")
        if found := retired_in(f"{name}\n{text}"):
            wrong[name] = found
    assert len(pages()) > 400
    assert wrong == {}


@pytest.mark.parametrize(
    "text", ["own_clocks", "WithoutClocks", "MAX_PULL", "a half-line ends", "it has settled"]
)
def test_a_retired_word_is_found(text):
    assert retired_in(text)


@pytest.mark.parametrize("text", ["pullback", "clockwise", "trapezoid", "awaken"])
def test_other_words_are_not(text):
    assert not retired_in(text)
