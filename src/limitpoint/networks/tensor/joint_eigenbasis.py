"""One orthonormal basis in which several symmetric matrices are diagonal."""

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["joint_eigenbasis", "largest_commutator", "off_diagonal"]

EPS = float(np.finfo(np.float64).eps)
# Sweeps after the first guess. Rotations converge quadratically, so that from a guess right to
# 1e-10 one sweep ends at rounding; the others are for guesses that a chance degeneracy has spoilt.
MOST_SWEEPS = 8
# A rotation by less than this changes nothing that rounding would keep.
SMALLEST_ANGLE = EPS


def joint_eigenbasis(matrices: Float) -> Float:
    """Orthonormal columns V in which `VᵀA_iV` are as diagonal as they can be together.

    The eigenvectors of a random combination are those of all matrices that commute, repeated
    eigenvalues of some of them included, unless two eigenvalues of the combination agree by chance;
    Jacobi rotations by the angle that is best for all matrices at once mend what that spoils, and
    rounding (Cardoso and Souloumiac 1996, in its real form).

    Parameters
    ----------
    matrices
        Symmetric matrices, shape (m, d, d).
    """
    norms = np.linalg.norm(matrices, axis=(1, 2))
    units = matrices[norms > 0] / norms[norms > 0, None, None]
    side = matrices.shape[-1]
    if len(units) == 0:
        return np.eye(side)
    # Symmetric to rounding only; the seed is fixed, so that the same sensors have the same basis.
    units = (units + np.swapaxes(units, 1, 2)) / 2
    mixed = np.tensordot(np.random.default_rng(0).standard_normal(len(units)), units, axes=1)
    basis: Float = np.linalg.eigh(mixed)[1]
    turned = basis.T @ units @ basis
    for _ in range(MOST_SWEEPS):
        if not _sweep(turned, basis):
            break
    return basis


def off_diagonal(matrices: Float, basis: Float) -> float:
    """The largest entry off the diagonal of `VᵀA_iV`, relative to the norm of A_i."""
    turned = basis.T @ matrices @ basis
    diagonal = np.einsum("ijj->ij", turned)[:, :, None] * np.eye(len(basis))
    norms = np.linalg.norm(matrices, axis=(1, 2))
    off = np.abs(turned - diagonal).max(axis=(1, 2), initial=0.0)
    return float(np.max(off[norms > 0] / norms[norms > 0], initial=0.0))


def largest_commutator(matrices: Float) -> tuple[float, tuple[int, int]]:
    """The largest `‖A_iA_j − A_jA_i‖/(‖A_i‖‖A_j‖)`, and which two matrices these are."""
    norms = np.linalg.norm(matrices, axis=(1, 2))
    units = matrices / np.where(norms > 0, norms, 1.0)[:, None, None]
    worst, pair = 0.0, (0, 0)
    for i, first in enumerate(units[:-1]):
        others = units[i + 1 :]
        sizes = np.linalg.norm(first @ others - others @ first, axis=(1, 2))
        at = int(sizes.argmax())
        if sizes[at] > worst:
            worst, pair = float(sizes[at]), (i, i + 1 + at)
    return worst, pair


def _sweep(matrices: Float, basis: Float) -> bool:
    """Rotate every pair of columns once, in place; whether anything moved."""
    moved = False
    side = len(basis)
    for p in range(side - 1):
        for q in range(p + 1, side):
            gaps = matrices[:, p, p] - matrices[:, q, q]
            offs = 2 * matrices[:, p, q]
            along, across = float(gaps @ gaps - offs @ offs), 2 * float(gaps @ offs)
            angle = 0.5 * np.arctan2(across, along + np.hypot(along, across))
            if abs(angle) <= SMALLEST_ANGLE or offs @ offs == 0.0:
                continue
            moved = True
            c, s = np.cos(angle), np.sin(angle)
            turn = np.array([[c, -s], [s, c]])
            pair = [p, q]
            matrices[:, :, pair] = matrices[:, :, pair] @ turn
            matrices[:, pair, :] = turn.T @ matrices[:, pair, :]
            basis[:, pair] = basis[:, pair] @ turn
    return moved
