"""Writing figures to files."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from limitpoint.errors import LimitpointError

__all__ = ["check_format", "save"]


def check_format(path: str | Path) -> None:
    """Raise an error if figures cannot be written in the format that the file's name asks for."""
    known = FigureCanvasAgg.get_supported_filetypes()
    if Path(path).suffix.removeprefix(".") not in known:
        raise LimitpointError(
            f"{path}: a figure's name must end in one of {', '.join(sorted(known))}"
        )


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format its name asks for, creating its folder."""
    check_format(path)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
