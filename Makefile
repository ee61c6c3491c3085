# Cordon. `make demo` runs the whole thing with nothing set up; `make test` is all that an ordinary user can run.
SHELL := /bin/bash
CARGO ?= cargo
PREFIX ?= /usr
DESTDIR ?=
# The labelled data that `make eval` judges by, which is not part of this repository.
CORPORA ?= ../shared/corpora/dev
# Faults and runs of `make chaos`; a CHAOS_SEED of an earlier run has the same faults fall again.
CHAOS_FAULTS ?= 2000
CHAOS_RUNS ?= 1
# Every actor has a folder of its name; kit is their library.
PROGRAMS := agentd agentd-config jail-probe runner $(filter-out kit,$(notdir $(wildcard actors/*)))
# Folder of built programs, and what `make install` puts where beneath PREFIX.
BUILT := target/release
# The browser of agents, in Debian's package.
BROWSER := /usr/lib/chromium/chromium-headless-shell
# An agentctl that runs here and prints the completions; not the built one where that is of another architecture.
COMPLETER ?= $(BUILT)/agentctl
UNITS := $(PREFIX)/lib/systemd/system
SERVICES := cordon.service cordon-forward.service cordon-alert.service cordon-cred@.service cordon-tunnel@.service
MANUALS := $(notdir $(wildcard deploy/man/*))
COMPLETIONS := bash-completion/completions/agentctl zsh/vendor-completions/_agentctl fish/vendor_completions.d/agentctl.fish
PLUGINS := $(shell cd deploy/plugins && find . -type f | sort)
# The documents keep their places to each other, so that their links lead somewhere.
DOCUMENTS := $(wildcard *.md) $(shell find docs -name '*.md' | sort)
VERSION ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
DEB ?= target/cordon_$(VERSION).deb
TARBALL ?= target/cordon-$(VERSION).tar.gz

.PHONY: build release check rules test test-browser test-confined conformance demo run bench chaos eval install uninstall deb tarball deny lists recipes

# Tests and programs in one go: cargo would build every library twice where a test asks one feature more of it.
build:
	$(CARGO) build --workspace --all-targets

# Without the tests, whose libraries would add features to those of the programs.
release:
	$(CARGO) build --release --workspace --exclude tests --bins

check: ## format, lints, licences and advisories, laws of style
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) clippy --workspace --test matrix --test browser --quiet -- -D warnings
	$(MAKE) --no-print-directory deny
	$(CARGO) test --quiet --workspace --test style
	@if command -v promtool >/dev/null; then $(MAKE) --no-print-directory rules; fi

rules: ## the alerting rules of deploy/prometheus and their tests, by promtool (Debian: prometheus)
	cd deploy/prometheus && promtool check rules cordon.rules.yml && promtool test rules cordon.rules.test.yml

deny: ## licences, sources and bans always, from what is on this disk; advisories where their database can be had
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install cargo-deny --locked --quiet --debug
	@$(CARGO) fetch --locked --quiet || echo "crates of other platforms could not be fetched; what is here is checked" >&2
	$(CARGO) deny --offline --workspace check --hide-inclusion-graph bans licenses sources
	@timeout 60 $(CARGO) deny fetch db >/dev/null 2>&1 || true; \
	if ls -d "$${CARGO_HOME:-$$HOME/.cargo}"/advisory-dbs/*/ >/dev/null 2>&1; then \
		$(CARGO) deny --offline --workspace check --hide-inclusion-graph advisories; \
	else echo "NOT CHECKED: advisories. The RustSec database is not on this machine and could not be fetched." >&2; fi

lists: ## the files that are made from the table of privilege
	$(CARGO) run --quiet -p manifest --example sysusers > deploy/sysusers.conf

test: build ## everything this user may run; what needs root or a browser is named, not skipped in silence
	deploy/retry target/unstable-test $(CARGO) test --workspace --no-fail-fast --quiet --
	@if [ -x $(BROWSER) ]; then $(MAKE) --no-print-directory test-browser; \
	else echo "NOT RUN: tests of the browser (need Debian's package chromium-headless-shell)"; fi
	@if [ $$(id -u) -ne 0 ]; then echo "NOT RUN as an ordinary user (need root, run 'sudo make test-confined'): tests/confined, and of tests/security and tests/recovery what is ignored"; fi

test-browser: ## needs Debian's package chromium-headless-shell, and fails without
	deploy/retry target/unstable-browser $(CARGO) test --quiet --no-fail-fast -p runner -p tests --test browser --

test-confined: build ## mode system: needs root, and fails without
	@[ $$(id -u) -eq 0 ] || { echo "make test-confined needs root: mode system gives every process its own uid" >&2; exit 1; }
	deploy/retry target/unstable-confined $(CARGO) test --quiet --workspace --no-fail-fast --test confined --test security --test recovery -- --ignored

recipes: ## the recipe of an actor, followed in a copy of the tree; builds all programs once more
	tests/recipes/actor.py

conformance: build ## official SDKs, coding agents and clients of messengers, from their registries; needs python3, node and npm
	PROGRAMS=target/debug tests/conformance/run

# Unoptimised, and without the sentence model and the tests: what a first look needs and `make test` uses again. A second clone
# on the machine takes the programs of the first.
demo:
	@programs=$$(deploy/reuse find) || { \
		$(CARGO) build --workspace --exclude tests --exclude embedder --exclude weights --bins && programs=target/debug && \
		deploy/reuse keep target/debug agentctl $(filter-out embedder,$(PROGRAMS)); } && \
	PROGRAMS=$$programs deploy/demo

run: release
	target/release/agentd run

bench: release
	$(CARGO) run --release --quiet -p tests --bin bench

chaos: release ## a real host under people and faults, and then the laws; as root with a disk that fills and stalls
	$(CARGO) run --release --quiet -p tests --bin chaos -- --faults $(CHAOS_FAULTS) --runs $(CHAOS_RUNS)

eval: release ## how well the judges judge: the scanner on its corpora, the policies on AgentDojo's plans
	$(CARGO) run --release --quiet -p scanner --example eval -- $(CORPORA)
	$(CARGO) run --release --quiet -p scanner --example fit -- $(CORPORA)
	$(CARGO) run --release --quiet -p policy --example agentdojo

# BUILT names a folder of programs that are built already; without it a release is built.
install: $(if $(filter command line,$(origin BUILT)),,release) ## everything that `make uninstall` takes away again
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/cordon $(DESTDIR)/etc/cordon/cred
	install -m 755 $(addprefix $(BUILT)/,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/libexec/cordon/
	install -m 755 $(BUILT)/agentctl $(DESTDIR)$(PREFIX)/bin/
	ln -sf ../libexec/cordon/agentd $(DESTDIR)$(PREFIX)/bin/agentd
	[ -e $(DESTDIR)/etc/cordon/cordon.toml ] || install -m 644 deploy/cordon.toml $(DESTDIR)/etc/cordon/cordon.toml
	install -d $(DESTDIR)$(PREFIX)/share/man/man8 $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 deploy/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8/
	install -m 644 deploy/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -d $(DESTDIR)$(UNITS)
	install -m 644 $(addprefix deploy/,$(SERVICES)) $(DESTDIR)$(UNITS)/
	install -D -m 644 deploy/cordon-user.service $(DESTDIR)$(PREFIX)/lib/systemd/user/cordon.service
	install -D -m 644 deploy/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/cordon.conf
	install -D -m 644 deploy/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/cordon.conf
	for file in $(PLUGINS); do install -D -m 644 deploy/plugins/$$file $(DESTDIR)$(PREFIX)/share/cordon/plugins/$$file || exit; done
	install -d $(DESTDIR)$(PREFIX)/share/cordon/policies
	install -m 644 deploy/policies/* $(DESTDIR)$(PREFIX)/share/cordon/policies/
	install -m 755 deploy/verify/verify.py $(DESTDIR)$(PREFIX)/share/cordon/
	install -d $(DESTDIR)$(PREFIX)/share/cordon/prometheus
	install -m 644 deploy/prometheus/cordon.rules.yml deploy/prometheus/cordon-dashboard.json $(DESTDIR)$(PREFIX)/share/cordon/prometheus/
	for file in $(DOCUMENTS); do install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/doc/cordon/$$file || exit; done
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(COMPLETIONS)))
	$(COMPLETER) completions bash > $(DESTDIR)$(PREFIX)/share/$(word 1,$(COMPLETIONS))
	$(COMPLETER) completions zsh > $(DESTDIR)$(PREFIX)/share/$(word 2,$(COMPLETIONS))
	$(COMPLETER) completions fish > $(DESTDIR)$(PREFIX)/share/$(word 3,$(COMPLETIONS))

# The installed files and nothing else: the configuration and the state stay, since they are not the package's.
uninstall: ## what `make install` put there; `systemctl disable --now cordon` first
	rm -rf $(DESTDIR)$(PREFIX)/libexec/cordon
	rm -f $(DESTDIR)$(PREFIX)/bin/agentd $(DESTDIR)$(PREFIX)/bin/agentctl
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/,$(foreach page,$(MANUALS),man$(subst .,,$(suffix $(page)))/$(page)))
	rm -f $(addprefix $(DESTDIR)$(UNITS)/,$(SERVICES)) $(DESTDIR)$(PREFIX)/lib/systemd/user/cordon.service
	rm -f $(DESTDIR)$(PREFIX)/lib/sysusers.d/cordon.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/cordon.conf
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/,$(COMPLETIONS))
	rm -rf $(DESTDIR)$(PREFIX)/share/cordon $(DESTDIR)$(PREFIX)/share/doc/cordon

deb: $(if $(filter command line,$(origin BUILT)),,release) ## a Debian package, in target/ or at DEB, of VERSION
	deploy/deb/build $(BUILT) $(VERSION) $(DEB)

tarball: $(if $(filter command line,$(origin BUILT)),,release) ## the same files as the package, for other distributions
	deploy/tarball $(BUILT) $(VERSION) $(TARBALL)
