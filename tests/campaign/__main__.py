"""Random problems in bulk against oracles that share no code with the package."""

import argparse
import importlib
import importlib.util
import sys

# Modules with `add_arguments(parser)` and `run(given)`, which prints and says whether all passed.
CAMPAIGNS = {
    "units": "rows and columns in random units, against limits of 60 digits",
    "fitted": "certified limits at scales from 1e-12 to 1e12: do they fit?",
    "proofs": "proofs at scales from 10^-1000 to 10^6, against oracles, a checker and float64",
    "saddles": "saddle paths in random units, against rational arithmetic",
}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    commands = parser.add_subparsers(dest="campaign", required=True)
    modules = {}
    for name, words in CAMPAIGNS.items():
        if importlib.util.find_spec(f"tests.campaign.{name}") is None:
            continue
        modules[name] = importlib.import_module(f"tests.campaign.{name}")
        modules[name].add_arguments(commands.add_parser(name, help=words))
    given = parser.parse_args()
    sys.exit(0 if modules[given.campaign].run(given) else 1)


if __name__ == "__main__":
    main()
