"""Families of coordinates that run on their own curves, for the flow to its end. NumPy only.

A family holds, per coefficient, p numbers z_i that move by `ż_i = u_i · rate_i(z_i)`, and the
coefficient `β_i(z_i)`. For states (p, n) it gives

    start               the state at time 0
    coef(state)         (n,)
    parts(state)        coef (n,), its gradient (p, n), rate (p, n), the rate's Jacobian (p, p, n)
    stage_parts(states) coefs (stages, n) and rates (stages, p, n) for states (stages, p, n)
    size                the size of state of which the relative error is wanted, (p, n) or a number
    separable          whether the rate's Jacobian is diagonal, as the stepper needs it
    may_rise, may_fall  (n,): whether β_i can go to +∞ and to −∞. One that cannot is kept on a
                        sign constraint by the flow, and the data are then fitted as well as that
                        allows.

Which states can be trusted. The product of grown layers forgets `a_j² − a_l² ~ s²`: after a
coefficient has reached size b, plain layers hold its conserved differences to a relative tolerance
r times b^{2/L} only, hence its way back through zero to about `r·b^{2/L}/s²`. That is below 1e-8 at
r = 1e-11 only for `s² > 1e-3·b^{2/L}`. `Diagonal` therefore follows the layer v that is smallest at
the start, with the differences taken once, as `(|a|−|v|)(|a|+|v|)`: it forgets nothing at any
scale. Its state is `z = asinh(v/c)`, c² the least difference (`log|v|` if that is 0), so that
errors are relative to v where v has grown and to c where it crosses zero. `DiagonalLayers` is the
plain form, to compare. Powers have `z = log|u|`: nothing is conserved between u and w, and neither
reaches zero.
"""

import numpy as np

# Predicted states may overshoot into overflow: there they are held at coefficients of this size.
HIGHEST_COEF = 1e60


class Diagonal:
    """`β = v·Π_j √(v²+Δ_j)`, v the layer smallest at the start, turned by the others' sign."""

    size = 1.0
    separable = True

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

    separable = False

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
    separable = True

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
        size = np.exp(np.minimum(states, np.log(HIGHEST_COEF) / self.depth))
        # Products rather than a second exponential or a power, which long doubles are slow at.
        rates = self.signs
        for _ in range(self.depth - 2):
            rates = rates * size
        return np.sum(rates * size * size, axis=1), self.depth * rates * np.ones_like(size)

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
    separable = True

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
        # The second runs against its negative gradient; its rate is constant, as at depth 2 all
        # are.
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

    separable = False

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
