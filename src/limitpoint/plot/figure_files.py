"""Writing figures to files."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_kind, as_path
from limitpoint.foundation.atomic import writing

__all__ = ["check_format", "save"]


def check_format(path: str | Path) -> None:
    """Raise an error if figures cannot be written in the format that the file's name asks for."""
    known = FigureCanvasAgg.get_supported_filetypes()
    if as_path(path, "path", LimitpointError).suffix.removeprefix(".") not in known:
        raise LimitpointError(
            f"path: {path}: a figure's name must end in one of {', '.join(sorted(known))}"
        )


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format its name asks for, whole or not at all, creating its folder."""
    as_kind(figure, Figure, "a figure, like plot_limit(limit)", "figure", LimitpointError)
    check_format(path)
    path = as_path(path, "path", LimitpointError)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as part:
        figure.savefig(part, dpi=150)
