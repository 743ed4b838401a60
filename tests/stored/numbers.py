"""The numbers of each result: the one place that knows what its attributes are called."""

import numpy as np

from limitpoint.errors import LimitpointError


def or_the_error(function, *arguments):
    """The numbers, or the kind of error that is raised instead (its words may change)."""
    try:
        return function(*arguments)
    except LimitpointError as error:
        return {f"refused with {type(error).__name__}": np.zeros(0)}


def numbers_of_limit(limit):
    return {
        "limit": limit.coef,
        "signs": limit.signs,
        "log moduli": limit.log_abs_coef,
        "mirror coordinates": limit.mirror,
        "dual": limit.dual,
        "potential": np.array([limit.potential]),
        "certificate": np.array(list(limit.certificate.residuals.values())),
        "status, iterations": np.array([limit.status.ok, limit.iterations], dtype=float),
        **{f"limit of layer {i}": layer for i, layer in enumerate(limit.layers or ())},
    }


def numbers_of_limit_path(path):
    return {
        f"{name} along scales": np.concatenate([np.ravel(n[name]) for n in every])
        for every in [[numbers_of_limit(limit) for limit in path.limits]]
        for name in ("limit", "dual", "certificate")
    }


def numbers_of_saddle_path(path):
    return {
        "coefs": path.coefs,
        "times": path.path_times,
        "losses": path.losses,
        "duals": path.duals,
        "mirror coordinates": path.mirrors,
        "objective": np.array([path.objective]),
        "certificate": np.array(list(path.certificate.residuals.values())),
        "status": np.array([float(path.status.ok)]),
        "degenerate": path.degenerate.astype(float),
    }


def numbers_of_run(name, run):
    found = {
        "coefs": run.coefs,
        "log moduli": run.log_abs_coefs,
        "times": run.times,
        "losses": run.losses,
        "relative residual, status": np.array([run.relative_residual, run.status.ok], dtype=float),
        **{f"layer {i}": layer for i, layer in enumerate(run.layers or ())},
    }
    optional = {"duals": run.duals, "margins": run.margins}
    found |= {what: values for what, values in optional.items() if values is not None}
    return {f"{name}: {what}": values for what, values in found.items()}


def numbers_of_sweep(sweep):
    return {"sweep: coefs": sweep.coefs, "sweep: losses": sweep.losses}


def numbers_of_verdict(verdict):
    found = {
        "measured": np.array([check.measured for check in verdict.checks]),
        "tolerances": np.array([check.tolerance for check in verdict.checks]),
        f"outcome {verdict.outcome.name}": np.zeros(0),
    }
    if verdict.limit is not None:
        found |= numbers_of_limit(verdict.limit)
    for i, run in enumerate(verdict.flows):
        found |= numbers_of_run(f"flow {i}", run)
    if verdict.training is not None:
        found |= numbers_of_run("training", verdict.training)
    return found
