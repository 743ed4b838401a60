"""Curves and limits of general networks in decimal arithmetic of any length, for any formula of k.

The curve `dφ/dξ = ∇k(φ)`, `φ(0) = sθ*` by Taylor steps whose order grows with the digits, and
`XΨ(Xᵀν) = y` by Newton's method on top of it. Formulas are small expressions that are
differentiated by the rules of calculus; their power series come from the usual recurrences. The
standard library's `decimal` has no smallest number to speak of, and is much faster than mpmath.
"""

import math
from decimal import Decimal, localcontext
from operator import mul

# Series of sines and hyperbolic sines are summed directly, which takes long for large arguments.
LARGEST_ARGUMENT = 3000
# Digits of the arithmetic beyond those that a step keeps.
GUARD = 6
# log₁₀ of the longest step, where the series ends by itself.
LONGEST = 1.0


class Expression:
    """A formula: a variable, a number, a sum, a product, or a function of a formula."""

    def __init__(self, kind, *parts):
        self.kind, self.parts = kind, parts

    def __add__(self, other):
        other = formula(other)
        if self.is_number(0):
            return other
        return self if other.is_number(0) else Expression("+", self, other)

    def __mul__(self, other):
        other = formula(other)
        if self.is_number(0) or other.is_number(0):
            return formula(0)
        if self.is_number(1):
            return other
        return self if other.is_number(1) else Expression("*", self, other)

    def __sub__(self, other):
        return self + formula(-1) * other

    def __pow__(self, power):
        return self if power == 1 else self * self ** (power - 1)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return formula(other) - self

    def is_number(self, value):
        return self.kind == "number" and self.parts[0] == value

    def derivative(self, j):
        """Of the formula in variable j."""
        parts = self.parts
        if self.kind == "number":
            return formula(0)
        if self.kind == "variable":
            return formula(int(parts[0] == j))
        if self.kind == "+":
            return parts[0].derivative(j) + parts[1].derivative(j)
        if self.kind == "*":
            return parts[0].derivative(j) * parts[1] + parts[0] * parts[1].derivative(j)
        inner = parts[0]
        outer = {
            "exp": lambda: exp(inner),
            "expm1": lambda: 1 + self,
            "exp minus 1": lambda: 1 + self,
            "sin": lambda: cos(inner),
            "cos": lambda: -1 * sin(inner),
            "tanh": lambda: 1 - self * self,
        }[self.kind]()
        return outer * inner.derivative(j)

    def __call__(self, z, library):
        """The value with the functions of a library, NumPy's or JAX's."""
        if self.kind == "number":
            return float(self.parts[0])
        if self.kind == "variable":
            return z[self.parts[0]]
        values = [part(z, library) for part in self.parts]
        if self.kind == "+":
            return values[0] + values[1]
        if self.kind == "*":
            return values[0] * values[1]
        if self.kind == "exp minus 1":
            return library.exp(values[0]) - 1
        return getattr(library, self.kind)(values[0])


def formula(value):
    """A number as a formula: floats are the exact numbers that they are."""
    return value if isinstance(value, Expression) else Expression("number", Decimal(value))


def variables(count):
    return [Expression("variable", j) for j in range(count)]


def exp(x):
    return Expression("exp", x)


def expm1(x):
    return Expression("expm1", x)


def exp_minus_1(x):
    """The same, in the form that loses digits near zero when floats evaluate it."""
    return Expression("exp minus 1", x)


def sin(x):
    return Expression("sin", x)


def cos(x):
    return Expression("cos", x)


def tanh(x):
    return Expression("tanh", x)


class Block:
    """`k(φ) = f(Mφ)` as a program for power series; M has orthogonal rows of whole numbers.

    In `z = Mφ` the curve is `dz_j/dξ = |M_j|² ∂_jf(z)`: along the eigenvectors of k, if f is
    diagonal to second order, so that a component that is smaller than the others by any number of
    digits has all of its own.
    """

    def __init__(self, k, matrix):
        self.matrix = [[int(x) for x in row] for row in matrix]
        self.norms = [sum(x * x for x in row) for row in self.matrix]
        self.nodes, self._known = [], {}
        self.k = self._place(k)
        self.gradient = [self._place(k.derivative(j)) for j in range(len(self.norms))]

    def start(self, direction, scale):
        """`z = sMθ*` as the exact number that the floats make."""
        block = [Decimal(float(scale)) * Decimal(float(x)) for x in direction]
        return [sum(a * x for a, x in zip(row, block, strict=True)) for row in self.matrix]

    def size(self, z):
        """`‖φ‖`."""
        return sum(x * x / n for x, n in zip(z, self.norms, strict=True)).sqrt()

    def slope(self, partials):
        """`‖∇k‖²`, the rate of k along ξ."""
        return sum(n * x * x for x, n in zip(partials, self.norms, strict=True))

    def _place(self, node):
        """The node's place in the program; equal formulas have one."""
        places = tuple(
            self._place(part) if isinstance(part, Expression) else part for part in node.parts
        )
        if node.kind in ("sin", "cos"):  # each needs the other's series
            self._add(("sin", places))
            self._add(("cos", places))
        return self._add((node.kind, places))

    def _add(self, key):
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(key)
        return self._known[key]

    def series(self, z, order):
        """Power series of all nodes along the curve from z, and those of the variables."""
        values = [[] for _ in self.nodes]
        squares = {}
        curve = [[x] for x in z]
        for n in range(order + 1):
            for place, (kind, parts) in enumerate(self.nodes):
                values[place].append(self._term(kind, parts, place, n, values, curve, squares))
            for x, place, norm in zip(curve, self.gradient, self.norms, strict=True):
                x.append(norm * values[place][n] / (n + 1))
        return values, curve

    def _term(self, kind, parts, place, n, values, curve, squares):
        if kind == "number":
            return parts[0] if n == 0 else Decimal(0)
        if kind == "variable":
            return curve[parts[0]][n]
        if kind == "+":
            return values[parts[0]][n] + values[parts[1]][n]
        if kind == "*":
            return _product(values[parts[0]], values[parts[1]], n)
        inner = values[parts[0]]
        if n == 0:
            if kind == "tanh":
                value = _tanh(inner[0])
                squares[place] = [1 - value * value]
                return value
            return _AT[kind](inner[0])
        slopes = [j * inner[j] for j in range(1, n + 1)]
        if kind == "tanh":
            value = sum(map(mul, slopes, reversed(squares[place][:n]))) / n
            own = [*values[place], value]
            squares[place].append(-_product(own, own, n))
            return value
        if kind == "sin":
            partner = values[self._known["cos", parts]]
        elif kind == "cos":
            partner = [-x for x in values[self._known["sin", parts]][:n]]
        elif kind in ("expm1", "exp minus 1"):
            partner = [values[place][0] + 1, *values[place][1:]]
        else:
            partner = values[place]
        return sum(map(mul, slopes, reversed(partner[:n]))) / n


class Curve:
    """A block on its way, forwards or backwards: its state at ξ."""

    def __init__(self, block, start, digits):
        self.block, self.digits, self.order = block, digits, 5 * digits // 4
        self.z, self.mirror = list(start), Decimal(0)

    def piece(self, side):
        """The series from here, and how far it holds on that side."""
        values, curve = self.block.series(self.z, self.order)
        return values, curve, side * Decimal(10) ** Decimal(repr(min(map(self._log_reach, curve))))

    def _log_reach(self, series):
        """log₁₀ of the h at which the last two terms are below the digits of the largest."""
        logs = [float(x.copy_abs().log10()) if x else -math.inf for x in series]
        reach = math.inf
        for n in (len(logs) - 2, len(logs) - 1):
            if logs[n] > -math.inf:
                # `logs[n] + n·x ≤ logs[m] + m·x − digits` for some m.
                over = ((logs[m] - logs[n] - self.digits) / (n - m) for m in range(len(logs) - 2))
                reach = min(reach, max(over))
        return min(reach, LONGEST)

    def go(self, curve, step):
        self.z = [at(series, step) for series in curve]
        self.mirror += step

    def move(self, distance):
        """Go exactly this far."""
        end = self.mirror + distance
        while self.mirror != end:
            left = end - self.mirror
            _, curve, reach = self.piece(1 if left > 0 else -1)
            if abs(left) <= abs(reach):
                self.go(curve, left)
                self.mirror = end
            else:
                self.go(curve, reach)

    def value_and_slope(self):
        """k and `‖∇k‖²`."""
        values, _ = self.block.series(self.z, 0)
        return values[self.block.k][0], self.block.slope(
            [values[place][0] for place in self.block.gradient]
        )


def samples(block, start, side, digits, *, largest, pieces, places=(0.7,)):
    """`(ξ, k, ‖φ‖, ‖∇k‖)` along a curve at floats ξ, until |k| is this large.

    Or until k has levelled off, or so many steps have been taken.
    """
    found = []
    with localcontext() as context:
        context.prec = digits + GUARD
        curve = Curve(block, start, digits)
        for _ in range(pieces):
            values, series, step = curve.piece(side)
            for part in places:
                xi = float(curve.mirror + step * Decimal(part))
                h = Decimal(xi) - curve.mirror
                k = at(values[block.k], h)
                slope = block.slope([at(values[place], h) for place in block.gradient]).sqrt()
                size = block.size([at(x, h) for x in series])
                if abs(h) <= abs(step):
                    found.append((xi, k, size, slope))
            curve.go(series, step)
            _, k, size, slope = found[-1] if found else (0.0, Decimal(0), Decimal(1), Decimal(1))
            if abs(k) > largest or size * slope < Decimal("1e-12") * abs(k):
                break
    return found


def limit(blocks, starts, X, y, digits=40, most=200):
    """β with `XΨ(Xᵀν) = y`, as floats: Newton's method along `y(λ) = Xβ(0) + λ(y − Xβ(0))`.

    The blocks are carried along: each Newton step moves every block on by its change of ξ.
    """
    with localcontext() as context:
        context.prec = digits + GUARD
        rows = [[Decimal(float(x)) for x in row] for row in X]
        target = [Decimal(float(x)) for x in y]
        curves = [Curve(block, z, digits) for block, z in zip(blocks, starts, strict=True)]
        first = _times(rows, [curve.value_and_slope()[0] for curve in curves])
        done, stride = Decimal(0), Decimal("0.25")
        for _ in range(most):
            ahead = min(done + stride, Decimal(1))
            goal = [a + ahead * (b - a) for a, b in zip(first, target, strict=True)]
            kept = [(list(curve.z), curve.mirror) for curve in curves]
            if _correct(curves, rows, goal, digits):
                done, stride = ahead, 2 * stride
                if done == 1:
                    return [float(curve.value_and_slope()[0]) for curve in curves]
            else:
                stride /= 4
                for curve, (z, xi) in zip(curves, kept, strict=True):
                    curve.z, curve.mirror = z, xi
        raise ArithmeticError("the oracle has not converged")


def _correct(curves, rows, goal, digits):
    """Newton's method at one goal; False if it does not converge at once."""
    scale = max(max(map(abs, goal)), Decimal("1e-6"))
    before = None
    for _ in range(12):
        coefs, slopes = zip(*(curve.value_and_slope() for curve in curves), strict=True)
        gap = [g - f for g, f in zip(goal, _times(rows, coefs), strict=True)]
        size = max(map(abs, gap))
        if size <= scale * Decimal(10) ** (-digits // 2):
            return True
        if before is not None and size > before:
            return False
        before = size
        matrix = [
            [sum(a * d * b for a, d, b in zip(r, slopes, s, strict=True)) for s in rows]
            for r in rows
        ]
        dual = _solve(matrix, gap)
        moves = [sum(r[i] * v for r, v in zip(rows, dual, strict=True)) for i in range(len(curves))]
        for curve, move, slope in zip(curves, moves, slopes, strict=True):
            # Not farther than the block's own size: k is far from linear there.
            if abs(move) * slope.sqrt() > curve.block.size(curve.z):
                return False
        for curve, move in zip(curves, moves, strict=True):
            curve.move(move)
    return False


def _solve(matrix, right):
    """Gauss elimination with pivots."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def _times(rows, values):
    return [sum(map(mul, row, values)) for row in rows]


def at(series, h):
    """The sum of a power series, by Horner's rule."""
    total = Decimal(0)
    for term in reversed(series):
        total = total * h + term
    return total


def _product(x, y, n):
    """Coefficient n of the product of two series."""
    return sum(map(mul, x[: n + 1], reversed(y[: n + 1])))


def _odd_and_even(u, sign):
    """`Σ ±u^{2j+1}/(2j+1)!` and `Σ ±u^{2j}/(2j)!`: sine and cosine, hyperbolic with sign 1.

    The largest terms are e^{|u|}: so many digits are added.
    """
    if abs(u) > LARGEST_ARGUMENT:
        raise ArithmeticError("the argument of a sine is too large")
    with localcontext() as context:
        context.prec += int(abs(u))
        odd, even, term, n = Decimal(0), Decimal(0), Decimal(1), 0
        while True:
            new_even = even + term
            term = term * u / (n + 1)
            new_odd = odd + term
            term = sign * term * u / (n + 2)
            n += 2
            if new_even == even and new_odd == odd:
                return odd, even
            odd, even = new_odd, new_even


def _tanh(u):
    if abs(u) < 1:
        odd, even = _odd_and_even(u, 1)
        return odd / even
    small = (-2 * abs(u)).exp()
    return ((1 - small) / (1 + small)).copy_sign(u)


def _expm1(u):
    """`e^u − 1 = 2 sinh(u/2) e^{u/2}`."""
    return u.exp() - 1 if abs(u) > 1 else 2 * _odd_and_even(u / 2, 1)[0] * (u / 2).exp()


_AT = {
    "exp": lambda u: u.exp(),
    "expm1": _expm1,
    "exp minus 1": _expm1,
    "sin": lambda u: _odd_and_even(u, -1)[0],
    "cos": lambda u: _odd_and_even(u, -1)[1],
}
