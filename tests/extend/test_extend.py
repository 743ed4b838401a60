"""A network, an optimiser, a probe and a theorem from outside the package, each used by name.

That the pages' own examples work is tested with the documentation (`docs/extending.md`).
"""

import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.cli import main
from limitpoint.errors import LimitpointError

pytestmark = pytest.mark.usefixtures("as_registered")

# A package of somebody else: a product of two layers of which the second is seen twice as fast.
MODULE = """
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import limitpoint as lp


@dataclass(frozen=True)
class Stretched(lp.extend.WithoutMirrorMap):
    stretch: float = 2.0

    degree = 2

    def layer_shapes(self, task):
        return ((task.n_features,),) * 2

    def coef(self, layers):
        return self.stretch * layers[0] * layers[1]

    def invariants(self, layers):
        return np.stack([layers[0] ** 2 - layers[1] ** 2])


@dataclass(frozen=True)
class Boosted(lp.extend.Optimiser):
    learning_rate: float
    boost: float = 1.0

    @property
    def time_per_step(self):
        return self.learning_rate * self.boost

    def refined(self):
        return Boosted(self.learning_rate / 2, self.boost)

    def stepper(self, problem):
        def loss(layers):
            outputs = problem.network.outputs(layers, problem.task.X)
            return problem.task.loss_of_outputs(outputs, problem.task.y)

        gradient = jax.grad(loss)
        rate = self.time_per_step

        def step(layers, _):
            slopes = gradient(layers)
            return tuple(a - rate * g for a, g in zip(layers, slopes, strict=True))

        return step


@dataclass(frozen=True)
class LargestCoefficient(lp.extend.Probe):
    name: str = "largest"

    def value(self, problem, optimiser, start, coef, integral):
        return jnp.abs(coef).max()


def conditions(problem):
    held = isinstance(problem.network, Stretched)
    return (lp.atlas.Condition("stretched network", held, None, str(problem.network)),)


def limit(problem):
    inner = lp.Diagonal(2)
    init = lp.Init(problem.init.direction, log_scale=problem.init.log_scale)
    task = lp.Regression(problem.network.stretch * problem.task.X, problem.task.y)
    found = lp.predict(lp.Problem(inner, init, task))
    from dataclasses import replace

    return replace(found, coef=problem.network.stretch * found.coef, theorem=THEOREM)


lp.extend.register_network("stretched", Stretched)
lp.extend.register_optimiser("boosted", Boosted)
lp.extend.register_probe("largest", LargestCoefficient)
THEOREM = lp.atlas.register(
    lp.atlas.Theorem(
        id="others.stretched",
        citation="a note",
        statement="A stretched network is a diagonal one on stretched data.",
        concludes="limit",
        rank=5,
        conditions=conditions,
        limit=limit,
    )
)
"""
ENTRY_POINTS = "[limitpoint.extensions]\nothers = others_of_ours\n"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package of somebody else, as an installer leaves it."""
    (tmp_path / "others_of_ours.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "others_of_ours-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others_of_ours\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", lp.examples.zhao_eq7().X, delimiter=",")
    np.savetxt("y.csv", lp.examples.zhao_eq7().y, delimiter=",")
    yield
    sys.modules.pop("others_of_ours", None)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["limitpoint", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    return end.value.code, out, err


DATA = ("--X", "X.csv", "--y", "y.csv", "--scale", "0.1", "--json")


@pytest.mark.usefixtures("installed")
class TestOnTheCommandLine:
    def test_a_network_and_a_theorem(self, monkeypatch, capsys):
        status, out, _ = run(
            monkeypatch, capsys, "predict", *DATA, "--network", "stretched", "--seed", "1"
        )
        assert status == 0
        found = json.loads(out)
        assert found["theorem"] == "others.stretched"
        task, network = lp.examples.zhao_eq7(), lp.Diagonal(2)
        # The flow of the layers themselves ends there.
        layers = lp.Init.random(network, task, scale=0.1, seed=1)
        stretched = sys.modules["others_of_ours"].Stretched()
        run_ = lp.flow(lp.Problem(stretched, layers, task))
        np.testing.assert_allclose(found["coef"], run_.coef, rtol=1e-7)

    def test_an_optimiser_with_a_setting(self, monkeypatch, capsys):
        named = ("--optimiser", "boosted", "--set", "boost=2", "--learning-rate", "0.001")
        status, out, _ = run(monkeypatch, capsys, "train", *DATA, *named, "--steps", "500")
        assert status == 0
        faster = ("--learning-rate", "0.002", "--steps", "500")
        _, plain, _ = run(monkeypatch, capsys, "train", *DATA, *faster)
        np.testing.assert_allclose(
            json.loads(out)["coefs"][-1], json.loads(plain)["coefs"][-1], rtol=1e-12
        )

    def test_a_probe(self, monkeypatch, capsys):
        options = ("--probe", "largest", "--seeds", "1", "--steps", "100")
        status, out, _ = run(monkeypatch, capsys, "sweep", *DATA, *options)
        assert status == 0
        found = json.loads(out)
        assert np.asarray(found["largest"]).shape == np.asarray(found["loss"]).shape

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("train", "--optimiser", "booster"), "it is booster. Did you mean boosted?"),
            (("train", "--optimiser", "gd", "--set", "boost=1"), "gd has no boost"),
            (("train", "--optimiser", "sgd"), "sgd needs --set batch_size"),
            (("train", "--set", "boost=1"), "--set belongs to --optimiser"),
            (("train", "--optimiser", "gd", "--set", "fast"), "--set must be like batch_size=2"),
            (
                ("sweep", "--probe", "smallest"),
                "--probe must be one of start-term, noise-term, largest",
            ),
            (("predict", "--network", "stretchy"), "--network must be one of"),
        ],
    )
    def test_what_is_refused(self, monkeypatch, capsys, arguments, words):
        status, _, err = run(monkeypatch, capsys, arguments[0], *DATA, *arguments[1:])
        assert status == 2
        assert words in err


@pytest.mark.usefixtures("installed")
def test_extensions_in_python():
    assert "others" in lp.extend.load_extensions()
    network = lp.io.NETWORKS["stretched"](3.0)
    task = lp.examples.zhao_eq7()
    problem = lp.Problem(network, lp.Init.random(network, task, scale=0.1, seed=2), task)
    lp.io.save_problem(problem, "own.toml")
    again = lp.io.load_problem("own.toml")
    assert again == problem
    assert lp.predict(again).theorem.id == "others.stretched"
    explained = lp.explain(lp.Problem(lp.Diagonal(2), problem.init, task)).to_dict()
    assert not explained["others.stretched"]["applies"]


def test_a_network_must_be_a_data_class():
    class Bare(lp.extend.WithoutMirrorMap):
        pass

    with pytest.raises(LimitpointError, match="must be a data class"):
        lp.extend.register_network("bare", Bare)


def test_an_optimiser_must_be_a_data_class():
    class Bare(lp.extend.Optimiser):
        pass

    with pytest.raises(LimitpointError, match="must be a data class"):
        lp.extend.register_optimiser("bare", Bare)


def test_names_are_taken_once():
    @dataclass(frozen=True)
    class Own(lp.extend.Probe):
        name: str = "own"

        def value(self, problem, optimiser, start, coef, integral):
            return coef.sum()

    lp.extend.register_probe("own", Own)
    with pytest.raises(LimitpointError, match="own is registered already"):
        lp.extend.register_probe("own", Own)
