"""Saddle paths and limits of vanishing scale: exact, against brute force and a checker."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from mpmath import iv, mp, mpf
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator
from tests.campaign.families import draw
from tests.campaign.saddles import problem as drawn_path
from tests.oracles.exact.ends_of_scale import vanishing_limit
from tests.oracles.exact.exact_saddles import exact_saddles
from tests.oracles.exact.exact_scale_space import exact_path
from tests.oracles.exact.rational import dot, exact
from tests.oracles.proof_checker.activation import tail_integral
from tests.theory.prove.saddle_problems import SEVEN, TIE, accept, at_zero

import limitpoint as lp
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.prove import proof_of, proof_of_path
from limitpoint.theory.prove.separable.tail_integral import TailIntegral
from limitpoint.theory.prove.vanishing.activation import activation_times

INF = np.inf


def contain(balls, numbers):
    """Whether these are the fractions, or lie in the balls where they are too long to be read."""
    if balls.exact is not None and [Fraction(one) for one in balls.exact.ravel()] != numbers:
        return False
    pairs = zip(balls.midpoint.ravel(), balls.radius.ravel(), numbers, strict=True)
    return all(abs(Fraction(m) - one) <= Fraction(r) for m, r, one in pairs)


def random_path(rng):
    """Small whole numbers, so that many times tie; repeated and empty columns; random units."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    X = rng.integers(-2, 3, (m, n)).astype(float)
    if rng.random() < 0.3:
        X = np.round(rng.standard_normal((m, n)) * 64) / 64
    if n > 2 and rng.random() < 0.4:
        X[:, 1] = rng.choice([-1.0, 1.0, 2.0]) * X[:, 0]
    y = X @ rng.integers(-2, 3, n) if rng.random() < 0.5 else rng.integers(-3, 4, m).astype(float)
    kinds = ([1.0], [0.5, 1.0, 2.0], [0.5, 1.0, INF], [0.0, 1.0, 2.0, INF])
    plus, minus = (rng.choice(kinds[int(rng.integers(4))], n) for _ in range(2))
    if rng.random() < 0.4:
        rows, columns = (10.0 ** rng.integers(-8, 9, size) for size in (m, n))
        X, y = rows[:, None] * X * columns, rows * y
        plus, minus = plus * columns, minus * columns
    return X, y, plus, minus


def compare(X, y, plus, minus, proof):
    """With linear programs and with inverse scale space, in fractions; what was compared."""
    compared = {proof.ok, "ties" if any("together" in one for one in proof.assumed) else "no ties"}
    weights = [
        tuple(mp.inf if t == INF else Fraction(t) for t in pair)
        for pair in zip(plus, minus, strict=True)
    ]
    if not any(pair == (0, 0) for pair in weights):
        truth = vanishing_limit(weights, X, y)
        assert truth.unique == proof.ok
        if proof.ok:
            with mp.workdps(60):
                pairs = zip(proof.coef.midpoint, proof.coef.radius, truth.coef, strict=True)
                assert all(abs(mpf(m) - b) <= mpf(r) + abs(b) * mpf(10) ** -50 for m, r, b in pairs)
            assert truth.fits == proof.fits
        compared.add("program")
    if all(0 < t < INF for pair in weights for t in pair):
        times, coefs, xi, _ = exact_path(exact(X), exact(y), *zip(*weights, strict=True))
        if proof.ok:
            assert contain(proof.more["path_times"], times)
            assert contain(proof.mirror, xi[-1])
            if "saddles" in proof.more:
                assert contain(proof.more["saddles"], [one for coef in coefs for one in coef])
            else:
                fits = [dot(row, coef) for coef in coefs for row in exact(X)]
                assert contain(proof.more["saddle_fits"], fits)
        compared.add("path")
    return compared


def check_random(seeds):
    compared = set()
    for seed in seeds:
        given = random_path(np.random.default_rng(seed))
        proof = proof_of_path(*given, digits=20)
        assert proof.ok or proof.kind == "two minimisers", (seed, proof.reason)
        accept(proof)
        compared |= compare(*given, proof)
    return compared


def test_random_paths():
    """Ties, units of 10^±8, repeated columns, one-sided and free coefficients."""
    kinds = {True, False, "ties", "no ties", "program", "path"}
    assert check_random(range(220)) == kinds


@pytest.mark.slow
def test_more_random_paths():
    check_random(range(1000, 1600))


def test_paths_in_every_unit():
    """Activation times over six decades, rows and columns 10^±8 apart."""
    for number in range(60):
        X, y, plus, minus, _ = drawn_path(number, 3)
        truth = exact_saddles(X, y, plus, minus)
        proof = lp.prove(lp.saddle_path(X, y, plus, minus), digits=20)
        assert proof.ok
        assert [list(map(float, row)) for row in truth.coefs] == proof.more[
            "saddles"
        ].values.tolist()
        for middle, radius, time in zip(
            proof.more["path_times"].midpoint,
            proof.more["path_times"].radius,
            truth.times,
            strict=True,
        ):
            assert abs(Fraction(middle) - time) <= Fraction(radius)


def test_limits_of_networks():
    """The campaign's problems at scale 0, with weights that are integrals among them."""
    kinds = set()
    for number in range(40):
        case = draw("scale 0", 11, number)
        proof = lp.prove(case.problem, digits=25)
        if proof.reason.startswith("limits by limitpoint.one_sample"):
            continue
        truth = case.oracle()
        assert proof.ok == truth.unique, (number, proof.reason)
        assert proof.fits == truth.fits
        X, y = exact(case.problem.task.X), exact(case.problem.task.y)
        with mp.workdps(80):
            for row, target in zip(X, y, strict=True):
                # The oracle's zeros are rounding, of what is added up in a row.
                terms = [abs(mpf(float(a)) * b) for a, b in zip(row, truth.coef, strict=True)]
                size = (sum(terms) + abs(mpf(float(target)))) * mpf(10) ** -60
                for a, m, r, x in zip(
                    row, proof.coef.midpoint, proof.coef.radius, truth.coef, strict=True
                ):
                    assert abs(mpf(float(a))) * (abs(mpf(m) - x) - mpf(r)) <= size
        kinds.add((str(case.problem.network), case.kind))
    assert len(kinds) > 15


def test_a_worked_example():
    proof = lp.prove(at_zero(lp.Diagonal(2), SEVEN, [10.0, 0.0]))
    assert proof.bits == 0
    assert proof.kind == "saddle path"
    assert proof.theorem == "zhao2026.corollary4.6"
    assert proof.more["saddles"].exact.tolist() == [
        ["0", "0", "0", "0"],
        ["4/5", "0", "0", "0"],
        ["0", "0", "7/5", "0"],
        ["0", "0", "10/7", "-10/49"],
    ]
    assert proof.more["path_times"].exact.tolist() == ["0", "1/100", "1/25", "69/1225"]
    assert proof.mirror.exact.tolist() == ["45/49", "-30/49", "1", "-1"]
    assert "exactly one minimises" in str(proof)


def test_saddles_on_the_way_may_be_open():
    """The first column twice: what they share at the first saddle is open, and gone at the end."""
    X = [[row[0], *row] for row in SEVEN]
    proof = lp.prove(at_zero(lp.Diagonal(2), X, [10.0, 0.0]))
    assert proof.coef.exact.tolist() == ["0", "0", "0", "10/7", "-10/49"]
    assert proof.more["saddle_fits"].exact.tolist()[1] == ["8", "4"]
    assert "saddles" not in proof.more
    assert "the fits at these saddles" in proof.statement
    accept(proof)


def test_a_hint_is_not_needed():
    problem = at_zero(lp.Diagonal(3), SEVEN, [10.0, 0.0])
    right = lp.prove(problem)
    wrong = Hint(-np.ones(4), np.full(4, 7.0), np.ones(2))
    for hint in (None, wrong):
        found = proof_of(problem, "zhao2026.corollary4.6", 30, hint)
        assert replace(found, seconds=0.0) == replace(right, seconds=0.0)


def test_times_that_are_multiples_of_one_integral_tie_exactly():
    """Layers twice as large and a column half as large: both activate at once, at π/2."""
    layers = [[1.0, 2.0, 1.0], [1.0, 2.0, 1.0], [0.0, 0.0, 0.0]]
    problem = at_zero(lp.Diagonal(3), [[1.0, 0.5, 0.0], [0.0, 0.25, 1.0]], [1.0, 0.0], layers)
    proof = lp.prove(problem)
    assert proof.ok
    assert any("saddle 1" in one for one in proof.assumed)
    middle, radius = (getattr(proof.more["path_times"], p)[1] for p in ("midpoint", "radius"))
    with mp.workdps(60):
        assert abs(mpf(middle) - mp.pi / 2) <= mpf(radius)
    accept(proof)


def test_the_end_alone_where_a_tie_is_not_decided():
    X = [[1.0, 1.0, 0.1, 0.2], [1.0, -1.0, 0.3, 0.1]]
    proof = lp.prove(at_zero(lp.Diagonal(4), X, [1.0, 0.0], TIE))
    assert proof.kind == "least weighted l1"
    assert proof.coef.exact.tolist() == ["1/2", "1/2", "0", "0"]
    assert proof.mirror is None
    assert "is not decided" in proof.statement


def test_a_tie_that_balls_cannot_decide_is_refused():
    X = [[1.0, 1.0, 0.1, 0.2], [0.0, 0.0, 1.0, 0.0]]
    proof = lp.prove(at_zero(lp.Diagonal(4), X, [1.0, 0.0], TIE))
    assert not proof.ok
    assert proof.reason.startswith("which of two coefficients activates first is not decided")
    assert proof.reason.endswith("nor are two minimisers told apart")


def test_two_minimisers_are_shown():
    problem = at_zero(lp.Diagonal(3), [[1.0, 2.0, 0.5]], [1.0], [[1.0, 0.5, 1.0]] * 2 + [[0.0] * 3])
    # The activation time of the second is twice that of the first, and its column, too.
    proof = lp.prove(problem)
    assert not proof.ok
    assert proof.kind == "two minimisers"
    assert proof.witness["minimiser"] == ["1", "0", "0"]
    assert proof.witness["other"] == ["0", "1/2", "0"]
    assert "not unique" in str(proof)
    accept(proof)


def test_what_cannot_grow_stays():
    """A column of zeros, frozen layers, and coefficients of one sign in a least-squares fit."""
    X = [[1.0, 0.0, 3.0, 1.0], [1.0, 0.0, 0.0, -1.0]]
    layers = [[1.0, 1.0, 0.0, 1.0], [0.5, 0.5, 0.0, 1.0]]
    proof = lp.prove(at_zero(lp.Diagonal(2), X, [2.0, 3.0], layers))
    assert proof.theorem == "limitpoint.sign_constrained_at_zero"
    assert proof.coef.exact.tolist() == ["5/2", "0", "0", "0"]
    assert not proof.fits
    accept(proof)
    assert "best fits of the data under their signs" in proof.statement


def test_data_of_zeros():
    proof = lp.prove(at_zero(lp.SignedPower(3), [[1.0, 2.0]], [0.0]))
    assert proof.coef.exact.tolist() == ["0", "0"]
    assert proof.more["path_times"].exact.tolist() == ["0"]
    accept(proof)


def test_general_networks_are_refused():
    network = lp.General(lambda block: block[0] * block[1], block_size=2)
    proof = lp.prove(at_zero(network, [[1.0, 2.0]], [1.0]))
    assert not proof.ok
    assert "no rigorous derivatives" in proof.reason


# ---------------------------------------------------------------- paths without a network


def test_a_path_is_proved_for_the_times_given():
    path = lp.saddle_path(SEVEN, [10.0, 0.0], t_plus=[0.5, 1.0, 1.0, 1.0], t_minus=[0.5, 1, 1, 1])
    proof = lp.prove(path)
    assert proof.coef.exact.tolist() == ["1", "0", "0", "-5/7"]
    assert proof.problem["task"] == "saddle path"
    assert "the activation times are those of the network" in proof.assumed
    assert lp.prove(lp.saddle_path(csr_array(SEVEN), [10.0, 0.0])).ok


def test_names_of_features_are_kept():
    path = lp.saddle_path([[1.0, 2.0]], [1.0], feature_names=["one", "two"])
    assert lp.prove(path).feature_names == ("one", "two")


def test_bounds_that_are_not_zero_are_refused():
    proof = lp.prove(lp.saddle_path([[1.0, 2.0]], [1.0], upper=[INF, 0.25]))
    assert "bounds other than zero" in proof.reason


def test_operators_are_refused():
    path = lp.saddle_path(aslinearoperator(np.array(SEVEN)), [10.0, 0.0])
    with pytest.raises(lp.errors.LimitpointError, match="LinearOperator are not known exactly"):
        lp.prove(path)


def test_predict_goes_on_where_float64_finds_a_tie():
    """Activation times that differ in the last digit: float64 takes them for equal."""
    X = [[1.0, 1.0 + 2.0**-50]]
    problem = at_zero(lp.Diagonal(2), X, [1.0], [[1.0, 1.0], [0.5, 0.5]])
    problem = replace(problem, task=lp.Regression([*X, [0.0, 0.0]], [1.0, 0.0]))
    assert lp.predict(problem, escalate=False).status is lp.Status.DEGENERATE
    assert lp.predict(problem).status is lp.Status.PROVED
    assert lp.predict(problem).coef[0] == 0.0


# ---------------------------------------------------------------- activation times


@pytest.mark.parametrize("depth", [3, 4, 6])
def test_activation_times_of_deep_layers(depth):
    """Against float64, and the checker's series against those of the prover."""
    rng = np.random.default_rng(depth)
    network = lp.Diagonal(depth)
    layers = rng.standard_normal((depth, 8))
    layers[-1, 0] = 0.0
    layers[1, 1] = -layers[0, 1]
    layers[:, 2] = 0.75
    layers[:2, 3] = 0.0
    problem = at_zero(network, np.ones((1, 8)), [1.0], list(layers))
    times = activation_times(problem)
    expected = network.activation_times(problem.init)
    found = [
        [INF if one is None else float(times.units.ball(one).mid()) for one in pair]
        for pair in times.pairs
    ]
    np.testing.assert_allclose(np.array(found).T, [expected.t_plus, expected.t_minus], rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "widths"),
    [
        ("0", ("1", "1")),
        ("1/3", ("1/2", "2")),
        ("1/2", ("0", "3/4")),
        ("0", ("1/1000", "1", "1")),
        ("2", ("1/1000000", "3", "4", "5")),
    ],
)
def test_the_checker_integrates_by_itself(x, widths):
    precision = iv.prec, mp.prec
    iv.prec = mp.prec = 200
    try:
        there = tail_integral(Fraction(x), [Fraction(one) for one in widths])
        with ctx.workprec(300):
            ours = TailIntegral([arb(fmpq(*map(int, w.split("/")))) for w in widths])
            middle = ours.beyond(arb(fmpq(*map(int, x.split("/"))))).mid()
            ball = mpf(str(middle.str(60, radius=False)))
            assert there.a - mpf(10) ** -55 <= ball <= there.b + mpf(10) ** -55
        assert there.delta < mpf(10) ** -35
    finally:
        iv.prec, mp.prec = precision
