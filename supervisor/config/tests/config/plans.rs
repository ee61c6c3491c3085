//! Right files and what comes of them.

use crate::common::{MAILBOX, another_value, check, check_in, machine, mailbox, whatsapp};
use agentd_config::keys;
use agentd_config::machine::Machine;
use ipc_proto::config::{self, LogFormat, Section, UserRole};
use manifest::Process;
use manifest::command::Mode;
use manifest::settings::{bit, decode};
use serde::de::DeserializeOwned;
use std::os::unix::fs::PermissionsExt;

#[path = "../../../../tests/src/model.rs"]
mod model;

/// The section of a process as that process reads it.
pub(crate) fn section<T: DeserializeOwned>(document: &[u8], process: Process) -> Section<T> {
    serde_json::from_slice(decode(document).unwrap().1.get(process).unwrap()).unwrap()
}

/// Returns true if only a section of the file has the process started.
pub(crate) fn unasked(process: Process) -> bool {
    matches!(process, Process::Embedder | Process::Ingress | Process::Egress) || process.is_channel()
}

// Holds B-22, B-45.
#[test]
fn an_empty_file_is_a_whole_host_with_the_default_agent() {
    let document = check("").unwrap().document().unwrap();
    let (settings, sections) = decode(&document).unwrap();
    let started: u32 = Process::ALL.into_iter().skip(1).filter(|process| !unasked(*process)).map(bit).sum();
    assert_eq!((settings.mode, settings.runner_slots, settings.wall_ms), (None, 64, 120_000));
    assert_eq!(settings.disk_reserve, 64);
    assert_eq!(settings.warm_runners, 8);
    assert_eq!(
        (settings.enabled, settings.log_json, settings.rotate_bytes),
        (started, false, 8 << 20),
        "embedder and channels are not there without a section"
    );
    assert_eq!(settings.ids(Process::Audit), Some((780_001, 780_001)));
    assert_eq!(settings.ids(Process::Runner), Some((780_011, 780_011)), "as before there was a gateway");
    assert_eq!(settings.ids(Process::Gateway), Some((780_012, 780_012)));
    assert_eq!(settings.ids(Process::Curator), Some((780_014, 780_014)));
    assert_eq!(settings.ids(Process::Embedder), Some((780_015, 780_015)));
    assert_eq!(
        (settings.slot(0), settings.slot(63), settings.slot(64)),
        (Some(780_064), Some(780_127), None)
    );
    assert!(sections.get(Process::Runner).is_none());

    let audit: Section<config::Audit> = section(&document, Process::Audit);
    assert_eq!((audit.log.format, audit.log.level.as_str()), (LogFormat::Text, "info"));
    assert_eq!(audit.own, config::Audit::DEFAULT);
    let _: Section<config::NoKeys> = section(&document, Process::Scanner);
    let dialer: Section<config::Dialer> = section(&document, Process::Dialer);
    assert_eq!(dialer.own, config::Dialer::default());
    let proxy: Section<config::Credproxy> = section(&document, Process::Credproxy);
    assert_eq!(proxy.own, config::Credproxy::default());
    let memory: Section<config::Memory> = section(&document, Process::Memory);
    assert_eq!(memory.own.max_rows, 100_000);
    let web: Section<config::Web> = section(&document, Process::Web);
    assert_eq!(web.own, config::Web::default());
    let model: Section<config::Model> = section(&document, Process::Model);
    assert_eq!(model.own, config::Model::default());
    let gateway: Section<config::Gateway> = section(&document, Process::Gateway);
    assert_eq!((settings.listen, gateway.own.listen), (None, None));
    assert_eq!((gateway.own.hosts.len(), gateway.own.origins.len(), gateway.own.max_body), (0, 0, 8 << 20));
    let control: Section<config::Control> = section(&document, Process::Control);
    assert_eq!((control.own.state_dir.as_str(), control.own.owner_uid), ("/var/lib/cordon", 1000));
    assert_eq!(control.own.file, "/etc/cordon/cordon.toml");
    let router: Section<config::Router> = section(&document, Process::Router);
    let own = &router.own;
    assert_eq!(
        (own.owner_uid, own.queue_per_session, own.queue_total, own.turns_at_once),
        (1000, 32, 4096, 8)
    );
    let gate: Section<config::Gate> = section(&document, Process::Gate);
    assert_eq!(gate.own.agents, own.agents);
    assert_eq!((gate.own.web, gate.own.tools.len()), (config::WebReach::default(), 0));
    let policy =
        config::Policy { contacts: Vec::new(), approval_seconds: 300, autonomy: config::Autonomy::Full };
    assert_eq!(gate.own.policy, policy);
    assert_eq!((gate.own.relay.requests_per_minute, gate.own.relay.streams_per_key), (600, 64));
}

#[test]
fn the_default_agent_reads_offline_with_every_guard_and_bound() {
    let document = check("").unwrap().document().unwrap();
    let router: Section<config::Router> = section(&document, Process::Router);
    let default = &router.own.agents["default"];
    assert_eq!(
        (default.model.as_str(), default.profile.as_str(), default.tools.len()),
        ("offline/reader", "paranoid", 15)
    );
    assert_eq!((default.memory, default.memory_tokens), (false, 4000));
    let limits = default.limits;
    assert_eq!((limits.tool_calls, limits.tool_failures, limits.seconds), (50, 3, 120));
    assert_eq!(limits.cpu_seconds, 60);
    assert_eq!((limits.output_tokens, limits.model_calls_per_hour, limits.same_call), (4096, 600, 3));
}

#[test]
fn an_empty_file_has_the_curator_compress_and_ask_no_model() {
    let document = check("").unwrap().document().unwrap();
    let curator: Section<config::Curator> = section(&document, Process::Curator);
    let own = curator.own;
    assert_eq!((own.model, own.embedder, own.compression_enabled), (None, None, true));
    assert_eq!((own.max_tokens_per_compression, own.batch_size, own.batch_interval_ms), (1024, 5, 30_000));
    assert_eq!((own.conflict_low, own.conflict_high, own.resolve_conflicts), (700_000, 920_000, false));
}

/// A file that says something to everybody.
const FULL: &[u8] = b"
        log = { format = 'json', level = 'warn', levels = { gate = 'trace' } }
        [[user]]
        name = 'ada'
        role = 'owner'
        uids = [1000]
        channels = ['telegram:1234']
        [agent.helper]
        model = 'corp/gpt-4.1'
        prompt_file = 'prompt.md'
        tools = ['read']
        limits = { seconds = 600 }
        [provider.corp]
        base_url = 'https://api.example.com/v1/'
        secret = 'CORP_KEY'
        models.'gpt-4.1' = { output = 8192 }
        [provider.local]
        base_url = 'http://127.0.0.1:8080/v1'
        models.small = {}
        [credproxy]
        plain_http = ['127.0.0.1:8080']
        hosts = ['hooks.example.com:443', 'api.example.com:443']
    ";

/// Its document.
fn full() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("prompt.md"), "Be brief.").unwrap();
    check_in(folder.path(), FULL, &machine()).unwrap().document().unwrap()
}

#[test]
fn router_and_gate_are_handed_users_and_agents_with_their_prompts() {
    let document = full();
    let settings = decode(&document).unwrap().0;
    assert!(settings.log_json);
    assert_eq!(settings.wall_ms, 600_000, "the longest turn of any agent");

    let gate: Section<config::Gate> = section(&document, Process::Gate);
    let router: Section<config::Router> = section(&document, Process::Router);
    assert_eq!((gate.log.level.as_str(), router.log.level.as_str()), ("trace", "warn"));
    assert_eq!(gate.own.agents.keys().collect::<Vec<_>>(), ["default", "helper"]);
    assert_eq!(gate.own.agents["helper"].prompt, "Be brief.");
    assert_eq!(gate.own.agents["helper"].tools, ["read"]);
    let ada = config::User {
        name: "ada".to_owned(),
        uids: vec![1000],
        role: UserRole::Owner,
        identities: vec!["telegram:1234".to_owned()],
    };
    assert_eq!(router.own.users, [ada]);
}

#[test]
fn model_is_handed_providers_and_dialer_their_hosts_alone() {
    let document = full();
    let model: Section<config::Model> = section(&document, Process::Model);
    let corp = &model.own.providers["corp"];
    assert_eq!(
        (corp.base_url.as_str(), corp.secret.as_deref()),
        ("https://api.example.com/v1", Some("CORP_KEY"))
    );
    let written = config::ProviderModel {
        context: 128_000,
        output: 8192,
        tools: true,
        vision: false,
        embeds: false,
        sampling: true,
        forced: true,
        prices: None,
        long: None,
    };
    assert_eq!((corp.kind, corp.models["gpt-4.1"]), (config::ProviderKind::Openai, written));
    let free = Some(config::Prices::default());
    assert_eq!(model.own.providers["local"].models["small"].prices, free, "this machine's");
    assert_eq!(model.own.providers["local"].secret, None);
    let dialer: Section<config::Dialer> = section(&document, Process::Dialer);
    assert_eq!(
        dialer.own.credproxy_hosts,
        ["127.0.0.1:8080", "api.example.com:443", "hooks.example.com:443"]
    );
    assert_eq!(dialer.own.loopback_hosts, ["127.0.0.1:8080"]);
    let proxy: Section<config::Credproxy> = section(&document, Process::Credproxy);
    assert_eq!(proxy.own.plain_http, ["127.0.0.1:8080"]);

    let secret = b"CORP_KEY".as_slice();
    assert_eq!(proxy.own.model_secrets, ["CORP_KEY"]);
    for process in Process::ALL.into_iter().filter(|p| !matches!(p, Process::Model | Process::Credproxy)) {
        let part = decode(&document).unwrap().1.get(process).unwrap_or_default();
        assert!(!part.windows(secret.len()).any(|bytes| bytes == secret), "{}", process.name());
    }
}

// Holds P5-18.
#[test]
fn a_local_model_has_its_own_process_and_a_name_from_its_files() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let model = folder.path().join("m");
    let own = "memory.embedder = 'local'\nembedder.folder = 'm'";
    let mut names = Vec::new();
    for seed in [7, 8, 7] {
        model::write(&model, seed).unwrap();
        let plan = check_in(folder.path(), own.as_bytes(), &machine()).unwrap();
        let document = plan.document().unwrap();
        assert!(decode(&document).unwrap().0.enabled(Process::Embedder));
        let embedder: Section<config::Embedder> = section(&document, Process::Embedder);
        assert_eq!((embedder.own.folder, embedder.own.idle_seconds), (model.display().to_string(), 600));
        let name = embedder.own.name;
        for embedder in [
            section::<config::Memory>(&document, Process::Memory).own.embedder,
            section::<config::Curator>(&document, Process::Curator).own.embedder,
            section::<config::Control>(&document, Process::Control).own.finding.embedder,
            section::<config::Gate>(&document, Process::Gate).own.finding.embedder,
        ] {
            assert_eq!(embedder.as_deref(), Some(name.as_str()));
        }
        names.push(name);
    }
    assert!(names[0].starts_with("local:") && names[0] == names[2] && names[0] != names[1], "{names:?}");
    let unused = check_in(folder.path(), b"memory.provider = 'none'\nembedder.folder = 'm'", &machine());
    assert!(!unused.unwrap().settings().enabled(Process::Embedder));
}

#[test]
fn a_model_that_a_process_with_an_id_of_its_own_could_not_read_is_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    model::write(&folder.path().join("m"), 7).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let said = |machine| check_in(folder.path(), b"embedder.folder = 'm'", &machine).map(|_| ());
    let refused = said(machine()).unwrap_err();
    assert!(refused.contains("embedder, which has an id of its own, may not read"), "{refused}");
    assert_eq!(said(Machine { root: false, ..machine() }), Ok(()));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(said(machine()), Ok(()));
    let file = folder.path().join("m/vocab.txt");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
    assert!(said(machine()).unwrap_err().contains("m/vocab.txt"));
    let below = check_in(folder.path(), b"embedder.folder = '/tmp/m'", &machine()).unwrap_err();
    assert!(below.contains("below /tmp"), "{below}");
}

#[test]
fn defaults_give_way_to_what_is_written() {
    let plan = check("host.runner_slots = 4\nrouter.queue_total = 8").unwrap();
    assert_eq!((plan.router.turns_at_once, plan.router.queue_per_session), (4, 8));
    for (word, mode) in [
        ("auto", None),
        ("system", Some(Mode::System)),
        ("user", Some(Mode::User)),
        ("flat", Some(Mode::Flat)),
    ] {
        assert_eq!(check(&format!("host.mode = '{word}'")).unwrap().settings().mode, mode);
    }
}

// Holds B-12.
#[test]
fn turns_that_wait_for_a_person_have_the_slots_beside_those_that_run() {
    for (slots, at_once, asking) in [(64, 8, 24), (20, 8, 12), (9, 8, 1), (8, 8, 0), (1, 1, 0)] {
        let plan = check(&format!("host.runner_slots = {slots}")).unwrap();
        assert_eq!((plan.router.turns_at_once, plan.router.turns_asking), (at_once, asking), "{slots}");
    }
}

// Holds B-45.
#[test]
#[expect(clippy::too_many_lines, reason = "a line for each key")]
fn every_key_of_the_table_is_read_and_changes_something() {
    // Not below /tmp, and open to all: processes with ids of their own are to read the model.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    model::write(&folder.path().join("m"), 7).unwrap();
    std::fs::write(folder.path().join("p"), "x").unwrap();
    let provider = "provider.q = { base_url = 'https://a.b', models.m = {} }\n";
    let cases = [
        ("host.mode", "host.mode = 'flat'"),
        ("host.time_zone", "host.time_zone = 'Europe/Berlin'"),
        ("agent.NAME.network.mode", "agent.default.network.mode = 'proxy'"),
        ("agent.NAME.network.allow", "agent.default.network = { mode = 'proxy', allow = ['a.b:443'] }"),
        ("agent.NAME.network.packages", "agent.default.network = { mode = 'proxy', packages = ['pypi'] }"),
        ("egress.private_hosts", "egress.private_hosts = ['a.lan:443']"),
        (
            "egress.authorities_file",
            "agent.default.network.mode = 'proxy'\negress.authorities_file = '/etc/hostname'",
        ),
        ("host.uid_base", "host.uid_base = 900000"),
        ("host.runner_slots", "host.runner_slots = 9"),
        ("log.levels.PROCESS", "log.levels.audit = 'debug'"),
        ("user[].name", "user = [{ name = 'b', role = 'user' }]"),
        ("user[].role", "user = [{ name = 'a', role = 'guest' }]"),
        ("user[].uids", "user = [{ name = 'a', role = 'user', uids = [1] }]"),
        ("user[].channels", "user = [{ name = 'a', role = 'user', channels = ['t:1'] }]"),
        ("agent.NAME.model", "agent.default.model = 'offline/hijackable'"),
        ("agent.NAME.prompt_file", "agent.default.prompt_file = 'p'"),
        ("agent.NAME.tools", "agent.default.tools = []"),
        ("agent.NAME.profile", "agent.default.profile = 'standard'"),
        ("agent.NAME.own_words", "agent.default.own_words = 'block'"),
        ("agent.NAME.memory", "agent.default.memory = true"),
        ("agent.NAME.memory_tokens", "agent.default.memory_tokens = 500"),
        ("agent.NAME.engine", "agent.default.engine = 'codex'"),
        ("agent.NAME.limits.tool_calls", "agent.default.limits.tool_calls = 1"),
        ("agent.NAME.limits.tool_failures", "agent.default.limits.tool_failures = 1"),
        ("agent.NAME.limits.seconds", "agent.default.limits.seconds = 1"),
        ("agent.NAME.limits.cpu_seconds", "agent.default.limits.cpu_seconds = 1"),
        ("agent.NAME.limits.run_seconds", "agent.default.limits.run_seconds = 1"),
        ("agent.NAME.limits.run_cpu_seconds", "agent.default.limits.run_cpu_seconds = 1"),
        (
            "agent.NAME.limits.idle_seconds",
            "agent.default = { engine = 'codex', limits = { idle_seconds = 7 } }",
        ),
        ("agent.NAME.limits.output_tokens", "agent.default.limits.output_tokens = 256"),
        ("agent.NAME.limits.model_calls_per_hour", "agent.default.limits.model_calls_per_hour = 1"),
        ("agent.NAME.limits.same_call", "agent.default.limits.same_call = 1"),
        ("agent.NAME.limits.day_usd", "agent.default.limits.day_usd = 1"),
        ("engine.NAME.command", "agent.default.engine = 'e'\nengine.e.command = ['y']"),
        (
            "engine.NAME.resume",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], resume = ['{token}'] }",
        ),
        (
            "engine.NAME.format",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], format = 'codex' }",
        ),
        (
            "engine.NAME.input",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], format = 'claude-code', input = 'stream-json' }",
        ),
        (
            "engine.NAME.profile",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], profile = 'codex' }",
        ),
        ("engine.NAME.keeps", "agent.default.engine = 'e'\nengine.e = { command = ['x'], keeps = ['.x/y'] }"),
        ("provider.NAME.kind", "provider.p = { base_url = 'https://a.b', models.m = {}, kind = 'none' }"),
        ("provider.NAME.base_url", "provider.p = { base_url = 'https://a.c', models.m = {} }"),
        ("provider.NAME.secret", "provider.p = { base_url = 'https://a.b', models.m = {}, secret = 's' }"),
        (
            "provider.NAME.models.MODEL.context",
            "provider.p = { base_url = 'https://a.b', models.m.context = 5000 }",
        ),
        (
            "provider.NAME.models.MODEL.output",
            "provider.p = { base_url = 'https://a.b', models.m.output = 5000 }",
        ),
        (
            "provider.NAME.models.MODEL.tools",
            "provider.p = { base_url = 'https://a.b', models.m.tools = false }",
        ),
        (
            "provider.NAME.models.MODEL.vision",
            "provider.p = { base_url = 'https://a.b', models.m.vision = true }",
        ),
        (
            "provider.NAME.models.MODEL.embeds",
            "provider.p = { base_url = 'https://a.b', models.m.embeds = true }",
        ),
        (
            "provider.NAME.models.MODEL.sampling",
            "provider.p = { base_url = 'https://a.b', models.m.sampling = false }",
        ),
        (
            "provider.NAME.models.MODEL.forced",
            "provider.p = { base_url = 'https://a.b', models.m.forced = false }",
        ),
        (
            "provider.NAME.models.MODEL.input_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 1, output_usd = 0 } }",
        ),
        (
            "provider.NAME.models.MODEL.output_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 0, output_usd = 1.5 } }",
        ),
        (
            "provider.NAME.models.MODEL.cache_read_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 0, output_usd = 0, cache_read_usd = 1 } }",
        ),
        (
            "provider.NAME.models.MODEL.cache_write_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 0, output_usd = 0, cache_write_usd = 1 } }",
        ),
        ("credproxy.key", "credproxy.key = 'passphrase'"),
        ("credproxy.plain_http", "credproxy.plain_http = ['localhost:80']"),
        ("credproxy.hosts", "credproxy.hosts = ['a.b:443']"),
        ("memory.ignored_tools", "memory.ignored_tools = ['TodoWrite']"),
        ("memory.sensitive_patterns", "memory.sensitive_patterns = ['AB-[0-9]+']"),
        ("memory.embedder", "memory.embedder = 'offline/hash-384'"),
        ("memory.rerank", "memory.rerank = true\ncurator.model = 'offline/reader'"),
        ("embedder.folder", "embedder.folder = 'm'"),
        ("embedder.idle_seconds", "embedder = { folder = 'm', idle_seconds = 60 }"),
        ("router.queue_total", "router.queue_total = 100"),
        ("channel.NAME.platform", "channel.c = { platform = 'telegram', secret = 's' }"),
        ("channel.NAME.secret", "channel.c = { platform = 'telegram', secret = 't' }"),
        (
            "channel.NAME.base_url",
            "channel.c = { platform = 'telegram', secret = 's', base_url = 'https://a.b' }",
        ),
        (
            "channel.NAME.agent",
            "agent.b = {}\nchannel.c = { platform = 'telegram', secret = 's', agent = 'b' }",
        ),
        ("channel.NAME.dm", "channel.c = { platform = 'telegram', secret = 's', dm = 'pairing' }"),
        (
            "channel.NAME.open_to",
            "channel.c = { platform = 'telegram', secret = 's', dm = 'open', open_to = 'everyone' }",
        ),
        ("channel.NAME.allow", "channel.c = { platform = 'telegram', secret = 's', allow = ['7'] }"),
        ("channel.NAME.groups", "channel.c = { platform = 'telegram', secret = 's', groups = ['-1'] }"),
        ("channel.NAME.members", "channel.c = { platform = 'telegram', secret = 's', members = true }"),
        (
            "channel.NAME.require_mention",
            "channel.c = { platform = 'telegram', secret = 's', require_mention = false }",
        ),
        (
            "channel.NAME.dm_session",
            "channel.c = { platform = 'telegram', secret = 's', dm_session = 'shared' }",
        ),
        ("channel.NAME.trust", "channel.c = { platform = 'telegram', secret = 's', trust = 'user' }"),
        (
            "channel.NAME.guest_messages",
            "channel.c = { platform = 'telegram', secret = 's', guest_messages = 1 }",
        ),
        ("channel.NAME.approve", "channel.c = { platform = 'telegram', secret = 's', approve = 'own' }"),
        (
            "channel.NAME.approve_code",
            "channel.c = { platform = 'telegram', secret = 's', approve_code = 'totp' }",
        ),
        ("channel.NAME.streaming", "channel.c = { platform = 'telegram', secret = 's', streaming = 'off' }"),
        ("channel.NAME.typing", "channel.c = { platform = 'telegram', secret = 's', typing = false }"),
        ("channel.NAME.app_secret", "channel.s = { platform = 'slack', secret = 's', app_secret = 'a' }"),
        ("ingress.listen", &whatsapp("7", "").replace(":9", ":10")),
        ("channel.NAME.number", &whatsapp("8", "")),
        ("channel.NAME.verify_secret", &whatsapp("7", "").replace("'v'", "'w'")),
        ("channel.NAME.address", &mailbox("b@b.c", "")),
        ("channel.NAME.imap", &mailbox(MAILBOX, "").replace("b.c:993", "b.d:993")),
        ("channel.NAME.smtp", &mailbox(MAILBOX, "").replace("b.c:465", "b.d:465")),
        ("channel.NAME.login", &mailbox(MAILBOX, ", login = 'ann'")),
        ("channel.NAME.authserv", &mailbox(MAILBOX, ", authserv = 'mx.b.c'")),
        ("service.NAME.base_url", "service.q = { base_url = 'https://a.c' }"),
        ("service.NAME.secret", "service.q = { base_url = 'https://a.b', secret = 't' }"),
        ("service.NAME.oauth", "service.q = { base_url = 'https://a.b', secret = 's', oauth = true }"),
        ("service.NAME.header", "service.q = { base_url = 'https://a.b', secret = 's', header = 'x-key' }"),
        ("service.NAME.prefix", "service.q = { base_url = 'https://a.b', secret = 's', prefix = 'Token ' }"),
        ("service.NAME.query", "service.q = { base_url = 'https://a.b', secret = 's', query = 'key' }"),
        ("service.NAME.field", "service.q = { base_url = 'https://a.b', secret = 's', field = 'key' }"),
        ("service.NAME.verbs", "service.q = { base_url = 'https://a.b', secret = 's', verbs = ['GET'] }"),
        ("service.NAME.paths", "service.q = { base_url = 'https://a.b', secret = 's', paths = ['/x'] }"),
        (
            "service.NAME.agents",
            "service.q = { base_url = 'https://a.b', secret = 's', agents = ['default'] }",
        ),
        (
            "service.NAME.description",
            "service.q = { base_url = 'https://a.b', secret = 's', description = 'd' }",
        ),
        (
            "service.NAME.idempotency_header",
            "service.q = { base_url = 'https://a.b', secret = 's', idempotency_header = 'k' }",
        ),
        ("model.route.default", "model.route.default = ['offline/reader']"),
        ("model.route.fast", "model.route.fast = ['offline/reader']"),
        ("model.route.thinking", "model.route.thinking = ['offline/reader']"),
        ("model.route.coding", "model.route.coding = ['offline/reader']"),
        ("model.temperature", "model.temperature = 0.7"),
        ("model.stop", "model.stop = ['END']"),
        ("budget.day_usd", "budget.day_usd = 1.5"),
        ("budget.month_usd", "budget.month_usd = 1"),
        ("budget.session_usd", "budget.session_usd = 1"),
        ("budget.agent_usd", "budget.agent_usd = 1"),
        ("budget.cheaper_model", "budget.cheaper_model = 'offline/reader'"),
        ("budget.warn_at", "budget.warn_at = 0.5"),
        ("web.mode", "web.mode = 'unrestricted'"),
        ("web.allow", "web.allow = ['a.b']"),
        ("web.block", "web.block = ['a.b']"),
        ("web.private_hosts", "web.private_hosts = ['127.0.0.1:80']"),
        ("credproxy.private_hosts", "credproxy.private_hosts = ['10.0.0.9:443']"),
        ("web.search.provider", "web.search = { provider = 'searxng', base_url = 'https://a.b' }"),
        (
            "web.search.base_url",
            "web.search = { provider = 'brave', secret = 's', base_url = 'https://a.b' }",
        ),
        ("web.search.secret", "web.search = { provider = 'brave', secret = 't' }"),
        ("policy.contacts", "policy.contacts = ['ada@example.com']"),
        ("curator.model", "curator.model = 'offline/reader'"),
        ("curator.conflict_low", "curator.conflict_low = 0.5"),
        ("curator.conflict_high", "curator.conflict_high = 0.95"),
        ("gateway.listen", "gateway.listen = '127.0.0.1:80'"),
        ("gateway.origins", "gateway.origins = ['https://a.b']"),
        ("gateway.hosts", "gateway.hosts = ['a.b']"),
        ("audit.retention_days.info", "audit.retention_days.info = 31"),
        ("audit.retention_days.warning", "audit.retention_days.warning = 91"),
        ("audit.retention_days.error", "audit.retention_days.error = 366"),
        ("tool.TOOL.effect", "tool.t.effect = 'pay'"),
        ("tool.TOOL.relevant_args", "tool.t.relevant_args = ['to']"),
        ("tool.TOOL.record_args", "tool.t = { relevant_args = ['to'], record_args = ['to'] }"),
        ("tool.TOOL.irreversible", "tool.t.irreversible = true"),
        ("tool.TOOL.approval.level", "tool.t.approval.level = 'always'"),
        ("tool.TOOL.approval.danger_patterns", "tool.t.approval.danger_patterns = ['rm -rf']"),
        ("tool.TOOL.approval.trust_after_approval", "tool.t.approval.trust_after_approval = true"),
        ("tool.TOOL.approval.ask_for_methods", "tool.t.approval.ask_for_methods = ['PUT']"),
        ("tool.TOOL.data.sensitivity", "tool.t.data.sensitivity = 'high'"),
        ("tool.TOOL.data.can_read_secrets", "tool.t.data.can_read_secrets = true"),
        ("tool.TOOL.data.can_leak_data", "tool.t.data.can_leak_data = true"),
        ("tool.TOOL.data.sanitize_output", "tool.t.data.sanitize_output = false"),
        ("tool.TOOL.network.access", "tool.t.network.access = 'full'"),
        ("tool.TOOL.network.allowed_hosts", "tool.t.network.allowed_hosts = []"),
        ("tool.TOOL.network.blocked_hosts", "tool.t.network.blocked_hosts = ['*.b']"),
        ("tool.TOOL.network.blocked_ports", "tool.t.network.blocked_ports = [22]"),
        ("tool.TOOL.network.block_private_ips", "tool.t.network.block_private_ips = false"),
        ("tool.TOOL.network.block_metadata", "tool.t.network.block_metadata = false"),
        (
            "tool.TOOL.network.require_approval_for_unknown_hosts",
            "tool.t.network.require_approval_for_unknown_hosts = true",
        ),
        ("tool.TOOL.execution.sandbox", "tool.t.execution.sandbox = 'none'"),
        ("tool.TOOL.execution.network_mode", "tool.t.execution.network_mode = 'proxy'"),
        ("tool.TOOL.execution.timeout", "tool.t.execution.timeout = 1"),
        ("tool.TOOL.execution.max_output_size", "tool.t.execution.max_output_size = 1"),
        ("tool.TOOL.execution.allowed_paths", "tool.t.execution.allowed_paths = ['docs/**']"),
        ("tool.TOOL.execution.blocked_paths", "tool.t.execution.blocked_paths = ['*.key']"),
        ("tool.TOOL.execution.env", "tool.t.execution.env = 'explicit'"),
        ("tool.TOOL.execution.allowed_env_vars", "tool.t.execution.allowed_env_vars = ['HOME']"),
        ("tool.TOOL.audit.log_args", "tool.t.audit.log_args = false"),
        ("tool.TOOL.audit.log_output", "tool.t.audit.log_output = true"),
        ("tool.TOOL.audit.use_shared_secret_detector", "tool.t.audit.use_shared_secret_detector = false"),
        ("tool.TOOL.audit.alert_on", "tool.t.audit.alert_on = ['blocked']"),
        ("tool.TOOL.labels.output_trust", "tool.t.labels.output_trust = 'user'"),
        ("tool.TOOL.labels.output_data_class", "tool.t.labels.output_data_class = 'public'"),
        ("tool.TOOL.labels.accepts_untrusted", "tool.t.labels.accepts_untrusted = false"),
        ("tool.TOOL.labels.owner_records", "tool.t.labels.owner_records = true"),
    ];
    let plan = |text: &str| check_in(folder.path(), text.as_bytes(), &machine()).unwrap().document().unwrap();
    for (path, text) in cases {
        // A value in a table that must have other keys is compared with the same table without it.
        let base = match path.split('.').next().unwrap() {
            "user[]" => "user = [{ name = 'a', role = 'user' }]".to_owned(),
            "engine" => "agent.default.engine = 'e'\nengine.e.command = ['x']".to_owned(),
            "agent" if path == "agent.NAME.limits.idle_seconds" => {
                "agent.default.engine = 'codex'".to_owned()
            }
            "provider" => provider.replace('q', "p"),
            "embedder" if path == "embedder.idle_seconds" => "embedder.folder = 'm'".to_owned(),
            "channel" if path == "channel.NAME.platform" => String::new(),
            "channel" if path == "channel.NAME.agent" => {
                "agent.b = {}\nchannel.c = { platform = 'telegram', secret = 's' }".to_owned()
            }
            _ if text.contains("'whatsapp'") => whatsapp("7", ""),
            "channel" if path == "channel.NAME.app_secret" => String::new(),
            "channel" if text.contains("'email'") => mailbox(MAILBOX, ""),
            "channel" => "channel.c = { platform = 'telegram', secret = 's' }".to_owned(),
            "service" => "service.q = { base_url = 'https://a.b', secret = 's' }".to_owned(),
            "web" if path.starts_with("web.search.") && path != "web.search.provider" => {
                "web.search = { provider = 'brave', secret = 's' }".to_owned()
            }
            "tool" if path == "tool.TOOL.record_args" => "tool.t.relevant_args = ['to']".to_owned(),
            "tool" => "[tool.t]".to_owned(),
            _ => String::new(),
        };
        assert_ne!(plan(text), plan(&base), "{path}");
    }
    for (path, _) in cases {
        assert!(keys::find(path).is_some(), "{path} is no key");
    }
    for key in
        keys::all().filter(|key| key.path != "version" && cases.iter().all(|(path, _)| *path != key.path))
    {
        let text = another_value(key).unwrap_or_else(|| panic!("give {} a value", key.path));
        assert_ne!(plan(&format!("{} = {text}", key.path)), plan(""), "{}", key.path);
    }
}
