"""Files are written whole or not at all, and never over something else without being asked."""

import errno
import os
import stat

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import LimitpointError
from limitpoint.foundation import atomic
from limitpoint.foundation.atomic import writing, writing_together

TASK = lp.Regression([[1.0, 2.0]], [1.0], feature_names=["a", "b"])
NETWORK = lp.Diagonal(2)
PROBLEM = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, TASK, 0.1), TASK)
OTHER = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, TASK, 0.2), TASK)


def names(folder):
    return sorted(one.name for one in folder.iterdir())


def write(paths, meanwhile=lambda: None, **options):
    with writing_together(*paths, **options) as parts:
        for part in parts:
            part.write_text("new")
        meanwhile()


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError, match="division"):
        write([path], lambda: 1 / 0)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are those of POSIX")
def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "file.txt", tmp_path / "link.txt"
    before = os.umask(0o027)
    try:
        with writing(path) as part:
            part.write_text("1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    link.symlink_to(path)
    with writing(link) as part:
        part.write_text("2")
    assert link.is_symlink()
    assert path.read_text() == "2"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "file.txt"
    with pytest.raises(LimitpointError, match=r"path must be a new file, .* is there"):
        write([path], lambda: path.write_text("theirs"), overwrite=False)
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["file.txt"]


def test_files_that_belong_together_are_placed_together(tmp_path, monkeypatch):
    paths = [tmp_path / "data.npz", tmp_path / "data.toml"]
    for path in paths:
        path.write_text("old")
    place, calls = atomic._place, []

    def fails_at_the_second(part, final, overwrite):
        calls.append(final)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        place(part, final, overwrite)

    monkeypatch.setattr(atomic, "_place", fails_at_the_second)
    with pytest.raises(OSError, match=r"No space left on device.*data\.toml"):
        write(paths)
    assert [path.read_text() for path in paths] == ["old", "old"]
    assert names(tmp_path) == ["data.npz", "data.toml"]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    limit = lp.predict(PROBLEM)
    monkeypatch.setattr(np, "savez_compressed", full)
    monkeypatch.setattr(np, "savez", full)
    figure = lp.plot.plot_limit(limit)
    monkeypatch.setattr(figure, "savefig", full)
    for name, write in [
        ("limit.npz", limit.save),
        ("problem.toml", lambda path: lp.io.save_problem(PROBLEM, path)),
        ("figure.png", lambda path: lp.plot.save(figure, path)),
    ]:
        with pytest.raises(OSError, match="No space left") as refused:
            write(tmp_path / name)
        assert refused.value.filename == str(tmp_path / name)
    assert names(tmp_path) == []


def test_save_problem_never_replaces_unless_asked(tmp_path):
    np.savez(tmp_path / "data.npz", mine=np.ones(3))
    mine = (tmp_path / "data.npz").read_bytes()
    with pytest.raises(LimitpointError, match=r"unless overwrite=True; .*data\.npz is there"):
        lp.io.save_problem(PROBLEM, tmp_path / "data.toml")
    assert (tmp_path / "data.npz").read_bytes() == mine
    assert names(tmp_path) == ["data.npz"]
    written = lp.io.save_problem(PROBLEM, tmp_path / "other")
    assert written == tmp_path / "other.toml"
    with pytest.raises(LimitpointError, match=r"other\.\w+ is there"):
        lp.io.save_problem(OTHER, written)
    assert lp.io.load_problem(written) == PROBLEM
    lp.io.save_problem(OTHER, written, overwrite=True)
    assert lp.io.load_problem(written).init.scale == 0.2
    assert names(tmp_path) == ["data.npz", "other.npz", "other.toml"]


@pytest.mark.parametrize(
    "name", ["data.npz", "data.json", "a.npz:b.toml", "data.npz:.toml", "..", "a\nb.toml"]
)
def test_save_problem_refuses_names_that_it_could_not_load(tmp_path, name):
    with pytest.raises(LimitpointError, match=r"path must be a name that ends in \.toml"):
        lp.io.save_problem(PROBLEM, tmp_path / name)
    assert names(tmp_path) == []
