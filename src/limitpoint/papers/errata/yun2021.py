"""Slips in Yun, Krishnan and Mobahi (2021), A unifying view on implicit bias."""

import jax
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from limitpoint.dynamics import ParameterSpace, flow
from limitpoint.examples import yun_layers, yun_two_points
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Convolutional, FullyConnected, OrthogonalTensor
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

EPS = float(np.finfo(np.float64).eps)
# Integrated to 1e-10 per step, until the relative residual is 1e-10.
FLOWED = 1e-8


@register(
    "yun2021.corollary6",
    where="Corollary 6",
    printed="minimise Q_{L,α,Fw̄}(Fz) over the even z with Xz = y",
    corrected="minimise Q_{L,α,Fw̄}(d^{−(L−1)/2}Fz): S = d^{(L−1)/2}F of the proof",
)
def _corollary6() -> Demonstration:
    # Two layers, d = 5: h₂(t) = ½ sinh 2t, so that H₂'(x) = ½ asinh 2x.
    size, alpha = 5, 0.5
    x, w = np.array([1.0, 2.0, -0.5, -0.5, 2.0]), np.array([1.0, 0.3, 0.1, 0.1, 0.3])
    task = Regression(x[None], [1.5])
    problem = Problem(Convolutional((size, size)), Init([w, np.zeros(size)], alpha), task)
    end = flow(problem, space=ParameterSpace()).coef
    transform = np.fft.fft(np.eye(size), norm="ortho").real  # of even vectors
    eta = transform @ w

    def minimiser(factor: float) -> Float:
        # KKT with the transform's coordinates ρ = factor·Fz: even, so that Fᵀ undoes F.
        def fitted(nu: float) -> Float:
            xi = nu * (transform @ x) / factor
            products = 0.5 * (alpha * eta) ** 2 * np.sinh(2 * xi)
            return np.asarray(transform @ products / factor)

        nu = brentq(lambda z: x @ fitted(z) - 1.5, -5.0, 5.0, xtol=1e-15, rtol=4 * EPS)
        return fitted(nu)

    return Demonstration(
        measure="distance of the minimiser from the end of a flow, L = 2, d = 5, α = 0.5",
        printed=float(np.abs(minimiser(1.0) - end).max()),
        corrected=float(np.abs(minimiser(size**-0.5) - end).max()),
        tolerance=FLOWED,
    )


def _bounds(constant: float, times: Float, losses: Float) -> tuple[float, float]:
    """How far the losses exceed `L(0)/(1 + ct)` and `L(0)/(1 + c·L(0)·t)`, as factors less 1."""
    without = losses * (1 + constant * times) / losses[0]
    with_loss = losses * (1 + constant * losses[0] * times) / losses[0]
    return float(without.max() - 1), float(with_loss.max() - 1)


@register(
    "yun2021.D.1.1",
    where="Appendix D.1.1, after the bound on dL/dt",
    printed="L(t) ≤ L(0)/(1 + ct), c = α^{2L−2}λ^{L−1}s_min(S)²γ²",
    corrected="L(t) ≤ L(0)/(1 + c L(0) t)",
)
def _equation_d11() -> Demonstration:
    # From a loss far below 1, which then takes a time 1/(c·L(0)) to fall. S = I, L = 2.
    task = yun_two_points()
    layers = yun_layers([0.0, 1.5])["diagonal"]
    gap = float((layers[0] ** 2 - layers[1] ** 2).min())
    margin = float(task.margins(np.array([1.0, 2.0]) / np.sqrt(5)).min())  # γ, at its best z
    times = np.append(0.0, np.geomspace(1e-3, 1e3, 200))

    def velocity(_: float, state: Float) -> Float:
        a, b = state[:2], state[2:]
        neg_grad = task.signed.T @ np.exp(-task.margins(a * b))
        return np.concatenate([b * neg_grad, a * neg_grad])

    run = solve_ivp(
        velocity, (0, times[-1]), np.concatenate(layers), "DOP853", times, rtol=1e-12, atol=1e-14
    )
    losses = np.exp(-task.margins((run.y[:2] * run.y[2:]).T)).sum(axis=1)
    printed, corrected = _bounds(gap * margin**2, times, losses)
    return Demonstration(
        measure="largest factor by which the loss of a flow exceeds the bound, less 1",
        printed=printed,
        corrected=max(corrected, 0.0),
        tolerance=1e-9,
    )


@register(
    "yun2021.E.1.1",
    where="Appendix E.1.1, before E.1.2",
    printed="L(t) ≤ L(0)/(1 + α²λ‖s‖²t)",
    corrected="L(t) ≤ L(0)/(1 + α²λ‖s‖² L(0) t)",
)
def _equation_e11() -> Demonstration:
    # One sample, s = (1, 2), y = 1, f = sᵀ(p ⊙ q): L̇ = −L²Σ s²(p² + q²), from f(0) = 3.
    s = np.array([1.0, 2.0])
    q = np.array([1.0, 1.0])
    p = np.sqrt(q**2 + 0.5)
    times = np.append(0.0, np.geomspace(1e-3, 1e3, 200))

    def velocity(_: float, state: Float) -> Float:
        a, b = state[:2], state[2:]
        loss = np.exp(-s @ (a * b))
        return np.concatenate([loss * s * b, loss * s * a])

    run = solve_ivp(
        velocity, (0, times[-1]), np.concatenate([p, q]), "DOP853", times, rtol=1e-12, atol=1e-14
    )
    losses = np.exp(-s @ (run.y[:2] * run.y[2:]))
    printed, corrected = _bounds(0.5 * float(s @ s), times, losses)
    return Demonstration(
        measure="largest factor by which the loss of a flow exceeds the bound, less 1",
        printed=printed,
        corrected=max(corrected, 0.0),
        tolerance=1e-9,
    )


@register(
    "yun2021.equation88",
    where="Appendix H.2, (88)",
    printed="W_l = s_l u_l v_lᵀ + O(α²)",
    corrected="W_l = s_l u_l v_lᵀ + O(α): (87) bounds the square of what is left by O(α²)",
)
def _equation88() -> Demonstration:
    rng = np.random.default_rng(0)
    size, scales = 3, (1e-2, 1e-3)
    task = Regression(rng.standard_normal((1, size)), [1.0])
    left = []
    for alpha in scales:
        problem = Problem(
            FullyConnected(widths=(size,)), Init([np.eye(size), np.zeros(size)], alpha), task
        )
        layers = flow(problem, space=ParameterSpace()).layers
        assert layers is not None, "parameter flows record their layers"
        left.append(float(np.linalg.svd(layers[0][-1], compute_uv=False)[1]))
    power = np.log(left[0] / left[1]) / np.log(scales[0] / scales[1])
    return Demonstration(
        measure="error of the power of α in the second singular value of W₁ at the end",
        printed=float(abs(power - 2)),
        corrected=float(abs(power - 1)),
        tolerance=0.01,  # corrections of a relative size α
    )


@register(
    "yun2021.H.1",
    where="Appendix H.1, the last equality before L(t) ≤ …",
    printed="−α^{2L−2}λ^{L−1}σ_min(X)²‖r‖² = −α^{2L−2}λ^{L−1}σ_min(X)² L",
    corrected="= −2α^{2L−2}λ^{L−1}σ_min(X)² L: the loss is ½‖r‖², and the rate twice the printed",
)
def _section_h1() -> Demonstration:
    rng = np.random.default_rng(0)
    task = Regression(rng.standard_normal((3, 4)), rng.standard_normal(3))
    coef = rng.standard_normal(4)
    square, loss = float(((task.X @ coef - task.y) ** 2).sum()), float(task.loss(coef))
    return Demonstration(
        measure="relative error of ‖r‖² by the loss",
        printed=abs(loss / square - 1),
        corrected=abs(2 * loss / square - 1),
        tolerance=1e-12,
    )


@register(
    "yun2021.H.1.monotone",
    where="Appendix H.1, the chain below (84)",
    printed="W_lᵀW_l ⪰ W_{l+1}W_{l+1}ᵀ gives W_{L−1}ᵀ⋯W₁ᵀW₁⋯W_{L−1} ⪰ (W_{L−1}ᵀW_{L−1})^{L−1}",
    corrected=(
        "powers above 1 do not keep ⪰, and (84) follows from the smallest singular values: "
        "⪰ σ_min(W_{L−1})^{2L−2} I"
    ),
)
def _monotone() -> Demonstration:
    # L = 4, at time 0, W₁ᵀW₁ = W₂W₂ᵀ and A = W₂ᵀW₂ ⪰ B = W₃W₃ᵀ, but not A² ⪰ B².
    A, B = np.array([[2.0, 1.0], [1.0, 1.1]]), np.array([[1.0, 1.0], [1.0, 1.1]])
    W2, W3 = np.linalg.cholesky(A).T, np.linalg.cholesky(B)
    W1 = W2.T  # so that W₁ᵀW₁ = W₂W₂ᵀ
    assert np.linalg.eigvalsh(A - B)[0] > -1e-12
    product = W1 @ W2 @ W3
    gram, inner = product.T @ product, W3.T @ W3
    least = float(np.linalg.eigvalsh(inner)[0])
    return Demonstration(
        measure="how far the difference is from positive semidefinite, L = 4, 2×2 matrices",
        printed=-float(np.linalg.eigvalsh(gram - np.linalg.matrix_power(inner, 3))[0]),
        corrected=max(0.0, -float(np.linalg.eigvalsh(gram - least**3 * np.eye(2))[0])),
        tolerance=1e-12,
    )


@register(
    "yun2021.appendixB",
    where="Appendix B, T₂(x)",
    printed="T₂(x) is a d₁d₂ × d₁d₂ matrix",
    corrected="T₂(x) is d₁d₂ × d₂: its d₂ columns meet w₂",
)
def _appendix_b() -> Demonstration:
    rng = np.random.default_rng(0)
    d1, d2 = 3, 2
    x, W, w = rng.standard_normal(d1), rng.standard_normal((d1, d2)), rng.standard_normal(d2)
    output = float(x @ W @ w)

    def error(columns: int) -> float:
        tensor = np.zeros((d1 * d2, columns))
        for j in range(d2):
            tensor[d1 * j : d1 * (j + 1), j] = x
        if columns != len(w):
            return float(columns - len(w))  # numbers that w₂ lacks
        return abs(float(W.ravel(order="F") @ tensor @ w) - output)

    return Demonstration(
        measure="columns that the second layer has no numbers for, or else the output's error",
        printed=error(d1 * d2),
        corrected=error(d2),
        tolerance=1e-12,
    )


@register(
    "yun2021.remark3",
    where="Remark 3, an ambiguity",
    printed="for a solution that is sparse under T set S = T: right if T transforms the inputs",
    corrected=(
        "if T transforms the solution, so that Tz is sparse, set S = T^{−T}: Theorems 2 and 5 "
        "minimise ‖S^{−T}z‖; both are the same only if TᵀT ∝ I"
    ),
    ambiguous=True,
)
def _remark3() -> Demonstration:
    rng = np.random.default_rng(0)
    size, alpha = 6, 1e-2
    T = np.eye(size) - np.eye(size, k=-1)  # differences
    task = Regression(rng.standard_normal((3, size)), rng.standard_normal(3))
    inverse = np.asarray(np.linalg.inv(T))
    least = float(np.abs(minimum_l1(task.X @ inverse, task.y)).sum())

    def excess(S: Float) -> float:
        network = OrthogonalTensor(S, [np.eye(size)] * 3)
        start = Init([np.ones(size), np.ones(size), np.zeros(size)], alpha)
        end = flow(Problem(network, start, task)).coef
        return float(np.abs(T @ end).sum()) / least - 1

    return Demonstration(
        measure="excess of ‖Tz‖₁ at the end of a flow over the least, L = 3, α = 0.01, relative",
        printed=excess(T),
        corrected=max(0.0, excess(inverse.T)),
        tolerance=alpha,
    )


@register(
    "yun2021.remark4",
    where="Remark 4",
    printed="H_L(t) grows like the absolute value function if t is large",
    corrected="so for L ≥ 3; H₂(t) grows like ½t(log 4t − 1), and ℓ1 is reached like 1/log(1/α)",
)
def _remark4() -> Demonstration:
    t = np.array([1e6, 1e12])
    H = t * 0.5 * np.arcsinh(2 * t) - 0.25 * (np.hypot(1.0, 2 * t) - 1)  # ∫ h₂⁻¹

    def spread(growth: Float) -> float:
        ratio = H / growth
        return float(abs(ratio[1] / ratio[0] - 1))

    return Demonstration(
        measure="change of H₂ over its growth from t = 1e6 to 1e12, relative",
        printed=spread(t),
        corrected=spread(0.5 * t * (np.log(4 * t) - 1)),
        tolerance=1e-6,  # the next term of H₂ is ¼, against 1e6
    )


@register(
    "yun2021.D.1.2",
    where="Appendix D.1.2, ∂‖ρ‖_{2/L} for L > 2",
    printed="[u]_j = (2/L)|ρ_j|^{2/L−1} sign ρ_j: the gradient of ‖ρ‖_{2/L}^{2/L}",
    corrected="[u]_j = ‖ρ‖_{2/L}^{1−2/L} |ρ_j|^{2/L−1} sign ρ_j (in proportion, which is all used)",
)
def _subdifferential() -> Demonstration:
    power = 2 / 3
    rho = np.array([1.0, -2.0, 0.5])
    with jax.enable_x64(True):
        found = jax.grad(lambda z: (abs(z) ** power).sum() ** (1 / power))(rho)
    gradient = np.asarray(found)
    norm = float((np.abs(rho) ** power).sum() ** (1 / power))
    shape = np.abs(rho) ** (power - 1) * np.sign(rho)
    return Demonstration(
        measure="largest error of the gradient of ‖ρ‖_{2/3} at (1, −2, ½)",
        printed=float(np.abs(gradient - power * shape).max()),
        corrected=float(np.abs(gradient - norm ** (1 - power) * shape).max()),
        tolerance=1e-12,
    )


@register(
    "yun2021.F.5",
    where="Appendix F.5, Ẇ_l for the loss (13)",
    printed="Ẇ_l = −W_{l−1}ᵀ⋯W₁ᵀ(Σ r_iA_i)W_Lᵀ⋯W_{l+1}ᵀ, the loss (13) being Σ r_i²",
    corrected="twice that; or ½ Σ r_i² in (13)",
)
def _section_f5() -> Demonstration:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((2, 3, 3)), rng.standard_normal(2)
    W1, W2 = rng.standard_normal((2, 3, 3))
    with jax.enable_x64(True):
        gradient = np.asarray(
            jax.grad(lambda W: ((jax.numpy.einsum("iab,ab->i", A, W @ W2) - y) ** 2).sum())(W1)
        )
    residuals = np.einsum("iab,ab->i", A, W1 @ W2) - y
    shape = np.einsum("i,iab->ab", residuals, A) @ W2.T
    size = float(np.abs(gradient).max())
    return Demonstration(
        measure="largest error of Ẇ₁, L = 2, relative",
        printed=float(np.abs(gradient - shape).max()) / size,
        corrected=float(np.abs(gradient - 2 * shape).max()) / size,
        tolerance=1e-12,
    )


@register(
    "yun2021.equation23",
    where="Appendix D.1.1 below (23); likewise E.1.1, F.2.1 and G.1",
    printed="U_L^H U_L = I_{k_L}",
    corrected="U_L^H U_L = I_m, as in Assumption 1: m ≤ k_L",
)
def _equation23() -> Demonstration:
    length, count = 5, 3
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((length, count)))[0]

    def error(size: int) -> float:
        gram = np.zeros((length, length))
        gram[:count, :count] = U.T @ U
        wanted = np.zeros((length, length))
        wanted[:size, :size] = np.eye(size)
        return float(np.linalg.norm(gram - wanted))

    return Demonstration(
        measure="distance of UᵀU from the identity, k = 5 and m = 3",
        printed=error(length),
        corrected=error(count),
        tolerance=1e-12,
    )
