"""SGD ends nearer to the minimum-norm solution than GD, at every scale (lyu, Figures 5 to 7, 11).

The set-up of the paper: 40 samples of 100 features, 20 of them informative, learning rate 1e-3,
batches of 4, 20000 iterations; ours are the seeds. Where each run ends is then predicted by the
null-space law from its own outer layers.
"""

import numpy as np
import pytest

import limitpoint as lp

NORMS = np.array([0.05, 0.2, 0.8696, 2.0, 5.0])
SEEDS = range(10)
STEPS = 20_000
SAMPLES, FEATURES, INFORMATIVE = 40, 100, 20


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(40)
    X = rng.standard_normal((SAMPLES, FEATURES))
    truth = np.zeros(FEATURES)
    truth[:INFORMATIVE] = rng.standard_normal(INFORMATIVE)
    return lp.Regression(X, X @ truth, loss_factor=2 / SAMPLES), truth


def started(kind, task):
    # The paper's widths are 100; layers that start with rank one stay so, at any width.
    if kind == "standard":
        network = lp.FullyConnected(widths=(100, 100, 100))
        return network, lp.Init.balanced(network, task, norm=1.0)
    network = lp.RankOne(depth=3, width=100)
    if kind == "rank-one":
        return network, lp.Init.balanced(network, task, norm=1.0)
    return network, lp.Init.perturbed(network, task, norm=1.0, imbalance=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rank-one", "standard", "perturbed"])
def test_sgd_ends_nearer_to_minimum_norm(kind, data):
    task, truth = data
    network, init = started(kind, task)
    problem = lp.Problem(network, init, task)
    scales = NORMS ** (1 / network.degree)
    optimisers = [lp.GD(1e-3), lp.SGD(1e-3, 4)]
    sweep = lp.train_many(
        problem, optimisers, STEPS, scales=scales, seeds=SEEDS, truth=truth, record=1
    )
    assert (sweep.data["status"] == "CONVERGED").all()
    quiet, noisy = sweep.data["distance_l2"].values[:, :, :, -1]
    # Error bars over the seeds: five standard errors below, at every scale.
    error = noisy.std(axis=1, ddof=1) / np.sqrt(len(SEEDS))
    assert (noisy.mean(axis=1) + 5 * error < quiet[:, 0]).all()
    # GD is within 2 % of the flow's limit, and every run ends where the law says.
    for i, scale in enumerate(scales):
        here = lp.Problem(network, init.at_scale(scale), task)
        limit = lp.predict(here)
        ends = sweep.coefs[:, i]
        assert np.linalg.norm(ends[0, 0] - limit.coef) <= 0.02 * np.linalg.norm(limit.coef)
        for end, outer in zip(ends[1, :3], sweep.outers[1, i, :3], strict=True):
            law = lp.analysis.limit_given_outer(here, outer=outer)
            assert law.certificate.ok
            assert np.linalg.norm(end - law.coef) <= 1e-8 * np.linalg.norm(law.coef)
