# Everything runs in a virtual environment inside the checkout, created on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# One thread each for the two test processes: they share two cores.
test quick: export OMP_NUM_THREADS = 1
test quick: export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test quick ci wheel torch bench docs format clean

demo: $(READY)  ## predict, flow, train and verify the built-in example
	$(BIN)/limitpoint demo --plot out/demo.png

test: $(READY)  ## lint, type-check, check the import layers, run the whole test suite
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

quick: $(READY)  ## the tests that take no more than a few seconds each
	$(BIN)/pytest -n 2 -m "not slow"

ci: test wheel torch  ## everything that must hold before a change lands

wheel: $(READY)  ## build the wheel and try it in empty environments, oldest libraries included
	$(BIN)/python -m tests.install

torch: $(READY)  ## the tests that need PyTorch, which [all] leaves out
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pytest -m torch

bench: $(READY)  ## side-by-side ratios against peers, in one run
	$(BIN)/python -m benchmarks

docs: $(READY)  ## what is generated: the atlas of theorems, the errata, the figures of the docs
	$(BIN)/limitpoint atlas --markdown > docs/atlas.md
	$(BIN)/limitpoint errata --markdown > docs/errata.md
	$(BIN)/python docs/figures/architecture.py docs/images/architecture.png
	$(BIN)/python docs/figures/saddles.py docs/images/saddles.png
	$(BIN)/python docs/figures/network.py docs/images/network.png

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@
