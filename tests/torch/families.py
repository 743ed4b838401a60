"""Families of PyTorch modules that are networks of this library, some of them hidden.

Each is drawn at random: a module at its start, data, the network that it is, and how it is trained.
Starts are those that a theorem is about; they are put in as users would, parameter by parameter.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn
from torch.nn.utils import parametrize

import limitpoint as lp

FAMILIES: dict[str, Callable] = {}
FEATURES, SAMPLES = 6, 3


@dataclass(frozen=True)
class Drawn:
    """One case: `network` is what it should be recognised as, its parameters or only its class."""

    module: nn.Module
    network: object
    X: np.ndarray
    y: np.ndarray
    rate: float
    steps: int


def family(name, rate=0.03, steps=1500, single=True):
    """Register a family; `single` where single precision keeps what its theorem asks for."""

    def register(build):
        FAMILIES[name] = build, rate, steps, single
        return build

    return register


def draw(name, seed):
    """The same for the same seed, with targets that are fitted by coefficients of the same signs.

    Networks whose coefficients cannot change their signs approach others slowly. Odd seeds are in
    single precision.
    """
    rng = np.random.default_rng([list(FAMILIES).index(name), seed])
    build, rate, steps, single = FAMILIES[name]
    module, network, X = build(rng)
    if single and seed % 2:
        module = module.float()
    start = coef_of(module, X.shape[1])
    moved = start * rng.uniform(0.5, 2.0, start.shape)
    beta = moved if start.any() else rng.standard_normal(start.shape)
    return Drawn(module, network, X, (X @ beta).squeeze(), rate, steps)


def coef_of(module, features):
    """The coefficients of a module, read off in PyTorch."""
    module = copy.deepcopy(module).double()
    with torch.no_grad():
        return module(torch.eye(features, dtype=torch.float64)).numpy()


def data(rng, features=FEATURES, samples=SAMPLES):
    """Singular values between 1 and 1.5."""
    left, _, right = np.linalg.svd(rng.standard_normal((samples, features)), full_matrices=False)
    return (left * rng.uniform(1.0, 1.5, samples)) @ right


def parameter(values):
    return nn.Parameter(torch.tensor(np.asarray(values), dtype=torch.float64))


def factors(rng, depth, n=FEATURES):
    """Layers of a diagonal network, of moduli that are neither equal nor small."""
    return [rng.uniform(0.7, 1.2, n) * rng.choice([-1, 1], n) for _ in range(depth)]


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
        return Product(factors(rng, depth)), lp.Diagonal(depth), data(rng)


class Powers(nn.Module):
    """`x ↦ ⟨x, u^L − w^L⟩`, the second part left out where there is none."""

    def __init__(self, degree, *layers):
        super().__init__()
        self.degree = degree
        self.layers = nn.ParameterList(map(parameter, layers))

    def forward(self, x):
        first, *second = (x @ layer**self.degree for layer in self.layers)
        return first - second[0] if second else first


@family("powers", rate=0.01)
def _powers(rng):
    return Powers(3, *factors(rng, 1)), lp.Power(3), data(rng)


@family("signed powers", rate=0.01)
def _signed_powers(rng):
    return Powers(3, *factors(rng, 2)), lp.SignedPower(3), data(rng)


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
    return Pairs(factors(rng, 4)), lp.Paired(), data(rng)


def linear(weights):
    """An `nn.Linear` without bias; weights are features × outputs."""
    layer = nn.Linear(*weights.shape, bias=False, dtype=torch.float64)
    layer.weight = parameter(weights.T)
    return layer


@family("dense", single=False)
def _dense(rng):
    X = data(rng)
    network, task = lp.FullyConnected((5, 4)), lp.Regression(X, np.ones(SAMPLES))
    init = lp.Init.balanced(network, task, scale=0.8, seed=int(rng.integers(1000)))
    first, second, last = init.layers
    module = nn.Sequential(linear(first), linear(second), linear(last[:, None]))
    return module, network, X


@family("two-layer", single=False)
def _two_layer(rng):
    """Several outputs; orthonormal rows times a number, and a second layer of zeros."""
    X = data(rng, 4)
    rows = np.linalg.qr(rng.standard_normal((7, 4)))[0].T
    module = nn.Sequential(linear(rng.uniform(0.5, 1) * rows), linear(np.zeros((7, 2))))
    return module, lp.TwoLayer(7), X


class RankOne(nn.Module):
    """`x ↦ ⟨x, v₁⟩ ⟨u₁, v₂⟩`."""

    def __init__(self, *layers):
        super().__init__()
        self.inner, self.other, self.first = map(parameter, layers)

    def forward(self, x):
        return (x @ self.first) * (self.inner @ self.other)


@family("rank one", rate=0.01)
def _rank_one(rng):
    # Inner vectors that never become orthogonal: they are nearly parallel.
    one = rng.choice([-1, 1], 5) * rng.uniform(0.5, 1.0, 5)
    layers = one, one + 0.1 * rng.standard_normal(5), 0.5 * rng.standard_normal(FEATURES)
    return RankOne(*layers), lp.RankOne(2, 5), data(rng)


@family("circular convolution")
def _convolution(rng, n=7):
    """`Conv1d(padding_mode="circular")` and a read-out, on even data, which starts at zero."""
    X = data(rng, n)
    X = (X + X[:, -np.arange(n) % n]) / 2
    filters = nn.Conv1d(
        1, 1, n, padding="same", padding_mode="circular", bias=False, dtype=torch.float64
    )
    impulse = np.zeros(n)
    impulse[n // 2] = rng.uniform(0.5, 1.0) * rng.choice([-1, 1])
    filters.weight = parameter(impulse[None, None])
    flatten = nn.Flatten()
    module = nn.Sequential(nn.Unflatten(1, (1, n)), filters, flatten, linear(np.zeros((n, 1))))
    return module, lp.Convolutional((n, n)), X


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
    values = data(rng, side, 2)
    X = np.stack([np.diag(row).ravel() for row in values])
    module = Matrices([np.diag(layer) for layer in factors(rng, 3, side)])
    return module, lp.MatrixProduct(3), X


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


@family("orthogonally decomposable", single=False)
def _decomposable(rng, n=4):
    X = data(rng, n)
    bases = [orthogonal(rng, n) for _ in range(3)]
    layers = [basis @ layer for basis, layer in zip(bases, factors(rng, 3, n), strict=True)]
    module = Decomposable(orthogonal(rng, n) * rng.uniform(0.8, 1.2, n), bases, layers)
    return module, lp.OrthogonalTensor, X


class Cube(nn.Module):
    def forward(self, weight):
        return weight**3


@family("parametrised", rate=0.01)
def _parametrised(rng):
    """`nn.utils.parametrize`: what is trained is the original."""
    layer = linear(np.ones((FEATURES, 1)))
    parametrize.register_parametrization(layer, "weight", Cube(), unsafe=True)
    layer.parametrizations.weight.original = parameter(np.stack(factors(rng, 1)))
    return layer, lp.Power(3), data(rng)


@family("frozen")
def _frozen(rng):
    """A fixed permutation with signs before a diagonal network, and a factor that does not move."""
    mixed = np.diag(rng.choice([-1.0, 1.0], FEATURES))[rng.permutation(FEATURES)]
    module = nn.Sequential(linear(mixed), Product([np.ones(FEATURES), *factors(rng, 2)]))
    module[0].weight.requires_grad_(False)
    module[1].layers[0].requires_grad_(False)
    return module, lp.Diagonal(2), data(rng)


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
    return Permuted(rng, factors(rng, 3)), lp.Diagonal(3), data(rng)


class Turned(nn.Module):
    """A diagonal network whose second layer is seen through a rotation."""

    def __init__(self, turn, first, second):
        super().__init__()
        self.register_buffer("turn", torch.tensor(turn))
        self.first, self.second = parameter(first), parameter(second)

    def forward(self, x):
        return x @ (self.first * (self.turn @ self.second))


@family("rotated", single=False)
def _rotated(rng):
    turn = orthogonal(rng, FEATURES)
    first, second = factors(rng, 2)
    return Turned(turn, first, turn.T @ second), lp.Diagonal(2), data(rng)
