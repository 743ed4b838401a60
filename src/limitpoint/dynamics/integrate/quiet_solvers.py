"""SciPy's stiff integrators without their warnings.

What they have to say is in their status. Silencing it by `warnings.catch_warnings` would change
the filters of the whole process, and threads that do so together leave them changed.
"""

from typing import Any

import numpy as np
from scipy.integrate import BDF, LSODA
from scipy.linalg.lapack import dgetrf

from limitpoint.foundation.arrays import Float

__all__ = ["QuietBDF", "QuietLSODA"]


class QuietLSODA(LSODA):  # type: ignore[misc]  # untyped library
    """LSODA whose failed steps are told by its status alone."""

    t: float
    y: Float

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        integrator = self._lsoda_solver._integrator
        run = integrator.runner
        self._outcome = 1

        def runner(*inputs: Any) -> tuple[Any, Any, int]:
            state, place, self._outcome = run(*inputs)
            # Below 0 it has failed: SciPy would warn, before it says so in the status.
            return state, place, max(self._outcome, 1)

        integrator.runner = runner

    def _step_impl(self) -> tuple[bool, str | None]:
        place, state = self.t, self.y
        done, message = super()._step_impl()
        if self._outcome >= 0:
            return done, message
        self.t, self.y = place, state
        return False, f"LSODA failed, its state is {self._outcome}"


class QuietBDF(BDF):  # type: ignore[misc]  # untyped library
    """BDF that does not comment on singular matrices: what they lead to is rejected."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)

        def factorised(matrix: Float) -> tuple[Float, Any]:
            self.nlu += 1
            factors, pivots, _ = dgetrf(np.asarray_chkfinite(matrix), overwrite_a=True)
            return factors, pivots

        self.lu = factorised
