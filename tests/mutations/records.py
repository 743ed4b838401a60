"""Mutations of the runs: of flows, of training, of the direction of a classification."""

import dataclasses

import numpy as np
from tests.mutations.changes import aside, turned
from tests.mutations.mutation import PART, mutation
from tests.mutations.runs import ENGINES

KINDS = ("sample flow", "parameter flow", "logarithmic flow", "plateau flow", "training")


def relayered(run, number, layer):
    """A run with another layer in its record."""
    return dataclasses.replace(run, layers=(*run.layers[:number], layer, *run.layers[number + 1 :]))


def of_each(letter, words, change):
    """The same mutation of each kind of run, one at a time."""
    for kind in KINDS:

        def apply(patch, case, kind=kind):
            case.runs.change = lambda made, run: change(run, case) if made == kind else run

        mutation(letter, words, kind)(apply)


def at_the_end(array, end):
    array = np.array(array)
    array[-1] = end
    return array


def end_coefficient(run, case):
    """By one per cent of the largest that the coefficient has been."""
    coefs = np.array(run.coefs)
    sizes = np.abs(coefs).reshape(len(coefs), -1).max(axis=0).reshape(coefs.shape[1:])
    place = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    coefs[(-1, *place)] += PART * sizes[place]
    return dataclasses.replace(run, coefs=coefs)


def end_aside(run, case):
    moved = aside(run.coef, case.problem.task.X)
    return dataclasses.replace(run, coefs=at_the_end(run.coefs, moved))


def stray(run, case):
    """The first layer, at one moment half-way."""
    if run.layers is None:
        return run
    layer = np.array(run.layers[0])
    layer[len(layer) // 2] *= 1 + PART
    return relayered(run, 0, layer)


def end_layer(which):
    def change(run, case):
        if run.layers is None:
            return run
        number = range(len(run.layers))[which]
        layer = np.array(run.layers[number])
        layer[-1] *= 1 + PART
        return relayered(run, number, layer)

    return change


def late(run, case):
    later = np.log1p(PART) + run.log_times
    return dataclasses.replace(run, times=(1 + PART) * run.times, log_times=later)


def higher(run, case):
    higher = np.log1p(PART) + run.log_losses
    return dataclasses.replace(run, losses=(1 + PART) * run.losses, log_losses=higher)


def duals(run, case):
    changed = None if run.duals is None else (1 + PART) * run.duals
    return dataclasses.replace(run, duals=changed)


of_each("c", "the run's largest coefficient +1 %, at its end", end_coefficient)
of_each("a", "the run's end 1 % aside, with the same fit", end_aside)
of_each("w", "the run's first layer +1 %, half-way", stray)
of_each("f", "the run's first layer +1 %, at its end", end_layer(0))
of_each("h", "the run's last layer +1 %, at its end", end_layer(-1))
of_each("t", "the run's times +1 %", late)
of_each("o", "the run's losses +1 %", higher)
of_each("d", "the run's duals +1 %", duals)


@mutation("s", "the exact flow stopped 1 % short of its margin", "direction")
def short(patch, case):
    limit_direction = case.runs.limit_direction
    patch.setattr(
        ENGINES,
        "limit_direction",
        lambda problem, margin, **options: limit_direction(
            problem, margin=(1 - PART) * margin, **options
        ),
    )


def of_direction(case, change):
    """What `limit_direction` found, changed."""
    case.runs.change = lambda kind, found: change(found) if kind == "direction" else found


@mutation("w", "the run's first layer +1 %, half-way", "direction")
def stray_in_normalised_time(patch, case):
    of_direction(case, lambda found: dataclasses.replace(found, run=stray(found.run, case)))


@mutation("r", "the end of a flow's direction turned by 1 %", "direction")
def turned_direction(patch, case):
    of_direction(case, lambda found: dataclasses.replace(found, direction=turned(found.direction)))


@mutation("z", "features of the end of a flow's direction exchanged", "direction")
def exchanged(patch, case):
    of_direction(
        case, lambda found: dataclasses.replace(found, direction=np.roll(found.direction, 1))
    )


@mutation("k", "the end of the layers' flow turned by 1 %", "layers' flow")
def turned_layers_flow(patch, case):
    def change(kind, run):
        if kind != "layers' flow":
            return run
        return dataclasses.replace(run, coefs=at_the_end(run.coefs, turned(run.coefs[-1])))

    case.runs.change = change


@mutation("l", "first layer at the end of a flow's direction +1 %", "direction")
def turned_layers(patch, case):
    def change(found):
        if found.layers is None:
            return found
        first, *others = found.layers
        return dataclasses.replace(found, layers=((1 + PART) * first, *others))

    of_direction(case, change)


def of_sums(side):
    """The run of training with one of the two running sums of the law of the step +1 %."""

    def apply(patch, case):
        def change(kind, run):
            if kind != "training" or run.effective_start is None:
                return run
            growth = np.array(run.effective_start.growth)
            growth[:, side] *= 1 + PART
            start = type(run.effective_start).of(case.problem, growth)
            return dataclasses.replace(run, effective_start=start)

        case.runs.change = change

    return apply


mutation("+", "the sum of the steps of what rises +1 %", "training")(of_sums(0))
mutation("-", "the sum of the steps of what falls +1 %", "training")(of_sums(1))
