"""Documentation that cannot drift: its examples run, and nothing public is left out."""

import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import typer
from tests.papers.toys import Toy

import limitpoint as lp
from limitpoint.cli import main
from limitpoint.cli.program import app
from limitpoint.io import TABLES
from limitpoint.papers.errata import ErrataList, errata

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
COMMANDS = typer.main.get_command(app).commands


def blocks(page, *languages):
    """The fenced code blocks of a page in the given languages."""
    text = page.read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [code for language, code in fenced if language in languages]


def shell_lines(page):
    lines = "\n".join(blocks(page, "console", "bash", "sh")).splitlines()
    lines = [line.removeprefix("$ ").split(" #")[0].strip() for line in lines]
    return [line for line in lines if line.startswith("limitpoint ")]


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
WITH_COMMANDS = [page for page in PAGES if shell_lines(page)]


def demonstrated(count):
    """Some of the errata, shown."""
    return ErrataList(tuple((one, one.demonstrate()) for one in errata()[:count]))


def test_the_pages_are_there():
    names = {page.name for page in PAGES}
    assert {"README.md", "guide.md", "cli.md", "api.md"} <= names
    assert {"README.md", "guide.md"} <= {page.name for page in WITH_PYTHON}


@pytest.mark.slow
@pytest.mark.usefixtures("as_registered")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "example"}
    for i, code in enumerate(blocks(page, "python")):
        exec(compile(code, f"{page.name}, block {i}", "exec"), namespace)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_shell_examples_name_commands_and_options_that_exist(page):
    for line in shell_lines(page):
        command, *arguments = shlex.split(line)[1:]
        if command == "COMMAND":  # the synopsis
            continue
        assert command in COMMANDS, line
        known = {option for parameter in COMMANDS[command].params for option in parameter.opts}
        used = {argument.split("=")[0] for argument in arguments if argument.startswith("--")}
        assert used <= known, line


# What needs data of one's own, or the experiments themselves.
NOT_RUN = re.compile(r"--sensors A\.npy|reproduce [a-z]")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "count"), [("README.md", 12), ("docs/cli.md", 24)])
def test_commands_run_in_order(page, count, tmp_path, monkeypatch, capsys):
    """From an empty folder, with all that they need made by those before; few experiments."""
    monkeypatch.chdir(tmp_path)
    toys, shown = (Toy(number=0), Toy(number=1)), demonstrated(2)
    for place in ("limitpoint.papers", "limitpoint.papers.reports.html_report"):
        monkeypatch.setattr(f"{place}.experiments", lambda: toys)
    monkeypatch.setattr("limitpoint.papers.errata.demonstrate_all", lambda: shown)
    lines = [
        line.split(" #")[0]
        for code in blocks(ROOT / page, "console")
        for line in code.splitlines()
        if not NOT_RUN.search(line)
    ]
    ran = 0
    for command, *arguments in map(shlex.split, lines):
        if command == "cd":
            monkeypatch.chdir(*arguments)
        elif command == "limitpoint" and arguments[0] != "COMMAND":  # the synopsis
            monkeypatch.setattr("sys.argv", [command, *arguments])
            with pytest.raises(SystemExit) as end:
                main()
            out, err = capsys.readouterr()
            assert (end.value.code or 0) == 0, f"{arguments}: {err}"
            assert out or err, arguments
            ran += 1
    assert ran >= count


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(name):
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"`limitpoint {name}`" in text
    for parameter in COMMANDS[name].params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert re.search(rf"`{re.escape(option)}[ `]", text), option


def test_every_entry_of_a_problem_file_is_documented():
    page = ROOT / "docs" / "cli.md"
    text = page.read_text(encoding="utf-8")
    for table, entries in TABLES.items():
        for entry in entries:
            assert f"`{table}.{entry}`" in text
    (example,) = blocks(page, "toml")
    content = tomllib.loads(example)
    assert set(content) == set(TABLES)
    for table, entries in content.items():
        assert set(entries) <= TABLES[table]


def test_exit_statuses_are_documented():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for status in (0, 1, 2, 3, 130):
        assert re.search(rf"^\| {status} \|", text, flags=re.MULTILINE)


def test_public_names_exist():
    for name in lp.__all__:
        assert getattr(lp, name) is not None


# Rooms whose names are listed one by one.
ROOMS = ("results", "atlas", "analysis", "spectral", "sde", "extend", "plot", "torch")


def test_every_public_name_has_one_line_in_the_api_page():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w.]+)` \|", text, flags=re.MULTILINE)
    rooms = {name for name in lp.__all__ if isinstance(getattr(lp, name), ModuleType)}
    wanted = [name for name in lp.__all__ if name not in rooms]
    wanted += [f"{room}.{name}" for room in ROOMS for name in getattr(lp, room).__all__]
    files = ("Table", "load", "load_problem", "read_run", "read_table", "save", "save_problem")
    wanted += [f"io.{name}" for name in files]
    wanted += [f"lp.{room}" for room in rooms - {*ROOMS, "io"}]
    assert sorted(listed) == sorted(wanted)


def test_there_are_less_than_forty_names_at_the_top():
    top = [name for name in lp.__all__ if not isinstance(getattr(lp, name), ModuleType)]
    assert len(top) < 40


def test_every_public_name_has_a_docstring():
    for name in lp.__all__:
        assert getattr(lp, name).__doc__, name


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"], "it is read from the package"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'version: "{lp.__version__}"' in citation
    assert lp.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    lowest = project["requires-python"].removeprefix(">=")
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for mentioned in re.findall(r"Python (\d+\.\d+)", page.read_text(encoding="utf-8")):
            assert mentioned == lowest, page.name


def test_links_between_pages_lead_somewhere():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_make_targets_in_the_documentation_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for block in blocks(page, "console", "bash"):
            used = set(re.findall(r"^(?:\$ )?make (\w+)", block, flags=re.MULTILINE))
            assert used <= targets, page.name
