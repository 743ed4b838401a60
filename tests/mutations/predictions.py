"""Mutations of the prediction: its certificate is computed anew, from the wrong answer."""

import dataclasses
import importlib

import numpy as np
from tests.mutations.changes import aside, larger, turned
from tests.mutations.mutation import PART, NotApplicable, mutation
from tests.mutations.runs import ENGINES, predict_by_float64

import limitpoint as lp

MIRROR = importlib.import_module("limitpoint.theory.solvers.mirror.mirror_limit")
RADIAL = importlib.import_module("limitpoint.theory.solvers.radial_limit")
LAW = importlib.import_module("limitpoint.theory.theorems.null_space_law")
TWO_LAYERS = importlib.import_module("limitpoint.theory.theorems.varre2023")
MARGIN = importlib.import_module("limitpoint.theory.solvers.margin.margin_limit")
ONE_SAMPLE = importlib.import_module("limitpoint.theory.theorems.yun2021.one_sample_limits")
ONE_DIRECTION = importlib.import_module("limitpoint.theory.theorems.yun2021.one_sample_directions")
BOUNDARY = importlib.import_module("limitpoint.theory.theorems.sign_boundary")
CONE = importlib.import_module("limitpoint.theory.solvers.sign_constraints.cone")
LYU = importlib.import_module("limitpoint.theory.theorems.lyu2023")


def after(patch, module, name, change):
    """What a function returns is changed."""
    function = getattr(module, name)
    patch.setattr(module, name, lambda *given, **more: change(function(*given, **more), *given))


def wrong_answers(patch, X, coef=lambda coef, X: coef, mirror=lambda xi: xi):
    """Wherever coefficients and mirror coordinates are handed to limits and certificates."""
    change = mirror

    def of_map(answers, mirror, found, data):
        return dataclasses.replace(
            answers,
            coefs=np.stack([coef(one, data.rows) for one in answers.coefs]),
            mirror=change(answers.mirror),
        )

    after(patch, MIRROR, "_answers", of_map)
    after(patch, ONE_SAMPLE, "_stepped", lambda found, *given: coef(found, X))
    certify, limit_at = RADIAL.certify_radial_limit, RADIAL.limit_at
    patch.setattr(
        RADIAL,
        "certify_radial_limit",
        lambda data, radial, found, xi: certify(data, radial, coef(found, data.X), change(xi)),
    )
    certify_layers = TWO_LAYERS._certify
    patch.setattr(
        TWO_LAYERS,
        "_certify",
        lambda problem, data, found, *layers: certify_layers(
            problem, data, coef(found, data.X), *layers
        ),
    )

    def mutated_limit(found, theorem, *, mirror, dual, **others):
        return limit_at(coef(found, X), theorem, mirror=change(mirror), dual=change(dual), **others)

    for module in (RADIAL, LAW, TWO_LAYERS):
        patch.setattr(module, "limit_at", mutated_limit)


def wrong_margins(patch, change):
    """The solution of a margin problem."""
    after(
        patch,
        MARGIN,
        "solve_margins",
        lambda found, *given: dataclasses.replace(found, **change(found)),
    )


def wrong_limits(patch, change):
    """Fields of a limit that no certificate reads."""

    def predict(problem, **options):
        limit = predict_by_float64(problem, **options)
        return dataclasses.replace(limit, **change(limit))

    patch.setattr(ENGINES, "predict", predict)


def is_classification(case):
    return isinstance(case.problem.task, lp.Classification)


@mutation("C", "largest predicted coefficient +1 %", "limit")
def coefficient(patch, case):
    if is_classification(case):
        wrong_margins(patch, lambda found: {"coordinates": (1 + PART) * found.coordinates})
        residuals = ONE_DIRECTION._residuals
        patch.setattr(
            ONE_DIRECTION,
            "_residuals",
            lambda sample, layers, coef: residuals(sample, layers, (1 + PART) * coef),
        )
        return
    wrong_answers(patch, case.problem.task.X, coef=larger)


@mutation("B", "predicted coefficients of a direction -1 %", "limit")
def shorter(patch, case):
    if not is_classification(case):
        raise NotApplicable
    wrong_margins(patch, lambda found: {"coordinates": (1 - PART) * found.coordinates})


@mutation("A", "predicted coefficients 1 % aside, with the same fit", "limit")
def interpolator(patch, case):
    if is_classification(case):
        raise NotApplicable
    aside(np.ones(case.problem.task.n_features), case.problem.task.X)
    wrong_answers(patch, case.problem.task.X, coef=aside)


@mutation("D", "predicted dual and mirror coordinates +1 %", "limit")
def dual(patch, case):
    if is_classification(case):
        wrong_margins(patch, lambda found: {"multipliers": (1 + PART) * found.multipliers})
        return
    wrong_answers(patch, case.problem.task.X, mirror=lambda xi: (1 + PART) * xi)


@mutation("T", "predicted direction turned by 1 %", "limit")
def direction(patch, case):
    if not is_classification(case):
        raise NotApplicable
    wrong_margins(patch, lambda found: {"coordinates": turned(found.coordinates)})
    along = ONE_DIRECTION._limit_along
    patch.setattr(
        ONE_DIRECTION,
        "_limit_along",
        lambda sample, layers, theorem: along(sample, (layers[0], turned(layers[1])), theorem),
    )


@mutation("U", "first layer of a predicted direction turned by 1 %", "limit")
def other_layer(patch, case):
    if not is_classification(case):
        raise NotApplicable
    along = ONE_DIRECTION._limit_along
    patch.setattr(
        ONE_DIRECTION,
        "_limit_along",
        lambda sample, layers, theorem: along(sample, (turned(layers[0]), layers[1]), theorem),
    )


@mutation("G", "smallest multiplier -1 % of the largest", "limit")
def multiplier(patch, case):
    if not is_classification(case):
        raise NotApplicable

    def lowered(found):
        multipliers = np.array(found.multipliers)
        multipliers[np.argmin(multipliers)] = -PART * multipliers.max()
        return {"multipliers": multipliers}

    wrong_margins(patch, lowered)


@mutation("E", "predicted exponent +0.3 (a logarithm hides less)", "limit")
def exponent(patch, case):
    if not is_classification(case):
        raise NotApplicable
    wrong_limits(patch, lambda limit: {"rate": None if limit.rate is None else limit.rate + 0.3})


def _layer(patch, which):
    def changed(layers):
        layers = list(layers)
        layers[which] = (1 + PART) * layers[which]
        return tuple(layers)

    _layers(patch, changed)


def _layers(patch, changed):
    """Predicted layers, and where a certificate reads them, that."""
    after(patch, TWO_LAYERS, "_layers", lambda layers, *given: changed(layers))

    def others(limit):
        if limit.layers is None or limit.theorem.id.startswith("varre2023"):
            return {}
        return {"layers": changed(limit.layers)}

    wrong_limits(patch, others)


@mutation("F", "first predicted layer +1 %", "limit")
def first_layer(patch, case):
    _layer(patch, 0)


@mutation("H", "last predicted layer +1 %", "limit")
def last_layer(patch, case):
    _layer(patch, -1)


@mutation("I", "last predicted layer turned by 1 %", "limit")
def turned_layer(patch, case):
    def changed(layers):
        last = layers[-1]
        return (*layers[:-1], turned(last.ravel()).reshape(last.shape))

    _layers(patch, changed)


@mutation("J", "a coefficient claimed to end at its bound that does not", "limit")
def support(patch, case):
    def fewer(face, X, *given):
        alive = np.array(face.alive)
        alive[np.flatnonzero(alive & X.any(axis=0))[:1]] = False
        return dataclasses.replace(face, alive=alive)

    face_of = BOUNDARY.Face.of
    patch.setattr(
        BOUNDARY.Face, "of", classmethod(lambda cls, *given: fewer(face_of(*given), *given))
    )


@mutation("P", "the multipliers that prove zeros +1 %, one of them", "limit")
def proof(patch, case):
    unproved = CONE._unproved
    patch.setattr(
        CONE, "_unproved", lambda data, found, *given: unproved(data, larger(found), *given)
    )


@mutation("Q", "a start 1 % off the curve said to be on the stable manifold", "limit")
def on_manifold(patch, case):
    distance = LYU.distance_from_manifold
    patch.setattr(
        LYU,
        "distance_from_manifold",
        lambda task, direction, *given: distance(task, turned(direction), *given),
    )
    patch.setattr(LYU, "ON_MANIFOLD", 2 * PART)


@mutation("y", "midpoints of the proof +1 %", "proof")
def proved(patch, case):
    def prove(problem, **options):
        found = lp.prove(problem, **options)
        if not found.ok:
            return found
        middle = np.vectorize(lambda one: f"{(1 + PART) * one:.17g}")(found.coef.values)
        return dataclasses.replace(found, coef=dataclasses.replace(found.coef, midpoint=middle))

    patch.setattr(ENGINES, "prove", prove)
