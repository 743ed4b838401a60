"""The source."""

__all__ = ["CITATION"]

CITATION = "Yun, Krishnan and Mobahi (2021), A unifying view on implicit bias"
