"""Bad values of every kind for every argument of every public name.

Each must be refused by an error of limitpoint that names the argument as the caller wrote it:
nothing else may be raised, and nothing warned of (warnings are errors here). The table is complete,
by test: a new public name, or a new argument of one, fails until it is in it.

One file, although long: it is one table.
"""

import dataclasses
import inspect
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import limitpoint as lp
from limitpoint import estimators, io, papers
from limitpoint.errors import LimitpointError

# ---------------------------------------------------------------- what is wrong

MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])
HUGE = 10**400
UNWRITABLE = 10**5000  # more digits than Python turns into text


class Unshown:
    """An object that cannot even be printed."""

    def __repr__(self):
        raise RuntimeError("no text")


OBJECTS = ("x", b"x", 5, 1j, object(), Unshown(), [1.0], {"a": 1}, lp.Status.CONVERGED, np.ones(2))
# A number, which must be finite.
NUMBER = (
    *(np.nan, np.inf, -np.inf, "1", 1j, True, [1.0], np.ones(2), HUGE, -HUGE, UNWRITABLE),
    *(np.longdouble("1e4000"), np.longdouble("nan"), np.ma.masked, MASKED, object(), Unshown()),
    *(np.complex128(1), np.bool_(True), b"1", {}),
)
NUMBER_OR_INFINITY = tuple(one for one in NUMBER if not (type(one) is float and np.isinf(one)))
AT_LEAST_0 = (*NUMBER, -1.0, -1)
POSITIVE = (*AT_LEAST_0, 0, 0.0)
SCALE = (*NUMBER_OR_INFINITY, -1.0, -np.inf)
SCALES = {"scale": SCALE, "log_scale": NUMBER_OR_INFINITY}
TOLERANCE = (*POSITIVE, 1.0, 2.0, 1e-17, 5e-324, np.longdouble("1e-4000"), np.float32(1e-20))
WHOLE = (*NUMBER, 1.5, -1, np.float64(2.0), np.int64(-3), "3", range(3))
COUNT = (*WHOLE, 0)
SEED = (*WHOLE, 2**63, 2**64, -1)
TRUTH = ("yes", 1, 0, 1.0, np.ones(2), object(), Unshown(), [])
WORD = (5, 1j, b"x", np.ones(2), object(), Unshown(), ["x"], "")
# Arrays that are none, whatever their shape.
ARRAY = (
    *(MASKED, [MASKED, MASKED], [[1.0, np.ma.masked]], (MASKED, [1.0, 2.0])),
    *(np.array([MASKED, 1.0], dtype=object), [1j, 2.0], [[1j, 2.0]], np.ones(2) * 1j),
    *(["a", "b"], "x", b"x", ["1", "2"], np.array(["1"], dtype=object), np.array([None, 1.0])),
    *([[1.0], [1.0, 2.0]], [[[1.0]], [1.0]], object(), [object()], Unshown(), {"a": 1}, {1.0}),
    *(HUGE, [HUGE, 1], [[HUGE]], [UNWRITABLE], np.array(["2020-01-01"], dtype="M8[D]"), lambda: 1),
    *([np.nan], [[np.nan, 1.0]], np.longdouble("1e4000") * np.ones(2), iter([1.0]), lp.Diagonal(2)),
)
FINITE_ARRAY = (*ARRAY, [np.inf], [[-np.inf, 1.0]])


# ---------------------------------------------------------------- what is right


@cache
def problem(kind="diagonal"):
    network, task = {
        "diagonal": (lp.Diagonal(2), lp.Regression([[1.0, 2.0]], [1.0])),
        "rank one": (lp.RankOne(2, 2), lp.Regression([[1.0, 2.0]], [1.0])),
        "wide": (lp.Diagonal(2), lp.Regression(np.ones((1, 2000)), [1.0])),
        "two layers": (lp.TwoLayer(2), lp.Regression(np.eye(2), [2.0, 1.0])),
        "classes": (lp.Diagonal(2), lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])),
    }[kind]
    start = {"rank one": lp.Init.balanced, "two layers": lp.Init.orthogonal}
    init = start.get(kind, lp.Init.zero_last)(network, task, 0.1)
    return lp.Problem(network, init, task)


@cache
def run(kind="diagonal"):
    return lp.train(problem(kind), lp.GD(0.1), 20)


TASK, CLASSES = problem().task, problem("classes").task
NETWORK = lp.Diagonal(2)
NOT_PROBLEM = (*OBJECTS, None, TASK, NETWORK, lp.Problem)
NOT_NETWORK = (*OBJECTS, None, TASK, lp.Diagonal)
NOT_TASK = (*OBJECTS, None, NETWORK, lp.Regression)
DESCENT = {
    "momentum": (*AT_LEAST_0, None, 1, 1.0),
    "nesterov": (*TRUTH, None),
    "weight_decay": (*AT_LEAST_0, None),
}
NOT_OPTIMISER = (*OBJECTS, None, 0.1, lp.GD, TASK)
NOT_RUN = (*OBJECTS, None, lp.results.Trajectory, problem())
NOT_LIMIT = (*OBJECTS, lp.results.Limit, problem())
# Names of two features.
NAMES = (*OBJECTS, "ab", ["a"], ["a", 1], ["a", "a"], ["a", "b", "c"])
NOT_PATH = (5, 1j, None, object(), Unshown(), ["x"], b"x", "nul\0nul", np.ones(2))
SEVERAL_NUMBERS = ("x", b"x", {"a": 1}, object(), Unshown(), [], ["a", 2], [1.5, 2], [True, 2])


def without(values, *kinds):
    """Those that are of none of these classes."""
    return tuple(one for one in values if not isinstance(one, kinds))


# What figures are drawn into, and which of their panels.
NOT_AXES = {
    "ax": (*OBJECTS, [], [None]),
    "figsize": (
        *OBJECTS[:-1],
        *([], [1.0, -1.0], (np.nan, 1.0), (1.0, HUGE), (1e9, 1.0), (True, 1.0), (MASKED, 1.0)),
        *((1.0, 2.0, 3.0), np.ones(3), np.ones((2, 2)), (Unshown(), 1.0), ("3", "2")),
    ),
}
NOT_PANELS = {**NOT_AXES, "panels": (*OBJECTS, [], ["x"], [None], [["coefs"]])}


# ---------------------------------------------------------------- the table


@dataclass(frozen=True)
class Entry:
    """A public name: valid arguments, and bad values of each."""

    call: Any
    valid: dict[str, Any]
    bad: dict[str, tuple[Any, ...]]


def from_start(start, network=NETWORK, task=TASK, **more):
    """A named start of `Init`: all of them take a network, a task and a scale."""
    valid = {"network": network, "task": task, **{key: value[0] for key, value in more.items()}}
    bad = {key: value[1] for key, value in more.items()}
    common = {"network": NOT_NETWORK, "task": NOT_TASK, **SCALES}
    return Entry(start, valid, common | bad)


def of_depth(network):
    return Entry(network, {}, {"depth": (*COUNT, None, 1, 1023, 10**12)})


OPTIONS = {
    "rtol": without(TOLERANCE, type(None)),
    "residual_tolerance": TOLERANCE,
    "max_steps": COUNT,
}
GROWTH = (*ARRAY, -1.0, [-1.0, 1.0], np.ones(3), np.ones((1, 2)), np.nan)
TABLE = {
    # ------------------------------------------------ tasks
    "Regression": Entry(
        lp.Regression,
        {"X": [[1.0, 2.0]], "y": [1.0]},
        {
            "X": (*FINITE_ARRAY, None, 1.0, [1.0], [[]], [[1e300]], [[1e-300]]),
            "y": (*FINITE_ARRAY, None, 1.0, [1.0, 2.0], [1e300]),
            "loss_factor": (*POSITIVE, None, 1e300, 1e-300, 1.7e308),
            "feature_names": NAMES,
            "target_names": (*NAMES, ["a"]),
        },
    ),
    "Classification": Entry(
        lp.Classification,
        {"X": [[1.0, 2.0], [0.0, -3.0]], "y": [1, -1]},
        {
            "X": (*FINITE_ARRAY, None, 1.0),
            "y": (*FINITE_ARRAY, None, [0, 1], [[1], [-1]], [1]),
            "loss": (*WORD, None, "hinge"),
            "loss_factor": (*POSITIVE, None, 1e300),
            "feature_names": NAMES,
        },
    ),
    "MatrixSensing": Entry(
        lp.MatrixSensing,
        {"A": np.ones((1, 2, 2)), "y": [1.0]},
        {
            "A": (*FINITE_ARRAY, None, np.ones((1, 2, 3)), np.full((1, 2, 2), 1e300)),
            "y": (*FINITE_ARRAY, None, [1.0, 2.0]),
            "loss_factor": (*POSITIVE, 1e300),
        },
    ),
    "Problem": Entry(
        lp.Problem,
        {"network": NETWORK, "init": problem().init, "task": TASK},
        {"network": NOT_NETWORK, "init": (*OBJECTS, None, lp.Init), "task": NOT_TASK},
    ),
    # ------------------------------------------------ networks
    **{
        each.__name__: of_depth(each)
        for each in (lp.Diagonal, lp.Power, lp.SignedPower, lp.MatrixProduct)
    },
    "RankOne": Entry(
        lp.RankOne, {}, {"depth": (*COUNT, None, 1, 1023, 10**12), "width": (*COUNT, None)}
    ),
    "TwoLayer": Entry(lp.TwoLayer, {}, {"width": (*COUNT, None)}),
    "FullyConnected": Entry(
        lp.FullyConnected, {}, {"widths": (*SEVERAL_NUMBERS, None, 0, -1, 1.5, [0], [1] * 1022)}
    ),
    "ReLU": Entry(lp.ReLU, {}, {"widths": (*SEVERAL_NUMBERS, None, 0, True, [-1], HUGE, [HUGE])}),
    "Convolutional": Entry(
        lp.Convolutional, {}, {"filter_sizes": (*SEVERAL_NUMBERS, None, 2, [2], [3, 2], [0, 2])}
    ),
    "Tensor": Entry(lp.Tensor, {}, {"M": (*FINITE_ARRAY, None, 1.0, np.ones((2, 2)))}),
    "OrthogonalTensor": Entry(
        lp.OrthogonalTensor,
        {"S": np.eye(2), "U": [np.eye(2)] * 2},
        {"S": (*FINITE_ARRAY, None), "U": (*OBJECTS, None, [MASKED, MASKED], [["a"], ["b"]])},
    ),
    "General": Entry(
        lp.General,
        {"k": lambda block: block[0] * block[1], "block_size": 2},
        {
            "k": (*without(OBJECTS, list), None, [], [5], lambda: 0, lambda block: "x"),
            "block_size": (*COUNT, None, 10**12),
        },
    ),
    "design": Entry(
        lp.analysis.design,
        {"T": np.eye(2)},
        {"T": (*FINITE_ARRAY, None, np.ones((2, 3))), "depth": (*COUNT, None, 1, 10**9)},
    ),
    "activation_times": Entry(
        lp.analysis.activation_times,
        {"network": NETWORK, "init": problem().init},
        {"network": NOT_NETWORK, "init": (*OBJECTS, None, lp.Init), "feature_names": NAMES},
    ),
    "singular_vector_residual": Entry(
        lp.analysis.singular_vector_residual,
        {"network": NETWORK, "task": CLASSES, "layers": [[0.0, 5.0], [0.0, 5.0]]},
        {
            "network": NOT_NETWORK,
            "task": (*NOT_TASK, TASK),
            "layers": (*OBJECTS, None, [MASKED, MASKED], [[1j, 1.0]] * 2, [["a", "b"]] * 2),
        },
    ),
    # ------------------------------------------------ starts
    "Init": Entry(
        lp.Init,
        {"direction": [[1.0], [0.0]]},
        {
            "direction": (
                *(*without(FINITE_ARRAY, list), None, 1.0, [], [MASKED], [[1j], [1.0]]),
                *([["a"], ["b"]], [1.0, 2.0], [[HUGE]], [[np.nan]], [[[1.0], [1.0, 2.0]]]),
                [[1e300], [0.0]],
            ),
            **SCALES,
        },
    ),
    "Init.from_layers": Entry(
        lp.Init.from_layers,
        {},
        {"layers": (*without(ARRAY, list), None, 1.0, [], [MASKED], [[1j]])},
    ),
    "Init.random": from_start(lp.Init.random, seed=(0, (*SEED, None))),
    "Init.zero_last": from_start(lp.Init.zero_last, direction=([1.0, 2.0], (*FINITE_ARRAY, 1.0))),
    "Init.unbiased": from_start(
        lp.Init.unbiased, lp.Paired(), direction=([1.0, 2.0], (*FINITE_ARRAY, 1.0))
    ),
    "Init.shaped": from_start(
        lp.Init.shaped, lp.Paired(), shape=(0.5, (*FINITE_ARRAY, None, 1.0, -2.0, [0.1] * 3))
    ),
    "Init.balanced": from_start(
        lp.Init.balanced,
        lp.RankOne(2),
        norm=(None, SCALE),
        direction=([1.0, 2.0], (*FINITE_ARRAY, 1.0, [0.0, 0.0], [1.0])),
        seed=(0, (*SEED, None)),
    ),
    "Init.perturbed": from_start(
        lp.Init.perturbed,
        lp.RankOne(2),
        imbalance=(0.1, (*NUMBER, None, -10.0)),
        norm=(None, SCALE),
        direction=([1.0, 2.0], (*FINITE_ARRAY, 1.0)),
        seed=(0, (*SEED, None)),
    ),
    "Init.one_neuron": from_start(
        lp.Init.one_neuron, lp.FullyConnected((2, 2)), seed=(0, (*SEED, None))
    ),
    "Init.orthogonal": from_start(
        lp.Init.orthogonal,
        lp.TwoLayer(2),
        gamma=(None, SCALE),
        seed=(0, (*SEED, None)),
        perturbation=(0.0, (*NUMBER, None, 1e300)),
    ),
    "Init.at_scale": Entry(problem().init.at_scale, {}, SCALES),
    # ------------------------------------------------ theory
    "predict": Entry(
        lp.predict,
        {"problem": problem("rank one")},
        {"problem": NOT_PROBLEM, "escalate": (*TRUTH, None)},
    ),
    "prove": Entry(
        lp.prove,
        {"problem": problem(), "digits": 5},
        {"problem": NOT_PROBLEM, "digits": (*NUMBER, None, 0, 1.5, 10**9)},
    ),
    "limit_given_outer": Entry(
        lp.analysis.limit_given_outer,
        {"problem": problem("rank one"), "outer": 1.0},
        {"problem": NOT_PROBLEM, "outer": (*FINITE_ARRAY, None, [1.0, 2.0], 1e300)},
    ),
    "penalised_limit": Entry(
        lp.analysis.penalised_limit,
        {"problem": problem(), "weight_decay": 0.1},
        {"problem": NOT_PROBLEM, "weight_decay": (*NUMBER, None, 0, -1.0, 1e-320)},
    ),
    "predict_path": Entry(
        lp.predict_path,
        {"problem": problem(), "scales": [1.0]},
        {
            "problem": NOT_PROBLEM,
            "scales": (*ARRAY, None, 1.0, [], [-1.0], [[1.0]]),
            "escalate": (*TRUTH, None),
        },
    ),
    "explain": Entry(lp.explain, {}, {"problem": NOT_PROBLEM}),
    "saddles": Entry(lp.analysis.saddles, {}, {"problem": NOT_PROBLEM}),
    "saddle_path": Entry(
        lp.saddle_path,
        {"X": [[1.0, 2.0]], "y": [1.0]},
        {
            "X": (*FINITE_ARRAY, None, 1.0, [1.0], [[]], [[5e-324, 1.0]], [[1e308, 1e308]] * 9),
            "y": (*FINITE_ARRAY, None, 1.0, [1.0, 2.0], [[1.0]]),
            "t_plus": (*GROWTH, None, 1.7e308),
            "t_minus": (*GROWTH, None, 1.7e308),
            "lower": (*without(GROWTH, float), None, 1.0),
            "upper": (*GROWTH, None),
            "max_saddles": WHOLE,
            "stop": without(OBJECTS, lp.Status),
            "feature_names": NAMES,
        },
    ),
    "stationarity": Entry(
        lp.analysis.stationarity,
        {"problem": problem("classes"), "direction": [0.0, 1.0]},
        {
            "problem": NOT_PROBLEM,
            "direction": (*FINITE_ARRAY, None, 1.0, [1.0]),
            "active": (*POSITIVE, None, 2.0),
            "tolerance": (*POSITIVE, None),
        },
    ),
    "convergence_bound": Entry(
        lp.atlas.convergence_bound,
        {"problem": problem(), "times": [0.0, 1.0]},
        {"problem": NOT_PROBLEM, "times": (*ARRAY, None, -1.0, [-1.0, 2.0])},
    ),
    "exact_spectrum": Entry(
        lp.spectral.exact_spectrum,
        {"problem": problem("two layers"), "times": [0.0, 1.0]},
        {"problem": NOT_PROBLEM, "times": (*FINITE_ARRAY, None, 1.0, [-1.0])},
    ),
    "spectral_jumps": Entry(lp.spectral.spectral_jumps, {}, {"problem": NOT_PROBLEM}),
    "register": Entry(lp.atlas.register, {}, {"theorem": (*OBJECTS, None, lp.atlas.Theorem)}),
    **{
        f"{room}.register_{kind}": Entry(
            getattr(where, f"register_{kind}"),
            {"name": "mine", kind: make},
            {"name": (*without(OBJECTS, str), None, "", "My own", known), kind: (*OBJECTS, None)},
        )
        for room, where, kind, make, known in (
            ("io", io, "network", lp.Diagonal, "diagonal"),
            ("extend", lp.extend, "network", lp.Diagonal, "diagonal"),
            ("extend", lp.extend, "optimiser", lp.GD, "gd"),
            ("extend", lp.extend, "probe", lp.analysis.StartTerm, "start_term"),
        )
    },
    # ------------------------------------------------ dynamics
    "SampleSpace": Entry(lp.SampleSpace, {}, OPTIONS),
    "ParameterSpace": Entry(lp.ParameterSpace, {}, OPTIONS),
    "LogCoordinates": Entry(lp.LogCoordinates, {}, OPTIONS),
    "flow": Entry(
        lp.flow,
        {"problem": problem()},
        {
            "problem": NOT_PROBLEM,
            "t_end": (*AT_LEAST_0, 5e-324),
            "times": (*FINITE_ARRAY, 1.0, [], [-1.0], [1.0, 1.0], [2.0, 1.0], [5e-324]),
            "margin": (*without(POSITIVE, type(None)), 1.0),
            "space": (*OBJECTS, lp.SampleSpace),
        },
    ),
    "limit_direction": Entry(
        lp.analysis.limit_direction,
        {"problem": problem("classes")},
        {
            "problem": NOT_PROBLEM,
            "margin": (*POSITIVE, None, 1e13),
            "log_margin": (*POSITIVE, None, 1e300),
            "sharpness": (*POSITIVE, None, 1.0, 1e20),
            "max_steps": (*COUNT, None),
        },
    ),
    "train": Entry(
        lp.train,
        {"problem": problem(), "optimiser": lp.GD(0.1), "steps": 10},
        {
            "problem": NOT_PROBLEM,
            "optimiser": NOT_OPTIMISER,
            "steps": (*COUNT, None, 2**63),
            "record": (*ARRAY, 0, -1, 1.5, True, [1.5], [11], [-1], [[1]], 10**12, [True]),
        },
    ),
    "train_many": Entry(
        lp.train_many,
        {"problem": problem("rank one"), "optimisers": [lp.GD(0.1)], "steps": 10},
        {
            "problem": NOT_PROBLEM,
            "optimisers": (*OBJECTS, None, [], [5], [lp.GD], [lp.GD(0.1), lp.GD(0.1)]),
            "steps": (*COUNT, None),
            "scales": (*FINITE_ARRAY, [], [0.5, 0.5], 1.0, [-1.0]),
            "seeds": (
                *(*without(OBJECTS, list, np.ndarray), None, [], [0.5], [-1], [2**63], [1, 1]),
                *(["a"], [HUGE], [True], range(10**12)),
            ),
            "truth": (*FINITE_ARRAY, 1.0, [1.0], np.ones((2, 2))),
            "probes": (*OBJECTS, [5], [lp.analysis.StartTerm]),
            "record": (*ARRAY, 0, -1, 1.5, True, [11], 10**12),
        },
    ),
    "verify": Entry(
        lp.verify,
        {"problem": problem()},
        {
            "problem": NOT_PROBLEM,
            "training": without(NOT_OPTIMISER, type(None)),
            "steps": COUNT,
            "prove": (*TRUTH, None),
        },
    ),
    "compare": Entry(
        lp.compare,
        {"problem": problem("wide"), "run": np.ones(2000)},
        {
            "problem": NOT_PROBLEM,
            "run": (*ARRAY, None, 1.0, [], [1.0], np.ones((1, 2, 3))),
            "training": without(NOT_OPTIMISER, type(None)),
            "steps": COUNT,
        },
    ),
    "from_function": Entry(
        lp.from_function,
        {"apply": lambda params, X: X @ params, "params": np.ones(2), "X": TASK.X, "y": TASK.y},
        {
            "apply": (*OBJECTS, None),
            "params": (None, "x", object(), [], {}),
            "X": (*FINITE_ARRAY, None, 1.0),
            "y": (*FINITE_ARRAY, None),
            "loss_factor": (*POSITIVE, None),
        },
    ),
    "GD": Entry(
        lp.GD, {"learning_rate": 0.1}, {"learning_rate": (*POSITIVE, None, 1.7e308), **DESCENT}
    ),
    "SGD": Entry(
        lp.SGD,
        {"learning_rate": 0.1, "batch_size": 1},
        {
            "learning_rate": (*POSITIVE, None, 1.7e308),
            "batch_size": (*COUNT, None, 10**12),
            "replacement": (*TRUTH, None),
            "seed": (*SEED, None),
            **DESCENT,
        },
    ),
    "LabelNoise": Entry(
        lp.LabelNoise,
        {"learning_rate": 0.1, "delta": 0.1},
        {
            "learning_rate": (*POSITIVE, None, 1.7e308),
            "delta": (*AT_LEAST_0, None),
            "seed": (*SEED, None),
            **DESCENT,
        },
    ),
    "LabelNoiseModel": Entry(
        lp.sde.LabelNoiseModel,
        {"problem": problem("two layers"), "noise": 0.1},
        {
            "problem": NOT_PROBLEM,
            "noise": (*AT_LEAST_0, None),
            "time_step": (*POSITIVE, None),
        },
    ),
    "LabelNoiseModel.of": Entry(
        lp.sde.LabelNoiseModel.of,
        {"problem": problem("two layers"), "optimiser": lp.LabelNoise(0.1, 0.1)},
        {"problem": NOT_PROBLEM, "optimiser": (*NOT_OPTIMISER, lp.GD(0.1))},
    ),
    "SGDModel": Entry(
        lp.sde.SGDModel,
        {"problem": problem("rank one"), "optimiser": lp.SGD(0.1, 1)},
        {"problem": NOT_PROBLEM, "optimiser": (*NOT_OPTIMISER, lp.GD(0.1))},
    ),
    "NoiseProcess": Entry(
        lp.papers.NoiseProcess,
        {"dimension": 2},
        {
            "dimension": (*COUNT, None, 10**9),
            "start": (*OBJECTS, (), (MASKED, [1.0]), (np.eye(2) * 1j, [0, 0]), ([[1.0]], [1.0])),
        },
    ),
    **{
        f"NoiseProcess.{name}": Entry(
            getattr(lp.papers.NoiseProcess(2), name), {}, {"time": AT_LEAST_0}
        )
        for name in (
            *("mean_gram", "mean_squares", "mean_products", "mean_commutators"),
            *("fourth_moments", "mean_square_commutators"),
        )
    },
    "NoiseProcess.standard_errors": Entry(
        lp.papers.NoiseProcess(2).standard_errors,
        {"time": 1.0, "paths": 2},
        {"time": (*AT_LEAST_0, None), "paths": (*COUNT, None)},
    ),
    **{
        each.__name__: Entry(
            each,
            {"first": np.eye(2), "second": np.ones(2)},
            {
                "first": (*without(ARRAY, list), None, 1.0, [1.0], [[1j, 2.0]], [MASKED, MASKED]),
                "second": (*without(ARRAY, list), None, 1.0, [1.0], ["a", "b"], [1j, 2.0]),
            },
        )
        for each in (lp.papers.commutators, lp.papers.commutator_norms, lp.papers.alignments)
    },
    "simulate": Entry(
        lp.sde.simulate,
        {"model": lp.papers.NoiseProcess(2), "t_end": 0.1, "paths": 2},
        {
            "model": (*OBJECTS, None, lp.papers.NoiseProcess),
            "t_end": (*POSITIVE, None),
            "paths": (*COUNT, None, 10**12),
            "seed": (*SEED, None),
            "time_step": (*POSITIVE, 1e-300),
            "records": (*COUNT, None, 10**12),
        },
    ),
    "Distance": Entry(
        lp.analysis.Distance,
        {"to": [1.0]},
        {"to": (*FINITE_ARRAY, None, 1.0), "name": (*WORD, None)},
    ),
    "StartTerm": Entry(lp.analysis.StartTerm, {}, {"name": (*WORD, None)}),
    "NoiseTerm": Entry(lp.analysis.NoiseTerm, {}, {"exponent": NUMBER, "name": (*WORD, None)}),
    "drift": Entry(
        lp.analysis.drift,
        {"network": NETWORK, "trajectory": run()},
        {"network": NOT_NETWORK, "trajectory": NOT_RUN},
    ),
    "null_space_drift": Entry(
        lp.analysis.null_space_drift,
        {"problem": problem("rank one"), "trajectory": run("rank one")},
        {"problem": NOT_PROBLEM, "trajectory": NOT_RUN},
    ),
    "spectrum": Entry(lp.spectral.spectrum, {}, {"trajectory": NOT_RUN}),
    # ------------------------------------------------ methods of tasks and results
    "Classification.margins": Entry(
        CLASSES.margins, {}, {"coef": (*without(ARRAY, list), None, 1.0, [1.0], ["a", "b"])}
    ),
    "JumpProcess.coefs_at": Entry(
        lp.spectral.spectral_jumps(problem("two layers")).coefs_at,
        {},
        {"times": (*FINITE_ARRAY, None)},
    ),
    "SaddlePath.waiting_times": Entry(
        lp.saddle_path([[1.0, 2.0]], [1.0]).waiting_times, {}, {"number": (*WHOLE, None, 2)}
    ),
    "SaddlePath.in_units_of": Entry(
        lp.saddle_path([[1.0, 2.0]], [1.0]).in_units_of, {}, {"time_unit": (*SCALE, 0.0, None)}
    ),
    # ------------------------------------------------ figures; ax, figsize and panels are one
    # mechanism for all, tried on each in tests/plot/test_panels.py
    "plot.plot_trajectory": Entry(
        lp.plot.plot_trajectory,
        {"trajectory": run()},
        {
            "trajectory": NOT_RUN,
            "limit": NOT_LIMIT,
            "training": without(NOT_RUN, type(None)),
            "bound": (*FINITE_ARRAY, 1.0, [1.0]),
            **NOT_PANELS,
        },
    ),
    "plot.plot_limit": Entry(
        lp.plot.plot_limit,
        {"limit": lp.predict(problem())},
        {"limit": (*NOT_LIMIT, None), **NOT_PANELS},
    ),
    "plot.plot_network": Entry(
        lp.plot.plot_network,
        {"network": lp.Diagonal(2)},
        {
            "network": (*OBJECTS, None, lp.Diagonal),
            "task": without(NOT_TASK, type(None)),
            "features": without(WHOLE, type(None)),
            **NOT_AXES,
        },
    ),
    "plot.plot_path": Entry(
        lp.plot.plot_path,
        {"path": lp.predict_path(problem(), [0.1])},
        {"path": (*OBJECTS, None, lp.results.LimitPath), **NOT_AXES},
    ),
    "plot.plot_saddles": Entry(
        lp.plot.plot_saddles,
        {"path": lp.saddle_path([[1.0, 2.0]], [1.0])},
        {
            "path": (*OBJECTS, None, lp.results.SaddlePath),
            "axis": (*OBJECTS, None, "log"),
            **NOT_PANELS,
        },
    ),
    "plot.plot_limit_direction": Entry(
        lp.plot.plot_limit_direction,
        {"found": lp.analysis.limit_direction(problem("classes"))},
        {"found": (*OBJECTS, None, lp.results.LimitDirection), "limit": NOT_LIMIT, **NOT_PANELS},
    ),
    "plot.plot_sweep": Entry(
        lp.plot.plot_sweep,
        {"sweep": lp.train_many(problem("rank one"), [lp.GD(0.1)], 10)},
        {"sweep": (*OBJECTS, None, lp.results.Sweep), "probe": (*WORD, "speed"), **NOT_PANELS},
    ),
    "plot.plot_spectrum": Entry(
        lp.plot.plot_spectrum,
        {"spectrum": lp.spectral.spectrum(run("two layers"))},
        {
            "spectrum": (*OBJECTS, None, lp.results.Spectrum),
            "layer": (*WHOLE, None, 2, "loss"),
            "predicted": (*FINITE_ARRAY, 1.0),
            "jumps": (*FINITE_ARRAY, 1.0),
            **NOT_AXES,
        },
    ),
    "papers.plot_plane": Entry(
        papers.plot_plane,
        {"runs": {"a": run()}, "task": TASK},
        {
            "runs": (*OBJECTS, None, {}, {"a": 5}, {"a": [5]}, {"a": run("two layers"), "b": "x"}),
            "task": NOT_TASK,
            "limits": (*OBJECTS, {"a": 5}, {"a": [None]}, {"c": []}),
            "title": without(WORD, str),
        },
    ),
    "plot.check_format": Entry(lp.plot.check_format, {}, {"path": (*NOT_PATH, "figure.xyz")}),
    "plot.save": Entry(
        lp.plot.save,
        {"figure": lp.plot.plot_limit(lp.predict(problem())), "path": "figure.png"},
        {
            "figure": (*OBJECTS, None),
            "path": (*NOT_PATH, "figure.xyz"),
            "dpi": without(POSITIVE, type(None)),
        },
    ),
    # ------------------------------------------------ files
    "io.load": Entry(lp.io.load, {}, {"path": NOT_PATH}),
    "io.read_run": Entry(io.read_run, {}, {"path": NOT_PATH}),
    "io.save": Entry(
        lp.io.save,
        {"value": problem(), "path": "value.npz"},
        {"value": (*OBJECTS[:-2], None), "path": NOT_PATH, "overwrite": (None, 1, "yes", [True])},
    ),
    "load_problem": Entry(lp.io.load_problem, {}, {"path": NOT_PATH}),
    "save_problem": Entry(
        lp.io.save_problem,
        {"problem": problem(), "path": "problem.toml"},
        {
            "problem": NOT_PROBLEM,
            "path": (*NOT_PATH, "problem.json", "", "a.npz:b.toml", "a.npz"),
            "overwrite": (None, 1, "yes", [True]),
        },
    ),
    "io.full_name": Entry(io.full_name, {}, {"name": without((*WORD, None), str)}),
    "io.make_network": Entry(
        io.make_network,
        {"kind": "diagonal", "task": TASK},
        {"kind": (*WORD, None, "cubic"), "task": NOT_TASK},
    ),
    "io.read_array": Entry(
        io.read_array,
        {"source": [1.0], "name": "X"},
        {
            "source": (),
            "name": without((*WORD, None), str),
            "folder": NOT_PATH,
            "header": TRUTH,
            "index_column": TRUTH,
        },
    ),
    "io.read_table": Entry(
        io.read_table,
        {"path": "table.csv"},
        {"path": (*NOT_PATH, "table.xyz"), "header": TRUTH, "index_column": TRUTH},
    ),
    "io.read_task": Entry(
        io.read_task,
        {"table": {"X": [[1.0]], "y": [1.0]}},
        {"table": (*without(OBJECTS, dict), None), "folder": NOT_PATH},
    ),
    # ------------------------------------------------ examples
    "examples.relu_teacher": Entry(
        lp.examples.relu_teacher,
        {},
        {
            "samples": (*COUNT, None, 10**12),
            "features": (*COUNT, None, 10**12),
            "neurons": (*COUNT, None, 10**12),
            "seed": (*SEED, None),
        },
    ),
    "examples.yun_layers": Entry(
        lp.examples.yun_layers, {}, {"coef": (*FINITE_ARRAY, None, 1.0, [], [1e300])}
    ),
}

ESTIMATORS = {
    "SaddlePathRegressor": {
        "n_saddles": WHOLE,
        "t_plus": GROWTH,
        "t_minus": GROWTH,
        "fit_intercept": TRUTH,
    },
    "SaddlePathRegressorCV": {
        "cv": (1, -1, "x", 1.5, object(), 10**6, 1j),
        "max_n_saddles": WHOLE,
        "t_plus": GROWTH,
        "t_minus": GROWTH,
        "fit_intercept": TRUTH,
    },
    "ImplicitBiasRegressor": {
        "network": without(NOT_NETWORK, type(None)),
        "scale": SCALE,
        "fit_intercept": TRUTH,
    },
    "ImplicitBiasClassifier": {
        "network": without(NOT_NETWORK, type(None)),
        "C": (*SCALE, 0.0),
        "fit_intercept": TRUTH,
        "intercept_scaling": POSITIVE,
    },
}

# ---------------------------------------------------------------- what has no arguments to check

# Interfaces, which are not made themselves.
INTERFACES = {"Diffusion", "Probe"} | {
    f"extend.{name}" for name in lp.extend.__all__ if isinstance(getattr(lp.extend, name), type)
}
# Results, which the library makes: their fields are what it has computed.
RESULTS = {
    *(
        "io.Table",
        "Balls",
        "Certificate",
        "Check",
        "Condition",
        "Drift",
        "Explanation",
        "ActivationTimes",
        "JumpProcess",
        "Limit",
        "Proof",
    ),
    *(
        "LimitPath",
        "Outcome",
        "Paths",
        "Saddle",
        "SaddlePath",
        "Separation",
        "LimitDirection",
        "Spectrum",
        "Status",
    ),
    *("Sweep", "Theorem", "Trajectory", "Verdict"),
}
# A report is refused where the context is entered: see tests/foundation/test_progress.py.
WITHOUT_ARGUMENTS = {"Paired", "theorems", "progress"}
# Of what only some arguments are the caller's: a log file, say, or a kind's own numbers.
LEFT_OUT = {
    "io.read_array": {"source"},
    "io.make_network": {"numbers"},
}


pytestmark = pytest.mark.usefixtures("as_registered")


def cases():
    return [(name, argument) for name, entry in TABLE.items() for argument in entry.bad]


def complaint(call, argument, value):
    """What is wrong with how a bad value is refused, or None."""
    try:
        call()
    except LimitpointError as error:
        if re.search(rf"(?<![\w]){argument}(?![\w])", str(error)):
            return None
        return f"{_text(value)}: {argument} is not named: {error}"
    except Exception as error:
        return f"{_text(value)}: {type(error).__name__}: {str(error)[:200]}"
    return f"{_text(value)}: accepted"


def _text(value):
    try:
        return repr(value)[:60]
    except Exception:
        return type(value).__name__


@pytest.mark.parametrize(("name", "argument"), cases(), ids=lambda each: each)
def test_bad_values_are_refused_by_name(name, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = TABLE[name]
    found = [
        complaint(
            lambda value=value: entry.call(**entry.valid | {argument: value}), argument, value
        )
        for value in entry.bad[argument]
    ]
    assert not [one for one in found if one]


@pytest.mark.parametrize("name", [name for name, entry in TABLE.items() if len(entry.valid) > 1])
def test_the_valid_arguments_are_valid(name, tmp_path, monkeypatch):
    """Else a bad value might be refused for the sake of another."""
    monkeypatch.chdir(tmp_path)
    TABLE[name].call(**TABLE[name].valid)


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name, bad in ESTIMATORS.items() for argument in bad],
    ids=lambda each: each,
)
def test_settings_of_estimators_are_checked_when_they_are_fitted(name, argument):
    X, y = np.array([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    make = getattr(estimators, name)
    settings = {"cv": 3} if name == "SaddlePathRegressorCV" else {}
    make(**settings).fit(X, y)
    found = [
        complaint(lambda v=value: make(**settings | {argument: v}).fit(X, y), argument, value)
        for value in ESTIMATORS[name][argument]
    ]
    assert not [one for one in found if one]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("argument", ["X", "y"])
def test_data_of_estimators(name, argument):
    X, y = np.array([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    model = getattr(estimators, name)(**{"cv": 3} if name == "SaddlePathRegressorCV" else {})
    bad = {"X": (*without(FINITE_ARRAY, str), None), "y": (*FINITE_ARRAY, None, [1.0])}[argument]
    if argument == "y":  # scikit-learn warns of a column, before anything else
        bad = tuple(one for one in bad if not isinstance(one, list) or not isinstance(one[0], list))
    valid = {"X": X, "y": y}
    found = [
        complaint(lambda v=value: model.fit(**valid | {argument: v}), argument, value)
        for value in bad
    ]
    model.fit(X, y)
    if argument == "X":
        found += [complaint(lambda v=value: model.predict(v), "X", value) for value in bad]
    assert not [one for one in found if one]


def public():
    """Every public function and class, by its name in the table."""
    named = {"plot.": lp.plot, "examples.": lp.examples, "io.": io, "extend.": lp.extend}
    others = (lp, lp.results, lp.atlas, lp.analysis, lp.spectral, lp.sde)
    return {
        prefix + name: getattr(room, name)
        for prefix, room in [*(("", one) for one in others), *named.items()]
        for name in room.__all__
        if callable(getattr(room, name)) and not isinstance(getattr(room, name), ModuleType)
    }


def test_every_public_name_is_in_the_table():
    exempt = INTERFACES | RESULTS | WITHOUT_ARGUMENTS
    known = set(TABLE) | {f"io.{name}" for name in ("load_problem", "save_problem")}
    for name, each in public().items():
        takes = inspect.signature(each).parameters
        assert name in known or name in exempt or not takes or name == "io.InitKind", name
    assert set(ESTIMATORS) == set(estimators.__all__)
    named = {
        f"Init.{name}" for name, each in vars(lp.Init).items() if isinstance(each, classmethod)
    }
    assert named <= set(TABLE)


def test_every_argument_is_in_the_table():
    for name, entry in TABLE.items():
        takes = set(inspect.signature(entry.call).parameters)
        assert takes - LEFT_OUT.get(name, set()) == set(entry.bad) - LEFT_OUT.get(name, set()), name
    for name, bad in ESTIMATORS.items():
        assert set(inspect.signature(getattr(estimators, name)).parameters) == set(bad)


def test_settings_are_plain_numbers_whatever_they_were_given_as():
    """A wider float in the hands of an integrator in C corrupts the memory."""
    space = lp.SampleSpace(np.longdouble(1e-10), np.float32(1e-6), np.int64(1000))
    assert [type(value) for value in dataclasses.astuple(space)] == [float, float, int]
    narrow = lp.ParameterSpace(np.longdouble(1e-10))
    for each in (space, narrow):
        np.testing.assert_allclose(lp.flow(problem(), space=each).coef, run_to_end(), rtol=1e-5)


def run_to_end():
    return lp.flow(problem()).coef


@pytest.mark.parametrize("space", [lp.SampleSpace, lp.ParameterSpace, lp.LogCoordinates])
@pytest.mark.parametrize("rtol", [1e-13, 0.5])
def test_the_ends_of_the_range_of_tolerances_integrate(space, rtol):
    lp.flow(problem(), t_end=1.0, space=space(rtol=rtol))


def test_a_large_network_that_is_followed_without_a_jacobian_at_the_finest_tolerance():
    """An explicit method is given a part of the tolerance, which no integrator can do."""
    n = 1500  # more than 2000 parameters
    task, network = lp.Regression(np.ones((1, n)) / n, [1.0]), lp.FullyConnected((2,))
    start = lp.Problem(network, lp.Init.random(network, task, 0.1, seed=0), task)
    found = lp.flow(start, t_end=1.0, space=lp.ParameterSpace(rtol=1e-13))
    assert found.status is lp.Status.REACHED_END


LARGE = {
    "layers of a dense network": (
        lambda: lp.Init.random(lp.FullyConnected((10**6, 10**6)), TASK, seed=0),
        "network is too large: all layers of",
    ),
    "layers of a two-layer network": (
        lambda: lp.Init.orthogonal(lp.TwoLayer(10**12), TASK),
        "network is too large",
    ),
    "layers at a start of ones": (
        lambda: lp.Init.zero_last(lp.FullyConnected((10**6, 10**6)), TASK),
        "network is too large",
    ),
    "records of training": (
        lambda: lp.train(problem("wide"), lp.GD(0.1), 10**9, record=10**6),
        r"record is too large: \d+ records of 4000 numbers",
    ),
    "records of many runs": (
        lambda: lp.train_many(
            problem("rank one"), [lp.GD(0.1)], 10**9, seeds=range(10**4), record=10**5
        ),
        "record is too large",
    ),
    "derivatives of a block": (
        lambda: lp.predict(
            lp.Problem(
                lp.General(lambda block: block[0] * block[1], block_size=100),
                lp.Init(np.ones((1, 2, 100)), 0.1),
                TASK,
            )
        ),
        "block_size is too large: the fifth derivatives",
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_sizes_that_no_memory_holds_are_refused_before_it_is_asked_for(what):
    call, words = LARGE[what]
    with pytest.raises(LimitpointError, match=words):
        call()


@pytest.mark.parametrize("moment", ["mean_gram", "mean_squares", "mean_products", "fourth_moments"])
@pytest.mark.parametrize("time", [1e3, 1e300])
def test_times_at_which_moments_overflow(moment, time):
    process = lp.papers.NoiseProcess(2, ([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0]))
    with pytest.raises(LimitpointError, match=r"time must be earlier: .*overflow a float"):
        getattr(process, moment)(time)


def test_commutators_of_paths_that_overflow_say_so_in_their_numbers():
    assert np.isinf(lp.papers.commutators([[1e200, 1.0]], [1e200, 2e200])).any()


def test_arguments_swapped():
    with pytest.raises(lp.errors.NetworkError, match="network must be like Diagonal"):
        lp.Init.random(TASK, NETWORK, seed=0)
    with pytest.raises(LimitpointError, match="problem must be a Problem, like Problem"):
        lp.predict("x")
    with pytest.raises(LimitpointError, match="trajectory must be a Trajectory"):
        lp.analysis.drift(run(), NETWORK)


def test_messages_are_one_short_line():
    """However long the wrong value prints: a run is a table of its own."""
    for wrong in (run(), lp.explain(problem()), np.ones((100, 100)), "x" * 10**6):
        with pytest.raises(LimitpointError) as found:
            lp.predict(wrong)
        assert "\n" not in str(found.value)
        assert len(str(found.value)) < 200


def test_masks_without_masked_entries_are_plain_arrays():
    whole = np.ma.masked_array([[1.0, 2.0]], mask=[[False, False]])
    task = lp.Regression(whole, np.ma.masked_array([1.0]))
    np.testing.assert_array_equal(task.X, [[1.0, 2.0]])
    path = lp.saddle_path([np.ma.masked_array([1.0, 2.0])], [1.0], np.ma.masked_array([1.0, 1.0]))
    np.testing.assert_allclose(path.coef, [0.0, 0.5])
