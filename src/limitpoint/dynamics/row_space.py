"""The singular vectors of the data that count."""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["RowSpace"]


@dataclass(frozen=True, eq=False)
class RowSpace:
    """`X = UΣVᵀ` without what is below the usual numerical rank (largest side × eps × σ₁)."""

    left: Float  # U
    values: Float  # Σ
    rows: Float  # Vᵀ

    @classmethod
    def of(cls, X: Float) -> "RowSpace":
        """By a thin singular value decomposition."""
        left, values, rows = np.linalg.svd(X, full_matrices=False)
        kept = values > max(X.shape) * np.finfo(np.float64).eps * values[0]
        return cls(left[:, kept], values[kept], rows[kept])
