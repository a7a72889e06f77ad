# Every target sets itself up in .venv; nothing but Python 3.11 or newer is needed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: quickstart test test-spark test-oldest test-browser docs wheel lint audit bench lock sbom clean

.venv/.usable: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[frames,plots]'
	touch $@

.venv/.installed: .venv/.usable
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

quickstart: .venv/.usable  ## train the default private forest on a generated table
	$(BIN)/python examples/quickstart.py

test: .venv/.installed  ## the default suite, under 8 minutes on 2 cores
	$(BIN)/python -m pytest -n 2

test-spark: .venv/.installed  ## rows on Spark, which needs Java 17; under 90 s on 2 idle cores
	$(BIN)/python -m pip install --quiet --editable '.[dev,spark]'
	$(BIN)/python -m pytest tests/spark

test-oldest: .venv/.installed  ## the same suite on the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/uv pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct --editable '.[test]'
	.venv-oldest/bin/python -m pytest -n 2

test-matrix: .venv/.installed  ## the quick half (PART=all: everything) on oldest and newest dependencies, Python 3.11 to 3.14
	$(BIN)/python -m tools.test_matrix $(if $(PART),--part $(PART))

wheel: .venv/.installed  ## build the wheel, install it without extras beside nothing else, and use it
	rm -rf dist .venv-wheel
	$(BIN)/uv build --quiet --wheel --out-dir dist
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/*.whl
	cd $$(mktemp -d) && $(CURDIR)/$(BIN)/python $(CURDIR)/examples/hospital_csv.py && \
	  PATH=$(CURDIR)/.venv-wheel/bin:$$PATH sh -e $(CURDIR)/examples/from_the_wheel.sh

test-browser: .venv/.installed  ## model card and site in a real Chromium; under 2 minutes
	$(BIN)/python -m pytest tests/browser

docs: .venv/.installed  ## build the documentation site into site/, without a network; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html; to search it: $(BIN)/python -m http.server --directory site"

lint: .venv/.installed  ## style, imports, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: .venv/.installed  ## replay every estimator and measure what it leaks; under 20 minutes on 2 cores (make audit QUICK=1: 5)
	$(BIN)/dpforest audit replay $(if $(QUICK),--quick)
	$(BIN)/dpforest audit run $(if $(QUICK),--quick)

bench: .venv/.installed  ## measure: TARGET=speed (against scikit-learn), utility, store, fuzz, door, scale, wide_bounds, audit_power, audit_diffprivlib
	$(BIN)/python -m tools.$(or $(TARGET),speed)

lock: .venv/.installed  ## pin every package of the development environment, with hashes
	$(BIN)/uv pip compile --quiet --universal --extra dev --generate-hashes --no-annotate --custom-compile-command "make lock" --output-file requirements-dev.lock pyproject.toml

sbom: .venv/.installed  ## bill of materials of what is installed (CycloneDX)
	$(BIN)/python -m tools.sbom > sbom.json

clean:
	rm -rf .venv .venvs .venv-oldest .venv-wheel dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
