"""What is installed, and by which command: metadata, README, Makefile and CI agree."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from tests.install.__main__ import _oldest

import limitpoint as lp
from limitpoint import versions
from limitpoint.foundation.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = PROJECT["optional-dependencies"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What the libraries are called in metadata.
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def named(bounds):
    return {re.match(r"[\w-]+", bound)[0].lower() for bound in bounds}


def makefile():
    """The words after the name of each target, and what it runs."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^([\w$()]+):((?: [\w$().]+)*)[^\n:]*\n((?:\t.*\n)*)", text, re.MULTILINE)
    return {name: (needs.split(), lines) for name, needs, lines in found}


def test_extras_bring_what_errors_say():
    for library, extra in EXTRAS.items():
        assert DISTRIBUTIONS.get(library, library) in named(OPTIONAL[extra])
        assert DISTRIBUTIONS.get(library, library) not in named(PROJECT["dependencies"])


def test_all_and_the_checkout_have_every_extra():
    ours = set(OPTIONAL) - {"all", "dev", "torch"}  # PyTorch is larger than all the rest
    (every,) = OPTIONAL["all"]
    assert every == f"limitpoint[{','.join(name for name in OPTIONAL if name in ours)}]"
    assert "limitpoint[all]" in OPTIONAL["dev"]
    targets = makefile()
    assert '-e ".[dev]"' in targets["$(READY)"][1]
    for name in ("demo", "test"):
        assert targets[name][0] == ["$(READY)"]


def test_the_readme_says_how_to_install():
    for command in ("pip install .\n", 'pip install ".[all]"', "pip install dist/limitpoint-*.whl"):
        assert command.strip() in re.sub(r" +#.*", "", README)
    assert "python -m build" in README
    rows = dict(re.findall(r"^\| (?:`\[(\w+)\]`|–) \| ([^|]+) \|", README, re.MULTILINE))
    brought = {extra: rows[extra].lower() for extra in rows}
    assert set(brought) == {"", *OPTIONAL} - {"dev"}
    for extra, bounds in {"": PROJECT["dependencies"], **OPTIONAL}.items():
        for library in named(bounds) - {"limitpoint", "tomli-w"} if extra != "dev" else ():
            assert library in brought[extra], extra


def test_the_classifiers_and_the_citation():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    pythons = [re.search(r":: (3\.\d+)$", one) for one in PROJECT["classifiers"]]
    assert min(found[1] for found in pythons if found) == lowest
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for entry in ("message", "title", "type", "authors", "abstract", "keywords", "version"):
        assert re.search(rf"^{entry}: *\S?", citation, re.MULTILINE), entry
    assert f"license: {PROJECT['license']}" in citation


def test_ci_is_everything_and_is_what_runs():
    targets = makefile()
    assert {"test", "wheel", "torch"} <= set(targets["ci"][0])
    assert "-m tests.install" in targets["wheel"][1]
    assert "pytest -m torch" in targets["torch"][1]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "exec make ci"


def test_the_oldest_libraries_are_those_that_are_allowed():
    wanted = PROJECT["dependencies"] + [
        bound for name, bounds in OPTIONAL.items() if name != "dev" for bound in bounds
    ]
    pinned = dict(line.split("==") for line in _oldest(PROJECT))
    assert pinned == dict(bound.split(">=") for bound in wanted if ">=" in bound)


@pytest.mark.parametrize("there", [True, False])
def test_versions_of_everything_that_can_be_used(monkeypatch, capsys, there):
    def version(name):
        if not there:
            raise PackageNotFoundError(name)
        return f"{name}'s"

    monkeypatch.setattr(versions, "version", version)
    lp.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["limitpoint"] == lp.__version__
    offered = [
        (library, extra)
        for extra, bounds in {"": PROJECT["dependencies"], **OPTIONAL}.items()
        for library in named(bounds)
        if extra not in ("all", "dev")
    ]
    assert set(shown) == {"limitpoint", "Python", "system", "executable", *dict(offered)}
    for library in dict(offered):
        extras = {extra for one, extra in offered if one == library}
        missing = {f"–  (limitpoint[{extra}])" if extra else "–" for extra in extras}
        assert shown[library] in ({f"{library}'s"} if there else missing)
