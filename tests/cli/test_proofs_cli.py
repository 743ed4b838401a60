"""Proofs from the command line: `verify --prove`, and limits that exact arithmetic gives."""

import json
import sys

import numpy as np
import pytest

from limitpoint import cli

LAYERS = ("--network", "diagonal", "--depth", "2", "--seed", "0")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with data: its status and what it prints."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", [[1.0, 2.0, -0.5]], delimiter=",")
    np.savetxt("y.csv", [1.0], delimiter=",")

    def run(command, *options):
        words = ["limitpoint", command, "--X", "X.csv", "--y", "y.csv", *LAYERS, *options]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code or 0, capsys.readouterr().out

    return run


def test_a_proved_limit_is_a_success(run):
    status, text = run("predict", "--scale", "1e6", "--json")
    found = json.loads(text)
    assert status == 0
    assert found["status"] == "PROVED"
    assert found["proof"]["ok"]


def test_scales_that_are_proved_are_a_success(run):
    status, text = run("scales", "--from", "1e6", "--to", "1e8", "--points", "3", "--json")
    assert status == 0
    assert {one["status"] for one in json.loads(text)["limits"]} == {"PROVED"}


def test_verify_proves_when_asked(run):
    status, text = run("verify", "--scale", "0.1", "--prove")
    assert status == 0
    assert "limit: distance from the proved one" in " ".join(text.split())
    assert "proved" not in run("verify", "--scale", "0.1")[1]


def test_a_verdict_on_what_rounding_hides_from_runs_is_inconclusive(run):
    status, text = run("verify", "--scale", "5e5")
    assert status == 3
    assert "rounding hides the data" in " ".join(text.split())
