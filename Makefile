# Two commands matter: `make demo` and `make test`. Both need only Python >= 3.11 and make.
# Another interpreter: `make test PYTHON=python3.13`. Another folder: `VENV=.venv-313`.

PYTHON ?= python3
VENV ?= .venv
LOWEST_VENV ?= .venv-lowest
WORKERS ?= 2
FUZZ_SECONDS ?= 60

BIN := $(VENV)/bin
LOWEST_BIN := $(LOWEST_VENV)/bin
PIP_QUIET := install -qq --disable-pip-version-check

# One BLAS thread per process: the tests run in $(WORKERS) processes, and the timings are per core.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test lint types docs tests tests-nojit test-slow test-lowest fuzz bench format clean

help:
	@echo "make demo         install into $(VENV) and choose a penalty for the diabetes data"
	@echo "make test         everything the continuous integration runs"
	@echo "make test-slow    the long statistical tests"
	@echo "make test-lowest  the unit tests on the oldest supported dependencies (PYTHON=python3.11)"
	@echo "make fuzz         coverage-guided fuzzing of the file readers (Linux; FUZZ_SECONDS=60)"
	@echo "make docs         the documentation as a site, in build/site"
	@echo "make bench        the timings quoted in the documentation"
	@echo "make format       format the code and apply the safe lint fixes"
	@echo "make clean        remove environments, caches and build output"

# ---- environments: a stamp file makes the second call quick ---------------------------------------

define check_python
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "error: '$(PYTHON)' was not found; install Python 3.11 or newer, or pass PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: Python 3.11 or newer is needed, but $(PYTHON) is $$($(PYTHON) -V 2>&1); pass PYTHON=python3.11 or newer" >&2; exit 1; }
endef

$(BIN)/python:
	$(check_python)
	$(PYTHON) -m venv $(VENV)

# The test environment contains the run-time one, so its stamp serves `make demo` as well.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@test -e $(VENV)/.installed-dev || echo "installing shtarkov and what it needs into $(VENV) ..."
	$(BIN)/python -m pip $(PIP_QUIET) --editable ".[plots]"
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "installing shtarkov with the test tools into $(VENV) ..."
	$(BIN)/python -m pip $(PIP_QUIET) --editable ".[dev]"
	@touch $@ $(VENV)/.installed

$(LOWEST_VENV)/.installed: pyproject.toml constraints/lowest.txt
	$(check_python)
	$(PYTHON) -m venv $(LOWEST_VENV)
	@echo "installing the oldest supported dependencies into $(LOWEST_VENV) ..."
	$(LOWEST_BIN)/python -m pip $(PIP_QUIET) --constraint constraints/lowest.txt \
		--editable ".[arviz,plots,dask]" pandas pytest pytest-xdist hypothesis mpmath
	@touch $@

# ---- what users and the continuous integration run --------------------------------------------------

demo: $(VENV)/.installed
	@$(BIN)/python -m shtarkov select --demo diabetes --path --seed 1 --report shtarkov-report.html

test: lint types docs tests tests-nojit
	@echo "all tests passed"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# A page that does not parse, a link to nothing, a name without a docstring: all of it is an error.
docs: $(VENV)/.installed-dev
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

# ci_sample marks the slow tests that run on every commit all the same.
tests: $(VENV)/.installed-dev
	$(PYTEST) -n $(WORKERS) -m "not slow or ci_sample"

# The kernels as plain Python: what the compiler does not change must pass, and bounds are checked.
tests-nojit: $(VENV)/.installed-dev
	NUMBA_DISABLE_JIT=1 $(PYTEST) -n $(WORKERS) -m "not slow and not needs_jit" tests/unit

test-slow: $(VENV)/.installed-dev
	$(PYTEST) -n $(WORKERS) -m slow

test-lowest: $(LOWEST_VENV)/.installed
	$(ONE_THREAD) $(LOWEST_BIN)/python -m pytest -n $(WORKERS) -m "not slow" tests/unit

# The readers are plain Python: the compiler would only be waited for.
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m pip $(PIP_QUIET) --editable ".[fuzz]"
	@mkdir -p build
	NUMBA_DISABLE_JIT=1 $(BIN)/python tests/fuzz/harness.py -max_total_time=$(FUZZ_SECONDS) \
		-artifact_prefix=build/ -print_final_stats=1

bench: $(VENV)/.installed-dev
	@for script in benchmarks/*.py; do $(ONE_THREAD) $(BIN)/python $$script || exit 1; done

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(LOWEST_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .numba-cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
