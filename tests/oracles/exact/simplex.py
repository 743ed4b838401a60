"""The simplex method in exact (or many-digit) numbers, by Bland's rule."""


class Infeasible(Exception):
    """No combination with coefficients that are not negative."""


def maximise(columns, goal, gain, zero=0):
    """A vertex `x ≥ 0` of `Σ x_i columns_i = goal` at which `gain·x` is largest."""
    return _maximised(columns, goal, gain, zero)[0]


def is_unique(columns, goal, gain, zero=0):
    """Whether it is the only best one: no other coefficient can be positive at that gain."""
    found, slack = _maximised(columns, goal, gain, zero)
    doubtful = [i for i, x in enumerate(found) if not x > zero and not slack[i] > zero]
    # The best ones are the combinations of columns without slack.
    face = [i for i in range(len(columns)) if not slack[i] > zero]
    for i in doubtful:
        alone = [1 if k == i else 0 for k in face]
        other = maximise([columns[k] for k in face], goal, alone, zero)
        if other[face.index(i)] > zero:
            return False
    return True


def _maximised(columns, goal, gain, zero):
    """The vertex, and by how much each column loses against the basis.

    Where the gain has no bound, a point of the ray along which it grows. Numbers of modulus at most
    `zero` count as zero; over the rationals that is zero itself.
    """
    size, count = len(goal), len(columns)
    signs = [1 if g >= 0 else -1 for g in goal]
    # The given columns, then artificial ones, which are the first basis.
    rows = [
        [s * column[j] for column in columns] + [1 * (k == j) for k in range(size)] + [s * goal[j]]
        for j, s in enumerate(signs)
    ]
    basis = [count + j for j in range(size)]
    _improve(rows, basis, [0] * count + [-1] * size, count + size, zero)
    if any(rows[j][-1] > zero for j in range(size) if basis[j] >= count):
        raise Infeasible
    for j in range(size):
        if basis[j] >= count:
            enter = next((i for i in range(count) if abs(rows[j][i]) > zero), None)
            if enter is not None:
                _pivot(rows, basis, j, enter)
    gain = [*gain, *[0] * size]
    ray = _improve(rows, basis, gain, count, zero)
    found = [0 * goal[0]] * count
    for j, i in enumerate(basis):
        if i < count:
            found[i] = rows[j][-1]
    if ray is not None:
        found[ray] += 1
        for j, i in enumerate(basis):
            if i < count:
                found[i] -= rows[j][ray]
    return found, [_priced(rows, basis, gain, i) - gain[i] for i in range(count)]


def _priced(rows, basis, gain, i):
    """What the basis gains by as much as column i is."""
    return sum(gain[b] * rows[j][i] for j, b in enumerate(basis))


def _improve(rows, basis, gain, count, zero):
    """Pivot to a vertex that is best for the gain; the column of a ray if there is none."""
    while True:
        enter = None
        for i in range(count):
            if i in basis:
                continue
            if gain[i] - _priced(rows, basis, gain, i) > zero:
                enter = i
                break
        if enter is None:
            return None
        ratios = [
            (rows[j][-1] / rows[j][enter], basis[j], j)
            for j in range(len(rows))
            if rows[j][enter] > zero
        ]
        if not ratios:
            return enter
        _pivot(rows, basis, min(ratios)[2], enter)


def _pivot(rows, basis, leave, enter):
    head = rows[leave][enter]
    rows[leave] = [entry / head for entry in rows[leave]]
    for j, row in enumerate(rows):
        if j != leave and row[enter]:
            factor = row[enter]
            rows[j] = [a - factor * b for a, b in zip(row, rows[leave], strict=True)]
    basis[leave] = enter
