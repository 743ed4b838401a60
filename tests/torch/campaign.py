"""One case: is the module recognised, and does its training end where that is predicted?"""

import copy
from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from tests.torch.families import coef_of

import limitpoint as lp
from limitpoint.results import Verdict


@dataclass(frozen=True)
class Measured:
    """What became of one case.

    `is_recognised` is whether the network is the right one; `agreement` how far its coefficients
    are from those of the module, relative, before and after training; `verdict` on the trained
    module; `round_trip` by how much its weights differ when its layers are put into another.
    """

    is_recognised: bool
    agreement: float
    verdict: Verdict
    round_trip: float


def measure(drawn):
    problem = lp.torch.problem(drawn.module, drawn.X, drawn.y)
    agreement = _agreement(problem, drawn.module)
    trained = copy.deepcopy(drawn.module)
    train(trained, drawn)
    verdict = lp.compare(problem, trained, lp.GD(drawn.rate), steps=drawn.steps)
    other = copy.deepcopy(drawn.module)
    lp.torch.load(problem, other, lp.torch.layers(problem, trained))
    return Measured(
        recognised_as(problem.network, drawn.network),
        max(agreement, _agreement(problem, trained)),
        verdict,
        max(_off(a, b) for a, b in zip(other.parameters(), trained.parameters(), strict=True)),
    )


def recognised_as(network, wanted):
    return isinstance(network, wanted) if isinstance(wanted, type) else network == wanted


def _agreement(problem, module):
    wanted = coef_of(module, problem.task.n_features)
    found = problem.network.coef(lp.torch.layers(problem, module))
    return _off(torch.tensor(found), torch.tensor(wanted).reshape(found.shape))


def _off(one, other):
    size = float(other.detach().abs().max()) or 1.0
    return float((one - other).detach().abs().max()) / size


def train(module, drawn):
    """By `torch.optim.SGD` on all samples, the sum of half the squares."""
    kind = next(module.parameters()).dtype
    X, y = (torch.tensor(np.asarray(part), dtype=kind) for part in (drawn.X, drawn.y))
    trained = [one for one in module.parameters() if one.requires_grad]
    optimiser = torch.optim.SGD(trained, lr=drawn.rate)
    for _ in range(drawn.steps):
        optimiser.zero_grad()
        loss = 0.5 * ((module(X).reshape(y.shape) - y) ** 2).sum()
        loss.backward()
        optimiser.step()
