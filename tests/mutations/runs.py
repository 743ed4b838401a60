"""The runs of a case, made once: what a mutation leaves alone need not be run again."""

import importlib

import numpy as np

import limitpoint as lp

ENGINES = importlib.import_module("limitpoint.verify.engines")

# What the flow in each space is called in the names of checks.
SPACES = {
    lp.SampleSpace: "sample flow",
    lp.ParameterSpace: "parameter flow",
    lp.LogCoordinates: "logarithmic flow",
}


def _value(argument):
    if isinstance(argument, np.ndarray):
        return argument.shape, argument.tobytes()
    return repr(argument)


def _key(problem, options):
    init, task = problem.init, problem.task
    return (
        repr(problem.network),
        init.log_scale,
        *(_value(layer) for layer in init.direction),
        *(_value(np.asarray(array)) for array in (task.X, task.y)),
        *((name, _value(value)) for name, value in sorted(options.items())),
    )


class Runs:
    """`flow`, `flow_at_times`, `train` and `limit_direction` of `engines`, each call made once.

    `change(kind, run)` is what a mutation makes of a run; kinds are those of `kinds.ABOUT`.
    """

    def __init__(self):
        self._known = {}
        self.change = lambda kind, run: run
        self.keeps = None

    def install(self, patch):
        """In place of those that `verify` calls.

        Predictions are those of float64: exact arithmetic would mend what a mutation has broken.
        """
        patch.setattr(ENGINES, "predict", lambda problem: lp.predict(problem, escalate=False))
        patch.setattr(ENGINES, "flow", self.flow)
        patch.setattr(ENGINES, "flow_at_times", self.flow_at_times)
        patch.setattr(ENGINES, "train", self.train)
        patch.setattr(ENGINES, "limit_direction", self.limit_direction)

    def flow(self, problem, **options):
        kind = "layers' flow" if "margin" in options else SPACES[type(options["space"])]
        return self._made(kind, lp.flow, problem, options)

    def flow_at_times(self, problem, **options):
        return self._made("plateau flow", lp.flow, problem, options)

    def train(self, problem, optimiser, steps):
        options = {"optimiser": optimiser, "steps": steps}
        return self._made("training", lp.train, problem, options)

    def limit_direction(self, problem, **options):
        return self._made("direction", lp.analysis.limit_direction, problem, options)

    def _made(self, kind, engine, problem, options):
        key = (kind, *_key(problem, options))
        if self.keeps is not None and kind not in self.keeps:
            run = engine(problem, **options)
        else:
            if key not in self._known:
                self._known[key] = engine(problem, **options)
            run = self._known[key]
        return self.change(kind, run)
