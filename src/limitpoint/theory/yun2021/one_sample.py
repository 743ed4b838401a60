"""Regression on one sample with two layers: Theorem 6."""

from collections.abc import Sequence

import numpy as np

from limitpoint.arrays import Float
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Condition, Theorem, register
from limitpoint.theory.certificate import Certificate, relative
from limitpoint.theory.diagonal_form import diagonal_layers
from limitpoint.theory.limit import Limit
from limitpoint.theory.mirror_limit import mirror_limit
from limitpoint.theory.one_sample import OneSample
from limitpoint.theory.yun2021.citation import CITATION

__all__ = ["leads", "one_sample_of"]


def one_sample_of(problem: Problem) -> tuple[tuple[Condition, ...], OneSample | None]:
    """One sample, two layers that meet it through one matrix, and a scale below infinity."""
    task, init = problem.task, problem.init
    layers = len(init.direction)
    one = task.n_samples == 1 and bool(task.X.any())
    sample = OneSample.of(problem) if one and layers == 2 else None
    known = sample is not None or (layers == 2 and not one)
    return (
        Condition("two-layer tensor network", known, None, f"the network is {problem.network}"),
        Condition("one sample, not zero", one, None, f"there are {task.n_samples}"),
        Condition(
            "scale below infinity",
            init.log_scale < np.inf,
            None,
            f"log_scale is {init.log_scale:g}",
        ),
    ), sample


def leads(sample: OneSample) -> Condition:
    """The condition on the start."""
    name = "first layer larger along every singular vector, p² > q²"
    return Condition(name, sample.lead > 0, sample.lead, f"smallest p² − q² {sample.lead:.3g}")


def _conditions(problem: Problem) -> Sequence[Condition]:
    conditions, sample = one_sample_of(problem)
    return conditions if sample is None else (*conditions, leads(sample))


def _conditions_any(problem: Problem) -> Sequence[Condition]:
    conditions, sample = one_sample_of(problem)
    if sample is None:
        return conditions
    push, name = sample.push, "some singular vector grows towards y"
    detail = f"largest p ± q that grows {push:.3g}"
    return (*conditions, Condition(name, push > 0, push, detail))


def _limit(problem: Problem) -> Limit:
    return _limit_of(problem, THEOREM_6)


def _limit_any(problem: Problem) -> Limit:
    return _limit_of(problem, ONE_SAMPLE)


def _limit_of(problem: Problem, theorem: Theorem) -> Limit:
    sample = OneSample.of(problem)
    assert sample is not None, "a condition of the theorem"
    if not problem.init.is_finite:
        return _limit_at_zero(sample, theorem)
    inner = mirror_limit(sample.diagonal, theorem)
    found = diagonal_layers(sample.diagonal, inner)
    assert found is not None, "at finite scale, with a clock that ends"
    scale = problem.init.scale
    start = [scale * layer for layer in problem.init.direction]
    layers = sample.spectrum.outer((found[0], found[1]), start)
    return _limit_with(
        sample,
        theorem,
        layers=layers,
        products=inner.coef,
        clocks=np.array(inner.clocks),
        dual=np.array(inner.dual),
        potential=inner.potential,
        residuals=dict(inner.certificate.residuals),
        iterations=inner.iterations,
    )


def _limit_at_zero(sample: OneSample, theorem: Theorem) -> Limit:
    """The singular vectors of the largest value; where several tie, by `(p + sign(y) q)²`.

    Clocks and dual are in units of `log(1/scale)`, as in every limit at scale 0.
    """
    y, data = sample.target, sample.spectrum.data
    sign = float(np.sign(y))
    top = sample.top(sign)
    largest = float(np.abs(data[top != 0]).max(initial=0.0)) or float(np.abs(data).max())
    square = float(top @ top)
    first = np.sqrt(abs(y) / (largest * square)) * top if square > 0 else np.zeros_like(top)
    second = sign * np.sign(data) * first
    dual = sign / largest
    clocks = dual * data
    # Those that grow have no larger value; what does not grow is free.
    growing = sample.growing(sign) != 0
    beyond = float(np.max(np.abs(clocks[growing]) - 1.0, initial=0.0))
    products = first * second
    lost = np.abs(products - np.abs(products) * clocks).sum()
    return _limit_with(
        sample,
        theorem,
        layers=sample.outer(first, second),
        products=products,
        clocks=clocks,
        dual=np.array([dual]),
        potential=float(np.abs(products).sum()),
        residuals={
            "feasibility": relative(abs(float(data @ products) - y), abs(y)),
            "stationarity": beyond,
            "duality gap": relative(float(lost), float(np.abs(products).sum())),
        },
        iterations=0,
    )


def _limit_with(
    sample: OneSample,
    theorem: Theorem,
    *,
    layers: tuple[Float, Float],
    products: Float,
    clocks: Float,
    dual: Float,
    potential: float,
    residuals: dict[str, float],
    iterations: int,
) -> Limit:
    """The coefficients are those of the layers; the fit is checked on the sample itself."""
    task = sample.problem.regression
    coef = np.asarray(sample.problem.network.coef(layers))
    x = task.X[0]
    terms = abs(sample.target) + float(np.abs(x) @ np.abs(coef))
    terms += float(np.abs(sample.spectrum.data) @ np.abs(products))
    off = relative(abs(float(x @ coef) - sample.target), terms)
    residuals["feasibility"] = max(residuals["feasibility"], off)
    certificate = Certificate(residuals)
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(coef))
    return Limit(
        coef=coef,
        signs=np.sign(coef),
        log_abs_coef=logs,
        clocks=clocks,
        dual=dual,
        theorem=theorem,
        potential=potential,
        certificate=certificate,
        status=Status.CONVERGED if certificate.ok else Status.NOT_CERTIFIED,
        iterations=iterations,
        layers=layers,
    )


THEOREM_6 = register(
    Theorem(
        id="yun2021.theorem6",
        citation=f"{CITATION}, Theorem 6",
        statement=(
            "A two-layer tensor network f(x) = v₁ᵀM(x)v₂ on one sample, with the compact SVD "
            "M(x) = U₁ diag(s) U₂ᵀ and p_j² > q_j² for p = U₁ᵀv̄₁, q = U₂ᵀv̄₂, converges to "
            "v₁ = αU₁(p cosh νs + q sinh νs) + α(I − U₁U₁ᵀ)v̄₁ and v₂ likewise with p and q "
            "exchanged, where Σ_j s_j(½(p_j² + q_j²) sinh 2s_jν + p_jq_j cosh 2s_jν) = y/α²: the "
            "diagonal network of p and q on the one sample s. As α → 0 only the top singular "
            "vectors are left, weighted by (p_j + sign(y)q_j)² where they tie."
        ),
        concludes="limit",
        rank=19,
        conditions=_conditions,
        limit=_limit,
    )
)

ONE_SAMPLE = register(
    Theorem(
        id="limitpoint.one_sample",
        citation="limitpoint; extends Yun, Krishnan and Mobahi (2021), Theorem 6, to other starts",
        statement=(
            "The limit of Theorem 6 holds from every start in which some p_j + sign(y)q_j is not "
            "zero: each p_j + q_j grows as e^{s_jν} and p_j − q_j decays as e^{−s_jν}, so that the "
            "output Σ_j ¼s_j((p_j + q_j)²e^{2s_jν} − (p_j − q_j)²e^{−2s_jν}) passes through y at "
            "one ν. With none of them the output never gets there."
        ),
        concludes="limit",
        rank=6,
        conditions=_conditions_any,
        limit=_limit_any,
    )
)
