"""Damaged and hostile files: one line, no wait, no memory."""

import io
import os
import socket
import struct
import sys
import zipfile

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.cli import main
from limitpoint.errors import LimitpointError, ProblemFileError, ResultFileError
from limitpoint.foundation.reading import largest_file
from limitpoint.io import load, read_array, read_table

REST = '[network]\nkind = "diagonal"\n[init]\nkind = "zero_last"\nscale = 0.1\n'


def npy(shape, data=b""):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npz(content, name="X.npy", compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def whole_npz():
    buffer = io.BytesIO()
    np.savez(buffer, X=np.ones((4, 4)))
    return buffer.getvalue()


def encrypted():
    """The bit that says so is set, in both headers of the entry."""
    content = bytearray(npz(npy((1,), b"\0" * 8)))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def flipped():
    content = bytearray(whole_npz())
    content[200] ^= 0xFF
    return bytes(content)


def wrong_sum():
    """What unpacks well, but to another check sum, which only those find who read to the end."""
    content = bytearray(npz(npy((10,), np.arange(1e5).tobytes())))
    for mark, offset in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        content[content.index(mark) + offset] ^= 1
    return bytes(content)


def pickled():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


FILES = {
    "npz that is no zip": ("X.npz", b"1,2\n3,4\n"),
    "npz cut short": ("X.npz", whole_npz()[:-30]),
    "npz with a bit flipped": ("X.npz", flipped()),
    "npz of another sum": ("X.npz", wrong_sum()),
    "npz encrypted": ("X.npz", encrypted()),
    "npz of a terabyte": ("X.npz", npz(npy((10**6, 10**6)))),
    "npz without an array": ("X.npz", npz(b"hello")),
    "npy of a terabyte": ("X.npy", npy((10**6, 10**6))),
    "npy of a negative shape": ("X.npy", npy((-1, -(10**6)))),
    "npy of more axes than there are": ("X.npy", npy((1,) * 100, b"\0" * 8)),
    "npy of objects": ("X.npy", pickled()),
    "npy cut short": ("X.npy", npy((4,), b"\0" * 31)),
    "npz of objects": ("X.npz", npz(pickled())),
    "csv of a long cell": ("X.csv", b"1," + b"9" * 200_000 + b"\n"),
    "csv of an open quote": ("X.csv", b'a,b\n"1,2\n' + b"3,4\n" * 50_000),
    "csv of zeros": ("X.csv", b"\0" * 1000),
    "gz that is none": ("X.csv.gz", b"1,2\n3,4\n"),
    "gz cut short": ("X.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03junk"),
    "parquet that is none": ("X.parquet", b"PAR1junkPAR1"),
}


@pytest.mark.parametrize("name", FILES)
def test_damaged_data_is_refused_in_one_line(tmp_path, name):
    file, content = FILES[name]
    if file.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ProblemFileError, match=file) as refused:
        read_array(str(tmp_path / file), "X")
    assert "\n" not in str(refused.value)
    if "terabyte" in name:  # told from the header, before any memory is asked for
        assert "its header claims 8e+12 bytes; it has" in str(refused.value)


def test_a_bomb_is_not_unpacked_unless_the_limit_is_raised(tmp_path, monkeypatch):
    import gzip

    array = npy((10**6,), b"\0" * 8_000_000)
    bombs = {"X.npz": npz(array), "X.csv.gz": gzip.compress(b"1.5,2\n" * 10**6)}
    for name, content in bombs.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setenv("LIMITPOINT_LARGEST_FILE", "1e6")
    for name in bombs:
        with pytest.raises(ProblemFileError, match=r"more than the 1e\+06 that are read; set the"):
            read_array(str(tmp_path / name), "X")
    monkeypatch.setenv("LIMITPOINT_LARGEST_FILE", "1e8")
    assert read_array(str(tmp_path / "X.npz"), "X").shape == (10**6,)
    monkeypatch.setenv("LIMITPOINT_LARGEST_FILE", "8e9")
    assert largest_file() == 8 * 10**9
    monkeypatch.setenv("LIMITPOINT_LARGEST_FILE", "many")
    with pytest.raises(LimitpointError, match=r"LIMITPOINT_LARGEST_FILE must be a number of bytes"):
        read_array(str(tmp_path / "X.npz"), "X")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[task]\nX = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"[task]\nX = " + b"[" * 150 + b"1" + b"]" * 150 + b"\ny = [1]\n", "X must be an array"),
        (b"[task]\nX = 1" + b"0" * 10_000, "is not a TOML file"),
        (b"[task]\nX = [[1" + b"0" * 400 + b"]]\ny = [1]\n", "X must .* too large"),
        ("[task]\nkind = 'größe'".encode("latin-1"), "is not a TOML file .line 2 is no text"),
        (b"\0" * 10, "is not a TOML file .*NUL"),
    ],
    ids=["nested", "axes", "digits", "huge number", "latin-1", "zeros"],
)
def test_hostile_problem_files(tmp_path, content, message):
    path = tmp_path / "problem.toml"
    path.write_bytes(content + b"\n" + REST.encode())
    with pytest.raises(ProblemFileError, match=message) as refused:
        lp.io.load_problem(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_encodings_are_read(tmp_path, encoding):
    path = tmp_path / "problem.toml"
    path.write_bytes(f"[task]\nX = [[1.0]]\ny = [1.0]\n{REST}".encode(encoding))
    assert lp.io.load_problem(path).task.n_samples == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files")
@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "toml", "parquet"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket"])
def test_what_is_no_file_is_not_waited_for(tmp_path, monkeypatch, kind, ending):
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    name = f"X.{ending}"
    if kind == "pipe":
        os.mkfifo(name)
    elif kind == "device":
        os.symlink("/dev/zero", name)
    elif kind == "folder":
        os.mkdir(name)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
    read = {"toml": lp.io.load_problem, "npy": load, "npz": load}.get(ending, read_table)
    with pytest.raises((ProblemFileError, ResultFileError), match=name):
        read(name)
    if ending in ("npy", "npz"):
        with pytest.raises(ProblemFileError, match="cannot be read"):
            read_array(name, "X")


def test_the_command_says_it_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "X.npz").write_bytes(encrypted())
    (tmp_path / "y.csv").write_text("1\n2\n")
    monkeypatch.setattr(sys, "argv", ["limitpoint", "predict", "--X", "X.npz", "--y", "y.csv"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: X: X.npz is not a table of numbers (")
    assert said.count("\n") == 1


def test_results_of_before_have_no_names_and_are_read(tmp_path):
    import json

    task = lp.Regression([[1.0, 2.0]], [1.0])
    problem = lp.Problem(lp.Diagonal(2), lp.Init.zero_last(lp.Diagonal(2), task, 0.1), task)
    limit = lp.predict(problem)
    path = limit.save(tmp_path / "limit")
    with np.load(path) as archive:
        held = {name: archive[name] for name in archive.files}
    description = json.loads(held["description"].tobytes())
    for name in ("feature_names", "target_names"):
        del description["value"]["fields"][name]
    text = json.dumps(description).encode()
    np.savez(path, **held | {"description": np.frombuffer(text, np.uint8)})
    assert load(path) == limit
    deep = b'{"value": ' * 20_000 + b"1" + b"}" * 20_000
    np.savez(path, description=np.frombuffer(deep, np.uint8))
    with pytest.raises(ResultFileError, match="damaged"):
        load(path)
