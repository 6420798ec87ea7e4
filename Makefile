# Every check and every test, by name. `make help` lists them; CI calls `make check test`.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/windlass/tools
TYPOS := 1.52.0
DENY := 0.20.2
VALE := 3.21.0
CYCLONEDX := 0.5.9
LANGUAGES := rust quickjs go python starlingmonkey
GUESTS := attacker backup bench-family bench-greeter bench-holder bench-station courier cronjob deployment greeter hello hostile janitor job puppet pv-protection pvc-protection registrar relay replicaset root-ca sample-controller selective serviceaccount steward sweeper ttl-after-finished twins webapp wrong
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
STATIC := $(shell uname -m)-unknown-linux-musl

.PHONY: help
help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: toolchain
toolchain:
	@command -v rustup >/dev/null || { echo "install rustup first: it brings the compiler that rust-toolchain.toml names" >&2; exit 1; }
	@rustup which cargo >/dev/null 2>&1 || rustup toolchain install
	@rustup target list --installed | grep -q wasm32-wasip2 || rustup target add wasm32-wasip2

.PHONY: go
go:
	@command -v go >/dev/null || [ -n "$${KUBEBUILDER_ASSETS:-}" ] || { echo "install Go 1.26 first (the real control plane is built from Go modules), or set KUBEBUILDER_ASSETS" >&2; exit 1; }

.PHONY: venv
venv:
	@command -v python3 >/dev/null || $(call debian,python3)
	@python3 -c 'import ensurepip' 2>/dev/null || $(call debian,python3-venv)

# The npm workspace's packages, for the checks and the tests of JavaScript. The tests do the same for
# themselves (tests/sandbox/src/javascript.rs); the copy of the lock file says what is installed.
NPM := node_modules/.windlass-lock.json
.PHONY: node
node:
	@[ "$$(node --version 2>/dev/null | sed -E 's/v([0-9]+).*/\1/')" -ge 20 ] 2>/dev/null || { echo "install Node.js 20 or newer first, with npm (plugins in JavaScript are built with it)" >&2; exit 1; }
$(NPM): package-lock.json | node
	npm ci --no-progress --silent
	@cp package-lock.json $@

.PHONY: demo demo-cluster demo-built
demo: toolchain demo-built bundle ## Make a plugin, run it with windlass dev, break and fix it; replace a controller in the middle of a rollout
	@WINDLASS_TEST_SERVER=embedded target/debug/demo
demo-cluster: toolchain go demo-built ## Show the life cycle of a Greeting on a real control plane, which is built from source
	@target/debug/demo
# `--workspace` with the programs that are needed: features are the whole workspace's, so no crate is built twice.
demo-built: toolchain
	cargo build --workspace --bin windlass --bin demo
	cargo build -p greeter --profile guest --target wasm32-wasip2 --target-dir target/guests

# Kubernetes' controllers, for `windlass cluster`: their components are a part of the program.
BUNDLE := cronjob deployment job pv-protection pvc-protection replicaset serviceaccount ttl-after-finished
.PHONY: cluster cluster-built bundle
bundle: toolchain
	@cargo build --quiet $(BUNDLE:%=-p %) --profile guest --target wasm32-wasip2 --target-dir target/guests
	@rm -rf target/bundle && mkdir -p target/bundle
	@for name in $(BUNDLE); do cp plugins/$$name/plugin.yaml target/bundle/$$name.yaml && \
	cp target/guests/wasm32-wasip2/guest/$${name//-/_}.wasm target/bundle/$$name.wasm; done
cluster-built: bundle
	cargo build --release -p windlass --features bundle,jemalloc
cluster: cluster-built ## Run a small cluster whose controllers are plugins, until Ctrl+C
	@target/release/windlass cluster --nodes 3

.PHONY: up down
up: toolchain go ## Start a real control plane, and print the path of its kubeconfig
	@cargo build --quiet --workspace --bin controlplane
	@target/debug/controlplane up
down: toolchain ## Stop that control plane
	@cargo build --quiet --workspace --bin controlplane
	@target/debug/controlplane down

.PHONY: apiserver-data
apiserver-data: toolchain go ## Record the data of built-in kinds from a real API server, for the embedded one
	@cargo build --quiet --workspace --bin capture
	@target/debug/capture

# The checks in three groups: the quick ones first, so that a mistake is found before anything is compiled.
.PHONY: check check-quick check-words check-code fmt layers clippy clippy-guests docs deny audit typos prose manifests javascript released
check: check-quick check-words check-code ## Run all static checks
check-quick: fmt layers
check-words: typos prose deny javascript
check-code: clippy clippy-guests docs audit manifests released
fmt: toolchain
	cargo fmt --all --check
layers: toolchain ## Check that modules and crates import only what is below them
	@cargo test --quiet -p windlass-layers
clippy: toolchain
	cargo clippy --workspace --all-targets --features windlass-contract/mutants -- -D warnings
# As users build it: without the features that tests turn on. The other dependencies are those of the line above.
	cargo check -p windlass -p windlass-host
clippy-guests: toolchain
	cargo clippy $(addprefix -p ,windlass-sdk $(GUESTS)) --target wasm32-wasip2 --target-dir target/guests -- -D warnings
# Components of each release still fit: wit/released.
released: toolchain
	@cargo test --quiet --workspace --test sandbox -- released::
docs: toolchain
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
deny: toolchain $(TOOLS)/bin/cargo-deny-$(DENY)
	$(TOOLS)/bin/cargo-deny check licenses bans sources
# ADVISORIES is a clone of a RustSec database, such as github.com/RustSec/advisory-db.
ADVISORIES :=
audit: toolchain $(if $(ADVISORIES),$(TOOLS)/bin/cargo-deny-$(DENY)) ## Check that each advisory of wasmtime has a proof, that no newer patch release exists, and with ADVISORIES=folder the advisories of all crates
	@cargo build --quiet --workspace --bin audit
	@target/debug/audit
	@tests/audit/database $(TOOLS)/bin/cargo-deny '$(ADVISORIES)'
typos: toolchain $(TOOLS)/bin/typos-$(TYPOS)
	$(TOOLS)/bin/typos
# The rules are in docs/style/Windlass. In sources, vale reads the comments only.
prose: $(TOOLS)/bin/vale-$(VALE) ## Check the words of documents and comments, and the length of sentences in documents
	@git ls-files -z '*.md' '*.rs' '*.wit' '*.ts' '*.js' '*.py' | xargs -0 $(TOOLS)/bin/vale --output=line

# With any kubectl; without one, with the tests' own.
manifests: toolchain
	@command -v kubectl >/dev/null || cargo build --quiet --workspace --bin controlplane
	@kubectl=$$(command -v kubectl || target/debug/controlplane kubectl-path); \
	for folder in deploy/base deploy/components/* plugins/greeter; do $$kubectl kustomize $$folder >/dev/null; done

# The definition of Plugin follows from the types that read a document.
.PHONY: crds
crds: toolchain
	@cargo test --quiet --workspace --lib write_the_definition -- --ignored

javascript: $(NPM)
	node_modules/.bin/prettier --check --log-level warn .
	node_modules/.bin/eslint --max-warnings 0 .
	node_modules/.bin/tsc --project .
	node_modules/.bin/tsc --project tests/page-js
	@if grep --line-number --extended-regexp '"resolved": "[a-z]+:' $$(git ls-files '*package-lock.json'); then echo "a lock file names a registry: npm config set omit-lockfile-registry-resolved true, and lock again" >&2; exit 1; fi

# Tools are built once, into the user's cache; the stamp carries the version. They run for seconds, so they are optimized
# little, and not when they are linked.
INSTALL := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
  cargo install --quiet --locked --root $(TOOLS)
$(TOOLS)/bin/cargo-deny-$(DENY):
	@echo "building cargo-deny $(DENY), once (about 3 minutes)" >&2
	$(INSTALL) cargo-deny@$(DENY)
	@touch $@
$(TOOLS)/bin/typos-$(TYPOS):
	@echo "building typos $(TYPOS), once (about 2 minutes)" >&2
	$(INSTALL) typos-cli@$(TYPOS)
	@touch $@
$(TOOLS)/bin/cargo-cyclonedx-$(CYCLONEDX):
	@echo "building cargo-cyclonedx $(CYCLONEDX), once (about 2 minutes)" >&2
	$(INSTALL) cargo-cyclonedx@$(CYCLONEDX)
	@touch $@
$(TOOLS)/bin/vale-$(VALE):
	@command -v go >/dev/null || { echo "install Go 1.26 first (vale, which checks the prose, is built from its Go module)" >&2; exit 1; }
	@echo "building vale $(VALE), once (about 2 minutes)" >&2
	CGO_CFLAGS="-O1 -w" GOBIN=$(TOOLS)/bin go install github.com/vale-cli/vale/v3/cmd/vale@v$(VALE)
	@touch $@

# The binary names no folder of the machine, and the image has the time of the commit: both are the same wherever they are built.
.PHONY: static image sbom
MUSL := $(subst -,_,$(STATIC))
static: toolchain ## Build the host as one static binary, and check that it starts in an empty root
	@rustup target list --installed | grep -q '^$(STATIC)$$' || rustup target add $(STATIC)
	@command -v musl-gcc >/dev/null || $(call debian,musl-tools)
	@cargo fetch --quiet --locked
# The folder of the crates is there after that, and not before.
	@folders="$(CURDIR)=/windlass"; \
	for crates in "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/*; do folders="$$folders $$crates=/crates"; done; \
	CC_$(MUSL)=musl-gcc CFLAGS_$(MUSL)="$$(printf -- '-ffile-prefix-map=%s ' $$folders)" \
	  CARGO_TARGET_$(shell echo $(MUSL) | tr a-z A-Z)_RUSTFLAGS="$$(printf -- '--remap-path-prefix=%s ' $$folders)" \
	  cargo build --release --locked --target $(STATIC) -p windlass-host --features jemalloc
	@! grep --quiet --fixed-strings "$${CARGO_HOME:-$$HOME/.cargo}" target/$(STATIC)/release/windlass-host || { echo "the binary names a folder of this machine" >&2; exit 1; }
	@rm -rf target/image && mkdir -p target/image
	@strip -o target/image/windlass target/$(STATIC)/release/windlass-host
	@unshare --map-root-user --root=target/image /windlass --version
image: static sbom ## Build the image with that binary, with buildah, and list what is in it
	@command -v buildah >/dev/null || $(call debian,buildah)
	buildah build --isolation chroot --storage-driver vfs --build-arg VERSION=$(VERSION) \
	  --timestamp "$$(git log -1 --format=%ct)" --file deploy/Containerfile --tag windlass:$(VERSION) target/image
	buildah push --quiet --storage-driver vfs --digestfile target/windlass-$(VERSION).digest windlass:$(VERSION) \
	  oci-archive:target/windlass-$(VERSION).tar:windlass:$(VERSION)
	@echo "the image is in target/windlass-$(VERSION).tar, an OCI archive, with the digest $$(cat target/windlass-$(VERSION).digest)"
	@echo "what is in it is in target/windlass-$(VERSION).cdx.json, a CycloneDX document"
sbom: toolchain $(TOOLS)/bin/cargo-cyclonedx-$(CYCLONEDX)
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(TOOLS)/bin/cargo-cyclonedx cyclonedx --quiet --format json \
	  --target $(STATIC) --manifest-path host/Cargo.toml --override-filename windlass.cdx
	@mkdir -p target && sed 's|path+file://$(CURDIR)|path+file:///windlass|g' host/windlass.cdx.json > target/windlass-$(VERSION).cdx.json
# It writes one for each crate of the workspace.
	@git ls-files -z --others '*windlass.cdx.json' | xargs -0 rm -f

# Installs a package of Debian where that is allowed; otherwise says what to install.
debian = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { apt-get install -y -qq $(1) >&2 || { apt-get update -qq && apt-get install -y -qq $(1) >&2; }; }; } || { echo "install $(1) first (Debian: apt-get install $(1))" >&2; exit 1; }

# The status page in a browser, with what `demo-built` has built.
.PHONY: chromium page screenshots
chromium:
	@[ -x /usr/bin/chromium ] || $(call debian,chromium)
page: demo-built chromium $(NPM) ## Test the host's status page in a headless browser
	@cd tests/page-js && node --test --test-reporter=spec test/
screenshots: demo-built chromium $(NPM) ## Take the pictures of the status page in docs/pictures
	@node tests/page-js/src/pictures.js

# A registry, for the tests of host/registry.
.PHONY: docker-registry
docker-registry:
	@command -v docker-registry >/dev/null || $(call debian,docker-registry)

# One build for all suites: `--workspace` everywhere, so that no crate is built with other features. `xtask/src/test` has
# the suites, and where each of them runs.
# MUTATIONS holds flags of `contract mutations`, such as --seed 7 --runs 500 Ingress.
.PHONY: guests programs test-fast test test-embedded test-objects contract contract-crds contract-mutations mutants kube-rs-suite suites
# All components at once, on both processors; otherwise each test builds its own, one after the other.
guests: toolchain
	@cargo build --quiet $(addprefix -p ,$(GUESTS)) --profile guest --target wasm32-wasip2 --target-dir target/guests
# What tests run is built before them, so that they do not ask cargo each time.
programs: toolchain guests
	@cargo build --quiet --workspace --bin windlass --bin windlass-jemalloc
test-fast: toolchain programs ## Run the tests that need neither Go nor Node.js
	@WINDLASS_TEST_BUILT=1 cargo xtask test fast
test: toolchain go programs chromium docker-registry $(NPM) ## Run all tests, on a real control plane and on the embedded API server
	@WINDLASS_TEST_BUILT=1 cargo xtask test
test-embedded: toolchain go programs $(NPM) ## Run the end-to-end tests on the embedded API server
	@WINDLASS_TEST_BUILT=1 cargo xtask test embedded
test-objects: toolchain go programs $(NPM) ## Run the end-to-end tests through Plugin objects
	@WINDLASS_TEST_BUILT=1 cargo xtask test objects
contract: toolchain go ## Compare the embedded API server with a real one, by the contract's scenarios
	cargo test --workspace --test contract --test kubectl
contract-crds: toolchain go ## Install 400 CRDs on a real API server and on the embedded one, and compare the times
	cargo run --quiet --release -p windlass-contract --bin contract -- install
contract-mutations: toolchain go ## Change one field of valid objects, and compare what both servers say
	cargo run --quiet --release -p windlass-contract --bin contract -- mutations $(MUTATIONS)
mutants: toolchain go ## Put one bug after the other into the embedded API server, and check that the contract finds each
	cargo test -p windlass-contract --features mutants --test mutants
kube-rs-suite: toolchain ## Run kube-rs's own integration tests on the embedded API server
	@cargo build --quiet --workspace --bin controlplane
	@tests/kube-rs-suite
# Other projects' clients and controllers; `make suite-helm SERVER=embedded` runs one of them on one server.
SUITES := controllers controller-runtime gateway-api helm kr8s python-client
SERVER := both
suites: $(SUITES:%=suite-%) ## Run other projects' suites on the embedded API server and on a real one
.PHONY: $(SUITES:%=suite-%)
suite-python-client suite-kr8s: venv
$(SUITES:%=suite-%): suite-%: toolchain go
	@cargo build --quiet --release -p windlass-controlplane --bin controlplane
	@tests/suites/suite $* $(SERVER)
# Kubernetes' own integration suites, with a plugin in the place of a controller. SIDE=original leaves the controller in, and
# SIDE=both runs both.
KUBERNETES_SUITES := cronjob deployment job replicaset serviceaccount
SIDE := plugin
.PHONY: $(KUBERNETES_SUITES:%=kubernetes-suite-%)
$(KUBERNETES_SUITES:%=kubernetes-suite-%): kubernetes-suite-%: toolchain go ## Run Kubernetes' own test/integration/NAME on the plugin NAME
	@cargo build --quiet --workspace --bin controlplane
	@cargo build --quiet --release -p windlass --features jemalloc
	@cargo build --quiet $(KUBERNETES_SUITES:%=-p %) --profile guest --target wasm32-wasip2 --target-dir target/guests
	@tests/kubernetes-suites/run $* $(SIDE)
.PHONY: kubernetes-cmd
CMD_PLUGINS := cronjob deployment job replicaset
kubernetes-cmd: toolchain go ## Run functions of Kubernetes' own test/cmd, which drive kubectl, on plugins
	@cargo build --quiet --workspace --bin controlplane
	@cargo build --quiet --release -p windlass --features jemalloc
	@cargo build --quiet $(CMD_PLUGINS:%=-p %) --profile guest --target wasm32-wasip2 --target-dir target/guests
	@tests/kubernetes-suites/cmd $(SIDE)
# The same steps on two clusters, one with the original controllers; LIFE has more flags: `--swap`, or `--handover 10`.
.PHONY: life
STEPS := 300
life: toolchain go bundle ## Do the same STEPS on two real API servers, one with Kubernetes' controllers and one with plugins
	@cargo build --quiet --workspace --bin life
	@cargo build --quiet --release -p windlass --features jemalloc
	@target/debug/life --seed $(SEED) --steps $(STEPS) $(LIFE)
# SEED, RUNS, FAULTS (such as crash-done@3,freeze@1500/20), BUG (of host/base/src/bugs.rs), WORKLOADS=1 and TRACE=1 say what is run.
.PHONY: simulate judge-the-judge
SEED := 0
RUNS := 1000
simulate: toolchain ## Simulate hosts with faults, in one thread: RUNS seeds from SEED on
	@cargo build --quiet --workspace --bin simulate
	@target/debug/simulate --seed $(SEED) --runs $(RUNS) $(if $(WORKLOADS),--workloads) $(if $(FAULTS),--faults $(FAULTS)) $(if $(BUG),--bug $(BUG)) $(if $(TRACE),--trace)
judge-the-judge: toolchain ## Put one bug after the other into simulated hosts, and check that the simulation finds each
	@cargo build --quiet --workspace --bin simulate
	@target/debug/simulate --bug all --runs 5000
LEADERS := while_leaders_are_killed_and_frozen_nobody_writes_but_the_holder_of_the_lease

# The parts of `make test-long`, each of at most an hour on two cores. `tests/once` runs one unless it has passed on the
# same tree: `make long-suites FORCE=1` repeats it.
LONG := languages suites kubernetes kubernetes-swap kubernetes-kill life mutants simulation chaos judge objects fuzz threads-1 threads-2 threads-8 attacks storms image bench
.PHONY: test-long $(LONG:%=long-%) $(LONG:%=part-%)
test-long: $(LONG:%=long-%) ## Run every suite with other thread counts, those of other projects, and more: `make long-NAME` runs one part: languages suites kubernetes kubernetes-swap kubernetes-kill life mutants simulation chaos judge objects fuzz threads-1 threads-2 threads-8 attacks storms image bench
$(LONG:%=long-%): long-%:
	@tests/once $@ part-$* '$(filter-out FORCE=%,$(MAKEOVERRIDES))'
part-languages: languages
part-suites: kube-rs-suite suites
part-kubernetes: kubernetes-cmd
	@for suite in $(KUBERNETES_SUITES); do $(MAKE) --no-print-directory SIDE=both kubernetes-suite-$$suite || exit; done
# While the plugins are replaced twice a second, and while their hosts are killed.
RESTLESS := replicaset deployment job
part-kubernetes-swap:
	@for suite in $(RESTLESS); do SWAP=500 $(MAKE) --no-print-directory kubernetes-suite-$$suite || exit; done
part-kubernetes-kill:
	@for suite in $(RESTLESS); do KILL=5000 $(MAKE) --no-print-directory kubernetes-suite-$$suite || exit; done
part-life:
	@$(MAKE) --no-print-directory life LIFE=--swap
	@$(MAKE) --no-print-directory life SEED=3 STEPS=60 LIFE='--handover 8'
part-mutants: mutants
part-simulation: toolchain
	@cargo build --quiet --workspace --bin simulate
	@target/debug/simulate --runs 10000
	@target/debug/simulate --workloads --runs 3000
	@target/debug/simulate --days 30
part-chaos: toolchain programs
	@WINDLASS_TEST_BUILT=1 WINDLASS_CHAOS_TIMES=5 cargo test --workspace --test author -- dev::chaos dev::operators dev::always
part-judge: judge-the-judge
part-objects: test-objects
part-fuzz:
	@$(MAKE) --no-print-directory fuzz-parsers SECONDS_OF_FUZZING=20
part-threads-1 part-threads-2 part-threads-8: part-threads-%: toolchain go programs chromium $(NPM)
	@WINDLASS_TEST_BUILT=1 cargo xtask test real --threads $*
part-attacks: toolchain go $(NPM)
	@WINDLASS_STRIKES=50 WINDLASS_SEED=7 cargo test --workspace --test faults -- $(LEADERS)
	@WINDLASS_STRIKES=2 WINDLASS_LEASE_SECONDS=15 cargo test --workspace --test faults -- $(LEADERS)
	@WINDLASS_ATTACK_ROUNDS=10 cargo test --workspace --test faults -- attacks:: --test-threads 2
	@WINDLASS_BENCH_SECONDS=1 cargo test --workspace --test faults -- attacks:: --ignored --nocapture
	@WINDLASS_FUZZ_RUNS=1000 cargo test --workspace --lib -- whatever_it_is_given
part-storms: toolchain go
	@WINDLASS_STORM=1000 cargo test --workspace --test operators -- --nocapture swapped_through_its_object
	@WINDLASS_REPLICA_PLUGINS=30 WINDLASS_REPLICA_STRIKES=80 cargo test --workspace --test faults -- --nocapture of_three_replicas
	@WINDLASS_KIND_ROUNDS=100 cargo test --workspace --test plugins -- late_kind::
	@$(MAKE) --no-print-directory demo-cluster
part-image: image
	@tests/image-check $(VERSION)
part-bench: bench-check bench-smoke

# libFuzzer for as many seconds; what it finds worth keeping stays in target/fuzz.
PARSERS := manifest yaml url selector object description
.PHONY: fuzz $(PARSERS:%=fuzz-%) fuzz-parsers fuzz-requests
SECONDS_OF_FUZZING := 60
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Ccodegen-units=1
FUZZED = RUSTFLAGS="$(COVERAGE)" cargo run --quiet --manifest-path $(1)/Cargo.toml --target-dir target/fuzz --bin $(2) \
	  --target $(shell uname -m)-unknown-linux-gnu --release --locked -- \
	  -max_total_time=$(SECONDS_OF_FUZZING) -max_len=4096 -rss_limit_mb=1024 -artifact_prefix=target/fuzz/$(2)- target/fuzz/corpus/$(2)
fuzz: fuzz-requests fuzz-parsers ## Fuzz the embedded API server, and each parser of foreign bytes
fuzz-parsers: $(PARSERS:%=fuzz-%)
fuzz-requests: toolchain
	@command -v c++ >/dev/null || $(call debian,g++)
	@mkdir -p target/fuzz/corpus/requests
	$(call FUZZED,host/apiserver/fuzz,requests)
$(PARSERS:%=fuzz-%): fuzz-%: toolchain
	@command -v c++ >/dev/null || $(call debian,g++)
	@mkdir -p target/fuzz/corpus/$*
	$(call FUZZED,tests/fuzz,$*)

# The same plugin in each language, built from source by its own toolchain; in the last three by raw bindings.
.PHONY: languages languages-built
languages: languages-built ## Build a plugin in each of five languages, and run them in the sandbox
	@cargo build --quiet --workspace --bin languages
	@target/debug/languages $(LANGUAGES:%=target/guests/languages/%.wasm)
languages-built: toolchain go $(NPM)
	@mkdir -p target/guests/languages
	@for language in $(LANGUAGES); do \
		echo "building the plugin in $$language" >&2; \
		TOOLS=$(TOOLS) tests/languages/$$language/build target/guests/languages/$$language.wasm; \
	done

# The peers, and what measures them, are built as they would be for use.
.PHONY: bench bench-scale bench-built
bench: bench-built ## Compare Windlass with controllers on controller-runtime and kube-rs (`make bench-ring` measures one workload)
	@target/release/bench
bench-%: bench-built
	@target/release/bench $*
bench-scale: bench-built ## Measure how Windlass grows with objects, plugins and changes
	@target/release/bench --scale
# Kubernetes' own controllers next to the plugins. SIZE has flags for a smaller run: `--nodes 20 --deployments 2 --replicas 100`.
.PHONY: bench-workloads
bench-workloads: toolchain go bundle ## Compare the plugins deployment and replicaset with kube-controller-manager: 500 nodes and 10,000 pods
	cargo build --quiet --release -p windlass --features jemalloc
	cargo build --quiet --release -p windlass-bench
	@mkdir -p target/bench
	@target/release/bench workloads cluster --rounds 1 --output target/bench/workloads.json $(SIZE)
BENCHED := bench-family bench-greeter bench-station hostile
bench-built: toolchain go measured languages-built
	cargo build --quiet --release -p windlass --features jemalloc
	cargo build --quiet --release -p windlass-bench
	cargo build --quiet $(BENCHED:%=-p %) --profile guest --target wasm32-wasip2 --target-dir target/guests
	@mkdir -p target/bench
	for held in default pods pods,lean again; do \
	cargo build --quiet -p bench-holder --features $$held --profile guest --target wasm32-wasip2 --target-dir target/guests; \
	cp target/guests/wasm32-wasip2/guest/bench_holder.wasm target/bench/holder-$$held.wasm; done
	cargo build --quiet --release --manifest-path tests/bench/kube-rs/Cargo.toml --target-dir target/bench
	cd tests/bench/controller-runtime && go build -trimpath -o ../../../target/bench/controller-runtime .
# A little of everything: whether it comes through, and not what it comes to.
.PHONY: bench-smoke
bench-smoke: bench-built
	@target/release/bench --rounds 1 --crowd 20 --queue 5 --stations 3 --laps 2 --rest 1 --objects 100 --output target/bench/smoke.json
	@target/release/bench --scale --growth 1 --output target/bench/smoke.json
# Two builds of Windlass side by side, without the link-time optimization of a release: BASE is a commit, or a program.
.PHONY: bench-quick
BASE := HEAD
ROWS := greet start ring rerun swap
bench-quick: toolchain go ## Compare this tree with BASE (a commit, or a program) in about 10 minutes; ROWS are some of greet, start, ring, rerun, swap
	@for row in $(ROWS); do case " greet start ring rerun swap " in *" $$row "*) ;; *) echo "bench-quick measures greet, start, ring, rerun and swap, not $$row" >&2; exit 1;; esac; done
	@tests/bench/builds '$(BASE)'
	cargo build --quiet --profile measured -p windlass-bench
	cargo build --quiet -p bench-greeter -p bench-station --profile guest --target wasm32-wasip2 --target-dir target/guests
	cargo build --quiet -p bench-holder --features again --profile guest --target wasm32-wasip2 --target-dir target/guests
	@cp target/guests/wasm32-wasip2/guest/bench_holder.wasm target/bench/holder-again.wasm
	@target/measured/bench --builds --rounds 3 --crowd 300 --queue 30 --stations 30 --laps 10 --rest 5 --objects 2000 \
	  --output target/bench/quick.json $(ROWS)
# As in a release, but for the minutes that it takes to link one.
.PHONY: bench-neighbours
bench-neighbours: toolchain go ## Measure nine healthy plugins, alone and beside each attack
	@cargo test --quiet --profile measured --workspace --test faults -- attacks:: --ignored --nocapture
.PHONY: bench-report
bench-report: ## Write docs/benchmarks.md and its charts from the last results of bench and bench-scale
	@target/release/bench --report docs

.PHONY: measure
measure: toolchain go $(NPM) ## Measure a release build: latency, memory, an author's loop, the status page, the embedded API server
	cargo build --quiet --release -p windlass --features jemalloc
	cargo build --quiet --release -p windlass-controlplane --bin measure-apiserver
	cargo build --quiet --workspace --bin measure --bin windlass
	@target/debug/measure
	@target/release/measure-apiserver

.PHONY: bench-check bench-baseline bench-steps
bench-check: measured ## Count the instructions of each step, and fail at 10 % more than the committed baseline
	@target/measured/instructions
bench-baseline: measured ## Write the current counts as the new baseline
	@target/measured/instructions --update
bench-steps: measured ## Measure the time of each step
	@target/measured/instructions --time
.PHONY: measured
measured: toolchain
	@command -v valgrind >/dev/null || $(call debian,valgrind)
	cargo build --quiet --profile measured -p windlass-instructions
