# What people and CI run. Needs git, Rust, Python 3.11 or newer with venv, and a C compiler; the rest goes into .venv.

PYTHON ?= python3
BIN := .venv/bin
TOOLS := $(BIN)/python -m tools
RUST_SOURCES := $(shell find crates profiles apps -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml

# Modules that a registration macro declares, where cargo fmt does not find them.
MACRO_FOLDERS := crates/host/src/sched crates/host/src/booster crates/testkit/src/fuzz
MACRO_MODULES := $(shell find $(MACRO_FOLDERS) -name '*.rs')

# Time that make fuzz gives each target.
SECONDS ?= 600

# Time that make explore takes, on two cores.
EXPLORE_SECONDS ?= 900

# Folder of the traces of phones and servers.
TRACES ?= ../shared/traces

# Programs that use live devices, and the Debian packages that have them.
CLIENTS := fio qemu-io nbdkit nbdfuse sqlite3 fusermount3 fuse2fs mkfs.ext4 mkfs.xfs mkfs.btrfs
CLIENT_PACKAGES := fio qemu-utils nbdkit libnbd-bin sqlite3 fuse3 fuse2fs e2fsprogs xfsprogs btrfs-progs postgresql

# Which of Debian's kernels ufsim linux boots: 6.1, or 6.12, which has no HPB. With CHECKS=1 it watches itself.
KERNEL ?= 6.1
CHECKS ?=

# Least length of make soak-device.
MINUTES ?= 20

# Power cuts of make soak.
CUTS ?= 1000000

# Steps of the simulation of the whole in it.
STEPS ?= 10000000

# Cargo profile of the extension. Tests take it as `cargo test` compiles the crates, with debug assertions, so that
# nothing is compiled twice. People get the fast one.
PROFILE ?= $(if $(filter check-python wheel-test,$(MAKECMDGOALS)),dev,release)
FEATURES := $(if $(filter dev,$(PROFILE)),--features as-tested)

# Python keeps its bytecode even where the environment forbids it: the tests start it hundreds of times, and half of
# such a start would be compilation.
unexport PYTHONDONTWRITEBYTECODE

# The tokens of `make -j` do not reach recipes that are no make themselves, and rustdoc would warn of it for each crate.
export CARGO_MAKEFLAGS :=

# One interpreter for every build of the extension, or cargo would compile it anew at each change of hands.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/.venv

.PHONY: help demo test docs scorecard reproduce fits flush-search wheel release wheel-test sdist-test crash soak \
	explore mutants fuzz linux check-format check-rust check-tests check-docs check-wheel check-clippy check-python \
	compile-tests quick example install bench bless format clean clients test-device test-linux soak-device \
	bench-device

help:
	@echo "make demo     compare four schemes on an aged device (about two minutes); picture in out/demo.png"
	@echo "make test     everything that CI checks (some fifteen minutes; five more to compile the guest's kernel)"
	@echo "make quick    tests of the crates that have changed and of what depends on them directly (about two minutes)"
	@echo "make example  the suite of tests for the scheme of the tutorial, a crate of its own, as its users run it"
	@echo "make docs     build the documentation, out/site/index.html; every warning is an error"
	@echo "make reproduce  measure the papers' figures again, with five seeds; can be stopped, and goes on later"
	@echo "make scorecard  the same, and keep the claims for the documentation"
	@echo "make fits     fit the phones' profiles to recorded latencies again (TRACES=../shared/traces; about an hour)"
	@echo "make flush-search  find the fastest map flush of ufs-tuned and hpb-tuned again (half an hour)"
	@echo "make crash    2000 cases of the power-cut campaign (about 2 minutes)"
	@echo "make soak     a million power cuts on all processors (CUTS=1000000); can be stopped, and goes on later"
	@echo "make test-device  fio, qemu, libnbd, file systems, PostgreSQL on live devices; root installs them (Debian)"
	@echo "make test-linux  Linux as the host: more repeats, resets and power cuts (a quarter of an hour)"
	@echo "make soak-device  20 minutes of fio on a live device with 30 power cuts and 3 kills of its server (MINUTES=20)"
	@echo "make bench-device  speed, punctuality and memory of live devices, fio against the simulator (about ten minutes)"
	@echo "make linux    the kernel that ufsim linux boots, from Debian's source (five minutes; KERNEL=6.12, CHECKS=1)"
	@echo "make explore  every order of a few requests and power cuts on a tiny device (15 minutes, EXPLORE_SECONDS=900)"
	@echo "make mutants  changes what a branch has changed once more: does a test fail? (fetches cargo-mutants)"
	@echo "make fuzz     every fuzz target for 10 minutes (SECONDS=600); needs a C++ compiler, fetches cargo-fuzz"
	@echo "make wheel    wheel and sdist of a release in out/dist, checked by auditwheel and twine"
	@echo "make release  the same, with notes, tag and sums for a forge (CHANGELOG.md names the version)"
	@echo "make wheel-test  the wheel in an empty environment: no compiler, no network (sdist-test: the sdist, long)"
	@echo "make install  build ufsim into .venv: the command line is .venv/bin/ufsim"
	@echo "make bench    print the simulator's speed and memory (RECORD=FILE: nine runs of each case; CASES='WORD...')"
	@echo "make bless    write golden digests and generated documents anew"
	@echo "make format   format the Rust and Python sources"
	@echo "make clean    remove everything that was built"

demo: install
	$(BIN)/ufsim demo

# A clean tree is compiled once, so nothing is kept for a second build, and crates are not divided into units that are
# optimised apart. Line tables for backtraces would take a quarter of the compiler's time; a panic names its place
# without them.
test: export CARGO_INCREMENTAL := 0
test: export CARGO_PROFILE_DEV_CODEGEN_UNITS := 1
test: export CARGO_PROFILE_DEV_DEBUG := false

# Steps beside each other, as none uses two processors all the time, told with their time. The guest's kernel is
# compiled beside the first ones; check-python waits for it. If a step fails, that ends, too.
test:
	@mkdir -p out; setsid nice -n 19 $(MAKE) --no-print-directory linux > out/linux.log 2>&1 & \
	kernel=$$!; trap 'kill -TERM -$$kernel 2> /dev/null' EXIT INT TERM; \
	for steps in "check-format check-rust check-wheel" check-python; do \
		begun=$$(date +%s); $(MAKE) --no-print-directory -j2 $$steps || exit 1; \
		echo "make $$steps: $$(($$(date +%s) - begun)) s"; done

# Lock files of the crates that stand beside the workspace go stale when it gets a dependency: said first, not last.
check-format: .venv/.packages
	for lock in examples/no-bitmap fuzz; do \
		cargo metadata --locked --format-version 1 --manifest-path $$lock/Cargo.toml > /dev/null || exit 1; done
	cargo fmt --all --check
	rustfmt --check --edition 2024 $(MACRO_MODULES) fuzz/fuzz_targets/*.rs examples/*/*/*.rs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(TOOLS) tidy

# With -j, the documentation is made while tests run: some of them keep one processor only. Its examples are tested
# first, because cargo doc keeps the target directory to itself, and the tests would wait for it.
check-rust: check-tests check-docs

check-tests: compile-tests
	cargo test --locked --workspace --tests

check-docs: compile-tests
	cargo test --locked --workspace --doc
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# While the last of Rust's tests run: it takes one processor, and check-python finds the extension made.
check-wheel: compile-tests .venv/.packages
	$(MAKE) --no-print-directory wheel-test

# Examples and benchmarks are not linked: clippy has compiled them as far as it can fail.
compile-tests: check-clippy
	cargo test --locked --workspace --tests --no-run

# The second time as people compile it: without what the workspace's tests switch on.
check-clippy: .venv/.interpreter
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p ufsim-py -- -D warnings

check-python: install linux
	$(BIN)/pytest -n auto --dist loadgroup

# As its users do, with a build of its own. `make check-rust` runs the same suite among its tests.
example:
	CARGO_TARGET_DIR=$(CURDIR)/target cargo test --locked --manifest-path examples/no-bitmap/Cargo.toml

quick: .venv/.packages .venv/.papers
	$(TOOLS) quick $(if $(BASE),--base $(BASE))

install: .venv/.extension-$(PROFILE) .venv/.papers

# Pages, tables and the notebook are made anew from the sources: tools/docs/hook.py.
docs: install
	$(TOOLS) docs build

reproduce: install
	$(BIN)/ufsim reproduce --scorecard $(if $(wildcard $(TRACES)),--traces $(TRACES))

scorecard: reproduce
	$(BIN)/python -m ufsim_papers.scorecard out/reproduce/scorecard.json

fits: install
	$(TOOLS) fits --traces $(TRACES)

flush-search: install
	$(BIN)/python -m ufsim_papers.hp_ufs.flush_search --traces $(TRACES)

# The first two take what make install has compiled; the last one compares with it.
wheel: install
	$(TOOLS) release build

release: wheel
	$(TOOLS) release forge

wheel-test: install
	$(TOOLS) release try --profile $(PROFILE) $(FEATURES)

sdist-test: install
	$(TOOLS) release sdist

crash: install
	$(BIN)/ufsim crash --runs 2000

# Goes on where it was stopped. To keep what a finished soak tells: make soak RECORD=docs/data/soak.json
soak: install
	$(TOOLS) soak cuts --cuts $(CUTS) $(if $(RECORD),--record $(RECORD))
	$(TOOLS) soak whole --steps $(STEPS) $(if $(WHOLE),--record $(WHOLE))

# To keep what the documentation shows of it: make explore RECORD=docs/data/explore.json
explore: .venv/.packages
	mkdir -p out
	cargo run --locked --release -p ufsim-explore -- --seconds $(EXPLORE_SECONDS) --json out/explore.json
	$(if $(RECORD),$(TOOLS) docs explored out/explore.json $(RECORD))

# Does nothing if the same kernel is there: it lies in a folder for caches, under a digest of all that goes into it.
linux:
	$(PYTHON) linux/build.py --kernel $(KERNEL) $(if $(CHECKS),--checks)

# Programs that use live devices; root installs them, others have to have them.
clients:
	@missing=; for program in $(CLIENTS); do command -v $$program > /dev/null || missing=yes; done; \
	ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || missing=yes; \
	if [ "$$missing" ] && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $(CLIENT_PACKAGES); fi

test-device: install clients
	UFSIM_CLIENTS=device $(BIN)/pytest -rs $(addprefix tests/python/test_,\
		serve.py clients.py fio_jobs.py filesystems.py postgres.py)

# Ten repeats of each job, a hundred resets, two hundred power cuts on each file system (a quarter of an hour).
test-linux: install linux
	UFSIM_LINUX=long UFSIM_CLIENTS=all $(BIN)/pytest -n 0 tests/python/test_linux*.py

soak-device: install clients
	$(TOOLS) soak device --minutes $(MINUTES)

bench-device: install clients
	$(TOOLS) bench live $(if $(RECORD),--record $(RECORD))

mutants: .venv/.packages
	$(TOOLS) mutants $(if $(BASE),--base $(BASE))

fuzz: .venv/.packages
	$(TOOLS) fuzz --seconds $(SECONDS) $(TARGETS)

bench: .venv/.packages
	$(TOOLS) bench run $(if $(RECORD),--repeats 9 --record $(RECORD)) $(CASES)

# When that is legitimate, CONTRIBUTING.md says.
bless:
	cargo run --locked -p ufsim-lab --example bless

format: .venv/.packages
	cargo fmt --all
	rustfmt --edition 2024 $(MACRO_MODULES) fuzz/fuzz_targets/*.rs examples/*/*/*.rs
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	cargo clean
	rm -rf .venv out fuzz/target fuzz/finds fuzz/artifacts fuzz/coverage

# Made anew when the lock changes, so that nothing is left of what it named before.
# Rust needs the interpreter alone, and need not wait for the packages.
.venv/.interpreter: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/.packages: .venv/.interpreter
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	@touch $@

# Editable: a change of a Python source needs no build.
.venv/.extension-$(PROFILE): .venv/.packages $(RUST_SOURCES)
	@rm -f .venv/.extension-*
	PIP_QUIET=1 $(BIN)/maturin develop --profile $(PROFILE) $(FEATURES)
	@touch $@

# The package of the papers, editable, too.
.venv/.papers: .venv/.packages papers/pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable papers
	@touch $@
