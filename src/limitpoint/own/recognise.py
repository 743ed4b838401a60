"""Find the structure of a model: which network it is, in which permutation, rotation and order."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.errors import LimitpointError, NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.own.chain import chain_forms
from limitpoint.own.decomposed import orthogonal_forms, quadratic_forms
from limitpoint.own.derivative import LARGEST_JACOBIAN, LARGEST_PROBED, Probed, without_unused
from limitpoint.own.form import Form, fits
from limitpoint.own.guesses import guesses
from limitpoint.own.layer_map import LayerMap
from limitpoint.own.model import Model
from limitpoint.own.monomials import monomial_forms
from limitpoint.own.raw import raw_form
from limitpoint.own.tensor_forms import convolutional_forms, tensor_forms
from limitpoint.problem import Problem
from limitpoint.tasks import MatrixSensing, Task

__all__ = ["Recognised", "recognise"]

Way = Callable[[Probed], Iterable[Form]]
# Ways to recognise a model, the strongest form first.
WAYS: tuple[Way, ...] = (
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
    shape = np.shape(model.coef(model.start))
    if shape != task.coef_shape:
        raise NetworkError(
            f"the model has coefficients of shape {shape}; the task needs {task.coef_shape}"
        )
    model = without_unused(model)
    if model.size == 0:
        raise NetworkError(
            "the model has nothing to train: its coefficients depend on frozen parameters only"
        )
    probed = Probed(model)
    ways, missing = _ways(probed)
    for way in ways:
        # Depths and entries beyond what networks hold are found when these are made.
        with suppress(LimitpointError):
            for form in way(probed):
                if fits(form, model, task):
                    return _recognised(form, model, task, ())
    raw = raw_form(probed, missing)
    return _recognised(raw, model, task, (missing,))


def _ways(probed: Probed) -> tuple[Sequence[Way], str]:
    """How to recognise a model, and what is missing where that fails."""
    size = probed.model.size
    if probed.degree is None:
        return (), "its coefficients are no homogeneous polynomial of its parameters"
    if probed.degree == 1:
        return (), "it is linear in its parameters too, like one layer"
    if size > LARGEST_PROBED or size * len(probed.coef) > LARGEST_JACOBIAN:
        return (guesses,), (
            f"its {size} trained parameters are too many to be probed one by one, and it is no "
            "product of its blocks as they stand"
        )
    if probed.outputs > 1:
        return WAYS, "with several outputs only products of two matrices are known"
    return WAYS, "no network of this library, within the size of a tensor, has its coefficients"


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
