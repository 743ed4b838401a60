"""What a model has been recognised as: a network, and the way from blocks to its layers."""

from dataclasses import dataclass

import numpy as np

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float
from limitpoint.networks import Network
from limitpoint.own.layer_map import LayerMap
from limitpoint.own.model import Model
from limitpoint.tasks import Task

__all__ = ["Form", "fits"]

# Coefficients of the model and of the network agree, and lengths and gradients are kept, up to so
# much of the largest: some thousand roundings, as many as products of wide layers collect.
AGREEMENT = 1e-12
# Random parameters at which they are compared.
COMPARED = 3


@dataclass(frozen=True)
class Form:
    """A network, the map to its layers, and its name in words."""

    network: Network
    map: LayerMap
    family: str


def fits(form: Form, model: Model, task: Task) -> bool:
    """Whether the network is the model, and its flow that of the model, to rounding.

    Tested at random parameters: both sides are polynomials, so that they are the same everywhere
    if they agree there, but for a chance of measure zero.
    """
    try:
        if form.network.layer_shapes(task) != form.map.shapes:
            return False
    except LimitpointError:
        return False
    rng = np.random.default_rng(21)
    points = [rng.standard_normal(model.size) for _ in range(COMPARED)]
    wanted = np.stack([model.at(point) for point in points])
    found = np.stack([np.ravel(form.network.coef(form.map.layers(point))) for point in points])
    # Each coefficient has its own unit.
    if not (np.abs(found - wanted) <= AGREEMENT * np.abs(wanted).max(axis=0)).all():
        return False
    return all(_keeps_flow(form, model, rng, point) for point in points)


def _keeps_flow(form: Form, model: Model, rng: np.random.Generator, point: Float) -> bool:
    """Whether `EEᵀE = μE`, on a random vector, and a random gradient lies in the range of E."""
    matrix, factor = form.map.matrix, form.map.factor
    layers = form.map.layers(point)
    direction = rng.standard_normal(np.shape(form.network.coef(layers)))
    gradients = form.network.layer_gradients(layers, direction)
    assert gradients is not None, "the networks that are recognised write theirs out"
    values = np.concatenate([np.ravel(each) for each in gradients])
    image = matrix @ rng.standard_normal(model.size)
    return all(
        bool(
            np.linalg.norm(matrix @ (matrix.T @ each) / factor - each)
            <= AGREEMENT * np.linalg.norm(each)
        )
        for each in (image, values)
    )
