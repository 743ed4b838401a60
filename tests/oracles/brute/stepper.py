"""Implicit Runge-Kutta steps for flows `ż = u(β)·rate(z)` in a family's coordinates. NumPy only."""

import numpy as np

# Stages of the implicit Runge-Kutta method: order 13.
STAGES = 7
# The last Legendre coefficient of the state over a step. The next ones, and with them the error
# inside the step, are some 10 times smaller each; that at its end is of order 13, not 7.
CURVE_TOLERANCE = 1e-7
NEWTON_TOLERANCE = 1e-12
# Where columns are nearly dependent, rounding keeps Newton this far from its goal; the flow
# contracts along such directions.
NEWTON_NOISE = 1e-9
# A negative gradient below this share of the largest belongs to a coefficient at equilibrium, not
# to growth.
DIRECTION_CONVERGED = 1e-7
# Newton's matrix is exact to this; its iterations make up for the rest.
SLIGHT = 1e-4
NEWTON_STEPS = 15
MOST_GROWTH = 50.0
AFTER_FAILURE = 1.5
FIRST_STEP = 1e-2


class Collocation:
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
        self.values = values[kept]
        self.inverse = np.linalg.inv(vectors)[kept]
        # A complex pair is represented by one of its two.
        self.weighted = vectors[:, kept] * np.where(values[kept].imag > 0, 2.0, 1.0)

    def vandermonde(self, x):
        return np.polynomial.legendre.legvander(2 * np.asarray(x) - 1, STAGES)


RADAU = Collocation(STAGES)


class Stepper:
    """One Radau step after the other for `ż = u·rate(z)`; autonomous, so it has no time.

    A coefficient activates by a blow-up, `v ~ (T − t)^{−1/(L−2)}`, over which time steps would
    shrink by `s^{L−2}`, and falls inactive by a power law, over which they would grow as much. Each
    step therefore runs in the time of the coefficient whose rate changes most, the leader: `dz/dτ =
    u·rate·(leader's rate at the step's start)/(leader's rate)`. Orbits do not depend on that, and
    the leader's course is uniform in it.

    Newton's matrix `λ/h − ∂(u·rate)` is reduced to one unknown per coefficient, `w = Σ_k g_k δ_k`:
    with `d = λ/h − u·rate'` and `S = Σ g·rate/d` it is `(1 + S·XᵀX) w = Σ g·r/d`, solved with S
    split evenly between the two sides. S spans 50 orders of magnitude between sleeping and grown
    coefficients; in this form no digit is lost to that.

    States and the way from them to the negative gradients are long doubles, the rest is not. At the
    end inactive coefficients fit what is left of y, a 1e-10 part, by gradients that are the
    differences of numbers of order one: in double precision their rounding errors, times steps of
    1e10, would keep Newton from its goal and the steps short. (Where long doubles are doubles it is
    slower, not wrong.)
    """

    def __init__(self, coordinates, X, y, loss_factor):
        self.coordinates = coordinates
        self.state = coordinates.start.astype(np.longdouble)
        self.rows = X.astype(np.longdouble)
        self.turned, self.y = loss_factor * self.rows.T, y.astype(np.longdouble)
        self.gram = loss_factor * (X.T @ X)
        neg_grad, rate = self._gradients_and_rates(self.state[None])
        speed = np.abs(neg_grad[0] * rate[0])
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
                curve = _mix(RADAU.to_legendre, moves)
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
        neg_grad = self._gradients_and_rates(self.state[None])[0][0]
        _, gradient, rate, bends = self.coordinates.parts(self.state.astype(float))
        bend = np.einsum("kki->ki", bends)
        growth = np.where(
            np.abs(neg_grad) > DIRECTION_CONVERGED * np.max(np.abs(neg_grad)), neg_grad * bend, 0.0
        )
        leader = np.unravel_index(np.argmax(np.abs(growth)), growth.shape)
        self.leader = (leader, rate[leader]) if growth[leader] != 0 else None

        def at_size(size):
            d = RADAU.values[:, None, None] / size - neg_grad * bend  # (eigenvalues, p, n)
            slopes = gradient * rate / d
            total = np.sum(slopes, axis=1)
            root = np.sqrt(total)
            still = total == 0
            safe_total = np.where(still, 1.0, total)
            # Inactive coefficients, whose answer to the others is slight, need no place in the
            # matrix.
            coupling = np.abs(total) * np.diag(self.gram)
            self.stiffness = np.min(coupling, axis=0)
            active = np.flatnonzero(np.max(coupling, axis=0) > SLIGHT)
            root, scale = np.sqrt(total[:, active]), 1 / np.sqrt(1 + coupling[:, active])
            left = root * scale
            matrix = left[:, :, None] * self.gram[np.ix_(active, active)] * left[:, None, :]
            every = np.arange(active.size)
            matrix[:, every, every] += scale**2
            inverse = np.linalg.inv(matrix)

            def correction(residual):
                """δ for residuals (eigenvalues, p, n)."""
                w = np.sum(gradient * residual / d, axis=1)
                own = w[:, active]
                w[:, active] = 0.0
                rhs = scale * own / root - left * (w @ self.gram[:, active])
                solved = left * np.einsum("eij,ej->ei", inverse, rhs)
                w -= total * (solved @ self.gram[active])
                w[:, active] = solved
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
            dyad = correction(np.broadcast_to(neg_grad * rate, d.shape))
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
            neg_grad, rate = self._gradients_and_rates(self.state + moves)
            velocity = neg_grad[:, None] * rate
            weight = 1.0
            if self.leader is not None:
                (row, column), first = self.leader
                pace = (rate[:, row, column] / first)[:, None]
                velocity = velocity / pace[:, None]
                # In stiff rows Newton's matrix is that of the unpaced flow: rows weighed alike.
                weight = ((1 + self.stiffness) / (1 + self.stiffness / pace))[:, None]
            residual = weight * (velocity - _mix(RADAU.slope, moves) / size)
            delta = correction(_mix(RADAU.inverse, residual))
            change = _mix(RADAU.weighted, delta).real
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

    def _gradients_and_rates(self, states):
        """`u` (stages, n) and the rates (stages, p, n): all stages in one call."""
        coefs, rates = self.coordinates.stage_parts(states)
        neg_grads = (self.y - coefs @ self.rows.T) @ self.turned.T
        return neg_grads.astype(float), rates.astype(float)

    def _guess(self, size):
        shape = (STAGES, *self.state.shape)
        if self.curve is None or size > 4 * self.curve[1]:
            return np.zeros(shape)
        ahead = RADAU.vandermonde(1 + RADAU.nodes * size / self.curve[1])
        return _mix(ahead - RADAU.vandermonde([1.0]), self.curve[0])


def _mix(matrix, stages):
    """The matrix times arrays (stages, p, n), along the stages."""
    return (matrix @ stages.reshape(len(stages), -1)).reshape(len(matrix), *stages.shape[1:])
