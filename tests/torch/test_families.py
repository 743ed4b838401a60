"""Modules are recognised, and their training by PyTorch ends where that is predicted."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.torch.campaign import measure, recognised_as, train
from tests.torch.families import FAMILIES, coef_of, draw

import limitpoint as lp
from limitpoint.results import Outcome

pytestmark = pytest.mark.torch

# `python -m tests.torch` does twenty starts of each, trained.
STARTS = 6
TRAINED = 1


@pytest.fixture(autouse=True)
def _one_thread():
    """Two test processes share two cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("seed", range(TRAINED, STARTS))
@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_recognised(name, seed):
    drawn = draw(name, seed)
    problem = lp.torch.problem(drawn.module, drawn.X, drawn.y)
    assert recognised_as(problem.network, drawn.network)
    found = problem.network.coef(problem.init.layers)
    wanted = coef_of(drawn.module, drawn.X.shape[1]).reshape(found.shape)
    assert abs(found - wanted).max() <= 1e-12 * abs(wanted).max()
    assert lp.predict(problem).status.ok


@pytest.mark.parametrize("place", range(len(FAMILIES)))
def test_training_ends_where_it_is_predicted(place):
    # Every other family in single precision, where it can be.
    found = measure(draw([*FAMILIES][place], place % 2))
    assert found.is_recognised
    assert found.agreement <= 1e-12
    assert found.round_trip <= 4e-15
    assert found.verdict.outcome is Outcome.PASSED, found.verdict


@pytest.mark.parametrize("name", ["diagonal 3", "dense", "frozen"])
def test_a_run_that_is_off_by_a_percent_does_not_pass(name):
    """In a direction that the data do not see, too."""
    drawn = draw(name, 0)
    problem = lp.torch.problem(drawn.module, drawn.X, drawn.y)
    train(drawn.module, drawn)
    rule = {"training": lp.GD(drawn.rate), "steps": drawn.steps}
    assert lp.compare(problem, drawn.module, **rule).passed
    coef = coef_of(drawn.module, drawn.X.shape[1]).reshape(problem.task.coef_shape)
    unseen = np.linalg.svd(drawn.X)[2][-1]
    for off in (unseen, coef / np.linalg.norm(coef)):
        wrong = coef + 0.01 * np.linalg.norm(coef) * off
        assert not lp.compare(problem, wrong, **rule).passed
    with torch.no_grad():
        for one in drawn.module.parameters():
            one.mul_(1.01 if one.requires_grad else 1.0)
    assert not lp.compare(problem, drawn.module, **rule).passed
