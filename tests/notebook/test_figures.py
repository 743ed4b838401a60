"""Figures in a notebook: each shows itself once, whatever was imported before."""

import nbformat
import pytest
from nbclient import NotebookClient

import limitpoint as lp

SETUP = """
import limitpoint as lp
network, task = lp.Diagonal(depth=2), lp.examples.zhao_eq7()
problem = lp.Problem(network, lp.Init.random(network, task, 1e-2, seed=0), task)
classes = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
turning = lp.Problem(network, lp.Init.random(network, classes, 0.5, seed=0), classes)
limit, run = lp.predict(problem), lp.flow(problem)
wide, outputs = lp.TwoLayer(width=3), lp.Regression([[1.0, 2.0], [2.0, 1.0]], [[1.0], [3.0]])
matrices = lp.flow(lp.Problem(wide, lp.Init.random(wide, outputs, 0.1, seed=0), outputs))
"""
# One cell for each function that draws.
CELLS = {
    "plot_limit": "lp.plot.plot_limit(limit)",
    "plot_limit_direction": "lp.plot.plot_limit_direction(lp.analysis.limit_direction(turning))",
    "plot_network": "lp.plot.plot_network(network)",
    "plot_path": "lp.plot.plot_path(lp.predict_path(problem, [1e-3, 1e-1]))",
    "plot_saddles": "lp.plot.plot_saddles(lp.saddle_path(task.X, task.y))",
    "plot_spectrum": "lp.plot.plot_spectrum(lp.spectral.spectrum(matrices))",
    "plot_sweep": "lp.plot.plot_sweep(lp.train_many(problem, [lp.GD(1e-2)], 10))",
    "plot_trajectory": "lp.plot.plot_trajectory(run, limit)",
}
# What may have been run before, in this order in one notebook.
BEFORE = ("", "import matplotlib.pyplot as plt", "%matplotlib inline")
QUIET = "figure = lp.plot.plot_limit(limit)"
# Axes of pyplot under its inline backend: drawn into, and then the end of the cell.
SUBPLOTS = """
own, axes = plt.subplots()
drawn = lp.plot.plot_limit(limit, panels="coefs", ax=axes)
"""
OWN = {
    "assigned": SUBPLOTS,
    "last": SUBPLOTS + "drawn",
    "the caller's figure last": SUBPLOTS + "own",
    "drawn into last": SUBPLOTS + 'lp.plot.plot_limit(limit, panels="coefs", ax=axes)',
    "ended by a semicolon": SUBPLOTS + "drawn;",
    "shown by pyplot": SUBPLOTS + "plt.show()",
    "displayed": SUBPLOTS + "display(drawn)",
    "two panels": """
own, axes = plt.subplots(2)
lp.plot.plot_limit(limit, panels="coefs", ax=axes[0])
lp.plot.plot_saddles(lp.saddle_path(task.X, task.y), panels="coefs", ax=axes[1])
""",
    "saved": SUBPLOTS + 'lp.plot.save(drawn, "own.png")\ndrawn',
}
# Afterwards the figure is the caller's: it can be shown again, copied and saved.
AFTER = SUBPLOTS + "import pickle\nplt.close(pickle.loads(pickle.dumps(drawn)))\ndrawn"
AGAIN = "assert plt.get_fignums() == []\ndrawn"
# Figures that pyplot shows only when asked.
SILENT = "plt.ioff()" + SUBPLOTS + "drawn"
OPEN = "assert plt.get_fignums()\nplt.close()\nplt.ion();"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The cells of a notebook after a run, by what was run before and by name."""
    cells = {("", "setup"): SETUP}
    for before in BEFORE:
        cells[before, "before"] = before
        cells |= {(before, name): source for name, source in CELLS.items()}
        cells[before, "quiet"] = QUIET
    cells |= {("own", name): source for name, source in OWN.items()}
    cells |= {("own", "after"): AFTER, ("own", "again"): AGAIN}
    cells |= {("own", "silent"): SILENT, ("own", "open"): OPEN}
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells.values()]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        folder = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
        NotebookClient(notebook, kernel_name="python3", timeout=600, resources=folder).execute()
    return dict(zip(cells, notebook.cells, strict=True))


def test_every_function_has_a_cell():
    assert set(CELLS) == {name for name in lp.plot.__all__ if name.startswith("plot_")}


@pytest.mark.parametrize("before", BEFORE, ids=["nothing", "pyplot", "inline"])
def test_every_figure_is_shown_once(executed, before):
    for name in CELLS:
        (output,) = executed[before, name].outputs
        assert output.output_type == "execute_result", name
        assert "image/png" in output.data, name
    assert executed[before, "quiet"].outputs == []


@pytest.mark.parametrize("name", [*OWN, "after", "again", "silent"])
def test_axes_of_pyplot_are_shown_once(executed, name):
    (output,) = executed["own", name].outputs
    assert output.output_type in ("display_data", "execute_result")
    assert "image/png" in output.data


def test_a_figure_that_pyplot_does_not_show_stays_open(executed):
    assert executed["own", "open"].outputs == []
