"""Directions of one sample: top singular vectors, against 120-digit ones."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from mpmath import mp
from tests.oracles.exact.one_sample import _singular, vanishing_one_sample_limit
from tests.oracles.exact.rational import exact
from tests.theory.prove.margin_problems import contains, leading

import limitpoint as lp
from limitpoint.theory.prove.margins.exact_spectrum import eigenvalues, projected
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.prove import proof_of


def sample(x, y=-1.0):
    return lp.Classification([x], [y])


def tensor_of(network, n):
    """`M[i, j, k]` as floats that are exact."""
    if isinstance(network, lp.Tensor):
        return network.M
    size, full = network.filter_sizes
    i, j, k = np.ogrid[:n, :size, :full]
    return ((j + k) % n == i).astype(float)


def led(network, task, digits=30):
    """A proof from a start whose first layer is the larger one, at most 50 draws."""
    for seed in range(50):
        problem = leading(network, task, seed)
        if not isinstance(network, lp.Tensor | lp.Convolutional | lp.Diagonal):
            first, last = problem.init.direction
            rng = np.random.default_rng(seed)
            layers = [rng.standard_normal(first.shape), rng.standard_normal(last.shape) / 16]
            problem = lp.Problem(network, lp.Init(layers, 0.5), task)
        proof = proof_of(problem, "yun2021.theorem3", digits, None)
        if proof.ok:
            return problem, proof
        assert "p² > q²" in proof.reason
    raise AssertionError("no start leads")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["tall", "wide", "filter", "short"])
def test_contains_the_singular_vectors(kind, seed):
    """Entries of the sample in units of their own."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    network = {
        "tall": lp.Tensor(rng.standard_normal((n, 4, 2))),
        "wide": lp.Tensor(rng.standard_normal((n, 2, 3))),
        "filter": lp.Convolutional((min(3, n), n)),
        "short": lp.Convolutional((int(rng.integers(1, 3)), n)),
    }[kind]
    x = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
    problem, proof = led(network, sample(x, rng.choice([-1.0, 1.0])))
    expected = vanishing_one_sample_limit(
        exact(tensor_of(network, n)), *exact(problem.task.X), *exact(problem.task.y)
    )
    assert contains(proof.coef, expected.coef)
    limit = lp.predict(problem)
    if limit.theorem.id in ("yun2021.theorem3", "yun2021.corollary4") and limit.status.ok:
        for name, layer in zip(("first layer", "second layer"), limit.layers, strict=True):
            np.testing.assert_allclose(proof.more[name].values, layer, rtol=0, atol=1e-9)


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize(("size", "turned"), [(1, 0.0), (2, 1.0), (2, -1.0)])
def test_the_closed_forms_of_corollary_4(size, turned, y):
    """`y·x`, and `y(2x ± ←x ± →x)`, as rationals."""
    x = np.array([3.0, 1.0, 2.0, 0.5]) if turned >= 0 else np.array([3.0, -1.0, 2.0, -0.5])
    around = 2 * x + turned * (np.roll(x, 1) + np.roll(x, -1)) if size == 2 else x
    # The margin of that is a float without rounding.
    expected = [Fraction(y * v) / Fraction(float(x @ around)) for v in around.tolist()]
    layers = [np.array([3.0, 1.0])[:size], np.array([0.5, 0.25, 0.0, 0.0])]
    problem = lp.Problem(lp.Convolutional((size, 4)), lp.Init(layers, 0.5), sample(x, y))
    proof = lp.prove(problem)
    assert proof.ok, proof.reason
    assert proof.theorem == "yun2021.corollary4"
    assert proof.coef.exact is not None
    assert [Fraction(one) for one in proof.coef.exact] == expected


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_ties_are_shared_as_the_start_decides(y):
    """Against the singular vectors of mpmath, as the start weighs them."""
    rng = np.random.default_rng(0)
    for network, x in (
        (lp.Convolutional((2, 4)), [1.0, 2.0, 1.0, -2.0]),
        (lp.Convolutional((3, 3)), [1.0, 0.0, 0.0]),
        (lp.Tensor(np.stack([np.eye(3), np.diag([1.0, 1.0, 0.0])])), [1.0, 2.0]),
        (lp.Tensor(rng.integers(-2, 3, (2, 2, 2)) + np.eye(2)), [1.0, 0.0]),
    ):
        x = np.array(x)
        problem, proof = led(network, sample(x, y))
        M = tensor_of(network, len(x))
        expected = shared(exact(M), problem)
        assert contains(proof.coef, expected)


def shared(tensor, problem):
    x, y = exact(problem.task.X)[0], int(problem.task.y[0])
    matrix = [
        [sum(a * b for a, b in zip(x, entries, strict=True)) for entries in zip(*rows, strict=True)]
        for rows in zip(*tensor, strict=True)
    ]
    v1, v2 = (exact(layer) for layer in problem.init.direction)
    with mp.workdps(120):
        modes = sorted(_singular(matrix), key=lambda mode: -mode[0])
        top = [mode for mode in modes if mode[0] > modes[0][0] * (1 - mp.mpf(10) ** -60)]

        def dot(a, b):
            return mp.fsum(
                p * (mp.mpf(q.numerator) / q.denominator if isinstance(q, Fraction) else q)
                for p, q in zip(a, b, strict=True)
            )

        shares = [dot(u, v1) + y * dot(w, v2) for _, u, w in top]
        a, b = (
            [dot(shares, line) for line in zip(*(mode[side] for mode in top), strict=True)]
            for side in (1, 2)
        )
        unit = top[0][0] * mp.fsum(s * s for s in shares)
        return [y * dot(a, [dot(b, row) for row in part]) / unit for part in tensor]


def test_layers_that_are_matrices_and_spread_values():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(4)
    basis = np.linalg.qr(rng.standard_normal((5, 4)))[0]
    for network in (
        lp.FullyConnected((3,)),
        lp.MatrixProduct(2),
        lp.Diagonal(2),
        lp.OrthogonalTensor(rng.standard_normal((4, 4)), [np.eye(4)] * 2),
        lp.OrthogonalTensor(rng.standard_normal((4, 4)), [basis, np.eye(4)]),
    ):
        problem, proof = led(network, sample(x, 1.0))
        # Layers of margin 1 that are singular vectors: the coefficients are theirs.
        layers = [proof.more[name].values for name in ("first layer", "second layer")]
        coef = network.coef(layers)
        np.testing.assert_allclose(proof.coef.values, coef, rtol=0, atol=1e-12)
        assert problem.task.margins(coef)[0] == pytest.approx(1.0, abs=1e-12)
        value = proof.more["singular value"].values[0]
        assert np.linalg.norm(layers[0]) ** 2 == pytest.approx(1 / value, rel=1e-10)
        if not isinstance(network, lp.OrthogonalTensor):
            limit = lp.predict(problem)
            assert limit.theorem.id == "yun2021.theorem3"
            np.testing.assert_allclose(proof.coef.values, limit.coef, rtol=0, atol=1e-12)


def test_equal_moduli_of_a_diagonal_network_are_shared_in_rationals():
    layers = [np.array([2.0, -3.0, 1.0]), np.array([1.0, 0.0, 0.5])]
    problem = lp.Problem(lp.Diagonal(2), lp.Init(layers, 0.5), sample([2.0, -2.0, 1.0], 1.0))
    proof = lp.prove(problem)
    assert proof.theorem == "yun2021.theorem3"
    # Shares (2 + 1)² and (−3 − 0)², signs those of the data.
    assert proof.coef.exact.tolist() == ["1/4", "-1/4", "0"]
    assert "share" in proof.statement
    np.testing.assert_allclose(proof.coef.values, lp.predict(problem).coef, atol=1e-14)


def test_a_start_that_does_not_lead_is_refused():
    network, task = lp.Tensor(np.stack([np.diag([2.0, 1.0])])), sample([1.0])
    for second in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.5]):
        problem = lp.Problem(network, lp.Init([np.ones(2), np.array(second)], 0.5), task)
        proof = proof_of(problem, "yun2021.theorem3", 20, None)
        assert "p² > q²" in proof.reason
    layers = [np.ones(2), np.array([1.0 - 2.0**-53, 0.0])]
    problem = lp.Problem(network, lp.Init(layers, 0.5), task)
    assert proof_of(problem, "yun2021.theorem3", 20, None).ok


def test_a_sample_that_meets_nothing_is_refused():
    networks = (lp.Tensor(np.zeros((1, 2, 3))), lp.OrthogonalTensor([[0.0]], [np.eye(1)] * 2))
    for network in networks:
        proof = proof_of(leading(network, sample([1.0])), "yun2021.theorem3", 20, None)
        assert "a matrix that is zero" in proof.reason


def test_nothing_rests_on_the_hint():
    network = lp.Convolutional((3, 4))
    problem, proof = led(network, sample([1.0, 2.0, -0.5, 0.25]))
    hint = Hint(np.ones(4), np.full(4, 7.0), np.array([3.0]))
    assert (
        proof_of(problem, "yun2021.theorem3", 30, hint).coef.midpoint == proof.coef.midpoint
    ).all()


def test_the_spectrum_is_exact():
    G = fmpq_mat(4, 4, [2, 1, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0])
    found = eigenvalues(G)
    assert [(one.value, one.multiplicity) for one in found] == [(3, 2), (1, 1), (0, 1)]
    b = fmpq_mat(4, 1, [fmpq(1), fmpq(0), fmpq(5), fmpq(7)])
    assert projected([b, G * b, G * G * b], found[0]) == [fmpq(1, 2), fmpq(1, 2), 5, 0]
    with ctx.workprec(200):
        golden = eigenvalues(fmpq_mat(2, 2, [2, 1, 1, 1]))
        assert golden[0].value.overlaps((3 + arb(5).sqrt()) / 2)
