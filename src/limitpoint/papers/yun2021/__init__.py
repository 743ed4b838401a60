"""Yun, Krishnan and Mobahi (2021), A unifying view on implicit bias in linear networks."""

from limitpoint.papers.yun2021.classification_deep import ClassificationDeep
from limitpoint.papers.yun2021.classification_directions import ClassificationDirections
from limitpoint.papers.yun2021.classification_plane import Figure3Classification
from limitpoint.papers.yun2021.corollary4 import Corollary4
from limitpoint.papers.yun2021.dense_vanishing import DenseVanishing
from limitpoint.papers.yun2021.design import Design
from limitpoint.papers.yun2021.generic_directions import GenericDirections
from limitpoint.papers.yun2021.one_sample import OneSampleRegression
from limitpoint.papers.yun2021.regression_plane import Figure1, Figure3Regression

__all__ = [
    "ClassificationDeep",
    "ClassificationDirections",
    "Corollary4",
    "DenseVanishing",
    "Design",
    "Figure1",
    "Figure3Classification",
    "Figure3Regression",
    "GenericDirections",
    "OneSampleRegression",
]
