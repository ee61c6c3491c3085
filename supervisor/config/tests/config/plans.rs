//! Right files and what comes of them.

use crate::common::{check, check_in, machine};
use agentd_config::machine::Machine;
use ipc_proto::config::{self, LogFormat, Section, UserRole};
use manifest::Process;
use manifest::command::Mode;
use manifest::settings::{bit, decode};
use serde::de::DeserializeOwned;
use std::os::unix::fs::PermissionsExt;

#[path = "../../../../tests/src/model.rs"]
pub(crate) mod model;

/// The section of a process as that process reads it.
pub(crate) fn section<T: DeserializeOwned>(document: &[u8], process: Process) -> Section<T> {
    serde_json::from_slice(decode(document).unwrap().1.get(process).unwrap()).unwrap()
}

/// Returns true if only a section of the file has the process started.
pub(crate) fn unasked(process: Process) -> bool {
    matches!(process, Process::Embedder | Process::Ingress | Process::Egress | Process::Scheduler)
        || process.is_channel()
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
