"""Many runs at once: equal to single ones, smaller problems that train alike, probes, errors."""

import dataclasses
import json

import numpy as np
import pytest
import xarray as xr

import limitpoint as lp
from limitpoint.dynamics import (
    GD,
    SGD,
    Distance,
    NoiseTerm,
    Probe,
    StartTerm,
    train,
    train_many,
)
from limitpoint.dynamics.training import ensemble
from limitpoint.dynamics.training.smaller_problem import Compressed, compress

M, N = 4, 12
SCALES, SEEDS, STEPS = (0.5, 0.9), (0, 3), 300
RULES = (GD(0.05), SGD(0.05, 2))
RECORD = [1, 17, 100]
# Steps of order 1 that contract: rounding, a few thousand times.
AGREEMENT = 1e-11


def regression(m=M, n=N, loss_factor=None, seed=0):
    rng = np.random.default_rng(seed)
    X, truth = rng.standard_normal((m, n)) / np.sqrt(n), rng.standard_normal(n)
    return lp.Regression(X, X @ truth, loss_factor=2 / m if loss_factor is None else loss_factor)


def problem_of(network, init=lp.Init.random, task=None, scale=0.7, **arguments):
    task = regression() if task is None else task
    return lp.Problem(network, init(network, task, scale=scale, **arguments), task)


def unit_random(network, task, scale, seed):
    """A generic start whose layers have norm 1, so that steps of 0.05 are small."""
    drawn = lp.Init.random(network, task, seed=seed).direction
    return lp.Init([layer / np.linalg.norm(layer) for layer in drawn], scale)


RANK_ONE = lp.RankOne(depth=3, width=9)
PROBLEMS = {
    "rank one, any start": problem_of(RANK_ONE, unit_random, seed=1),
    "rank one, perturbed": problem_of(RANK_ONE, lp.Init.perturbed, imbalance=0.2, seed=1),
    "dense, balanced": problem_of(lp.FullyConnected((5, 4)), lp.Init.balanced, seed=1),
    "dense, any start": problem_of(lp.FullyConnected((3,)), unit_random, seed=1),
    "diagonal": problem_of(lp.Diagonal(depth=2), seed=1),
}


@pytest.mark.parametrize("name", [name for name in PROBLEMS if "perturbed" not in name])
def test_equals_single_runs_of_the_whole_network(name):
    problem, truth = PROBLEMS[name], np.arange(N) / N
    # Gradient descent where there is nothing to compress.
    rule = GD(0.05) if name == "diagonal" else SGD(0.05, 2)
    sweep = train_many(problem, rule, STEPS, scales=SCALES, seeds=SEEDS, truth=truth, record=RECORD)
    assert sweep.steps.tolist() == [0, *RECORD, STEPS]
    # One scale and one seed.
    single = lp.Problem(problem.network, problem.init.at_scale(SCALES[1]), problem.task)
    run = train(single, rule.with_seed(SEEDS[1]), STEPS, record=RECORD)
    least = np.linalg.pinv(problem.task.X) @ problem.task.y
    one = sweep.data.isel(optimiser=0, scale=1, seed=1)
    for expected, record in (
        (run.losses, "loss"),
        (np.linalg.norm(run.coefs - least, axis=1), "distance_l2"),
        (np.linalg.norm(run.coefs - truth, axis=1), "distance_truth"),
    ):
        np.testing.assert_allclose(one[record].values, expected, rtol=0, atol=AGREEMENT)
    np.testing.assert_allclose(one["coef"].values, run.coef, rtol=0, atol=AGREEMENT)
    np.testing.assert_allclose(one["time"].values, run.times, rtol=1e-14)
    if hasattr(problem.network, "outer"):
        outer = problem.network.outer([layer[-1] for layer in run.layers])
        np.testing.assert_allclose(one["outer"].values, outer, rtol=0, atol=AGREEMENT)
    else:
        assert sweep.outers is None


class TestSmallerProblems:
    @pytest.mark.parametrize(
        ("problem", "network", "features"),
        [
            (PROBLEMS["rank one, any start"], lp.RankOne(3, 2), M + 1),
            (problem_of(lp.RankOne(2, 1), unit_random, seed=1), lp.RankOne(2, 1), M + 1),
            (PROBLEMS["dense, balanced"], lp.FullyConnected((1, 1)), M + 1),
            (PROBLEMS["dense, any start"], lp.FullyConnected((3,)), M + 3),
            (
                problem_of(lp.FullyConnected((5, 4)), lp.Init.one_neuron, seed=1),
                lp.FullyConnected((1, 2)),
                M + 1,
            ),
            (PROBLEMS["diagonal"], lp.Diagonal(depth=2), N),
            # No more than there are.
            (
                problem_of(lp.RankOne(2, 3), unit_random, regression(m=N), seed=1),
                lp.RankOne(2, 2),
                N,
            ),
        ],
        ids=str,
    )
    def test_are_as_small_as_can_be(self, problem, network, features):
        small = compress(problem)
        assert small.problem.network == network
        assert small.problem.task.n_features == features

    @pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
    def test_start_from_the_same_function(self, problem):
        small = compress(problem)
        inner = small.problem.network.coef(small.problem.init.layers)
        coef = problem.network.coef(problem.init.layers)
        np.testing.assert_allclose(small.coef(inner), coef, rtol=0, atol=1e-14)
        np.testing.assert_allclose(
            small.problem.task.residual(inner), problem.task.residual(coef), rtol=0, atol=1e-14
        )

    def test_layers_that_are_zero(self):
        layers = [np.ones((N, 3)), np.zeros((3, 2)), np.zeros(2)]
        problem = lp.Problem(lp.FullyConnected((3, 2)), lp.Init.from_layers(layers), regression())
        small = compress(problem)
        assert small.problem.network == lp.FullyConnected((1, 1))
        assert not small.problem.network.coef(small.problem.init.layers).any()


def test_the_end_of_every_run_follows_from_its_outer_product():
    """`β(∞) = X⁺y + outer(∞)·P_null v₁(0)`, for GD and SGD at any step."""
    problem = PROBLEMS["rank one, perturbed"]
    sweep = train_many(problem, RULES, 4000, scales=SCALES, seeds=SEEDS, record=1)
    assert (sweep.data["status"] == "CONVERGED").all()
    # Seeds matter where there are draws, scales always.
    np.testing.assert_array_equal(sweep.coefs[0, :, 0], sweep.coefs[0, :, 1])
    assert (sweep.coefs[1, :, 0] != sweep.coefs[1, :, 1]).any(axis=-1).all()
    assert (sweep.coefs[:, 0] != sweep.coefs[:, 1]).any(axis=-1).all()
    X, y = problem.task.X, problem.task.y
    first = problem.init.direction[0]
    outside = first - np.linalg.pinv(X) @ (X @ first)
    shift = np.asarray(SCALES)[None, :, None, None] * sweep.outers[..., None] * outside
    np.testing.assert_allclose(sweep.coefs, np.linalg.pinv(X) @ y + shift, rtol=0, atol=1e-8)


def test_draws_may_come_in_stretches(monkeypatch):
    problem = PROBLEMS["rank one, any start"]
    arguments = {"seeds": SEEDS, "record": [3, 50, 60]}
    whole = train_many(problem, SGD(0.05, 2), 100, **arguments)
    # 2 seeds of 2 samples: 7 steps at a time.
    monkeypatch.setattr(ensemble, "DRAWS_AT_ONCE", 28)
    parts = train_many(problem, SGD(0.05, 2), 100, **arguments)
    assert parts.steps.tolist() == [0, 3, 50, 60, 100]
    for name in ("loss", "distance_l2", "coef"):
        np.testing.assert_allclose(
            parts.data[name].values, whole.data[name].values, rtol=1e-13, atol=1e-15
        )


class TestProbes:
    @staticmethod
    def by_hand(problem, rule, run, exponent):
        """p and q from every step of a recorded run, in units of the mean loss."""
        X, y, m = problem.task.X, problem.task.y, problem.task.n_samples
        lam = 1 - 1 / problem.network.degree
        rate = rule.learning_rate * problem.task.loss_factor * m / 2
        total, p, q = np.zeros(problem.task.n_features), [], []
        start = run.coefs[0]
        for coef in run.coefs:
            p.append(coef @ start / np.linalg.norm(start) ** lam)
            q.append(2 * lam * rate / (m * rule.batch_size) * coef @ total)
            projector = np.eye(len(coef)) - np.outer(coef, coef) / (coef @ coef)
            size = np.linalg.norm(coef) ** exponent * np.trace(projector @ X.T @ X)
            total = total + rate * np.mean((X @ coef - y) ** 2) * size * coef
        return p, q

    def test_start_and_noise_terms(self):
        problem = problem_of(RANK_ONE, lp.Init.balanced, regression(loss_factor=1.3), seed=2)
        rule, lam = SGD(0.05, 2), 4 / 5  # 2(L − 1)/(2L − 1) at depth 3
        probes = [StartTerm(), NoiseTerm(), NoiseTerm(exponent=lam - 2, name="printed")]
        sweep = train_many(problem, [GD(0.05), rule], 60, probes=probes, record=range(61))
        run = train(problem, rule, 60, record=range(61))
        one = sweep.data.isel(optimiser=1, scale=0, seed=0)
        p, q = self.by_hand(problem, rule, run, 3 * lam - 2)
        np.testing.assert_allclose(one["start_term"], p, rtol=1e-12)
        np.testing.assert_allclose(one["noise_term"], q, rtol=1e-11, atol=1e-15)
        assert q[-1] > 0
        _, q = self.by_hand(problem, rule, run, lam - 2)
        np.testing.assert_allclose(one["printed"], q, rtol=1e-11, atol=1e-15)
        assert not sweep.data["noise_term"][0].values.any()

    def test_the_loss_factor_only_rescales_the_step(self):
        ends = []
        for factor in (2 / M, 8 / M):
            problem = problem_of(RANK_ONE, lp.Init.balanced, regression(loss_factor=factor), seed=2)
            sweep = train_many(problem, SGD(0.1 / (M * factor), 1), 50, probes=[NoiseTerm()])
            ends.append(float(sweep.data["noise_term"][0, 0, 0, -1]))
        assert ends[0] == pytest.approx(ends[1], rel=1e-12)

    def test_a_start_at_zero_has_no_terms(self):
        task = regression()
        layers = [np.zeros((N, 2)), np.ones(2)]
        problem = lp.Problem(lp.FullyConnected((2,)), lp.Init.from_layers(layers), task)
        sweep = train_many(problem, SGD(0.05, 1), 20, probes=[StartTerm(), NoiseTerm()], record=[1])
        assert not sweep.data["start_term"].values.any()
        assert sweep.data["noise_term"].values[0, 0, 0, :2].tolist() == [0.0, 0.0]
        assert sweep.data["noise_term"].values[0, 0, 0, 2] > 0

    def test_of_the_user(self):
        """An integrand that does not turn with the features: the network is trained whole."""

        class Travelled(Probe):
            name = "sum_of_moduli"
            integrates = True

            def integrand(self, problem, coef):
                assert problem.task.n_features == N
                return abs(coef)

            def value(self, problem, optimiser, start, coef, integral):
                return integral.sum()

        problem = PROBLEMS["rank one, any start"]
        sweep = train_many(problem, GD(0.05), 30, probes=[Travelled()], record=[10])
        run = train(problem, GD(0.05), 30, record=range(31))
        sums = 0.05 * np.cumsum(np.abs(run.coefs).sum(axis=1))
        expected = [0.0, sums[9], sums[29]]
        np.testing.assert_allclose(sweep.data["sum_of_moduli"][0, 0, 0], expected, rtol=1e-12)

    def test_without_integrand(self):
        with pytest.raises(TypeError, match="distance integrates nothing"):
            Distance(np.ones(N)).integrand(PROBLEMS["diagonal"], np.ones(N))


@pytest.fixture(scope="module")
def sweep():
    """One step size that diverges, one that does not."""
    problem = PROBLEMS["rank one, any start"]
    return train_many(
        problem, [SGD(30.0, 2), SGD(0.05, 2)], 50, scales=[0.1, 0.9], seeds=range(3), record=4
    )


class TestSweep:
    def test_diverged_runs_are_flagged(self, sweep):
        assert sweep.diverged[0, 1].all()
        assert not sweep.diverged[1].any()
        assert (sweep.data["status"].values[1] == "REACHED_END").all()

    def test_labels_and_shapes(self, sweep):
        runs = (2, 2, 3)
        assert sweep.optimisers[1] == "SGD(learning_rate=0.05, batch_size=2)"
        assert sweep.scales.tolist() == [0.1, 0.9]
        assert sweep.seeds.tolist() == [0, 1, 2]
        assert sweep.losses.shape == (*runs, len(sweep.steps))
        assert sweep.coefs.shape == (*runs, N)
        assert sweep.outers.shape == runs
        assert sweep.data["distance_l2"].dims == ("optimiser", "scale", "seed", "step")
        assert sweep.data.sel(scale=0.9, seed=2)["loss"].shape == (2, len(sweep.steps))

    def test_is_immutable(self, sweep):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
            sweep.data = None
        with pytest.raises(ValueError, match="read-only"):
            sweep.losses[0] = 1.0

    def test_table(self, sweep):
        text = str(sweep)
        assert "mean ± standard error" in text
        assert "diverged" in text
        assert "distance_l2" in text
        assert max(len(line) for line in text.splitlines()) <= 110
        ends = sweep.data["distance_l2"].values[1, 1, :, -1]
        assert f"{ends.mean():.4g} ± {ends.std(ddof=1) / np.sqrt(3):.2g}" in text
        assert "<table>" in sweep._repr_html_()

    def test_a_long_table_is_cut(self):
        sweep = train_many(PROBLEMS["diagonal"], GD(0.05), 2, scales=np.linspace(0.1, 1, 40))
        lines = str(sweep).splitlines()
        assert "40 scales" in lines[0]
        assert sum("reached end" in line for line in lines) == 12

    def test_conversions(self, sweep):
        data = sweep.to_xarray()
        assert isinstance(data, xr.Dataset)
        assert data is not sweep.data
        plain = sweep.to_dict()
        assert json.loads(json.dumps(plain))["steps"] == sweep.steps.tolist()
        assert np.shape(plain["distance_l2"]) == sweep.losses.shape
        assert plain["status"][0][1] == ["DIVERGED"] * 3

    def test_the_scale_is_the_problem_s_own_by_default(self):
        sweep = train_many(PROBLEMS["diagonal"], GD(0.05), 2)
        assert sweep.scales.tolist() == [0.7]
        assert sweep.seeds.tolist() == [0]


class TestBadArguments:
    problem = PROBLEMS["diagonal"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"steps": 0}, "steps must be a whole number"),
            ({"optimisers": []}, "optimisers must hold at least one"),
            ({"optimisers": 3}, "optimisers must hold an optimiser"),
            ({"optimisers": [GD]}, r"optimisers\[0\] must be an optimiser"),
            ({"optimisers": [SGD(0.1, 1), SGD(0.1, 1, seed=2)]}, "differ in more than their seed"),
            (
                {"optimisers": [SGD(0.1, M + 1, replacement=False)]},
                "batch_size must be at most the number of samples",
            ),
            ({"scales": []}, "scales must hold at least one"),
            ({"scales": [0.1, 0.1]}, "scales must differ"),
            ({"scales": 0.1}, "scales must have 1 dimension"),
            ({"scales": [0.0, 0.1]}, "cannot be held in float64"),
            ({"scales": [-0.1]}, "scales must not be negative"),
            ({"scales": [1e120]}, "overflows float64"),
            ({"seeds": []}, "seeds must hold at least one"),
            ({"seeds": [1, 1]}, "seeds must differ"),
            ({"seeds": 3}, "seeds must hold whole numbers"),
            ({"seeds": [0.5]}, "seeds must be a whole number"),
            (
                {"truth": [1.0]},
                r"truth must have the shape of the coefficients, \(12,\)",
            ),
            ({"probes": ["p"]}, r"probes\[0\] must be a probe"),
            ({"probes": StartTerm()}, "probes must hold probes"),
            ({"probes": [Distance(np.ones(N), name="loss")]}, "'loss' is taken"),
            ({"probes": [Distance(np.ones(N), name="distance_l2")]}, "'distance_l2' is taken"),
            ({"probes": [StartTerm()]}, "start_term belongs to the potential of rank-one"),
            ({"probes": [NoiseTerm()]}, "noise_term belongs to the potential of rank-one"),
            ({"record": [-1]}, "record must hold step numbers"),
        ],
        ids=str,
    )
    def test_of_train_many(self, arguments, message):
        given = {"optimisers": [GD(0.1)], "steps": 3, **arguments}
        optimisers, steps = given.pop("optimisers"), given.pop("steps")
        with pytest.raises(lp.errors.LimitpointError, match=message):
            train_many(self.problem, optimisers, steps, **given)

    def test_noise_of_reshuffling(self):
        rules = [SGD(0.1, 2, replacement=False)]
        with pytest.raises(lp.errors.LimitpointError, match="drawn with replacement"):
            train_many(PROBLEMS["rank one, any start"], rules, 3, probes=[NoiseTerm()])

    @pytest.mark.parametrize("exponent", ["two", np.nan, np.inf])
    def test_exponent(self, exponent):
        with pytest.raises(lp.errors.LimitpointError, match="exponent must be a finite number"):
            NoiseTerm(exponent=exponent)

    @pytest.mark.parametrize("name", ["", None, 3])
    def test_name(self, name):
        with pytest.raises(lp.errors.LimitpointError, match="name must be a word"):
            Distance(np.ones(2), name=name)

    def test_point(self):
        with pytest.raises(lp.errors.LimitpointError, match="to must be finite"):
            Distance([np.nan, 1.0])


def test_a_problem_that_is_not_smaller_is_the_same():
    problem = PROBLEMS["diagonal"]
    same = compress(problem)
    assert isinstance(same, Compressed)
    assert same.problem is problem
