# Everything Cronfleet needs it makes by itself, step by step: Python 3.11 or newer and make are enough.
# Node, for the CDK, comes out of a Python package.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
# The first Python that is new enough; empty if there is none.
HOST_PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

INSTALLED := $(VENV)/.installed
# In a checkout that was moved, or whose Python has gone, the stamp of the environment means nothing.
ifneq ($(shell $(PYTHON) -c 'print(open("$(INSTALLED)").read())' 2>/dev/null),$(CURDIR))
.PHONY: $(INSTALLED)
endif
LOCK := $(PYTHON) -m uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header
PYTEST_OPTIONS ?=
SEED ?= 0
HOURS ?= 2
N ?= 10000
ENV ?=
# Where the home folder cannot be written, as in many containers, what tools keep for the next time is kept here.
ifneq ($(shell test -w "$$HOME" && echo writable),writable)
export XDG_CACHE_HOME := $(CURDIR)/.cache/home
export npm_config_cache := $(XDG_CACHE_HOME)/npm
export JSII_RUNTIME_PACKAGE_CACHE_ROOT := $(XDG_CACHE_HOME)/jsii
endif

.PHONY: help run test coverage check synth diff deploy deploy-local simulate chaos bench bench-peers lock audit sbom clean

help: ## Show this list
	@while IFS= read -r line; do case $$line in [a-z]*:*' ## '*) \
		printf '  make %-12s %s\n' "$${line%%:*}" "$${line#* \## }" ;; esac; done < $(firstword $(MAKEFILE_LIST))

run: $(INSTALLED) ## Start the whole product on this machine, at http://127.0.0.1:8787
	@$(PYTHON) -m local

# Two of the processes mostly wait for a deployed stack.
PROCESSES = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
test: $(INSTALLED) ## Install what the tests need and run every one of them
	@$(PYTHON) -m pytest -n $(PROCESSES) --dist loadscope --no-loadscope-reorder $(PYTEST_OPTIONS)

# Apart, because watching every line doubles the processor time that the tests take.
coverage: $(INSTALLED) ## Run every test and show which lines of the package none of them reached
	@$(MAKE) test PYTEST_OPTIONS='--cov=cronfleet --cov-report=term $(PYTEST_OPTIONS)'

check: $(INSTALLED) ## Style, types, import rules, locks without addresses or known vulnerabilities
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/mypy -p infra -p local -p simulator -p benchmarks -p zone_report -p permissions -p supply -p cronfleet_cli
	@$(VENV)/bin/lint-imports --no-logo
	@if git grep -nE '://' -- 'requirements/*.lock' layers/vendor/requirements.txt || \
		git grep -n '"resolved"' -- '*package-lock.json'; then \
		echo 'Lock files hold no addresses: see docs/decisions/0002-packaging.md' >&2; exit 1; fi
	@$(PYTHON) -m supply audit --may-be-offline

audit: $(INSTALLED) ## Ask for known vulnerabilities of locked packages; fails too where nobody can be asked
	@$(PYTHON) -m supply audit

sbom: $(INSTALLED) ## Write the software bill of materials, CycloneDX, to sbom.cdx.json
	@$(PYTHON) -m supply sbom

synth: $(INSTALLED) ## Write the CloudFormation templates for AWS to cdk.out, of an environment in cdk.json with ENV=
	@$(PYTHON) -m infra.app $(if $(ENV),-c environment=$(ENV)) -o cdk.out
	@echo 'Templates and assets are in cdk.out.'

diff: $(INSTALLED) ## Show what a deployment of ENV= would change in the AWS account of your profile
	@$(PYTHON) -m infra.deploy --environment '$(ENV)' --diff

deploy: $(INSTALLED) ## Show what changes, ask (YES=1 is the answer where nobody is there), and deploy ENV= to AWS
	@$(PYTHON) -m infra.deploy --environment '$(ENV)' $(if $(YES),--yes)

deploy-local: $(INSTALLED) ## Deploy what is in the checkout onto the local stack that runs
	@$(PYTHON) -m local.update

simulate: $(INSTALLED) ## Run a world full of faults, SEED=0 HOURS=2, and check every promise
	@$(PYTHON) -m simulator --seed $(SEED) --hours $(HOURS)

chaos: $(INSTALLED) ## Kill, freeze and mislead all processes of a stack under load, SEED=0, and add up exactly
	@$(PYTHON) -m tests.e2e.chaos --seed $(SEED)

bench: $(INSTALLED) ## Measure the figures of the budgets, one by one, and sum them up in a table
	@$(PYTHON) -m benchmarks

bench-peers: $(INSTALLED) ## Run the same herd on others of the trade, N=10000, and print one table
	@$(PYTHON) -m benchmarks.peers --schedules $(N)

lock: $(INSTALLED) ## Lock the versions again, after a change of pyproject.toml or infra/package.json
	@$(LOCK) --no-annotate --group installer -o requirements/installer.lock
	@$(LOCK) --no-annotate --group emulator -o requirements/emulator.lock
	@$(LOCK) --no-annotate --group peers -o requirements/peers.lock
	@$(LOCK) --group dev pyproject.toml -o requirements/dev.lock
	@$(LOCK) --constraints requirements/dev.lock pyproject.toml -o layers/vendor/requirements.txt
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/npm install --package-lock-only --prefix infra --silent
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/npm install --package-lock-only --prefix benchmarks/peers --silent

clean: ## Remove everything that can be made again (not .local, which holds your local schedules)
	rm -rf $(VENV) .cache cdk.out infra/node_modules .coverage .hypothesis
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements/installer.lock requirements/dev.lock infra/package-lock.json
ifeq ($(HOST_PYTHON),)
	@echo 'Cronfleet needs Python 3.11 or newer, and no python3 on the PATH is. Install one and run make again.' >&2
	@exit 1
endif
	@$(HOST_PYTHON) requirements/install.py
