"""Every family at twenty starts, each trained by PyTorch: `python -m tests.torch [starts]`."""

import sys

import torch
from tests.torch.campaign import measure
from tests.torch.families import FAMILIES, draw

STARTS = 20


def main(starts):
    torch.set_num_threads(1)
    for name in FAMILIES:
        found = [measure(draw(name, seed)) for seed in range(starts)]
        outcomes = [one.verdict.outcome.name for one in found]
        distances = [_of(one.verdict, "measured") for one in found]
        tolerances = [_of(one.verdict, "tolerance") for one in found]
        print(
            f"{name:26} recognised {sum(one.is_recognised for one in found)}/{starts}"
            f"  agreement {max(one.agreement for one in found):.1e}"
            f"  round trip {max(one.round_trip for one in found):.1e}"
            f"  left {max(distances):.1e} of at most {max(tolerances):.1e}"
            f"  {', '.join(f'{outcomes.count(each)} {each}' for each in sorted({*outcomes}))}",
            flush=True,
        )


def _of(verdict, attribute):
    """The larger of the two distances from the limit, once the step is taken into account."""
    checks = [check for check in verdict.checks if check.name.startswith("run: distance")]
    return max(getattr(check, attribute) for check in checks)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STARTS)
