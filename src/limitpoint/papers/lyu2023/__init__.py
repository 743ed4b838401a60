"""Lyu and Zhu (2023), Implicit bias of (stochastic) gradient descent for rank-1 networks."""

from limitpoint.papers.lyu2023.figure5 import Figure5
from limitpoint.papers.lyu2023.figure6 import Figure6
from limitpoint.papers.lyu2023.figure7 import Figure7
from limitpoint.papers.lyu2023.figure8 import Figure8
from limitpoint.papers.lyu2023.figure9 import Figure9
from limitpoint.papers.lyu2023.figure10 import Figure10
from limitpoint.papers.lyu2023.figure11 import Figure11
from limitpoint.papers.lyu2023.figure12 import Figure12
from limitpoint.papers.lyu2023.proposition1 import Proposition1
from limitpoint.papers.lyu2023.proposition2 import Proposition2

__all__ = [
    "Figure5",
    "Figure6",
    "Figure7",
    "Figure8",
    "Figure9",
    "Figure10",
    "Figure11",
    "Figure12",
    "Proposition1",
    "Proposition2",
]
