"""A notebook with a cell for each kind of value, executed: each is shown once, as a table."""

import re
from html.parser import HTMLParser

import nbclient
import nbformat
import pytest

SETUP = """
import pickle
import numpy as np
import limitpoint as lp

task = lp.examples.zhao_eq7()
network = lp.Diagonal(depth=2)
problem = lp.Problem(network, lp.Init.random(network, task, scale=1e-2, seed=0), task)
limit = lp.predict(problem)
flow = lp.flow(problem)
classes = lp.Classification([[1, 2], [0, -3]], [1, -1])
separated = lp.Problem(network, lp.Init.zero_last(network, classes, scale=0.1), classes)
matrices = lp.TwoLayer(width=3)
outputs = lp.Regression(np.eye(2), [[2.0, 0.0], [0.0, 1.0]])
orthogonal = lp.Init.orthogonal(matrices, outputs, gamma=0.01)
two_layers = lp.Problem(matrices, orthogonal, outputs)
start = lp.Init.random(matrices, outputs, 0.1, seed=0)
unknown = lp.Problem(matrices, start, outputs)
rank_one = lp.RankOne(depth=2)
balanced = lp.Problem(rank_one, lp.Init.balanced(rank_one, task, norm=1.0), task)
model = lp.sde.SGDModel(balanced, lp.SGD(learning_rate=1e-3, batch_size=1))
run = lp.train(two_layers, lp.GD(0.1), steps=200)
"""
RESULTS = {
    "limit": "limit",
    "limit of a classification": "lp.predict(separated)",
    "limit path": "lp.predict_path(problem, [1e-3, 1.0])",
    "proof": "lp.prove(problem)",
    "balls": "lp.prove(problem).coef",
    "flow": "flow",
    "training": "run",
    "sweep": "lp.train_many(balanced, [lp.GD(1e-3)], 50, scales=[0.5, 1.0])",
    "saddle path": "lp.saddle_path(task.X, task.y)",
    "verdict": "lp.verify(problem)",
    "explanation": "lp.explain(problem)",
    "explanation without a theorem": "lp.explain(unknown)",
    "spectrum": "lp.spectral.spectrum(run)",
    "jumps": "lp.spectral.spectral_jumps(two_layers)",
    "limit direction": "lp.analysis.limit_direction(separated)",
    "activation times": "lp.analysis.activation_times(network, problem.init)",
    "drift": "lp.analysis.drift(matrices, run)",
    "paths": "lp.sde.simulate(model, t_end=0.1, paths=4, records=5)",
    "certificate": "limit.certificate",
    "check": "lp.results.Check('distance', 1e-9, 1e-6, 'accuracy of the flow')",
    "theorem": "limit.theorem",
    "condition": "lp.explain(problem).rows[0][1][0]",
    "problem": "problem",
    "task": "task",
    "classification": "classes",
    "initialisation": "problem.init",
}
# Settings print as their one line: tables of one or two numbers say no more.
SETTINGS = {
    "network": "network",
    "optimiser": "lp.SGD(learning_rate=1e-3, batch_size=1)",
    "coordinates": "lp.SampleSpace()",
    "probe": "lp.analysis.Distance([1.0, 2.0])",
}
HANDLED = """
try:
    lp.predict(unknown)
except lp.errors.NoTheoremApplies as error:
    refusal = error
again = pickle.loads(pickle.dumps(refusal))
assert again.explanation == lp.explain(unknown)
text = str(limit) + repr(limit) + str(refusal) + str(lp.explain(unknown).full())
"""
OTHERS = {
    "handled": HANDLED,
    "full explanation": "lp.explain(problem).full()",
    "status": "limit.status",
    "print status": "print(limit.status)",
}


@pytest.fixture(scope="module")
def cells():
    """What every cell has put out, by its name."""
    sources = {"setup": SETUP, **OTHERS}
    for name, source in (RESULTS | SETTINGS).items():
        sources |= {name: source, f"print {name}": f"print({source})"}
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources.values()]
    # A kernel may send one print in pieces.
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", allow_errors=True, coalesce_streams=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS")
        client.execute()
    return dict(zip(sources, (cell.outputs for cell in notebook.cells), strict=True))


class Tables(HTMLParser):
    """The tables of a page: how many, how many rows each has, and whether all tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.rows = [], []
        self.feed(page)

    def handle_starttag(self, tag, _):
        if tag == "br":
            return
        self.open.append(tag)
        if tag == "table":
            self.rows.append(0)
        if tag == "tr" and "tbody" in self.open:
            self.rows[-1] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["setup", "handled"])
def test_nothing_is_shown_that_was_not_asked_for(cells, name):
    assert cells[name] == []


@pytest.mark.parametrize("name", [*RESULTS, *SETTINGS])
def test_a_value_is_displayed_once(cells, name):
    (output,) = cells[name]
    assert output.output_type == "execute_result"
    line = output.data["text/plain"]
    assert re.fullmatch(r"\w+\(.+\)", line)
    assert len(line) < 250
    page = output.data["text/html"]
    tables = Tables(page)
    assert tables.open == []
    assert tables.rows
    assert min(tables.rows) > 0
    assert "<pre" not in page
    # No colours: light and dark themes have their own.
    assert set(re.findall(r"(?<!\w)(?:color|background)[^;\"]*", page)) <= {"color:inherit"}


@pytest.mark.parametrize("name", [*RESULTS, *SETTINGS])
def test_a_value_is_printed_once(cells, name):
    (output,) = cells[f"print {name}"]
    assert output.output_type == "stream"
    lines = output.text.rstrip("\n").split("\n")
    assert max(map(len, lines)) <= 100
    if name in SETTINGS:
        assert output.text == cells[name][0].data["text/plain"] + "\n"
    else:
        assert len(lines) > 2


def test_the_statuses_are_sentences_and_the_full_explanation_is_a_page(cells):
    (shown,), (printed,) = cells["status"], cells["print status"]
    assert shown.data["text/plain"].startswith("<Status.CONVERGED: 'Converged")
    assert printed.text.startswith("Converged: ")
    (full,) = cells["full explanation"]
    assert len(Tables(full.data["text/html"]).rows) > 20
    assert re.fullmatch(r"Page\(\d+ tables\)", full.data["text/plain"])


def test_the_one_line_says_what_it_is(cells):
    lines = {name: cells[name][0].data["text/plain"] for name in RESULTS}
    theorem = "labarriere2024.theorem1"
    assert lines["limit"] == f"Limit(4 coefficients, 4 nonzero, theorem {theorem}, certified)"
    flow = r"Trajectory\(gradient flow in sample space, \d+ records, 4 coefficients, converged\)"
    assert re.fullmatch(flow, lines["flow"])
    assert lines["explanation"].startswith(f"Explanation({theorem} is used, ")
    assert lines["verdict"].startswith("Verdict(PASSED, ")
