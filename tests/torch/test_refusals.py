"""Modules that must be refused are, each by the name of the part that is to blame."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

import limitpoint as lp
from limitpoint.errors import LimitpointError
from limitpoint.torch.examination import examine
from limitpoint.torch.twin import Twin

pytestmark = pytest.mark.torch

N = 6
X = np.random.default_rng(0).standard_normal((4, N))
Y = X @ np.arange(N)


def between(part, width=5):
    """A part in a stack of linear layers; it is number 1."""
    return nn.Sequential(
        nn.Linear(N, 5, bias=False), part, nn.Flatten(), nn.Linear(width, 1, bias=False)
    )


class Own(nn.Module):
    """A linear layer, and a forward of one's own."""

    def __init__(self, forward):
        super().__init__()
        self.inner, self.other = nn.Linear(5, 5, bias=False), nn.Linear(5, 5, bias=False)
        self.shift = nn.Parameter(torch.ones(5))
        self.register_buffer("calls", torch.zeros(()))
        self.own = forward

    def forward(self, x):
        return self.own(self, x)


def own(forward):
    return between(Own(forward))


def of_kind(kind):
    module = between(nn.Identity())
    module.extra = nn.Parameter(torch.ones(3).to(kind), requires_grad=kind.is_complex)
    return module


def with_nan():
    module = between(nn.Identity())
    with torch.no_grad():
        module[3].weight[0, 1] = torch.nan
    return module


def with_zero(module):
    """Its last layer starts at zero."""
    nn.init.zeros_(module[3].weight)
    return module


def frozen():
    return between(nn.Identity()).requires_grad_(False)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(5, 1, bias=False)

    def forward(self, x):
        return self.inner(x, x, x)[0]


def hidden(self, x):
    return self.inner(functional.relu(x))


def branches(self, x):
    return self.inner(x) if x.sum() > 0 else self.other(x)


# The module, the name of the part, and what is said.
REFUSED = {
    "bias": (lambda: between(nn.Linear(5, 5)), r"1 \(Linear\) adds a constant.*bias=False.*centre"),
    "zero bias": (
        lambda: between(nn.utils.skip_init(nn.Linear, 5, 5).apply(zeros)),
        r"1 \(Linear\) adds a constant",
    ),
    "own bias": (lambda: own(lambda m, x: m.inner(x) + m.shift), r"1 \(Own\) adds a constant"),
    "ReLU": (lambda: between(nn.ReLU(inplace=True)), r"1 \(ReLU\) is not linear.*activation out"),
    "Tanh": (lambda: between(nn.Tanh()), r"1 \(Tanh\) is not linear"),
    "GELU": (lambda: between(nn.GELU()), r"1 \(GELU\) is not linear"),
    "PReLU": (lambda: between(nn.PReLU()), r"1 \(PReLU\) is not linear"),
    "cut off far away": (lambda: between(nn.Hardtanh(-1e3, 1e3)), r"1 \(Hardtanh\) is not linear"),
    "softmax": (lambda: between(nn.Softmax(-1)), r"1 \(Softmax\)"),
    "functional": (lambda: own(hidden), r"1 \(Own\) is not linear.*own forward.*not to blame"),
    "square": (lambda: own(lambda m, x: m.inner(x) * m.other(x)), r"1 \(Own\) is not linear"),
    "dropout": (lambda: between(nn.Dropout(0.01)), r"1 \(Dropout\) drops inputs.*p=0.01.*p=0"),
    "functional dropout": (
        lambda: own(lambda m, x: functional.dropout(x, 0.5, m.training)),
        r"1 \(Own\) returns something else for the same input",
    ),
    "functional dropout before a zero layer": (
        lambda: with_zero(own(lambda m, x: functional.dropout(x, 0.5, m.training))),
        r"1 \(Own\) returns something else for the same input",
    ),
    "noise": (
        lambda: own(lambda m, x: x + torch.randn_like(x)),
        r"1 \(Own\) returns something else for the same input",
    ),
    "NumPy's noise": (
        lambda: own(lambda m, x: x * np.random.random()),  # noqa: NPY002
        r"1 \(Own\) returns something else for the same input",
    ),
    "state": (
        lambda: own(lambda m, x: x * m.calls.add_(1)),
        r"1 \(Own\) returns something else for the same input",
    ),
    "mode": (
        lambda: own(lambda m, x: x if m.training else 2 * x),
        r"1 \(Own\) returns something else in training mode",
    ),
    "batch norm": (lambda: between(nn.BatchNorm1d(5)), r"1 \(BatchNorm1d\).*batch normalisation"),
    "batch norm, fixed": (lambda: between(nn.BatchNorm1d(5).eval()), r"1 \(BatchNorm1d\)"),
    "layer norm": (lambda: between(nn.LayerNorm(5)), r"1 \(LayerNorm\) .*normalisation out"),
    "RMS norm": (lambda: between(nn.RMSNorm(5)), r"1 \(RMSNorm\) .*normalisation out"),
    "group norm": (lambda: between(nn.GroupNorm(1, 5)), r"1 \(GroupNorm\) .*normalisation out"),
    "max pooling": (lambda: between(nn.MaxPool1d(1 + 4, 1), 1), r"1 \(MaxPool1d\).*average"),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(9, 1), nn.Flatten()),
        r"0 \(Embedding\) fails.*whole numbers",
    ),
    "embedding of rounded": (
        lambda: own(lambda m, x: functional.one_hot(x.abs().long().clamp(max=4), 5).sum(1) * 1.0),
        r"1 \(Own\)",
    ),
    "LSTM": (lambda: nn.Sequential(nn.LSTM(N, 1)), r"0 \(LSTM\) .*Recurrent"),
    "GRU cell": (lambda: between(nn.GRUCell(5, 5)), r"1 \(GRUCell\) .*Recurrent"),
    "attention": (lambda: between(Attention()), r"1.inner \(MultiheadAttention\).*Attention"),
    "bilinear": (lambda: own(lambda m, x: x * m.inner(x)), r"1 \(Own\) is not linear"),
    "branch": (lambda: own(branches), r"1 \(Own\) uses other parts for other inputs"),
    "over samples": (
        lambda: own(lambda m, x: x - x.mean(0)),
        r"1 \(Own\) returns for a sample what depends on the other samples",
    ),
    "cast": (lambda: own(lambda m, x: x.float()), r"1 \(Own\) computes in float32|fails"),
    "cast and back": (lambda: own(lambda m, x: x.float().double()), r"1 \(Own\) is not linear"),
    "shape of input": (
        lambda: nn.Linear(N + 1, 1, bias=False),
        r"the module itself \(Linear\) fails",
    ),
    "no channel": (lambda: between(nn.Conv1d(7, 1, 3)), r"1 \(Conv1d\) fails.*Unflatten"),
    "shape of output": (lambda: nn.Linear(N, 3, bias=False), r"outputs of shape \(6,\)"),
    "tuple": (lambda: Tuple(), r"the module itself \(Tuple\) must return one tensor.*tuple"),
    "complex": (lambda: Complex(), r"the module itself \(Complex\) returns complex numbers"),
    "no parameters": (lambda: nn.Sequential(nn.Flatten()), r"none at all"),
    "frozen": (frozen, r"all have requires_grad=False"),
    "whole numbers": (lambda: of_kind(torch.int64), r"extra of the module itself .*int64"),
    "complex weights": (
        lambda: of_kind(torch.complex64),
        r"extra of the module itself .*complex64",
    ),
    "NaN": (with_nan, r"weight of 3 \(Linear\) has entries that are not finite"),
    "meta": (lambda: between(nn.Linear(5, 5, bias=False, device="meta")), r"weight of 1 .*meta"),
    "lazy": (lambda: between(nn.LazyLinear(5, bias=False)), r"1 \(LazyLinear\) is not initialised"),
    "spectral norm": (
        lambda: between(parametrizations.spectral_norm(nn.Linear(5, 5))),
        r"1.*returns something else|1.*adds a constant",
    ),
    "no module": (lambda: 3, r"module must be a torch.nn.Module; it is 3"),
}


class Tuple(nn.Linear):
    def __init__(self):
        super().__init__(N, 1, bias=False)

    def forward(self, x):
        return super().forward(x), 1


class Complex(nn.Linear):
    def __init__(self):
        super().__init__(N, 1, bias=False)

    def forward(self, x):
        return torch.fft.fft(super().forward(x))


def zeros(layer):
    for one in layer.parameters():
        nn.init.zeros_(one)


@pytest.mark.parametrize("name", REFUSED)
def test_the_part_is_named(name):
    make, message = REFUSED[name]
    torch.manual_seed(0)
    with pytest.raises(LimitpointError, match=f"(?s){message}"):
        lp.torch.problem(make(), X, Y)


@pytest.mark.parametrize(
    "part",
    [
        nn.Dropout(0.0),
        nn.Dropout(0.5).eval(),
        nn.AvgPool1d(1),
        nn.Identity(),
        nn.LeakyReLU(1.0),
        nn.Hardtanh(-np.inf, np.inf),
        Own(lambda m, x: (x + m.inner(x)) / 2),
        Own(lambda m, x: torch.relu(x) - torch.relu(-x)),
    ],
    ids=str,
)
def test_what_is_linear_is_not_refused_for_its_kind(part):
    """The copy is what is examined, so that whether a network is known for it does not matter."""
    examine(Twin.of(between(part)), N)
