"""Many paths of an Itô equation, against moments that are known."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import limitpoint as lp


@dataclass(frozen=True)
class Geometric(lp.sde.Diffusion):
    """`dx = a x dt + c x dW`, entry by entry: E x = e^{at}, E x² = e^{(2a + c²)t}."""

    rate: float
    noise: float
    start = np.ones(2)
    noise_dimension = 2
    time_step = 1e-3

    def drift(self, state):
        return self.rate * state

    def diffusion(self, state):
        return self.noise * jnp.diag(state)


PATHS = 4000


@pytest.fixture(scope="module")
def paths():
    return lp.sde.simulate(Geometric(-0.5, 0.4), 1.0, paths=PATHS, seed=1, records=4)


@pytest.mark.slow
def test_moments(paths):
    # Euler's own error of the moments is of the order of its step, 1e-3.
    for record, time in enumerate(paths.times):
        ends = paths.states[:, record]
        allowed = 5 * ends.std(axis=0) / np.sqrt(PATHS) + 1e-3
        assert (np.abs(ends.mean(axis=0) - np.exp(-0.5 * time)) <= allowed).all()
        squares = ends**2
        allowed = 5 * squares.std(axis=0) / np.sqrt(PATHS) + 1e-3
        assert (np.abs(squares.mean(axis=0) - np.exp((-1 + 0.16) * time)) <= allowed).all()


def test_itos_sense(paths):
    """In Stratonovich's the mean would be e^{(a + c²/2)t}, fifty standard errors away."""
    mean = paths.states[:, -1].mean()
    assert abs(mean - np.exp(-0.5 + 0.08)) > 10 * paths.standard_error[-1].max()


def test_the_noises_are_independent(paths):
    one, two = np.log(paths.states[:, -1]).T
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(PATHS)


def test_seeds():
    model = Geometric(-0.5, 0.4)
    first, again, other = (
        lp.sde.simulate(model, 0.1, paths=3, seed=seed, records=1).states for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first[:, -1] != other[:, -1]).all()


@pytest.mark.slow
def test_without_noise_it_is_the_flow():
    states = lp.sde.simulate(Geometric(-1.0, 0.0), 1.0, paths=1, time_step=1e-4, records=2).states
    # Euler's error is e^{−t} t · step/2.
    np.testing.assert_allclose(states[0, :, 0], np.exp([0.0, -0.5, -1.0]), rtol=1e-4)


def test_the_result(paths):
    assert paths.states.shape == (PATHS, 5, 2)
    assert paths.times.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    np.testing.assert_array_equal(paths.states[:, 0], 1.0)
    np.testing.assert_array_equal(paths.mean, paths.states.mean(axis=0))
    assert dict(paths.to_xarray().sizes) == {"path": PATHS, "time": 5, "feature": 2}
    assert set(paths.to_dict()) == {"times", "states"}
    assert f"{PATHS} paths of 2 numbers" in str(paths)
    assert "<table>" in paths._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        paths.states[0] = 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"t_end": 0.0}, "t_end must be a positive number; it is 0"),
        ({"t_end": np.inf}, "t_end must be a positive number"),
        ({"paths": 0}, "paths must be a whole number, at least 1"),
        ({"time_step": -1.0}, "time_step must be a positive number"),
        ({"records": 0}, "records must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_bad_arguments(arguments, words):
    given = {"t_end": 1.0, "paths": 1, **arguments}
    with pytest.raises(lp.errors.LimitpointError, match=words):
        lp.sde.simulate(Geometric(0.0, 1.0), **given)


def test_only_diffusions_are_simulated():
    with pytest.raises(lp.errors.LimitpointError, match="model must be a diffusion"):
        lp.sde.simulate("noise", 1.0, paths=1)


def test_a_path_does_not_depend_on_where_it_is_recorded():
    """Records far apart are reached in several calls, those close together many in one."""
    model = Geometric(-0.5, 0.4)
    few = lp.sde.simulate(model, 1.0, paths=3, time_step=1e-3, records=2).states
    for records in (4, 1000, 1998):
        states = lp.sde.simulate(model, 1.0, paths=3, time_step=1e-3, records=records).states
        np.testing.assert_array_equal(states[:, :: records // 2], few)


def test_progress_counts_every_step_once():
    for records in (1, 7, 3000):
        seen = []
        with lp.progress(seen.append):
            lp.sde.simulate(Geometric(-0.5, 0.4), 1.0, paths=2, time_step=1e-3, records=records)
        assert (seen[-1].done, seen[-1].total) == (1000, 1000)
