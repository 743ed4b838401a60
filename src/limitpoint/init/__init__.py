"""The initialisation: a direction, and how far along it the layers start."""

from limitpoint.init.initialisation import Init

__all__ = ["Init"]
