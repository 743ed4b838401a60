"""What a newcomer meets first: --help at once, names in any spelling, statuses that tell."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from tests.papers.toys import Toy

import limitpoint as lp
from limitpoint import cli, dynamics, io, papers
from limitpoint.cli import names
from limitpoint.cli.wording import typed

HEAVY = [
    "jax",
    "diffrax",
    "cvxpy",
    "clarabel",
    "matplotlib",
    "sklearn",
    "xarray",
    "pandas",
    "scipy",
    "numpy",
]
MAIN = "from limitpoint.cli import main; main()"
# A guard against hanging, no measurement.
TOO_LONG = 300
DATA = ("--X", "X.csv", "--y", "y.csv")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in this process, in a folder with data: status, output, errors."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", lp.examples.zhao_eq7().X, delimiter=",")
    np.savetxt("y.csv", lp.examples.zhao_eq7().y, delimiter=",")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["limitpoint", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return call


def python(code, *arguments, **settings):
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        timeout=TOO_LONG,
        check=False,
        **settings,
    )


# ---------------------------------------------------------------- at once


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--help"], {}),
        (["--version"], {}),
        (["sweep", "-h"], {}),
        (["--show-completion", "bash"], {}),
        (["--show-completion", "fish"], {}),
        (
            [],
            {
                "_LIMITPOINT_COMPLETE": "complete_bash",
                "COMP_WORDS": "limitpoint predict --network si",
                "COMP_CWORD": "3",
            },
        ),
    ],
    ids=[
        "help",
        "version",
        "help of a command",
        "script for bash",
        "script for fish",
        "completion",
    ],
)
def test_nothing_heavy_is_loaded_for_help(arguments, environment):
    code = (
        "import sys\n"
        "from limitpoint.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('loaded', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = python(code, *arguments, env={**os.environ, **environment}, encoding="utf-8")
    assert done.returncode == 0
    *shown, loaded = done.stdout.splitlines()
    assert loaded == "loaded []"
    if arguments[:1] == ["--show-completion"]:  # not that of the shell which runs the tests
        bash = "complete -o default -F _limitpoint_completion limitpoint"
        assert (bash in shown) == (arguments[1] == "bash")
        assert any("_LIMITPOINT_COMPLETE=complete_" + arguments[1] in line for line in shown)
    elif not arguments:
        assert shown == ["signed-power"]


def test_importing_errors_or_the_command_loads_no_room():
    code = (
        "import sys, limitpoint.errors, limitpoint.cli\n"
        "print(*sorted(n for n in sys.modules if n.startswith('limitpoint.')))"
    )
    assert python(code, encoding="utf-8").stdout.split() == ["limitpoint.cli", "limitpoint.errors"]


def test_names_are_those_of_the_registries():
    assert tuple(io.NETWORKS) == names.NETWORKS
    assert tuple(io.ALIASES) == names.SHORT_NETWORKS
    assert tuple(dynamics.OPTIMISERS) == names.OPTIMISERS
    assert tuple(dynamics.PROBES) == names.PROBES
    assert tuple(one.id for one in papers.experiments()) == names.EXPERIMENTS
    for loss in names.LOSSES:
        lp.Classification([[1.0]], [1], loss=loss)


def test_help_is_in_parts_and_fits_a_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run("train", "-h")
    assert status == 0
    headings = [line for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["Data:", "Network:", "Initialisation:", "Run:", "Output:", "Help:"]
    assert max(map(len, out.splitlines())) <= 80
    overview = run("-h")[1]
    assert "..." not in overview.replace("[ARGS]...", "")  # no summary is cut off
    assert "Exit status: 0 all went well;" in overview
    assert "130 interrupted" in overview


# ---------------------------------------------------------------- names as typed


@pytest.mark.parametrize(
    ("spelling", "network"),
    [
        ("Diagonal", lp.Diagonal(2)),
        ("signedpower", lp.SignedPower(2)),
        ("SIGNED-POWER", lp.SignedPower(2)),
        ("Signed_Power", lp.SignedPower(2)),
    ],
)
def test_networks_in_any_spelling(run, spelling, network):
    status, out, _ = run("verify", *DATA, "--network", spelling, "--scale", "0.3")
    assert status == 0
    assert f"Problem({network}" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("predcit",), ["No such command 'predcit'", "predict"]),
        (("predict", *DATA, "--network", "digonal"), ["it is digonal. Did you mean diagonal?"]),
        (("train", *DATA, "--optimiser", "sdg"), ["--optimiser must be", "Did you mean sgd?"]),
        (("sweep", *DATA, "--probe", "start"), ["--probe must be one of start-term"]),
        (("reproduce", "zhao2026-figur1"), ["Did you mean zhao2026-figure1?"]),
        (("--show-completion", "tcsh"), ["bash, zsh", "tcsh"]),
        (("predict", *DATA, "--scale", "1e-400"), ["--scale", "--log-scale -921.03404"]),
        (("predict", *DATA, "--scale", "1e400"), ["--scale", "--log-scale 921.03404"]),
        (("predict", *DATA, "--loss-factor", "1e-400"), ["--loss-factor", "below the smallest"]),
        (("sweep", *DATA, "--scales", "1,1e-400"), ["--scales: 1e-400 is below the smallest"]),
        (("scales", *DATA, "--from", "1e-400"), ["--from", "below the smallest float64"]),
        (("train", *DATA, "--batch-size", "100"), ["--batch-size", "samples, 2; it is 100"]),
        (("sweep", *DATA, "--batch-size", "3"), ["--batch-size", "samples, 2; it is 3"]),
        (("train", *DATA, "--optimiser", "sgd"), ["sgd needs --set batch_size"]),
        (("train", *DATA, "--steps", "0"), ["--steps must be a whole number"]),
        (("train", *DATA, "--network", "fc", "--widths", "0"), ["--widths must", "it is 0"]),
        (("predict", *DATA, "--plot", "figure"), ["--plot must be the name of a figure", "png"]),
        (("verify", *DATA, "--scale", "0"), ["log_scale (--log-scale) -2302.6 is 10^-1000"]),
        (("flow", *DATA, "--scale", "0"), ["log_scale (--log-scale) -2302.6 is 10^-1000"]),
        (("predict", "X.csv"), ["X.csv: is not a TOML file", "or given by --X and --y"]),
        (("prove", *DATA, "--digits", "0"), ["--digits must be a whole number, at least 1"]),
        (("prove", *DATA, "--digits", "3000"), ["--digits must be a whole number, at most 2000"]),
    ],
    ids=lambda value: " ".join(value[:1] + value[-2:]) if isinstance(value, tuple) else None,
)
def test_what_is_refused_in_one_line(run, arguments, words):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize("scale", ["0", "0.0", "0e5", "inf", "-0"])
def test_scales_that_are_meant(run, scale):
    assert run("predict", *DATA, "--zero-last", "--scale", scale)[0] == 0


def test_messages_in_words_of_the_command_line():
    options = {"depth": "--depth", "X": "--X", "y": "--y", "loss_factor": "--loss-factor"}
    options |= {"scale": "--scale", "log_scale": "--log-scale", "zero_last": "--zero-last"}
    for message, wanted in {
        "depth must be 2": "--depth must be 2",
        "a paired network has no depth": "a paired network has no --depth",
        "X and y must agree": "--X and --y must agree",
        "at scale 1 the data are hidden": "at scale 1 the data are hidden",
        "give scale or log_scale, not both": "give --scale or --log-scale, not both",
        "use Init.zero_last(network, task, scale)": "use --zero-last",
        "Diagonal(depth=2) has no y": "Diagonal(depth=2) has no --y",
        "loss_factor must be positive": "--loss-factor must be positive",
    }.items():
        assert typed(message, options) == wanted


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("loss_factor = -1.0", "problem.toml: loss_factor must be"),
        ("loss_factor = 1e-400", "problem.toml: 1e-400 is below the smallest float64; as a scale "),
    ],
)
def test_entries_of_a_problem_file_keep_their_names(run, entry, message):
    Path("problem.toml").write_text(
        f'[task]\nX = "X.csv"\ny = "y.csv"\n{entry}\n'
        '[network]\nkind = "Diagonal"\n[init]\nkind = "random"\n',
        encoding="utf-8",
    )
    status, _, err = run("predict", "problem.toml")
    assert status == 2
    assert message in err


# ---------------------------------------------------------------- how it went


def test_what_is_not_certified_exits_with_three(run):
    """Two equal columns: training's choice between them is not the theorem's."""
    Path("X.csv").write_text("1,1\n", encoding="utf-8")
    Path("y.csv").write_text("1\n", encoding="utf-8")
    for command in ("predict", "saddles"):
        given = () if command == "saddles" else ("--scale", "0")
        status, out, err = run(command, *DATA, *given)
        assert status == 3
        assert out
        assert err.startswith("DEGENERATE: ")
        assert len(err.splitlines()) == 1
    status, out, err = run("scales", *DATA, "--points", "2", "--zero")
    assert status == 3
    assert err.startswith("1 of 3 limits are not ok, the first DEGENERATE: ")


def test_what_is_not_proved_exits_with_three(run):
    status, out, err = run("prove", *DATA, "--network", "relu", "--widths", "2")
    assert status == 3
    assert out.startswith("Not proved: ")
    assert err.startswith("not proved: no theorem determines the limit")
    status, out, err = run("prove", *DATA, "--digits", "50")
    assert (status, err) == (0, "")
    assert "to 50 digits" in " ".join(out.split())


def test_what_is_proved_where_float64_gives_up_exits_with_zero(run):
    """Rows that are multiples of each other but for rounding: proved for the data as given."""
    Path("X.csv").write_text("0.1,0.7,0.3\n0.3,2.1,0.9\n", encoding="utf-8")
    Path("y.csv").write_text("1\n3\n", encoding="utf-8")
    status, out, err = run("predict", *DATA, "--zero-last", "--scale", "0.1")
    assert (status, err) == (0, "")
    assert "Proved: float64 alone does not certify this limit" in " ".join(out.split())


def test_runs_that_diverge_exit_with_three(run):
    network = ("--network", "rank-one", "--balanced", "--learning-rate", "10")
    status, _, err = run("sweep", *DATA, *network, "--steps", "200", "--seeds", "1")
    assert status == 3
    assert err.startswith("DIVERGED: 2 of 2 runs")
    status, _, err = run("train", *DATA, "--learning-rate", "100", "--steps", "500")
    assert status == 3
    assert err.startswith("DIVERGED: the loss is infinite, or so large")


def test_what_did_not_arrive_exits_with_three(run, monkeypatch):
    sizes = ("--network", "two-layer", "--width", "3")
    status, _, err = run("spectrum", *DATA, *sizes, "--learning-rate", "100", "--steps", "200")
    assert (status, err.partition(":")[0]) == (3, "DIVERGED")

    halted = SimpleNamespace(status=lp.Status.STEP_LIMIT)
    plane = SimpleNamespace(runs=[SimpleNamespace(run=halted)], figure=None, to_dict=dict)
    monkeypatch.setattr("limitpoint.cli.plane_runs.follow", lambda *_: plane)
    status, _, err = run("plane", "--json")
    assert (status, err.partition(":")[0]) == (3, "STEP_LIMIT")

    turning = SimpleNamespace(status=lp.Status.SEPARATED, to_dict=dict)
    monkeypatch.setattr(dynamics, "limit_direction", lambda *_, **__: turning)
    np.savetxt("y.csv", [1, -1])
    status, _, err = run("direction", *DATA, "--classify", "--json")
    assert status == 3
    assert err.startswith("SEPARATED: the direction had not converged")


def test_an_end_that_was_asked_for_is_no_failure(run):
    assert run("flow", *DATA, "--t-end", "0.5")[0] == 0
    assert run("train", *DATA, "--steps", "5")[0] == 0
    np.savetxt("y.csv", [1, -1])
    status, _, err = run("direction", *DATA, "--classify", "--depth", "3", "--log-margin", "50")
    assert (status, err) == (0, "")


def test_a_flow_that_comes_to_rest_exits_with_three(run):
    """Coefficients that keep their sign, on data that ask for the other."""
    np.savetxt("X.csv", [[1.0, 2.0], [0.0, -3.0]], delimiter=",")
    np.savetxt("y.csv", [-1, 1])
    status, _, err = run("flow", *DATA, "--classify", "--network", "power")
    assert status == 3
    assert err.startswith("AT_REST: ")


def test_figures_are_not_written_over(run, monkeypatch):
    Path("figure.png").write_bytes(b"mine")
    Path("page.html").write_bytes(b"mine")
    with monkeypatch.context() as patched:
        patched.setattr(lp, "predict", None)  # refused before anything is computed
        status, out, err = run("predict", *DATA, "--plot", "figure.png")
    assert (status, out) == (2, "")
    assert err == "error: figure.png is there already: add --overwrite to replace it\n"
    assert Path("figure.png").read_bytes() == b"mine"
    assert run("report", "--to", "page.html")[2].startswith("error: page.html is there already")
    assert run("predict", *DATA, "--overwrite", "--plot", "figure.png")[0] == 0
    assert Path("figure.png").read_bytes() != b"mine"
    assert run("predict", *DATA, "--plot", "figure.png", "--overwrite")[0] == 0


def test_a_figure_without_matplotlib_is_refused_before_anything_is_computed(run, monkeypatch):
    monkeypatch.setattr(lp, "predict", None)
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    status, _, err = run("predict", *DATA, "--plot", "figure.png")
    assert status == 2
    assert err == (
        'error: --plot needs matplotlib, which is not installed: pip install "limitpoint[plot]"\n'
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_named(run, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as full, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        status, _, err = run("activation", *DATA)
        with pytest.raises(OSError, match="No space"):
            full.close()
    assert (status, err) == (2, "error: standard output: No space left on device\n")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lp.plot, "save", fail)
    status, _, err = run("predict", *DATA, "--plot", "figure.png")
    assert (status, err) == (2, "error: figure.png: No space left on device\n")

    # Where nobody knows the name there is none, not even "None".
    monkeypatch.setattr("limitpoint.cli.program.app", fail)
    assert run("predict", *DATA) == (2, "", "error: No space left on device\n")


@pytest.mark.slow
def test_readers_who_leave_and_terminals_without_greek(run):
    """A closed pipe ends it quietly; letters that a terminal lacks are replaced."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "atlas"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=TOO_LONG,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
    done = python(
        MAIN, "activation", *DATA, env={**os.environ, "PYTHONIOENCODING": "ascii"}, cwd=Path.cwd()
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"t+" in done.stdout
    assert b"t-" in done.stdout


# ---------------------------------------------------------------- interruptions


@pytest.mark.parametrize("command", ["predict", "train"])
def test_an_interruption_is_one_line(run, monkeypatch, command):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(lp, command, interrupt)
    status, out, err = run(command, *DATA)
    assert (status, out, err) == (130, "", f"interrupted: {command}, nothing was kept\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_of_the_start_is_one_line(run, monkeypatch):
    class Loading(ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "limitpoint.cli.program", Loading("program"))
    assert run("predict", *DATA) == (130, "", "interrupted: nothing had begun\n")


# Ctrl-C as a module is looked for that was not loaded before.
INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize(
    ("name", "begun"),
    [
        ("limitpoint.cli.program", "nothing had begun"),
        ("typer", "nothing had begun"),
        ("limitpoint.cli.verdict_commands", "nothing had begun"),
        ("limitpoint.errors", "nothing had begun"),
        ("limitpoint.problem", "predict, nothing was kept"),
        ("numpy", "predict, nothing was kept"),
    ],
)
@pytest.mark.usefixtures("run")
def test_an_interruption_while_modules_are_loaded_is_one_line(name, begun):
    code = INTERRUPTED.format(name=name) + MAIN
    command = [sys.executable, "-c", code, "predict", *DATA]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOO_LONG)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == f"interrupted: {begun}\n"


def test_nothing_is_loaded_before_an_interruption_is_answered():
    """Before `main` runs a traceback cannot be avoided: nothing but the two modules is loaded."""
    code = "import sys, types; before = {*sys.modules}; from limitpoint.cli import main; "
    code += "print(*sorted({*sys.modules} - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=TOO_LONG
    )
    assert done.stdout.split() == ["limitpoint", "limitpoint.cli"]


def test_an_interrupted_reproduction_names_what_is_kept(run, monkeypatch):
    class Interrupted(Toy):
        def run(self):
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("the signal comes first")

    toys = (Toy(number=0), Interrupted(number=1), Toy(number=2))
    monkeypatch.setattr(papers, "experiments", lambda: toys)
    status, out, err = run("reproduce", "--all")
    assert (status, out) == (130, "")
    assert err == "interrupted: reproduce: 1 of 3 experiments, kept in out\n"
    assert [folder.name for folder in Path("out").iterdir()] == [toys[0].id]


def test_an_interruption_that_is_swallowed_ends_the_job_all_the_same(run, monkeypatch):
    real = lp.flow

    def swallowing(*arguments, **settings):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # the signal is handled between two of these
                pass
        except KeyboardInterrupt:
            pass
        return real(*arguments, **settings)

    monkeypatch.setattr(lp, "flow", swallowing)
    status, out, err = run("flow", *DATA)
    assert (status, out, err) == (
        130,
        "",
        "interrupted: gradient flow: 1 steps, nothing was kept\n",
    )


@pytest.mark.slow
def test_a_sweep_on_a_terminal_shows_its_progress_and_is_interrupted(run):
    terminal, end = pty.openpty()
    arguments = ("sweep", *DATA, "--network", "rank-one", "--balanced", "--steps", "100000000")
    job = subprocess.Popen([sys.executable, "-c", MAIN, *arguments], stderr=end)
    os.close(end)
    seen = b""

    def read():
        try:
            return os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return b""

    while b"training: " not in seen and (more := read()):
        seen += more
    job.send_signal(signal.SIGINT)
    while more := read():
        seen += more
    os.close(terminal)
    assert job.wait(TOO_LONG) == 130
    last = seen.decode().splitlines()[-1].rpartition("\x1b[K")[2]
    assert last.startswith("interrupted: training: ")
    assert last.endswith(" of 200000000 steps of all runs, nothing was kept")
    assert b"Traceback" not in seen
