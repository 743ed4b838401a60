"""What is loaded when: the base install does without JAX, matplotlib, scikit-learn and xarray."""

import subprocess
import sys

import pytest

HEAVY = ("jax", "cvxpy", "clarabel", "matplotlib", "sklearn", "xarray", "pandas", "torch")
BASE = [name for name in HEAVY if name != "clarabel"]
PROBLEM = """
import numpy as np, limitpoint as lp
rng = np.random.default_rng(0)
X, y = rng.standard_normal((4, 8)), rng.standard_normal(4)
task, network = lp.Regression(X, y), lp.Diagonal(2)
problem = lp.Problem(network, lp.Init.random(network, task, scale=0.1, seed=0), task)
dense = lp.FullyConnected((5,))
coupled = lp.Problem(dense, lp.Init.balanced(dense, task, scale=0.5, seed=0), task)
classes = lp.Classification(X, np.sign(y))
separable = lp.Problem(network, lp.Init.random(network, classes, scale=0.1, seed=0), classes)
"""
# A library that is not installed, as the import system sees it.
MISSING = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def run(code: str) -> str:
    """What a new Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy():
    code = (
        "import sys, limitpoint; print(*[name for name in (*{}, 'numpy') if name in sys.modules])"
    )
    assert run(code.format(HEAVY)).split() == []


def test_functions_are_not_hidden_by_modules_of_their_name():
    code = """
import pkgutil, limitpoint as lp
modules = {module.name for module in pkgutil.iter_modules(lp.__path__)}
for name in modules & {*lp.__all__}:
    __import__(f"limitpoint.{name}")
print(*sorted(name for name in modules & {*lp.__all__} if callable(getattr(lp, name))))
print(*lp._NAMESAKES)
"""
    assert run(code) == "verify\nverify\n"


def test_what_each_verb_loads():
    """The verbs of the base install, one after the other in one process."""
    calls = [
        "lp.predict(problem)",
        "lp.saddle_path(X, y)",
        "print(lp.explain(problem), file=open(__import__('os').devnull, 'w'))",
        "lp.flow(problem)",
        "lp.flow(coupled)",
        "lp.verify(separable)",
        "lp.verify(coupled)",
        "lp.GD(0.1), lp.results.Sweep, lp.sde.SGDModel, lp.io, lp.atlas.theorems()",
    ]
    asked = f"print('|', *[name for name in {BASE} if name in __import__('sys').modules])"
    told = run(PROBLEM + "".join(f"{call}\n{asked}\n" for call in calls))
    assert [line.strip() for line in told.strip().splitlines()] == ["|"] * len(calls)


def test_commands_of_the_base_install(tmp_path):
    """In one process, with everything behind extras missing: none draws unless it is told to."""
    commands = (
        "predict",
        "prove",
        "saddles",
        "activation",
        "explain",
        "flow",
        "verify",
        "flow --plot a.png",
    )
    code = f"""{MISSING.format(names=set(BASE))}{PROBLEM}
from limitpoint.cli import main
lp.io.save_problem(problem, "problem.toml")
for command in {commands}:
    name, *options = command.split()
    sys.argv = ["limitpoint", name, "problem.toml", *options]
    try:
        main()
    except SystemExit as end:
        print("exit", end.code, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.stderr.splitlines() == [
        *["exit 0"] * 7,
        'error: --plot needs matplotlib, which is not installed: pip install "limitpoint[plot]"',
        "exit 2",
    ]


@pytest.mark.parametrize(
    ("library", "extra", "call"),
    [
        ("jax", "train", "lp.train(problem, lp.GD(0.1), steps=3)"),
        ("jax", "train", "lp.train_many(problem, lp.GD(0.1), 3)"),
        ("jax", "train", "lp.General(lambda b: b[0] * b[1], block_size=2)"),
        ("matplotlib", "plot", "lp.plot.plot_limit"),
        ("sklearn", "estimators", "lp.estimators.SaddlePathRegressor"),
        ("xarray", "data", "lp.predict(problem).to_xarray()"),
        ("matplotlib", "plot", "lp.papers"),
        ("torch", "torch", "lp.torch.problem(network, X, y)"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(library: str, extra: str, call: str):
    code = MISSING.format(names={library}) + PROBLEM
    told = run(f"{code}\ntry: {call}\nexcept lp.errors.MissingExtra as error: print(error)")
    assert f"needs {library}, which is not installed" in told
    assert told.strip().endswith(f'pip install "limitpoint[{extra}]"')
