# make setup | train | test | lint | types | bench | sabotage | clean
#
# ARGS     arguments handed on: make test ARGS="tests/dsl -k curriculum", make train ARGS="policy=tiny"
# ONLY     one benchmark or list of sabotages: make bench ONLY=check_latency, make sabotage ONLY=language
# WORKERS  test processes; 0 runs the tests in this one
# TORCH    how pip gets PyTorch: make setup TORCH="torch --index-url https://download.pytorch.org/whl/cpu"

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := test
.PHONY: setup train test lint types bench sabotage clean

PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3 2>/dev/null) python3)
WORKERS ?= 2
TORCH ?= torch

BIN := .venv/bin
STAMP := .venv/.stamp
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))
PLUGIN_SOURCES := $(wildcard $(PLUGINS:=/src))
PLUGIN_PACKAGES := $(notdir $(wildcard $(PLUGINS:=/src/assay_*)))

empty :=
space := $(empty) $(empty)

# A registry that does not answer is asked once more.
define pip_install
pip_install() { $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$$@"; }; \
retry() { pip_install "$$@" || { echo "pip failed; once more in 10 s" >&2; sleep 10; pip_install "$$@"; }; }; \
retry
endef

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(PLUGINS:=/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python must be 3.11 or newer, got $$($(PYTHON) --version). Set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python must have its venv module. Run: apt-get install python3-venv python3.11-venv" >&2; exit 1; }
	@{ command -v cc && $(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'; } \
	  >/dev/null 2>&1 || { \
	  echo "A C compiler and Python's headers must be there. Run: apt-get install gcc libc6-dev python3.11-dev" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo "setup: PyTorch"
	@$(pip_install) $(TORCH)
	@echo "setup: assay$(PLUGINS:plugins/%=, %)"
	@$(pip_install) hatchling editables
	@$(pip_install) --no-build-isolation --editable '.[train,docker,judge,dev]' $(addprefix --editable ,$(PLUGINS:%=./%))
	@touch $@

train: setup
	$(BIN)/assay train $(ARGS)

test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	MYPYPATH=$(subst $(space),:,$(PLUGIN_SOURCES)) $(BIN)/mypy -p assay $(addprefix -p ,$(PLUGIN_PACKAGES))
	$(BIN)/pyright

bench: setup
	$(BIN)/python -m bench $(ONLY)

sabotage: setup
	$(BIN)/python -m tests.sabotage $(ONLY)

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find core dsl runtime conf src plugins examples tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
