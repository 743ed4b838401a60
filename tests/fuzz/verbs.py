"""Cases: verbs, optimisers, coordinates of a flow, analysis, spectra, diffusions, figures."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import problems
from tests.fuzz.draw import NOT_ARRAYS, NOT_NUMBERS, OBJECTS, Draw
from tests.fuzz.judge import Judge
from tests.fuzz.results import use

import limitpoint as lp


def construct(draw: Draw, call: Judge, folder: Path) -> None:
    """A problem from parts of any kind, and what its parts say of themselves."""
    found = problems.problem(draw, call)
    use(draw, call, draw.pick((found, found.network, found.init, found.task)), folder)


def settings(draw: Draw, call: Judge, folder: Path) -> None:
    """Optimisers and coordinates of a flow."""
    made = draw.pick(
        (
            lambda: call(lp.GD, draw.number()),
            lambda: call(lp.SGD, draw.number(), draw.count(1, 3), **_batches(draw)),
            lambda: call(lp.LabelNoise, draw.number(), draw.number(), **_seed(draw)),
            lambda: _space(draw, call),
            lambda: call(lp.analysis.Distance, draw.array(2)),
            lambda: call(lp.analysis.NoiseTerm, **draw.options(exponent=draw.number)),
            lambda: call(lp.analysis.StartTerm, **draw.options(name=lambda: draw.pick(OBJECTS))),
            lambda: call(lp.examples.relu_teacher, draw.count(1, 4), draw.count(1, 4)),
            lambda: call(lp.examples.yun_layers, draw.array(2)),
            lambda: call(draw.pick(_EXAMPLES)),
            lambda: call(lp.atlas.theorems)[0],
            lambda: call(lp.analysis.design, draw.array(3, 3), **draw.options(depth=draw.number)),
        )
    )()
    call(repr, made)


_EXAMPLES = (lp.examples.zhao_eq7, lp.examples.yun_point, lp.examples.yun_two_points)


def _batches(draw: Draw) -> dict[str, Any]:
    return draw.options(replacement=draw.truth) | _seed(draw)


def _seed(draw: Draw) -> dict[str, Any]:
    return draw.options(seed=lambda: draw.mostly(3, (*NOT_NUMBERS, 2**63)))


def _space(draw: Draw, call: Judge) -> Any:
    kind = draw.pick((lp.SampleSpace, lp.ParameterSpace, lp.LogCoordinates))
    tolerances = draw.options(
        rtol=lambda: draw.mostly(1e-6, (*NOT_NUMBERS, 0.0, 1.0, 1e-17)),
        residual_tolerance=lambda: draw.mostly(1e-6, (*NOT_NUMBERS, 0.0, 2.0)),
    )
    return call(kind, max_steps=draw.mostly(300, (*NOT_NUMBERS, 0), 0.1), **tolerances)


def predict(draw: Draw, call: Judge, folder: Path) -> None:
    """The limit of any problem, at any scale."""
    found = problems.problem(draw, call)
    use(draw, call, call(lp.predict, found), folder)


def prove(draw: Draw, call: Judge, folder: Path) -> None:
    """The limit of any problem, proved or refused with a reason."""
    found = problems.tame_problem(draw, call)
    use(draw, call, call(lp.prove, found, draw.mostly(10, (*NOT_NUMBERS, 0, 10**9))), folder)


def predict_path(draw: Draw, call: Judge, folder: Path) -> None:
    """Limits at several scales."""
    found = problems.tame_problem(draw, call)
    scales = draw.mostly([0.01, 0.1, 1.0], (*NOT_ARRAYS, [0.0, 1.0], [1.0, np.inf], [-1.0], [1, 1]))
    path = call(lp.predict_path, found, scales)
    use(draw, call, path, folder)
    if draw.chance(0.1):
        call(lp.plot.plot_path, path)


def explain(draw: Draw, call: Judge, folder: Path) -> None:
    """Which theorems apply."""
    found = draw.mostly(problems.problem(draw, call), OBJECTS, 0.05)
    use(draw, call, call(lp.explain, found), folder)


def bring(draw: Draw, call: Judge, folder: Path) -> None:
    """A problem from a function of one's own, what it is like and what is predicted for it."""
    m, n = draw.whole(1, 3), draw.whole(1, 4)
    right = {"a": (n,), "b": (n,), "c": (n,)}
    given: tuple[tuple[_Own, dict[str, tuple[int, ...]]], ...] = (
        (_Own("product"), right),
        (_Own("product"), {"a": (n,), "b": (1,)}),
        (_Own("squares"), right),
        (_Own("cubes"), right),
        (_Own("dense"), {"a": (n, 2), "b": (2,)}),
        (_Own("dense"), {"a": (n, 2), "b": (2, 2)}),
        (_Own("one layer"), {"a": (n,)}),
        (_Own("skip"), right),
        (_Own("bias"), right),
        (_Own("square"), right),
        (_Own("nothing"), right),
    )
    apply, shapes = draw.pick(given)
    params = {name: draw.array(*shape, wrong=0.01) for name, shape in shapes.items()}
    params = {name: np.asarray(value) for name, value in params.items()}
    targets = draw.array(m) if draw.chance(0.9) else draw.array(m, 2)
    found = call(
        lp.from_function,
        draw.mostly(apply, OBJECTS, 0.05),
        draw.mostly(params, (*NOT_ARRAYS, {"a": draw.pick(NOT_ARRAYS)}), 0.05),
        draw.array(m, n),
        targets,
        **({"loss_factor": draw.number()} if draw.chance(0.2) else {}),
    )
    use(draw, call, draw.pick((found, found.network, found.init)), folder)
    use(draw, call, call(lp.predict, found), folder)


@dataclass(frozen=True)
class _Own:
    """A function of one's own that can be pickled."""

    kind: str

    def __call__(self, p: Any, X: Any) -> Any:
        if self.kind == "product":
            return X @ math.prod(p.values())
        return _FUNCTIONS[self.kind](p, X)


_FUNCTIONS = {
    "squares": lambda p, X: X @ (p["a"] ** 2 - p["b"] ** 2),
    "cubes": lambda p, X: X @ (p["a"] ** 3 - p["b"] ** 3),
    "dense": lambda p, X: X @ p["a"] @ p["b"],
    "one layer": lambda p, X: X @ p["a"],
    "skip": lambda p, X: X @ (p["a"] + p["a"] * p["b"]),
    "bias": lambda p, X: X @ p["a"] + 1.0,
    "square": lambda p, X: (X @ p["a"]) ** 2,
    "nothing": lambda p, X: 0 * (X @ p["a"]),
}


def saddle_path(draw: Draw, call: Judge, folder: Path) -> None:
    """The saddle path of any data with any activation times and bounds."""
    m, n = draw.whole(1, 4), draw.whole(1, 5)
    others = (0.0, np.inf, -1.0, np.nan, 1e300, 1e-300, *NOT_ARRAYS)
    options = draw.options(
        t_plus=lambda: draw.mostly(draw.rng.uniform(0.5, 2.0, n), others, 0.15),
        t_minus=lambda: draw.mostly(draw.rng.uniform(0.5, 2.0, n), others, 0.15),
        lower=lambda: draw.mostly(-draw.rng.random(n), (-1.0, 0.0, -np.inf, 1.0, "x")),
        upper=lambda: draw.mostly(draw.rng.random(n), (1.0, 0.0, np.inf, -1.0, None)),
        max_saddles=lambda: draw.count(0, 5),
        stop=lambda: draw.mostly(None, (lambda saddle: saddle.number > 1, 5)),
    )
    path = call(lp.saddle_path, draw.array(m, n), draw.array(m), **options)
    use(draw, call, path, folder)
    call(path.waiting_times, draw.mostly(0, (*NOT_NUMBERS, 99)))
    call(path.in_units_of, draw.number())


def flow(draw: Draw, call: Judge, folder: Path) -> None:
    """A short flow, in any coordinates."""
    found = problems.problem(draw, call) if draw.chance(0.5) else problems.tame_problem(draw, call)
    options = draw.options(
        t_end=lambda: draw.mostly(float(draw.rng.uniform(0.1, 2.0)), (*NOT_NUMBERS, 0.0, 5e-324)),
        margin=lambda: draw.mostly(20.0, (*NOT_NUMBERS, 0.5, 1.0)),
    )
    if draw.chance(0.2) and "t_end" not in options:
        options["times"] = draw.mostly([0.1, 0.5], (*NOT_ARRAYS, [1.0, 0.5], [-1.0], [0.0]))
    run = call(lp.flow, found, space=_space(draw, call), **options)
    use(draw, call, run, folder)
    call(lp.analysis.drift, found.network, run)
    if draw.chance(0.1):
        call(lp.plot.plot_trajectory, run)


def train(draw: Draw, call: Judge, folder: Path) -> None:
    """A few steps of a run, or of several; JAX compiles each of them, which takes the time."""
    found = problems.tame_problem(draw, call, draw.pick(("diagonal", "rank one", "two layers")))
    rate = draw.pick((0.01, 0.1, 10.0, 1e10))
    rules = (lp.GD(rate), lp.SGD(rate, 1), lp.LabelNoise(rate, 0.1))
    optimiser = draw.mostly(draw.pick(rules), (*OBJECTS, lp.GD), 0.05)
    steps = draw.mostly(8, (*NOT_NUMBERS, 0, 1.5), 0.1)
    if draw.chance(0.3):
        seeds = draw.options(seeds=lambda: draw.mostly([0, 1], (*OBJECTS, [1, 1], [-1])))
        scales = draw.options(scales=lambda: draw.mostly([0.1, 1.0], (*NOT_ARRAYS, [-1.0])))
        probes = draw.options(
            probes=lambda: draw.mostly([lp.analysis.StartTerm()], (*OBJECTS, [5]))
        )
        sweep = call(lp.train_many, found, [optimiser], steps, **seeds, **scales, **probes)
        use(draw, call, sweep, folder)
        call(lp.plot.plot_sweep, sweep, **draw.options(probe=lambda: draw.pick(("speed", None, 5))))
        return
    record = draw.options(record=lambda: draw.mostly([0, 8], (*NOT_ARRAYS, 0, [99], 3)))
    run = call(lp.train, found, optimiser, steps, **record)
    use(draw, call, run, folder)
    call(lp.analysis.null_space_drift, found, run)
    spectrum = call(lp.spectral.spectrum, run)
    call(lp.plot.plot_spectrum, spectrum, **draw.options(layer=lambda: draw.pick((1, 2, 9, "x"))))


def verify(draw: Draw, call: Judge, folder: Path) -> None:
    """A verdict on a small problem, or on what is none."""
    found = problems.tame_problem(draw, call, draw.pick(("diagonal", "rank one", "power")))
    use(draw, call, call(lp.verify, draw.mostly(found, OBJECTS, 0.2)), folder)
    weights = draw.pick((found.init.direction, np.ones(found.task.n_features), *OBJECTS))
    use(draw, call, call(lp.compare, found, draw.mostly(weights, NOT_ARRAYS, 0.2)), folder)


def analyse(draw: Draw, call: Judge, folder: Path) -> None:
    """The functions of `analysis`, `spectral`, `atlas` and `sde` on problems of any kind."""
    found = problems.problem(draw, call) if draw.chance(0.5) else problems.tame_problem(draw, call)
    n = found.task.n_features
    times = draw.mostly([0.0, 1.0], (*NOT_ARRAYS, [-1.0], 1.0, [1e300]))
    layers = draw.mostly(found.init.direction, (*OBJECTS, [np.ones(n)] * 2))
    asked = (
        lambda: call(lp.analysis.activation_times, found.network, found.init),
        lambda: call(lp.analysis.saddles, found),
        lambda: call(lp.analysis.limit_given_outer, found, draw.array()),
        lambda: call(lp.analysis.penalised_limit, found, draw.number()),
        lambda: call(
            lp.analysis.stationarity,
            found,
            draw.array(n),
            **draw.options(active=draw.number, tolerance=draw.number),
        ),
        lambda: call(lp.analysis.singular_vector_residual, found.network, found.task, layers),
        lambda: call(lp.atlas.convergence_bound, found, times),
        lambda: call(lp.spectral.exact_spectrum, found, times),
        lambda: call(lp.spectral.spectral_jumps, found),
        lambda: call(lp.sde.SGDModel, found, draw.mostly(lp.SGD(0.1, 1), (lp.GD(0.1), *OBJECTS))),
        lambda: call(lp.sde.LabelNoiseModel, found, draw.number(), time_step=draw.number()),
        lambda: call(found.init.at_scale, draw.scale(0.4)),
        lambda: call(found.task.loss, draw.numbers(n)),
    )
    answer = draw.pick(asked)()
    if hasattr(answer, "__rich__"):
        use(draw, call, answer, folder)


def direction(draw: Draw, call: Judge, folder: Path) -> None:
    """The direction of a classification, followed to a small margin."""
    found = problems.tame_problem(draw, call, "classes")
    options = draw.options(
        log_margin=lambda: draw.mostly(20.0, (*NOT_NUMBERS, 1e300)),
        sharpness=lambda: draw.mostly(100.0, (*NOT_NUMBERS, 1.0, 1e20)),
        max_steps=lambda: draw.mostly(300, (*NOT_NUMBERS, 0)),
    )
    reached = call(lp.analysis.limit_direction, found, **options)
    use(draw, call, reached, folder)
    if draw.chance(0.3):
        call(lp.plot.plot_limit_direction, reached, draw.mostly(call(lp.predict, found), OBJECTS))


def draw_figure(draw: Draw, call: Judge, folder: Path) -> None:
    """Figures of limits, paths and spectra, and of what is none; saved under any name."""
    found = problems.tame_problem(draw, call, draw.pick(("diagonal", "two layers")))
    make, result = draw.pick(
        (
            (lp.plot.plot_limit, lambda: call(lp.predict, found)),
            (lp.plot.plot_saddles, lambda: call(lp.saddle_path, found.task.X, found.task.y)),
            (lp.plot.plot_path, lambda: call(lp.predict_path, found, [0.1, 1.0])),
            (lp.plot.plot_trajectory, lambda: call(lp.flow, found, t_end=1.0)),
            (lp.plot.plot_network, lambda: found.network),
        )
    )
    figure = call(make, draw.mostly(result(), OBJECTS, 0.1))
    names = ("a.png", "b.svg", "c.pdf")
    wrong = ("d.xyz", "", "nul\0.png", 5, None, folder, folder / "no such folder" / "x.png")
    name = draw.mostly(folder / draw.pick(names), wrong, 0.3)
    call(lp.plot.check_format, name)
    call(lp.plot.save, figure, name)


def diffuse(draw: Draw, call: Judge, folder: Path) -> None:
    """A few paths of a diffusion."""
    model = draw.mostly(lp.papers.NoiseProcess(2), OBJECTS, 0.2)
    # The right ones are always the same: JAX compiles each set of them anew.
    options = {
        "seed": draw.mostly(0, NOT_NUMBERS, 0.1),
        "time_step": draw.mostly(0.05, (*NOT_NUMBERS, 0.0, 1e-300), 0.1),
        "records": draw.mostly(3, (*NOT_NUMBERS, 0), 0.1),
    }
    t_end = draw.mostly(0.1, (*NOT_NUMBERS, 0.0), 0.2)
    paths = call(lp.sde.simulate, model, t_end, paths=draw.mostly(2, NOT_NUMBERS, 0.2), **options)
    use(draw, call, paths, folder)
