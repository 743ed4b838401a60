"""Every experiment and every erratum: the checks pass, and they can fail."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.papers.tests_of_theorems import TESTS

from limitpoint.papers import atlas_page, experiments
from limitpoint.papers.errata import errata
from limitpoint.papers.experiment import PREDICTED
from limitpoint.papers.reports.folder import write
from limitpoint.theory.atlas import theorems

ROOT = Path(__file__).parents[2]
EVERY = pytest.mark.parametrize("one", experiments(), ids=lambda one: one.id)


@pytest.mark.slow
@EVERY
def test_checks_pass_and_can_fail(one, tmp_path):
    """One test, so that each experiment is run once.

    Every single prediction, off by a percent, must fail some check: what no check would miss is
    drawn, not checked.
    """
    quick = one.quick()
    data = quick.run()
    checks = quick.checks(data)
    assert checks
    assert not [check for check in checks if not check.passed]
    folder = write(quick, data, checks, 1.0, tmp_path)
    assert (folder / "figure.png").stat().st_size > 10_000
    assert json.loads((folder / "checks.json").read_text())["passed"]
    predicted = [name for name in data.data_vars if str(name).startswith(PREDICTED)]
    assert predicted
    unnoticed = []
    for name in predicted:
        off = data.copy()
        off[name] = data[name] * 1.01
        if all(check.passed for check in quick.checks(off)):
            unnoticed.append(name)
    assert unnoticed == []


@EVERY
def test_says_what_it_is(one):
    assert re.fullmatch(r"[a-z]+\d{4}", one.paper)
    assert one.title
    assert len(one.setup) > 40
    known = {theorem.id for theorem in theorems()}
    assert set(one.theorems) <= known
    json.dumps(one.configuration())


@pytest.mark.parametrize("one", errata(), ids=lambda one: one.id)
def test_printed_fails_and_corrected_passes(one):
    found = one.demonstrate()
    assert found.corrected <= found.tolerance
    assert np.isnan(found.printed) or found.printed > found.tolerance


def test_enough_errata():
    assert len(errata()) >= 28
    assert {one.paper for one in errata()} == {
        "zhao2026",
        "labarriere2024",
        "yun2021",
        "varre2023",
        "lyu2023",
    }


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.id)
def test_every_theorem_has_an_experiment_and_a_test(theorem):
    assert any(theorem.id in one.theorems for one in experiments())
    files = TESTS[theorem.id]
    assert files
    for name in files:
        assert theorem.id in (ROOT / name).read_text(encoding="utf-8")


def test_tests_are_of_theorems():
    assert set(TESTS) == {theorem.id for theorem in theorems()}


def test_the_page_in_the_documentation_is_this_atlas():
    assert (ROOT / "docs" / "atlas.md").read_text(encoding="utf-8") == atlas_page()


def test_the_readme_counts_right():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(experiments())} experiments" in text
    ambiguous = [one.id for one in errata() if one.ambiguous]
    assert ambiguous == ["yun2021.remark3"]
    assert f"{len(errata()) - 1} slips and an ambiguity" in text
