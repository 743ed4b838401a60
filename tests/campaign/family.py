"""A family of problems with an oracle, and how a problem of it is drawn."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import limitpoint as lp

FAMILIES = {}


@dataclass(frozen=True)
class Case:
    """A problem, its exact limit (when called for), and the matrix that conditions it."""

    family: str
    number: int
    kind: str
    problem: lp.Problem
    network: str
    oracle: Callable
    design: np.ndarray
    oracle_at: Callable | None = None

    def at_scale(self, power):
        """The same case at scale `10^power`, also where float64 does not hold that.

        Its oracle is None where the family has none that takes the start.
        """
        init = lp.Init(self.problem.init.direction, **scale_of(power))
        oracle = self.oracle_at and (lambda: self.oracle_at(init))
        return replace(self, problem=replace(self.problem, init=init), oracle=oracle)

    @property
    def code(self):
        """Python that makes the problem."""
        task, init = self.problem.task, self.problem.init
        layers = ", ".join(repr(layer.tolist()) for layer in init.direction)
        scale = f"log_scale={init.log_scale!r}" if init.log_scale_given else repr(init.scale)
        data = f"{task.X.tolist()!r},\n    {task.y.tolist()!r}"
        made = f"lp.Regression({data})"
        if isinstance(task, lp.MatrixSensing):
            made = f"lp.MatrixSensing(np.array({task.sensors.tolist()!r}), {task.y.tolist()!r})"
        return (
            f"task = {made}\nnetwork = {self.network}\n"
            f"init = lp.Init([{layers}], {scale})\n"
            "lp.predict(lp.Problem(network, init, task))"
        )


def family(name):
    """Register a function of (rng, scale, units) that returns (problem, network, oracle, …)."""

    def registered(function):
        FAMILIES[name] = function
        return function

    return registered


# Below ten to this power float64 loses digits of a scale: it is given by its logarithm.
LOWEST_POWER = -300.0


def scale_of(power):
    """The argument of `Init` for the scale `10^power`."""
    if power < LOWEST_POWER:
        return {"log_scale": power * float(np.log(10.0))}
    return {"scale": float(10.0**power)}


# Scales in the campaign over units are ten to a power between these.
SCALES = (-6.0, 1.0)
DECADES = 8.0


def draw(name, seed, number, *, decades=DECADES, scales=SCALES):
    """Problem `number` of a family: a function of its name, the seed and the number alone."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    scale = float(10.0 ** rng.uniform(*scales))
    made = FAMILIES[name](rng, scale, decades)
    return Case(family=name, number=number, **made)
