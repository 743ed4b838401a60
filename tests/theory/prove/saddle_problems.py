"""Problems of vanishing scale that several tests share, and what the checker says of a proof."""

import copy
import json

from tests.oracles.proof_checker import check, check_refusal

import limitpoint as lp


def exported(proof):
    return json.loads(json.dumps(proof.to_dict()))


def accept(proof):
    """By the checker: the proof, or the proof that there is none."""
    found = exported(proof)
    (check if proof.ok else check_refusal)(copy.deepcopy(found["problem"]), found)


def at_zero(network, X, y, layers=None):
    task = lp.Regression(X, y)
    if layers is None:
        layers = lp.Init.random(network, task, seed=0).direction
    return lp.Problem(network, lp.Init(layers, 0.0), task)


SEVEN = [[10.0, 5.0, 7.0, 0.0], [5.0, 10.0, 1.0, 7.0]]

# Three equal layers above the fourth: t⁺ = 1/(a(a + v)), which is 1/6 for both of the first two
# columns, though not for a reason that is looked for; and two columns with other times.
TIE = [[2.0, 3.0, 1.0, 1.0], [2.0, 3.0, 3.0, 3.0], [2.0, 3.0, 4.0, 4.0], [1.0, -1.0, 0.5, 0.25]]
