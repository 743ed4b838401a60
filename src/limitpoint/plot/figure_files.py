"""Writing figures to files."""

from pathlib import Path
from typing import Any

from matplotlib import rc_context, rcParams, rcParamsDefault
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_kind, as_path, as_positive
from limitpoint.foundation.atomic import writing

__all__ = ["check_format", "save"]

# Fonts are embedded as TrueType, which journals ask for; the text of an SVG stays text.
FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}
# Dots per inch, unless matplotlib was told otherwise; and the most that memory is asked for.
DPI = 150.0
LARGEST_DPI = 2400.0


def check_format(path: str | Path) -> None:
    """Raise an error if figures cannot be written in the format that the file's name asks for."""
    known = FigureCanvasAgg.get_supported_filetypes()
    if as_path(path, "path", LimitpointError).suffix.removeprefix(".") not in known:
        raise LimitpointError(
            f"path must be the name of a figure, which ends in one of {', '.join(sorted(known))}; "
            f"it is {path}"
        )


def save(figure: Figure, path: str | Path, *, dpi: float | None = None) -> None:
    """Write a figure in the format its name asks for, whole or not at all, creating its folder.

    Fonts are embedded as TrueType in PDF and PS; the text of an SVG can be searched and edited.

    Parameters
    ----------
    figure
        From one of the functions `plot_…`, or any figure of matplotlib.
    path
        The file.
    dpi
        Dots per inch; by default what matplotlib's settings `savefig.dpi` or `figure.dpi` say if
        they were changed, else 150.
    """
    as_kind(figure, Figure, "a figure, like plot_limit(limit)", "figure", LimitpointError)
    check_format(path)
    path = as_path(path, "path", LimitpointError)
    dots = _dots(figure) if dpi is None else _as_dpi(dpi)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context(FONTS), writing(path) as part:
        figure.savefig(part, dpi=dots)


def _as_dpi(dpi: float) -> float:
    found = as_positive(dpi, "dpi", LimitpointError)
    if found > LARGEST_DPI:
        raise LimitpointError(f"dpi must be at most {LARGEST_DPI:g}; it is {found:g}")
    return found


def _dots(figure: Figure) -> float:
    """Dots per inch by the settings of matplotlib, ours if they were left as they are."""
    if rcParams["savefig.dpi"] != "figure":
        return float(rcParams["savefig.dpi"])
    own = float(figure.dpi)
    return DPI if own == rcParamsDefault["figure.dpi"] else own
