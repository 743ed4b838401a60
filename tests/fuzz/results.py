"""What every value can do: be shown, compared, hashed, pickled, saved and read again."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

from tests.fuzz.draw import Draw
from tests.fuzz.judge import Failure, Judge, Refused

import limitpoint as lp


def use(draw: Draw, call: Judge, value: Any, folder: Path) -> None:
    """Show it, and do one more thing with it."""
    for show in (repr, str):
        if not call(show, value).strip():
            raise Failure(f"{show.__name__} is empty")
    if hasattr(value, "_repr_html_"):
        call(value._repr_html_)
    draw.pick((_pickled, _saved, _copied, _as_data))(draw, call, value, folder)


def _pickled(draw: Draw, call: Judge, value: Any, folder: Path) -> None:
    _equal(call, value, call(pickle.loads, call(pickle.dumps, value)))


def _copied(draw: Draw, call: Judge, value: Any, folder: Path) -> None:
    _equal(call, value, call(copy.deepcopy, value))
    if call(value.__eq__, object()) is True:
        raise Failure("equal to an object of another kind")


def _saved(draw: Draw, call: Judge, value: Any, folder: Path) -> None:
    file = folder / "value.npz"
    try:
        call(lp.io.save, value, file, overwrite=True)
    except Refused:
        if isinstance(value, lp.results.Limit | lp.results.SaddlePath | lp.results.Trajectory):
            raise Failure("a result that cannot be saved") from None
        raise
    _equal(call, value, call(lp.io.load, file))


def _as_data(draw: Draw, call: Judge, value: Any, folder: Path) -> None:
    if hasattr(value, "to_xarray"):
        call(value.to_xarray)
    if hasattr(value, "to_dict"):
        call(json.dumps, call(value.to_dict))


def _equal(call: Judge, one: Any, other: Any) -> None:
    if not (one == other and call(hash, one) == call(hash, other)):
        raise Failure(f"{type(one).__name__} is another after it was stored")
