"""Build the wheel and try it in empty environments: `python -m tests.install`.

A base install and one with all extras, with the newest libraries and with the oldest that
`pyproject.toml` allows, under the Python that runs this and the newest that is at hand.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEWEST_PYTHON = 20


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    here, newest = Path(sys.executable).resolve(), _newest_python()
    tries = [(here, "", False), (here, "", True), (here, "all", True)]
    tries += [(newest, "", False), (newest, "all", False)] if newest else []
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _run(sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(ROOT))
        (wheel,) = (place / "dist").glob("*.whl")
        for python, extra, oldest in tries:
            name = f"{python.name}-{extra or 'base'}-{'oldest' if oldest else 'newest'}"
            worked = _try(python, place / name, wheel, extra, _oldest(project) if oldest else [])
            print(f"{name}: {'passed' if worked else 'failed'}", flush=True)
            failed += not worked
            shutil.rmtree(place / name)
    print(f"{len(tries) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def _newest_python() -> Path | None:
    """The newest Python beyond this one that is at hand, on the path or kept by pyenv."""
    for minor in range(NEWEST_PYTHON, sys.version_info[1], -1):
        name = f"python3.{minor}"
        found = shutil.which(name)
        places = [Path(found)] if found else []
        if shutil.which("pyenv"):
            listed = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False)
            places += sorted(Path(listed.stdout.strip()).glob(f"versions/3.{minor}.*/bin/{name}"))
        for python in places:
            if not subprocess.run(
                [python, "--version"], capture_output=True, check=False
            ).returncode:
                return python
    return None


def _oldest(project: dict) -> list[str]:
    """Every lower bound as the one version that is allowed."""
    extras = project["optional-dependencies"]
    bounds = [
        *project["dependencies"],
        *(b for name in extras if name != "dev" for b in extras[name]),
    ]
    return sorted({bound.replace(">=", "==") for bound in bounds if ">=" in bound})


def _try(python: Path, folder: Path, wheel: Path, extra: str, pinned: list[str]) -> bool:
    """Whether the smoke test passes in a new environment."""
    _run(str(python), "-m", "venv", str(folder))
    new = folder / "bin" / "python"
    pins = folder / "pins.txt"
    pins.write_text("\n".join(pinned), encoding="utf-8")
    wanted = f"limitpoint[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    _run(str(new), "-m", "pip", "install", "--quiet", "--constraint", str(pins), wanted)
    listed = subprocess.run(
        [str(new), "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    names = [name for name in listed if not re.match(r"(pip|setuptools|wheel)==", name)]
    size = sum(f.stat().st_size for f in (folder / "lib").rglob("*") if f.is_file()) / 1e6
    print(f"{folder.name}: {len(names)} packages, {size:.0f} MB with pip", flush=True)
    script = Path(__file__).with_name("smoke.py")
    return subprocess.run([str(new), str(script)], cwd=folder, check=False).returncode == 0


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
