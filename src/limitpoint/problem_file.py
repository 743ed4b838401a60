"""Problems in TOML files that point at CSV, NPY or NPZ data.

    [task]
    X = "data.csv"            # or an NPY file, an NPZ file (its array "X"), "data.npz:name", [[…]]
    y = "target.csv"
    loss_factor = 1.0         # optional

    [network]
    kind = "diagonal"         # or "power", "signed_power", "paired", "rank_one", "fully_connected",
                              # "two_layer", "relu", "convolutional", "matrix_product"
    depth = 2                 # not for "paired"; "rank_one" also has width = 10, "two_layer"
                              # only that, "fully_connected" and "relu" have
                              # widths = [10, 10] instead, "convolutional" filter_sizes = [2, 10]

    [init]
    kind = "random"           # or "zero_last", "unbiased", "shaped", "balanced", "perturbed",
                              # "one_neuron", "orthogonal", "layers"
    seed = 0                  # for "random", "balanced", "perturbed", "one_neuron", "orthogonal"
    scale = 1e-3              # or log_scale = -2302.6; balanced and perturbed: or norm = 0.5;
                              # orthogonal: or gamma = 1e-4

The kinds "zero_last", "unbiased", "balanced" and "perturbed" take an optional `direction`, "shaped"
needs `shape`, "perturbed" needs `imbalance`, "orthogonal" takes `perturbation`; with "layers",
`direction` lists one array or file per layer. Paths are relative to the problem file.

The two registries of kinds are also those of the command line.
"""

import csv
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import tomli_w

from limitpoint.arrays import Float, as_float_array
from limitpoint.errors import LimitpointError, NetworkError, ProblemFileError
from limitpoint.init import Init
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    MatrixProduct,
    Network,
    Paired,
    Power,
    RankOne,
    ReLU,
    SignedPower,
    TwoLayer,
)
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = [
    "INITS",
    "NETWORKS",
    "InitKind",
    "load_problem",
    "make_network",
    "read_array",
    "read_data",
    "save_problem",
]

TABLES = {
    "task": {"X", "y", "loss_factor"},
    "network": {"kind", "depth", "width", "widths", "filter_sizes"},
    "init": {
        "kind",
        "seed",
        "scale",
        "log_scale",
        "norm",
        "gamma",
        "direction",
        "shape",
        "imbalance",
        "perturbation",
    },
}

# Networks that a name and a few numbers determine, by that name.
NETWORKS: dict[str, type[Network]] = {
    "diagonal": Diagonal,
    "power": Power,
    "signed_power": SignedPower,
    "paired": Paired,
    "rank_one": RankOne,
    "fully_connected": FullyConnected,
    "two_layer": TwoLayer,
    "relu": ReLU,
    "convolutional": Convolutional,
    "matrix_product": MatrixProduct,
}


@dataclass(frozen=True)
class InitKind:
    """A named start: how it is made, and the entries besides the scale.

    Those that it takes, the one of them that it needs, and what that is in words.
    """

    make: Callable[..., Init]
    takes: tuple[str, ...]
    needs: str | None = None
    needed: str = ""


INITS = {
    "random": InitKind(Init.random, takes=("seed",)),
    "zero_last": InitKind(Init.zero_last, takes=("direction",)),
    "unbiased": InitKind(Init.unbiased, takes=("direction",)),
    "shaped": InitKind(
        Init.shaped,
        takes=("shape",),
        needs="shape",
        needed="shape, a number in (-1, 1) or one per feature",
    ),
    "balanced": InitKind(Init.balanced, takes=("norm", "direction", "seed")),
    "perturbed": InitKind(
        Init.perturbed,
        takes=("imbalance", "norm", "direction", "seed"),
        needs="imbalance",
        needed="imbalance, a number (0 is balanced)",
    ),
    "one_neuron": InitKind(Init.one_neuron, takes=("seed",)),
    "orthogonal": InitKind(Init.orthogonal, takes=("gamma", "seed", "perturbation")),
    "layers": InitKind(
        lambda network, task, direction, **scale: Init(direction, **scale),
        takes=("direction",),
        needs="direction",
        needed="direction, a list of layers",
    ),
}


def load_problem(path: str | Path) -> Problem:
    """Read a problem from a TOML file.

    Raises
    ------
    ProblemFileError
        Naming the file and what in it is wrong.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ProblemFileError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProblemFileError(f"{path}: is not a TOML file ({error})") from None
    try:
        return _problem(content, path.parent)
    except LimitpointError as error:
        raise ProblemFileError(f"{path}: {error}") from error


def save_problem(problem: Problem, path: str | Path) -> None:
    """Write a problem as a TOML file and, beside it, an NPZ file with the same stem."""
    path = Path(path)
    network = _network_table(problem.network)
    data = path.with_suffix(".npz")
    layers = {f"direction_{i}": layer for i, layer in enumerate(problem.init.direction)}
    arrays: dict[str, Any] = {"X": problem.task.X, "y": problem.task.y, **layers}
    np.savez(data, **arrays)
    init = problem.init
    # A float is written with all its digits, so either form of the scale is kept exactly; the
    # logarithm is the one that is always there.
    held = init.scale not in (0.0, float("inf")) or not init.is_finite
    scale = {"scale": init.scale} if held else {"log_scale": init.log_scale}
    content = {
        "task": {"X": data.name, "y": data.name, "loss_factor": problem.task.loss_factor},
        "network": network,
        "init": {"kind": "layers", "direction": [f"{data.name}:{key}" for key in layers], **scale},
    }
    path.write_text(tomli_w.dumps(content), encoding="utf-8")


def make_network(kind: str, **numbers: Any) -> Network:
    """The network of a kind of `NETWORKS`, with those of its numbers that are given."""
    make = NETWORKS[kind]
    for name in numbers:
        if name not in _numbers_of(make):
            raise NetworkError(f"a {kind.replace('_', ' ')} network has no {name}")
    for field in fields(make):  # type: ignore[arg-type]  # all of them are data classes
        if field.default is MISSING and field.name not in numbers:
            raise NetworkError(f"a {kind.replace('_', ' ')} network needs {field.name}")
    return make(**numbers)


def one_of(names: Iterable[str]) -> str:
    """Quoted names as a list in words."""
    *others, last = [repr(name) for name in names]
    return f"{', '.join(others)} or {last}"


def read_array(source: Any, name: str, folder: Path = Path()) -> Float:
    """Read an array given inline or as the name of a CSV, NPY or NPZ file.

    `file.npz` is read at the key `name`, `file.npz:key` at `key`. A CSV file may have one line of
    column names.
    """
    if not isinstance(source, str):
        return as_float_array(source, name, ProblemFileError, ndim=(0, 1, 2))
    stem, _, key = source.partition(".npz:")
    path = folder / (f"{stem}.npz" if key else source)
    try:
        if path.suffix == ".npy":
            with path.open("rb") as file:
                return np.asarray(np.load(file, allow_pickle=False))
        if path.suffix == ".npz":
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                key = key or name
                if key not in archive:
                    known = ", ".join(archive.files)
                    raise ProblemFileError(f"{name}: {path} has no array {key!r}, only {known}")
                return np.asarray(archive[key])
        if path.suffix in (".csv", ".txt"):
            return _read_csv(path)
    except OSError as error:
        raise ProblemFileError(
            f"{name}: {path} cannot be read ({error.strerror or error})"
        ) from None
    except ProblemFileError:
        raise
    except (ValueError, EOFError, BadZipFile) as error:
        raise ProblemFileError(f"{name}: {path} is not a table of numbers ({error})") from None
    raise ProblemFileError(f"{name}: {path} must be a .csv, .npy or .npz file")


def read_data(X: Any, y: Any, loss_factor: float, folder: Path = Path()) -> Regression:
    """Read both arrays; a matrix of one feature comes out of a CSV file as a vector."""
    matrix = read_array(X, "X", folder)
    matrix = matrix[:, None] if matrix.ndim == 1 and isinstance(X, str) else matrix
    return Regression(matrix, read_array(y, "y", folder), loss_factor)


def _read_csv(path: Path) -> Float:
    """Comma-separated numbers, with or without a line of names; one column becomes a vector."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [row for row in csv.reader(file) if row]
    # A line of names holds no number; a first line that holds some is data with a slip in it.
    if lines and not any(_is_number(cell) for cell in lines[0]):
        lines = lines[1:]
    if not lines:
        raise ValueError("no data")
    if len({len(line) for line in lines}) > 1:
        raise ValueError("its lines have different numbers of cells")
    array = np.array([[float(cell) for cell in line] for line in lines])
    return array[:, 0] if array.shape[1] == 1 else array


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _problem(content: dict[str, Any], folder: Path) -> Problem:
    for table, keys in content.items():
        if table not in TABLES:
            raise ProblemFileError(f"unknown table [{table}]; known are {', '.join(TABLES)}")
        if not isinstance(keys, dict):
            raise ProblemFileError(f"{table} must be a table, [{table}]; it is {keys!r}")
        unknown = set(keys) - TABLES[table]
        if unknown:
            raise ProblemFileError(
                f"[{table}] has unknown entries {', '.join(sorted(unknown))}; "
                f"known are {', '.join(sorted(TABLES[table]))}"
            )
    for table in TABLES:
        if table not in content:
            raise ProblemFileError(f"the table [{table}] is missing")
    task = _task(content["task"], folder)
    network = _network(content["network"])
    return Problem(network, _init(content["init"], network, task, folder), task)


def _task(table: dict[str, Any], folder: Path) -> Regression:
    for key in ("X", "y"):
        if key not in table:
            raise ProblemFileError(f"[task] needs {key}")
    return read_data(table["X"], table["y"], table.get("loss_factor", 1.0), folder)


def _network(table: dict[str, Any]) -> Network:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise ProblemFileError(f"[network] kind must be {one_of(NETWORKS)}; it is {kind!r}")
    return make_network(kind, **{key: table[key] for key in table if key != "kind"})


def _numbers_of(network: Any) -> tuple[str, ...]:
    """The names of the numbers that make a network of this class."""
    return tuple(field.name for field in fields(network))


def _network_table(network: Network) -> dict[str, Any]:
    """The table that makes this network again."""
    for kind, make in NETWORKS.items():
        if type(network) is make:
            return {"kind": kind, **{name: _plain(network, name) for name in _numbers_of(make)}}
    raise ProblemFileError(
        f"{type(network).__name__} cannot be written to a problem file, which names its network; "
        f"known are {', '.join(NETWORKS)}"
    )


def _plain(network: Network, name: str) -> Any:
    """A setting of a network as TOML has it."""
    value = getattr(network, name)
    return list(value) if isinstance(value, tuple) else value


def _init(table: dict[str, Any], network: Network, task: Regression, folder: Path) -> Init:
    name = table.get("kind")
    if not isinstance(name, str) or name not in INITS:
        raise ProblemFileError(f"[init] kind must be {one_of(INITS)}; it is {name!r}")
    kind = INITS[name]
    if kind.needs is not None and kind.needs not in table:
        raise ProblemFileError(f"[init] of kind {name!r} needs {kind.needed}")
    extra = set(table) - {"kind", "scale", "log_scale", *kind.takes}
    if extra:
        raise ProblemFileError(f"[init] of kind {name!r} does not take {', '.join(sorted(extra))}")
    given = {key: value for key, value in table.items() if key != "kind"}
    if name == "random":
        given.setdefault("seed", 0)
    if name == "layers":
        given["direction"] = _layers(given["direction"], folder)
    else:
        for entry in {"direction", "shape"} & set(given):
            given[entry] = read_array(given[entry], entry, folder)
    return kind.make(network, task, **given)


def _layers(direction: Any, folder: Path) -> list[Float]:
    if not isinstance(direction, list):
        raise ProblemFileError(f"[init] of kind 'layers' needs {INITS['layers'].needed}")
    return [read_array(layer, f"direction[{i}]", folder) for i, layer in enumerate(direction)]
