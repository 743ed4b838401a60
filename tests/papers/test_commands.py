"""The commands about the papers."""

import json
from pathlib import Path

import pytest
from tests.papers.toys import Toy
from typer.testing import CliRunner

from limitpoint.cli.program import app
from limitpoint.errors import LimitpointError
from limitpoint.papers.errata import ErrataList, errata
from limitpoint.papers.errata.erratum import Demonstration

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def toys(monkeypatch):
    """Three experiments instead of all; the last one fails."""
    made = (Toy(number=0), Toy(number=1), Toy(number=2, value=2.0))
    monkeypatch.setattr("limitpoint.papers.experiments", lambda: made)
    monkeypatch.setattr("limitpoint.papers.reports.html_report.experiments", lambda: made)
    by_id = {one.id: one for one in made}
    monkeypatch.setattr("limitpoint.papers.experiment", lambda name: by_id[name])
    return made


def test_list(toys):
    assert run("reproduce", "--list").output.splitlines()[0] == "toy2026-figure0: A toy"


def test_some(toys, tmp_path):
    found = run("reproduce", "toy2026-figure0", "toy2026-figure1", "--out", str(tmp_path))
    assert found.exit_code == 0
    assert {folder.name for folder in tmp_path.iterdir()} == {"toy2026-figure0", "toy2026-figure1"}


def test_a_paper_with_a_failing_check(toys, tmp_path):
    found = run("reproduce", "toy2026", "--json", "--out", str(tmp_path))
    assert found.exit_code == 1
    content = json.loads(found.stdout)
    assert content["passed"] is False
    assert content["experiments"]["toy2026-figure1"]["passed"] is True


def test_all_and_the_report(toys, tmp_path):
    assert run("reproduce", "--all", "--quick", "--out", str(tmp_path)).exit_code == 1
    page = tmp_path / "page.html"
    assert run("report", "--out", str(tmp_path), "--to", str(page)).exit_code == 0
    assert "2 of 3 experiments pass every check" in page.read_text()


@pytest.mark.parametrize("arguments", [(), ("--all", "toy2026")])
def test_what_to_run_must_be_clear(toys, arguments):
    found = run("reproduce", *arguments)
    assert isinstance(found.exception, LimitpointError)
    assert "name experiments or papers, or give --all" in str(found.exception)


def test_nothing_to_report(tmp_path):
    found = run("report", "--out", str(tmp_path))
    assert "no finished experiment" in str(found.exception)


def test_an_erratum_that_is_not_shown_fails(monkeypatch):
    wrong = Demonstration("nothing", printed=0.0, corrected=0.0, tolerance=1.0)
    found = ErrataList(((errata()[0], wrong),))
    monkeypatch.setattr("limitpoint.papers.errata.demonstrate_all", lambda: found)
    found = run("errata")
    assert found.exit_code == 1
    assert "NOT SHOWN" in found.output


@pytest.mark.slow
def test_the_page_of_errata_is_this_list():
    found = run("errata", "--markdown")
    assert found.exit_code == 0
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == found.output
