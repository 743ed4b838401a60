"""The options that make a problem: what they are called, what they say, where --help lists them."""

from pathlib import Path
from typing import Annotated

import typer

from limitpoint.cli.names import LOSSES, NETWORKS, SHORT_NETWORKS, completing, hyphened
from limitpoint.cli.typed_values import scale_number

__all__ = [
    "METAVARS",
    "OF_SOME_STARTS",
    "PANELS",
    "READING",
    "SCALES",
    "SHORT_NAMES",
    "STARTS",
    "TYPED",
    "Balanced",
    "Classify",
    "Depth",
    "Filters",
    "Gamma",
    "Header",
    "Imbalance",
    "IndexColumn",
    "LogScale",
    "LossFactor",
    "LossName",
    "Margin",
    "NetworkName",
    "Norm",
    "OneNeuron",
    "Orthogonal",
    "Perturbation",
    "ProblemFile",
    "Scale",
    "Seed",
    "Sensors",
    "Shape",
    "Unbiased",
    "Width",
    "Widths",
    "XFile",
    "YFile",
    "ZeroLast",
]

ProblemFile = Annotated[
    Path | None, typer.Argument(help="A problem file (TOML). Or give --X and --y.")
]
XFile = Annotated[
    str | None, typer.Option("--X", help="Data matrix: CSV, TSV, Parquet, NPY or NPZ file.")
]
YFile = Annotated[
    str | None, typer.Option("--y", help="Targets, or classes -1 and 1: a file of the same kinds.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of CSV and TSV files holds names (default: where certain).",
    ),
]
IndexColumn = Annotated[
    bool | None,
    typer.Option(
        "--index-column/--no-index-column",
        help="Whether their first column labels the rows (default: where certain).",
    ),
]
Sensors = Annotated[
    str | None, typer.Option(help="Square matrices instead of --X: matrix sensing (NPY, NPZ, CSV).")
]
Classify = Annotated[
    bool, typer.Option("--classify", help="Separate the classes -1 and 1 instead of fitting y.")
]
LossName = Annotated[
    str | None,
    typer.Option(
        help="With --classify: exponential (default) or logistic.",
        autocompletion=completing(*LOSSES),
    ),
]
SHORT_NAMES = ", ".join(SHORT_NETWORKS)
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--network",
        help=f"Architecture: {', '.join(hyphened(NETWORKS))}; in short {SHORT_NAMES} "
        "(default diagonal, with --sensors matrix-product).",
        autocompletion=completing(*NETWORKS, *SHORT_NETWORKS),
    ),
]
Depth = Annotated[
    int | None, typer.Option(help="Number of layers, or the power (default 2; not for paired).")
]
Width = Annotated[
    int | None, typer.Option(help="Width of a rank-one (default 1) or two-layer network.")
]
Widths = Annotated[
    str | None, typer.Option(help="Hidden widths of a fully connected network, like 10,10.")
]
Filters = Annotated[
    str | None,
    typer.Option(
        help="Filter sizes of a convolutional network: 2 is two layers, 2,3 is three; the last "
        "filter is as long as the data, and counts as left out unless the list ends with that "
        "length. Or full, for filters that are all of that length. With --depth the number of "
        "sizes decides."
    ),
]
Scale = Annotated[
    float | None,
    typer.Option(help="Scale of the initialisation, 0 to inf (default 1).", parser=scale_number),
]
LogScale = Annotated[
    float | None, typer.Option(help="Natural logarithm of the scale, for scales below 1e-300.")
]
Norm = Annotated[
    float | None, typer.Option(help="Norm of the first coefficients, instead of the scale.")
]
Gamma = Annotated[
    float | None, typer.Option(help="γ of the orthogonal start, instead of the scale √(2γ).")
]
Seed = Annotated[int | None, typer.Option(help="Seed of the random direction (default 0).")]
ZeroLast = Annotated[
    bool, typer.Option("--zero-last", help="Start from ones or their like, the last layer zero.")
]
Unbiased = Annotated[
    bool, typer.Option("--unbiased", help="Start from layers of ones that cancel; no seed.")
]
Shape = Annotated[
    float | None, typer.Option(help="Start from pairs of this shape, in (-1, 1); no seed.")
]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Start from layers of equal norm (rank-one, dense).")
]
Imbalance = Annotated[
    float | None, typer.Option(help="Start a rank-one network off balance by this Δ.")
]
OneNeuron = Annotated[
    bool, typer.Option("--one-neuron", help="Start with every other hidden layer one neuron wide.")
]
Orthogonal = Annotated[
    bool, typer.Option("--orthogonal", help="Start from orthonormal rows, then zero (two-layer).")
]
Perturbation = Annotated[
    float | None, typer.Option(help="Size of noise added to the orthogonal start (default 0).")
]
LossFactor = Annotated[
    float | None, typer.Option(help="Factor of the loss, ½‖Xβ − y‖² or Σ e^−margin (default 1).")
]

Margin = Annotated[
    float | None,
    typer.Option(help="Of a classification: stop at this smallest margin (default 1e6)."),
]

# Options that choose the start, and the kind of start that each of them chooses; random if none.
STARTS = {
    "zero_last": "zero_last",
    "unbiased": "unbiased",
    "shape": "shaped",
    "balanced": "balanced",
    "imbalance": "perturbed",
    "one_neuron": "one_neuron",
    "orthogonal": "orthogonal",
}
# Options that belong to some starts only, and those starts where they are not the rule.
OF_SOME_STARTS = {
    "seed": "",
    "norm": "--balanced or --imbalance",
    "gamma": "--orthogonal",
    "perturbation": "--orthogonal",
}
# Options that say how tables are read: to deny one is not to leave it out.
READING = ("header", "index_column")
# Options each of which sets the scale.
SCALES = ("scale", "log_scale", "norm", "gamma")


# The headings under which --help lists them; what is not named here makes the data.
PANELS = {
    "Network": ("network", "depth", "width", "widths", "filters"),
    "Initialisation": (*SCALES, *STARTS, "seed", "perturbation"),
}
# What stands for a value there, instead of its type.
METAVARS = {
    "file": "PROBLEM",
    **dict.fromkeys(("X", "y", "sensors"), "FILE"),
    **dict.fromkeys(("network", "loss"), "NAME"),
    **dict.fromkeys(("widths", "filters"), "N,..."),
}
# Arguments of tasks, networks and starts, as the options that give them; the others are added.
TYPED = {
    "A": "--sensors",
    "filter_sizes": "--filters",
    "shaped": "--shape",
    "perturbed": "--imbalance",
}
