"""What a base install must do, run by the Python of an environment that has nothing else.

Extras that are not installed must be named; those that are must work.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import limitpoint as lp


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 8))
    task = lp.Regression(X, rng.standard_normal(4))
    classes = lp.Classification(X, np.sign(X @ rng.standard_normal(8)))
    several = lp.Regression(X, rng.standard_normal((4, 2)))
    sensors = lp.MatrixSensing([np.diag(rng.standard_normal(3)) for _ in range(2)], [1.0, 2.0])
    even = lp.Regression([[1.0, 2.0, 3.0, 2.0], [0.0, 1.0, 5.0, 1.0]], [1.0, 2.0])
    two_layer, filters, dense = lp.TwoLayer(12), lp.Convolutional((4, 4)), lp.FullyConnected((5,))
    matrices = lp.MatrixProduct(2)
    rotations = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2)]
    tensor = lp.OrthogonalTensor(rng.standard_normal((3, 8)), rotations)
    starts = [
        (lp.Diagonal(2), task, {}),
        (lp.Diagonal(3), task, {}),
        (lp.Power(2), lp.Regression(np.abs(X), np.abs(X) @ np.ones(8)), {}),
        (lp.SignedPower(3), task, {}),
        (lp.Paired(), task, {}),
        (tensor, task, {}),
        (lp.Diagonal(2), classes, {}),
    ]
    made = [(net, lp.Init.random(net, of, scale=0.1, seed=0), of) for net, of, _ in starts]
    for net in (lp.RankOne(3, 4), dense):
        made.append((net, lp.Init.balanced(net, task, scale=0.5, seed=0), task))
    made.append((two_layer, lp.Init.orthogonal(two_layer, several, gamma=1e-3, seed=0), several))
    made.append((filters, lp.Init.zero_last(filters, even, scale=0.5), even))
    made.append((matrices, lp.Init.zero_last(matrices, sensors, scale=0.5), sensors))
    for net, init, of in made:
        verdict = lp.verify(lp.Problem(net, init, of))
        assert verdict.passed, f"{net}: {verdict}"
    path = lp.saddle_path(X, task.y, t_plus=1.0, t_minus=2.0)
    assert path.certificate.ok, path
    problem = lp.Problem(*made[0])
    assert lp.explain(problem).applicable
    lp.io.save_problem(problem, "problem.toml")
    command = Path(sys.executable).with_name("limitpoint")
    for words in (["--version"], ["--help"], ["verify", "problem.toml"], ["atlas"]):
        subprocess.run([command, *words], check=True, stdout=subprocess.DEVNULL)
    print(f"{len(made)} verdicts passed")
    for library, call in {
        "jax": lambda: lp.train(problem, lp.GD(1e-2), steps=10),
        "matplotlib": lambda: lp.plot.plot_limit(lp.predict(problem)),
        "sklearn": lambda: lp.estimators.SaddlePathRegressor().fit(X, task.y),
        "xarray": lambda: lp.predict(problem).to_xarray(),
    }.items():
        said = ""
        try:
            call()
        except lp.errors.MissingExtra as error:
            said = str(error)
        here = find_spec(library) is not None
        assert bool(said) != here, library
        assert here or f"needs {library}" in said, said
        print(f"{library}: works" if here else said)


if __name__ == "__main__":
    main()
