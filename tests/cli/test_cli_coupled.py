"""The command line for rank-one and dense networks, and for training with noise."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import limitpoint as lp
from limitpoint import cli

X = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]])
Y = np.array([1.0, 0.0])
TASK = lp.Regression(X, Y)
DATA = ("--X", "X.csv", "--y", "y.csv")
RANK_ONE = (*DATA, "--network", "rank-one", "--depth", "3", "--width", "2")
BALANCED = (*RANK_ONE, "--balanced", "--norm", "0.5")


@pytest.fixture
def limitpoint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", X, delimiter=",")
    np.savetxt("y.csv", Y)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["limitpoint", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def test_predict_is_that_of_python(limitpoint):
    network = lp.RankOne(depth=3, width=2)
    for options, init in [
        (("--balanced", "--norm", "0.5"), lp.Init.balanced(network, TASK, norm=0.5)),
        (("--balanced", "--seed", "4"), lp.Init.balanced(network, TASK, 1.0, seed=4)),
        (
            ("--imbalance", "0.05", "--norm", "2"),
            lp.Init.perturbed(network, TASK, norm=2, imbalance=0.05),
        ),
    ]:
        status, out, _ = limitpoint("predict", *RANK_ONE, *options, "--json")
        assert status == 0
        expected = lp.predict(lp.Problem(network, init, TASK)).coef.tolist()
        assert json.loads(out)["coef"] == expected


def test_dense_networks(limitpoint):
    dense = (*DATA, "--network", "fully-connected", "--widths", "3,2")
    status, out, _ = limitpoint("verify", *dense, "--balanced", "--scale", "0.5")
    assert (status, "PASSED" in out) == (0, True)
    status, _, err = limitpoint("predict", *dense, "--one-neuron")
    assert status == 2
    assert "balanced layers" in err


def test_training_with_noise(limitpoint):
    options = ("--learning-rate", "0.01", "--batch-size", "1", "--steps", "3000")
    status, out, _ = limitpoint("train", *BALANCED, *options, "--batch-seed", "3", "--json")
    network = lp.RankOne(depth=3, width=2)
    problem = lp.Problem(network, lp.Init.balanced(network, TASK, norm=0.5), TASK)
    run = lp.train(problem, lp.SGD(0.01, 1, seed=3), 3000)
    assert status == 0
    assert json.loads(out)["coefs"][-1] == run.coef.tolist()
    status, out, _ = limitpoint("verify", *BALANCED, *options, "--shuffle")
    assert status == 0
    assert "training: distance from the law's end" in out


@pytest.mark.parametrize("truth", ["true", "True", "false"])
def test_momentum_and_weight_decay(limitpoint, truth):
    settings = ("--set", "momentum=0.9", "--set", f"nesterov={truth}", "--set", "weight_decay=0.01")
    options = ("--optimiser", "gd", *settings, "--learning-rate", "0.001", "--steps", "200")
    status, out, _ = limitpoint("train", *BALANCED, *options, "--json")
    network = lp.RankOne(depth=3, width=2)
    problem = lp.Problem(network, lp.Init.balanced(network, TASK, norm=0.5), TASK)
    rule = lp.GD(1e-3, momentum=0.9, nesterov=truth != "false", weight_decay=0.01)
    assert status == 0
    assert json.loads(out)["coefs"][-1] == lp.train(problem, rule, 200).coef.tolist()


def test_sweep_with_momentum_of_both(limitpoint):
    options = ("--set", "momentum=0.5", "--set", "nesterov=true", "--steps", "10", "--seeds", "1")
    status, out, _ = limitpoint("sweep", *DATA, *options, "--json")
    assert status == 0
    words = "momentum=0.5, nesterov=True)"
    assert json.loads(out)["optimisers"] == [
        f"GD(learning_rate=0.001, {words}",
        f"SGD(learning_rate=0.001, batch_size=1, {words}",
    ]


@pytest.mark.slow
def test_sweep(limitpoint):
    status, out, err = limitpoint(
        "sweep", *BALANCED[:-2], "--scales", "0.5,1", "--seeds", "3", "--steps", "500",
        "--learning-rate", "0.01", "--plot", "sweep.png",
    )  # fmt: skip
    assert status == 0
    assert "2 optimisers × 2 scales × 3 seeds" in out
    assert "sweep.png" in err
    assert Path("sweep.png").read_bytes().startswith(b"\x89PNG")
    status, out, _ = limitpoint("sweep", *DATA, "--steps", "10", "--seeds", "1", "--json")
    assert status == 0
    assert len(json.loads(out)["coef"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("predict", *RANK_ONE, "--norm", "1"),
            "--norm belongs to --balanced or --imbalance: add it",
        ),
        (
            ("predict", *BALANCED, "--scale", "1"),
            "give --norm, --scale or --log-scale, not two of them",
        ),
        (
            ("predict", *RANK_ONE, "--balanced", "--imbalance", "0.1"),
            "--balanced and --imbalance do not go together",
        ),
        (("predict", *DATA, "--balanced"), "balanced needs a rank-one or dense network"),
        (("predict", *DATA, "--width", "3"), "a diagonal network has no --width"),
        (("predict", *DATA, "--network", "fully-connected"), "network needs --widths"),
        (
            ("predict", *DATA, "--network", "fully-connected", "--widths", "3,x"),
            "--widths must be numbers separated by commas; it is '3,x'",
        ),
        (("train", *BALANCED, "--shuffle"), "--shuffle and --batch-seed belong to --batch-size"),
        (("train", *BALANCED, "--batch-size", "0"), "--batch-size must be a whole number"),
        (
            ("train", *BALANCED, "--batch-size", "3", "--shuffle"),
            "--batch-size must be at most the number of samples",
        ),
        (("verify", *BALANCED, "--batch-size", "1"), "--batch-size needs --learning-rate"),
        (
            (
                *("verify", *DATA, "--depth", "3", "--batch-size", "1"),
                *("--learning-rate", "0.01", "--steps", "10"),
            ),
            "verify cannot judge noisy training of Diagonal",
        ),
        (("sweep", *BALANCED, "--seeds", "0"), "--seeds must be at least 1"),
        (("sweep", *BALANCED, "--set", "momentum=1"), "--set momentum must be a number in [0, 1)"),
        (("sweep", *BALANCED, "--set", "batch_size=2"), "the optimiser gd has no batch_size"),
        (
            ("train", *BALANCED, "--optimiser", "gd", "--set", "nesterov=yes"),
            "--set must be like batch_size=2 or nesterov=true; it is 'nesterov=yes'",
        ),
        (
            ("train", *BALANCED, "--optimiser", "gd", "--set", "momentum=true"),
            "--set momentum must be a number in [0, 1)",
        ),
        (("sweep", *BALANCED, "--scales", "1,1"), "scales must differ"),
    ],
)
def test_bad_options(limitpoint, arguments, words):
    status, out, err = limitpoint(*arguments)
    assert (status, out) == (2, "")
    assert words in err
