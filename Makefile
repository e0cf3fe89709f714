# Every target makes or updates .venv by itself; all it needs is Python >= 3.11, pip and make.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1  # two test processes, not four threads on two cores
DATA ?=
LABEL ?=
# a variable for the shell as it was typed, with its spaces and dollars
quoted = '$(subst ','\'',$(value $(1)))'

.PHONY: run test check contracts slow bench docs clean help bench-data other-python

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

run: .venv/ready-run    ## audit labels: a demonstration, or your file with DATA=my.csv LABEL=y
	$(if $(value DATA),,$(if $(value LABEL),$(error LABEL names a column of a file; give the file too: make run DATA=my.csv LABEL=$(value LABEL))))
	$(if $(value DATA),$(if $(value LABEL),,$(error give the label column too: make run DATA=$(value DATA) LABEL=name)))
	$(BIN)/noisewise audit $(if $(value DATA),$(call quoted,DATA) --label $(call quoted,LABEL),--demo)

test: .venv/ready-test    ## the test suite
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q

check: .venv/ready-check    ## lint, format, types, import layers, doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -p no:cacheprovider src

contracts: .venv/ready-test    ## the long scikit-learn checks of the estimators with long fits
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q -m slow tests/test_contracts.py

slow: .venv/ready-test    ## all tests that take minutes, the long checks among them
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q -m slow

bench: bench-data .venv/ready-bench    ## speed and accuracy as ratios to peers, in one run; NOISEWISE_DATA names the data
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: .venv/ready-docs    ## the documentation, warnings are errors
	rm -rf docs/api/generated  # pages of names that are gone
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

clean:    ## remove what the other targets made
	rm -rf .venv docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache

bench-data:
	@test -n "$$NOISEWISE_DATA" || \
	  { echo "make bench reads data sets that scikit-learn does not bring: set NOISEWISE_DATA=/folder/of/them" >&2; exit 1; }

# .venv keeps the Python it was made with; who asks for another one is told
other-python:
	@$(if $(filter file,$(origin PYTHON)),:,test ! -e .venv/ready-pip || \
	  test "$$($(PYTHON) -VV 2>&1)" = "$$($(BIN)/python -VV)" || \
	  echo "PYTHON=$(PYTHON) is not used: .venv was made with $$($(BIN)/python -V); make clean, and it is made anew" >&2)

.venv/ready-pip: | other-python
	@test -n "$(PYTHON)" || { echo "noisewise needs Python 3.11 or newer: none was found on PATH; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

.venv/ready-run: pyproject.toml .venv/ready-pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/ready-test: .venv/ready-run
	$(BIN)/python -m pip install --quiet --editable ".[serve,cluster,experiments]" --group test
	@touch $@

.venv/ready-check: .venv/ready-test
	$(BIN)/python -m pip install --quiet --group check
	@touch $@

.venv/ready-docs: .venv/ready-run
	$(BIN)/python -m pip install --quiet --editable ".[serve]" --group docs
	@touch $@

.venv/ready-bench: .venv/ready-test
	$(BIN)/python -m pip install --quiet --editable ".[torch]" --group bench
	@touch $@
