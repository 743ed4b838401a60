"""How long it takes until limitpoint answers, in units of what importing NumPy takes.

Every start is a new Python process; the least of several is taken, in turns, so that a busy moment
meets all of them.
"""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import Row

TURNS = 7
MOST = {"import limitpoint": 2.0, "limitpoint --help": 4.0}


def rows() -> list[Row]:
    command = str(Path(sys.executable).with_name("limitpoint"))
    starts = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import limitpoint": [sys.executable, "-c", "import limitpoint"],
        "limitpoint --help": [command, "--help"],
    }
    least = dict.fromkeys(starts, float("inf"))
    for _ in range(TURNS):
        for name, words in starts.items():
            begin = time.perf_counter()
            subprocess.run(words, check=True, capture_output=True)
            least[name] = min(least[name], time.perf_counter() - begin)
    numpy = least["import numpy"]
    return [
        Row(name, "import numpy", least[name], numpy, 0.0, 0.0, at_least=1 / most)
        for name, most in MOST.items()
    ]
