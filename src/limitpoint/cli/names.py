"""Names that options take, as plain text: --help and shell completion load no network for them.

A test compares them with the registries. Those of extensions are known when a command runs.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from limitpoint.errors import LimitpointError

__all__ = [
    "EXPERIMENTS",
    "LOSSES",
    "NETWORKS",
    "OPTIMISERS",
    "PROBES",
    "SHORT_NETWORKS",
    "chosen",
    "completing",
    "did_you_mean",
    "hyphened",
]

NETWORKS = (
    "diagonal",
    "power",
    "signed_power",
    "paired",
    "rank_one",
    "fully_connected",
    "two_layer",
    "relu",
    "convolutional",
    "matrix_product",
)
SHORT_NETWORKS = ("conv", "fc", "matrix")
LOSSES = ("exponential", "logistic")
OPTIMISERS = ("gd", "sgd", "label_noise")
PROBES = ("start_term", "noise_term")
EXPERIMENTS = (
    "even2023-recovery",
    "even2023-weight_decay",
    "labarriere2024-figure3",
    "labarriere2024-figure4",
    "labarriere2024-appendixA3",
    "labarriere2024-theorem1",
    "lyu2023-figure5",
    "lyu2023-figure6",
    "lyu2023-figure7",
    "lyu2023-figure8",
    "lyu2023-figure9",
    "lyu2023-figure10",
    "lyu2023-figure11",
    "lyu2023-figure12",
    "lyu2023-proposition1",
    "lyu2023-proposition2",
    "varre2023-figure1a",
    "varre2023-figure1b",
    "varre2023-figure2",
    "varre2023-figure3",
    "varre2023-figure4",
    "varre2023-figure5",
    "yun2021-figure1",
    "yun2021-figure3_classification",
    "yun2021-figure3_regression",
    "yun2021-classification_deep",
    "yun2021-classification_directions",
    "yun2021-corollary4",
    "yun2021-dense_vanishing",
    "yun2021-design",
    "yun2021-generic_directions",
    "yun2021-one_sample",
    "zhao2026-figure1",
    "zhao2026-figure2",
    "zhao2026-figure3",
    "zhao2026-figure4",
    "zhao2026-appendixC1",
    "zhao2026-section8_2",
)


def hyphened(names: Iterable[str]) -> list[str]:
    """On the command line words are joined by hyphens, in problem files by underscores."""
    return [name.replace("_", "-") for name in names]


def completing(*names: str) -> Callable[[str], list[str]]:
    """What completes one of these names in a shell."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in hyphened(names) if name.startswith(incomplete)]

    return complete


def _plain(name: str) -> str:
    return name.replace("_", "-").lower()


def chosen(name: str, known: Iterable[str], option: str) -> str:
    """The name of a table that is meant, in whatever case and with or without hyphens."""
    letters = {one.replace("_", ""): one for one in known}
    found = letters.get(_plain(name).replace("-", ""))
    if found is None:
        listed = ", ".join(hyphened(letters.values()))
        near = did_you_mean(name, letters.values())
        raise LimitpointError(f"{option} must be one of {listed}; it is {name}{near}")
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest of the names as a question, if one is near."""
    near = get_close_matches(_plain(name), hyphened(known), n=1)
    return f". Did you mean {near[0]}?" if near else ""
