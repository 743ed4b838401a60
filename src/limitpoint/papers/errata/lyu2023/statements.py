"""Statements that are not so: Proposition 2 and Appendix A.2."""

import numpy as np
from scipy.integrate import solve_ivp

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register

# ‖θ(t)‖ falls as t⁻³ at depth 2; at this time it is below 1e-12.
LATE = 3e4


@register(
    "lyu2023.proposition2",
    where="Proposition 2",
    printed="if dim span(Xᵀ) ≥ n, gradient flow ends with Xθ(∞) = y",
    corrected=(
        "it ends at the saddle θ = 0 from balanced starts with P_null θ(0) = 0 on one curve, for "
        "one sample anti-aligned with X⁺y"
    ),
)
def ends_at_the_saddle() -> Demonstration:
    """Depth 2, x = (1, 0), y = 1, from v₁ = (−0.7, 0), u₁ = v₂ = 0.7: all stays on the axis."""

    def slope(_: float, state: Float) -> Float:
        first, u, v = state[:2], state[2], state[3]
        residual = 2 * (1.0 - u * v * first[0])
        return np.array([residual * u * v, 0.0, residual * first[0] * v, residual * first[0] * u])

    start = np.array([-0.7, 0.0, 0.7, 0.7])
    end = solve_ivp(slope, (0.0, LATE), start, "LSODA", rtol=1e-12, atol=1e-16).y[:, -1]
    theta = end[2] * end[3] * end[:2]
    return Demonstration(
        "distance of θ at time 3e4 from where it is said to end, in units of y",
        abs(float(theta[0]) - 1.0),
        float(np.linalg.norm(theta)),
        1e-10,
    )


@register(
    "lyu2023.A.2",
    where="Appendix A.2, below Figure 8",
    printed=(
        "as the initialization scale increases, D(θ(∞), θ_ℓ2) decreases for rank-1 networks, while "
        "it increases for diagonal linear networks"
    ),
    corrected="it increases for rank-1 networks and decreases for diagonal ones, as Figure 8 shows",
)
def direction_of_figure_8() -> Demonstration:
    """Ends of gradient flow from three scales, for either network."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 10))
    task = lp.Regression(X, X @ np.r_[rng.standard_normal(2), np.zeros(8)], loss_factor=2 / 4)
    least = np.linalg.pinv(X) @ task.y
    rank_one, diagonal = lp.RankOne(depth=3, width=2), lp.SignedPower(depth=2)
    inits = {
        rank_one: lp.Init.balanced(rank_one, task, scale=1.0),
        diagonal: lp.Init.unbiased(diagonal, task, scale=1.0),
    }
    rises = []
    for network, init in inits.items():
        ends = [
            lp.flow(lp.Problem(network, init.at_scale(scale), task)).coef
            for scale in (0.3, 0.6, 1.0)
        ]
        rises.append(np.diff(np.linalg.norm(np.stack(ends) - least, axis=1)) > 0)
    # As printed the first falls and the second rises.
    wrong = np.concatenate([rises[0], ~rises[1]])
    return Demonstration(
        "share of the steps of the scale at which D moves the other way",
        float(np.mean(wrong)),
        float(np.mean(~wrong)),
        0.0,
    )
