"""What is said of theorems that do not apply: the nearest first, what fails, what to change."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import NoTheoremApplies

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4))
REGRESSION = lp.Regression(X, [1.0, -1.0, 0.5])
ONE_SAMPLE = lp.Regression([[1.0, 2.0, 0.0, -1.0]], [1.0])
OUTPUTS = lp.Regression(X, RNG.standard_normal((3, 2)))
CLASSES = lp.Classification(X, [1.0, -1.0, 1.0])
SENSING = lp.MatrixSensing(RNG.standard_normal((2, 2, 2)), [1.0, 2.0])


def squares(block):
    return block[0] ** 2 - block[1] ** 2


NETWORKS = (
    lp.Diagonal(2),
    lp.Power(2),
    lp.Paired(),
    lp.General(squares, block_size=2),
    lp.SignedPower(2),
    lp.Convolutional((4, 4)),
    lp.Diagonal(3),
    lp.RankOne(2, 2),
    lp.FullyConnected((4,)),
    lp.FullyConnected((2, 3)),
    lp.TwoLayer(5),
    lp.ReLU((3,)),
    lp.Convolutional((2, 4)),
    lp.MatrixProduct(2),
    lp.Tensor(RNG.standard_normal((4, 2, 3))),
)
TASKS = (REGRESSION, ONE_SAMPLE, OUTPUTS, CLASSES, SENSING)
STARTS = (lp.Init.random, lp.Init.zero_last)


def problems():
    """Of every network and task that go together, from several starts and scales."""
    for network in NETWORKS:
        for task in TASKS:
            for start in STARTS:
                settings = {"seed": 0} if start == lp.Init.random else {}
                try:
                    init = start(network, task, 0.5, **settings)
                    made = [lp.Problem(network, init.at_scale(s), task) for s in (0.0, 0.5, np.inf)]
                except lp.errors.LimitpointError:
                    continue
                yield from made


@pytest.fixture(scope="module")
def explanations():
    return [lp.explain(problem) for problem in problems()]


def test_every_condition_that_fails_says_what_to_change(explanations):
    failing = {
        (condition.name, condition.change)
        for explanation in explanations
        for _, conditions in explanation.rows
        for condition in conditions
        if not condition.holds
    }
    assert len({name for name, _ in failing}) > 40
    assert not [name for name, change in failing if not change]
    assert max(len(change) for _, change in failing) < 110


def test_a_refusal_is_a_few_lines_of_a_terminal(explanations):
    refused = [explanation for explanation in explanations if explanation.used is None]
    assert len(refused) > 20
    for explanation in refused:
        lines = f"error: {explanation.refusal()}".splitlines()
        assert len(lines) <= 8
        assert max(map(len, lines)) <= 80
        assert "To change: " in explanation.refusal()
        assert str(explanation).startswith(explanation._unknown()[:60])


def test_the_theorem_that_is_used_comes_first(explanations):
    used = [explanation for explanation in explanations if explanation.used is not None]
    assert len(used) > 20
    for explanation in used[::5]:
        assert str(explanation).startswith(f"{explanation.used.id} is used: ")
        assert (
            str(explanation.full()).split("\n\n")[1].startswith(f"{explanation.used.id}: is used")
        )
        assert lp.predict(explanation.problem).theorem is explanation.used


def test_it_is_short_and_the_whole_is_one_call_away(explanations):
    for explanation in explanations[::5]:
        text = explanation._page().to_text(80)
        assert len(text.splitlines()) <= 50
        assert max(map(len, text.splitlines())) <= 80
        full = str(explanation.full())
        assert all(theorem.id in full for theorem in lp.atlas.theorems())


def test_the_order_of_the_nearest(explanations):
    """Task, network, data; then how many conditions fail, then by how much."""
    for explanation in explanations:
        keys = []
        for theorem in explanation.nearest:
            failing = [c for c in explanation.conditions(theorem) if not c.holds]
            asked = [any(c.about == kind for c in failing) for kind in ("task", "network", "data")]
            margins = [np.inf if c.margin is None else abs(c.margin) for c in failing]
            keys.append((*asked, len(failing), max(margins)))
        assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("network", "task", "start", "nearest", "change"),
    [
        (lp.TwoLayer(5), OUTPUTS, lp.Init.random, "varre2023.theorem3.1", "Init.orthogonal"),
        (lp.FullyConnected((4,)), REGRESSION, lp.Init.random, "lyu2023.theorem2", "--balanced"),
    ],
)
def test_the_change_that_is_named_helps(network, task, start, nearest, change):
    problem = lp.Problem(network, start(network, task, 0.5, seed=0), task)
    with pytest.raises(NoTheoremApplies, match=f"The nearest, {nearest}, misses") as found:
        lp.predict(problem)
    assert change in str(found.value)
    better = lp.Init.orthogonal if nearest.startswith("varre") else lp.Init.balanced
    mended = lp.Problem(network, better(network, task, 0.5), task)
    assert lp.predict(mended).theorem.id == nearest


@pytest.mark.usefixtures("as_registered")
def test_a_theorem_of_your_own_needs_no_change():
    lp.atlas.register(
        lp.atlas.Theorem(
            id="mine.theorem",
            citation="mine",
            statement="Mine.",
            concludes="limit",
            rank=99,
            conditions=lambda _: (lp.atlas.Condition("luck", False, -1e-9, "there is none"),),
            limit=lambda _: None,
        )
    )
    network = lp.TwoLayer(5)
    problem = lp.Problem(network, lp.Init.random(network, OUTPUTS, 0.5, seed=0), OUTPUTS)
    with pytest.raises(NoTheoremApplies, match=r"mine\.theorem, misses one condition") as found:
        lp.predict(problem)
    assert "- luck (margin -1e-09): there is none" in str(found.value)
    assert "To change" not in str(found.value)
    assert "luck (margin -1e-09)" in str(found.value.explanation)
