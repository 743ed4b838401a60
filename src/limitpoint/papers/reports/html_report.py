"""One self-contained HTML page from the folders of finished experiments."""

import base64
from html import escape
from pathlib import Path
from typing import Any

from limitpoint.errors import LimitpointError
from limitpoint.foundation.atomic import writing
from limitpoint.papers.experiment import experiments
from limitpoint.papers.reports.folder import read_record
from limitpoint.theory.atlas import theorems

__all__ = ["report"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.8rem; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; margin: 1rem 0; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #ddd; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.pass { color: #00674b; } .fail { color: #b33c00; font-weight: bold; }
dt { font-weight: bold; margin-top: .5rem; } details { margin: .5rem 0; }
code { font-size: .875em; }
"""


def report(out: str | Path = "out", to: str | Path | None = None) -> Path:
    """Build the page from what is finished under `out`; returns where it was written.

    Parameters
    ----------
    out
        The folder of the experiments' folders.
    to
        The page; by default `report.html` in that folder.
    """
    folder = Path(out)
    found = [
        (one.id, record)
        for one in experiments()
        if (record := read_record(folder / one.id)) is not None
    ]
    if not found:
        raise LimitpointError(f"{folder}: no finished experiment here; run limitpoint reproduce")
    page = Path(to) if to is not None else folder / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    with writing(page) as part:
        part.write_text(_page(folder, found), encoding="utf-8")
    return page


def _page(folder: Path, found: list[tuple[str, dict[str, Any]]]) -> str:
    passed = sum(record["passed"] for _, record in found)
    rows = "".join(
        f'<tr><td><a href="#{name}">{escape(name)}</a></td><td>{escape(record["title"])}</td>'
        f'<td class="number">{sum(c["passed"] for c in record["checks"])}/{len(record["checks"])}'
        f'</td><td class="number">{record["seconds"]:.1f}</td>{_word(record["passed"])}</tr>'
        for name, record in found
    )
    missing = len(experiments()) - len(found)
    left = f" {missing} more are not finished." if missing else ""
    sections = "".join(_section(folder / name, name, record) for name, record in found)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>limitpoint: the papers' figures</title><style>{STYLE}</style></head><body>"
        "<h1>The figures of the papers, reproduced</h1>"
        f"<p>{passed} of {len(found)} experiments pass every check.{left}</p>"
        "<table><thead><tr><th>experiment</th><th></th><th>checks</th><th>seconds</th><th></th>"
        f"</tr></thead><tbody>{rows}</tbody></table>{sections}</body></html>\n"
    )


def _section(folder: Path, name: str, record: dict[str, Any]) -> str:
    image = base64.b64encode((folder / "figure.png").read_bytes()).decode("ascii")
    checks = "".join(
        f'<tr><td>{escape(c["name"])}</td><td class="number">{_number(c["measured"])}</td>'
        f'<td class="number">{_number(c["expected"])}</td>'
        f'<td class="number">{_number(c["tolerance"])}</td>{_word(c["passed"])}</tr>'
        for c in record["checks"]
    )
    known = {theorem.id: theorem for theorem in theorems()}
    shown = "".join(
        f"<dt><code>{escape(id)}</code> {escape(known[id].citation)}</dt>"
        f"<dd>{escape(known[id].statement)}</dd>"
        for id in record["theorems"]
        if id in known
    )
    settings = "".join(
        f"<tr><td>{escape(key)}</td><td>{escape(str(value))}</td></tr>"
        for key, value in {**record["configuration"], **record["versions"]}.items()
    )
    return (
        f'<h2 id="{name}">{escape(record["title"])}</h2><p>{escape(record["setup"])}</p>'
        f'<img alt="{escape(record["title"])}" src="data:image/png;base64,{image}">'
        "<table><thead><tr><th>check</th><th>measured</th><th>expected</th><th>tolerance</th>"
        f"<th></th></tr></thead><tbody>{checks}</tbody></table>"
        f"<details><summary>Theorems</summary><dl>{shown}</dl></details>"
        f"<details><summary>Configuration and versions</summary><table>{settings}</table></details>"
    )


def _word(passed: bool) -> str:
    return f'<td class="{"pass" if passed else "fail"}">{"pass" if passed else "FAIL"}</td>'


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4g}"
