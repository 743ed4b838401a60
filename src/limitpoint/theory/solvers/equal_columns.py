"""Equal columns whose coefficients start alike: symmetry keeps them equal.

Of two such columns float64 may tell no more than the sum (next to a common pole any division of it
is within rounding of the mirror coordinates), while training treats them alike. So they are solved
for as one column whose coefficient counts as often as there are columns, `limitpoint.mirror.units`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror import CurveMap, MirrorMap

__all__ = ["Alike"]

# Two points on either side of the start, and it, tell the maps of one family apart.
PROBES = (-1.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Alike:
    """Groups of columns that are equal, as are the maps of their coefficients.

    Attributes
    ----------
    leaders
        The first column of each one's group.
    counts
        The size of each one's group.
    """

    leaders: NDArray[np.intp]
    counts: Float

    @classmethod
    def of(cls, X: Float, mirror: MirrorMap) -> "Alike":
        """Compared bit by bit."""
        n = X.shape[1]
        leaders = np.arange(n)
        # Sums run row after row, so that equal columns have equal ones.
        _, first, inverse, counts = np.unique(
            np.add.reduce(X, axis=0), return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) < n:
            marks = np.vstack([X, _marks(mirror)])
            seen: dict[bytes, int] = {}
            for i in np.flatnonzero((counts[inverse] > 1) & X.any(axis=0)):
                leaders[i] = seen.setdefault(marks[:, i].tobytes(), int(i))
        sizes = np.bincount(leaders, minlength=n)
        return cls(leaders, sizes[leaders].astype(np.float64))

    @property
    def kept(self) -> NDArray[np.bool_]:
        """One column of each group."""
        return np.asarray(self.leaders == np.arange(len(self.leaders)))


def _marks(mirror: MirrorMap) -> Float:
    """What tells the maps of two coefficients apart: bounds, and logarithms of a few values."""
    found = [mirror.lower, mirror.upper]
    for probe in PROBES:
        at = np.full_like(mirror.lower, probe)
        if isinstance(mirror, CurveMap):
            found += [*mirror.signs_and_logs_at(at), mirror.along(at).mirror]
        else:
            found += [*mirror.signs_and_logs(at)]
    return np.stack(found)
