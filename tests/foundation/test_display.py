"""Tables as text of any width and as HTML: nothing is cut, and no number is broken."""

import dataclasses
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import unicodedata

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.foundation import text_layout
from limitpoint.foundation.display import Page, brief, counted, left_out, table
from limitpoint.papers.errata import errata
from limitpoint.papers.errata.erratum import Demonstration
from limitpoint.papers.errata.listing import ErrataList

RNG = np.random.default_rng(0)
WIDTHS = (60, 80, 100, 200)
NUMBERS = [[f"{x:.6g}" for x in row] for row in RNG.standard_normal((4, 15)) * 1e-7]
SENTENCE = "what the theorem asks for is not there, and this says why not"
PAGES = {
    "numbers": table("Numbers", [f"σ{j + 1}(W)" for j in range(15)], NUMBERS),
    "words": table("Words", ("name", "", "because"), [(SENTENCE, "pass", SENTENCE)] * 2),
    "both": table(
        "Both",
        ("check", "measured", "at most", "", "because", "more"),
        [(SENTENCE, "-1.23456e-10", "1.5 ± 0.25", "pass", SENTENCE, f"β[1] = 1.25, {SENTENCE}")],
    ),
    "wide names": table("", ("with smallest margin 1", "the largest drift"), [("1.5", "2.5")] * 2),
    "sentences": Page(SENTENCE, "a\nb", table("Inside", ("a",), [("1",)]), SENTENCE),
    "errata": ErrataList(
        tuple((one, Demonstration("off by", 1.25, 3e-13, 1e-9)) for one in errata())
    )._page(),
}


def cells_of(page):
    rows = [row for part in page.parts if not isinstance(part, str) for row in part.rows]
    return [cell for row in rows for cell in row]


def columns_of(text):
    """How many columns of a terminal the longest line takes: a mark on a letter takes none."""
    return max(sum(not unicodedata.combining(c) for c in line) for line in text.splitlines())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_every_word_is_there_and_every_line_fits(name, width):
    page = PAGES[name]
    text = page.to_text(width)
    assert columns_of(text) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    words = text.split()
    for cell in cells_of(page):
        for word in cell.split():
            assert word in words
    # What belongs together stays on a line.
    assert ("1.5 ± 0.25" in text) == (name == "both")
    assert ("β[1] = 1.25," in text) == (name == "both")


def test_a_table_of_numbers_goes_on_below_itself():
    lines = PAGES["numbers"].to_text(60).splitlines()
    repeated = sum(line.startswith("σ1(W)") for line in lines)
    assert repeated > 2
    assert sum(line.startswith(NUMBERS[0][0]) for line in lines) == repeated
    assert sum("σ15(W)" in line for line in lines) == 1


@pytest.mark.parametrize("width", [60, 80])
def test_errata_take_a_few_lines_each(width):
    """At 80 columns they once were a column of single letters, 9407 lines."""
    lines = PAGES["errata"].to_text(width).splitlines()
    assert len(lines) < 10 * len(errata())
    found = [line.strip() for line in lines if "at most 1e-09" in line]
    assert len(found) == len(errata())
    assert set(found) == {"printed 1.25  corrected 3e-13  at most 1e-09  shown"}


def test_rows_one_below_the_other():
    """A number does not stand alone, and an empty first cell leaves no line."""
    rows = [("1", "0.25", f"β[1] = 1.5, {SENTENCE}"), ("", "0.5", SENTENCE), ("a.theorem", "", "")]
    lines = table("", ("saddle", "time", "coefficients"), rows).to_text(30).splitlines()
    assert lines[:3] == [
        "saddle 1  time 0.25",
        "    coefficients: β[1] = 1.5,",
        "    what the theorem asks for",
    ]
    assert lines[5:7] == ["    time 0.5", "    coefficients: what the"]
    assert lines[-1] == "a.theorem"


def test_wide_characters_count_twice():
    lines = table("", ("名前", "b"), [("年齢", "1"), ("bmi", "2")]).to_text(80).splitlines()
    assert lines[2:] == ["年齢  1", "bmi   2"]


def test_html_is_escaped_and_notes_are_shown():
    page = table("a < b", ("<i>",), [("x & y",), ("one\ntwo",)], "1 of 2 <shown>")._repr_html_()
    for escaped in ("a &lt; b", "&lt;i&gt;", "x &amp; y", "one<br>two", "1 of 2 &lt;shown&gt;"):
        assert escaped in page
    assert page.count("<table>") == page.count("</table>") == 1


def test_notes_say_what_is_left_out():
    assert left_out((12, 40, "coefficients"), where=".coef") == (
        "12 of 40 coefficients shown; all in .coef."
    )
    assert left_out((2, 9, "records"), (3, 3, "x"), where=".data").startswith(
        "2 of 9 records shown"
    )
    assert left_out((3, 3, "records"), where=".data") == ""
    assert (counted(1, "record"), counted(2, "record")) == ("1 record", "2 records")


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (np.zeros((200, 300)), "array of shape (200, 300)"),
        (np.array([1.0, 0.1 + 0.2]), "[1.0, 0.3]"),
        (np.float64(2.5), "2.5"),
        ((1, 2, 3, 4, 5, 6), "(1, 2, 3, 4, 5, 6)"),
        (("a", "b", "c", "d", "e", "f"), "('a', 'b', 'c', 'd', … 2 more)"),
        ((3,), "(3,)"),
        ({"a": 1.0}, "{a: 1.0}"),
        (np.linalg.norm, "norm"),
        (lp.Status.CONVERGED, "CONVERGED"),
    ],
)
def test_brief(value, line):
    assert brief(value) == line


def test_the_one_line_of_a_value_holds_no_thousands_of_numbers():
    task = lp.Regression(RNG.standard_normal((20, 500)), RNG.standard_normal(20))
    network = lp.FullyConnected(widths=(30, 40))
    init = lp.Init.random(network, task, 0.1, seed=0)
    values = (task, network, init, lp.Problem(network, init, task), lp.analysis.Distance(task.X[0]))
    for value in values:
        assert len(repr(value)) < 120
        assert "\n" not in repr(value)
    assert eval(repr(network), vars(lp)) == network


@pytest.mark.usefixtures("as_registered")
def test_a_data_class_of_an_extension_is_shown_like_ours():
    @dataclasses.dataclass(frozen=True, eq=False)
    class Mine(lp.Paired):
        weights: np.ndarray

    assert repr(Mine(np.zeros(50))) == "Mine(weights=array of shape (50,))"
    assert str(Mine(np.zeros(50))) == "Mine(weights=array of shape (50,))"


# ---------------------------------------------------------------- the width

ASK = "from limitpoint.foundation.text_layout import text_width; print(text_width())"


def asked(columns=None, **options):
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    env |= {} if columns is None else {"COLUMNS": str(columns)}
    return subprocess.run([sys.executable, "-c", ASK], env=env, check=True, **options)


def test_a_terminal_has_its_own_width():
    outer, inner = pty.openpty()
    try:
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
        asked(stdout=inner)
        assert os.read(outer, 100).strip() == b"72"
    finally:
        os.close(outer)
        os.close(inner)


@pytest.mark.parametrize(("columns", "width"), [(None, 100), (60, 60), (200, 200), (5, 40)])
def test_a_pipe_has_100_columns_or_as_many_as_are_asked_for(monkeypatch, columns, width):
    if columns is None:
        assert asked(capture_output=True).stdout.strip() == b"100"
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert text_layout.text_width() == width
