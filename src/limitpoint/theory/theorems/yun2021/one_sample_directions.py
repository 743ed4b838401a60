"""Classification of one sample with two layers: Theorem 3 and Corollary 4."""

import heapq
from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.networks import Convolutional
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.tasks import Classification
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.one_sample import OneSample
from limitpoint.theory.theorems.shared_conditions import kind_of_network
from limitpoint.theory.theorems.yun2021.citation import CITATION
from limitpoint.theory.theorems.yun2021.one_sample_limits import leads, one_sample_of

Pair = tuple[Float, Float]

# A part of the coefficients counts as across their direction when it is more than this part of what
# layers of that size can give: rounding of the SVD over small gaps stays below.
ACROSS = 1e-10


def _conditions(problem: Problem) -> Sequence[Condition]:
    conditions, sample = one_sample_of(problem)
    return conditions if sample is None else (*conditions, leads(sample))


def _conditions_short(problem: Problem) -> Sequence[Condition]:
    network = problem.network
    short = isinstance(network, Convolutional) and network.depth == 2
    short = short and network.filter_sizes[0] in (1, 2)  # type: ignore[attr-defined]  # it is one
    fits = kind_of_network(
        problem,
        "two-layer convolutional network with a filter of length 1 or 2",
        short,
        "use Convolutional((2, n)), n the number of features",
    )
    conditions, sample = one_sample_of(problem)
    if not short or sample is None:
        return (fits, *conditions[1:])
    overlap = _autocorrelation(problem)
    clear = Condition(
        "sample not orthogonal to its shift",
        # Up to rounding of the sum: below, the singular values tie, and the start decides.
        abs(overlap) > sample.spectrum.resolution,
        abs(overlap),
        f"xᵀ←x is {overlap:.3g} of ‖x‖²" if problem.init.direction[0].size == 2 else "no shift",
        "use a sample that is not orthogonal to itself shifted by one",
        "data",
    )
    return (fits, *conditions[1:], leads(sample), clear)


def _autocorrelation(problem: Problem) -> float:
    """`xᵀ←x/‖x‖²`, or 1 for a filter of length 1, which shifts nothing."""
    if problem.init.direction[0].size == 1:
        return 1.0
    x = problem.task.X[0] / np.abs(problem.task.X).max()
    return float(x @ np.roll(x, -1)) / float(x @ x)


def _limit(problem: Problem) -> Limit:
    """The top singular vectors, with the share that the start gives to each where they tie."""
    sample = OneSample.of(problem)
    assert sample is not None, "a condition of the theorem"
    top = sample.top(sample.target)
    top = top / float(np.linalg.norm(top))
    turned = sample.target * np.sign(sample.spectrum.data) * top
    return _limit_along(sample, sample.outer(top, turned), THEOREM_3)


def _limit_short(problem: Problem) -> Limit:
    """The limit direction by the closed forms of Corollary 4."""
    sample = OneSample.of(problem)
    assert sample is not None, "a condition of the theorem"
    x, y = problem.task.X[0], sample.target
    if problem.init.direction[0].size == 1:
        first, second = np.ones(1), y * x
    else:
        sign = float(np.sign(_autocorrelation(problem)))
        first, second = np.array([1.0, sign]), y * (x + sign * np.roll(x, -1))
    # The start decides which of the two opposite pairs of layers it is.
    start = float(first @ problem.init.direction[0])
    turn = -1.0 if start < 0 else 1.0
    layers = (
        turn * first / float(np.linalg.norm(first)),
        turn * second / float(np.linalg.norm(second)),
    )
    return _limit_along(sample, layers, COROLLARY_4)


def _limit_along(sample: OneSample, layers: Pair, theorem: Theorem) -> Limit:
    """Layers of norm 1 scaled to margin 1, and what proves them singular vectors."""
    problem, y = sample.problem, sample.target
    x = problem.task.X[0]
    output = float(x @ problem.network.coef(layers))
    first, second = (layer / np.sqrt(abs(output)) for layer in layers)
    coef = np.asarray(problem.network.coef((first, second)))
    data = sample.spectrum.data
    largest = abs(output)  # of unit vectors that are singular ones
    certificate = Certificate(_residuals(sample, (first, second), coef))
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(coef))
    dual = np.array([y / largest])
    return Limit(
        coef=coef,
        signs=np.sign(coef),
        log_abs_coef=logs,
        mirror=dual * data,
        dual=dual,
        theorem=theorem,
        potential=1.0 / largest,
        certificate=certificate,
        status=Status.CONVERGED if certificate.ok else Status.NOT_CERTIFIED,
        iterations=0,
        layers=(first, second),
        rate=_rate(sample),
    )


def _residuals(sample: OneSample, layers: Pair, coef: Float) -> dict[str, float]:
    """Of layers of equal norms and coefficients of margin 1."""
    x, y = sample.problem.task.X[0], sample.target
    ahead, back = sample.spectrum.times(layers)
    first, second = layers
    # Singular vectors of margin 1 have squared norms that are the inverse of their value.
    largest = 1.0 / float(np.linalg.norm(first) * np.linalg.norm(second))
    return {
        "margin": abs(y * float(x @ coef) - 1.0),
        "left singular vector": _apart(ahead, y * largest * first),
        "right singular vector": _apart(back, y * largest * second),
        "largest singular value": abs(sample.spectrum.largest() / largest - 1.0),
    }


def _apart(one: Float, other: Float) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def _rate(sample: OneSample) -> float | None:
    """How fast the direction is reached; None if it is exact from the start.

    Layers are sums of parts that grow as `margin^{e/2}`, `e = ±s_j/s₁`, or not at all, and
    coefficients sums of products of two parts. The largest of them that points elsewhere than the
    limit decides: generally that of the first two singular vectors, `½(1 − s₂/s₁)`, or that of the
    first and what never moves, ½.
    """
    network = sample.problem.network
    parts = _parts(sample)
    lead = np.asarray(network.coef(parts[0][1]))
    size = float(np.linalg.norm(lead))
    unit = lead / size
    usual = size / _norms(parts[0][1], parts[0][1])
    queue = [(-(parts[0][0] + parts[0][0]), 0, 0)]
    while queue:
        minus, i, j = heapq.heappop(queue)
        # Pairs in falling order of their growth: each is reached from one pair only.
        if j + 1 < len(parts):
            heapq.heappush(queue, (-(parts[i][0] + parts[j + 1][0]), i, j + 1))
        if i == j and i + 1 < len(parts):
            heapq.heappush(queue, (-2 * parts[i + 1][0], i + 1, i + 1))
        (a, b), (c, d) = parts[i][1], parts[j][1]
        product = np.asarray(network.coef((a, d)))
        if i != j:
            product = product + np.asarray(network.coef((c, b)))
        across = product - unit * float(unit @ product)
        bound = _norms((a, b), (c, d))
        if float(np.linalg.norm(across)) > ACROSS * usual * bound:
            return 1.0 + minus / 2
    return None


def _parts(sample: OneSample) -> list[tuple[float, Pair]]:
    """Parts of the layers that grow alike, with their exponents, the fastest first."""
    y, data = sample.target, np.abs(sample.spectrum.data)
    turn = y * np.sign(sample.spectrum.data)
    growing, decaying = sample.growing(y), sample.growing(-y)
    largest = float(data.max())
    levels: list[tuple[float, Pair]] = []
    for alike in sample.ties():
        value = float(data[alike].max())
        grown, shrunk = np.where(alike, growing, 0.0), np.where(alike, decaying, 0.0)
        if grown.any():
            levels.append((value / largest, sample.outer(grown, turn * grown)))
        if shrunk.any():
            levels.append((-value / largest, sample.outer(shrunk, -turn * shrunk)))
    # Half of p ± q, so that the parts add up to the start.
    levels = [(exponent, (a / 2, b / 2)) for exponent, (a, b) in levels]
    start = sample.problem.init.direction
    # What never moves: outside the singular vectors, or where their value is zero. Where there is
    # no such thing, what is left of the start is rounding.
    still = (layer - sum(pair[number] for _, pair in levels) for number, layer in enumerate(start))
    first, second = (
        part if np.linalg.norm(part) > ACROSS * np.linalg.norm(layer) else np.zeros_like(part)
        for part, layer in zip(still, start, strict=True)
    )
    if first.any() or second.any():
        levels.append((0.0, (first, second)))
    return sorted(levels, key=lambda level: -level[0])


def _norms(one: Pair, other: Pair) -> float:
    """The size of the products of two pairs of layers."""
    (a, b), (c, d) = one, other
    sizes = [float(np.linalg.norm(layer)) for layer in (a, b, c, d)]
    return sizes[0] * sizes[3] + sizes[2] * sizes[1]


THEOREM_3 = register(
    Theorem(
        id="yun2021.theorem3",
        citation=f"{CITATION}, Theorem 3",
        statement=(
            "A two-layer tensor network f(x) = v₁ᵀM(x)v₂ that classifies one sample, with the "
            "compact SVD M(x) = U₁ diag(s) U₂ᵀ and p_j² > q_j² for p = U₁ᵀv̄₁, q = U₂ᵀv̄₂, drives "
            "the loss to zero, and its layers converge in direction to U₁η₁ and U₂η₂, "
            "|η_l| = |ρ|^{1/2}, η₁ = y η₂ in sign, ρ a minimum of ‖ρ‖₁ subject to y sᵀρ ≥ 1: the "
            "top singular vectors. Where several tie the start decides (not in the paper): "
            "|ρ_j| is in proportion to (p_j + y q_j)². The direction is reached as "
            "margin^{−(1−s₂/s₁)/2} in general, and at best as margin^{−1/2} if some of the layers "
            "never moves."
        ),
        concludes="limit",
        rank=31,
        conditions=_conditions,
        limit=_limit,
        task=Classification,
    )
)

COROLLARY_4 = register(
    Theorem(
        id="yun2021.corollary4",
        citation=f"{CITATION}, Corollary 4 of Theorem 3",
        statement=(
            "A two-layer convolutional network that classifies one sample converges in direction "
            "to y·x if its first filter has length 1; with length 2 to y(2x + ←x + →x) if "
            "xᵀ←x > 0, where the filter passes low frequencies, and to y(2x − ←x − →x) if "
            "xᵀ←x < 0, where it passes high ones. The condition on the start is that of Theorem 3."
        ),
        concludes="limit",
        rank=32,
        conditions=_conditions_short,
        limit=_limit_short,
        task=Classification,
    )
)
