# Everything a developer runs. Each target makes the environment it needs first (`.venv`, once).

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.installed

# Where the shared facts live that `make conformance` and `make bench` read.
export DRAGOMAN_SHARED ?= ../shared

# pip is a means here: no questions, no advice.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore

# uv, like pip, trusts whom this system trusts.
export UV_SYSTEM_CERTS := true

# pytest rewrites the assertions of every test module, which takes longer than importing them: it may keep the result,
# also where the environment says that Python writes no bytecode.
CACHED := env -u PYTHONDONTWRITEBYTECODE

##@ Use it
demo: $(READY) ## show the main job at work, live (DEMO=quick: no model, no network, a few seconds)
	@$(PYTHON) examples/demo.py

##@ Change it
test: $(READY) ## run the tests, but for the slow ones (PYTEST="tests/tools -k name" to choose among all)
	@$(CACHED) $(PYTHON) -m pytest -n 3 --dist worksteal $(if $(PYTEST),$(PYTEST),-m "not slow")

slow: $(READY) ## run the slow tests: laws over every pair, place or width, and real processes
	@$(CACHED) $(PYTHON) -m pytest -n 3 --dist worksteal -m slow

check: $(READY) ## format, lint, types, import contracts and tests (TESTS=no: without the tests)
	@echo "== format" && $(PYTHON) -m ruff format --check --quiet .
	@echo "== lint" && $(PYTHON) -m ruff check --quiet .
	@echo "== types" && $(PYTHON) -m mypy
	@echo "== import contracts" && $(VENV)/bin/lint-imports --no-logo --no-cache
ifneq ($(TESTS),no)
	@echo "== tests" && $(MAKE) test
endif

format: $(READY) ## format the code and fix what the linter can
	@$(PYTHON) -m ruff check --quiet --fix-only .
	@$(PYTHON) -m ruff format --quiet .

##@ Hold it against the world
conformance: $(READY) ## check against the shared facts, real programs and a clean machine
	@command -v bwrap >/dev/null || .ci/install-packages bubblewrap
	@command -v chromium >/dev/null || .ci/install-packages chromium
	@command -v npm >/dev/null || .ci/install-packages npm
	@command -v strace >/dev/null || .ci/install-packages strace
	@ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1 || command -v initdb >/dev/null || .ci/install-packages postgresql
	@$(PYTHON) -m pytest -n 2 tests/conformance

clients: $(READY) ## try the real clients, installed from npm: ported sessions, models of other makers, providers that fail, random edits, one policy in their hooks (CLIENTS="codex pi" to choose)
	@command -v bwrap >/dev/null || .ci/install-packages bubblewrap
	@command -v npm >/dev/null || .ci/install-packages npm
	@$(PYTHON) -m tests.clients $(CLIENTS)
	@$(PYTHON) -m tests.clients.matrix $(CLIENTS)
	@$(PYTHON) -m tests.clients.faults $(CLIENTS)
	@$(PYTHON) -m tests.clients.faults --cuts $(CLIENTS)
	@$(PYTHON) -m tests.clients.edits $(CLIENTS)
	@$(PYTHON) -m tests.clients.hooks $(CLIENTS)
	@$(PYTHON) -m tests.clients.patches $(CLIENTS)

attack: $(READY) ## attack the product with real processes, sockets and files (ATTACK="-k trust" to choose)
	@command -v bwrap >/dev/null || .ci/install-packages bubblewrap
	@$(CACHED) $(PYTHON) -m pytest -n 2 tests/attack $(ATTACK)

fuzz: $(READY) ## random input for everything that reads (FUZZ_SECONDS=120; SEED=new: another seed; TARGET=patches CASE=7)
	@$(PYTHON) -m tests.fuzz

mutate: $(READY) ## change the code at random and see whether a test notices (BASE=commit, FILES=…, SEED=…, MUTANTS=100, PYTEST=…)
	@$(PYTHON) -m tests.mutate

live: $(READY) ## the same agent on every provider whose key is set (costs money; LIVE="groq=model" to choose)
	@$(PYTHON) -m tests.live $(PROVIDERS)

bench: $(READY) ## measure against peers and floors (BENCH="define" to choose)
	@$(PYTHON) -m bench $(BENCH)

##@ Keep house
docs: $(READY) ## build the documentation site into build/site, offline, and check every link in it
	@$(PYTHON) -m tests.site

wheel: $(READY) ## build the sdist and the wheel into dist/ and check them in an environment of their own
	@$(PYTHON) -m tests.wheel

mapping: $(READY) ## write docs/mapping.md, the table of operations and vocabularies
	@DRAGOMAN_CONFIG_DIR=/nonexistent $(PYTHON) -m dragoman tools --fidelity --markdown docs/mapping.md

known: $(READY) ## write src/dragoman/logs/history/known/, the fields of logs as captured sessions show them
	@$(PYTHON) -m tests.conformance.learn_known_fields

lock: $(READY) ## pin what pyproject.toml asks for (UPGRADE=yes: newest versions)
	@$(PYTHON) -m uv pip compile pyproject.toml --quiet --no-config --universal --python-version 3.11 \
		--all-extras --group dev --generate-hashes --custom-compile-command "make lock" \
		$(if $(filter yes,$(UPGRADE)),--upgrade) --output-file requirements.lock

clean: ## remove everything these targets made
	@rm -rf $(VENV) .lab build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests bench examples -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Two steps, so that a change of pyproject.toml alone does not build the whole environment again.
$(VENV)/.locked: requirements.lock
	@.ci/make-venv $(VENV) requirements.lock
	@touch $@

$(READY): pyproject.toml $(VENV)/.locked
	@$(PYTHON) -m pip install --quiet --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: demo test check format conformance clients attack fuzz mutate live bench docs wheel mapping known lock clean help
