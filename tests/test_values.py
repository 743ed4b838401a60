"""Values: equal and hashed by content, the same after pickling and after a file."""

import dataclasses
import json
import pickle
import zipfile

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import limitpoint as lp
from limitpoint.errors import LimitpointError, ResultFileError
from limitpoint.foundation.values import Value

EQ7 = lp.examples.zhao_eq7()
NETWORK = lp.Diagonal(depth=2)
CLASSES = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
OUTPUTS = lp.Regression(np.eye(2), [[2.0, 0.3], [-0.4, 1.0]])


def problem_of(task=EQ7, network=NETWORK, seed=0):
    return lp.Problem(network, lp.Init.random(network, task, scale=0.01, seed=seed), task)


def two_layers():
    network = lp.TwoLayer(3)
    return lp.Problem(network, lp.Init.orthogonal(network, OUTPUTS, gamma=0.1), OUTPUTS)


MADE = {
    "limit": lambda: lp.predict(problem_of()),
    "limit at scale 0": lambda: lp.predict(
        lp.Problem(NETWORK, lp.Init.random(NETWORK, EQ7, scale=0.0, seed=0), EQ7)
    ),
    "path of limits": lambda: lp.predict_path(problem_of(), [1.0, 0.1, 0.0]),
    "proof": lambda: lp.prove(problem_of()),
    "saddles": lambda: lp.analysis.saddles(problem_of()),
    "saddle path": lambda: lp.saddle_path(EQ7.X, EQ7.y, t_plus=[1.0, 2.0, 3.0, 4.0]),
    "flow": lambda: lp.flow(problem_of()),
    "flow of classes": lambda: lp.flow(problem_of(CLASSES), margin=1e3),
    "training": lambda: lp.train(problem_of(), lp.GD(1e-3), 50),
    "sweep": lambda: lp.train_many(problem_of(), [lp.GD(1e-3), lp.SGD(1e-3, 1)], 20, seeds=[0, 1]),
    "verdict": lambda: lp.verify(problem_of()),
    "explanation": lambda: lp.explain(problem_of()),
    "drift": lambda: lp.analysis.drift(NETWORK, lp.flow(problem_of())),
    "activation times": lambda: lp.analysis.activation_times(NETWORK, problem_of().init),
    "direction": lambda: lp.analysis.limit_direction(problem_of(CLASSES)),
    "spectrum": lambda: lp.spectral.spectrum(lp.flow(two_layers())),
    "jumps": lambda: lp.spectral.spectral_jumps(two_layers()),
    "problem": problem_of,
    "two layers": two_layers,
    "classes": lambda: lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1]),
    "sensing": lambda: lp.MatrixSensing(np.ones((2, 2, 2)) + np.eye(2), [1.0, 1.0]),
    "tensor": lambda: lp.Tensor(np.arange(12.0).reshape(3, 2, 2)),
    "init": lambda: lp.Init([[1.0, np.pi], [0.0, 0.5]], log_scale=-2302.6),
}


@pytest.fixture(scope="module")
def values():
    return {name: (make(), make()) for name, make in MADE.items()}


@pytest.fixture(params=MADE)
def pair(request, values):
    return values[request.param]


def arrays(value, depth=0):
    """Every array in a value."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple | list):
        return [found for one in value for found in arrays(one, depth)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and depth < 3:
        own = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return [found for one in own for found in arrays(one, depth + 1)]
    return []


def test_made_twice_they_are_equal(pair):
    one, other = pair
    assert one == other
    assert one is not other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


def test_each_is_another_value(values):
    assert len({one for one, _ in values.values()}) == len(values)


def test_one_number_makes_another_value():
    limit = lp.predict(problem_of())
    moved = limit.coef.copy()
    moved[0] = np.nextafter(moved[0], np.inf)
    assert dataclasses.replace(limit, coef=moved) != limit
    assert lp.Regression(EQ7.X, EQ7.y, loss_factor=2.0) == EQ7
    assert lp.Regression(EQ7.X, EQ7.y) != EQ7
    assert EQ7 != "a task"


def test_zeros_and_nan_are_equal_whatever_their_bits():
    check = lp.results.Check("distance", float("nan"), 0.0, "why")
    assert check == lp.results.Check("distance", -float("nan"), -0.0, "why")


def test_functions_are_equal_where_they_are_the_same():
    def k(block):
        return block[0] ** 2 - block[1] ** 2

    def same_words(block):
        return block[0] ** 2 - block[1] ** 2

    assert lp.General(k, block_size=2) == lp.General(k, block_size=2)
    assert lp.General(k, block_size=2) != lp.General(same_words, block_size=2)


def test_pickled(pair):
    value, _ = pair
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert hash(again) == hash(value)
    assert repr(again) == repr(value)
    assert not any(array.flags.writeable for array in arrays(again))


def test_saved_and_loaded(pair, tmp_path):
    value, _ = pair
    path = lp.io.save(value, tmp_path / "value")
    assert path == tmp_path / "value.npz"
    again = lp.io.load(path)
    assert type(again) is type(value)
    assert again == value
    assert repr(again) == repr(value)
    assert not any(array.flags.writeable for array in arrays(again))
    assert sorted(tmp_path.iterdir()) == [path]


def test_what_is_loaded_can_be_used(tmp_path):
    again = lp.io.load(lp.analysis.saddles(problem_of()).save(tmp_path / "path"))
    np.testing.assert_array_equal(
        again.waiting_times(1), lp.analysis.saddles(problem_of()).waiting_times(1)
    )
    problem = lp.io.load(lp.io.save(problem_of(), tmp_path / "problem"))
    np.testing.assert_array_equal(lp.predict(problem).coef, lp.predict(problem_of()).coef)


class TestRefused:
    def test_a_file_that_is_there(self, tmp_path):
        limit = lp.predict(problem_of())
        path = limit.save(tmp_path / "limit.npz")
        with pytest.raises(LimitpointError, match="path must be a new file"):
            lp.predict(problem_of(seed=1)).save(path)
        assert lp.io.load(path) == limit
        other = lp.predict(problem_of(seed=1))
        other.save(path, overwrite=True)
        assert lp.io.load(path) == other

    def test_functions_and_operators(self, tmp_path):
        network = lp.General(lambda block: block[0] ** 2 - block[1] ** 2, block_size=2)
        with pytest.raises(LimitpointError, match="functions and operators live in a program"):
            lp.io.save(problem_of(network=network), tmp_path / "general")
        path = lp.saddle_path(aslinearoperator(EQ7.X), EQ7.y)
        with pytest.raises(LimitpointError, match="cannot be written"):
            path.save(tmp_path / "path")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("value", [None, 1.0, np.ones(2), "limit", lp.results.Limit])
    def test_what_is_no_value(self, value, tmp_path):
        with pytest.raises(LimitpointError, match="value must be a result"):
            lp.io.save(value, tmp_path / "value")

    def test_no_file(self, tmp_path):
        with pytest.raises(ResultFileError, match="there is no file"):
            lp.io.load(tmp_path / "nowhere.npz")

    @pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 cut off"])
    def test_other_files(self, tmp_path, content):
        path = tmp_path / "file.npz"
        path.write_bytes(content)
        with pytest.raises(ResultFileError, match="not a file that limitpoint saved"):
            lp.io.load(path)

    def test_arrays_of_others(self, tmp_path):
        np.savez(tmp_path / "file.npz", X=EQ7.X)
        with pytest.raises(ResultFileError, match="not a file that limitpoint saved"):
            lp.io.load(tmp_path / "file.npz")

    def test_a_file_cut_short(self, tmp_path):
        path = lp.flow(problem_of()).save(tmp_path / "flow")
        whole = path.read_bytes()
        for part in (0.3, 0.7, 0.99):
            path.write_bytes(whole[: int(part * len(whole))])
            with pytest.raises(ResultFileError):
                lp.io.load(path)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda d: d | {"version": 99}, "of version 99"),
            (lambda d: d | {"format": "other"}, "not a file that limitpoint saved"),
            (lambda d: d | {"value": {"value": "Path", "fields": {}}}, "damaged"),
            (lambda d: d | {"value": {"value": "Limit", "fields": {"coef": 1}}}, "other fields"),
            (lambda d: d | {"value": {"array": "array_77", "order": "C"}}, "damaged"),
            (lambda d: d | {"value": {"theorem": "nobody.theorem1"}}, "no theorem"),
            (lambda d: [], "not a file that limitpoint saved"),
        ],
    )
    def test_descriptions_that_describe_nothing(self, tmp_path, change, words):
        path = lp.predict(problem_of()).save(tmp_path / "limit")
        with np.load(path) as archive:
            held = {name: archive[name] for name in archive.files}
        text = json.dumps(change(json.loads(held["description"].tobytes())))
        np.savez(path, **held | {"description": np.frombuffer(text.encode(), np.uint8)})
        with pytest.raises(ResultFileError, match=words):
            lp.io.load(path)

    def test_a_file_larger_than_is_read(self, tmp_path, monkeypatch):
        path = lp.predict(problem_of()).save(tmp_path / "limit")
        monkeypatch.setenv("LIMITPOINT_LARGEST_FILE", "100")
        with pytest.raises(ResultFileError, match="more than the 100 that are read; set the env"):
            lp.io.load(path)

    def test_nothing_in_a_file_is_executed(self, tmp_path):
        path = tmp_path / "evil.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("description.npy", pickle.dumps(print))
        with pytest.raises(ResultFileError):
            lp.io.load(path)


class TestSeeds:
    def test_a_generator_gives_a_seed(self):
        rng = np.random.default_rng(7)
        first, second = (lp.Init.random(NETWORK, EQ7, 1.0, seed=rng) for _ in range(2))
        again = lp.Init.random(NETWORK, EQ7, 1.0, seed=np.random.default_rng(7))
        assert first == again
        assert first != second

    def test_everywhere(self):
        rng = np.random.default_rng(3)
        assert isinstance(lp.SGD(1e-3, 1, seed=rng).seed, int)
        assert isinstance(lp.LabelNoise(1e-3, 0.1, seed=rng).seed, int)
        network = lp.RankOne(2, 3)
        assert lp.Init.balanced(network, EQ7, scale=1.0, seed=rng) is not None
        sweep = lp.train_many(problem_of(), [lp.SGD(1e-3, 1)], 5, seeds=[rng, rng])
        assert len(set(sweep.seeds.tolist())) == 2


def test_every_result_is_a_value():
    for name in lp.results.__all__:
        kind = getattr(lp.results, name)
        assert issubclass(kind, Value) or name == "Outcome", name
