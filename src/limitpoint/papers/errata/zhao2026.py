"""Slips in Zhao et al. (2026), Gradient flow dynamics and implicit bias of diagonal networks."""

from functools import lru_cache

import numpy as np
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from limitpoint.examples import zhao_eq7
from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.papers.shared.raw_flow import product_slopes, raw_flow
from limitpoint.tasks import Regression
from limitpoint.theory import saddle_path

# Flows of depth 3 begin here; what is inactive at their end is of order scale³ times constants, and
# times are off by a part of order scale.
SCALE = 1e-4
# A start of depth 3 whose last layer is the smallest.
LAYERS = ((1.0, 1.0, 1.0, 1.0), (0.8, 0.8, 0.8, 0.8), (0.5, 0.5, 0.5, 0.5))


@register(
    "zhao2026.appendixC1_delta",
    where="Appendix C.1, p = 3",
    printed="δ₁ = 20",
    corrected="δ₁ = (t₁⁻ + s₁)/|u₁| = (1 + 1)/0.05 = 40, with the printed t = 1 (δ₄ still wins)",
)
def _appendix_c1_delta() -> Demonstration:
    task = zhao_eq7()
    due = float(saddle_path(task.X, task.y, t_plus=1.0, t_minus=1.0).waiting_times(2)[0])
    return Demonstration(
        measure="distance from lines 8 and 9 of Algorithm 1",
        printed=abs(20.0 - due),
        corrected=abs(40.0 - due),
        tolerance=1e-10,
    )


@register(
    "zhao2026.appendixC1_activation_times",
    where="Appendix C.1",
    printed="t_i⁺ = t_i⁻ = 1 for all i",
    corrected="½: the Hessians have eigenvalues ±2; k^(p) is the same, δ and s halve",
)
def _appendix_c1_activation_times() -> Demonstration:
    # The time to grow to 0.1 under a constant negative gradient of 1, from two scales: the
    # difference, over that of the logarithms, is the activation time up to the part of order scale.
    def velocity(_: float, block: Float) -> Float:
        return _block_slopes(block)

    def grown(_: float, block: Float) -> float:
        return _block(block) - 0.1

    grown.terminal = True  # type: ignore[attr-defined]  # how SciPy is told to stop
    times = []
    for scale in (1e-20, 1e-40):
        start = np.array([scale, scale])
        found = solve_ivp(velocity, (0.0, 1e3), start, "DOP853", events=grown, rtol=1e-10, atol=0.0)
        times.append(float(found.t_events[0][0]))
    activation_time = (times[1] - times[0]) / np.log(1e20)
    return Demonstration(
        measure="distance from the activation time of a·tanh a − (eᵇ−1)² at negative gradient 1",
        printed=abs(1.0 - activation_time),
        corrected=abs(0.5 - activation_time),
        tolerance=1e-6,
    )


@register(
    "zhao2026.appendixC1_scale",
    where="Appendix C.1, last paragraph",
    printed="|k₁| does not decrease to its initialization scale 1e−60",
    corrected="1e−120, as in section 8.2: parameters of 1e−60 enter k by products of two",
)
def _appendix_c1_scale() -> Demonstration:
    a, b, c = 1e-60 * np.random.default_rng(0).uniform(-1, 1, (3, 10_000))
    typical = float(np.median(np.log10(np.abs(2 * a * b + (a**2 + b**2 + c**2) * c))))
    return Demonstration(
        measure="distance from the median of log₁₀ |k₁(0)|",
        printed=abs(-60 - typical),
        corrected=abs(-120 - typical),
        tolerance=1.0,  # an order of magnitude
    )


@register(
    "zhao2026.equation4",
    where="Section 5.1, (4)",
    printed="t⁺ = D⁺/(|v₀| s), for the loss ‖Xk − y‖²",
    corrected="t⁺ = D⁺/(2 |v₀| s): the loss has a factor 2 in its gradient",
)
def _equation4() -> Demonstration:
    start = np.array([[1.0], [0.8], [0.5]])
    distance = _activation_time(start[:, 0])
    task = Regression([[1.0]], [1.0], 2.0)
    due = distance / SCALE  # v₀ = 1
    times = np.append(0.0, np.linspace(0.3, 1.2, 4000) * due)
    run = raw_flow(product_slopes, SCALE * start, task, times, stiff=True)
    measured = float(np.interp(0.5, run.coefs[:, 0], times))
    return Demonstration(
        measure="error of the time at which a neuron has grown to ½, relative",
        printed=abs(due / measured - 1),
        corrected=abs(due / 2 / measured - 1),
        tolerance=100 * SCALE,  # late by a time of order 1, of 1/scale
    )


@register(
    "zhao2026.equation5",
    where="Section 6.3, (5) and (6); Appendix A.2, from Lemma A.4 on",
    printed="dθ_i/dt = ∇k_i(θ_i) u_i(θ), u = Xᵀ(y − Xk), for the loss ‖Xk − y‖²",
    corrected="dθ_i/dt = 2 ∇k_i(θ_i) u_i(θ)",
)
def _equation5() -> Demonstration:
    return _velocity_error(depth=2, measure="error of −∇L for k_i = a_i b_i, relative")


@register(
    "zhao2026.section5",
    where="Section 5, first display; Appendix A.2, proof of Theorem A.11",
    printed="da/dt = bc·v, v = Σ_k X_k(y_k − F(X_k)), for the loss ‖Xk − y‖²",
    corrected="da/dt = 2bc·v",
)
def _section5() -> Demonstration:
    return _velocity_error(depth=3, measure="error of −∇L for k_i = a_i b_i c_i, relative")


@register(
    "zhao2026.assumption4.4",
    where="Assumption 4.4",
    printed="t_i⁺ = F_i(+∞), t_i⁻ = −F_i(−∞)",
    corrected="the two are exchanged where Π_{j<L} a*_{i,j} < 0 (as A.11 does by turning a_{i,L})",
)
def _assumption44() -> Demonstration:
    task, layers = zhao_eq7(), np.array(LAYERS)
    layers[1, 1:3] *= -1
    up, down = _activation_times(layers)
    turned = np.prod(layers[:-1], axis=0) < 0
    printed = saddle_path(task.X, task.y, up, down).coef
    corrected = saddle_path(
        task.X, task.y, np.where(turned, down, up), np.where(turned, up, down)
    ).coef
    run = raw_flow(product_slopes, SCALE * layers, task, [0.0, 100 / SCALE], stiff=True)
    return Demonstration(
        measure="distance of the end of Algorithm 1 from that of a flow on the data (7)",
        printed=float(np.abs(printed - run.coefs[-1]).max()),
        corrected=float(np.abs(corrected - run.coefs[-1]).max()),
        tolerance=SCALE**2,
    )


@register(
    "zhao2026.section7",
    where="Section 7 and Appendix C.1",
    printed="the model satisfies Definition 4.1: k is unbounded along its limit trajectories",
    corrected="a·tanh a − (eᵇ−1)² > −1 where b < 0: on X = 1, y = −2 the flow ends at −1",
)
def _section7() -> Demonstration:
    def velocity(_: float, block: Float) -> Float:
        return (-2.0 - _block(block)) * _block_slopes(block)

    found = solve_ivp(velocity, (0.0, 1e6), [0.1, -0.1], "LSODA", rtol=1e-9, atol=1e-12)
    end = _block(found.y[:, -1])
    return Demonstration(
        measure="distance from k at time 1e6, from b(0) < 0",
        printed=abs(-2.0 - end),
        corrected=abs(-1.0 - end),
        tolerance=1e-5,  # it approaches −1 as 1/t
    )


@register(
    "zhao2026.figure4",
    where="Appendix C.2, Figure 4",
    printed="initialisation a = b, c = 0 leads to the minimum ℓ1 norm",
    corrected="to the minimum of Σ π/(2|α_i|)·|k_i|, a = b = sα: ℓ1 only if all |α_i| are equal",
)
def _figure4() -> Demonstration:
    task, alpha = zhao_eq7(), np.array([1.0, 0.5, 0.4, 0.8])
    start = SCALE * np.stack([alpha, alpha, np.zeros(4)])
    end = raw_flow(product_slopes, start, task, [0.0, 100 / SCALE], stiff=True).coefs[-1]
    weighted = minimum_l1(task.X, task.y, np.pi / (2 * alpha))
    return Demonstration(
        measure="distance from the end of a flow with unequal α",
        printed=float(np.abs(minimum_l1(task.X, task.y) - end).max()),
        corrected=float(np.abs(weighted - end).max()),
        tolerance=SCALE**2,
    )


# Theorem A.11 at depth 4, where s^{L−2} and s differ: one neuron under a constant negative gradient
# of 1 from this direction and scale, to this part of its activation time, and on until its last
# layer is SEEN.
DIRECTION = (1.2, 1.0, 0.8, 0.5)
SMALL = 1e-3
PART = 0.4
SEEN = 0.1


@register(
    "zhao2026.theoremA11_scaling",
    where="Theorem A.11, second item, and the display before (18)",
    printed="a_{i,L}/s^{L−2} → F⁻¹(s_i)",
    corrected="a_{i,L}/s → F⁻¹(s_i); the two agree at L = 3 only",
)
def _theorem_a11_scaling() -> Demonstration:
    reached, inverse, _ = _one_neuron()
    return Demonstration(
        measure="error relative to F⁻¹ at depth 4",
        printed=abs(reached / SMALL**2 / inverse - 1),
        corrected=abs(reached / SMALL / inverse - 1),
        tolerance=1e-6,
    )


@register(
    "zhao2026.theoremA11_exchange",
    where="Proof of Theorem A.11, T_i and the displays around it",
    printed="T_i = (t_i⁺ − F_i⁻¹(s_i))/|u_i|, F_i(a/s) = F_i(s_i) + u_i T_j",
    corrected="T_i = (t_i⁺ − s_i)/|u_i|, F_i(a/s) = s_i + u_i T_j: s_i is a mirror coordinate",
)
def _theorem_a11_exchange() -> Demonstration:
    _, inverse, wait = _one_neuron()
    whole = _activation_time(np.array(DIRECTION))
    return Demonstration(
        measure="error of the time to grow from the mirror coordinate s_i, in units of s^{−(L−2)}",
        printed=abs(whole - inverse - wait * SMALL**2),
        corrected=abs(whole - PART * whole - wait * SMALL**2),
        tolerance=(SMALL / SEEN) ** 2,  # what is left of F beyond SEEN
    )


@register(
    "zhao2026.theoremA11_unit",
    where="Proof of Theorem A.11, T^s",
    printed="T^s = (t_j⁺ − …)/u_j + o(1)",
    corrected="T^s = s^{−(L−2)} (t_j⁺ − s_j)/u_j (and half of it, for the loss ‖Xk − y‖²)",
)
def _theorem_a11_unit() -> Demonstration:
    wait = _one_neuron()[2]
    due = (1 - PART) * _activation_time(np.array(DIRECTION))
    return Demonstration(
        measure="error of the time to grow, relative",
        printed=abs(due / wait - 1),
        corrected=abs(due / SMALL**2 / wait - 1),
        tolerance=(SMALL / SEEN) ** 2 / due,  # what is left of F beyond SEEN, relative
    )


@register(
    "zhao2026.theoremA11_conserved",
    where="Proof of Theorem A.11, before “So we have lim a = δ^{1/L}”",
    printed="a_{j,l}(t)² − a_{j,l}(0)² = s²μ_{j,l}²",
    corrected="a_{j,l}(t)² − a_{j,L}(t)² = s²μ_{j,l}²",
)
def _theorem_a11_conserved() -> Demonstration:
    start = 0.1 * np.array(DIRECTION)[:, None]
    run = raw_flow(product_slopes, start, Regression([[1.0]], [1.0], 2.0), [0.0, 500.0])
    squares, first = run.layers[-1] ** 2, start**2
    gaps = first - first[-1]
    return Demonstration(
        measure="largest error once the neuron has grown to 1",
        printed=float(np.abs(squares - first - gaps)[:-1].max()),
        corrected=float(np.abs(squares - squares[-1] - gaps)[:-1].max()),
        tolerance=1e-9,
    )


@lru_cache(maxsize=1)
def _one_neuron() -> tuple[float, float, float]:
    """The last layer at a part of the activation time, F⁻¹ there, and the time left to grow."""
    direction = np.array(DIRECTION)
    gaps = direction[:-1] ** 2 - direction[-1] ** 2

    def velocity(_: float, last: Float) -> Float:
        return np.atleast_1d(np.prod(np.sqrt(last**2 + SMALL**2 * gaps)))

    def seen(_: float, last: Float) -> float:
        return float(last[0]) - SEEN

    seen.terminal = True  # type: ignore[attr-defined]  # how SciPy is told to stop
    xi = PART * _activation_time(direction)
    stop, settings = xi / SMALL**2, {"method": "DOP853", "rtol": 1e-11, "atol": 1e-18}
    before = solve_ivp(velocity, (0.0, stop), [SMALL * direction[-1]], **settings)
    after = solve_ivp(velocity, (0.0, 100 * stop), before.y[:, -1], events=seen, **settings)

    def over(z: float) -> float:
        return float(quad(_integrand, direction[-1], z, args=(gaps,))[0]) - xi

    inverse = float(brentq(over, direction[-1], 100.0, xtol=1e-12))
    return float(before.y[0, -1]), inverse, float(after.t_events[0][0])


def _activation_time(column: Float) -> float:
    """`F(+∞)` of one neuron whose last layer is the smallest, by quadrature."""
    gaps = column[:-1] ** 2 - column[-1] ** 2
    return float(quad(_integrand, column[-1], np.inf, args=(gaps,))[0])


def _activation_times(layers: Float) -> tuple[Float, Float]:
    """`F(+∞)` and `−F(−∞)` of every neuron, as printed."""
    turned = layers * np.append(np.ones(len(layers) - 1), -1.0)[:, None]
    return (
        np.array([_activation_time(column) for column in layers.T]),
        np.array([_activation_time(column) for column in turned.T]),
    )


def _integrand(x: float, gaps: Float) -> float:
    return float(1 / np.prod(np.sqrt(x * x + gaps)))


def _block(block: Float) -> float:
    """`a·tanh a − (eᵇ−1)²`."""
    a, b = block
    return float(a * np.tanh(a) - np.expm1(b) ** 2)


def _block_slopes(block: Float) -> Float:
    a, b = block
    return np.array([np.tanh(a) + a / np.cosh(a) ** 2, -2 * np.expm1(b) * np.exp(b)])


def _velocity_error(depth: int, measure: str) -> Demonstration:
    """−∇L by central differences, against ∇k·u and twice that."""
    task = zhao_eq7()
    layers = np.random.default_rng(0).standard_normal((depth, 4))

    def loss(values: Float) -> float:
        return float(np.sum((task.X @ np.prod(values, axis=0) - task.y) ** 2))

    step, downhill = 1e-5, np.zeros_like(layers)
    for place in np.ndindex(layers.shape):
        moved = np.zeros_like(layers)
        moved[place] = step
        downhill[place] = -(loss(layers + moved) - loss(layers - moved)) / (2 * step)
    coef, slopes = product_slopes(layers)
    formula = slopes * (task.X.T @ (task.y - task.X @ coef))
    size = np.abs(downhill).max()
    return Demonstration(
        measure=measure,
        printed=float(np.abs(formula - downhill).max() / size),
        corrected=float(np.abs(2 * formula - downhill).max() / size),
        tolerance=1e-8,  # of order step², and rounding over the step
    )
