# Every target sets itself up in .venv; nothing but Python 3.11 or newer is needed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: quickstart test lint audit bench clean

.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

quickstart: .venv/.installed  ## train the default private forest on a generated table
	$(BIN)/python examples/quickstart.py

test: .venv/.installed  ## the default suite, under 8 minutes on 2 cores
	$(BIN)/python -m pytest -n 2

lint: .venv/.installed  ## style, imports, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: .venv/.installed  ## measure what every estimator leaks; under 20 minutes on 2 cores (make audit QUICK=1: 4)
	$(BIN)/dpforest audit run $(if $(QUICK),--quick)

bench: .venv/.installed  ## measure: TARGET=speed (against scikit-learn), utility, store, fuzz, audit_power, audit_diffprivlib
	$(BIN)/python -m benchmarks.$(or $(TARGET),speed)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
