"""The figure of docs/architecture.md: the rooms, and what flows through them."""

import sys

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Rooms: name, what is in it, left edge, lower edge, width.
HEIGHT = 0.9
ROOMS = (
    ("cli", "the limitpoint command", 0.0, 8.4, 4.6),
    ("papers", "experiments, errata, reproduce", 5.0, 8.4, 4.6),
    ("results  atlas  analysis  spectral  sde  extend", "they only re-export", 10.0, 8.4, 4.6),
    ("plot  estimators", "figures, scikit-learn", 10.0, 7.0, 4.6),
    ("verify", "prediction and simulation meet: Verdict", 0.0, 7.0, 9.6),
    ("theory", "predict, theorems/, solvers/, certificates/", 0.0, 5.3, 7.0),
    ("dynamics", "flow, flows/, integrate/, training/", 7.6, 5.3, 7.0),
    ("problem  io", "network + start + data; files", 0.0, 3.9, 14.6),
    ("networks", "layers → coefficients", 0.0, 2.5, 4.6),
    ("mirror", "β = Ψ(ξ); charts/", 5.0, 2.5, 4.6),
    ("tasks  init", "the data; where layers start", 10.0, 2.5, 4.6),
    ("foundation", "arrays, values and their files, registry, linear algebra", 0.0, 1.1, 14.6),
)
COLOURS = {"verify": "#fde9c9", "theory": "#d5e6f5", "dynamics": "#f6d9d5"}
# From whom to whom a result goes, in words.
FLOWS = (
    ((3.5, 4.8), (3.5, 5.3), ""),
    ((11.1, 4.8), (11.1, 5.3), ""),
    ((3.5, 6.2), (3.5, 7.0), "Limit"),
    ((8.8, 6.2), (8.8, 7.0), "Trajectory"),
)


def draw() -> Figure:
    figure = Figure(figsize=(10.5, 6.2), layout="constrained")
    axes = figure.subplots()
    for name, words, left, low, width in ROOMS:
        colour = COLOURS.get(name, "#f2f2ee")
        axes.add_patch(
            FancyBboxPatch(
                (left, low),
                width,
                HEIGHT,
                boxstyle="round,pad=0.02,rounding_size=0.12",
                facecolor=colour,
                edgecolor="#444444",
                linewidth=0.9,
            )
        )
        small = len(name) > 30
        axes.text(left + width / 2, low + 0.58, name, ha="center", va="center", weight="bold")
        axes.texts[-1].set_fontsize(7.5 if small else 10.5)
        axes.text(left + width / 2, low + 0.24, words, ha="center", va="center", fontsize=8)
    for start, end, words in FLOWS:
        arrow = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=14, color="#333333")
        axes.add_patch(arrow)
        if words:
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
            axes.text(middle[0] + 0.15, middle[1] - 0.02, words, fontsize=8.5, style="italic")
    axes.text(7.3, 6.6, "share no solver", ha="center", va="center", fontsize=8.5, color="#884444")
    axes.set_xlim(-0.2, 14.8)
    axes.set_ylim(0.9, 9.5)
    axes.axis("off")
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1], dpi=130)
