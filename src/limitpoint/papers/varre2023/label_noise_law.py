"""What label noise does to the hidden layer in scalar regression on orthogonal data (Figure 1b).

Notation: `β = Wa`, d features, g the negative gradient in β at a step, η the rate, δ the noise,
`s² = ηδ²`, `C = WᵀW − aaᵀ`, `H = WWᵀ + |a|²I` the curvature.

Ours, and right to first order in η. A step adds `ηgaᵀ` to W and `ηWᵀg` to a, and hence
`η²(|g|²aaᵀ − WᵀggᵀW)` to C. Where β has come to rest about its end, the residual is what the steps
before have left of the noise, so that g has the mean square `G = 2δ²(2 − ηH)⁻¹`, in all
`dC/dt = s²(tr G·aaᵀ − WᵀGW)/δ²` with `G/δ² = I + ½ηH`: a function of C and a, so that the path of a
alone tells the singular values of W. In the limit of small steps
`WᵀW = 2γe^{−s²t}I + aaᵀ + s²(d−1)∫e^{−s²(t−τ)}aaᵀdτ`, and those values that a does not meet decay
from √(2γ) as `e^{−s²t/2}`.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["LabelNoiseLaw"]


@dataclass(frozen=True)
class LabelNoiseLaw:
    """Start, noise, rate, and after how many steps a path is recorded."""

    gamma: float
    delta: float
    learning_rate: float
    record_every: int

    @property
    def decay(self) -> float:
        """`s²`."""
        return self.learning_rate * self.delta**2

    def values(self, paths: Float) -> Float:
        """Singular values of W at the end, from paths of a (runs × records × d); by Heun's method.

        a is taken along the rows of W(0), of which it never leaves the span.
        """
        features, step = paths.shape[-1], self.learning_rate * self.record_every
        kept = np.tile(2 * self.gamma * np.eye(features), (len(paths), 1, 1))
        for now, then in zip(paths.swapaxes(0, 1)[:-1], paths.swapaxes(0, 1)[1:], strict=True):
            first = self._velocity(kept, now)
            kept = kept + step / 2 * (first + self._velocity(kept + step * first, then))
        gram = kept + _outer(paths[:, -1])
        return np.asarray(np.sqrt(np.linalg.eigvalsh(gram)[:, ::-1]))

    def _velocity(self, kept: Float, a: Float) -> Float:
        outer, half = _outer(a), self.learning_rate / 2
        gram, square = kept + outer, np.sum(a**2, axis=1)[:, None, None]
        trace = np.trace(gram, axis1=1, axis2=2)[:, None, None]
        total = a.shape[1] * (1 + half * square) + half * trace
        shrunk = (1 + half * square) * gram + half * gram @ gram
        return np.asarray(self.decay * (total * outer - shrunk))

    def ensemble(self, truth: Float, runs: int, steps: int, seed: int) -> tuple[Float, Float]:
        """Singular values of W at the end of many runs, and their paths of a, in plain NumPy.

        In the coordinates of W(0)'s rows W is d×d and starts at √(2γ) times the identity; on
        orthogonal data noise on the labels is isotropic noise on the negative gradient.
        """
        rng, features = np.random.default_rng(seed), len(truth)
        W = np.tile(np.sqrt(2 * self.gamma) * np.eye(features), (runs, 1, 1))
        a = np.zeros((runs, features))
        paths = [a.copy()]
        for step in range(1, steps + 1):
            noise = self.delta * rng.standard_normal(a.shape)
            neg_grad = truth - np.einsum("kij,kj->ki", W, a) + noise
            driven = np.einsum("kij,ki->kj", W, neg_grad)
            W += self.learning_rate * neg_grad[:, :, None] * a[:, None, :]
            a += self.learning_rate * driven
            if step % self.record_every == 0:
                paths.append(a.copy())
        return np.linalg.svd(W, compute_uv=False), np.stack(paths, axis=1)


def _outer(a: Float) -> Float:
    return np.asarray(a[:, :, None] * a[:, None, :])
