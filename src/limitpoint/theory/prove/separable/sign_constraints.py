"""Mirror flows with coefficients that keep their signs: what is forced to zero, and its proof.

A coefficient that is zero in every best fit with the signs of the start vanishes in the limit, and
its mirror coordinate runs to infinity; the others have a root of their own.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.display import counted
from limitpoint.theory.prove.exact.faces import Face, reduce_to_face
from limitpoint.theory.prove.exact.numbers import as_rationals, entries
from limitpoint.theory.prove.outcome import Found
from limitpoint.theory.prove.reduced.exact_data import AlgebraicData, ExactData

__all__ = ["split_by_signs", "under_signs"]

# The theorem whose limits have coefficients that are zero, whichever one float64 chose.
BOUNDARY = "limitpoint.boundary"


def split_by_signs(
    data: ExactData | AlgebraicData, y: Float, maps: Sequence[Any], moving: Sequence[int]
) -> tuple[Face | None, list[int], list[int]]:
    """The face of the best fits, those of the moving coefficients alive on it, and those forced.

    The face is None where no coefficient has a side, no `lower` or `upper` of a map being true, and
    where data are not rational: then only the root itself can show that none is forced.
    """
    sides = tuple(int(maps[i].lower) - int(maps[i].upper) for i in moving)
    matrix = data.some(moving).rational if any(sides) else None
    if matrix is None:
        return None, list(moving), []
    face = _face(tuple(entries(matrix)), tuple(as_rationals(y.tolist())), sides)
    return face, [moving[k] for k in face.alive], [moving[k] for k in face.forced]


@lru_cache(maxsize=1)
def _face(data: tuple[fmpq, ...], y: tuple[fmpq, ...], sides: tuple[int, ...]) -> Face:
    """Kept for the next try: it does not depend on the precision."""
    return reduce_to_face(fmpq_mat(len(y), len(sides), list(data)), y, sides)


def under_signs(
    found: Found, face: Face, y: Float, alive: Sequence[int], forced: Sequence[int]
) -> Found:
    """The same limit, with what is proved of it and the proof that those forced are zero."""
    among = "fit the data and keep the signs that the start gives them"
    if not face.fits:
        among = (
            "keep the signs that the start gives them and fit the data as well as such "
            "coefficients can"
        )
    statement = (
        f"of all coefficients that {among}, the potential of the mirror flow has exactly one "
        "minimiser, and each of its coefficients lies in its ball."
    )
    if not forced:
        return replace(found, statement=statement)
    zero = f"{counted(len(forced), 'coefficient')} {'is' if len(forced) == 1 else 'are'} zero"
    return replace(
        found,
        statement=(
            f"{statement} In all of them {zero}, by a rational Farkas vector; the dual is that of "
            "the others."
        ),
        method=(
            "exact reduction to the face of the best fits, and the interval Newton test on the "
            "dual problem XΨ(Xᵀν) = Xβ of the coefficients that are left"
        ),
        kind="mirror root on a face",
        witness={**found.witness, **_witness(face, y, len(found.coef), alive, forced)},
        theorem=BOUNDARY,
    )


def _witness(
    face: Face, y: Float, count: int, alive: Sequence[int], forced: Sequence[int]
) -> dict[str, Any]:
    interior = {i: face.interior[k] for k, i in zip(face.alive, alive, strict=True)}
    written: dict[str, Any] = {
        "forced": list(forced),
        "farkas": [str(one) for one in face.farkas],
        "targets": [str(one) for one in face.targets],
        "interior": [str(interior.get(i, 0)) for i in range(count)],
    }
    if not face.fits:
        pairs = zip(as_rationals(y.tolist()), face.targets, strict=True)
        written["residual"] = [str(a - b) for a, b in pairs]
    return written
