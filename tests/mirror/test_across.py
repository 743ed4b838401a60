"""One map at several scales at once: each row is that of the map at its own scale."""

import numpy as np
import pytest

from limitpoint.mirror import CurveMap
from limitpoint.mirror.deep_diagonal.deep_diagonal_map import DeepMap
from limitpoint.mirror.exponential_map import ExponentialMap
from limitpoint.mirror.power_map import PowerMap

RNG = np.random.default_rng(4)
# Free, negative, tied, with a zero, and frozen coordinates.
A = np.array([1.0, -0.3, 0.7, 0.0, 0.0, 1e-4])
B = np.array([0.2, 1.5, 0.7, 2.0, 0.0, 3.0])
MAPS = {
    "exponential": ExponentialMap.from_layers(A, B, 0.0),
    "deep 3": DeepMap.from_layers([A, B, np.array([0.9, 1.1, -1.2, 0.4, 0.0, 2.0])], 0.0),
    "deep 5": DeepMap.from_layers([A, B, B + 1, A - 2, np.ones(6)], 0.0),
    "power 3": PowerMap.from_layers(A, B, 3, 0.0),
    "power 4": PowerMap.from_layers(A, None, 4, 0.0),
}
# At depth 5 the mirror coordinates at the smallest of them, 1e270, are still floats.
LOG_SCALES = np.log([1e-90, 1e-60, 1e-8, 1e-2, 1.0, 30.0])


def rows_of(method, mirror, values):
    """What a method gives for each row at the scale of that row."""
    with np.errstate(all="ignore"):
        return [
            getattr(mirror.at_log_scale(log_scale), method)(row)
            for log_scale, row in zip(LOG_SCALES, values, strict=True)
        ]


def parts(result, k):
    """Row k of an array or of each of several."""
    arrays = result if isinstance(result, tuple) else (result,)
    return tuple(np.broadcast_to(a, (len(LOG_SCALES), 6))[k] for a in arrays)


def check(method, mirror, values):
    with np.errstate(all="ignore"):
        together = getattr(mirror.across(LOG_SCALES), method)(values)
    for k, own in enumerate(rows_of(method, mirror, values)):
        owns = own if isinstance(own, tuple) else (own,)
        for mine, alone in zip(parts(together, k), owns, strict=True):
            # Not bit by bit: Newton's method goes on until all rows have converged.
            np.testing.assert_allclose(mine, alone, rtol=1e-12, atol=0, err_msg=f"{method}, {k}")


@pytest.mark.parametrize("mirror", MAPS.values(), ids=MAPS)
class TestEveryMap:
    def mirror_coords(self, mirror):
        """Some in reach of the poles, some beyond, and none."""
        if isinstance(mirror, CurveMap):
            unit = np.exp((2 - mirror.degree) * LOG_SCALES)[:, None]
        else:
            unit = 1 + np.abs(LOG_SCALES)[:, None]
        xi = unit * RNG.uniform(-0.6, 0.6, (6, 6))
        xi[2] = 0.0
        return xi

    @pytest.mark.parametrize("method", ["evaluate", "coefs", "slopes", "signs_and_logs"])
    def test_functions_of_the_mirror_coordinates(self, mirror, method):
        check(method, mirror, self.mirror_coords(mirror))

    @pytest.mark.parametrize("method", ["mirror_coords", "potential"])
    def test_functions_of_the_coefficients(self, mirror, method):
        coefs = RNG.standard_normal((6, 6))
        coefs[:, 4] = 0.0
        check(method, mirror, coefs)

    def test_the_start(self, mirror):
        starts = mirror.across(LOG_SCALES).start_coefs()
        for log_scale, start in zip(LOG_SCALES, starts, strict=True):
            np.testing.assert_array_equal(start, mirror.at_log_scale(log_scale).start_coefs())

    def test_bounds_are_those_of_every_scale(self, mirror):
        together = mirror.across(LOG_SCALES)
        np.testing.assert_array_equal(together.lower, mirror.lower)
        np.testing.assert_array_equal(together.upper, mirror.upper)

    def test_it_has_no_one_scale(self, mirror):
        with pytest.raises(TypeError):
            _ = mirror.across(LOG_SCALES).log_scale


@pytest.mark.parametrize("mirror", [m for m in MAPS.values() if isinstance(m, CurveMap)])
@pytest.mark.parametrize("method", ["along", "signs_and_logs_at", "conjugates_at"])
def test_functions_of_the_curve_params(mirror, method):
    curve_params = RNG.uniform(-1, 1, (6, 6)) * (1 + np.abs(LOG_SCALES)[:, None])
    check(method, mirror, curve_params)


def test_many_rows_are_inverted_in_blocks():
    """More mirror coordinates than are inverted at once: the same as row by row."""
    layers = [np.ones(150), np.linspace(1.5, 2, 150), np.linspace(-0.5, 0.5, 150)]
    mirror = DeepMap.from_layers(layers, 0.0)
    xi = RNG.uniform(-0.5, 0.5, (400, 150))
    rows = np.stack([mirror.curve_params(row) for row in xi])
    np.testing.assert_allclose(mirror.curve_params(xi), rows, rtol=1e-12, atol=0)
