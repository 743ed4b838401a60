"""Names of features go from the data to everything that shows coefficients."""

import json
import pickle
import sys

import numpy as np
import pandas as pd
import pytest

import limitpoint as lp
from limitpoint.cli import main
from limitpoint.foundation.labels import coef_label

NAMES = ("age", "height [cm]", "_bmi", "price $")
X = pd.DataFrame([[1.0, 0.5, 0.7, 0.1], [0.5, 1.0, 0.1, 0.7]], columns=list(NAMES))
Y = [1.0, 0.2]
NETWORK = lp.Diagonal(depth=2)
TASK = lp.Regression(X, Y)
PLAIN = lp.Regression(np.ascontiguousarray(X), Y)
PROBLEM = lp.Problem(NETWORK, lp.Init.random(NETWORK, TASK, 0.1, seed=0), TASK)
CLASSES = lp.Classification(X, [1, -1])
OTHER = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, CLASSES, 0.1), CLASSES)

MAKE = {
    "limit": lambda: lp.predict(PROBLEM),
    "direction": lambda: lp.predict(OTHER),
    "path": lambda: lp.predict_path(PROBLEM, [0.1, 1.0]),
    "flow": lambda: lp.flow(PROBLEM, t_end=1.0),
    "flow to a margin": lambda: lp.flow(OTHER, margin=100.0),
    "training": lambda: lp.train(PROBLEM, lp.GD(0.1), 5),
    "sweep": lambda: lp.train_many(PROBLEM, lp.GD(0.1), 5, scales=[0.1], seeds=[0]),
    "saddle path": lambda: lp.saddle_path(X, Y),
    "limit direction": lambda: lp.analysis.limit_direction(OTHER),
    "activation times": lambda: lp.analysis.activation_times(
        NETWORK, PROBLEM.init, feature_names=NAMES
    ),
}


@pytest.fixture(scope="module", params=MAKE)
def result(request):
    return MAKE[request.param]()


def test_results_carry_and_show_them(result, tmp_path):
    assert result.feature_names == NAMES
    assert result.to_dict()["feature_names"] == list(NAMES)
    assert result.to_xarray()["feature"].values.tolist() == list(NAMES)
    text = repr(result) if "\n" in repr(result) else str(result)
    assert "β[" not in text
    if isinstance(result, lp.results.SaddlePath):  # which does not come to all of them
        assert "_bmi = " in text
    elif not isinstance(result, lp.results.Sweep):  # whose table shows losses alone
        assert "height [cm]" in text
    assert pickle.loads(pickle.dumps(result)) == result
    if not isinstance(result, lp.results.LimitPath | lp.results.SaddlePath):
        assert lp.io.load(result.save(tmp_path / "result")) == result


def test_without_names_places_are_shown():
    path = lp.saddle_path(X.to_numpy(), Y)
    assert path.feature_names is None
    assert path.to_dict()["feature_names"] is None
    assert path.to_xarray()["feature"].values.tolist() == [0, 1, 2, 3]
    assert "β[" in str(path) + repr(path)


def test_labels():
    assert coef_label((1, 0), None) == "β[1, 0]"
    assert coef_label((1, 0), NAMES) == "height [cm], 0"
    assert coef_label((1, 0), NAMES, ("low", "high")) == "height [cm], low"
    assert coef_label((0,), ["the first of many\nlong names"]) == "the first of ma…ng names"


def test_several_outputs_have_names_too():
    both = pd.DataFrame({"low": [1.0, 0.2], "high": [0.5, -1.0]})
    task = lp.Regression(X, both)
    network = lp.TwoLayer(width=4)
    problem = lp.Problem(network, lp.Init.random(network, task, 0.1, seed=0), task)
    run = lp.train(problem, lp.GD(0.1), 5)
    assert run.to_xarray()["coef"].sel(feature="age", output="high").shape == run.times.shape
    assert run.to_dict()["target_names"] == ["low", "high"]
    assert run.coef_label((0, 1)) == "age, high"


def test_names_are_part_of_the_value_and_leave_the_numbers_alone():
    other = lp.Problem(NETWORK, lp.Init.random(NETWORK, PLAIN, 0.1, seed=0), PLAIN)
    assert TASK != PLAIN
    assert lp.predict(other) != lp.predict(PROBLEM)
    np.testing.assert_array_equal(lp.predict(other).coef, lp.predict(PROBLEM).coef)
    assert lp.Regression(X.to_numpy(), Y, feature_names=NAMES) == TASK


@pytest.mark.parametrize("problem", [PROBLEM, OTHER], ids=["regression", "classification"])
def test_problem_files_keep_them(tmp_path, problem):
    read = lp.io.load_problem(lp.io.save_problem(problem, tmp_path / "problem"))
    assert read == problem
    assert read.task.feature_names == NAMES


def test_figures_show_them():
    figures = [
        lp.plot.plot_trajectory(lp.flow(PROBLEM, t_end=1.0)),
        lp.plot.plot_path(lp.predict_path(PROBLEM, [0.1, 1.0])),
        lp.plot.plot_saddles(lp.saddle_path(X, Y)),
    ]
    for figure in figures:
        words = {
            text.get_text()
            for axes in figure.axes
            if axes.get_legend() is not None
            for text in axes.get_legend().get_texts()
        }
        assert "age" in words
        figure.draw_without_rendering()
    bars = {tick.get_text() for tick in figures[-1].axes[-1].get_xticklabels()}
    assert bars & set(NAMES)
    limit = lp.plot.plot_limit(lp.predict(PROBLEM))
    ticks = [tick.get_text() for tick in limit.axes[-1].get_xticklabels()]
    assert ticks == ["age", "height [cm]", " _bmi", r"price \$"]


def test_estimators_pass_them_on():
    estimators = lp.estimators
    data = pd.concat([X, X * [2, -1, 3, 1], X * [-1, 1, 2, 5]], ignore_index=True)
    targets = [1.0, 0.2, 0.5, -1.0, 2.0, 0.3]
    assert estimators.SaddlePathRegressor().fit(data, targets).path_.feature_names == NAMES
    chosen = estimators.SaddlePathRegressorCV(cv=2).fit(data, targets)
    assert chosen.path_.feature_names == NAMES
    fitted = estimators.ImplicitBiasRegressor().fit(data, targets)
    assert fitted.limit_.feature_names == NAMES
    classes = estimators.ImplicitBiasClassifier(C=1.0).fit(data, np.sign(targets))
    assert classes.limit_.feature_names[:5] == (*NAMES, "(intercept)")
    unnamed = estimators.SaddlePathRegressor().fit(data.to_numpy(), targets)
    assert unnamed.path_.feature_names is None


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["limitpoint", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


def test_the_command_shows_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X.to_csv("X.csv")
    X.to_csv("numbers.csv", header=False)
    pd.Series(Y).to_csv("y.csv")
    code, out, _ = run(monkeypatch, capsys, "saddles", "--X", "X.csv", "--y", "y.csv")
    assert code == 0
    assert "age = " in out
    code, out, _ = run(monkeypatch, capsys, "activation", "--X", "X.csv", "--y", "y.csv", "--json")
    assert json.loads(out)["feature_names"] == list(NAMES)
    data = ("predict", "--X", "numbers.csv", "--y", "y.csv", "--json")
    code, _, said = run(monkeypatch, capsys, *data)
    assert code == 2
    assert "--index-column or --no-index-column" in said
    for option, count in (("--index-column", 4), ("--no-index-column", 5)):
        code, out, _ = run(monkeypatch, capsys, *data, option)
        assert code == 0
        assert len(json.loads(out)["coef"]) == count
        assert json.loads(out)["feature_names"] is None
