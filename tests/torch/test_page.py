"""The examples for PyTorch of the page on networks of one's own run, in order."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "own_networks.md"


@pytest.mark.torch
def test_the_page_runs(capsys):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python torch\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    namespace = {"__name__": "example"}
    for i, code in enumerate(blocks):
        exec(compile(code, f"{PAGE.name}, block {i}", "exec"), namespace)
    out = capsys.readouterr().out
    assert "Diagonal(depth=3)" in out
    assert "1 (ReLU) is not linear in its input. Leave the nonlinear activation out." in out
