"""Problems in TOML files that point at CSV, TSV, Parquet, NPY or NPZ data.

    [task]
    kind = "regression"       # or "classification", "matrix_sensing"; may be left out
    X = "data.csv"            # or a TSV, Parquet or NPY file, an NPZ file (its array "X"),
                              # "data.npz:name", [[…]];
                              # for "matrix_sensing" A = "sensors.npy" instead
    y = "target.csv"
    header = true             # whether the first line of a table holds names, and
    index_column = false      # whether its first column labels the rows; both optional, and needed
                              # only where a table can be read in two ways
    feature_names = ["age"]   # optional: by default those in the first line of X
    loss = "exponential"      # or "logistic"; for "classification" only, may be left out
    loss_factor = 1.0         # optional

    [network]
    kind = "diagonal"         # or "power", "signed_power", "paired", "rank_one", "fully_connected",
                              # "two_layer", "relu", "convolutional", "matrix_product"
                              # ("fc", "conv" and "matrix" in short)
    depth = 2                 # not for "paired"; "rank_one" also has width = 10, "two_layer"
                              # only that, "fully_connected" and "relu" have
                              # widths = [10, 10] instead, "convolutional" filter_sizes = [2]

    [init]
    kind = "random"           # or "zero_last", "unbiased", "shaped", "balanced", "perturbed",
                              # "one_neuron", "orthogonal", "layers"
    seed = 0                  # for "random", "balanced", "perturbed", "one_neuron", "orthogonal"
    scale = 1e-3              # or log_scale = -2302.6; balanced and perturbed: or norm = 0.5;
                              # orthogonal: or gamma = 1e-4

The kinds "zero_last", "unbiased", "balanced" and "perturbed" take an optional `direction`, "shaped"
needs `shape`, "perturbed" needs `imbalance`, "orthogonal" takes `perturbation`; with "layers",
`direction` lists one array or file per layer. Paths are relative to the problem file.

The registries of kinds are also those of the command line.
"""

from limitpoint.foundation.saving import load, save
from limitpoint.io.data_files import read_array
from limitpoint.io.init_tables import INITS, InitKind
from limitpoint.io.network_tables import (
    ALIASES,
    NETWORKS,
    full_name,
    make_network,
    register_network,
)
from limitpoint.io.problem_files import TABLES, load_problem, save_problem
from limitpoint.io.run_files import read_run
from limitpoint.io.tables import Table, read_table
from limitpoint.io.task_tables import TASKS, read_task

__all__ = [
    "ALIASES",
    "INITS",
    "NETWORKS",
    "TABLES",
    "TASKS",
    "InitKind",
    "Table",
    "full_name",
    "load",
    "load_problem",
    "make_network",
    "read_array",
    "read_run",
    "read_table",
    "read_task",
    "register_network",
    "save",
    "save_problem",
]
