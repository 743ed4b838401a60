"""Gradient flow of the layers themselves, by SciPy alone: no mirror map, no coordinates, no JAX.

For `β = Π_j a_j` and the loss `loss_factor · ½‖Xβ − y‖²` every layer moves by
`ȧ_j = u ⊙ Π_{k≠j} a_k`, with `u = loss_factor · Xᵀ(y − Xβ)`.
"""

import numpy as np
from scipy.integrate import LSODA, solve_ivp
from scipy.optimize import nnls

RTOL = 1e-11
# Layers of problems given to this oracle are of order 1 at least at the end.
ATOL = 1e-14
# The misfit at which the flow counts as converged, relative to ‖y‖.
MISFIT = 1e-10
LONGEST_TIME = 1e6


def flow_layers(X, y, layers, times, loss_factor=1.0):
    """The layers at the given times, shape (times, layers, features)."""
    solution = _integrate(X, y, layers, float(np.max(times)), loss_factor, t_eval=times)
    return np.moveaxis(solution.y.reshape(len(layers), X.shape[1], -1), -1, 0)


def flow_coefs(X, y, layers, times, loss_factor=1.0):
    """The coefficients at the given times, shape (times, features)."""
    return np.prod(flow_layers(X, y, layers, times, loss_factor), axis=1)


def flow_limit(X, y, layers, loss_factor=1.0):
    """The coefficients when the data are fitted to `MISFIT`."""

    def has_fitted(_, state):
        coef = np.prod(state.reshape(len(layers), -1), axis=0)
        return np.linalg.norm(y - X @ coef) - MISFIT * np.linalg.norm(y)

    has_fitted.terminal = True
    solution = _integrate(X, y, layers, LONGEST_TIME, loss_factor, events=has_fitted)
    if solution.t_events[0].size == 0:
        raise RuntimeError("the brute-force flow did not fit the data")
    return np.prod(solution.y_events[0][-1].reshape(len(layers), -1), axis=0)


def _integrate(X, y, layers, t_end, loss_factor, **options):
    depth = len(layers)

    def velocity(_, state):
        parts = state.reshape(depth, -1)
        pull = loss_factor * (X.T @ (y - X @ np.prod(parts, axis=0)))
        others = [np.prod(np.delete(parts, j, axis=0), axis=0) for j in range(depth)]
        return (pull * np.stack(others)).ravel()

    start = np.concatenate([np.asarray(layer, dtype=float) for layer in layers])
    solution = solve_ivp(
        velocity, (0.0, t_end), start, method="DOP853", rtol=RTOL, atol=ATOL, **options
    )
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution


# --- The end of the flow, for every family of coordinates that run on their own curves ----------
#
# A family holds, per coefficient, p numbers z_i that move by `ż_i = u_i · rate_i(z_i)`, and the
# coefficient `β_i(z_i)`. For states (p, n) it gives
#   start               the state at time 0
#   coef(state)         (n,)
#   parts(state)        coef (n,), its gradient (p, n), rate (p, n), the rate's Jacobian (p, p, n)
#   size                the size of state of which RTOL is the error wanted, (p, n) or a number
#   own_clocks          whether the rate's Jacobian is diagonal, as `_Stepper` needs it
#   may_rise, may_fall  (n,): whether β_i can go to +∞ and to −∞. One that cannot is kept on a
#                       half-line by the flow, and the data are then fitted as well as that allows.
#
# Which states can be trusted. The product of grown layers forgets `a_j² − a_l² ~ s²`: after a
# coefficient has reached size b, plain layers hold its conserved differences to RTOL·b^{2/L} only,
# hence its way back through zero to about RTOL·b^{2/L}/s². That is below 1e-8 only for
# `s² > 1e-3·b^{2/L}`. `Diagonal` therefore follows the layer v that is smallest at the start, with
# the differences taken once, as `(|a|−|v|)(|a|+|v|)`: it forgets nothing at any scale. Its state is
# `z = asinh(v/c)`, c² the least difference (`log|v|` if that is 0), so that RTOL is relative to v
# where v has grown and to c where it crosses zero. `DiagonalLayers` is the plain form, to compare.
# Powers have `z = log|u|`: nothing is conserved between u and w, and neither reaches zero.

# The flow has ended when `‖Xβ − best‖` is this small relative to ‖best‖, ...
END_MISFIT = 1e-11
# ... or as small as rounding and the corrector's tolerance let it be, relative to `‖|X||β|‖`.
END_ROUNDING = 1e-13
# Stages of the implicit Runge-Kutta method: order 13.
STAGES = 7
# The last Legendre coefficient of the state over a step. The next ones, and with them the error
# inside the step, are some 10 times smaller each; that at its end is of order 13, not 7.
CURVE_TOLERANCE = 1e-7
NEWTON_TOLERANCE = 1e-12
# Where columns are nearly dependent, rounding keeps Newton this far from its goal; the flow
# contracts along such directions.
NEWTON_NOISE = 1e-9
# A pull below this share of the largest belongs to a coefficient at equilibrium, not to growth.
SETTLED = 1e-7
# Newton's matrix is exact to this; its iterations make up for the rest.
SLIGHT = 1e-4
NEWTON_STEPS = 15
MOST_GROWTH = 50.0
AFTER_FAILURE = 1.5
FIRST_STEP = 1e-2
# Predicted states may overshoot into overflow: there they are held at coefficients of this size.
HIGHEST_COEF = 1e60
# An autonomous flow may restart its clock. It must before a step is lost in the rounding of t.
SMALLEST_STEP = 1e-11
LAST_TIME = 1e250
MOST_STEPS = 400_000
# Singular values of `X·√slope`, relative to the largest, that the last linear step can resolve.
LAST_STEP_RCOND = 1e-10


class Diagonal:
    """`β = v·Π_j √(v²+Δ_j)`, v the layer smallest at the start, turned by the others' sign."""

    size = 1.0
    own_clocks = True

    def __init__(self, layers):
        layers = np.array(layers, dtype=float)
        columns = np.arange(layers.shape[1])
        smallest = np.argmin(np.abs(layers), axis=0)
        sizes = np.sort(np.abs(layers), axis=0)
        gaps = (sizes[1:] - sizes[0]) * (sizes[1:] + sizes[0])
        signs = np.sign(layers)
        signs[smallest, columns] = 1.0
        v = layers[smallest, columns] * np.prod(signs, axis=0)
        self.least, self.gaps = np.sqrt(gaps[0]), gaps[1:]
        self.tied = self.least == 0
        self.sign = np.sign(v)
        # Two zeros: the coefficient is zero and never moves.
        self.moves = ~self.tied | (v != 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.tied, np.log(np.abs(v)), np.arcsinh(v / self.least))
        self.start = np.where(self.moves, z, 0.0)[None]
        unit = np.where(self.tied | (self.least == 0), 1.0, self.least)
        self.highest = np.log(HIGHEST_COEF) / len(layers) - np.log(unit)
        self.may_rise = ~self.tied | (v > 0)
        self.may_fall = ~self.tied | (v < 0)

    def _layers(self, z):
        """v, and the layer next to it: `√(v²+c²)`; for ties both are ±e^z."""
        z = np.clip(z, -self.highest, self.highest)
        tie = np.exp(np.where(self.tied, z, 0.0))
        v = np.where(self.tied, self.sign * tie, self.least * np.sinh(z * ~self.tied))
        return v, np.where(self.tied, tie, self.least * np.cosh(z * ~self.tied))

    def coef(self, state):
        v, next_v = self._layers(state[0])
        return v * next_v * np.sqrt(np.prod(v**2 + self.gaps, axis=0)) * self.moves

    def stage_parts(self, states):
        v, next_v = self._layers(states[:, 0])
        rest = np.sqrt(np.prod(v[:, None] ** 2 + self.gaps, axis=1)) * self.moves
        turn = np.where(self.tied, self.sign, 1.0)
        return v * next_v * rest, (turn * rest)[:, None]

    def parts(self, state):
        v, next_v = self._layers(state[0])
        squares = v**2 + self.gaps
        rest = np.sqrt(np.prod(squares, axis=0)) * self.moves
        # dv/dz is `next_v`, turned for ties, where `dz/dξ = sign·rest`.
        turn = np.where(self.tied, self.sign, 1.0)
        bend = rest * v * next_v * np.sum(1 / squares, axis=0)
        gradient = turn * (next_v**2 + v**2) * rest + v * next_v * turn * bend
        return v * next_v * rest, gradient[None], (turn * rest)[None], bend[None, None]


class DiagonalLayers:
    """`β = Π_j a_j` in plain layers; trusted only as far as the note above says."""

    own_clocks = False

    def __init__(self, layers):
        self.start = np.array(layers, dtype=float)
        least = np.sort(np.abs(self.start), axis=0)
        self.size = np.broadcast_to(least[1], self.start.shape)
        tied, sign = least[0] == least[1], np.sign(np.prod(self.start, axis=0))
        self.may_rise = ~tied | (sign > 0)
        self.may_fall = ~tied | (sign < 0)

    def coef(self, state):
        return np.prod(state, axis=0)

    def parts(self, state):
        others = [np.prod(np.delete(state, j, axis=0), axis=0) for j in range(len(state))]
        gradient = np.stack(others)
        return np.prod(state, axis=0), gradient, gradient, None

    def bends(self, state):
        depth = len(state)
        hessian = np.zeros((depth, *state.shape))
        for j in range(depth):
            for k in range(j):
                pair = np.prod(np.delete(state, [j, k], axis=0), axis=0)
                hessian[j, k] = hessian[k, j] = pair
        return hessian


class SignedPower:
    """`β = u^L − w^L` for layers (u, w), or `β = u^L` for one layer: `z = log|u|`."""

    size = 1.0
    own_clocks = True

    def __init__(self, layers, depth):
        layers = np.array(layers, dtype=float)
        self.depth = depth
        signs = np.array([1.0, -1.0])[: len(layers), None]
        # A layer that is zero stays there.
        moves = layers != 0
        self.start = np.log(np.where(moves, np.abs(layers), 1.0))
        # β = Σ ±e^{Lz}, and ż = ±L·e^{(L−2)z}·u with the same sign.
        self.signs = signs * np.sign(layers) ** depth * moves
        self.may_rise = np.any(self.signs > 0, axis=0)
        self.may_fall = np.any(self.signs < 0, axis=0)

    def coef(self, state):
        highest = np.log(HIGHEST_COEF) / self.depth
        return np.sum(self.signs * np.exp(self.depth * np.minimum(state, highest)), axis=0)

    def stage_parts(self, states):
        states = np.minimum(states, np.log(HIGHEST_COEF) / self.depth)
        rates = self.signs * self.depth * np.exp((self.depth - 2) * states)
        return np.sum(self.signs * np.exp(self.depth * states), axis=1), rates

    def parts(self, state):
        state = np.minimum(state, np.log(HIGHEST_COEF) / self.depth)
        terms = self.signs * np.exp(self.depth * state)
        rate = self.signs * self.depth * np.exp((self.depth - 2) * state)
        bends = np.zeros((len(state), *state.shape))
        for k in range(len(state)):
            bends[k, k] = (self.depth - 2) * rate[k]
        return np.sum(terms, axis=0), self.depth * terms, rate, bends


class Paired:
    """`β = u₊v₊ − u₋v₋`: two diagonal products of depth 2; layers u₊, v₊, u₋, v₋."""

    size = 1.0
    own_clocks = True

    def __init__(self, layers):
        self.pairs = plus, minus = Diagonal(layers[:2]), Diagonal(layers[2:])
        self.start = np.concatenate([plus.start, minus.start])
        self.may_rise = plus.may_rise | minus.may_fall
        self.may_fall = plus.may_fall | minus.may_rise

    def coef(self, state):
        return self.pairs[0].coef(state[:1]) - self.pairs[1].coef(state[1:])

    def stage_parts(self, states):
        plus, minus = (pair.stage_parts(states[:, [k]]) for k, pair in enumerate(self.pairs))
        return plus[0] - minus[0], np.concatenate([plus[1], -minus[1]], axis=1)

    def parts(self, state):
        plus, minus = (pair.parts(state[[k]]) for k, pair in enumerate(self.pairs))
        # The second runs against its pull; its rate is constant, as at depth 2 all are.
        gradient, rate = (np.concatenate([plus[k], -minus[k]]) for k in (1, 2))
        return plus[0] - minus[0], gradient, rate, np.zeros((2, *state.shape))


class General:
    """`β_i = k_i(θ_i)`: one array of layers (n, p), and k_i with `k_i(θ) = (value, gradient)`.

    `functions` is one function for all coefficients or a list of one each. It is called with
    blocks (rows, p) and gives values (rows,) and gradients (rows, p). Hessians, which only steer
    the corrector, are differences of the gradients.

    The state is the caller's parameters. Where k is like a·b at zero, give it as (p²−q²)/2 with
    p, q = (a ± b)/√2, or what a + b has grown to buries a − b (see the note above).
    """

    own_clocks = False

    def __init__(self, layers, functions):
        self.start = np.array(layers[0], dtype=float).T
        count = self.start.shape[1]
        functions = [functions] * count if callable(functions) else list(functions)
        distinct = {id(f): f for f in functions}
        self.groups = [
            (f, np.flatnonzero([id(g) == key for g in functions])) for key, f in distinct.items()
        ]
        # What decays while its partner grows from s to 1 ends near s², and counts on its way back.
        self.size = np.max(np.abs(self.start)) * np.minimum(1.0, np.max(np.abs(self.start)))
        self.may_rise = self.may_fall = np.ones(count, dtype=bool)

    def _evaluate(self, state):
        value, gradient = np.empty(state.shape[1]), np.empty(state.shape)
        for function, rows in self.groups:
            value[rows], part = function(state[:, rows].T)
            gradient[:, rows] = np.asarray(part).T
        return value, gradient

    def coef(self, state):
        return self._evaluate(state)[0]

    def parts(self, state):
        value, gradient = self._evaluate(state)
        return value, gradient, gradient, None

    def bends(self, state):
        """Hessians by central differences, whose step balances rounding against curvature."""
        step = np.cbrt(np.finfo(float).eps) * (np.max(np.abs(state), axis=0) + self.size)
        columns = []
        for k in range(len(state)):
            shift = np.zeros_like(state)
            shift[k] = step
            ahead, behind = self._evaluate(state + shift)[1], self._evaluate(state - shift)[1]
            columns.append((ahead - behind) / (2 * step))
        return np.stack(columns, axis=1)


FAMILIES = {"diagonal": Diagonal, "diagonal layers": DiagonalLayers, "paired": Paired}


def power(depth):
    """The family `β = u^depth`; with two layers `u^depth − w^depth`."""
    return lambda layers: SignedPower(layers, depth)


def general(functions):
    """The family `β_i = k_i(θ_i)` of these value-and-gradient functions (see `General`)."""
    return lambda layers: General(layers, functions)


def limit(family, X, y, layers, loss_factor=1.0):
    """The coefficients where the gradient flow ends: data fitted, or fitted as well as it can.

    `family` is a name in `FAMILIES`, or what `power(depth)` or `general(functions)` return.
    """
    return flow_end(family, X, y, layers, loss_factor)[0]


def flow_end(family, X, y, layers, loss_factor=1.0):
    """The limit and the number of steps it took."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    coordinates = (FAMILIES[family] if isinstance(family, str) else family)(layers)
    best = best_fit(X, y, coordinates.may_rise, coordinates.may_fall)
    run = _until_fitted if coordinates.own_clocks else _until_fitted_lsoda
    state, steps = run(coordinates, X, y, best, loss_factor)
    coef, gradient, rate, _ = coordinates.parts(state)
    return coef + _remainder(X, best - X @ coef, np.sum(gradient * rate, axis=0)), steps


def best_fit(X, y, may_rise, may_fall):
    """The point nearest to y among the Xβ whose β may go where the flow can take them."""
    columns = np.hstack([X[:, may_rise], -X[:, may_fall]])
    if columns.shape[1] == 0:
        return np.zeros(len(y))
    if np.all(may_rise & may_fall):
        return X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return columns @ nnls(columns, y)[0]


class _Collocation:
    """Radau IIA of `STAGES` stages on [0, 1], order 2·STAGES − 1, built from its definition."""

    def __init__(self, stages):
        legendre = np.polynomial.legendre.Legendre.basis
        # The nodes are the zeros of P_s − P_{s−1}; one of them is the end.
        roots = (legendre(stages) - legendre(stages - 1)).roots().real
        self.nodes = np.append(np.sort((1 + roots) / 2)[:-1], 1.0)
        # Polynomials through 0 at 0 by their Legendre coefficients from the values at the nodes.
        self.to_legendre = np.linalg.inv(self.vandermonde(np.append(0.0, self.nodes)))[:, 1:]
        slopes = np.polynomial.legendre.legder(np.eye(stages + 1))
        at_nodes = np.polynomial.legendre.legvander(2 * self.nodes - 1, stages - 1)
        # dZ/dx = 2 Σ c_k P_k': the inverse of the Runge-Kutta matrix.
        self.slope = 2 * at_nodes @ slopes @ self.to_legendre
        values, vectors = np.linalg.eig(self.slope)
        kept = values.imag >= 0
        self.values, self.vectors = values[kept], vectors[:, kept]
        self.inverse = np.linalg.inv(vectors)[kept]
        # A complex pair is represented by one of its two.
        self.weights = np.where(values[kept].imag > 0, 2.0, 1.0)

    def vandermonde(self, x):
        return np.polynomial.legendre.legvander(2 * np.asarray(x) - 1, STAGES)


RADAU = _Collocation(STAGES)


class _Stepper:
    """One Radau step after the other for `ż = u·rate(z)`; autonomous, so it has no time.

    A coefficient wakes by a blow-up, `v ~ (T − t)^{−1/(L−2)}`, over which time steps would shrink
    by `s^{L−2}`. Each step therefore runs in the time of the coefficient that grows most, the
    leader: `dz/dτ = u·rate·(leader's rate at the step's start)/(leader's rate)`. Orbits do not
    depend on that, and the leader's growth is uniform in it.

    Newton's matrix `λ/h − ∂(u·rate)` is reduced to one unknown per coefficient, `w = Σ_k g_k δ_k`:
    with `d = λ/h − u·rate'` and `S = Σ g·rate/d` it is `(1 + S·XᵀX) w = Σ g·r/d`, solved with S
    split evenly between the two sides. S spans 50 orders of magnitude between sleeping and grown
    coefficients; in this form no digit is lost to that.
    """

    def __init__(self, coordinates, X, y, loss_factor):
        self.coordinates = coordinates
        self.state = coordinates.start.copy()
        self.gram, self.target = loss_factor * (X.T @ X), loss_factor * (X.T @ y)
        coef, _, rate, _ = coordinates.parts(self.state)
        speed = np.abs((self.target - self.gram @ coef) * rate)
        self.size = FIRST_STEP / max(np.max(speed), np.finfo(float).tiny)
        self.curve = None  # the last step's Legendre coefficients, and its size

    def step(self):
        solve_for = self._newton_matrix()
        failed = False
        while True:
            # A wild Newton iterate may leave the range of floats; it is then refused, below.
            with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
                moves = self._stages(solve_for(self.size))
            if moves is not None:
                curve = np.tensordot(RADAU.to_legendre, moves, 1)
                error = np.max(np.abs(curve[-1])) / CURVE_TOLERANCE
                factor = 0.9 * max(error, 1e-12) ** (-1 / STAGES)
                if error <= 1:
                    break
                self.size *= max(0.1, factor)
            else:
                failed = True
                self.size *= 0.3
            if self.size == 0:
                raise RuntimeError("the brute-force flow came to a stop")
        self.state = self.state + moves[-1]
        self.curve = curve, self.size
        # After a step that Newton refused, the next is kept near the size that it took.
        self.size *= min(factor, AFTER_FAILURE if failed else MOST_GROWTH)

    def _newton_matrix(self):
        coef, gradient, rate, bends = self.coordinates.parts(self.state)
        pull = self.target - self.gram @ coef
        bend = np.einsum("kki->ki", bends)
        growth = np.where(np.abs(pull) > SETTLED * np.max(np.abs(pull)), pull * bend, 0.0)
        leader = np.unravel_index(np.argmax(growth), growth.shape)
        self.leader = (leader, rate[leader]) if growth[leader] > 0 else None

        def at_size(size):
            d = RADAU.values[:, None, None] / size - pull * bend  # (eigenvalues, p, n)
            slopes = gradient * rate / d
            total = np.sum(slopes, axis=1)
            root = np.sqrt(total)
            still = total == 0
            safe_total = np.where(still, 1.0, total)
            # Sleepers, whose answer to the others is slight, need no place in the matrix.
            coupling = np.abs(total) * np.diag(self.gram)
            self.stiffness = np.min(coupling, axis=0)
            awake = np.flatnonzero(np.max(coupling, axis=0) > SLIGHT)
            root, scale = np.sqrt(total[:, awake]), 1 / np.sqrt(1 + coupling[:, awake])
            left = root * scale
            matrix = left[:, :, None] * self.gram[np.ix_(awake, awake)] * left[:, None, :]
            every = np.arange(awake.size)
            matrix[:, every, every] += scale**2
            inverse = np.linalg.inv(matrix)

            def correction(residual):
                """δ for residuals (eigenvalues, p, n)."""
                w = np.sum(gradient * residual / d, axis=1)
                own = w[:, awake]
                w[:, awake] = 0.0
                rhs = scale * own / root - left * (w @ self.gram[:, awake])
                solved = left * np.einsum("eij,ej->ei", inverse, rhs)
                w -= total * (solved @ self.gram[awake])
                w[:, awake] = solved
                delta = rate * (w / safe_total)[:, None] / d
                if len(rate) == 2:
                    # What is left without the cancellation of `r − rate·Gw`.
                    other = [1, 0]
                    cross = residual * rate[other] - rate * residual[:, other]
                    delta = delta + (gradient / d)[:, other] * cross / (d * safe_total[:, None])
                return delta

            if self.leader is None:
                return size, correction
            # The pace adds the dyad (velocity)(pace gradient)ᵀ: the Sherman-Morrison formula.
            steer = bend[leader] / rate[leader]
            dyad = correction(np.broadcast_to(pull * rate, d.shape))
            share = steer / (1 + steer * dyad[:, *leader])

            def paced(residual):
                delta = correction(residual)
                return delta - dyad * (share * delta[:, *leader])[:, None, None]

            return size, paced

        return at_size

    def _stages(self, matrix):
        """The moves at the nodes, or None if Newton does not converge."""
        size, correction = matrix
        moves = self._guess(size)
        before = np.inf
        for iteration in range(NEWTON_STEPS):
            coef, rate = self._stage_parts(self.state + moves)
            velocity = (self.target - coef @ self.gram)[:, None] * rate
            weight = 1.0
            if self.leader is not None:
                (row, column), first = self.leader
                pace = (rate[:, row, column] / first)[:, None]
                velocity = velocity / pace[:, None]
                # In stiff rows Newton's matrix is that of the unpaced flow: rows weighed alike.
                weight = ((1 + self.stiffness) / (1 + self.stiffness / pace))[:, None]
            residual = velocity - np.tensordot(RADAU.slope, moves, 1) / size
            delta = correction(np.tensordot(RADAU.inverse, weight * residual, 1))
            change = np.tensordot(RADAU.vectors * RADAU.weights, delta, 1).real
            moves = moves + change
            distance = np.max(np.abs(change))
            slow = iteration > 2 and distance > before / 2 and distance > NEWTON_NOISE
            if not np.isfinite(distance) or slow:
                return None
            stalled = distance > before / 2 and distance <= NEWTON_NOISE
            if distance <= NEWTON_TOLERANCE or stalled:
                return moves
            before = distance
        return None

    def _stage_parts(self, states):
        """Coefficients (stages, n) and rates (stages, p, n): all stages in one call."""
        return self.coordinates.stage_parts(states)

    def _guess(self, size):
        shape = (STAGES, *self.state.shape)
        if self.curve is None or size > 4 * self.curve[1]:
            return np.zeros(shape)
        ahead = RADAU.vandermonde(1 + RADAU.nodes * size / self.curve[1])
        return np.tensordot(ahead - RADAU.vandermonde([1.0]), self.curve[0], 1)


def _until_fitted(coordinates, X, y, best, loss_factor):
    stepper = _Stepper(coordinates, X, y, loss_factor)
    ended = _end_of_flow(coordinates, X, best)
    for step in range(MOST_STEPS):
        if ended(stepper.state):
            return stepper.state, step
        stepper.step()
    raise RuntimeError("the brute-force flow did not fit the data")


def _end_of_flow(coordinates, X, best):
    modulus, wanted = np.abs(X), END_MISFIT * np.linalg.norm(best)

    def ended(state):
        coef = coordinates.coef(state)
        reached = wanted + END_ROUNDING * np.linalg.norm(modulus @ np.abs(coef))
        return np.linalg.norm(X @ coef - best) <= reached

    return ended


def _until_fitted_lsoda(coordinates, X, y, best, loss_factor):
    """The same by LSODA, for states that are plain parameters with Hessians of their own."""
    shape = coordinates.start.shape
    gram, target = loss_factor * (X.T @ X), loss_factor * (X.T @ y)

    def velocity(_, flat):
        coef, _, rate, _ = coordinates.parts(flat.reshape(shape))
        return ((target - gram @ coef) * rate).ravel()

    def jacobian(_, flat):
        coef, gradient, rate, _ = coordinates.parts(flat.reshape(shape))
        blocks = -rate[:, :, None, None] * gram[:, None, :] * gradient
        every = np.arange(shape[1])
        bends = (target - gram @ coef) * coordinates.bends(flat.reshape(shape))
        blocks[:, every, :, every] += np.moveaxis(bends, -1, 0)
        return blocks.reshape(flat.size, flat.size)

    ended = _end_of_flow(coordinates, X, best)
    flat = coordinates.start.ravel().copy()
    atol = RTOL * np.broadcast_to(coordinates.size, shape).ravel()
    solver = None
    for step in range(MOST_STEPS):
        if ended(flat.reshape(shape)):
            return flat.reshape(shape), step
        if solver is None or solver.step_size < SMALLEST_STEP * solver.t:
            solver = LSODA(velocity, 0.0, flat, LAST_TIME, rtol=RTOL, atol=atol, jac=jacobian)
        solver.step()
        if solver.status != "running" or not np.all(np.isfinite(solver.y)):
            raise RuntimeError(f"the brute-force flow broke off at time {solver.t}")
        flat = solver.y
    raise RuntimeError("the brute-force flow did not fit the data")


def _remainder(X, misfit, slope):
    """How far the coefficients still move: `β̇ = slope ⊙ Xᵀ(misfit)` with the slope frozen."""
    root = np.sqrt(slope)
    return root * np.linalg.lstsq(X * root, misfit, rcond=LAST_STEP_RCOND)[0]
