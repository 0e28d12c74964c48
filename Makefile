# Two commands are enough: `make demo` to try it, `make test` to check it. Both set up what they need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST_ARGS ?= -n 2

.PHONY: faults fuzz demo test format lint types unit chromium pictures lock clean

demo: $(VENV)/.run
	@$(BIN)/slackquery demo $(DEMO_ARGS)

test: $(VENV)/.dev chromium
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PYTEST_ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# 100,000 random inputs against every door (about half an hour); FUZZ_ARGS="--inputs 2000 --seed 7" for others.
fuzz: $(VENV)/.dev
	$(BIN)/python -m benchmarks.fuzz $(FUZZ_ARGS)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "slackquery needs Python 3.11 or newer; none was found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "slackquery needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Creating the virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what slackquery needs (half a minute on a fast line) ..."
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo "Installing what slackquery and its tests need ..."
	@$(PIP) --require-hashes -r requirements-dev.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.run

# The fault matrix: the real bot through some sixty faults, a quarter of an hour; the full disk takes root.
faults: $(VENV)/.dev
	$(BIN)/python -m benchmarks.fault_matrix $(FAULTS_ARGS)

# The browser tests need a Chromium. Where it can be installed it is; elsewhere those tests say that they are skipped.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ echo "Installing Chromium for the browser tests ..."; apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk >/dev/null; }; } || \
		echo "WARNING: there is no Chromium here; the browser tests will be skipped." >&2

# Remake docs/pictures from the demo; look at each before it is committed.
pictures: $(VENV)/.dev chromium
	$(BIN)/python -m tools.pictures

# Remake both locks from pyproject.toml; needs pip-tools (pip install pip-tools).
lock:
	$(BIN)/python -m piptools --version >/dev/null
	$(BIN)/python tools/relock.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache var
