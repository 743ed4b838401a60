"""Built-in data: small examples of the papers."""

from limitpoint.tasks import Regression

__all__ = ["zhao_eq7"]


def zhao_eq7() -> Regression:
    """The 2×4 example of Zhao et al. (2026), Eq. (7).

    Three saddles lead to its minimum ℓ1 solution (0, 0, 10/7, −10/49). The loss is theirs,
    `‖Xβ − y‖²` (loss factor 2).
    """
    X = [[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]]
    return Regression(X, [1.0, 0.0], loss_factor=2.0)
