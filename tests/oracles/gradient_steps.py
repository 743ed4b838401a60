"""Gradient steps of networks of two layers in a NumPy loop, and the sums of the law of the step.

Nothing of the library but what an optimiser draws. Notation: a step with rate η, weight decay λ and
gradient g in the coefficients multiplies what rises with them by `(1 − ηλ)(1 + cz)` and what falls
by `(1 − ηλ)(1 − cz)`, `z = −ηg/(1 − ηλ)`; the flow would by `e^{±cz}`.
"""

import numpy as np

import limitpoint as lp

# c of every network.
RATES = {lp.Diagonal: 1.0, lp.SignedPower: 2.0, lp.Paired: 1.0}


def coef_of(network, layers):
    if isinstance(network, lp.Diagonal):
        return layers[0] * layers[1]
    if isinstance(network, lp.SignedPower):
        return layers[0] ** 2 - layers[1] ** 2
    return layers[0] * layers[1] - layers[2] * layers[3]


def slopes_of(network, layers):
    """`∂β/∂θ`, a layer at a time."""
    if isinstance(network, lp.Diagonal):
        return layers[1], layers[0]
    if isinstance(network, lp.SignedPower):
        return 2 * layers[0], -2 * layers[1]
    return layers[1], layers[0], -layers[3], -layers[2]


def drawn_gradients(problem, rule, steps):
    """`∂loss_k/∂β` of every step k, as functions of β."""
    X, y, factor = problem.task.X, problem.task.y, problem.task.loss_factor
    draws = rule.draws(len(y), 0, steps, ())
    for k in range(steps):
        rows, targets, weight = slice(None), y, factor
        if isinstance(rule, lp.SGD):
            rows, weight = draws[k], factor * len(y) / rule.batch_size
        elif draws is not None:
            targets = y + rule.delta * draws[k]
        yield lambda coef, X=X[rows], y=targets[rows], w=weight: w * X.T @ (X @ coef - y)


def train(problem, rule, steps):
    """Layers after every step, and `G±`, steps × 2 × n, to the first step that overflows."""
    network, layers = problem.network, [np.array(layer) for layer in problem.init.layers]
    rate, c = rule.learning_rate, RATES[type(network)]
    kept = 1 - rate * rule.weight_decay
    history, growth = [layers], [np.zeros((2, len(layers[0])))]
    for gradient in drawn_gradients(problem, rule, steps):
        g = gradient(coef_of(network, layers))
        slopes = slopes_of(network, layers)
        layers = [kept * a - rate * g * s for a, s in zip(layers, slopes, strict=True)]
        z = -rate * g / kept * c
        growth.append(
            growth[-1] + [np.log(abs(kept * (1 + z))) - z, np.log(abs(kept * (1 - z))) + z]
        )
        history.append(layers)
        if not max(np.abs(layer).max() for layer in layers) < 1e50:
            break
    return history, np.array(growth)


def diverges(problem, rule, steps):
    """Whether the loss on all samples grows a thousandfold."""
    with np.errstate(all="ignore"):
        ends = [coef_of(problem.network, one) for one in train(problem, rule, steps)[0]]
        losses = [
            np.sum((problem.task.X @ coef - problem.task.y) ** 2) for coef in (ends[0], ends[-1])
        ]
    return len(ends) <= steps or not losses[1] < 1e3 * losses[0]
