"""Linear algebra over the rationals: ranks and projections without rounding."""

from fractions import Fraction


def exact(array):
    """Floats, nested or not, as fractions; what is a fraction stays one."""
    if isinstance(array, Fraction):
        return array
    if hasattr(array, "__len__"):
        return [exact(entry) for entry in array]
    return Fraction(float(array))


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def times(matrix, vector):
    return [dot(row, vector) for row in matrix]


def transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


def independent(vectors):
    """Places of the first vectors that are independent of those before them."""
    kept, basis = [], []  # the basis in echelon form, with its pivots
    for place, vector in enumerate(vectors):
        left = list(vector)
        for pivot, row in basis:
            if left[pivot]:
                factor = left[pivot] / row[pivot]
                left = [a - factor * b for a, b in zip(left, row, strict=True)]
        pivot = next((i for i, entry in enumerate(left) if entry), None)
        if pivot is not None:
            kept.append(place)
            basis.append((pivot, left))
    return kept


def solve(matrix, right):
    """The solution of a square system."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, size):
            if rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    found = [Fraction(0)] * size
    for k in reversed(range(size)):
        left = rows[k][size] - dot(rows[k][k + 1 : size], found[k + 1 :])
        found[k] = left / rows[k][k]
    return found


def least_squares(columns, target):
    """Coefficients of independent columns, the best fit of the target."""
    gram = [[dot(a, b) for b in columns] for a in columns]
    return solve(gram, [dot(a, target) for a in columns])


def best_fit(columns, target):
    """The target projected onto the span of any columns."""
    kept = [columns[i] for i in independent(columns)]
    if not kept:
        return [Fraction(0)] * len(target)
    coef = least_squares(kept, target)
    return [dot(coef, entries) for entries in zip(*kept, strict=True)]


def least_norm(X, y):
    """`X⁺y`, and whether it fits."""
    fit = best_fit(transposed(X), y)
    places = independent(X)
    if not places:
        return [Fraction(0)] * len(X[0]), fit == y
    rows = [X[j] for j in places]
    gram = [[dot(a, b) for b in rows] for a in rows]
    nu = solve(gram, [fit[j] for j in places])
    return times(transposed(rows), nu), fit == y


def null_part(X, vector):
    """The vector without its part in the row space of X."""
    seen, _ = least_norm(X, times(X, vector))
    return [a - b for a, b in zip(vector, seen, strict=True)]
