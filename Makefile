# `make help` lists the targets. Everything is installed in .venv, for which no root is needed.

.DEFAULT_GOAL := help
SHELL := /bin/sh

# cocotb and Verilator call make, too, which must not inherit the flags of this one.
unexport MAKEFLAGS MAKELEVEL

# The first recent enough Python on the path, unless PYTHON names one.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready

# Workers of pytest: more than four gain little, because the longest bench decides.
PYTEST := $(RUN) -m pytest -n auto --maxprocesses 4

.PHONY: help check setup quick sim sim-full test mutants yardstick endurance faults bad-arguments containers speed durations bench models area vivado vivado-ooc bitstream wheel docs lint format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Install everything in .venv; the other targets do it when they need to

sim: $(READY) ## Solve a first problem with the gateware in simulation, then verify the gateware
	$(RUN) -m beltline.host.bench.first_light
	@echo "Verifying the gateware, unit by unit and whole, by the shortest tests of each; make test has all."
	$(PYTEST) --within 190 -m "gateware and not slow" tests/hw tests/sim

sim-full: $(READY) ## Run the long tests, then the gateware of the full-size machine: hours at most
	$(PYTEST) -m slow
	$(RUN) -m docs.tables.full_size

test: $(READY) ## Run every test but the long ones, and list the slowest
	$(PYTEST) --durations 25 -m "not slow and not speed"

quick: $(READY) ## Check style and types and run the fast tests: under two minutes on two cores
	$(MAKE) --no-print-directory lint
	$(PYTEST) --quick -q -m "not slow and not speed"

mutants: $(READY) ## Insert single faults into FILES=, or into what changed SINCE= a commit, which tests must find. COUNT=, TESTS=
	$(RUN) -m tests.mutants $(FILES) $(if $(SINCE),--since '$(SINCE)') $(if $(COUNT),--count '$(COUNT)') $(TESTS:%=--test %)

yardstick: $(READY) ## Compare answers to 300 problems, and their CPU time, with those recorded: minutes. ONLY=: one kind
	$(RUN) -m tests.yardstick compare $(if $(ONLY),--only '$(ONLY)')

endurance: $(READY) ## Damage files, search for such that break a reader, kill processes, compare random problems with an oracle: hours. COUNT= files, SECONDS=, KILLS=, PROBLEMS=: fewer
	$(RUN) -m tests.endurance damage $(if $(COUNT),--count '$(COUNT)')
	$(RUN) -m tests.endurance kills --count $(or $(KILLS),500)
	$(RUN) -m tests.endurance problems $(if $(PROBLEMS),--count '$(PROBLEMS)') --ways all
	for kind in npz nc; do $(RUN) -m tests.endurance fuzz --kind $$kind $(if $(SECONDS),--seconds '$(SECONDS)') || exit 1; done

faults: $(READY) ## Put 20 faults of every kind into line, sweep engine, serial port and simulated gateware: minutes
	$(PYTEST) -q tests/host/devices/test_faults.py

bad-arguments: $(READY) ## Call every public function with bad values, 10,000 times with two at once: minutes. SEED=
	$(RUN) -m tests.support.bad_arguments $(if $(SEED),--seed $(SEED))

containers: $(READY) ## Solve, save and load as in containers, with each Python and the oldest and newest NumPy: half an hour
	$(RUN) -m tests.support.containers

speed: $(READY) ## Run the tests that compare a time or a bandwidth with a constant; wants a quiet computer
	$(RUN) -m pytest -m speed

durations: $(READY) ## Run every test but the long ones, and record in tests/durations.json how long each takes
	$(PYTEST) --record-durations -q -m "not slow and not speed"

bench: $(READY) ## Time every device and method here, in under ten minutes; results go to build/bench
	@mkdir -p build/bench
	$(RUN) -m beltline bench --out build/bench

vivado: $(READY) ## Write the files from which Vivado builds a bitstream, for BOARD=name or all, into build/vivado. CLOCK=: in MHz
	$(RUN) -m beltline.constraints.vivado $(BOARD) $(if $(CLOCK),--clock '$(CLOCK)')

vivado-ooc: $(READY) ## Write the files with which Vivado places and routes single units of BOARD=, into build/vivado-ooc. UNIT=, CLOCK=
	$(RUN) -m beltline.constraints.out_of_context $(BOARD) $(if $(UNIT),--unit '$(UNIT)') $(if $(CLOCK),--clock '$(CLOCK)')

area: $(READY) ## Measure what is out of date in docs/area.md: an hour for all. UNIT=, BOARD=: one; CHECK=1: compare all
	$(RUN) -m beltline.constraints.area $(if $(UNIT),--unit '$(UNIT)') $(if $(BOARD),--board '$(BOARD)') $(if $(CHECK),--check)

engines: $(READY) ## Print the clocks of both engines for the headline problem, then time and energy beside CPU and GPU: minutes
	$(RUN) -m docs.tables.engines
	$(RUN) -m docs.tables.fitting_engines

models: $(READY) ## Print the tables of the models' pages: minutes
	$(RUN) -m docs.tables.models

bitstream: $(READY) ## Build the bitstream of an ECP5 board, BOARD=ecp5, ecp5-sweep or ulx3s, into build/bitstreams: an hour
	$(RUN) -m beltline.constraints.ecp5 --board $(or $(BOARD),ecp5) --out build/bitstreams/$(or $(BOARD),ecp5)

wheel: $(READY) ## Build the wheel into dist, with the Verilog of machines that then need no Yosys
	$(RUN) -m beltline.hw.top.presets
	$(RUN) -m build --no-isolation --outdir dist .

docs: $(READY) ## Build the documentation into build/docs; a warning is an error
	$(RUN) -m sphinx --quiet --fresh-env --fail-on-warning --keep-going -d build/doctrees docs build/docs
	@echo "The documentation is in build/docs/index.html"

lint: $(READY) ## Check style, formatting and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(READY) ## Format the code, and repair what can be repaired automatically
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

clean: ## Delete what was built here; .venv, and the compiled gateware in ~/.cache/beltline, stay
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

check:
	@command -v $(PYTHON) >/dev/null || { \
	    echo "Beltline needs Python 3.11 or newer, which this computer lacks. On Debian and Ubuntu:"; \
	    echo "    sudo apt install python3 python3-venv python3-dev g++"; exit 1; }
	@$(PYTHON) -I sim/check_system.py

$(READY): pyproject.toml | check
	@echo "Installing Beltline and its tools in $(VENV): some minutes the first time."
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[rtl,serial,ecp5,xarray,docs,bench,dev]'
	@touch $@
