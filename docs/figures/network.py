"""The figure of the guide: the architecture of a fully connected network."""

import sys

import limitpoint as lp


def main(path: str) -> None:
    lp.plot.save(lp.plot.plot_network(lp.FullyConnected(widths=(4, 3)), features=5), path)


if __name__ == "__main__":
    main(sys.argv[1])
