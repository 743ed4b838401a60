"""The user's module is left alone; weights go out of it and back; runs of it are compared."""

import copy
import random
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from tests.torch.campaign import train
from tests.torch.families import FAMILIES, Product, draw
from torch import nn

import limitpoint as lp
from limitpoint.errors import DataError, LimitpointError
from limitpoint.results import Outcome
from limitpoint.torch.loading import read_state

pytestmark = pytest.mark.torch

N = 6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, N))
Y = X @ np.array([1.0, 0.5, 0.0, 0.0, 0.2, 0.0])


class Counting(nn.Sequential):
    """A module that counts its calls in a buffer, and remembers what it was given."""

    def __init__(self, *parts):
        super().__init__(*parts)
        self.register_buffer("calls", torch.zeros(()))
        self.seen = []

    def forward(self, x):
        self.calls += 1
        self.seen.append(x.shape)
        return super().forward(x)


def stack():
    """Its first part is frozen: a permutation."""
    parts = nn.Linear(N, N, bias=False), nn.Linear(N, 4, bias=False), nn.Linear(4, 1, bias=False)
    parts[0].weight = nn.Parameter(torch.eye(N).flip(0), requires_grad=False)
    return Counting(*parts)


def diagonal(depth=2, kind=torch.float64):
    return draw(f"diagonal {depth}", 0).module.to(kind)


def test_nothing_of_the_module_is_changed():
    module = stack()
    module[1].eval()
    module(torch.ones(2, N)).sum().backward()
    state = copy.deepcopy(module.state_dict())
    gradient = module[1].weight.grad.clone()
    identities = [id(one) for one in module.parameters()]
    randomness = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())  # noqa: NPY002
    lp.torch.problem(module, X, Y)
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())
    assert module[0].weight.grad is None
    assert torch.equal(module[1].weight.grad, gradient)
    assert [id(one) for one in module.parameters()] == identities
    assert [one.requires_grad for one in module.parameters()] == [False, True, True]
    assert [part.training for part in module.modules()] == [True, True, False, True]
    assert all(one.dtype == torch.float32 for one in module.parameters())
    assert module.calls == 1
    assert len(module.seen) == 1
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    assert torch.equal(torch.get_rng_state(), randomness[0])
    assert (np.random.get_state()[1] == randomness[1]).all()  # noqa: NPY002
    assert random.getstate() == randomness[2]
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


def test_nor_where_it_is_refused():
    class Draws(nn.Linear):
        def forward(self, x):
            random.random()
            np.random.random()  # noqa: NPY002
            return torch.relu(super().forward(x + torch.randn(())))

    module = nn.Sequential(Draws(N, 1, bias=False))
    randomness = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())  # noqa: NPY002
    with pytest.raises(LimitpointError, match=r"0 \(Draws\)"):
        lp.torch.problem(module, X, Y)
    assert torch.equal(torch.get_rng_state(), randomness[0])
    assert (np.random.get_state()[1] == randomness[1]).all()  # noqa: NPY002
    assert random.getstate() == randomness[2]
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_number_types(kind):
    module = diagonal(3, kind)
    problem = lp.torch.problem(module, X, Y)
    assert problem.network == lp.Diagonal(3)
    for layer, one in zip(problem.init.layers, module.layers, strict=True):
        np.testing.assert_array_equal(layer, one.detach().double().numpy())


def test_data():
    module = diagonal()
    problem = lp.torch.problem(module, X, Y, loss_factor=0.5)
    assert problem.task == lp.Regression(X, Y, 0.5)
    tensors = torch.tensor(X), torch.tensor(Y, requires_grad=True)[:, None]
    assert lp.torch.problem(module, *tensors, loss_factor=0.5).task == problem.task
    with pytest.raises(DataError, match="X"):
        lp.torch.problem(module, X[None], Y)
    with pytest.raises(DataError, match="same number"):
        lp.torch.problem(module, X, Y[:2])


def test_compiled_modules_are_taken_as_what_was_compiled():
    module = diagonal()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, about what it loads
        compiled = torch.compile(module)
    assert lp.torch.problem(compiled, X, Y).network == lp.Diagonal(2)


def test_a_start_at_which_terms_cancel():
    """What is left of them is rounding, which is linear in nothing."""

    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            self.u, self.w = (nn.Parameter(torch.linspace(0.1, 1, N)) for _ in range(2))

        def forward(self, x):
            return x @ self.u**3 - (x * self.w) @ (self.w * self.w)

    problem = lp.torch.problem(Halves(), X, Y)
    assert problem.network == lp.SignedPower(3)
    assert lp.predict(problem).status.ok


@pytest.mark.parametrize("name", FAMILIES)
def test_what_the_flow_reaches_is_put_into_the_module(name):
    drawn = draw(name, 0)
    problem = lp.torch.problem(drawn.module, drawn.X, drawn.y)
    layers = [layer[-1] for layer in lp.flow(problem).layers]
    other = copy.deepcopy(drawn.module)
    lp.torch.load(problem, other, layers)
    back = lp.torch.layers(problem, other)
    for one, two in zip(layers, back, strict=True):
        # Exact but for rotations and roots of two among the maps.
        np.testing.assert_allclose(one, two, rtol=0, atol=4e-15 * max(1, np.abs(one).max()))
    with torch.no_grad():
        outputs = other(torch.tensor(drawn.X)).numpy().reshape(drawn.y.shape)
    np.testing.assert_allclose(outputs, drawn.y, atol=1e-5)
    # Again: what came out goes back in without a change.
    again = copy.deepcopy(other)
    lp.torch.load(problem, again, back)
    if name not in ("rotated", "orthogonally decomposable", "dense", "two-layer"):
        assert all(map(torch.equal, again.parameters(), other.parameters()))


def test_layers_are_checked():
    module = diagonal()
    problem = lp.torch.problem(module, X, Y)
    good = lp.torch.layers(problem, module)
    for layers, message in (
        (None, "there are none"),
        (good[:1], "there are 1"),
        ([good[0], good[1][:2]], r"layers\[1\] must have shape \(6,\)"),
        ([good[0], good[1][None]], r"layers\[1\]"),
        ([good[0], np.full(N, np.nan)], r"layers\[1\]"),
    ):
        with pytest.raises(LimitpointError, match=message):
            lp.torch.load(problem, module, layers)
    shared = lp.torch.problem(Squared(), X, Y)
    assert shared.network == lp.Power(2)
    with pytest.raises(LimitpointError, match=r"the same architecture.*of shape"):
        lp.torch.layers(problem, Squared())
    with pytest.raises(LimitpointError, match="the same parameters frozen"):
        lp.torch.layers(problem, diagonal().requires_grad_(False))
    fixed = stack()
    other = lp.torch.problem(fixed, X, Y)
    with torch.no_grad():
        fixed[0].weight.mul_(2)
    with pytest.raises(LimitpointError, match=r"same frozen weights.*0\.weight differs"):
        lp.torch.layers(other, fixed)
    with pytest.raises(LimitpointError, match="in this session"):
        lp.torch.layers(lp.Problem(problem.network, problem.init, problem.task), module)


class Squared(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(N))

    def forward(self, x):
        return x @ self.weight**2


def test_layers_that_a_module_cannot_have():
    """A convolution of a filter with itself is a tensor network whose layers are copies."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(0.1, 1, 3, dtype=torch.float64))
            self.register_buffer("cubic", torch.tensor(RNG.standard_normal((N, 3, 3))))

        def forward(self, x):
            return torch.einsum("mn,nab,a,b->m", x, self.cubic, self.weight, self.weight)

    module = Twice()
    problem = lp.torch.problem(module, X, Y)
    one, two = problem.init.layers
    np.testing.assert_allclose(one, two)
    with pytest.raises(LimitpointError, match="one weight where they differ"):
        lp.torch.load(problem, module, [one, 2 * two])
    lp.torch.load(problem, module, [2 * one, 2 * two])
    assert torch.allclose(module.weight, 2 * Twice().weight)


def test_compare_takes_modules_and_tensors():
    drawn = draw("diagonal 2", 1)
    problem = lp.torch.problem(drawn.module, drawn.X, drawn.y)
    rule = {"training": lp.GD(drawn.rate), "steps": drawn.steps}
    first = copy.deepcopy(drawn.module)
    train(drawn.module, drawn)
    state = drawn.module.state_dict()
    for run in (drawn.module, [first, drawn.module], [*drawn.module.layers], state, [state]):
        assert lp.compare(problem, run, **rule).outcome is Outcome.PASSED
    with pytest.raises(LimitpointError, match=r"it has no layers\.0 of shape"):
        lp.compare(problem, {"other": torch.ones(6)}, **rule)
    coef = torch.stack([*drawn.module.layers]).prod(0)
    assert lp.compare(problem, coef, **rule).passed
    # Without knowing where the problem comes from, by its coefficients.
    plain = lp.Problem(problem.network, problem.init, problem.task)
    assert lp.compare(plain, drawn.module, **rule).passed
    with pytest.raises(LimitpointError, match="in this session"):
        lp.compare(plain, state, **rule)
    # What is known of single precision is that it is coarse.
    tolerance = {
        kind: lp.compare(problem, drawn.module.to(kind), **rule).checks[-1].tolerance
        for kind in (torch.float64, torch.float32)
    }
    assert tolerance[torch.float32] > 2 * tolerance[torch.float64]


def test_a_state_is_read_by_its_names():
    """Square weights are transposed: taken as layers they would be wrong, and not refused."""
    torch.manual_seed(0)
    module = nn.Sequential(
        *(nn.Linear(3, 3, bias=False) for _ in range(2)), nn.Linear(3, 1, bias=False)
    )
    module = module.double()
    problem = lp.torch.problem(module, X[:, :3], Y)
    found, _ = read_state(problem, module.state_dict())
    for one, two in zip(found, lp.torch.layers(problem, module), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(found[0], module[0].weight.detach().numpy())


def test_a_diverged_module_does_not_pass():
    module = diagonal()
    problem = lp.torch.problem(module, X, Y)
    with torch.no_grad():
        module.layers[0].fill_(torch.nan)
    verdict = lp.compare(problem, module)
    assert not verdict.passed
    assert "diverged" in str(verdict)


def watched(module, steps, **options):
    problem = lp.torch.problem(module, X, Y)
    watch = lp.torch.Watch(problem, module, **options)
    data, targets = torch.tensor(X), torch.tensor(Y)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.02)
    for _ in range(steps):
        optimiser.zero_grad()
        (0.5 * ((module(data) - targets) ** 2).sum()).backward()
        optimiser.step()
        watch.step()
    return watch


def test_watching():
    watch = watched(diagonal(), 1200)
    run = watch.run
    assert run.steps[0] == 0
    assert run.steps[-1] == watch.n_steps == 1200
    assert len(run.steps) < 90
    own = lp.train(watch.problem, lp.GD(0.02), 1200, record=run.steps)
    np.testing.assert_allclose(run.coefs, own.coefs, atol=1e-12)
    np.testing.assert_allclose(run.losses, own.losses, atol=1e-12)
    assert watch.distances[0] > 0.1
    # What the step leaves.
    assert watch.distances[-1] < 0.02
    assert watch.drifts[0] == 0
    found = lp.analysis.drift(watch.problem.network, own)
    assert watch.drifts.max() == pytest.approx(found.relative, rel=1e-9)
    assert watch.verdict(lp.GD(0.02)).passed
    assert not watch.verdict().passed
    assert repr(watch) == f"Watch(1200 steps, {len(watch._steps)} records of Diagonal(depth=2))"


def test_records_are_few_however_long_it_takes():
    module = diagonal()
    watch = lp.torch.Watch(lp.torch.problem(module, X, Y), module, every=1)
    for _ in range(2000):
        watch.step()
        assert len(watch._steps) <= 257
    steps = watch.run.steps
    assert (np.diff(steps[:-1]) == 8).all()
    assert steps[-1] == 2000
    with pytest.raises(LimitpointError, match="every must be a whole number"):
        lp.torch.Watch(watch.problem, module, every=0)


def test_watching_without_a_theorem():
    """The limit is then that of the flow."""
    torch.manual_seed(0)
    module = Own()
    watch = watched(module, 20)
    assert isinstance(watch.limit, lp.results.Trajectory)
    assert watch.distances[-1] < watch.distances[0]


class Own(nn.Sequential):
    """Default weights, which are not balanced."""

    def __init__(self):
        kind = {"bias": False, "dtype": torch.float64}
        super().__init__(nn.Linear(N, 4, **kind), nn.Linear(4, 1, **kind), nn.Flatten(0))


def test_the_figure():
    watch = watched(Product([np.full(N, 0.5), np.full(N, 0.7)]), 100)
    figure = watch.plot()
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["distance from the limit", "loss", "drift of invariants"]
    figure.draw_without_rendering()
    steps, distances = figure.axes[0].lines[0].get_data()
    np.testing.assert_array_equal(steps, watch.run.steps[1:])
    np.testing.assert_array_equal(distances, watch.distances[1:])
    watched(diagonal(), 0).plot().draw_without_rendering()


class Bent(nn.Module):
    """Linear in its input, and no polynomial of its weights."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.tensor([0.5, 0.3])), nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x @ (torch.sin(self.a) * self.b)


def test_a_module_that_is_no_known_network_is_followed_and_trained():
    module = Bent().double()
    data, target = [[1.0, 0.5]], [0.8]
    problem = lp.torch.problem(module, data, target)
    assert "no homogeneous polynomial" in str(problem.network)
    with pytest.raises(LimitpointError, match="no theorem"):
        lp.predict(problem)
    run = lp.train(problem, lp.GD(0.1), 60)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(60):
        optimiser.zero_grad()
        (0.5 * (module(torch.tensor(data, dtype=torch.float64)) - target[0]) ** 2).sum().backward()
        optimiser.step()
    for one, two in zip(run.layers, lp.torch.layers(problem, module), strict=True):
        np.testing.assert_allclose(one[-1], two, atol=1e-14)
    flow = lp.flow(problem)
    assert flow.status.ok
    assert np.linalg.norm(flow.coef - run.coef) < 0.05
    lp.torch.load(problem, module, [layer[-1] for layer in flow.layers])
    with torch.no_grad():
        output = module(torch.tensor(data, dtype=torch.float64))
    assert float(output) == pytest.approx(0.8, abs=1e-6)
