"""The problems that are stored, each under a name, and what is computed of each."""

from tests.campaign.families import FAMILIES, draw
from tests.campaign.saddles import problem as saddle_problem
from tests.mutations.problems import CASES
from tests.stored.numbers import (
    numbers_of_limit,
    numbers_of_limit_path,
    numbers_of_run,
    numbers_of_saddle_path,
    numbers_of_sweep,
    numbers_of_verdict,
    or_the_error,
)

import limitpoint as lp

SEED = 5
PREDICTIONS, PLAIN, SADDLES = 6, 3, 60
# Plain problems, whose flows are stored too, have data in one unit and starts of ten to these.
SCALES = (-3.0, 0.0)
STEPS = 400


def jobs():
    """Every (kind, name, number); a verdict holds its limit, its flows and its training."""
    for name in FAMILIES:
        yield from (("units", name, number) for number in range(PREDICTIONS))
        yield from (("plain", name, number) for number in range(PLAIN))
    yield from (("saddles", "saddle path", number) for number in range(SADDLES))
    yield from (("verdict", f"{case.group} {case.name}", i) for i, case in enumerate(CASES))
    yield from (("train", f"{case.group} {case.name}", i) for i, case in enumerate(CASES))


def numbers(kind, name, number):
    """The name of a job, and its numbers by the name of what they are."""
    return f"{kind}: {name} {number}", or_the_error(KINDS[kind], name, number)


def _units(name, number):
    return numbers_of_limit(lp.predict(draw(name, SEED, number).problem))


def _plain(name, number):
    problem = draw(name, SEED, number, decades=0, scales=SCALES).problem
    found = or_the_error(lambda: numbers_of_limit(lp.predict(problem)))
    found |= or_the_error(lambda: numbers_of_run("flow", lp.flow(problem)))
    if number == 0:
        scales = [1.0, 0.1, 0.01]
        found |= or_the_error(lambda: numbers_of_limit_path(lp.predict_path(problem, scales)))
    return found


def _saddles(_, number):
    return numbers_of_saddle_path(lp.saddle_path(*saddle_problem(number, SEED)[:4]))


def _verdict(_, number):
    return numbers_of_verdict(CASES[number].verdict())


def _train(_, number):
    problem = CASES[number].problem
    found = {}
    for optimiser in (lp.GD(1e-3), lp.SGD(1e-3, batch_size=1, seed=3)):
        run = lp.train(problem, optimiser, steps=STEPS)
        found |= numbers_of_run(type(optimiser).__name__, run)
    many = lp.train_many(problem, [lp.GD(1e-3), lp.GD(2e-3)], steps=STEPS)
    return found | numbers_of_sweep(many)


KINDS = {
    "units": _units,
    "plain": _plain,
    "saddles": _saddles,
    "verdict": _verdict,
    "train": _train,
}
