"""The law of the step, `limitpoint.step_law`: a run is where the flow from its effective start is.

Random runs of all networks and rules that obey it, against our own limits and against oracles that
share no code with us: a NumPy loop of the steps, and the flow followed to its end by brute force.
"""

import pickle

import numpy as np
import pytest
from tests.oracles import gradient_steps
from tests.oracles.brute.families import power
from tests.oracles.brute.limit import limit as brute_limit

import limitpoint as lp

STEPS, RECORDS = 300, np.linspace(30, 300, 10).astype(int)
# What the law is asked for, relative; rounding of 300 steps leaves some 1e-14.
LAW = 1e-9
NETWORKS = (lp.Diagonal(2), lp.SignedPower(2), lp.Paired())
FAMILIES = ("diagonal", power(2), "paired")
RULES = (
    lambda rate, seed: lp.GD(rate),
    lambda rate, seed: lp.SGD(rate, 1, seed=seed),
    lambda rate, seed: lp.SGD(rate, 2, replacement=False, seed=seed),
    lambda rate, seed: lp.LabelNoise(rate, 0.3, seed=seed),
    lambda rate, seed: lp.GD(rate, weight_decay=0.05),
)


def drawn(number):
    """A random problem, now and then with tied or zero entries, and a rule up to half the edge."""
    rng = np.random.default_rng((22, number))
    samples = int(rng.integers(2, 6))
    features = samples + int(rng.integers(1, 7))
    network = NETWORKS[number % len(NETWORKS)]
    truth = rng.standard_normal(features) * (rng.random(features) < 0.5)
    X = rng.standard_normal((samples, features))
    task = lp.Regression(X, X @ truth + 0.1, loss_factor=1 / samples)
    layers = rng.standard_normal((len(network.layer_shapes(task)), features))
    if rng.random() < 0.3:
        layers[1, 0] = layers[0, 0]
    if rng.random() < 0.3:
        layers[1, 1] = 0.0
    problem = lp.Problem(network, lp.Init(layers, 10 ** rng.uniform(-3, 0)), task)
    make, edge = RULES[number % len(RULES)], 1e-3
    while not gradient_steps.diverges(problem, make(edge, number), STEPS):
        edge *= 2
    rate = edge * rng.uniform(0.05, 0.5)
    while gradient_steps.diverges(problem, make(rate, number), STEPS):
        rate /= 2
    return problem, make(rate, number)


def refitted(problem, coef):
    """The same data with the targets that a run has reached."""
    task = problem.task
    return lp.Regression(task.X, task.X @ coef, task.loss_factor)


def off(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def lost_and_back(run, start):
    """Whether a sum or difference of layers was rounded by more than the law is asked for.

    That is one which was the smaller by a factor above `LAW/(10 · STEPS · EPS)`, and later the
    larger: layers a, b hold of `p = a + b` what rounding of them leaves. Chaotic runs of large
    steps do that. `log|p/q| = asinh(2β/|pq|)`, `|pq| = |p₀q₀|e^S`. Of `u² − w²` both terms are
    layers.
    """
    if len(start) == 2:
        sums, differences = start[0] + start[1], start[0] - start[1]
    else:
        sums = np.hypot(start[0] + start[1], start[2] - start[3])
        differences = np.hypot(start[0] - start[1], start[2] + start[3])
    with np.errstate(divide="ignore", invalid="ignore"):
        products = np.abs(sums * differences) * np.exp(run.effective_start.log_shrinkage)
        ratios = np.arcsinh(2 * run.coefs / products)
    most = np.log(LAW / (10 * STEPS * np.finfo(float).eps))
    taken = [np.maximum.accumulate(side > most, axis=0) for side in (ratios, -ratios)]
    return bool((taken[0] & (ratios < 0)).any() or (taken[1] & (ratios > 0)).any())


def check_law(problem, rule, brute):
    run = lp.train(problem, rule, STEPS, record=range(STEPS + 1))
    plain = isinstance(problem.network, lp.SignedPower)
    if not plain and lost_and_back(run, problem.init.layers):
        return False
    run = run.select([0, *RECORDS])
    for record, start in enumerate(run.effective_init[1:], 1):
        coef = run.coefs[record]
        limit = lp.predict(lp.Problem(problem.network, start, refitted(problem, coef)))
        assert off(limit.coef, coef) <= LAW, (rule, record)
    if brute:
        family = FAMILIES[NETWORKS.index(problem.network)]
        task = refitted(problem, run.coef)
        found = brute_limit(family, task.X, task.y, run.effective_init[-1].layers)
        assert off(found, run.coef) <= LAW
    return True


@pytest.mark.parametrize("number", range(15))
def test_every_network_and_every_rule(number):
    problem, rule = drawn(number)
    assert check_law(problem, rule, brute=number < 6)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
def test_two_hundred_runs(tenth):
    held = [check_law(*drawn(n), brute=False) for n in range(20 * tenth, 20 * (tenth + 1))]
    assert sum(held) >= 18


@pytest.mark.parametrize("number", [1, 5, 8])
def test_many_runs_at_once(number):
    problem, rule = drawn(number)
    scales = [problem.init.scale, 0.5 * problem.init.scale]
    data = lp.train_many(problem, rule, STEPS, scales=scales, seeds=[3, 4]).data
    for i, j in np.ndindex(2, 2):
        here = data.isel(optimiser=0, scale=i, seed=j)
        count = len(problem.init.direction)
        start = lp.Init.from_layers([here[f"effective_layer_{k}"].values for k in range(count)])
        coef = here["coef"].values
        limit = lp.predict(lp.Problem(problem.network, start, refitted(problem, coef)))
        assert off(limit.coef, coef) <= LAW
        at_scale = lp.Problem(problem.network, problem.init.at_scale(scales[i]), problem.task)
        alone = lp.train(at_scale, rule.with_seed(int(here["seed"])), STEPS)
        # The two programs round differently, and so apart in every step.
        for name in ("log_shrinkage", "shift"):
            found = getattr(alone.effective_start, name)[-1]
            np.testing.assert_allclose(here[name].values, found, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_against_a_loop(number):
    problem, rule = drawn(number)
    run = lp.train(problem, rule, STEPS, record=RECORDS)
    layers, growth = gradient_steps.train(problem, rule, STEPS)
    # A few roundings in each of 300 steps, which contract or keep the layers.
    for j, layer in enumerate(run.layers):
        expected = np.array([one[j] for one in layers])[run.steps]
        np.testing.assert_allclose(layer, expected, rtol=0, atol=1e-12)
    start = run.effective_start
    np.testing.assert_allclose(start.growth, growth[run.steps], rtol=1e-10, atol=1e-11)
    rises, falls = growth[run.steps, 0], growth[run.steps, 1]
    np.testing.assert_allclose(start.log_shrinkage, rises + falls, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(start.shift, (falls - rises) / 2, rtol=1e-10, atol=1e-11)


def test_sums_do_not_depend_on_what_is_recorded():
    """Logarithms are taken after 64 steps, and whenever a call of the program ends."""
    problem, rule = drawn(1)
    every = lp.train(problem, rule, 200, record=range(201)).effective_start
    few = lp.train(problem, rule, 200, record=[63, 64, 65, 129]).effective_start
    chosen = every.growth[[0, 63, 64, 65, 129, 200]]
    np.testing.assert_allclose(few.growth, chosen, rtol=1e-12, atol=1e-14)


def test_the_start_is_its_own_effective_start():
    problem, rule = drawn(2)
    run = lp.train(problem, rule, 10)
    limit = lp.predict(lp.Problem(problem.network, run.effective_init[0], problem.task))
    assert off(limit.coef, lp.predict(problem).coef) <= 1e-12


@pytest.fixture(scope="module")
def run():
    problem, rule = drawn(1)
    return lp.train(problem, rule, STEPS, record=RECORDS)


def same(one, other):
    np.testing.assert_array_equal(one.effective_start.growth, other.effective_start.growth)
    assert len(one.effective_init) == len(other.effective_init)
    for first, second in zip(one.effective_init, other.effective_init, strict=True):
        np.testing.assert_array_equal(first.layers, second.layers)


def test_survives_pickling(run):
    same(pickle.loads(pickle.dumps(run)), run)


def test_survives_a_file(run, tmp_path):
    run.save(tmp_path / "run.npz")
    same(lp.io.load(tmp_path / "run.npz"), run)


def test_selected_records_have_theirs(run):
    some = run.select([0, 4, 10])
    assert len(some.effective_init) == 3
    np.testing.assert_array_equal(
        some.effective_start.growth, run.effective_start.growth[[0, 4, 10]]
    )


def test_as_a_data_set(run):
    data = run.to_xarray()
    np.testing.assert_array_equal(data["log_shrinkage"], run.effective_start.log_shrinkage)
    np.testing.assert_array_equal(data["shift"], run.effective_start.shift)
    assert data["shift"].dims == ("time", "feature")


def test_shown_in_one_line(run):
    assert "11 records" in repr(run.effective_start)


def three_layers(task):
    return lp.Problem(lp.Diagonal(3), lp.Init(np.full((3, task.n_features), 0.5), 1.0), task)


@pytest.mark.parametrize("which", ["momentum", "three layers"])
def test_no_law_no_effective_start(which):
    problem, rule = drawn(0)[0], lp.GD(1e-3, momentum=0.5)
    if which == "three layers":
        problem, rule = three_layers(problem.task), lp.GD(1e-3)
    run = lp.train(problem, rule, 20)
    assert run.effective_init == ()
    assert run.effective_start is None
    assert "log_shrinkage" not in run.to_xarray()
    assert "log_shrinkage" not in lp.train_many(problem, rule, 20).data


def test_a_run_that_diverges():
    problem, _ = drawn(0)
    run = lp.train(problem, lp.GD(1e3), 500)
    assert run.status is lp.Status.DIVERGED
    assert len(run.effective_start.growth) == len(run.times)
    assert not np.isfinite(run.coefs[-1]).all()
    lp.train_many(problem, lp.GD(1e3), 500)


@pytest.mark.parametrize("side", [0, 1], ids=["rises", "falls"])
@pytest.mark.parametrize("number", [0, 1, 5], ids=["Diagonal", "SignedPower", "Paired"])
def test_one_per_cent_off_a_sum_fails_the_verdict(monkeypatch, number, side):
    from limitpoint.dynamics.training.start_of_flow import StepSums

    problem, rule = drawn(number)
    verdict = lp.verify(problem, training=rule, steps=STEPS)
    law = [check for check in verdict.checks if check.name == "training: law of the step"]
    assert [check.passed for check in law] == [True]
    growth = StepSums.growth

    def broken(self, sums, steps):
        found = growth(self, sums, steps)
        found[side] *= 1.01
        return found

    monkeypatch.setattr(StepSums, "growth", broken)
    verdict = lp.verify(problem, training=rule, steps=STEPS)
    assert "training: law of the step" in [one.name for one in verdict.checks if not one.passed]
    assert verdict.outcome is lp.results.Outcome.FAILED
