# Everything happens in .venv, from the versions pinned in constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test browser lint format bench bench-peers docs man gallery wheel lowest attack clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/installed  ## install ravine and run its main job: reproduce the paper
	$(BIN)/ravine rate --mu 0.05 --L 100
	$(BIN)/ravine reproduce --out reproduction
	@echo "Open reproduction/report.html: every figure and every claim, with its verdict."

test: $(VENV)/installed-dev browser lint  ## run every check and every test
	$(BIN)/python -m pytest -n 2

# The page is tested in a real browser: Debian's, where it can be installed, else any that is there.
browser:
	@if command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get -qq update && apt-get -qq install -y chromium chromium-driver >/dev/null; \
	else echo "no browser: install chromium and chromium-driver to test the page as well"; fi

lint: $(VENV)/installed-dev  ## style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs src tests benchmarks attack examples

format: $(VENV)/installed-dev  ## rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-bench  ## measure ravine and its peers, interleaved, as ratios
	$(BIN)/python -m benchmarks

bench-peers: $(VENV)/installed  ## compare with other software, each in an environment of its own
	$(BIN)/python -m benchmarks.peers

docs: $(VENV)/installed-dev man  ## build the site, strictly, after running the heavy code blocks
	cd docs && ../$(BIN)/python -m making.code_blocks
	$(BIN)/python docs/making/packages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python docs/making/check.py
	@echo "Open build/site/index.html; with a server (python -m http.server -d build/site) it can be searched."

man: $(VENV)/installed-dev  ## write the man page from the commands
	$(BIN)/python docs/making/commands.py

gallery: $(VENV)/installed-dev  ## draw the pictures of docs/gallery again
	$(BIN)/python docs/making/gallery.py

wheel: $(VENV)/installed-dev  ## build sdist and wheel, and try every command in an empty environment
	$(PIP) install --quiet --constraint constraints.txt --group release
	$(BIN)/python release/wheel.py

lowest:  ## run the tests on the lowest versions that pyproject.toml declares
	$(PYTHON) -m venv .lowest
	$(PYTHON) release/lowest.py > .lowest/lowest.txt
	.lowest/bin/python -m pip install --quiet --upgrade pip
	.lowest/bin/python -m pip install --quiet --constraint .lowest/lowest.txt --editable '.[all]'
	.lowest/bin/python -m pip install --quiet --constraint .lowest/lowest.txt --group dev
	.lowest/bin/python -m pytest -n 2

attack: $(VENV)/installed-dev  ## try to break it: command lines, calls, tables, stores, kills, installations
	$(BIN)/python -m attack

clean:  ## remove what these targets made
	rm -rf $(VENV) .lowest .peers reproduction build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt pip

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt --editable '.[all]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) install --quiet --constraint constraints.txt --group dev
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(PIP) install --quiet --constraint constraints.txt --group bench
	@touch $@
