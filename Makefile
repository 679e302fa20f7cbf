# Every target sets up what it needs in .venv and build/, and leaves the system Python alone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SYSTEM := systems/dual_mass_oscillator
KERNEL_SOURCES := CMakeLists.txt $(shell find ssptool -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h')
# An editable install lists the modules, so it is renewed when one comes or goes.
MODULES := build/modules-$(shell find ssptool -name '*.py' | LC_ALL=C sort | cksum | cut -d ' ' -f 1)
MODEL_SOURCES := $(shell find systems/models -type f -not -name '*.md')
CXX_SOURCES := $(shell find ssptool systems tests benchmarks -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp')

# Options of pip for what it builds from here; .ci/run has what is needed for that installed already.
PIP_OPTIONS ?=
BUILD := 'scikit-build-core>=0.11' 'nanobind>=2.4' 'nlohmann-json>=3.12' 'cmake>=3.25' 'ninja>=1.11'

# Many tests start Python again: compiled modules are kept, even where the environment says otherwise.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

DAILY := setup run test lint types format
TARGETS = sed -n 's/^\([a-z-]*\):.*\#\# /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

help:
	@$(TARGETS) | grep -E '^($(subst $() ,|,$(DAILY))) '
	@echo 'All targets: make help-all'

help-all:  ## all targets
	@$(TARGETS)

# pip is renewed because the one that comes with Python 3.11 does not know dependency groups.
$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(MODULES):
	mkdir -p build
	rm -f build/modules-*
	touch $@

# The command and the plot; cmake and ninja build the example FMUs. Only tests need the module of single methods, which
# takes a fifth of the time: a run is there sooner without it.
METHODS := OFF
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) 'cmake>=3.25' 'ninja>=1.11' \
    -C cmake.define.SSPTOOL_METHODS=$(METHODS) -e '.[plot]'

$(VENV)/.ready-run: $(VENV)/pyvenv.cfg pyproject.toml $(KERNEL_SOURCES) $(MODULES)
	$(INSTALL)
	touch $@

$(VENV)/.ready-dev: METHODS := ON
$(VENV)/.ready-dev: $(VENV)/.ready-run
	test -n "$$(find $(VENV) -name '_methods.*.so')" || { $(INSTALL); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	$(BIN)/python .ci/stubs.py
	touch $@

build/models/.ready: $(VENV)/.ready-run $(MODEL_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S systems/models -B build/models -G Ninja \
	    -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" >/dev/null
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/models --target systems
	touch $@

setup: build/models/.ready  ## the environment, the command, and the FMUs of the example systems

run: build/models/.ready  ## run the dual-mass oscillator; results and plot go to results/
	mkdir -p results
	$(BIN)/ssptool run $(SYSTEM) --output results/dual_mass_oscillator.csv --plot results/dual_mass_oscillator.png

# `logical` counts threads of cores, where `auto` counts cores; WORKERS=N states another number of processes. Without SEED
# the order is that of the files: the same in each run.
test: $(VENV)/.ready-dev build/models/.ready  ## the tests, in parallel; ALL=1 includes those marked slow
	$(BIN)/python -m pytest -n $(or $(WORKERS),logical) --dist worksteal $(if $(ALL),,-m "not slow") \
	    $(if $(SEED),-p randomly --randomly-seed=$(SEED))

test-order:  ## the tests in a random order, whose seed is printed first; SEED=N repeats it
	@$(MAKE) test SEED=$(or $(SEED),default)

lint: $(VENV)/.ready-dev  ## style of Python, C and C++
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)

# Also as on Windows and macOS: there a function that only POSIX has is an error. No test runs the benchmarks, so their
# use of the package is checked here.
types: $(addprefix types-,linux win32 darwin)  ## mypy --strict, for Linux, Windows and macOS

types-%: $(VENV)/.ready-dev
	$(BIN)/mypy --platform $* --cache-dir build/mypy-$* -p ssptool \
	    $(if $(filter linux,$*),-p benchmarks,--no-warn-unreachable)

# .ci/run begins with it as soon as the packages are there that it needs.
sanitized:
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/sanitize -G Ninja -DSSPTOOL_SANITIZE=ON \
	    -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" >/dev/null
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/sanitize -j2 --target _kernel _methods runtime

# The sanitized kernel takes the place of the installed one; Python itself is not built with sanitizers and "leaks", and
# ecos, which runs exported FMUs, frees some memory as what it is not.
sanitize: $(VENV)/.ready-dev build/models/.ready  ## the tests of the kernel and of exported FMUs under address and undefined-behaviour sanitizers
	$(MAKE) sanitized
	SSPTOOL_KERNEL="$(CURDIR)/build/sanitize" \
	    LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so) $$(c++ -print-file-name=libstdc++.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	    $(BIN)/python -m pytest -q -n logical --dist worksteal -p no:cacheprovider \
	    -p tests.engine.kernel.other_build tests/engine/kernel \
	    tests/engine/ode/test_beside.py tests/engine/ode/test_cvode.py tests/engine/ode/test_both_ways.py \
	    tests/engine/test_both_ways.py tests/engine/event_mode/test_both_ways_at_events.py
	SSPTOOL_RUNTIME="$(CURDIR)/build/sanitize/runtime.so" \
	    LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so) $$(c++ -print-file-name=libstdc++.so)" \
	    ASAN_OPTIONS=detect_leaks=0:new_delete_type_mismatch=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	    $(BIN)/python -m pytest -q -n logical --dist worksteal -p no:cacheprovider tests/exporting \
	    --ignore=tests/exporting/test_platforms.py --ignore=tests/exporting/test_parts_of_openmodelica.py \
	    --ignore=tests/exporting/test_unusual_systems.py --ignore=tests/exporting/test_opened_again.py

# Cosmic Ray needs an environment of its own; the tree is not changed, the mutants are in a copy.
mutants: $(VENV)/.ready-dev build/models/.ready  ## N mutants (default 10) in each of four areas, and which of them no test notices; SEED=N chooses others, AREA=NAME one area
	test -d build/mutants/tools || $(PYTHON) -m venv build/mutants/tools
	build/mutants/tools/bin/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray>=8.7'
	build/mutants/tools/bin/python .ci/mutants.py $(BIN)/python $(or $(N),10) $(or $(SEED),1) $(AREA)

bench: $(VENV)/.ready-dev build/models/.ready  ## cost of the engine, as ratios measured in one run; large documents
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/foreign.py
	$(BIN)/python benchmarks/exported.py
	$(BIN)/python benchmarks/chain.py
	$(BIN)/python benchmarks/driven.py
	$(BIN)/python benchmarks/indicators.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/processes.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/documents.py
	$(BIN)/python benchmarks/while_typing.py
	$(BIN)/python benchmarks/studio_page.py
	$(BIN)/python benchmarks/diagram.py
	$(BIN)/python benchmarks/study.py
	$(BIN)/python benchmarks/start.py

verify: $(VENV)/.ready-dev build/models/.ready  ## judge every claim about the example systems and every stated error, and write docs/verification.md, docs/accuracy.md and a table of docs/events.md
	$(BIN)/python -m tests.systems.claims docs/verification.md
	$(BIN)/python -m tests.accuracy.table docs/accuracy.md
	$(BIN)/python -m tests.accuracy.adaptive_table docs/accuracy.md
	$(BIN)/python -m tests.accuracy.integrators docs/events.md

cross-check: $(VENV)/.ready-dev build/models/.ready  ## run FMUs and systems of many tools, compare them with references, and write the verdicts into docs/cross_check.md
	$(BIN)/python -m tests.foreign.cross_check build/cross-check

field: $(VENV)/.ready-dev build/models/.ready  ## run the FMUs and packages of FOLDER (default: FMUs of other generators) here and in FMPy, libcosim and ecos; fails if one of those runs what ssptool does not
	$(BIN)/python -m tests.foreign.field $(FOLDER)

# Each part of the evidence and its hash: docs/qualification.
qualify: $(VENV)/.ready-dev build/models/.ready  ## rerun the evidence for a tool qualification, report in build/qualification; SIGNED_BY="Name, role" signs it
	$(BIN)/python -m tests.qualification run build/qualification $(if $(SIGNED_BY),--signed-by "$(SIGNED_BY)") \
	    $(if $(ALL),--slow) $(if $(PROCESSES),--processes $(PROCESSES))

qualify-check:  ## whether evidence and report of make qualify are as they were written
	$(BIN)/python -m tests.qualification check build/qualification

figures: $(VENV)/.ready-dev build/models/.ready  ## make each figure of the README files again; ONLY=NAME for one system
	$(BIN)/python -m tests.systems.claims figures $(ONLY)
	$(BIN)/python docs/first_look.py
	$(BIN)/python docs/studio_pictures.py
	$(BIN)/python docs/study_picture.py

docs: $(VENV)/.ready-dev  ## docs/rules.md from the rules, docs/limits.md from the refusals, docs/licences.md from the packages, the drawing in docs/architecture.md from the imports
	$(BIN)/ssptool rule --all --markdown > docs/rules.md
	$(BIN)/python docs/limits.py
	$(BIN)/python .ci/sbom.py --page > docs/licences.md
	$(BIN)/python docs/layers.py

fuzz: $(VENV)/.ready-dev build/models/.ready  ## Damaged files of every kind (N=10000): a message each, never a crash, hang, or file outside its place
	$(BIN)/python -m tests.safety.campaign --cases $(or $(N),10000) --seed $(or $(SEED),1)

# Outside of the product: needs clang 16 or newer with libFuzzer. The corpus grows in build/fuzz/corpus.
FUZZ_CXX = $(or $(CLANG),clang++) -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined
FUZZ_SYSTEM = $(patsubst %,ssptool/engine/system/%.cpp,plan plan_parts plan_events plan_steps plan_variables json files)
FUZZ_CORE = $(patsubst %,ssptool/engine/kernel/core/%.cpp,variables fractions slot_values)
FUZZ_PYTHON = $(BIN)/python -c "import sysconfig as s; print('-isystem', s.get_path('include'), '-L' + s.get_config_var('LIBDIR'), '-Wl,-rpath,' + s.get_config_var('LIBDIR'), '-lpython' + s.get_config_var('LDVERSION'))"
FUZZ_JSON = $(BIN)/python -c "import nlohmann_json, pathlib; print('-isystem', pathlib.Path(nlohmann_json.__file__).parent / 'include')"

fuzz-native: $(VENV)/.ready-dev  ## frozen plans, saved states, answers of FMU processes and rows of results under libFuzzer with sanitizers, SECONDS=600 each
	mkdir -p $(patsubst %,build/fuzz/corpus/%,plan state answer rows)
	$(FUZZ_CXX) $$($(FUZZ_JSON)) tests/fuzz/plan.cpp $(FUZZ_SYSTEM) $(FUZZ_CORE) -o build/fuzz/plan
	$(FUZZ_CXX) $$($(FUZZ_JSON)) tests/fuzz/state.cpp ssptool/engine/system/state.cpp -o build/fuzz/state
	$(FUZZ_CXX) tests/fuzz/answer.cpp ssptool/fmu/processes/native/channel.cpp -o build/fuzz/answer
	$(FUZZ_CXX) tests/fuzz/rows.cpp $$($(FUZZ_PYTHON)) -o build/fuzz/rows
	for target in plan state answer rows; do \
	    build/fuzz/$$target -max_total_time=$(or $(SECONDS),600) -max_len=8192 -print_final_stats=1 build/fuzz/corpus/$$target || exit 1; \
	done

pins: $(VENV)/.ready-dev  ## write .ci/constraints.txt: the newest packages that pyproject.toml allows, with hashes
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report build/pins.json pip $(BUILD) -e '.[plot]' \
	    --group dev --group audit
	$(BIN)/python .ci/pins.py < build/pins.json > .ci/constraints.txt

audit: $(VENV)/.ready-dev  ## whether the packages of .ci/constraints.txt have known vulnerabilities
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group audit
	$(BIN)/python .ci/audit.py

# Programs that run other platforms; where they cannot be installed, the tests that need them are skipped by name.
EMULATORS := wine64 qemu-user libc6-arm64-cross

cross: $(VENV)/.ready-dev build/models/.ready  ## runtimes of exported FMUs for other platforms: built with zig, inspected, and run by wine and qemu
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group cross
	@if [ "$$(id -u)" = 0 ] && [ -e /etc/debian_version ]; then \
	    dpkg --status $(EMULATORS) >/dev/null 2>&1 || \
	    { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(EMULATORS) >/dev/null; }; \
	else echo "not installed from here: $(EMULATORS)"; fi
	SSPTOOL_CROSS=1 $(BIN)/python -m pytest -q -rs tests/exporting/test_platforms.py tests/exporting/test_other_platforms.py

wheels:  ## wheels in dist/ for Linux, Python 3.11 and 3.12 on, with the runtimes of exported FMUs for all platforms; PYTHONS names others
	.ci/wheels

vsix:  ## the extension for VS Code in build/vsix, with npm; `ssptool lsp --vscode` installs it, and wheels bring it
	npm install --prefix editors/vscode --loglevel=error
	npm run build --prefix editors/vscode --silent
	$(or $(wildcard $(BIN)/python),python3) .ci/vsix.py build/vsix/ssptool.vsix

wheels-check: build/models/.ready  ## install the wheels into empty environments and use them there, without a compiler
	.ci/wheels-check

site: $(VENV)/.ready-dev build/models/.ready  ## the documentation as a site in build/site/html, with references made from the program and notebooks that were run; works offline
	$(BIN)/python docs/site/pages.py run
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml

man: $(VENV)/.ready-run  ## manual pages of the commands in build/man, made from the program
	$(BIN)/python docs/site/commands.py build/man/man1

leaks: $(VENV)/.ready-dev build/models/.ready  ## 5 000 cycles of create, run and free in one process
	SSPTOOL_CYCLES=5000 $(BIN)/python -m pytest tests/engine/test_cycles.py

# FREEZE=compare after a restructuring names all that users see otherwise than before it.
freeze: $(VENV)/.ready-dev build/models/.ready  ## record all that users see in build/freeze.json, to compare (FREEZE=compare)
	$(BIN)/python -m tests.freeze $(or $(FREEZE),write) build/freeze.json

format: $(VENV)/.ready-dev  ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

clean:  ## remove what was built, keep the environment
	rm -rf build results $(VENV)/.ready-*
	find systems -name '*.fmu' -delete

.PHONY: vsix help help-all setup run test test-order verify cross-check field qualify qualify-check figures lint types audit bench docs fuzz fuzz-native mutants leaks cross wheels wheels-check site man pins freeze format clean sanitize sanitized
