# 'make' lists what there is. Everything runs from .venv, which 'make setup' fills.
.DEFAULT_GOAL := help
.PHONY: help setup setup-test demo test test-fast test-spark test-scale lint format fuzz fuzz-spark bench clean

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv, check Java, fetch Spark's jars; quick when done
	@scripts/setup.sh

setup-test: ## As setup, and PostgreSQL and a browser for the tests
	@scripts/setup.sh --test

demo: setup ## See it work, in a folder of its own
	@$(BIN)/trickle demo

test: setup-test lint ## Everything: lint, types, all tests
	$(PYTEST) -m "not spark" -n auto
	$(PYTEST) -m spark -n 2 --dist loadfile --durations 25

test-fast: setup ## Tests without Java and PostgreSQL
	$(PYTEST) -m fast -n auto

test-spark: setup ## Only the tests that start a JVM
	$(PYTEST) -m spark -n 2 --dist loadfile --durations 25

test-scale: setup-test ## Long: TPC-H on a cluster with an object store, a change of 10 million rows, 1,000 stream tables (TRICKLE_SCALE=1)
	$(PYTEST) -s -m scale tests/scale

lint: setup ## Style, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Put the code into its format
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

fuzz: setup ## Random queries against their recomputation: many, with totals
	$(BIN)/python -m tests.support.fuzz --cases 5000 --processes 2

fuzz-spark: setup ## The same on Spark: hostile names, values and settings; CASES=5000, then once more with tiny limits
	$(BIN)/python -m tests.support.fuzz --spark --cases $(or $(CASES),500)
	$(BIN)/python -m tests.support.fuzz --spark --cases $(or $(CASES),500) --tiny-limits

bench: setup ## Measure incremental against full; SF=1 for TPC-H (CHANGES=0.01, ROWS=8000, QUERIES=1,5-7, WAREHOUSE=folder); PEERS=1 beside Pathway and Flink
ifdef PEERS
	@scripts/setup_peers.sh
	$(BIN)/python -m bench.peers --scale $(or $(SF),1) $(if $(CHANGES),--changes $(CHANGES)) \
		$(if $(QUERIES),--queries $(QUERIES)) $(if $(WAREHOUSE),--warehouse $(WAREHOUSE))
else ifdef SF
	$(BIN)/python -m bench.tpch --scale $(SF) $(if $(CHANGES),--changes $(CHANGES)) $(if $(ROWS),--changed-rows $(ROWS)) \
		$(if $(QUERIES),--queries $(QUERIES)) $(if $(WAREHOUSE),--warehouse $(WAREHOUSE))
else
	$(BIN)/python -m bench
endif

clean: ## Remove what can be made again
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
