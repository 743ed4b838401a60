"""Experiments that take no time, to try the framework with."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import xarray as xr

from limitpoint.papers import Check, Experiment
from limitpoint.plot.style import new_figure


@dataclass(frozen=True)
class Toy(Experiment):
    """Measures a number; leaves a line in a file whenever it is run."""

    paper: ClassVar[str] = "toy2026"
    title: ClassVar[str] = "A toy"
    setup: ClassVar[str] = "Nothing is <printed> & nothing is chosen."
    theorems: ClassVar[tuple[str, ...]] = ("yun2021.corollary5",)

    number: int = 0
    value: float = 1.0
    seconds: float = 0.0
    diary: str = ""
    breaks: bool = False

    @property
    def figure(self):
        return f"figure{self.number}"

    def quick(self):
        return replace(self, seconds=self.seconds / 2)

    def run(self):
        if self.diary:
            with Path(self.diary).open("a") as file:
                file.write(f"{self.id}\n")
        if self.breaks:
            raise ArithmeticError("out of numbers")
        time.sleep(self.seconds)
        return xr.Dataset({"measured": ("i", np.full(3, self.value)), "predicted_value": 1.0})

    def checks(self, data):
        measured = float(data["measured"].mean())
        return [Check("value", measured, float(data["predicted_value"]), 1e-3)]

    def plot(self, data):
        figure = new_figure((3, 2))
        figure.subplots().plot(data["measured"])
        return figure
