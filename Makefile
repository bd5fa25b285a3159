# `make demo` and `make test` set up everything they need in .venv.
PYTHON ?= python3
BIN := .venv/bin
# One thread a process: the matrices are small, and results must not depend on the cores.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-lowest integrations docs dist lint format reproduce bench compare-rivals compare-practical clean

.venv/base.stamp: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tailproof needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[experiments,tune]"
	touch $@

.venv/test.stamp: .venv/base.stamp
	$(BIN)/python -m pip install --quiet --group test
	touch $@

.venv/lint.stamp: .venv/base.stamp
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

.venv/integrations.stamp: .venv/test.stamp
	$(BIN)/python -m pip install --quiet --group integrations
	touch $@

.venv/docs.stamp: .venv/base.stamp
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

# BoTorch and torch, a gigabyte: only the benchmarks need them.
.venv/rivals.stamp: .venv/base.stamp benchmarks/requirements.txt
	$(BIN)/python -m pip install --quiet --requirement benchmarks/requirements.txt
	touch $@

# Tunes a small program, runs four of the paper's panels, and shows both on out/demo/report.html.
demo: .venv/base.stamp
	$(BIN)/tailproof demo --out out/demo

test: .venv/test.stamp
	$(BIN)/python -m pytest -n auto

# The recipes with the real Ray Tune, MLflow and others: a gigabyte to install.
integrations: .venv/integrations.stamp
	$(BIN)/python -m pytest -m integration -rs

# The suite with the lowest versions of the dependencies that pyproject.toml allows, in out/lowest. Old
# releases warn beside newer ones of what they import themselves.
test-lowest:
	$(PYTHON) -m venv out/lowest
	out/lowest/bin/python -m pip install --quiet "pip>=25.1" "uv>=0.5"
	out/lowest/bin/uv pip install --quiet --python out/lowest/bin/python --resolution lowest-direct \
	    --editable ".[cluster,dashboard,frame,parquet,stand-in,tune]" --group test
	out/lowest/bin/python -m pytest -n auto -W ignore::DeprecationWarning

# sdist and wheel in dist, checked, and the wheel installed and used in an environment of its own.
dist:
	rm -rf dist out/dist
	$(PYTHON) -m venv out/dist
	out/dist/bin/python -m pip install --quiet build twine
	out/dist/bin/python -m build --outdir dist
	out/dist/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear out/dist
	out/dist/bin/python -m pip install --quiet dist/*.whl
	cd out/dist && bin/tailproof --version && bin/python -c "import tailproof as tp; \
	    print(tp.minimize(lambda x: (x - 0.3) ** 2, tp.Space(x=tp.Float(0, 1)), 15, progress=False))"

lint: .venv/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation site in out/site; it opens without a network. Runs the notebooks of docs/gallery.
docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	$(BIN)/python docs/site/check_site.py out/site

format: .venv/lint.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Figure 1 at full scale; panels d and e need DATA, a folder with the data files.
reproduce: .venv/base.stamp
	$(BIN)/tailproof reproduce all --out out/reproduce $(if $(DATA),--data $(DATA))

# Cost of rounds, trials and suggestions, and coverage of intervals (benchmarks/README.md): 2 hours.
bench: .venv/rivals.stamp
	$(BIN)/python benchmarks/rounds.py --out out/bench
	$(BIN)/python benchmarks/optuna_overhead.py --out out/bench
	$(BIN)/python benchmarks/suggest_time.py --out out/bench
	$(BIN)/python benchmarks/tune_overhead.py --out out/bench
	$(BIN)/python benchmarks/interval_coverage.py

# All methods on all problems: about eight hours of one core. A comparison that was stopped continues
# with the runs that are missing.
compare-rivals: .venv/rivals.stamp
	$(BIN)/python benchmarks/compare_rivals.py --peers --out out/rivals

# The practical optimizer on practical problems: 10 to 15 hours of one core, estimated; continued likewise.
compare-practical: .venv/rivals.stamp
	$(BIN)/python benchmarks/compare_practical.py --out out/practical

clean:
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
