"""Families of PyTorch modules that are networks of this library, some of them hidden.

Each is drawn at random: a module at its start, data, the network that it is, and how it is trained.
Starts are those that a theorem is about; they are put in as users would, parameter by parameter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize

import limitpoint as lp

FAMILIES: dict[str, Callable] = {}
FEATURES, SAMPLES = 6, 3


@dataclass(frozen=True)
class Drawn:
    """One case: `network` is what it should be recognised as."""

    module: nn.Module
    network: object
    X: np.ndarray
    y: np.ndarray
    rate: float = 1e-2
    steps: int = 3000


def family(name):
    def register(draw):
        FAMILIES[name] = draw
        return draw

    return register


def draw(name, seed):
    """The same for the same seed; every other one in single precision where its start is exact."""
    rng = np.random.default_rng([list(FAMILIES).index(name), seed])
    return FAMILIES[name](rng)


def data(rng, features=FEATURES, samples=SAMPLES, outputs=None):
    X = rng.standard_normal((samples, features)) / np.sqrt(features)
    beta = rng.standard_normal((features,) if outputs is None else (features, outputs))
    return X, X @ beta


def parameter(values):
    return nn.Parameter(torch.tensor(np.asarray(values), dtype=torch.float64))


def factors(rng, depth, n=FEATURES):
    """Layers of a diagonal network, of moduli that are neither equal nor small."""
    return [rng.uniform(0.4, 1.0, n) * rng.choice([-1, 1], n) for _ in range(depth)]


class Product(nn.Module):
    """`x ↦ ⟨x, a₁ ⊙ ⋯ ⊙ a_L⟩`, one layer after the other."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ParameterList(map(parameter, layers))

    def forward(self, x):
        for layer in self.layers:
            x = x * layer
        return x.sum(-1)


for _depth in (2, 3, 5):

    @family(f"diagonal {_depth}")
    def _diagonal(rng, depth=_depth):
        return Drawn(Product(factors(rng, depth)), lp.Diagonal(depth), *data(rng))


class Powers(nn.Module):
    """`x ↦ ⟨x, u^L − w^L⟩`, the second part left out where there is none."""

    def __init__(self, degree, *layers):
        super().__init__()
        self.degree = degree
        self.layers = nn.ParameterList(map(parameter, layers))

    def forward(self, x):
        first, *second = (x @ layer**self.degree for layer in self.layers)
        return first - second[0] if second else first


@family("powers")
def _powers(rng):
    return Drawn(Powers(3, *factors(rng, 1)), lp.Power(3), *data(rng))


@family("signed powers")
def _signed_powers(rng):
    return Drawn(Powers(3, *factors(rng, 2)), lp.SignedPower(3), *data(rng))


class Pairs(nn.Module):
    """`x ↦ ⟨x, u₊v₊ − u₋v₋⟩` with all factors in one tensor."""

    def __init__(self, layers):
        super().__init__()
        self.weights = parameter(np.stack(layers, axis=1))

    def forward(self, x):
        a, b, c, d = self.weights.T
        return x @ (a * b) - x @ (d * c)


@family("paired")
def _paired(rng):
    return Drawn(Pairs(factors(rng, 4)), lp.Paired(), *data(rng))


def linear(weights):
    """An `nn.Linear` without bias; weights are features × outputs."""
    layer = nn.Linear(*weights.shape, bias=False, dtype=torch.float64)
    layer.weight = parameter(weights.T)
    return layer


@family("dense")
def _dense(rng):
    X, y = data(rng)
    network, task = lp.FullyConnected((5, 4)), lp.Regression(X, y)
    init = lp.Init.balanced(network, task, scale=0.8, seed=int(rng.integers(1000)))
    first, second, last = init.layers
    module = nn.Sequential(linear(first), linear(second), linear(last[:, None]))
    return Drawn(module, network, X, y)


@family("two-layer")
def _two_layer(rng):
    """Several outputs; orthonormal rows times a number, and a second layer of zeros."""
    X, y = data(rng, 4, 3, outputs=2)
    rows = np.linalg.qr(rng.standard_normal((7, 4)))[0].T
    module = nn.Sequential(linear(rng.uniform(0.5, 1) * rows), linear(np.zeros((7, 2))))
    return Drawn(module, lp.TwoLayer(7), X, y)


class RankOne(nn.Module):
    """`x ↦ ⟨x, v₁⟩ ⟨u₁, v₂⟩`."""

    def __init__(self, *layers):
        super().__init__()
        self.inner, self.other, self.first = map(parameter, layers)

    def forward(self, x):
        return (x @ self.first) * (self.inner @ self.other)


@family("rank one")
def _rank_one(rng):
    layers = rng.standard_normal(5), rng.standard_normal(5), rng.standard_normal(FEATURES)
    return Drawn(RankOne(*layers), lp.RankOne(2, 5), *data(rng))


@family("circular convolution")
def _convolution(rng, n=7):
    """`Conv1d(padding_mode="circular")` and a read-out, on even data, which starts at zero."""
    X, y = data(rng, n)
    X = (X + X[:, -np.arange(n) % n]) / 2
    y = X @ rng.standard_normal(n)
    filters = nn.Conv1d(
        1, 1, n, padding="same", padding_mode="circular", bias=False, dtype=torch.float64
    )
    impulse = np.zeros(n)
    impulse[n // 2] = rng.uniform(0.5, 1.0) * rng.choice([-1, 1])
    filters.weight = parameter(impulse[None, None])
    flatten = nn.Flatten()
    module = nn.Sequential(nn.Unflatten(1, (1, n)), filters, flatten, linear(np.zeros((n, 1))))
    return Drawn(module, lp.Convolutional((n, n)), X, y)


class Matrices(nn.Module):
    """`x ↦ ⟨X, W₁ ⋯ W_L⟩` for samples that are matrices, flattened."""

    def __init__(self, matrices):
        super().__init__()
        self.matrices = nn.ParameterList(map(parameter, matrices))

    def forward(self, x):
        product = torch.linalg.multi_dot([*self.matrices])
        return torch.einsum("mij,ij->m", x.unflatten(1, product.shape), product)


@family("commuting matrix product")
def _matrix_product(rng, side=3):
    """Sensors that are diagonal, and starts that are."""
    values = rng.standard_normal((2, side))
    X = np.stack([np.diag(row).ravel() for row in values])
    y = X @ rng.standard_normal(side**2)
    module = Matrices([np.diag(layer) for layer in factors(rng, 3, side)])
    return Drawn(module, lp.MatrixProduct(3), X, y)


def orthogonal(rng, size):
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


class Decomposable(nn.Module):
    """`x ↦ Σ_j ⟨x, S_j⟩ ⟨v₁, [U₁]_j⟩ ⋯ ⟨v_L, [U_L]_j⟩`, known to nobody as such."""

    def __init__(self, transform, bases, layers):
        super().__init__()
        self.layers = nn.ParameterList(map(parameter, layers))
        tensor = np.einsum("jn,aj,bj,cj->nabc", transform, *bases)
        self.register_buffer("tensor", torch.tensor(tensor))

    def forward(self, x):
        return torch.einsum("mn,nabc,a,b,c->m", x, self.tensor, *self.layers)


@family("orthogonally decomposable")
def _decomposable(rng, n=4):
    X, y = data(rng, n)
    bases = [orthogonal(rng, n) for _ in range(3)]
    layers = [basis @ layer for basis, layer in zip(bases, factors(rng, 3, n), strict=True)]
    module = Decomposable(rng.standard_normal((n, n)) / 2, bases, layers)
    return Drawn(module, lp.OrthogonalTensor, X, y)


class Cube(nn.Module):
    def forward(self, weight):
        return weight**3


@family("parametrised")
def _parametrised(rng):
    """`nn.utils.parametrize`: what is trained is the original."""
    layer = linear(np.ones((FEATURES, 1)))
    parametrize.register_parametrization(layer, "weight", Cube(), unsafe=True)
    layer.parametrizations.weight.original = parameter(np.stack(factors(rng, 1)))
    return Drawn(layer, lp.Power(3), *data(rng))


@family("frozen")
def _frozen(rng):
    """A fixed permutation with signs before a diagonal network, and a factor that does not move."""
    mixed = np.diag(rng.choice([-1.0, 1.0], FEATURES))[rng.permutation(FEATURES)]
    module = nn.Sequential(linear(mixed), Product([np.ones(FEATURES), *factors(rng, 2)]))
    module[0].weight.requires_grad_(False)
    module[1].layers[0].requires_grad_(False)
    return Drawn(module, lp.Diagonal(2), *data(rng))


class Permuted(nn.Module):
    """Factors in an order of their own each, in one tensor."""

    def __init__(self, rng, layers):
        super().__init__()
        self.places = [torch.tensor(rng.permutation(FEATURES)) for _ in layers]
        self.mixed = parameter(np.concatenate(layers))

    def forward(self, x):
        parts = self.mixed.reshape(-1, FEATURES)
        product = torch.ones(FEATURES)
        for part, places in zip(parts, self.places, strict=True):
            product = product * part[places]
        return x @ product


@family("permuted")
def _permuted(rng):
    return Drawn(Permuted(rng, factors(rng, 3)), lp.Diagonal(3), *data(rng))


class Turned(nn.Module):
    """A diagonal network whose second layer is seen through a rotation."""

    def __init__(self, turn, first, second):
        super().__init__()
        self.register_buffer("turn", torch.tensor(turn))
        self.first, self.second = parameter(first), parameter(second)

    def forward(self, x):
        return x @ (self.first * (self.turn @ self.second))


@family("rotated")
def _rotated(rng):
    turn = orthogonal(rng, FEATURES)
    first, second = factors(rng, 2)
    return Drawn(Turned(turn, first, turn.T @ second), lp.Diagonal(2), *data(rng))
