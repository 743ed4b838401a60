"""Limits under sign constraints: faces in rationals, proofs with coefficients forced to zero."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from mpmath import mp, mpf
from tests.campaign.families import draw
from tests.oracles.exact.rational import exact, transposed
from tests.oracles.exact.separable import _alive, best_fit_of
from tests.oracles.proof_checker import Rejected, check

import limitpoint as lp
from limitpoint.results import Balls
from limitpoint.theory.prove.exact import nonnegative
from limitpoint.theory.prove.exact.faces import reduce_to_face
from limitpoint.theory.prove.exact.numbers import as_rationals, rational_matrix
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.prove import proof_of


def dot(one, two):
    return sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0))


def fractions(numbers):
    return [Fraction(int(one.p), int(one.q)) for one in numbers]


def face_of(X, y, sides):
    """The face, after its certificate was checked in Python's fractions."""
    face = reduce_to_face(rational_matrix(X), as_rationals(y.tolist()), sides)
    rows, targets, vector = exact(X), fractions(face.targets), fractions(face.farkas)
    inside = fractions(face.interior)
    assert [dot(row, inside) for row in rows] == targets
    residual = [a - b for a, b in zip(exact(y), targets, strict=True)]
    assert face.fits == (not any(residual))
    assert sorted(face.alive + face.forced) == list(range(len(sides)))
    for i, column in enumerate(transposed(rows)):
        along, slope = dot(column, vector), dot(column, residual)
        if i in face.alive:
            assert along == slope == 0
            assert sides[i] == 0 or sides[i] * inside[i] > 0
        else:
            assert sides[i] * along > 0 >= sides[i] * slope
            assert inside[i] == 0
    return face


def random_data(rng):
    """Small integers or dyadic numbers, so that many fits lie on the boundary; random units."""
    m, n = rng.integers(1, 6), rng.integers(1, 9)
    X = rng.integers(-2, 3, (m, n)).astype(float)
    if rng.random() < 0.4:
        X = np.round(rng.standard_normal((m, n)) * 64) / 64
    X[:, ~X.any(axis=0)] = 1.0
    if n > 2 and rng.random() < 0.3:
        X[:, 1] = rng.choice([-1.0, 1.0, 2.0]) * X[:, 0]
    sides = [int(one) for one in rng.integers(-1, 2, n)]
    planted = rng.integers(-2, 3, n) * (rng.random(n) < rng.choice([0.3, 1.0]))
    planted = np.array([s * abs(b) if s else b for s, b in zip(sides, planted, strict=True)], float)
    y = (X @ planted, rng.integers(-3, 4, m).astype(float), np.zeros(m))[rng.integers(3)]
    if rng.random() < 0.3:
        units = 10.0 ** rng.integers(-8, 9, m)
        X, y = units[:, None] * X * 10.0 ** rng.integers(-8, 9, n), units * y
    return X, y, sides


def test_faces_of_random_data():
    """Against Lawson and Hanson's method and the simplex method in Python's fractions."""
    kinds = set()
    for seed in range(250):
        X, y, sides = random_data(np.random.default_rng(seed))
        face = face_of(X, y, sides)
        columns = transposed(exact(X))
        fit = best_fit_of(columns, sides, exact(y))
        assert fractions(face.targets) == fit, seed
        assert face.alive == _alive(columns, sides, exact(y), fit), seed
        kinds.add((face.fits, bool(face.forced), bool(face.alive)))
    assert len(kinds) == 6  # without any alive something is forced


@pytest.mark.parametrize("guess", ["none", "all", "random"])
def test_nothing_rests_on_the_guess_of_float64(guess, monkeypatch):
    rng = np.random.default_rng(0)

    def guessed(matrix, target, free):
        count = matrix.ncols()
        chosen = {"none": [], "all": list(range(count)), "random": rng.permutation(count).tolist()}
        return [chosen[guess][: count if guess == "all" else count // 2]]

    for seed in range(60):
        X, y, sides = random_data(np.random.default_rng(seed))
        expected = face_of(X, y, sides)
        with monkeypatch.context() as patch:
            patch.setattr(nonnegative, "_guesses", guessed)
            found = face_of(X, y, sides)
        assert (found.alive, found.targets) == (expected.alive, expected.targets)


def test_faces_do_not_depend_on_units_of_columns():
    for seed in range(40):
        X, y, sides = random_data(np.random.default_rng(seed))
        units = 2.0 ** np.random.default_rng(seed).integers(-60, 61, len(sides))
        assert face_of(X * units, y, sides).forced == face_of(X, y, sides).forced


def test_faces_of_larger_data():
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((20, 60)) * 64) / 64
    X[:10, 20:] = np.abs(X[:10, 20:])
    X[:10, :20] = 0.0
    X[0, 20:] += 1.0
    planted = np.abs(np.round(rng.standard_normal(20) * 64) / 64)
    face = face_of(X, X[:, :20] @ planted, [1] * 60)
    assert face.fits
    assert face.forced == list(range(20, 60))
    # Out of reach: targets of one sign, columns of the other but for a few.
    X = rng.standard_normal((20, 60))
    X[:, 4:] = np.abs(X[:, 4:])
    face = face_of(X, -np.abs(rng.standard_normal(20)), [1] * 60)
    assert not face.fits
    assert len(face.forced) > 40


def test_one_of_two_vectors():
    """Gordan's alternative."""
    found = {True: 0, False: 0}
    for seed in range(80):
        rng = np.random.default_rng(seed)
        m, n = rng.integers(1, 5), rng.integers(1, 7)
        K = rational_matrix(rng.integers(-2, 3, (m, n)) * 10.0 ** rng.integers(-9, 9, (m, 1)))
        d, w = nonnegative.positive_combination(K)
        found[d is None] += 1
        if d is not None:
            assert min(d) >= 0
            assert sum(d, fmpq(0)) == 1
            assert not any((K * fmpq_mat(len(d), 1, d)).entries())
        else:
            assert min((K.transpose() * fmpq_mat(len(w), 1, w)).entries()) > 0
    assert min(found.values()) > 10


def contains(balls, numbers):
    pairs = zip(balls.midpoint, balls.radius, numbers, strict=True)
    with mp.workdps(80):
        return all(abs(mpf(m) - x) <= mpf(r) + abs(x) * mpf(10) ** -50 for m, r, x in pairs)


# Of the campaign: data in and out of reach, repeated, redundant and hidden rows, faces and none.
DRAWN = {
    "Power 2": (0, 1, 3, 4, 9, 11, 26),
    "Power 3": (0, 2, 3, 7, 14, 21, 24),
    "Power 4": (1, 7, 8, 10, 12, 14, 15),
    "Diagonal 2 tied": (0, 2, 5, 10, 15, 18, 25),
    "SignedPower 3 opp.": (0, 1, 2, 4, 6, 7, 16),
}


@pytest.mark.parametrize("name", DRAWN)
def test_contains_the_oracle(name):
    """Random data in random units: all are proved, and the zeros are the oracle's."""
    on_face = 0
    for number in DRAWN[name]:
        case = draw(name, 5, number)
        proof = lp.prove(case.problem, digits=25)
        assert proof.ok, (number, proof.reason)
        coef = case.oracle().coef
        assert contains(proof.coef, coef), number
        if proof.kind == "mirror root on a face":
            on_face += 1
            assert proof.theorem == "limitpoint.boundary"
            forced = proof.witness["forced"]
            assert not any(coef[i] for i in forced)
            assert np.isinf(proof.mirror.values[forced]).all()
    assert on_face >= 3


@pytest.mark.parametrize(("name", "number"), [("SignedPower 2", 19), ("Power 2", 38)])
def test_proves_what_rounding_hides(name, number):
    """Rows that are equal but for rounding: coefficients of 1e20, and of exp(−4e8)."""
    case = draw(name, 3, number)
    assert case.kind == "hidden rank"
    proof = lp.prove(case.problem, digits=25)
    assert proof.ok, proof.reason
    assert contains(proof.coef, case.oracle().coef)


def problem_of(X, y, network=None, direction=None, scale=0.1):
    task = lp.Regression(X, y)
    network = network or lp.Power(2)
    layers = [np.ones(task.X.shape[1])] if direction is None else direction
    return lp.Problem(network, lp.Init(layers, scale), task)


def test_all_coefficients_may_be_forced():
    proof = lp.prove(problem_of([[1.0, 3.0]], [-2.0]))
    assert proof.ok
    assert proof.bits == 0
    assert proof.coef.exact.tolist() == ["0", "0"]
    assert proof.mirror.values.tolist() == [-np.inf, -np.inf]
    assert proof.witness["residual"] == ["-2"]
    assert "In all of them 2 coefficients are zero" in proof.statement


def test_data_of_zeros():
    """`y = 0`: columns of one sign are forced, of both are not; a column of zeros stays."""
    proof = lp.prove(problem_of([[1.0, 2.0, 0.0]], [0.0]))
    assert proof.witness["forced"] == [0, 1]
    assert proof.coef.values[2] == pytest.approx(0.01, rel=1e-14)
    proof = lp.prove(problem_of([[1.0, -2.0]], [0.0]))
    assert proof.kind == "mirror root"
    assert proof.theorem == "limitpoint.sign_constrained"


def test_negative_sides_go_to_plus_infinity():
    proof = lp.prove(problem_of([[1.0, 0.0], [0.0, 1.0]], [-3.0, 2.0], lp.Power(3), [-np.ones(2)]))
    assert proof.witness["forced"] == [1]
    assert proof.mirror.values[1] == np.inf
    assert proof.coef.values[0] == -3.0


@pytest.mark.parametrize("wrong", ["all alive", "all zero", "other zeros", "none"])
def test_a_wrong_hint_proves_the_same(wrong):
    problem = forced_problem()
    right = lp.prove(problem, digits=20)
    n = problem.task.X.shape[1]
    hints = {
        "all alive": Hint(np.ones(n), np.zeros(n), np.zeros(3)),
        "all zero": Hint(np.zeros(n), np.full(n, -np.inf), np.zeros(3)),
        "other zeros": Hint(np.ones(n), np.where(right.coef.signs == 0, 2.0, -np.inf), np.ones(3)),
        "none": None,
    }
    # Float64 may also take the limit for one without forced coefficients.
    found = proof_of(problem, "limitpoint.sign_constrained", 20, hints[wrong])
    assert found.ok
    assert found.theorem == right.theorem == "limitpoint.boundary"
    assert found.witness["forced"] == right.witness["forced"]
    for a, b, r, s in zip(
        found.coef.midpoint, right.coef.midpoint, found.coef.radius, right.coef.radius, strict=True
    ):
        assert abs(Fraction(a) - Fraction(b)) <= Fraction(r) + Fraction(s)


def test_infinite_balls():
    with ctx.workprec(100):
        balls = Balls.of([float("inf"), float("-inf"), arb(2)], (3,), 10)
    assert balls.midpoint.tolist() == ["inf", "-inf", "2"]
    assert balls.radius[:2].tolist() == ["0", "0"]
    assert balls.values.tolist() == [np.inf, -np.inf, 2.0]
    assert balls.signs.tolist() == [1.0, -1.0, 1.0]
    assert balls.log_abs[:2].tolist() == [np.inf, np.inf]
    with pytest.raises(TypeError, match="no ball"):
        Balls.of([1.5], (1,), 10)


def forced_problem(reachable=False):
    """Two of five coefficients are forced to zero, by the first sample."""
    X = [[1.0, 2.0, 0.0, 0.0, 0.0], [0.5, 1.5, 1.0, -1.0, 2.0], [0.0, 1.0, 1.0, 0.0, 3.0]]
    y = [0.0, 1.0, 1.5] if reachable else [-1.0, 1.0, 1.5]
    return problem_of(X, y, direction=[[1.0, 0.5, 2.0, 1.0, 0.25]], scale=0.01)


CHECKED = {
    "in reach": lambda: forced_problem(reachable=True),
    "out of reach": forced_problem,
    "all forced": lambda: problem_of([[1.0, 2.0, 0.0]], [-1.0]),
    "tied layers": lambda: problem_of(
        [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]],
        [-1.0, 1.0],
        lp.Diagonal(2),
        [[1.0, 1.0, 2.0], [1.0, -1.0, 0.5]],
    ),
    "third powers": lambda: problem_of(
        [[1.0, -2.0, 0.0], [0.0, 0.0, 1.0]], [-1.0, 1.0], lp.Power(3), [[1.0, -1.0, 1.0]]
    ),
    "dependent rows": lambda: problem_of(
        [[1.0, 0.0, 1.0], [2.0, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, 3.0, -2.0]
    ),
}


def exported(name):
    found = json.loads(json.dumps(lp.prove(CHECKED[name](), digits=20).to_dict()))
    assert found["ok"], found["reason"]
    assert found["kind"] == "mirror root on a face"
    return found


@pytest.mark.parametrize("name", CHECKED)
def test_an_independent_checker_accepts(name):
    found = exported(name)
    check(copy.deepcopy(found["problem"]), found)


def _written(value):
    return f"{value.numerator}/{value.denominator}"


def _changed(part, key, which, change):
    """Change an entry of balls: of the first coefficient alive (1), or forced (0)."""

    def tamper(found):
        forced = found["witness"]["forced"]
        alive = next(i for i in range(len(found["coef"]["midpoint"])) if i not in forced)
        place = alive if which else forced[0]
        found[part][key][place] = change(found[part][key][place])

    return tamper


def _witness(name, change):
    def tamper(found):
        found["witness"][name] = change(found["witness"][name])

    return tamper


TAMPERED = {
    "midpoint": _changed(
        "coef", "midpoint", 1, lambda m: _written(Fraction(m) * (1 + Fraction(1, 10**18)))
    ),
    "sign": _changed("coef", "midpoint", 1, lambda m: _written(-Fraction(m))),
    "radius": _changed("coef", "radius", 1, lambda r: _written(Fraction(r) / 10**30)),
    "forced but not zero": _changed("coef", "midpoint", 0, lambda _: "1e-30"),
    "forced to a ball": _changed("coef", "radius", 0, lambda _: "1e-30"),
    "infinite on the other side": _changed("mirror", "midpoint", 0, lambda _: "inf"),
    "finite mirror coordinate": _changed("mirror", "midpoint", 0, lambda _: "-1e9"),
    "mirror coordinate": _changed(
        "mirror", "midpoint", 1, lambda m: _written(Fraction(m) + Fraction(1, 10**9))
    ),
    "Farkas vector turned": _witness("farkas", lambda w: [_written(-Fraction(one)) for one in w]),
    "no Farkas vector": _witness("farkas", lambda w: ["0"] * len(w)),
    "one forced too many": _witness("forced", lambda forced: sorted({*forced, 2})),
    "one forced left out": _witness("forced", lambda forced: forced[1:]),
    "targets": _witness("targets", lambda t: [_written(2 * Fraction(one) + 1) for one in t]),
    "interior": _witness("interior", lambda b: ["0"] * len(b)),
    "residual": _witness("residual", lambda r: ["0"] * len(r)),
    "kind": lambda found: found.update(kind="mirror root"),
    "data": lambda found: found["problem"]["y"].__setitem__(0, -7.0),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_an_independent_checker_rejects(change):
    found = exported("out of reach")
    problem = copy.deepcopy(found["problem"])
    TAMPERED[change](found)
    with pytest.raises((Rejected, ValueError)):
        check(problem, found)


def test_the_checker_knows_the_problem_by_itself():
    """The proof for a start from which no coefficient has a side."""
    found = exported("tied layers")
    found["problem"]["direction"][1][0] = 0.75
    with pytest.raises(Rejected):
        check(copy.deepcopy(found["problem"]), found)
