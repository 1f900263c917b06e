# The verbs of this repository; `make` alone lists them.
# Everything runs in .venv, which the first verb that needs it sets up.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 4

# Hundreds of tests start an interpreter of their own; without bytecode each compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

# What tests write is thrown away: in memory nothing waits for a disk. Where there is no such file system, or too little
# room in it, they write where they always would.
IN_MEMORY := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }')" -gt 8000000 ] 2>/dev/null && echo /dev/shm)
PYTEST = $(if $(IN_MEMORY),TMPDIR=$(IN_MEMORY) )$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The first interpreter that is new enough and can make a virtual environment.
# 3.11 comes first because constraints.txt is resolved with it.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13; do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo "$$python" && break; done)

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# The stamp lies inside .venv, so it is gone when .venv is. Both files decide what is installed.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo \
	"Python 3.11 or newer with its venv module is needed (Debian: apt-get install python3 python3-venv)."; echo \
	"hint: make install PYTHON=/path/to/python3.11" ; exit 1; } >&2
	@echo "Setting up $(VENV) with $(PYTHON): once, about two minutes and 1.3 GB."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check \
	--constraint constraints.txt --editable '.[dev]'
	@touch $@

.PHONY: install
install: $(STAMP) ## set up .venv with the pinned versions
	@echo "$(VENV) is ready"

.PHONY: demo
demo: $(STAMP) ## run the main job on a local S3 server and DuckDB; no key needed
	$(BIN)/planexec demo

.PHONY: ui
ui: $(STAMP) ## the same world in the Dagster UI, sensors on; Ctrl-C stops it
	$(BIN)/planexec demo --ui

.PHONY: test
test: $(STAMP) ## every test
	$(PYTEST)

.PHONY: fast
fast: $(STAMP) ## the tests that start no `dagster dev`
	$(PYTEST) -m 'not slow'

.PHONY: chaos
chaos: $(STAMP) ## kill -9 at 50 points of a month, then run it again; some four minutes
	$(BIN)/python -W ignore -m tests.chaos

.PHONY: types
types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

.PHONY: lint
lint: $(STAMP) ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: arch
arch: $(STAMP) ## import-linter: who may import whom
	$(BIN)/lint-imports --no-cache

.PHONY: bench
bench: $(STAMP) ## the budgets, measured and printed as ratios; some ten minutes
	$(BIN)/python -m bench

.PHONY: screenshots
screenshots: $(STAMP) ## docs/screenshots anew, from a real browser (needs chromium and its driver)
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,browser]'
	$(BIN)/python -m tests.browser.screenshots

# PEERS names the interpreter of an environment with `pip install -e '.[peers]'`; without it, peers are left out.
.PHONY: performance
performance: $(STAMP) ## the same, written to docs/performance.json and docs/performance.md
	$(BIN)/python -m bench --json docs/performance.json --page docs/performance.md $(if $(PEERS),--peers $(PEERS))

# These two tests belong to the look of the code, and cost seconds.
.PHONY: check
check: lint types arch ## lint, types, arch, import cost, examples in the docs
	$(BIN)/python -m pytest $(wildcard tests/test_import_cost.py tests/test_docs.py)

# Resolves in an empty environment, so nothing that happens to lie in .venv is pinned.
# The comment lines of the old file are kept; only `name==version` lines follow them.
.PHONY: constraints
constraints: ## pin the newest versions that pyproject.toml allows
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with its venv module is needed." >&2; exit 1; }
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && set -e && \
	"$(PYTHON)" -m venv "$$fresh/venv" && \
	"$$fresh/venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check --editable '.[dev,browser]' && \
	{ grep '^#' constraints.txt; "$$fresh/venv/bin/python" -m pip freeze --exclude-editable | grep '=='; } \
	> "$$fresh/constraints.txt" && cp "$$fresh/constraints.txt" constraints.txt

.PHONY: clean
clean: ## remove caches and build output; keeps .venv and .planexec
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +
