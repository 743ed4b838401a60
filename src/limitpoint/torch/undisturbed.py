"""Modules are run without a trace: no gradient, and every random state as it was."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from limitpoint.foundation.extras import lazy_module

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["undisturbed"]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run modules in float64 on the CPU, and leave everything that is global as it was."""
    of_python, dtype = random.getstate(), torch.get_default_dtype()
    of_numpy = np.random.get_state()  # noqa: NPY002 - a module may draw from it
    torch.set_default_dtype(torch.float64)
    try:
        with (
            torch.no_grad(),
            torch.random.fork_rng(devices=[]),
            torch.autocast("cpu", enabled=False),
            torch.device("cpu"),
        ):
            yield
    finally:
        torch.set_default_dtype(dtype)
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)
