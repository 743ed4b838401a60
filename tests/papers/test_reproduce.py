"""Running experiments: complete folders or none, nothing done twice, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
from tests.papers.toys import Toy

from limitpoint.errors import LimitpointError
from limitpoint.papers import experiment, report, reproduce
from limitpoint.papers.reports.folder import UNFINISHED

ROOT = Path(__file__).parents[2]


def diary_of(path):
    return path.read_text().split() if path.exists() else []


def test_a_folder_with_everything(tmp_path):
    found = reproduce([Toy()], tmp_path)
    folder = tmp_path / "toy2026-figure0"
    assert found.passed
    assert {file.name for file in folder.iterdir()} == {
        "figure.png",
        "figure.pdf",
        "data.nc",
        "checks.json",
    }
    record = json.loads((folder / "checks.json").read_text())
    assert record["passed"] is True
    assert record["configuration"]["number"] == 0
    assert record["checks"] == [
        {"name": "value", "measured": 1.0, "expected": 1.0, "tolerance": 1e-3, "passed": True}
    ]
    assert {"limitpoint", "numpy", "python"} <= set(record["versions"])
    with xr.open_dataset(folder / "data.nc", engine="scipy") as data:
        assert float(data["measured"].sum()) == 3.0
    assert b"/Type3" not in (folder / "figure.pdf").read_bytes()  # fonts are TrueType


def test_a_failing_check_fails_all(tmp_path):
    found = reproduce([Toy(), Toy(number=1, value=1.01)], tmp_path)
    assert [one.passed for one in found.outcomes] == [True, False]
    assert not found.passed
    assert "FAIL" in str(found)


def test_a_number_that_is_none_fails(tmp_path):
    found = reproduce([Toy(value=float("nan"))], tmp_path)
    assert not found.passed
    assert found.outcomes[0].record["checks"][0]["measured"] is None
    assert "FAIL" in str(found)


def test_an_error_is_told_and_stops_nothing(tmp_path):
    found = reproduce([Toy(breaks=True), Toy(number=1)], tmp_path)
    assert [one.passed for one in found.outcomes] == [False, True]
    assert "ArithmeticError at toys.py:" in found.outcomes[0].error
    assert "out of numbers" in str(found)
    assert [folder.name for folder in tmp_path.iterdir()] == ["toy2026-figure1"]


def test_what_is_finished_is_not_run_again(tmp_path):
    diary = tmp_path / "diary"
    toys = [Toy(number=i, diary=str(diary)) for i in range(3)]
    reproduce(toys[:2], tmp_path / "out")
    again = reproduce(toys, tmp_path / "out")
    assert again.passed
    assert [one.again for one in again.outcomes] == [False, False, True]
    assert sorted(diary_of(diary)) == sorted(toy.id for toy in toys)


def test_another_configuration_is_another_run(tmp_path):
    diary = tmp_path / "diary"
    toy = Toy(diary=str(diary), seconds=0.01)
    reproduce([toy], tmp_path / "out")
    reproduce([toy], tmp_path / "out", quick=True)
    reproduce([toy], tmp_path / "out", quick=True)
    assert len(diary_of(diary)) == 2
    reproduce([toy], tmp_path / "out", quick=True, fresh=True)
    assert len(diary_of(diary)) == 3


def test_results_of_another_version_are_run_again(tmp_path, monkeypatch):
    reproduce([Toy()], tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("limitpoint.papers.reports.folder.version", lambda _: "0.0.0")
        assert reproduce([Toy()], tmp_path).outcomes[0].again
    assert reproduce([Toy()], tmp_path).outcomes[0].again
    assert not reproduce([Toy()], tmp_path).outcomes[0].again


def test_a_broken_record_is_no_record(tmp_path):
    reproduce([Toy()], tmp_path)
    (tmp_path / "toy2026-figure0" / "checks.json").write_text("{")
    assert reproduce([Toy()], tmp_path).outcomes[0].again


@pytest.mark.parametrize("name", ["figure.png", "figure.pdf", "data.nc", "checks.json"])
@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_damaged_folder_is_run_again(tmp_path, name, damage):
    reproduce([Toy()], tmp_path)
    file = tmp_path / "toy2026-figure0" / name
    if damage == "gone":
        file.unlink()
    elif name == "checks.json":  # whole as JSON, but not as a record
        record = json.loads(file.read_text())
        file.write_text(json.dumps({**record, "checks": [{"name": "value"}]}))
    else:
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(LimitpointError, match="no finished experiment"):
        report(tmp_path)
    again = reproduce([Toy()], tmp_path)
    assert again.outcomes[0].again
    assert again.passed
    assert not reproduce([Toy()], tmp_path).outcomes[0].again


@pytest.mark.parametrize("number", [0, 1], ids=["the same", "another"])
def test_two_runs_on_one_folder_leave_each_other_alone(tmp_path, number):
    """One begins while the other is filling its folder."""

    class Slow(Toy):
        def plot(self, data):
            reproduce([Toy(number=number)], tmp_path)
            return super().plot(data)

    found = reproduce([Slow()], tmp_path)
    assert found.passed, found.outcomes
    folders = {folder.name for folder in tmp_path.iterdir()}
    assert folders == {"toy2026-figure0", f"toy2026-figure{number}"}
    assert not reproduce([Toy()], tmp_path).outcomes[0].again


SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from tests.papers.toys import Toy
from limitpoint.papers import reproduce

out, diary = Path(sys.argv[1]), sys.argv[2]
toys = [Toy(number=i, seconds=0.02, diary=diary) for i in range(4)]
if sys.argv[3] == "old":  # results of another configuration are in the way
    reproduce([Toy(number=i) for i in range(4)], out)
delay = 0.0
while True:
    before = {folder.name for folder in out.glob("toy*")}
    child = os.fork()
    if child == 0:
        reproduce(toys, out)
        os._exit(0)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    ended = os.waitpid(child, 0)[1] == 0
    # A folder set aside for its successor comes back with the next start.
    aside = {folder.name for folder in out.glob(".unfinished-*/old")}
    complete = {folder.name for folder in out.glob("toy*") if (folder / "checks.json").exists()}
    assert len(before - complete) <= len(aside), (before, complete)
    if ended:
        break
    delay += 0.013
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["nothing", "old"])
def test_killed_at_any_moment(tmp_path, before):
    """`kill -9`, again and again, a little later each time: nothing finished is lost."""
    out, diary = tmp_path / "out", tmp_path / "diary"
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), str(diary), before],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        timeout=300,
        check=False,
    )
    assert run.stdout == "done\n", run.stderr
    written = diary_of(diary)
    toys = [Toy(number=i, seconds=0.02, diary=str(diary)) for i in range(4)]
    again = reproduce(toys, out)
    assert again.passed
    assert not any(one.again for one in again.outcomes)
    assert diary_of(diary) == written
    assert not list(out.glob(f"{UNFINISHED}*"))
    assert len(written) > 4  # some were killed on the way


def test_report_needs_something_finished(tmp_path):
    with pytest.raises(LimitpointError, match="no finished experiment"):
        report(tmp_path)


def test_unknown_experiment():
    with pytest.raises(LimitpointError, match="no experiment 'zhao2026-figure99'; known are"):
        experiment("zhao2026-figure99")


def test_report_is_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr("limitpoint.papers.reports.html_report.experiments", lambda: (Toy(),))
    reproduce([Toy()], tmp_path)
    page = report(tmp_path).read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "http" not in page.replace("http-equiv", "")
    assert "&lt;printed&gt; &amp; nothing" in page
    assert "yun2021.corollary5" in page
