# The front door to CMake, nothing more: what is built and how is said in CMakeLists.txt.

PREFIX ?= /usr/local
ONLY ?=
RUNS ?= 5000
SEED ?=

release := build/release
# In CI warnings are errors and assertions stay on in the optimised build. Both are always given,
# because CMake's cache would otherwise remember the last answer.
ci_flag := $(if $(filter-out false 0,$(CI)),ON,OFF)
configure := cmake --preset release --log-level=NOTICE \
	-DPERP_WERROR=$(ci_flag) -DPERP_ASSERTS=$(ci_flag)

.PHONY: help deps build demo test torture bench bench-solvers experiments docs install format clean
.DEFAULT_GOAL := help

help:
	@echo 'make build          install what is missing and build $(release)/perp'
	@echo 'make demo           run the demo scene; recording, summary and replay page under build/demo/'
	@echo 'make test           build and run all tests'
	@echo 'make torture        run RUNS=$(RUNS) random scenes and check each (SEED=n: one, ONLY=stepper=implicit,...); build/torture/'
	@echo 'make bench          run all benchmarks; JSON under build/bench/'
	@echo 'make bench-solvers  run the solver benchmark only'
	@echo 'make experiments    run all experiments (ONLY=name: one); results under build/experiments/'
	@echo 'make docs           build the documentation as html into build/docs/ and check its links'
	@echo 'make install        install to PREFIX ($(PREFIX)); DESTDIR is honoured'
	@echo 'make format         format the sources'
	@echo 'make clean          remove build/'

deps:
	@scripts/install-deps

build: deps
	@$(configure)
	@cmake --build $(release)

demo: build
	@mkdir -p build/demo
	$(release)/perp run scenes/demo.json --out build/demo/demo.h5 --json > build/demo/demo-summary.json
	@echo 'recording: build/demo/demo.h5'
	@echo 'summary:   build/demo/demo-summary.json'
	@if $(release)/perp replay build/demo/demo.h5 -o build/demo/demo.html --force --quiet; \
	then echo 'page:      build/demo/demo.html (open it in a browser)'; fi

test: build
	@scripts/run-tests $(release)

torture: build
	PERP=$(abspath $(release)/perp) tests/torture/torture --out build/torture \
		$(if $(SEED),--seed $(SEED),--runs $(RUNS)) $(if $(ONLY),--only '$(ONLY)')

bench: build
	@cmake --build $(release) --target bench
	@scripts/run-bench $(release)

bench-solvers: build
	@cmake --build $(release) --target bench
	@scripts/run-bench $(release) solvers

experiments: build
	@cmake --build $(release) --target experiments
	@scripts/run-experiments $(release) $(ONLY)

docs: build
	@scripts/check-links
	@scripts/build-docs $(release)/perp build/docs

install: build
	@cmake --install $(release) --prefix '$(PREFIX)'

format:
	@scripts/check-format --fix

clean:
	rm -rf build
