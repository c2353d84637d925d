# The front door to CMake, nothing more: what is built and how is said in CMakeLists.txt.

PREFIX ?= /usr/local
ONLY ?=
RUNS ?= 5000
SEED ?=
PEERS ?=

release := build/release
# the one that sees the distribution's packages
python := $(firstword $(wildcard /usr/bin/python3) python3)
# In CI warnings are errors and assertions stay on in the optimised build. Both are always given,
# because CMake's cache would otherwise remember the last answer.
ci_flag := $(if $(filter-out false 0,$(CI)),ON,OFF)
# lld links the programs of the tests in half of the time of ld.
ci_linker := $(and $(filter ON,$(ci_flag)),$(shell command -v ld.lld),-fuse-ld=lld)
# The tests start the program thousands of times.
configure := cmake --preset release --log-level=NOTICE \
	-DPERP_WERROR=$(ci_flag) -DPERP_ASSERTS=$(ci_flag) -DPERP_HDF5_STATIC=$(ci_flag) \
	-DCMAKE_EXE_LINKER_FLAGS=$(ci_linker)

.PHONY: help deps test-deps build demo test test-slow test-asan coverage torture bench bench-solvers bench-peers experiments docs python wheel sdist install format clean
.DEFAULT_GOAL := help

help:
	@echo 'make build          build $(release)/perp and the library; packages that are missing are named and installed'
	@echo 'make demo           run the demo scene; recording, summary and replay page under build/demo/'
	@echo 'make test           build and run the tests'
	@echo 'make test-slow      the tests of minutes: everyday scenes, killed runs, the documentation'
	@echo 'make test-asan      the tests of make test under AddressSanitizer and UBSan: an hour'
	@echo 'make coverage       the tests of make test once more, and which lines of src/ they execute'
	@echo 'make torture        run RUNS=$(RUNS) random scenes and check each (SEED=n: one, ONLY=stepper=implicit,...); build/torture/'
	@echo 'make bench          run all benchmarks; JSON under build/bench/'
	@echo 'make bench-solvers  run the solver benchmark only'
	@echo 'make bench-peers    perp beside Bullet, ODE, MuJoCo, Box2D: an hour (PEERS=--quick: minutes); build/bench/'
	@echo 'make experiments    run all experiments (ONLY=name: one); results under build/experiments/'
	@echo 'make docs           build the documentation as html into build/docs/ and check its links'
	@echo 'make python         build the Python package into build/python/ (put it on PYTHONPATH)'
	@echo 'make wheel          a wheel for Python 3.11 and later that needs only libc and libm, in build/wheel/; make sdist: the sources'
	@echo 'make install        install to PREFIX ($(PREFIX)); DESTDIR is honoured'
	@echo 'make format         format the sources'
	@echo 'make clean          remove build/'

deps:
	@scripts/install-deps

test-deps:
	@scripts/install-deps --test

build: deps
	@$(configure)
	@cmake --build $(release) --target perp_product

demo: build
	@mkdir -p build/demo
	$(release)/perp run scenes/demo.json --out build/demo/demo.h5 --json > build/demo/demo-summary.json
	@echo 'recording: build/demo/demo.h5'
	@echo 'summary:   build/demo/demo-summary.json'
	@if $(release)/perp replay build/demo/demo.h5 -o build/demo/demo.html --force --quiet; \
	then echo 'page:      build/demo/demo.html (open it in a browser)'; fi

test: test-deps build
	@cmake --build $(release)
	@scripts/run-tests $(release) -LE slow

test-slow: test-deps build
	@cmake --build $(release)
	@scripts/run-tests $(release) -L slow

test-asan: test-deps
	@cmake --preset asan --log-level=NOTICE
	@cmake --build build/asan
	@scripts/run-tests build/asan -LE slow

coverage: test-deps
	@cmake --preset coverage --log-level=NOTICE
	@cmake --build build/coverage
	@find build/coverage -name '*.gcda' -delete
	@scripts/run-tests build/coverage -LE slow; status=$$?; scripts/print-coverage build/coverage && exit $$status

torture: test-deps build
	PERP=$(abspath $(release)/perp) tests/torture/torture --out build/torture \
		$(if $(SEED),--seed $(SEED),--runs $(RUNS)) $(if $(ONLY),--only '$(ONLY)')

bench: build
	@cmake --build $(release) --target bench
	@scripts/run-bench $(release)

bench-solvers: build
	@cmake --build $(release) --target bench
	@scripts/run-bench $(release) solvers

bench-peers: build
	@scripts/install-deps --peers
	@$(configure) -DPERP_PEERS=ON
	@cmake --build $(release) --target peers
	@scripts/run-peers $(release) $(PEERS)

experiments: test-deps build
	@cmake --build $(release) --target experiments
	@scripts/run-experiments $(release) $(ONLY)

docs: test-deps build
	@scripts/check-links
	@scripts/build-docs $(release)/perp build/docs

python: build
	@scripts/install-deps --python
	@$(configure) -DPERP_PYTHON_PACKAGE=ON
	@cmake --build $(release) --target perp_python
	@rm -rf build/python && cp -R $(release)/python build/python
	@echo 'package: build/python (PYTHONPATH=$(abspath build/python) python3 -c "import perp")'

wheel: deps
	@scripts/install-deps --python
	@rm -rf build/wheel && mkdir -p build/wheel
	@PERP_PYTHON_STATIC=1 $(python) -m pip wheel --no-index --no-deps --no-build-isolation --quiet --wheel-dir build/wheel .
	@scripts/check-wheel build/wheel/*.whl
	@echo "wheel:   $$(echo build/wheel/*.whl)"

sdist:
	@scripts/install-deps --python
	@mkdir -p build/sdist
	@$(python) setup.py --quiet sdist --dist-dir build/sdist
	@echo "sdist:   $$(ls -t build/sdist/*.tar.gz | head -n 1)"

install: build
	@cmake --install $(release) --prefix '$(PREFIX)'

format:
	@scripts/check-format --fix

clean:
	rm -rf build
