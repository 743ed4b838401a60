"""The exact law of gradient steps: where a run is, gradient flow from another start would be."""

from collections.abc import Sequence

from limitpoint.foundation.conditions import Condition
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.theorems.shared_conditions import finite_scale, steps_multiply

__all__: list[str] = []


def _conditions(problem: Problem) -> Sequence[Condition]:
    return (steps_multiply(problem), finite_scale(problem))


register(
    Theorem(
        id="limitpoint.step_law",
        citation=(
            "limitpoint; in part Pesme, Pillaud-Vivien and Flammarion (2021), Implicit bias of SGD "
            "for diagonal linear networks, and Even, Pesme, Gunasekar and Flammarion (2023), "
            "(S)GD over diagonal linear networks"
        ),
        statement=(
            "A step of GD, SGD or label noise, of any size η and on any batch, multiplies p = a + "
            "b of a diagonal network of two layers by 1 − ηg and q = a − b by 1 + ηg, g the "
            "gradient of its loss in β = (p² − q²)/4 (u and w of u² − w² with 2η, sums and "
            "differences of pairs likewise; with weight decay λ all by 1 − ηλ besides). Gradient "
            "flow multiplies them by e^∓ξ, ξ in the row space of X, as Σ ηg is. Hence after every "
            "step K, whatever the steps were, β_K is the limit of gradient flow on the targets "
            "Xβ_K from the effective start |p̃| = |p(0)|e^{S/2 − R}, |q̃| = |q(0)|e^{S/2 + R}, S = "
            "Σ log|1 − η²g²|, R = Σ (½ log|(1 + ηg)/(1 − ηg)| − ηg); a run that fits y ends at the "
            "limit from there on y itself. S shrinks the scale of the start, most where gradients "
            "were large; R is of third order. Exact; no such identity is known for deeper networks."
        ),
        concludes="law",
        rank=1,
        conditions=_conditions,
    )
)
