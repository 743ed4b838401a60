"""Which part keeps a module from being linear in its input, the same in training as outside it.

A module is run several times, and what all its parts are given and return is compared. Where the
whole is not as it must be, the part is named that is given what is as it must be, and returns what
is not.
"""

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.own.model import EPS, PROBES, ROUNDINGS
from limitpoint.torch.advice import advice_on
from limitpoint.torch.calls import Call, Values, calls_of
from limitpoint.torch.twin import Twin, named
from limitpoint.torch.undisturbed import undisturbed

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["examine"]

# Samples that are run at once.
SAMPLES = 32
# Inputs are tried so much larger and smaller, too: what is linear near 1 may be cut off elsewhere.
# A power of two, so that linear outputs are multiplied without rounding.
FAR = 2.0**20
# What differs by less than so much of the largest entry cannot be told from rounding.
ALLOWED = ROUNDINGS * EPS

# What is wrong with one tensor of several runs, in words, or nothing.
Wrong = Callable[[Sequence[Any]], str]


def examine(twin: Twin, features: int) -> None:
    """Raise `NetworkError`, naming the part, unless the module is linear in its input."""
    rng = np.random.default_rng(0)
    one, two = rng.standard_normal((2, SAMPLES, features))
    others = np.concatenate([one[:1], two[1:]])
    # At random parameters, since a bias may be zero where training starts; and near the start, but
    # not there, where terms may cancel and leave their rounding.
    drawn = [_trained(twin, lambda start: start * rng.uniform(0.5, 2.0, start.shape))]
    for _ in range(PROBES):
        drawn.append(_trained(twin, lambda start: rng.standard_normal(start.shape)))
    with undisturbed():
        _check_dropout(twin)
        _check_modes(twin, drawn[-1], one)
        for blocks in drawn:
            given = (one, two, np.zeros_like(one), -one, one / FAR, FAR * one + two)
            runs = [calls_of(twin, blocks, X) for X in given]
            _blame(twin, runs, _not_linear, "uses other parts for other inputs")
            runs = [calls_of(twin, blocks, X) for X in (one, others)]
            _blame(twin, runs, _mixed)
        _check_output(twin, one)


def _trained(twin: Twin, drawn: Callable[[Float], Float]) -> list[Float]:
    """All blocks, the trained ones drawn anew."""
    pairs = zip(twin.start, twin.frozen, strict=True)
    return [start if still else drawn(start) for start, still in pairs]


def _check_dropout(twin: Twin) -> None:
    """By its kind: where it is rare, it may not show in a few runs."""
    for name in sorted(twin.training):
        part = twin.module.get_submodule(name)
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0:
            _refuse(twin, name, f"drops inputs at random in training mode, with p={part.p:g}")


def _check_modes(twin: Twin, blocks: Sequence[Float], X: Float) -> None:
    """Twice the same in the user's modes, and the same in evaluation mode."""
    given = copy.deepcopy(twin.module)
    for name, part in given.named_modules():
        part.training = name in twin.training
    runs = []
    for seed in range(2):
        torch.manual_seed(seed)
        runs.append(calls_of(twin, blocks, X, given))
    random = "returns something else for the same input when it is called again"
    _blame(twin, runs, lambda pair: "" if _alike(*pair) else random, random)
    runs[1] = calls_of(twin, blocks, X)
    other = "returns something else in training mode than in evaluation mode"
    _blame(twin, runs, lambda pair: "" if _alike(*pair) else other, other)


def _check_output(twin: Twin, X: Float) -> None:
    found = twin.run(twin.start, X)
    if not isinstance(found, torch.Tensor):
        _refuse(twin, "", f"must return one tensor; it returns a {type(found).__name__}")
    if found.is_complex():
        _refuse(twin, "", "returns complex numbers: return their real part")


def _blame(twin: Twin, runs: Sequence[list[Call]], wrong: Wrong, path: str = "") -> None:
    """Name the part whose outputs are the first that are wrong though its inputs are not."""
    for run in runs[1:]:
        _check_path(twin, runs[0], run, path)
    calls = [*zip(*runs, strict=True)]
    if not _reason([call.outputs for call in calls[-1]], wrong):
        return
    for each in calls:
        reason = _reason([call.outputs for call in each], wrong)
        if reason and not _reason([call.inputs for call in each], wrong):
            parts = any(True for _ in twin.module.get_submodule(each[0].name).children())
            inside = " (what its own forward does: its parts are not to blame)" if parts else ""
            _refuse(twin, each[0].name, f"{reason}{inside}")


def _reason(values: Sequence[Values], wrong: Wrong) -> str:
    return next((text for tensor in zip(*values, strict=True) if (text := wrong(tensor))), "")


def _check_path(twin: Twin, first: list[Call], second: list[Call], reason: str) -> None:
    """The same parts are called in the same order, with tensors of the same shapes."""
    for here, there in zip(first, second, strict=False):
        known, other = [
            (call.name, *(value.shape for value in (*call.inputs, *call.outputs)))
            for call in (here, there)
        ]
        if known != other:
            # What both are part of has decided.
            parents = [call.name.rpartition(".")[0] for call in (here, there)]
            _refuse(twin, min(parents, key=len), reason or "uses other parts for other samples")


def _not_linear(tensors: Sequence[Any]) -> str:
    """`f(0) = 0`, `f(−X) = −f(X)`, `f(cX) = cf(X)` and `f(cX + X′) = cf(X) + f(X′)`."""
    kinds = {str(value.dtype) for value in tensors} - {"float64", "complex128"}
    one, two, zero, minus, near, far = (np.asarray(value, complex) for value in tensors)
    if all(_alike(one, value) for value in (two, zero, minus, near, far)):
        return ""  # constants may be anything
    if kinds:
        return f"computes in {min(kinds)} what it is given in float64: leave the cast out"
    if not all(np.isfinite(value).all() for value in tensors):
        return "returns numbers that are not finite (NaN or inf)"
    affine = (
        _alike(one - zero, zero - minus)
        and _alike(far - zero, FAR * (one - zero) + (two - zero))
        and np.abs(FAR * (near - zero) - (one - zero)).max(initial=0.0)
        <= ALLOWED * (_size(one) + FAR * _size(zero))
    )
    if not affine:
        return "is not linear in its input"
    return "" if _size(zero) <= ALLOWED * _size(one) else "adds a constant, a bias"


def _mixed(tensors: Sequence[Any]) -> str:
    """The first sample is the same in both."""
    one, other = (value[:1] for value in map(np.atleast_1d, tensors))
    return "" if _alike(one, other) else "returns for a sample what depends on the other samples"


def _alike(one: Any, other: Any) -> bool:
    """The same, but for rounding; what is not finite in one is so in the other."""
    if one.shape != other.shape:
        return False
    allowed = ALLOWED * max(_size(one), _size(other))
    return bool(np.allclose(one, other, rtol=0.0, atol=allowed, equal_nan=True))


def _size(value: Any) -> float:
    """The largest modulus that is finite."""
    found = np.abs(value)
    return float(np.max(found, where=np.isfinite(found), initial=0.0))


def _refuse(twin: Twin, name: str, reason: str) -> None:
    advice = advice_on(twin.module.get_submodule(name))
    raise NetworkError(f"{named(twin.module, name)} {reason}. {advice}".rstrip())
