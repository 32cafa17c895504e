# Every target sets itself up: a bare clone needs Python 3.11 or newer, pip and make, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# One BLAS thread a process: the tests run in JOBS processes, and the product batches its own work.
export OMP_NUM_THREADS ?= 1
# Build requirements are pinned too.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: help demo test lint unit docs thorough paper package spark newest federation mutants supply format clean
# The documentation's builder advertises its successor; that is no warning of ours.
export NO_MKDOCS_2_WARNING := 1

help:
	@echo "make demo     cluster the paper's mixture privately; writes out/report.html"
	@echo "make test     lint, types, import contract, all tests but the slow ones, and the documentation (seven minutes)"
	@echo "make lint     the first part of it: lint, types and import contract"
	@echo "make unit     the second part: all tests but the slow ones"
	@echo "make docs     the third part: build the documentation into site/; warnings are errors"
	@echo "make thorough the slow tests: crashes, whole federations, long fuzzes, the paper's claims (half an hour)"
	@echo "make paper    the slow tests of the paper's statistical claims only (minutes)"
	@echo "make package  build both distributions into dist/ and try them in an empty environment (two minutes)"
	@echo "make spark    the tests of points in Spark, in an environment of their own; Java is installed where that is possible (five minutes)"
	@echo "make newest   the tests with the newest versions of everything, as pip installs them without our pins (needs the network)"
	@echo "make federation 50 sites as processes, and up to 1,000 simulated ones that lose messages (a quarter of an hour)"
	@echo "make mutants  plant bugs in a copy of the source; a test must catch each (an hour)"
	@echo "make supply   what is installed is what is pinned, and has no known weakness (needs the network)"
	@echo "make format   format the code"
	@echo "make clean    remove everything that make has made"

KERNELS := build_kernels.py $(wildcard src/feddp_kmeans/statistics/compiled/*.[ch])

$(VENV)/.core: pyproject.toml constraints.txt $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core studies/pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]" -e studies
	@touch $@

demo: $(VENV)/.core
	$(BIN)/feddp demo

test: lint unit docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Thousands of small files that are synced to a disk take minutes: where memory has room for them they go there.
# The slow tests use the disk.
RAM := $(shell free=$$(df --output=avail /dev/shm 2>/dev/null | tail -1); [ "$${free:-0}" -ge 4000000 ] && echo /dev/shm)

unit: $(VENV)/.dev
	$(if $(RAM),TMPDIR=$(RAM)) $(BIN)/python -m pytest -n $(JOBS) -m "not slow"

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --quiet --strict

# Slow tests that take data which are not in the repository skip, and say so.
thorough: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) -m slow -rs

paper: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) -m slow studies/tests/paper

package: $(VENV)/.dev
	$(BIN)/python -m tests.package

# Spark is large, and few need it.
$(VENV)-spark/.done: pyproject.toml constraints.txt $(KERNELS)
	$(PYTHON) -m venv $(VENV)-spark
	$(VENV)-spark/bin/pip install --quiet --disable-pip-version-check -e ".[spark]" "pyspark[connect]" pandas pytest hypothesis
	@touch $@

spark: $(VENV)-spark/.done
	command -v java || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; }
	$(VENV)-spark/bin/python -m pytest tests/silos/test_spark_silo.py

# Users have no pins. CI does not depend on what others release today; Flower holds some packages back, so it is left out here.
newest:
	$(PYTHON) -m venv --clear $(VENV)-newest
	PIP_CONSTRAINT= $(VENV)-newest/bin/pip install --quiet --disable-pip-version-check -e ".[dask,excel]" -e studies hypothesis openpyxl pandas pycryptodome pytest pytest-xdist
	$(VENV)-newest/bin/python -m pytest -n $(JOBS) -m "not slow" tests/algorithm tests/cli tests/report tests/silos tests/statistics tests/test_estimator.py \
		--deselect tests/cli/test_usage.py  # words of another typer

federation: $(VENV)/.dev
	FEDDP_FEDERATION=1 $(BIN)/python -m pytest -m slow tests/end_to_end tests/deploy
	$(BIN)/python studies/benchmarks/many_sites.py processes 50
	$(BIN)/python studies/benchmarks/many_sites.py simulated 100
	$(BIN)/python studies/benchmarks/many_sites.py simulated 1000 --trust aggregator

mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutation

# The auditor has an environment of its own: it is no dependency. A package that it cannot look up is an error, not a pass.
supply: $(VENV)/.dev
	$(BIN)/python -m tests.pins
	test -x $(VENV)-supply/bin/pip-audit || ($(PYTHON) -m venv $(VENV)-supply && PIP_CONSTRAINT= $(VENV)-supply/bin/pip install --quiet pip-audit)
	$(VENV)-supply/bin/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(VENV)-newest $(VENV)-spark $(VENV)-supply .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache out dist site
