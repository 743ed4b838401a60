"""Cases: files of every kind, whole and damaged, and the command line on them."""

import contextlib
import io as streams
import re
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.fuzz import problems
from tests.fuzz.draw import NOT_ARRAYS, OBJECTS, Draw
from tests.fuzz.judge import Failure, Judge

import limitpoint as lp
from limitpoint.cli import main

# Cells that spoil a table, and lines that do.
CELLS = ("", "x", "NaN", "inf", "1e400", "1,2", '"', "0x10", "1_000", " 1 ", "−1", "\0", "1;2")
TOML = """
[task]
kind = "{kind}"
X = [[1.0, 2.0], [0.5, -1.0]]
y = [1.0, -1.0]
[network]
kind = "{network}"
depth = {depth}
[init]
kind = "{init}"
scale = {scale}
"""
EXITS = {0, 1, 2, 3}
NETWORKS = (
    *("diagonal", "power", "signed-power", "paired", "rank-one", "fully-connected"),
    *("two-layer", "Diagonal", "cubic", ""),
)
# Commands that answer in milliseconds from small problems; others compile or run for seconds.
QUICK = ("predict", "explain", "saddles", "activation", "scales")
# Options and values for them, right and wrong.
OPTIONS = {
    "--network": NETWORKS,
    "--depth": ("2", "3", "1", "0", "-1", "x", "1.5", "99999999999"),
    "--width": ("1", "3", "0", "x"),
    "--widths": ("2", "2,3", "0", "2,,3", "x", ""),
    "--scale": ("0", "0.1", "1", "inf", "nan", "-1", "1e-400", "x", ""),
    "--log-scale": ("-5", "-1e4", "nan", "x"),
    "--norm": ("0.5", "-1", "x"),
    "--seed": ("0", "7", "-1", "x", str(2**64)),
    "--zero-last": (None,),
    "--unbiased": (None,),
    "--balanced": (None,),
    "--orthogonal": (None,),
    "--one-neuron": (None,),
    "--imbalance": ("0.1", "-9", "x"),
    "--shape": ("0.3", "1", "x"),
    "--classify": (None,),
    "--loss": ("logistic", "hinge"),
    "--loss-factor": ("2", "0", "nan", "1e300"),
    "--json": (None,),
    "--no-such-option": (None, "1"),
}


def read_files(draw: Draw, call: Judge, folder: Path) -> None:
    """A table of numbers, an archive or a problem, whole or damaged, and its reader."""
    name = _table(draw, folder)
    for _ in range(draw.pick((0, 0, 1, 3))):
        _damage(draw, folder / name)
    if draw.chance(0.2):
        table = {"X": name, "y": draw.array(2), "kind": draw.pick(("regression", "sensing"))}
        call(lp.io.read_task, draw.mostly(table, (*OBJECTS, {"X": [[1.0]]})), folder)
        return
    source = draw.mostly(name, ("no.csv", "no.npz:X", "table", "", ".", name + ":y"), 0.1)
    if draw.chance(0.5):
        truths = (True, False, *OBJECTS)
        layout = draw.options(
            header=lambda: draw.pick(truths), index_column=lambda: draw.pick(truths)
        )
        call(lp.io.read_table, folder / source, **layout)
        return
    call(lp.io.read_array, source, draw.pick(("X", "y")), folder)
    call(lp.io.read_run, folder / str(source) if isinstance(source, str) else source)


def name_networks(draw: Draw, call: Judge, folder: Path) -> None:
    """Networks by name, as files and options give them."""
    kind = draw.mostly(draw.pick(("diagonal", "rank_one", "power", "paired")), (*OBJECTS, "cubic"))
    call(lp.io.full_name, draw.mostly("rank-one", OBJECTS))
    numbers = draw.options(depth=lambda: draw.count(2, 3), width=lambda: draw.count(1, 3))
    data = draw.mostly(lp.Regression([[1.0, 2.0]], [1.0]), OBJECTS, 0.1)
    call(repr, call(lp.io.make_network, kind, data, **numbers))


def read_values(draw: Draw, call: Judge, folder: Path) -> None:
    """A saved value, whole or damaged."""
    found = problems.tame_problem(draw, call)
    value = draw.pick((found, found.task, found.network, found.init, call(lp.predict, found)))
    file = folder / "value.npz"
    call(lp.io.save, value, file, overwrite=True)
    for _ in range(draw.pick((1, 1, 3))):
        _damage(draw, file)
    call(lp.io.load, draw.mostly(file, (folder, folder / "no.npz", 5, "", "nul\0"), 0.1))


def read_problems(draw: Draw, call: Judge, folder: Path) -> None:
    """A problem file, written by hand or saved, whole or damaged."""
    file = folder / "problem.toml"
    if draw.chance(0.3):
        call(lp.io.save_problem, problems.tame_problem(draw, call), file)
    else:
        _write_toml(draw, file)
    for _ in range(draw.pick((0, 0, 1, 2))):
        _damage(draw, draw.pick([*folder.glob("problem.*")]))
    found = call(lp.io.load_problem, file)
    call(repr, found)


def command(draw: Draw, call: Judge, folder: Path) -> None:
    """A command with any options, on files of any kind."""
    X = _table(draw, folder)
    if draw.chance(0.3):
        _damage(draw, folder / X)
    toml = folder / "problem.toml"
    _write_toml(draw, toml)
    if draw.chance(0.3):
        _damage(draw, toml)
    np.savetxt(folder / "y.csv", draw.rng.choice([-1.0, 1.0], draw.whole(1, 3)))
    data = draw.pick(([toml], ["--X", folder / X, "--y", folder / "y.csv"], ["--X", X], [], ["no"]))
    options: list[Any] = []
    for name in draw.rng.choice(list(OPTIONS), draw.whole(0, 4), replace=False):
        value = draw.pick(OPTIONS[name])
        options += [name] if value is None else [name, value]
    verb = draw.mostly(draw.pick(QUICK), ("predictt", "--version", "--help", "-h", "atlas"), 0.1)
    _run(call, [verb, *(str(one) for one in (*data, *options))])


def slow_command(draw: Draw, call: Judge, folder: Path) -> None:
    """Flows, runs, verdicts and figures by command: seconds each."""
    toml = folder / "problem.toml"
    toml.write_text(
        TOML.format(kind="regression", network="diagonal", depth=2, init="zero_last", scale=0.5)
    )
    figure = str(folder / draw.pick(("figure.png", "figure.xyz")))
    choices = (
        ["flow", str(toml), "--t-end", draw.pick(("1", "-1", "nan", "x"))],
        ["predict", str(toml), "--plot", figure],
        ["train", str(toml), "--steps", draw.pick(("5", "0", "x")), "--learning-rate", "0.1"],
        ["verify", str(toml), *draw.pick(([], ["--json"], ["--steps", "x"]))],
        ["spectrum", str(toml), "--layer", draw.pick(("1", "9"))],
        ["direction", str(toml)],
    )
    _run(call, draw.pick(choices))


def _run(call: Judge, arguments: list[str]) -> None:
    """The command in this process: how it exits, and what it says."""
    code, error = call(_exit_of, arguments)
    if code not in EXITS:
        raise Failure(f"exit status {code}: {error[-500:]}")
    if "Traceback" in error:
        raise Failure(f"a traceback: {error[-1500:]}")
    if code == 2 and not re.search(r"^error: \S", error, flags=re.MULTILINE | re.IGNORECASE):
        raise Failure(f"exit status 2 without a line that says why: {error[-500:]!r}")


def _exit_of(arguments: list[str]) -> tuple[Any, str]:
    out, err = streams.StringIO(), streams.StringIO()
    with (
        mock.patch.object(sys, "argv", ["limitpoint", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            return (0 if end.code is None else end.code), err.getvalue()
    return 0, err.getvalue()


def _table(draw: Draw, folder: Path) -> str:
    """A file of numbers; its name."""
    values = draw.numbers(draw.whole(1, 3), draw.whole(1, 4))
    ending = draw.pick(("csv", "csv", "csv", "npy", "npz"))
    file = folder / f"table.{ending}"
    if ending == "npy":
        other = [one for one in NOT_ARRAYS if isinstance(one, np.ndarray) and one.dtype != object]
        np.save(file, np.asarray(draw.mostly(values, other, 0.1)))
    elif ending == "npz":
        np.savez(file, **{draw.pick(("X", "y", "arr_0")): values})
    else:
        rows = [[f"{value!r}" for value in row] for row in values.tolist()]
        if draw.chance(0.3):
            rows[draw.whole(0, len(rows) - 1)][0] = draw.pick(CELLS)
        if draw.chance(0.3):
            rows.insert(0, [draw.pick(("a", "1", "", "bmi")) for _ in rows[0]])
        if draw.chance(0.1):
            rows.append(rows[0][:-1])
        ends = draw.pick(("\n", "\r\n", "\n\n", "\r"))
        encoding = draw.pick(("utf-8", "utf-8-sig", "utf-16", "latin-1"))
        text = ends.join(draw.pick((",", ",", ";", "\t")).join(row) for row in rows)
        file.write_bytes(text.encode(encoding, errors="replace"))
    return file.name


def _write_toml(draw: Draw, file: Path) -> None:
    text = TOML.format(
        kind=draw.mostly("regression", ("classification", "sensing", ""), 0.2),
        network=draw.mostly("diagonal", ("rank_one", "power", "signed_power", "cubic"), 0.3),
        depth=draw.mostly("2", ("3", "0", "'x'", "[2]", "1e3", "nan", "true", "9" * 30)),
        init=draw.mostly("zero_last", ("random", "layers", "balanced", ""), 0.2),
        scale=draw.mostly("0.5", ("0", "inf", "nan", "-1", "'x'", "[1.0]", "2020-01-01")),
    )
    if draw.chance(0.1):
        lines = text.splitlines()
        del lines[draw.whole(0, len(lines) - 1)]
        text = "\n".join(lines)
    file.write_text(text, encoding="utf-8")


def _damage(draw: Draw, file: Path) -> None:
    """Cut a file off, or change, insert or remove some of its bytes."""
    data = bytearray(file.read_bytes())
    where = draw.whole(0, max(len(data) - 1, 0))
    noise = draw.rng.integers(0, 256, draw.whole(1, 8), dtype=np.uint8).tobytes()
    kind = draw.whole(0, 4)
    if kind == 0:
        data = data[:where]
    elif kind == 1:
        data[where : where + len(noise)] = noise
    elif kind == 2:
        data[where:where] = noise
    elif kind == 3:
        del data[where : where + len(noise)]
    else:
        data = bytearray(draw.pick((b"", b"\0" * 8, b"PK\x03\x04", b"\x93NUMPY", noise)))
    file.write_bytes(bytes(data))
