"""The figure of the README: the saddle path of a network of three layers."""

import sys

import numpy as np

import limitpoint as lp


def main(path: str) -> None:
    rng = np.random.default_rng(55)
    task = lp.Regression(rng.standard_normal((6, 15)) / 2, rng.standard_normal(6))
    network = lp.Diagonal(depth=3)
    problem = lp.Problem(network, lp.Init.random(network, task, scale=0.0, seed=2), task)
    lp.plot.save(lp.plot.plot_saddles(lp.analysis.saddles(problem)), path)


if __name__ == "__main__":
    main(sys.argv[1])
