# Everything a fresh clone needs. PYTHON names the interpreter to begin with (3.11 or newer).
# Compiled without optimisation, as pyenv does by default, Python takes a third longer for everything. If python3 is
# such a one, the system's is taken where it will do (Debian keeps what a virtual environment needs in python3-venv).
FAST := import ensurepip, sys, sysconfig; sys.exit(sys.version_info < (3, 11) or \
	sys.base_prefix != "/usr" and "--enable-optimizations" not in (sysconfig.get_config_var("CONFIG_ARGS") or ""))
PYTHON ?= $(shell for each in python3 /usr/bin/python3; do \
	$$each -c '$(FAST)' 2>/dev/null && echo $$each && exit; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
BIND ?= 127.0.0.1:8000
# Python keeps what it compiled: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run demo test quick check bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; print("$(VENV): Python", sys.version.split()[0], "of", sys.executable); \
		sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev,models]'
	@touch $@ $(VENV)/.installed

install: $(VENV)/.installed  ## make .venv and install what the server needs

run: $(VENV)/.installed  ## serve the program with its demo study and its worker (BIND=127.0.0.1:8000)
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py collectstatic --noinput --verbosity 0
	$(BIN)/python manage.py demo
	$(BIN)/python manage.py serve --bind $(BIND)

demo: $(VENV)/.installed  ## make the demo study
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py demo

test: $(VENV)/.installed-dev  ## run every test, on all processors (DATABASE_URL chooses the database; SQLite without it)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations 15 --durations-min 20 $(ARGS)

QUICK := not browser and not processes
quick: $(VENV)/.installed-dev  ## run every test that starts no browser and no process, on all processors
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations 10 --durations-min 1 -m "$(QUICK)" $(ARGS)

check: $(VENV)/.installed-dev  ## all linters, types, contracts and Django's own checks
	@.ci/check

bench: $(VENV)/.installed-dev  ## measure: ratios within one run
	$(BIN)/python -m benchmarks

clean:  ## remove what was made, but not var/, which holds data
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache htmlcov .coverage
