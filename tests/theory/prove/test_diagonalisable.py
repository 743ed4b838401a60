"""Limits by way of a diagonal network within: oracles, the checker, tampering, refusals."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.linalg import block_diag
from tests.campaign.families import draw
from tests.oracles.proof_checker import Rejected, check

import limitpoint as lp
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.prove import proof_of

FAMILIES = (
    "OrthTensor 2",
    "OrthTensor 3",
    "Convolutional 2",
    "Convolutional 3",
    "MatrixProduct 2",
    "MatrixProduct 3",
)
# The smallest matrix whose eigenvalues are not rational: that of a path, 2 cos(πk/4).
PATH = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)


def contains(balls, numbers):
    """Oracles of 100 digits leave their own rounding where a coefficient is zero."""
    pairs = zip(balls.midpoint.ravel(), balls.radius.ravel(), numbers, strict=True)
    with mp.workdps(80):
        size = max(abs(x) for x in numbers)
        off = [abs(mpf(m) - x) - mpf(r) - abs(x) * mpf(10) ** -50 for m, r, x in pairs]
        return all(one <= size * mpf(10) ** -85 for one in off)


@pytest.mark.parametrize("name", FAMILIES)
def test_contains_the_oracle(name):
    for number in range(5 if name.endswith("3") else 8):
        case = draw(name, 3, number)
        proof = lp.prove(case.problem, digits=25)
        assert proof.ok, (number, proof.reason)
        assert proof.assumed == (), number
        assert contains(proof.coef, case.oracle().coef), number


def starts(depth, rng, size):
    """All layers but the last drawn, that zero."""
    return [*rng.standard_normal((depth - 1, size)), np.zeros(size)]


def orthogonal(depth=2, seed=0, exact=True, tied=False, **scale):
    """With signed permutations, or with columns that are orthonormal to rounding."""
    rng = np.random.default_rng(seed)
    U = [np.linalg.qr(rng.standard_normal((4, 3)))[0] for _ in range(depth)]
    if exact:
        U = [np.eye(4)[:, rng.permutation(4)[:3]] for _ in range(depth)]
    network = lp.OrthogonalTensor(rng.standard_normal((3, 3)), U)
    task = lp.Regression(rng.standard_normal((2, 3)), rng.standard_normal(2))
    layers = starts(depth, rng, 4)
    if tied:
        layers[1] = U[1] @ U[0].T @ layers[0]
    return lp.Problem(network, lp.Init(layers, **(scale or {"scale": 0.1})), task)


def even(rows):
    return (rows + np.roll(rows[..., ::-1], 1, axis=-1)) / 2


def convolution(depth=2, size=5, samples=2, seed=0, **scale):
    rng = np.random.default_rng(seed)
    X = even(rng.standard_normal((samples, size)))
    layers = [even(layer) for layer in starts(depth, rng, size)]
    task = lp.Regression(X, rng.standard_normal(samples))
    network = lp.Convolutional((size,) * depth)
    return lp.Problem(network, lp.Init(layers, **(scale or {"scale": 0.1})), task)


def product(sensors, layers, **scale):
    y = [1.0, -0.5, 0.75][: len(sensors)]
    task = lp.MatrixSensing(np.array(sensors), y)
    init = lp.Init(layers, **(scale or {"scale": 0.5}))
    return lp.Problem(lp.MatrixProduct(len(layers)), init, task)


def path(depth=2, **scale):
    one, square = np.eye(3), PATH @ PATH
    layers = [one + PATH / 4, one + square / 8][: depth - 1]
    return product([PATH + square, one - PATH], [*layers, 0.0 * one], **scale)


def repeated(**scale):
    """Two eigenspaces of three dimensions: the plane of sums zero, and its complement."""
    one, all_ones = np.eye(3), np.ones((3, 3))
    layers = [one + all_ones / 2, all_ones / 4]
    return product([one, one * 2 + all_ones], layers, **scale)


def turned(depth=2):
    """In a basis that float64 holds to rounding."""
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    sensors = [basis @ np.diag(row) @ basis.T for row in rng.standard_normal((2, 3))]
    sensors = [(one + one.T) / 2 for one in sensors]
    layers = [np.eye(3)] * (depth - 1) + [np.zeros((3, 3))]
    return product(sensors, layers, scale=0.3)


CHECKED = {
    "tensor": lambda: orthogonal(),
    "tensor, three layers": lambda: orthogonal(depth=3),
    "tensor, nearly": lambda: orthogonal(exact=False),
    "tensor, infinite": lambda: orthogonal(scale=np.inf),
    "convolution": lambda: convolution(),
    "convolution, rational": lambda: convolution(size=4),
    "convolution, three layers": lambda: convolution(depth=3),
    "convolution, small": lambda: convolution(log_scale=-50.0),
    "convolution, least squares": lambda: convolution(samples=5),
    "convolution, infinite": lambda: convolution(scale=np.inf),
    "matrices": path,
    "matrices, three layers": lambda: path(depth=3),
    "matrices, repeated": repeated,
    "matrices, nearly": turned,
    "tensor, on a face": lambda: _forced(),
}


def _forced():
    """`ρ ≥ 0` twice, with a target that only one of them can come nearer to."""
    network = lp.OrthogonalTensor([[1.0, 0.0], [0.0, 2.0]], [np.eye(2)] * 2)
    task = lp.Regression([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    return lp.Problem(network, lp.Init([[1.0, 1.0], [1.0, 1.0]], 0.5), task)


@pytest.mark.parametrize("name", CHECKED)
def test_float64_is_near(name):
    problem = CHECKED[name]()
    proof, limit = lp.prove(problem), lp.predict(problem, escalate=False)
    assert proof.ok, proof.reason
    assert np.allclose(proof.coef.values, limit.coef, rtol=1e-9, atol=1e-12)
    assert proof.coef.midpoint.shape == limit.coef.shape


@pytest.mark.parametrize("name", ["convolution", "matrices", "matrices, repeated"])
def test_training_ends_there(name):
    problem = CHECKED[name]()
    assert np.allclose(lp.flow(problem).coef, lp.prove(problem).coef.values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", CHECKED)
def test_says_what_holds_to_rounding_only(name):
    proof = lp.prove(CHECKED[name](), digits=20)
    assert bool(proof.assumed) == name.endswith("nearly")
    if proof.assumed:
        assert "to within" in proof.assumed[0]


def test_data_that_are_even_to_rounding():
    problem = convolution()
    X = np.array(problem.task.X)
    X[0, 1] = np.nextafter(X[0, 1], 9.0)
    moved = lp.Problem(problem.network, problem.init, lp.Regression(X, problem.task.y))
    proof = lp.prove(moved, digits=20)
    assert proof.ok, proof.reason
    assert "even" in proof.assumed[0]
    assert np.allclose(proof.coef.values, lp.prove(problem).coef.values, rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_frequencies_that_never_move(scale):
    """Constant filters have one frequency: of five conjugate ones all others are exactly zero."""
    rng = np.random.default_rng(2)
    task = lp.Regression(even(rng.standard_normal((3, 5))), [1.0, 0.5, -0.25])
    init = lp.Init([np.ones(5), np.full(5, 0.3)], scale)
    proof = lp.prove(lp.Problem(lp.Convolutional((5, 5)), init, task))
    assert proof.ok, proof.reason
    sums = task.X.sum(axis=1)
    assert np.allclose(proof.coef.values, sums @ task.y / (sums @ sums), rtol=1e-14)
    assert not proof.fits


def test_deep_scales():
    """At 10^-1000 every coefficient to 30 digits, near the limit of scale 0 for three layers."""
    proof = lp.prove(convolution(depth=3, log_scale=-2302.6))
    assert proof.ok, proof.reason
    near = lp.prove(convolution(depth=3, log_scale=-100.0))
    assert np.allclose(proof.coef.values, near.coef.values, rtol=1e-12)


def test_blocks_of_a_matrix_stay_apart():
    """Entries between blocks are zero exactly, though the eigenvalues are not rational."""
    sensors = [block_diag(PATH, [[0.5]]), block_diag(PATH @ PATH, [[2.0]])]
    proof = lp.prove(product(sensors, [np.eye(4), np.zeros((4, 4))]))
    assert proof.ok, proof.reason
    signs = proof.coef.signs.reshape(4, 4)
    assert (signs[:3, 3] == 0).all()
    assert (signs[3, :3] == 0).all()


@pytest.mark.parametrize("name", ["convolution", "tensor, three layers", "matrices"])
def test_a_wrong_hint_changes_nothing(name):
    problem, right = CHECKED[name](), lp.prove(CHECKED[name](), digits=20)
    size = right.coef.values.size
    hint = Hint(-np.sign(right.coef.values.ravel()), np.full(size, 20.0), np.full(2, 1e5))
    proof = proof_of(problem, right.theorem, 20, hint)
    assert proof.ok, proof.reason
    assert np.allclose(proof.coef.values, right.coef.values, rtol=1e-15)


def test_scale_zero_is_refused_with_the_reason():
    proof = lp.prove(convolution(scale=0.0))
    assert not proof.ok
    assert "at scale 0" in proof.reason


def test_forced_products_need_rational_data():
    """`ρ ≥ 0` for products of conjugate frequencies: which are forced is not decided."""
    task = lp.Regression(even(np.array([[0.0, 1.0, 0.0, 0.0, 1.0]])), [-3.0])
    impulse = np.eye(1, 5)[0]
    problem = lp.Problem(lp.Convolutional((5, 5)), lp.Init([impulse, impulse], 1.0), task)
    proof = lp.prove(problem)
    assert proof.ok, proof.reason
    assert "keep the signs" not in proof.statement  # none is forced: the root shows it
    wide = lp.Regression(even(np.eye(5)[:3]), [-1.0, 0.0, 0.5])
    refused = lp.prove(lp.Problem(problem.network, problem.init, wide))
    assert not refused.ok
    assert "rational data only" in refused.reason


def exported(name):
    found = json.loads(json.dumps(lp.prove(CHECKED[name](), digits=20).to_dict()))
    assert found["ok"], found["reason"]
    return found


@pytest.mark.parametrize("name", CHECKED)
def test_an_independent_checker_accepts(name):
    found = exported(name)
    check(copy.deepcopy(found["problem"]), found)


def _first(place, change):
    def tamper(found):
        balls = found[place[0]][place[1]]
        while isinstance(balls[0], list):
            balls = balls[0]
        value = change(Fraction(balls[0]))
        balls[0] = f"{value.numerator}/{value.denominator}"

    return tamper


def _number(*path):
    """Another number in the problem, or in what the proof says of it."""

    def tamper(found):
        place = found
        for key in path:
            place = place[key]
        while isinstance(place[0], list):
            place = place[0]
        place[0] = place[0] + 1

    return tamper


COMMON = {
    "midpoint": _first(("coef", "midpoint"), lambda m: m + Fraction(1, 10**12)),
    "sign": _first(("coef", "midpoint"), lambda m: -m + Fraction(1, 10**9)),
    "radius": _first(("coef", "radius"), lambda r: -r - Fraction(1, 10**99)),
    "huge radius": _first(("coef", "radius"), lambda r: (r + Fraction(1, 10**9)) * 10**6),
    "data": _number("problem", "X"),
    "target": _number("problem", "y"),
    "direction": _number("problem", "direction"),
    "scale": lambda found: found["problem"].update(scale=0.7),
    "network": lambda found: found["problem"].update(network="Diagonal(depth=2)"),
    "kind": lambda found: found.update(kind="mirror root"),
    "one sample": lambda found: found.update(kind="one sample"),
    "row left out": lambda found: found["witness"].update(rows=[1]),
    "coefficient left out": lambda found: found["coef"]["midpoint"].pop(),
    "not ok": lambda found: found.update(ok=False),
}
DUAL = {
    "dual": _first(("dual", "midpoint"), lambda m: m * (1 + Fraction(1, 10**12))),
    "dual far off": _first(("dual", "midpoint"), lambda m: m + 1),
}
OWN = {
    "tensor": DUAL | {"transform": _number("problem", "S"), "columns": _number("problem", "U")},
    "convolution": DUAL,
    "matrices": DUAL | {"combination": lambda f: f["witness"].update(combination=[0, 0, 0, 0])},
    "matrices, nearly": DUAL | {"basis": _number("witness", "basis")},
    "tensor, on a face": {
        "not forced": lambda f: f["witness"].update(forced=[0]),
        "vector": lambda f: f["witness"].update(farkas=["1", "1"]),
    },
    "convolution, infinite": {"finite": lambda f: f.update(kind="products")},
}
# A proof of the changed problem: the balls are then those of another one.
CHANGED = ("data", "target", "direction", "scale", "transform", "columns")


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name, own in OWN.items() for change in {**COMMON, **own}],
)
def test_an_independent_checker_rejects(name, change):
    found = exported(name)
    problem = copy.deepcopy(found["problem"])
    {**COMMON, **OWN[name]}[change](found)
    with pytest.raises((Rejected, ValueError, ZeroDivisionError)):
        check(copy.deepcopy(found["problem"]) if change in CHANGED else problem, found)
