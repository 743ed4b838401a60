"""What a proof shows: balls that contain what they claim, and digits that are left out and said."""

from decimal import Decimal

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.theory.prove.proof import Balls


def problem(features=4, scale=0.1):
    rng = np.random.default_rng(0)
    task = lp.Regression(rng.standard_normal((2, features)), rng.standard_normal(2))
    network = lp.Diagonal(2)
    return lp.Problem(network, lp.Init.zero_last(network, task, scale=scale), task)


@pytest.mark.parametrize(
    ("midpoint", "radius", "shown"),
    [
        ("1.25e-7", "2e-40", "1.25e-7 ± 2e-40"),
        ("-1.25", "2.91e-9", "-1.25 ± 3e-9"),
        ("1", "9.999e3", "1 ± 1e4"),
        ("1.5", "0", "1.5 exactly"),
        (f"-1.{'3' * 40}e5", "2e-40", f"-1.{'3' * 35}…e5 ± 2e-40"),
        (f"1.{'3' * 40}", "0", f"1.{'3' * 35}… exactly"),
    ],
)
def test_a_ball_in_a_table(midpoint, radius, shown):
    balls = Balls(np.array([midpoint]), np.array([radius]))
    assert balls.text((0,)) == shown
    if radius != "0":
        assert Decimal(shown.partition(" ± ")[2]) >= Decimal(radius)


@pytest.mark.parametrize("digits", [5, 30, 200])
def test_digits_that_are_left_out_are_counted(digits):
    proof = lp.prove(problem(), digits)
    text = str(proof)
    assert f"to {digits} digits" in " ".join(text.split())
    assert "Proved: 4 coefficients" in text
    assert max(map(len, proof._page().to_text(80).splitlines())) <= 80
    for place, midpoint in enumerate(proof.coef.midpoint):
        row = proof.coef.text((place,))
        assert row in text
        start, dots, _ = row.partition(" ± ")[0].partition("…")
        assert (dots == "…") == (digits > 30 or len(midpoint) > 41)
        assert midpoint.startswith(start)
    assert ("36 of " in text) == (digits > 5)
    assert "digits shown; all in .coef or --json." in text or digits == 5


def test_coefficients_that_are_left_out_are_counted():
    assert "12 of 40 coefficients and 36 of " in " ".join(str(lp.prove(problem(40))).split())
    network, task = lp.Diagonal(2), lp.Regression([np.arange(1.0, 41.0)], [3.0])
    exact = lp.prove(lp.Problem(network, lp.Init.zero_last(network, task, scale=np.inf), task))
    assert "12 of 40 coefficients shown; all" in str(exact)
    assert str(exact).count(" exactly") == 12
    assert "in rational numbers" in str(exact)
