"""Find the structure of a model: which network it is, in which permutation, rotation and order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.own.chain import chain_forms
from limitpoint.own.decomposed import orthogonal_forms, quadratic_forms
from limitpoint.own.derivative import LARGEST_PROBED, Probed
from limitpoint.own.form import Form, fits
from limitpoint.own.layer_map import LayerMap
from limitpoint.own.model import Model
from limitpoint.own.monomials import monomial_forms
from limitpoint.own.raw import raw_form
from limitpoint.own.tensor_forms import convolutional_forms, tensor_forms
from limitpoint.problem import Problem
from limitpoint.tasks import MatrixSensing, Task

__all__ = ["Recognised", "recognise"]

# Ways to recognise a model, the strongest form first.
WAYS: tuple[Callable[[Probed], Iterable[Form]], ...] = (
    monomial_forms,
    chain_forms,
    convolutional_forms,
    orthogonal_forms,
    quadratic_forms,
    tensor_forms,
)


@dataclass(frozen=True)
class Recognised:
    """A model as a problem of this library.

    Attributes
    ----------
    problem
        The network, started at the model's present parameters, on the user's data. Its loss factor
        is the user's times `map.factor`, so that flow and gradient descent take the same times and
        learning rates as those of the model.
    family
        What the model is, in words.
    model
        The model.
    map
        From trained entries to layers.
    missing
        What kept the model from being more than it is recognised as; empty where nothing did.
    """

    problem: Problem
    family: str
    model: Model
    map: LayerMap
    missing: tuple[str, ...] = ()

    def to_layers(self, blocks: Sequence[Float]) -> tuple[Float, ...]:
        """The layers of the network from all blocks of the model."""
        return self.map.layers(self.model.flat(blocks))

    def to_blocks(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """All blocks of the model from layers that its training can reach."""
        return self.model.blocks(self.map.flat(layers, self.model.flat(self.model.start)))


def recognise(model: Model, task: Task) -> Recognised:
    """The strongest form of a model for which the flow is the same, checked at random parameters.

    Raises
    ------
    NetworkError
        If nothing is trained, or the model is none of the known networks and cannot be
        differentiated by JAX.
    """
    if model.size == 0:
        raise NetworkError("the model has nothing to train; every block of parameters is frozen")
    shape = np.shape(model.coef(model.start))
    if shape != task.coef_shape:
        raise NetworkError(
            f"the model has coefficients of shape {shape}; the task needs {task.coef_shape}"
        )
    missing: tuple[str, ...]
    probed = Probed(model)
    if probed.degree is None:
        missing = ("its coefficients are no homogeneous polynomial of its parameters",)
    elif model.size > LARGEST_PROBED:
        missing = (
            f"its {model.size} trained parameters are too many to be probed one by one; at most "
            f"{LARGEST_PROBED} are",
        )
    else:
        for way in WAYS:
            for form in way(probed):
                if fits(form, model, task):
                    return _recognised(form, model, task, ())
        missing = ("no network of this library has its coefficients and its flow",)
    return _recognised(raw_form(model, task, probed.degree, missing), model, task, missing)


def _recognised(form: Form, model: Model, task: Task, missing: tuple[str, ...]) -> Recognised:
    factor = form.map.factor
    # The same task where nothing was stretched.
    same = task if factor == 1.0 else _multiplied(task, factor)
    init = Init.from_layers(form.map.layers(model.flat(model.start)))
    return Recognised(Problem(form.network, init, same), form.family, model, form.map, missing)


def _multiplied(task: Task, factor: float) -> Task:
    """The task with its loss multiplied; every task is a data class."""
    if isinstance(task, MatrixSensing):
        return MatrixSensing(task.sensors, task.y, task.loss_factor * factor)
    return replace(task, loss_factor=task.loss_factor * factor)  # type: ignore[type-var]
