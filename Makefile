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
PROGRAMS := agentd agentd-config twin audit dialer credproxy scanner memory web model router gate control runner

.PHONY: build release check test test-confined demo run bench chaos eval install uninstall deny

# Tests and programs in one go: cargo would build every library twice where a test asks one feature more of it.
build:
	$(CARGO) build --workspace --all-targets

release:
	$(CARGO) build --release --workspace --bins

check: ## format, lints, licences and advisories, laws of style
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(MAKE) --no-print-directory deny
	$(CARGO) test --quiet --workspace --test style

deny: ## licences, sources and bans always, from what is on this disk; advisories where their database can be had
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install cargo-deny --locked --quiet --debug
	@$(CARGO) fetch --locked --quiet || echo "crates of other platforms could not be fetched; what is here is checked" >&2
	$(CARGO) deny --offline --workspace check --hide-inclusion-graph bans licenses sources
	@timeout 60 $(CARGO) deny fetch db >/dev/null 2>&1 || true; \
	if ls -d "$${CARGO_HOME:-$$HOME/.cargo}"/advisory-dbs/*/ >/dev/null 2>&1; then \
		$(CARGO) deny --offline --workspace check --hide-inclusion-graph advisories; \
	else echo "NOT CHECKED: advisories. The RustSec database is not on this machine and could not be fetched." >&2; fi

test: build ## everything this user may run; what needs root is named, not skipped in silence
	$(CARGO) test --workspace --quiet
	@if [ $$(id -u) -ne 0 ]; then echo "NOT RUN as an ordinary user (need root, run 'sudo make test-confined'): tests/confined"; fi

test-confined: build ## mode system: needs root, and fails without
	@[ $$(id -u) -eq 0 ] || { echo "make test-confined needs root: mode system gives every process its own uid" >&2; exit 1; }
	$(CARGO) test --quiet --workspace --test confined -- --ignored

demo: release
	deploy/demo

run: release
	target/release/agentd run

bench: release
	$(CARGO) run --release --quiet -p tests --bin bench

chaos: release ## a real host under people and faults, and then the laws; as root with a disk that fills and stalls
	target/release/chaos --faults $(CHAOS_FAULTS) --runs $(CHAOS_RUNS)

eval: release ## how well the judges judge: the scanner on its corpora, the policies on AgentDojo's plans
	$(CARGO) run --release --quiet -p scanner --example eval -- $(CORPORA)
	$(CARGO) run --release --quiet -p scanner --example fit -- $(CORPORA)
	$(CARGO) run --release --quiet -p policy --example agentdojo

install: release
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/cordon $(DESTDIR)/etc/cordon
	install -m 755 $(addprefix target/release/,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/libexec/cordon/
	install -m 755 target/release/agentctl $(DESTDIR)$(PREFIX)/bin/
	ln -sf ../libexec/cordon/agentd $(DESTDIR)$(PREFIX)/bin/agentd
	[ -e $(DESTDIR)/etc/cordon/cordon.toml ] || install -m 644 deploy/cordon.toml $(DESTDIR)/etc/cordon/cordon.toml
	install -d $(DESTDIR)$(PREFIX)/share/man/man8 $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 deploy/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8/
	install -m 644 deploy/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -D -m 644 deploy/cordon.service $(DESTDIR)$(PREFIX)/lib/systemd/system/cordon.service
	install -D -m 644 deploy/cordon-forward.service $(DESTDIR)$(PREFIX)/lib/systemd/system/cordon-forward.service
	install -D -m 644 deploy/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/cordon.conf

uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/libexec/cordon
	rm -f $(DESTDIR)$(PREFIX)/bin/agentd $(DESTDIR)$(PREFIX)/bin/agentctl
	rm -f $(DESTDIR)$(PREFIX)/share/man/man8/{agentd,agentctl}.8 $(DESTDIR)$(PREFIX)/share/man/man5/cordon.toml.5
	rm -f $(DESTDIR)$(PREFIX)/lib/systemd/system/{cordon,cordon-forward}.service $(DESTDIR)$(PREFIX)/lib/sysusers.d/cordon.conf
