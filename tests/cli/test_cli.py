"""The command line: every command, every exit status.

Most tests call `main` in this process, with `sys.argv` replaced; a few run the installed command.

One file, although long: all commands share the helpers that run and read them.
"""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import limitpoint as lp
from limitpoint import cli

PNG = b"\x89PNG\r\n\x1a\n"
# Text that is not written to a terminal is at most this wide.
PIPED_WIDTH = 120
PROBLEM = """
[task]
X = [[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]]
y = [1.0, 0.0]
loss_factor = 2

[network]
kind = "diagonal"
depth = 2

[init]
kind = "random"
seed = 0
scale = 1e-2
"""
X_CSV = "a,b,c,d\n1,0.5,0.7,0\n0.5,1,0.1,0.7\n"
Y_CSV = "1\n0\n"
ON_A_PROBLEM = ("predict", "flow", "train", "verify", "explain")
WITH_PLOT = ("predict", "flow", "train", "verify")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a problem file and data."""
    monkeypatch.chdir(tmp_path)
    Path("problem.toml").write_text(PROBLEM, encoding="utf-8")
    Path("X.csv").write_text(X_CSV, encoding="utf-8")
    Path("y.csv").write_text(Y_CSV, encoding="utf-8")
    return tmp_path


@pytest.fixture
def limitpoint(folder, monkeypatch, capsys):
    """Run the command in this process: status, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["limitpoint", *map(str, arguments)])
        try:
            cli.main()
        except SystemExit as end:
            status = 0 if end.code is None else end.code
        else:
            status = 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def strict_json(text):
    """Parse, refusing the tokens NaN and Infinity that JSON does not have."""

    def refuse(token):
        raise ValueError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def options(*more):
    return ("--X", "X.csv", "--y", "y.csv", *more)


def assert_bad_input(result, *words):
    """Exit status 2, nothing on standard output, exactly one line that says what is wrong."""
    status, out, err = result
    assert status == 2
    assert out == ""
    assert "Traceback" not in err
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]


# ---------------------------------------------------------------- every command


@pytest.mark.parametrize("command", ON_A_PROBLEM)
@pytest.mark.parametrize(
    "source", [("problem.toml",), options("--scale", "1e-2")], ids=["file", "options"]
)
def test_every_command_prints_a_table(limitpoint, command, source):
    status, out, err = limitpoint(command, *source)
    assert status == 0
    assert out.strip()
    assert err == ""


@pytest.mark.parametrize("command", ON_A_PROBLEM)
@pytest.mark.parametrize(
    "source", [("problem.toml",), options("--scale", "1e-2")], ids=["file", "options"]
)
def test_every_command_prints_json(limitpoint, command, source):
    status, out, err = limitpoint(command, *source, "--json")
    assert status == 0
    assert err == ""
    assert isinstance(strict_json(out), dict)


def test_json_has_no_tokens_that_json_lacks(limitpoint):
    """A frozen coefficient has a log-modulus of −∞: null in JSON."""
    Path("frozen.toml").write_text(
        PROBLEM.replace(
            'kind = "random"\nseed = 0',
            'kind = "layers"\ndirection = [[0, 1, 1, 1], [0, 0, 0, 0]]',
        ),
        encoding="utf-8",
    )
    for command in ON_A_PROBLEM:
        status, out, _ = limitpoint(command, "frozen.toml", "--json")
        assert status == 0, command
        strict_json(out)
    assert strict_json(limitpoint("predict", "frozen.toml", "--json")[1])["log_abs_coef"][0] is None


def test_predict_is_the_library_s_answer(limitpoint):
    found = strict_json(limitpoint("predict", "problem.toml", "--json")[1])
    limit = lp.predict(lp.io.load_problem("problem.toml"))
    assert found["coef"] == limit.coef.tolist()
    assert found["theorem"] == limit.theorem.id
    assert found["certificate"]["ok"] is True


def test_options_make_the_same_problem_as_the_file(limitpoint):
    by_file = strict_json(limitpoint("predict", "problem.toml", "--json")[1])
    by_options = strict_json(
        limitpoint(
            "predict",
            *options("--network", "diagonal", "--depth", "2", "--scale", "1e-2", "--seed", "0"),
            *("--loss-factor", "2", "--json"),
        )[1]
    )
    # The table has a line of names, the file's own numbers have none.
    assert by_options.pop("feature_names") == ["a", "b", "c", "d"]
    assert by_file.pop("feature_names") is None
    assert by_options == by_file


def test_zero_last_and_log_scale(limitpoint):
    found = strict_json(
        limitpoint("predict", *options("--zero-last", "--log-scale", "-2302.6", "--json"))[1]
    )
    assert found["theorem"] == "yun2021.corollary5"
    assert found["status"] == "CONVERGED"
    # The minimum ℓ1 solution of the example.
    np.testing.assert_allclose(found["coef"], [0, 0, 10 / 7, -10 / 49], atol=1e-9)


def test_flow_ends_where_it_is_told(limitpoint):
    found = strict_json(limitpoint("flow", "problem.toml", "--t-end", "0.5", "--json")[1])
    assert found["times"][-1] == 0.5
    assert found["status"] == "REACHED_END"


def test_flow_in_parameter_space(limitpoint):
    sample = strict_json(limitpoint("flow", "problem.toml", "--json")[1])
    parameters = strict_json(limitpoint("flow", "problem.toml", "--parameters", "--json")[1])
    assert sample["kind"] == "gradient flow in sample space"
    assert parameters["kind"] == "gradient flow in parameter space"
    np.testing.assert_allclose(parameters["coefs"][-1], sample["coefs"][-1], atol=1e-6)


def test_flow_of_a_deeper_network(limitpoint):
    given = options("--depth", "3", "--scale", "0.5", "--json")
    status, out, _ = limitpoint("flow", *given)
    assert status == 0
    assert strict_json(out)["kind"] == "gradient flow in sample space"
    limit = strict_json(limitpoint("predict", *given)[1])
    np.testing.assert_allclose(strict_json(out)["coefs"][-1], limit["coef"], atol=1e-6)


def test_train_takes_the_steps_it_is_told(limitpoint):
    found = strict_json(
        limitpoint("train", "problem.toml", "--learning-rate", "0.02", "--steps", "50", "--json")[1]
    )
    assert found["steps"][-1] == 50
    assert found["times"][-1] == pytest.approx(1.0)


def test_train_that_diverges_still_prints_json(limitpoint):
    status, out, err = limitpoint(
        "train", *options("--learning-rate", "100", "--steps", "500", "--json")
    )
    assert err.startswith("DIVERGED: ")
    assert len(err.splitlines()) == 1
    assert status == 3
    assert strict_json(out)["status"] == "DIVERGED"


def test_verify_passes_with_training(limitpoint):
    status, out, _ = limitpoint("verify", "problem.toml", "--learning-rate", "5e-3")
    assert status == 0
    assert "PASSED" in out
    assert "training: law of the step" in " ".join(out.split())


def test_explain_names_every_theorem_and_every_failure_when_asked_to(limitpoint):
    status, out, _ = limitpoint("explain", "problem.toml", "--all")
    assert status == 0
    for theorem in lp.atlas.theorems():
        assert theorem.id in out
    assert "FAILS" in out
    assert "last layer zero" in out


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_explain_is_short_and_begins_with_what_is_used(limitpoint, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    status, out, _ = limitpoint("explain", "problem.toml")
    assert status == 0
    assert out.startswith("labarriere2024.theorem1 is used")
    assert "--all shows them" in " ".join(out.split())
    assert len(out.splitlines()) < 45
    assert max(map(len, out.splitlines())) <= int(columns)


def test_explain_covers_scale_zero(limitpoint):
    status, out, _ = limitpoint("explain", *options("--scale", "0", "--json"))
    assert status == 0
    applicable = {name for name, theorem in strict_json(out).items() if theorem["applies"]}
    limits = {"zhao2026.corollary4.6", "limitpoint.sign_constrained_at_zero"}
    assert applicable == limits | {"limitpoint.weight_decay"}


def test_atlas_lists_every_theorem_in_full(limitpoint):
    status, out, err = limitpoint("atlas")
    assert status == 0
    assert err == ""
    flat = "".join(out.split())
    for theorem in lp.atlas.theorems():
        assert theorem.id in out
        assert "".join(theorem.statement.split()[:5]) in flat


def test_atlas_as_json(limitpoint):
    found = strict_json(limitpoint("atlas", "--json")[1])
    assert [row["id"] for row in found] == [theorem.id for theorem in lp.atlas.theorems()]
    assert all(row["statement"] and row["citation"] and row["concludes"] for row in found)


def test_demo(limitpoint):
    status, out, err = limitpoint("demo", "--plot", "out/demo.png")
    assert status == 0
    assert "Limit by" in out
    assert "PASSED" in out
    assert Path("out/demo.png").read_bytes().startswith(PNG)
    assert err.splitlines() == ["figure written to out/demo.png"]


def test_demo_as_json(limitpoint):
    found = strict_json(limitpoint("demo", "--json")[1])
    assert found["passed"] is True
    assert {"checks", "limit", "notes"} <= set(found)


# ---------------------------------------------------------------- plots


@pytest.mark.parametrize("command", WITH_PLOT)
def test_plots_create_their_folder(limitpoint, command):
    status, _, err = limitpoint(command, "problem.toml", "--plot", "new/deep/figure.png")
    assert status == 0
    assert Path("new/deep/figure.png").read_bytes().startswith(PNG)
    assert "new/deep/figure.png" in err


def test_plots_leave_json_alone(limitpoint):
    status, out, _ = limitpoint("predict", "problem.toml", "--json", "--plot", "figure.png")
    assert status == 0
    strict_json(out)


@pytest.mark.parametrize("name", ["figure.pdf", "figure.svg"])
def test_plots_in_other_formats(limitpoint, name):
    status, _, _ = limitpoint("predict", "problem.toml", "--plot", name)
    assert status == 0
    assert Path(name).stat().st_size > 1000


def test_plots_are_written_under_the_name_that_is_reported(limitpoint):
    """A name without a suffix is refused, or the file has exactly the reported name."""
    status, _, err = limitpoint("predict", "problem.toml", "--plot", "figure")
    if status == 0:
        assert Path(err.split()[-1]).exists()
    else:
        assert status == 2


# ---------------------------------------------------------------- exit status 1 and 3


def test_an_inconclusive_verdict_exits_with_three(limitpoint):
    """Training that has not ended disagrees with nothing."""
    status, out, _ = limitpoint(
        *("verify", *options("--depth", "3", "--scale", "0.1")),
        *("--learning-rate", "1e-3", "--steps", "10", "--json"),
    )
    assert status == 3
    found = strict_json(out)
    assert found["passed"] is False
    assert found["outcome"] == "INCONCLUSIVE"
    failed = {check["name"] for check in found["checks"] if not check["passed"]}
    assert "training: relative residual" in failed


def test_an_inconclusive_verdict_still_prints_and_plots(limitpoint):
    status, out, _ = limitpoint(
        *("verify", *options("--depth", "3", "--scale", "0.1")),
        *("--learning-rate", "1e-3", "--steps", "10", "--plot", "figure.png"),
    )
    assert status == 3
    assert "INCONCLUSIVE" in out
    assert Path("figure.png").exists()


def test_a_verdict_on_training_that_diverged(limitpoint):
    status, out, _ = limitpoint(
        *("verify", *options("--learning-rate", "100", "--steps", "500", "--json")),
        *("--plot", "figure.png"),
    )
    assert status == 1
    assert strict_json(out)["outcome"] == "FAILED"


# ---------------------------------------------------------------- exit status 2


@pytest.mark.parametrize("command", ON_A_PROBLEM)
def test_no_problem(limitpoint, command):
    assert_bad_input(limitpoint(command), "give a problem file, or both --X and --y")
    assert_bad_input(limitpoint(command, "--X", "X.csv"), "both --X and --y")


@pytest.mark.parametrize("command", ON_A_PROBLEM)
def test_both_a_file_and_data(limitpoint, command):
    assert_bad_input(limitpoint(command, "problem.toml", *options()), "not both")


@pytest.mark.parametrize(
    "option",
    [
        ("--scale", "1e-5"),
        ("--log-scale", "-20"),
        ("--seed", "3"),
        ("--depth", "3"),
        ("--zero-last",),
        ("--unbiased",),
        ("--shape", "0"),
        ("--scale", "0"),
        ("--network", "diagonal"),
        ("--loss-factor", "3"),
    ],
    ids=" ".join,
)
def test_options_that_a_problem_file_would_ignore_are_refused(limitpoint, option):
    assert_bad_input(limitpoint("predict", "problem.toml", *option), option[0])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[task", ["problem.toml", "not a TOML file"]),
        (PROBLEM.replace("diagonal", "dense"), ["problem.toml", "diagonal", "'dense'"]),
        (PROBLEM.replace("seed = 0", "sead = 0"), ["problem.toml", "[init]", "sead"]),
        (PROBLEM.replace("seed = 0", "seed = -1"), ["problem.toml", "seed"]),
        (PROBLEM.replace("loss_factor = 2", 'loss_factor = "a"'), ["problem.toml", "loss_factor"]),
        (PROBLEM.replace("1e-2", '"small"'), ["problem.toml", "scale"]),
        (PROBLEM.replace("[1.0, 0.0]", "[1.0, nan]"), ["problem.toml", "y must be finite"]),
        (PROBLEM.replace("[0.5, 1.0, 0.1, 0.7]", "[0.5]"), ["problem.toml", "X"]),
    ],
    ids=["toml", "network", "key", "seed", "loss_factor", "scale", "nan", "ragged"],
)
def test_bad_problem_files(limitpoint, content, words):
    Path("problem.toml").write_text(content, encoding="utf-8")
    assert_bad_input(limitpoint("predict", "problem.toml"), *words)


def test_no_such_file(limitpoint):
    assert_bad_input(limitpoint("predict", "none.toml"), "none.toml", "No such file")
    assert_bad_input(limitpoint("predict", "--X", "none.csv", "--y", "y.csv"), "X", "none.csv")


def test_a_folder_instead_of_a_file(limitpoint):
    Path("folder.csv").mkdir()
    assert_bad_input(limitpoint("predict", "."), "Is a directory")
    assert_bad_input(limitpoint("predict", "--X", "folder.csv", "--y", "y.csv"), "folder.csv")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("X.csv", b"1,nan\n2,3\n", ["X.csv", "line 1, column 2 is missing"]),
        ("X.csv", b"1,inf\n2,3\n", ["X.csv", "line 1, column 2 is not finite"]),
        ("X.csv", b"a,b\nc,d\n", ["X", "X.csv", "numbers"]),
        ("X.csv", b"1|2\n3|4\n", ["X", "X.csv", "numbers"]),
        ("X.csv", b"1,2\n3\n", ["X", "X.csv", "numbers"]),
        ("X.csv", b"", ["X", "X.csv"]),
        ("X.csv", b"a,b\n", ["X", "X.csv"]),
        ("X.csv", b"1,2\n", ["--X and --y must", "--X has 1 rows and --y has 2"]),
        ("X.npy", b"", ["X", "X.npy"]),
        ("X.npz", b"PK\x03\x04junk", ["X", "X.npz"]),
        ("X.xlsx", b"", ["X", "X.xlsx", ".csv, .tsv, .parquet, .npy or .npz"]),
    ],
    ids=[
        "nan",
        "inf",
        "words",
        "bars",
        "ragged",
        "empty",
        "names only",
        "rows",
        "empty npy",
        "broken npz",
        "other format",
    ],
)
def test_bad_data_files(limitpoint, name, content, words):
    Path(name).write_bytes(content)
    assert_bad_input(limitpoint("predict", "--X", name, "--y", "y.csv"), *words)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--network", "dense"), ["--network", "(in short conv, fc, matrix); it is dense"]),
        (("--network", "paired", "--depth", "3"), ["a paired network has no --depth"]),
        (("--network", "power", "--depth", "1"), ["--depth must be a whole number, at least 2"]),
        (
            ("--network", "power", "--zero-last"),
            ["--zero-last", "Power(depth=2)", "use a random start"],
        ),
        (("--network", "paired", "--zero-last"), ["--zero-last", "Paired()", "use --unbiased"]),
        (
            ("--network", "power", "--unbiased"),
            ["--unbiased", "Power(depth=2)", "use a random start"],
        ),
        (("--unbiased",), ["--unbiased", "Diagonal(depth=2)", "use --zero-last"]),
        (("--shape", "0.5"), ["--shape needs a network of pairs", "Diagonal(depth=2)"]),
        (("--network", "paired", "--shape", "1"), ["--shape must be in (-1, 1); it is 1"]),
        (("--network", "paired", "--shape", "nan"), ["--shape must be finite"]),
        (("--seed", "0", "--zero-last"), ["--seed and --zero-last do not go together"]),
        (("--zero-last", "--unbiased"), ["--zero-last and --unbiased do not go together"]),
        (("--shape", "0", "--seed", "1"), ["--seed and --shape do not go together"]),
        (("--depth", "1"), ["--depth must be a whole number, at least 2"]),
        (("--scale", "-1"), ["--scale must be a number in [0, inf]"]),
        (("--scale", "nan"), ["--scale must be a number in [0, inf]"]),
        (("--log-scale", "nan"), ["--log-scale must be a number"]),
        (("--scale", "1", "--log-scale", "0"), ["give --scale or --log-scale, not both"]),
        (("--scale", "1e200"), ["scale 1e+200", "overflow"]),
        (("--seed", "-1"), ["--seed must be"]),
        (("--loss-factor", "0"), ["--loss-factor must be a positive number"]),
        (("--loss-factor", "nan"), ["--loss-factor must be a positive number"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_options(limitpoint, more, words):
    assert_bad_input(limitpoint("predict", *options(*more)), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("flow", "problem.toml", "--t-end", "-1"), ["--t-end must be a finite time"]),
        (("flow", "problem.toml", "--t-end", "nan"), ["--t-end must be a finite time"]),
        (("train", "problem.toml", "--learning-rate", "0"), ["--learning-rate must be a positive"]),
        (("train", "problem.toml", "--steps", "0"), ["--steps must be a whole number, at least 1"]),
        (("verify", "problem.toml", "--learning-rate", "-1"), ["--learning-rate must be"]),
        (("train", *options("--log-scale", "-2302.6")), ["cannot be held in float64"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_runs(limitpoint, arguments, words):
    assert_bad_input(limitpoint(*arguments), *words)


def test_no_theorem_applies(limitpoint):
    """The one answer of several lines: the table of conditions follows the sentence."""
    status, out, err = limitpoint("predict", *options("--scale", "inf"))
    assert status == 2
    assert out == ""
    assert err.startswith("error: no theorem predicts the limit of Problem(Diagonal")
    assert "- coefficients start at zero (margin" in err
    assert len(err.splitlines()) <= 8
    assert max(map(len, err.splitlines())) <= 80
    assert "Traceback" not in err


@pytest.mark.parametrize("command", WITH_PLOT)
def test_an_unknown_plot_format(limitpoint, command):
    status, _, err = limitpoint(command, "problem.toml", "--plot", "figure.xyz")
    assert status == 2
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    assert "xyz" in err
    assert "png" in err


def test_plots_that_cannot_be_written(limitpoint):
    Path("file").write_text("", encoding="utf-8")
    Path("folder.png").mkdir()
    for path in ("file/figure.png", "folder.png"):
        status, _, err = limitpoint("predict", "problem.toml", "--plot", path)
        assert status == 2
        assert len(err.splitlines()) == 1
        assert err.startswith("error: ")
        assert path.split("/")[0] in err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("nonsense",), "nonsense"),
        (("predict", "--nonsense"), "--nonsense"),
        (("predict", *options("--depth", "two")), "--depth"),
        (("predict", *options("--scale")), "--scale"),
        (("predict", "problem.toml", "another.toml"), "another.toml"),
    ],
    ids=["command", "option", "value", "no value", "two files"],
)
def test_usage_errors(limitpoint, arguments, word):
    assert_bad_input(limitpoint(*arguments), word)


def test_version(limitpoint):
    assert limitpoint("--version") == (0, f"limitpoint {lp.__version__}\n", "")


def test_help_names_every_command(limitpoint):
    status, out, _ = limitpoint("--help")
    assert status == 0
    for command in (*ON_A_PROBLEM, "sweep", "saddles", "scales", "activation", "atlas", "demo"):
        assert command in out


# ---------------------------------------------------------------- the installed command


def installed(folder, *arguments):
    command = Path(sysconfig.get_path("scripts")) / "limitpoint"
    return subprocess.run(
        [command, *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_the_installed_command_predicts(folder):
    done = installed(folder, "predict", "problem.toml", "--json")
    assert done.returncode == 0
    assert strict_json(done.stdout)["status"] == "CONVERGED"
    assert done.stderr == ""


@pytest.mark.slow
def test_the_installed_command_refuses_bad_input_in_one_line(folder):
    Path(folder, "X.csv").write_text("", encoding="utf-8")
    done = installed(folder, "predict", *options())
    assert_bad_input((done.returncode, done.stdout, done.stderr), "X.csv")


@pytest.mark.slow
def test_piped_output_is_readable(folder):
    """Without a terminal there is room: no cell is cut off, no column is a few letters wide."""
    done = installed(folder, "explain", "problem.toml", "--all")
    assert done.returncode == 0
    assert "…" not in done.stdout
    assert "\x1b" not in done.stdout
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(map(len, lines)) <= PIPED_WIDTH
    for theorem in lp.atlas.theorems():
        assert theorem.id in done.stdout


@pytest.mark.parametrize("command", ["atlas", "verify", "flow", "predict"])
def test_piped_output_is_not_cut_off(limitpoint, command):
    status, out, _ = limitpoint(command, *([] if command == "atlas" else ["problem.toml"]))
    assert status == 0
    assert "\x1b" not in out
    assert not any(line.rstrip().endswith("…") for line in out.splitlines())
    assert max(len(line.rstrip()) for line in out.splitlines()) <= PIPED_WIDTH
    # A table of nine checks, or statements folded into a column of words, would be far longer.
    most = 15 * len(lp.atlas.theorems()) if command == "atlas" else 60
    assert len(out.splitlines()) < most


# ---------------------------------------------------------------- saddles


def test_saddles_of_a_file_print_a_table(limitpoint):
    status, out, err = limitpoint("saddles", "problem.toml")
    assert status == 0
    assert err == ""
    # Loss factor 2, scale 1e-2: half of log(100).
    assert f"3 saddles, times in units of {np.log(100) / 2:.6g}" in out
    assert "\x1b" not in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= PIPED_WIDTH


def test_saddles_of_a_file_are_the_library_s_path(limitpoint):
    found = strict_json(limitpoint("saddles", "problem.toml", "--json")[1])
    path = lp.analysis.saddles(lp.io.load_problem("problem.toml"))
    assert found["path_times"] == path.path_times.tolist()
    assert found["entered"] == [[0], [2], [3]]
    assert found["left"] == [[], [0], []]
    assert found["time_unit"] == path.time_unit
    assert found["status"] == "CONVERGED"
    assert found["certificate"]["ok"] is True
    rows = [[row.get(str(i), 0.0) for i in range(4)] for row in found["coefs"]]
    np.testing.assert_array_equal(rows, path.coefs)


def test_saddles_of_options_are_those_of_scale_zero(limitpoint):
    """The unit is infinite at scale 0: null in JSON."""
    by_default = strict_json(limitpoint("saddles", *options("--json"))[1])
    explicit = strict_json(limitpoint("saddles", *options("--scale", "0", "--json"))[1])
    assert by_default == explicit
    assert by_default["time_unit"] is None
    status, out, _ = limitpoint("saddles", *options())
    assert status == 0
    assert "3 saddles\n" in out
    assert "inf" not in out


def test_saddles_with_a_log_scale_have_physical_times(limitpoint):
    found = strict_json(
        limitpoint("saddles", *options("--log-scale", "-200", "--loss-factor", "4", "--json"))[1]
    )
    assert found["time_unit"] == 50.0


def test_saddles_of_a_deeper_network(limitpoint):
    found = strict_json(
        limitpoint("saddles", *options("--depth", "3", "--seed", "1", "--scale", "1e-3", "--json"))[
            1
        ]
    )
    assert found["time_unit"] == pytest.approx(1e3, rel=1e-12)
    network, task = lp.Diagonal(3), lp.examples.zhao_eq7()
    path = lp.analysis.saddles(
        lp.Problem(network, lp.Init.random(network, task, 1e-3, seed=1), task)
    )
    assert found["path_times"] == path.path_times.tolist()
    assert found["objective"] == path.objective


def test_saddles_of_layers_that_tie_are_strict_json(limitpoint):
    """Activation times are infinite where layers tie; none of them reaches the output."""
    Path("tied.toml").write_text(
        PROBLEM.replace(
            'kind = "random"\nseed = 0', 'kind = "layers"\ndirection = [[1, 1, 1, 0], [1, 1, 1, 0]]'
        ),
        encoding="utf-8",
    )
    status, out, _ = limitpoint("saddles", "tied.toml", "--json")
    assert status == 0
    assert strict_json(out)["status"] == "LEAST_SQUARES"


@pytest.mark.parametrize("source", [("problem.toml",), options()], ids=["file", "options"])
def test_saddles_are_plotted(limitpoint, source):
    status, out, err = limitpoint("saddles", *source, "--json", "--plot", "new/saddles.png")
    assert status == 0
    strict_json(out)
    assert Path("new/saddles.png").read_bytes().startswith(PNG)
    assert err.splitlines() == ["figure written to new/saddles.png"]


def test_saddles_refuse_bad_input(limitpoint):
    assert_bad_input(limitpoint("saddles"), "give a problem file, or both --X and --y")
    assert_bad_input(limitpoint("saddles", "problem.toml", "--scale", "1"), "--scale")
    assert_bad_input(limitpoint("saddles", *options("--depth", "1")), "depth")
    assert_bad_input(limitpoint("saddles", "problem.toml", "--plot", "figure.xyz"), "xyz", "png")


def test_help_names_saddles(limitpoint):
    assert "saddles" in limitpoint("--help")[1]


# ---------------------------------------------------------------- every network

NETWORKS = {
    "depth 3": (("--depth", "3"), lp.Diagonal(3)),
    "odd power": (("--network", "power", "--depth", "3", "--seed", "1"), lp.Power(3)),
    "signed power": (("--network", "signed-power", "--depth", "3"), lp.SignedPower(3)),
    "underscore": (("--network", "signed_power"), lp.SignedPower(2)),
    "paired": (("--network", "paired"), lp.Paired()),
}


def problem_of(name, scale):
    """The same problem by the library."""
    given, network = NETWORKS[name]
    task = lp.Regression([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1, 0])
    seed = int(given[given.index("--seed") + 1]) if "--seed" in given else 0
    return lp.Problem(network, lp.Init.random(network, task, scale, seed=seed), task)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_by_options_is_the_library_s_answer(limitpoint, name):
    given = options(*NETWORKS[name][0], "--scale", "0.3", "--json")
    problem = problem_of(name, 0.3)
    found = strict_json(limitpoint("predict", *given)[1])
    assert found["coef"] == lp.predict(problem).coef.tolist()
    assert strict_json(limitpoint("explain", *given)[1]) == lp.explain(problem).to_dict()


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_has_saddles(limitpoint, name):
    found = strict_json(limitpoint("saddles", *options(*NETWORKS[name][0], "--json"))[1])
    assert found["path_times"] == lp.analysis.saddles(problem_of(name, 0.0)).path_times.tolist()
    at_zero = limitpoint("predict", *options(*NETWORKS[name][0], "--scale", "0", "--json"))
    assert strict_json(at_zero[1])["certificate"]["ok"] is True


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_flows_and_is_verified(limitpoint, name):
    given = options(*NETWORKS[name][0], "--scale", "0.3")
    status, out, err = limitpoint("verify", *given)
    assert (status, err) == (0, "")
    assert "PASSED" in out
    for space in ((), ("--parameters",)):
        status, out, _ = limitpoint("flow", *given, *space, "--json")
        assert strict_json(out)["status"] == "CONVERGED"


@pytest.mark.parametrize(
    ("given", "network", "start"),
    [
        (("--depth", "3", "--zero-last"), lp.Diagonal(3), lp.Init.zero_last),
        (
            ("--network", "signed-power", "--depth", "3", "--unbiased"),
            lp.SignedPower(3),
            lp.Init.unbiased,
        ),
        (("--network", "paired", "--unbiased"), lp.Paired(), lp.Init.unbiased),
        (
            ("--network", "paired", "--shape", "-0.5"),
            lp.Paired(),
            lambda *given: lp.Init.shaped(*given, shape=-0.5),
        ),
    ],
    ids=["zero last", "signed power", "unbiased pairs", "shaped pairs"],
)
def test_starts_at_zero_have_a_limit_at_every_scale(limitpoint, given, network, start):
    task = lp.Regression([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1, 0])
    for scale in ("0", "0.3", "inf"):
        found = strict_json(limitpoint("predict", *options(*given, "--scale", scale, "--json"))[1])
        problem = lp.Problem(network, start(network, task, float(scale)), task)
        assert found["coef"] == lp.predict(problem).coef.tolist()
        assert found["certificate"]["ok"] is True


# ---------------------------------------------------------------- scales and activation times


def test_scales_print_a_table(limitpoint):
    status, out, err = limitpoint("scales", *options("--depth", "3"))
    assert (status, err) == (0, "")
    assert "Limits at 60 scales, 4 coefficients" in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= PIPED_WIDTH


def test_scales_are_the_library_s_path(limitpoint):
    given = ("--from", "1e-3", "--to", "10", "--points", "5", "--zero", "--infinity", "--json")
    found = strict_json(limitpoint("scales", *options("--depth", "3", "--zero-last"), *given)[1])
    # Infinity is no number of JSON.
    np.testing.assert_allclose(found["scales"][:-1], [0, 1e-3, 1e-2, 0.1, 1, 10], rtol=1e-12)
    assert found["scales"][-1] is None
    network = lp.Diagonal(3)
    task = lp.Regression([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1, 0])
    problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    path = lp.predict_path(problem, [0, *np.geomspace(1e-3, 10, 5), np.inf])
    assert [limit["coef"] for limit in found["limits"]] == path.coefs.tolist()


def test_scales_of_a_file_are_plotted(limitpoint):
    status, out, err = limitpoint(
        "scales", "problem.toml", "--points", "8", "--json", "--plot", "new/scales.png"
    )
    assert status == 0
    assert len(strict_json(out)["limits"]) == 8
    assert Path("new/scales.png").read_bytes().startswith(PNG)
    assert err.splitlines() == ["figure written to new/scales.png"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--from", "0"), ["--from and --to", "add --zero or --infinity"]),
        (("--to", "inf"), ["--from and --to", "add --zero or --infinity"]),
        (("--from", "1", "--to", "0.1"), ["--from and --to", "1 and 0.1"]),
        (("--from", "nan"), ["--from and --to"]),
        (("--points", "1"), ["--points must be at least 2; it is 1"]),
        (("--points", "-3"), ["--points must be at least 2"]),
        (("--scale", "1"), ["--scale"]),
        (("--log-scale", "-3"), ["--log-scale"]),
        (("--plot", "figure.xyz"), ["xyz", "png"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_scales_refuse_bad_input(limitpoint, more, words):
    assert_bad_input(limitpoint("scales", *options(*more)), *words)


def test_scales_without_a_limit_at_infinity(limitpoint):
    status, out, err = limitpoint("scales", *options("--points", "3", "--infinity"))
    assert (status, out) == (2, "")
    assert "- coefficients start at zero (margin" in err


def test_activation_times_are_printed_with_their_unit(limitpoint):
    status, out, err = limitpoint("activation", *options("--depth", "3", "--scale", "1e-2"))
    assert (status, err) == (0, "")
    assert "t⁺" in out
    assert "in units of 100" in out
    assert "The unit is s^-1." in out
    assert "The unit is log(1/s)." in limitpoint("activation", *options("--network", "paired"))[1]


@pytest.mark.parametrize("name", NETWORKS)
def test_activation_times_are_the_library_s(limitpoint, name):
    found = strict_json(
        limitpoint("activation", *options(*NETWORKS[name][0], "--scale", "1e-2", "--json"))[1]
    )
    problem = problem_of(name, 1e-2)
    times = lp.analysis.activation_times(problem.network, problem.init)
    assert found["unit"] == times.unit
    for side, values in (("t_plus", times.t_plus), ("t_minus", times.t_minus)):
        # A side that is never reached has an infinite time: null in JSON.
        assert found[side] == [v if np.isfinite(v) else None for v in values.tolist()]


def test_activation_times_of_a_zero_balanced_start(limitpoint):
    found = strict_json(
        limitpoint("activation", *options("--depth", "3", "--zero-last", "--json"))[1]
    )
    np.testing.assert_allclose(found["t_plus"], [np.pi / 2] * 4, rtol=1e-12)
    assert found["unit"] is None  # at scale 0 it is infinite


def test_growth_refuses_bad_input(limitpoint):
    assert_bad_input(limitpoint("activation"), "give a problem file, or both --X and --y")
    assert_bad_input(limitpoint("activation", "problem.toml", "--scale", "1"), "--scale")


# ---------------------------------------------------------------- the bound on the loss


def test_the_bound_is_drawn(limitpoint):
    status, _, _ = limitpoint("flow", "problem.toml", "--bound", "--plot", "figure.png")
    assert status == 0
    assert Path("figure.png").read_bytes().startswith(PNG)


def test_the_bound_is_refused_where_it_is_not_drawn_or_does_not_hold(limitpoint):
    assert_bad_input(limitpoint("flow", "problem.toml", "--bound"), "--bound needs --plot")
    assert_bad_input(
        limitpoint("flow", *options("--network", "paired"), "--bound", "--plot", "figure.png"),
        "--bound: labarriere2024.theorem2 does not apply",
    )
    assert not Path("figure.png").exists()


# ---------------------------------------------------------------- runs made elsewhere


def test_compare_with_weights_from_elsewhere(limitpoint):
    problem = lp.io.load_problem("problem.toml")
    run = lp.train(problem, lp.GD(5e-3), 20_000)
    np.savez("weights.npz", *(layer[-1] for layer in run.layers))
    np.savetxt("coef.csv", run.coef, delimiter=",")
    more = ("--learning-rate", "5e-3", "--steps", "20000")
    status, out, err = limitpoint("compare", "problem.toml", "weights.npz", *more)
    assert (status, err) == (0, "")
    assert "PASSED" in out
    assert limitpoint("compare", "problem.toml", "coef.csv", *more)[0] == 0
    run.save("run.npz")
    assert limitpoint("compare", "problem.toml", "run.npz", *more)[0] == 0
    np.save("wrong.npy", 1.1 * run.coef)
    status, out, _ = limitpoint("compare", "problem.toml", "wrong.npy", "--json")
    assert status == 3
    assert strict_json(out)["outcome"] == "INCONCLUSIVE"


def test_compare_refuses_bad_input(limitpoint):
    Path("text.npz").write_text("no archive")
    assert_bad_input(limitpoint("compare", "problem.toml", "text.npz"), "is not an NPZ file")
    assert_bad_input(limitpoint("compare", "problem.toml", "none.npz"), "none.npz")
    np.save("short.npy", np.zeros(2))
    assert_bad_input(limitpoint("compare", "problem.toml", "short.npy"), "coefficients have shape")
    more = ("--steps", "10")
    assert_bad_input(limitpoint("compare", "problem.toml", "short.npy", *more), "--learning-rate")
