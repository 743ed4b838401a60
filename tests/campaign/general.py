"""General networks whose curves are known in closed form."""

from functools import partial

import jax.numpy as jnp
from mpmath import mpf
from tests.campaign.coupled import case
from tests.campaign.data import draw_data
from tests.campaign.family import family
from tests.oracles.exact import curves
from tests.oracles.exact.separable import separable_limit

import limitpoint as lp


def product(block):
    return block[0] * block[1]


def quartic(block):
    a, b = block[0] ** 2, block[1] ** 2
    return a / 2 + a * a / 4 - b / 2 - b * b / 4


def hyperbolic(block):
    return 2 * jnp.sinh(block[0] / 2) ** 2 - 2 * jnp.sinh(block[1] / 2) ** 2


KINDS = {
    "product": (product, curves.diagonal, "lambda z: z[0] * z[1]"),
    "quartic": (
        quartic,
        curves.Quartic,
        "lambda z: z[0]**2 / 2 + z[0]**4 / 4 - z[1]**2 / 2 - z[1]**4 / 4",
    ),
    "hyperbolic": (
        hyperbolic,
        curves.Hyperbolic,
        "lambda z: 2 * jnp.sinh(z[0] / 2)**2 - 2 * jnp.sinh(z[1] / 2)**2",
    ),
}


def _general(rng, scale, decades, kind):
    function, curve, words = KINDS[kind]
    data = draw_data(rng, decades=decades)
    blocks = rng.standard_normal((data.X.shape[1], 2))
    network, init = lp.General(function, block_size=2), lp.Init([blocks], scale)

    def curves_of():
        return [curve(*(mpf(scale) * mpf(float(a)) for a in block)) for block in blocks]

    def oracle():
        return separable_limit(curves_of, data.X, data.y)

    return case(data, network, f"lp.General({words}, block_size=2)", init, oracle)


for _kind in KINDS:
    family(f"General {_kind}")(partial(_general, kind=_kind))
