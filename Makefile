# Tessera, from a bare Debian 12 machine to a running compiler. Every target sets up what it needs
# (utils/setup.sh: apt packages, .venv) and builds in build/ (utils/ninja.sh); repeating one is cheap.

SHELL := /bin/sh
PYTHON := .venv/bin/python
HOST_ARCH := $(shell uname -m)
ARCH ?= $(HOST_ARCH)
SEEDS ?= 0:1000
# An instrumented build lies in a folder of its own: build-address, build-thread.
SANITIZE ?=
INSTRUMENTED = NINJA_DIR=build-$(1) CMAKE_ARGS=-DTESSERA_SANITIZE=$(1)

.PHONY: all setup build format demo test test-all test-external bench bench-gate draws fuzz fuzz-inputs dist wheel docs peers tileiras gpu report tune simulate interpret assemble lists help clean
.DEFAULT_GOAL := all

all: build ## build everything; .venv/bin/tessera and .venv/bin/python then know Tessera

setup:
	@utils/setup.sh

build: setup
	@utils/ninja.sh

format: setup ## format C++ and Python of the tree (FORMAT_ARGS="lib/Support/DType.cpp" formats some files)
	@$(PYTHON) utils/format.py --write $(FORMAT_ARGS)

demo: build ## flash attention from plain mathematics: compiled, checked against float64, timed
	@$(PYTHON) examples/demo.py $(DEMO_ARGS)

test: setup ## run every test; the last line counts them (TEST_ARGS="lit -k norm" runs some, SANITIZE=address|thread)
	@utils/tileiras.sh || echo "make: without tileiras, what needs it is skipped, and fails where CI=true is set" >&2
	@$(if $(SANITIZE),$(call INSTRUMENTED,$(SANITIZE))) utils/ninja.sh all \
	  $(if $(filter thread,$(SANITIZE)),,unittests fuzzers)
	@$(PYTHON) utils/test.py --sanitize=$(SANITIZE) $(TEST_ARGS)

test-all: setup ## run what is too long for every change, and write test/results/all.txt (TEST_ALL_ARGS="random --again", --help)
	@$(PYTHON) utils/test_all.py $(TEST_ALL_ARGS)

test-external: build ## PyTorch's operator database and NumPy's cases as judges (EXTERNAL_ARGS="--only sum", EXTERNAL_PYTHON=…)
	@python=$$(utils/external.sh) && "$$python" integration/external/run.py \
	  --tables $(EXTERNAL_ARGS)

bench: build ## time Tessera and the peers that are installed in one run (BENCH_ARGS=…)
	@utils/setup.sh bench
	@$(PYTHON) benchmarks/run.py $(BENCH_ARGS)

bench-gate: build ## compare predicted times and instruction counts with a baseline (BASELINE_ARGS=--write renews it)
	@$(PYTHON) benchmarks/baseline.py $(BASELINE_ARGS)

draws: build ## draw programs and shapes at random, check and time them beside the best peer (DRAWS_ARGS="--minutes 9", --help)
	@utils/setup.sh bench
	@$(PYTHON) benchmarks/draws/run.py $(DRAWS_ARGS)

peers: setup ## install PyTorch into .venv as a peer of `make bench` (large)
	@$(PYTHON) -m pip install --disable-pip-version-check --retries 1 torch \
	  --index-url https://download.pytorch.org/whl/cpu || \
	  $(PYTHON) -m pip install --disable-pip-version-check torch

tileiras: setup ## install NVIDIA's assembler for CUDA Tile IR into .venv (TILEIRAS_VERSION=13.4)
	@utils/tileiras.sh

gpu: build tileiras ## make build/gpu for a machine with a GPU: `python build/gpu/check.py` there (GPU_ARGS=…)
	@utils/ninja.sh runtime_cts
	@$(PYTHON) integration/gpu/build.py $(GPU_ARGS)

report: setup ## write benchmarks/results/index.html; RESULTS=… first takes in what a GPU machine sent
	@$(if $(RESULTS),$(PYTHON) benchmarks/gpu/merge.py $(RESULTS))
	@$(PYTHON) benchmarks/run.py --report benchmarks/results/index.html

tune: setup ## fill the cache with the tiles, launch and tuning that were measured to be the fastest (RESULTS=…)
	@$(PYTHON) benchmarks/gpu/tuning.py $(RESULTS)

fuzz: build ## random programs against the reference (SEEDS=0:20000 or commit:5000, FUZZ_ARGS="--simulate sm_90")
	@$(PYTHON) integration/random/run.py --seeds $(SEEDS) $(FUZZ_ARGS)

fuzz-inputs: build ## mutated programs, IR, bytecode and bundles for the readers (FUZZ_ARGS="ir --runs 100000", --help)
	@$(call INSTRUMENTED,address) utils/ninja.sh fuzzers
	@$(PYTHON) fuzz/run.py $(FUZZ_ARGS)

dist: setup ## pack dist/tessera-VERSION-ARCH.tar.xz, self-contained (ARCH=x86_64|aarch64)
	@$(PYTHON) utils/dist.py $(ARCH)

wheel: setup ## pack dist/tessera-VERSION-….whl for Python 3.11 and later, and try it out (ARCH=x86_64|aarch64)
	@$(PYTHON) utils/wheel.py $(ARCH)

docs: build ## write the documentation as a static site: build/docs/site/index.html
	@$(PYTHON) utils/docs.py

simulate: build ## run the CPU's suite on the simulator (SIMULATE_ARGS="-k norm", TESSERA_SIMULATED_MUTANTS=1)
	@PYTHONPATH=build/python:integration/ptx $(PYTHON) -m pytest -q -p simulated integration/cpu $(SIMULATE_ARGS)

interpret: build ## run the PTX of the CPU's suite by an interpreter (INTERPRET_ARGS="-k norm")
	@PYTHONPATH=build/python:integration/ptx $(PYTHON) -m pytest -q -p interpreted integration/cpu $(INTERPRET_ARGS)

assemble: build ## compile and assemble the CPU's suite for every chip via PTX (ASSEMBLE_ARGS="-k norm", TESSERA_ASSEMBLED_CHIPS=sm_90)
	@PYTHONPATH=build/python:integration/ptx $(PYTHON) -m pytest -q -p assembled integration/cpu $(ASSEMBLE_ARGS)

lists: build ## compare integration/ptx/{spills,equivalents,unreached}.txt with the whole suite (LISTS_ARGS="spills --chips sm_80 --files matmul --write")
	@PYTHONPATH=build/python $(PYTHON) integration/ptx/lists.py $(LISTS_ARGS)

clean: ## remove what was built (.venv and the sysroots stay)
	rm -rf build build-address build-thread build-dist-* dist

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
