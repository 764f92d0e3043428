# Corewire's commands. `make` alone explains them.

# What rustup installs is found also before a new login.
export PATH := $(if $(CARGO_HOME),$(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
COREWIRE := $(TARGET)/release/corewire

# To be set on the command line: make run PROFILE=smoke
PROFILE ?= quick
SCENARIO ?= guti
# An RMR library to measure beside ours: make run SCENARIO=rmr RMR_LIB=/usr/local/lib/librmr_si.so
RMR_LIB ?=
FUZZ_SECONDS ?= 60
MUTATIONS ?= 1000000
FLOOD ?= 15
KILLS ?= 100
# A part of the code and of the changes to it: make mutants PART=wire SHARD=0/8
PART ?=
SHARD ?=
NOW := $(shell date +%Y%m%d-%H%M%S)
OUT ?= out/$(SCENARIO)-$(NOW)

LAB_OPTIONS := $(if $(filter rmr,$(SCENARIO)),$(if $(RMR_LIB),--rmr-lib $(RMR_LIB)))

# Each step prints how long it took; the list at the end is collected in here.
export STEPS := $(abspath $(TARGET))/steps-$(NOW)
STEP := @scripts/step
SUMMARY := @scripts/step --summary

PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help setup setup-library build peers rmr install-rmr run smoke test test-rust test-peers test-lab test-suites test-clients lint house format bench model miri tsan hostile sanitize sctp fuzz mutants clean

help: ## Explain the commands (this text)
	@echo "Corewire: messages between network functions, and a lab that measures them."
	@echo
	@echo "Start with"
	@echo "    make run         build, measure every adapter on this machine and read the report"
	@echo "    make test        build and check that everything works"
	@echo
	@echo "All commands:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "    make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Settings: SCENARIO=guti|mesh|rmr, PROFILE=smoke|quick|full (guti: cells too), OUT=DIR and RMR_LIB=FILE (a library"
	@echo "to measure beside ours) for run and smoke, FUZZ_SECONDS=$(FUZZ_SECONDS) for fuzz,"
	@echo "PART and SHARD for mutants (scripts/mutants --help), CARGO_TARGET_DIR as for cargo. The program itself explains more: $(COREWIRE) lab --help"

setup: ## Install what is missing on this machine (scripts/setup --check only lists it)
	$(STEP) "set up" scripts/setup

build: setup ## Build the program, target/release/corewire
	$(STEP) "build the program" cargo build --release --locked -p corewire-cli

peers: setup rmr ## Build the C++ peers that the lab compares: gRPC, Thrift, TCP, Corewire
	$(STEP) "build the C library" cargo build --release --locked -p corewire-guti -p corewire-capi
	$(STEP) "configure the peers" sh -c 'cd peers && cmake --preset release'
	$(STEP) "build the peers" sh -c 'cd peers && cmake --build --preset release'
	$(STEP) "build the references in Rust" sh -c 'cargo build --release --locked --manifest-path peers/reference/Cargo.toml \
	    --target-dir $(TARGET)/reference && cp $(TARGET)/reference/release/corewire-reference peers/build/ || echo "without them"'

setup-library:
	$(STEP) "set up the compilers" scripts/setup --library

rmr: setup-library ## Build librmr_si.so, the drop-in for the message router's C library
	$(STEP) "build librmr_si.so" cargo build --release --locked -p corewire-rmr-c
	@ln -sf librmr_si.so $(TARGET)/release/librmr_si.so.4

install-rmr: rmr ## Install librmr_si.so and rmr/*.h under PREFIX (DESTDIR is in front of it)
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/rmr
	install -m 755 $(TARGET)/release/librmr_si.so $(DESTDIR)$(PREFIX)/lib/librmr_si.so.4
	ln -sf librmr_si.so.4 $(DESTDIR)$(PREFIX)/lib/librmr_si.so
	install -m 644 $(TARGET)/release/librmr_si.a $(DESTDIR)$(PREFIX)/lib/
	install -m 644 crates/rmr-c/include/rmr/*.h $(DESTDIR)$(PREFIX)/include/rmr/
	sed 's|@PREFIX@|$(PREFIX)|' crates/rmr-c/rmr_si.pc.in \
	    >$(DESTDIR)$(PREFIX)/lib/pkgconfig/rmr_si.pc

run: build peers ## Set up, build, measure every adapter (PROFILE=quick) and open the report
	$(STEP) "measure" $(COREWIRE) lab run $(SCENARIO) --profile $(PROFILE) --out $(OUT) $(LAB_OPTIONS)
	$(SUMMARY)
	@scripts/open-report $(OUT)

smoke: build peers ## Measure every adapter for a moment: does it all work together?
	$(STEP) "smoke" $(COREWIRE) lab run $(SCENARIO) --profile smoke --out $(OUT) $(LAB_OPTIONS)
	$(SUMMARY)

# The conformance suite over every transport, the C and C++ programs against the headers, the
# layering and the replay of the fuzz corpora are tests of the workspace like the others.
test: test-rust test-peers test-lab test-suites test-clients ## Run all tests
	$(SUMMARY)

test-rust: setup ## Run the tests of the Rust workspace and of the C headers
	$(STEP) "build the Rust tests" cargo test --workspace --locked --no-run
	$(STEP) "Rust tests" scripts/rust-tests --workspace
	$(STEP) "headers by themselves" scripts/check-headers

test-peers: peers ## Run the tests of the C++ peers, and of the control plane with Envoy and gRPC
	$(STEP) "peers' tests" sh -c 'cd peers && ctest --preset release --no-tests=error -j 4 --repeat until-pass:2'
	$(STEP) "control plane with Envoy and gRPC" scripts/rust-tests -p corewire-control --test outside -- --ignored

test-lab: build peers ## Run every adapter, path and transport for a moment through the lab, as a user would
	$(STEP) "every adapter in the lab" $(COREWIRE) lab run guti --profile smoke --out $(TARGET)/smoke-$(NOW)
	$(STEP) "every path of the mesh" $(COREWIRE) lab run mesh --profile smoke --out $(TARGET)/smoke-mesh-$(NOW)
	$(STEP) "every transport of RMR" $(COREWIRE) lab run rmr --profile smoke --out $(TARGET)/smoke-rmr-$(NOW)
	$(STEP) "prepare the Python clients" sh -c 'clients/python/prepare || echo "without them"'
	$(STEP) "every quality" sh -c '$(COREWIRE) lab run qualities --out $(TARGET)/qualities-$(NOW) && \
	    ! grep "\"subject\":\"Corewire\".*\"passed\":false" $(TARGET)/qualities-$(NOW)/results.jsonl'

test-suites: build ## Hold the HTTP/2 and gRPC ends to h2spec and gRPC's interop cases (needs Go)
	$(STEP) "build the interop program" cargo build --locked -p corewire-testkit --example grpc_interop
	$(STEP) "public suites" scripts/suites $(COREWIRE) $(TARGET)

test-clients: build peers ## Run the clients in Python, Go, C, C++ and Java against one server, as far as they are installed
	$(STEP) "clients in other languages" env COREWIRE=$(COREWIRE) clients/run-all

lint: setup ## Check form, lints, documentation and dependencies
	$(STEP) "rustfmt" cargo fmt --all --check
	$(STEP) "clang-format" scripts/lint-cpp
	$(STEP) "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings
	$(STEP) "documentation" env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
	$(STEP) "the house: circles, clocks, unsafe code, long files" scripts/house
	$(STEP) "dependencies are explained" scripts/check-dependencies
	$(STEP) "dependencies are allowed" scripts/lint-dependencies
	$(SUMMARY)

house: ## Measure how the Rust code is built: import circles, clocks, unsafe code, long files (scripts/house --help)
	@scripts/house --circles

format: ## Put all code into form
	cargo fmt --all
	scripts/lint-cpp --fix

bench: build peers ## Measure the thesis's whole matrix, about a day; stopped, it goes on where it was
	$(STEP) "allocator" cargo run --release --locked -p corewire-guti --example ten_million
	@if [ -e out/guti-full/results.jsonl ]; then set -- --resume out/guti-full; \
	else set -- --profile full --out out/guti-full; fi; \
	scripts/step "measure" $(COREWIRE) lab run guti "$$@"
	$(SUMMARY)
	@scripts/open-report out/guti-full

model: ## Try every order of the steps of the lock-free pieces (loom)
	$(STEP) "loom" env RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=$(TARGET)/loom cargo test --locked -p corewire-sys -p corewire-driver --lib loom
	$(SUMMARY)

miri: ## Run the unsafe modules under Miri (needs a nightly compiler with it)
	$(STEP) "Miri" scripts/miri
	$(SUMMARY)

tsan: ## Run the tests whose threads share memory under the thread sanitizer (needs a nightly compiler with rust-src)
	$(STEP) "thread sanitizer" scripts/tsan
	$(SUMMARY)

hostile: ## Spoil frames and requests (MUTATIONS=N), flood (FLOOD=SECONDS each), fill disks, kill stores (KILLS=N) and parts of a core
	$(STEP) "hostile peers" env COREWIRE_MUTATIONS=$(MUTATIONS) \
	    cargo test --release --locked -p corewire-cli --test hostile --test hostile_sbi -- --nocapture
	$(STEP) "floods: what five connections hold, and how long others wait" env COREWIRE_FLOOD_SECONDS=$(FLOOD) \
	    cargo test --release --locked -p corewire-cli --test hostile_floods -- --nocapture
	$(STEP) "stores on full disks, with flipped bits, killed $(KILLS) times" env COREWIRE_KILLS=$(KILLS) \
	    cargo test --release --locked -p corewire-cli --test stores -- --nocapture --test-threads 1
	$(STEP) "any network function killed under 100 attaches a second" env COREWIRE_ATTACHES=100 \
	    cargo test --release --locked -p corewire-cli --test core_kill -- --nocapture --test-threads 1
	$(SUMMARY)

sctp: ## Try N2 over a kernel's SCTP, in user-mode Linux where this kernel has none
	$(STEP) "kernel SCTP" scripts/kernel-sctp
	$(SUMMARY)

# The Rust side under them is as it is measured; the sanitizers see its memory, not its own accesses.
sanitize: setup rmr ## Run the C and C++ programs and the peers' tests under the address and undefined-behaviour sanitizers
	$(STEP) "build the C library" cargo build --release --locked -p corewire-guti -p corewire-capi
	$(STEP) "C and C++ faces" cargo test --locked -p corewire-capi --test c_programs -- sanitizers
	$(STEP) "configure the peers" sh -c 'cd peers && cmake --preset sanitize'
	$(STEP) "build the peers" sh -c 'cd peers && cmake --build --preset sanitize'
	$(STEP) "peers' tests" sh -c 'cd peers && ctest --preset sanitize --no-tests=error -j 4'
	$(SUMMARY)

fuzz: ## Fuzz each decoder for FUZZ_SECONDS (needs a nightly compiler and cargo-fuzz)
	@scripts/fuzz $(FUZZ_SECONDS)
	$(SUMMARY)

mutants: ## Change the code a little (PART=store|router|policy|wire, SHARD=0/8): does a test notice?
	$(STEP) "mutants" scripts/mutants $(if $(SHARD),--shard $(SHARD)) $(PART)
	$(SUMMARY)

clean: ## Remove what was built; results in out/ stay
	cargo clean
	rm -rf peers/build*
