//! Every field of a capability does something: each has a test here, or the reason beside it why it needs none.

use super::world::{World, does, policies};
use ipc_proto::capability::{
    Access, Approval, Audit, Capability, Data, Effect, Env, Execution, Labels, Level, Network, NetworkMode,
    Sandbox, Sensitivity,
};
use ipc_proto::label::{Class, Trust};
use policy::Decision::{Allow, Ask, Deny};
use policy::{Catalogue, Decision, Profile, Verdict, result_label};
use serde_json::{Value, json};

fn verdict(capability: Capability, args: Value) -> Verdict {
    World::new(Profile::PowerUser).tool(capability).verdict("tool", args)
}

fn decide(capability: Capability, args: Value) -> Decision {
    verdict(capability, args).decision
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

fn fetching(network: Network) -> Capability {
    Capability { network, effect: Effect::Read, ..Capability::default() }
}

fn goes(network: Network, url: &str) -> Decision {
    decide(fetching(network), json!({"url": url}))
}

// Holds P5-51.
#[test]
fn a_tool_that_declares_nothing_is_refused_and_says_so() {
    let verdict = World::new(Profile::PowerUser).verdict("unheard_of", json!({}));
    assert_eq!(verdict.decision, Deny);
    assert_eq!(verdict.reason, "unheard_of declares no capability");
}

#[test]
fn every_built_in_tool_declares_a_capability_and_nothing_else_does() {
    let catalogue = Catalogue::built_in().unwrap();
    let mut declared: Vec<&str> = catalogue.names().collect();
    let specs = toolset::specs();
    let mut known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    // The requests of a jail's programs, which no model calls, and the tools that the gate gives where they are of use.
    known.extend(["network", "tool_find", "delegate", "collect"]);
    declared.sort_unstable();
    known.sort_unstable();
    assert_eq!(declared, known);
    for spec in &specs {
        let capability = catalogue.get(spec.name).unwrap();
        assert_eq!(capability.execution.sandbox == Sandbox::Container, spec.in_jail, "{}", spec.name);
        let properties = spec.schema["properties"].as_object().unwrap();
        for name in &capability.relevant_args {
            assert!(properties.contains_key(name), "{} has no argument {name}", spec.name);
        }
    }
}

#[test]
fn approval_level() {
    for (level, granted, expected) in [
        (Level::Auto, false, Allow),
        (Level::Ask, false, Ask),
        (Level::Ask, true, Allow),
        (Level::Always, false, Ask),
        (Level::Always, true, Ask),
    ] {
        let capability =
            Capability { approval: Approval { level, ..Approval::default() }, ..does(Effect::Read) };
        let mut world = World::new(Profile::PowerUser).tool(capability);
        if granted {
            let scope = world.verdict("tool", json!({})).scope;
            world.session.grants.insert(scope);
        }
        assert_eq!(world.decide("tool", json!({})), expected, "{level:?} granted {granted}");
    }
}

#[test]
fn approval_danger_patterns_match_in_every_argument_and_exclude_grants() {
    let approval = Approval {
        danger_patterns: strings(&[r"\bformat\b"]),
        trust_after_approval: true,
        ..Approval::default()
    };
    let capability = Capability { approval, ..does(Effect::Read) };
    assert_eq!(decide(capability.clone(), json!({"to": "an information desk"})), Allow);
    for args in
        [json!({"to": "FORMAT c:"}), json!({"deep": [{"er": "please format"}]}), json!({"a": {"format": 1}})]
    {
        let verdict = verdict(capability.clone(), args.clone());
        assert_eq!((verdict.decision, verdict.grantable), (Ask, false), "{args}");
        assert_eq!(policies(&verdict), ["danger"]);
    }
}

#[test]
fn approval_trust_after_approval_is_what_makes_a_grant_possible() {
    for trust in [false, true] {
        let approval = Approval { level: Level::Ask, trust_after_approval: trust, ..Approval::default() };
        assert_eq!(verdict(Capability { approval, ..does(Effect::Read) }, json!({})).grantable, trust);
    }
    assert!(!Approval::default().trust_after_approval, "off unless declared, other than in the seed");
}

#[test]
fn approval_ask_for_methods() {
    let approval = Approval { ask_for_methods: strings(&["POST"]), ..Approval::default() };
    let network = Network { access: Access::Full, ..Network::default() };
    let capability = Capability { approval, ..fetching(network) };
    let with =
        |method: &str| decide(capability.clone(), json!({"url": "https://example.com/", "method": method}));
    assert_eq!((with("GET"), with("POST"), with("post")), (Allow, Ask, Ask));
}

#[test]
fn a_method_that_changes_something_is_no_read_whatever_its_tool_declares() {
    let network = Network { access: Access::Full, ..Network::default() };
    let world = World::new(Profile::Paranoid).tool(fetching(network)).said("https://example.com/");
    let mut world = world;
    world.session.web.allow = strings(&["example.com"]);
    let with = |method: &str| world.decide("tool", json!({"url": "https://example.com/", "method": method}));
    assert_eq!((with("GET"), with("PATCH"), with("DELETE")), (Allow, Ask, Ask));
}

#[test]
fn data_sensitivity_raises_the_class_of_the_output() {
    use Sensitivity::{High, Low, Medium, None, Secret};
    let classes = [
        (None, Class::Public),
        (Low, Class::Public),
        (Medium, Class::Internal),
        (High, Class::Sensitive),
        (Secret, Class::Secret),
    ];
    for (sensitivity, expected) in classes {
        let capability = Capability {
            data: Data { sensitivity, ..Data::default() },
            labels: Labels { output_data_class: Class::Public, ..Labels::default() },
            ..Capability::default()
        };
        assert_eq!(
            result_label("tool", &capability, Class::Public, Option::None).class,
            expected,
            "{sensitivity:?}"
        );
    }
}

#[test]
fn network_access() {
    let url = "https://example.com/";
    let of = |access| Network { access, ..Network::default() };
    assert_eq!(goes(of(Access::Full), url), Allow);
    assert_eq!(goes(of(Access::Limited), url), Deny, "no host is allowed");
    assert!(verdict(fetching(of(Access::None)), json!({"url": url})).reach.is_none(), "nothing is reached");
}

#[test]
fn network_allowed_and_blocked_hosts_and_ports() {
    let network = Network {
        access: Access::Limited,
        allowed_hosts: Some(strings(&["*.example.com", "example.org"])),
        blocked_hosts: strings(&["bad.example.com"]),
        blocked_ports: vec![8443],
        ..Network::default()
    };
    let table = [
        ("https://api.example.com/", Allow),
        ("https://example.org/", Allow),
        ("https://example.net/", Deny),
        ("https://bad.example.com/", Deny),
        ("https://api.example.com:8443/", Deny),
        ("https://api.example.com:9443/", Allow),
        ("ftp://api.example.com/", Deny),
        ("https://user@api.example.com/", Deny),
    ];
    for (url, expected) in table {
        assert_eq!(goes(network.clone(), url), expected, "{url}");
    }
    let reach = verdict(fetching(network), json!({"url": "https://example.org/"})).reach.unwrap();
    assert_eq!(*reach.blocked_ports, [8443], "redirects are held to the same");
}

#[test]
fn network_private_addresses_are_refused_whatever_a_tool_declares() {
    let network = Network {
        access: Access::Full,
        block_private_ips: false,
        block_metadata: false,
        ..Network::default()
    };
    for url in [
        "http://127.0.0.1/",
        "http://10.1.2.3/",
        "http://169.254.169.254/",
        "http://metadata.google.internal/",
    ] {
        assert_eq!(goes(network.clone(), url), Deny, "{url}: only dialer's own table opens such a place");
    }
}

#[test]
fn network_approval_for_unknown_hosts() {
    let network =
        Network { access: Access::Full, require_approval_for_unknown_hosts: true, ..Network::default() };
    let args = json!({"url": "https://example.com/"});
    assert_eq!(policies(&verdict(fetching(network.clone()), args.clone())), ["asks-host"]);
    let named =
        World::new(Profile::PowerUser).tool(fetching(network.clone())).said("get https://example.com/");
    assert_eq!(named.decide("tool", args.clone()), Allow);
    let listed = Network { allowed_hosts: Some(strings(&["example.com"])), ..network };
    assert_eq!(decide(fetching(listed), args), Allow);
}

#[test]
fn execution_sandbox_and_network_mode_say_whether_the_jail_confines() {
    let of = |sandbox, network_mode| {
        let execution = Execution { sandbox, network_mode, ..Execution::default() };
        let capability = Capability { execution, effect: Effect::Write, ..Capability::default() };
        World::new(Profile::Paranoid).tool(capability).untrusted().decide("tool", json!({}))
    };
    assert_eq!(of(Sandbox::Container, NetworkMode::None), Allow);
    assert_eq!(of(Sandbox::Container, NetworkMode::Proxy), Ask, "what would have a network is not confined");
    assert_eq!(of(Sandbox::Container, NetworkMode::Host), Ask);
    assert_eq!(of(Sandbox::Process, NetworkMode::None), Ask);
    assert_eq!(of(Sandbox::None, NetworkMode::None), Ask);
}

#[test]
fn execution_paths() {
    let execution = Execution {
        allowed_paths: Some(strings(&["$WORKSPACE/docs/**"])),
        blocked_paths: strings(&["**/*.key"]),
        ..Execution::default()
    };
    let capability = Capability { execution, effect: Effect::Read, ..Capability::default() };
    let table = [
        ("docs/a.md", Allow),
        ("/workspace/docs/a.md", Allow),
        ("docs/./a.md", Allow),
        ("src/a.md", Deny),
        ("docs/../src/a.md", Deny),
        ("docs/tls.key", Deny),
        ("docs/.ssh/id_rsa", Deny),
        ("/etc/passwd", Deny),
    ];
    for (path, expected) in table {
        assert_eq!(decide(capability.clone(), json!({"path": path})), expected, "{path}");
    }
}

#[test]
fn execution_environment_has_the_named_variables_alone() {
    let of = |env| {
        let execution = Execution { env, allowed_env_vars: strings(&["LANG"]), ..Execution::default() };
        Capability { execution, effect: Effect::Read, ..Capability::default() }
    };
    assert_eq!(decide(of(Env::Explicit), json!({"env": {"LANG": "C"}})), Allow);
    assert_eq!(decide(of(Env::Explicit), json!({"env": {"LD_PRELOAD": "x"}})), Deny);
    // Nothing of the host's environment is ever there to inherit, so a clean one and an inherited one are the same.
    assert_eq!(
        decide(of(Env::Clean), json!({"env": {"X": "1"}})),
        decide(of(Env::Inherit), json!({"env": {"X": "1"}}))
    );
}

#[test]
fn execution_bounds_and_audit_settings_travel_with_the_verdict() {
    let capability = Capability {
        data: Data { sanitize_output: false, ..Data::default() },
        execution: Execution { timeout: 5, max_output_size: 7, ..Execution::default() },
        audit: Audit {
            log_args: false,
            log_output: true,
            use_shared_secret_detector: false,
            alert_on: strings(&["blocked", "asked"]),
        },
        ..Capability::default()
    };
    let handling = verdict(capability, json!({})).handling;
    assert_eq!((handling.timeout_ms, handling.max_output), (5, 7));
    assert!(!handling.sanitize_output && !handling.log_args && handling.log_output);
    assert!(handling.alerts("blocked") && handling.alerts("asked") && !handling.alerts("error"));
}

// Holds P5-05.
#[test]
fn labels_of_output() {
    let labels =
        Labels { output_trust: Trust::Verified, output_data_class: Class::Sensitive, ..Labels::default() };
    let label = result_label("tool", &Capability { labels, ..Capability::default() }, Class::Public, None);
    assert_eq!((label.trust, label.class), (Trust::Verified, Class::Sensitive));
    assert_eq!(label.sources.iter().map(|source| source.as_str()).collect::<Vec<_>>(), ["tool:tool"]);
}

#[test]
fn labels_accepts_untrusted() {
    let labels = Labels { accepts_untrusted: false, ..Labels::default() };
    let world =
        World::new(Profile::PowerUser).tool(Capability { labels, ..does(Effect::Read) }).planned(&["tool"]);
    assert_eq!(world.decide("tool", json!({})), Allow);
    assert_eq!(policies(&world.untrusted().verdict("tool", json!({}))), ["refuses-untrusted"]);
}

// Holds P5-39.
#[test]
fn labels_owner_records_vouch_for_record_args_alone() {
    let records =
        Capability { labels: Labels { owner_records: true, ..Labels::default() }, ..does(Effect::Read) };
    let pay = Capability {
        effect: Effect::Pay,
        relevant_args: strings(&["to", "account"]),
        record_args: strings(&["account"]),
        ..Capability::default()
    };
    let mut world = World::new(Profile::Standard).tool(pay).said("Pay Alice as usual").planned(&["tool"]);
    world.catalogue.declare("book", records).unwrap();
    world.catalogue.declare("mail", does(Effect::Read)).unwrap();
    let label = result_label("book", world.catalogue.get("book").unwrap(), Class::Internal, None);
    let args = json!({"to": "Alice", "account": "GB29NWBK60161331926819"});
    let told = |source: &str| {
        let mut session = world.session.clone();
        session.output(&world.catalogue, source, &label, "Alice has the account GB29NWBK60161331926819");
        let args = args.as_object().unwrap();
        policy::decide(&world.engine, &world.catalogue, &session, &policy::Call { tool: "tool", args })
            .decision
    };
    assert_eq!((told("book"), told("mail")), (Allow, Ask));
}

#[test]
fn irreversible_is_what_the_effect_says_unless_declared() {
    let of = |effect, irreversible| Capability { irreversible, ..does(effect) };
    let decide =
        |capability| World::new(Profile::Standard).tool(capability).decide("tool", json!({"to": "Mallory"}));
    assert_eq!(decide(of(Effect::Write, None)), Allow);
    assert_eq!(decide(of(Effect::Write, Some(true))), Ask);
    assert_eq!(decide(of(Effect::Delete, None)), Ask);
    assert_eq!(decide(of(Effect::Delete, Some(false))), Allow);
}

// Holds P5-75.
#[test]
fn what_cannot_be_taken_back_or_judged_is_marked_in_a_verdict() {
    let declared =
        |effect, irreversible| verdict(Capability { irreversible, ..does(effect) }, json!({"to": "x"}));
    for (effect, irreversible, marked) in [
        (Effect::Write, None, false),
        (Effect::Write, Some(true), true),
        (Effect::Send, None, true),
        (Effect::Pay, Some(false), true),
        (Effect::Delete, Some(false), true),
    ] {
        assert_eq!(declared(effect, irreversible).irreversible, marked, "{effect:?} {irreversible:?}");
    }
    for (tool, args, marked) in [
        ("write", json!({"path": "a.md", "content": "x"}), false),
        ("write", json!({"path": ".ssh/authorized_keys", "content": "x"}), true),
        ("bash", json!({"command": "cat a.md | wc -l >> b.md"}), false),
        ("bash", json!({"command": "sh build.sh"}), true),
        ("bash", json!({"command": "./cat a.md"}), true),
        ("bash", json!({"command": "> a.md"}), true),
        ("bash", json!({"command": "/bin/rm a.md"}), true),
        ("bash", json!({"command": "rm -rf ."}), true),
        ("bash", json!({"command": "$TOOL a.md"}), true),
        ("web_fetch", json!({"url": "https://example.com/?q=all"}), true),
        ("memory_delete", json!({"id": "x"}), true),
        ("unheard_of", json!({}), true),
    ] {
        assert_eq!(
            World::new(Profile::PowerUser).verdict(tool, args.clone()).irreversible,
            marked,
            "{tool} {args}"
        );
    }
}

// Holds B-52.
#[test]
fn a_capability_that_makes_no_sense_is_refused_with_its_field() {
    let bad = [
        (
            Capability {
                approval: Approval { danger_patterns: strings(&["("]), ..Approval::default() },
                ..Capability::default()
            },
            "approval.danger_patterns",
        ),
        (
            Capability {
                approval: Approval { danger_patterns: strings(&["(a{999}){999}"]), ..Approval::default() },
                ..Capability::default()
            },
            "approval.danger_patterns",
        ),
        (
            Capability {
                execution: Execution { blocked_paths: strings(&["a{b"]), ..Execution::default() },
                ..Capability::default()
            },
            "execution.blocked_paths",
        ),
        (
            Capability {
                audit: Audit { alert_on: strings(&["sometimes"]), ..Audit::default() },
                ..Capability::default()
            },
            "audit.alert_on",
        ),
        (Capability { record_args: strings(&["x"]), ..Capability::default() }, "record_args"),
        (
            Capability {
                network: Network { blocked_hosts: vec!["a".to_owned(); 65], ..Network::default() },
                ..Capability::default()
            },
            "network.blocked_hosts",
        ),
    ];
    for (capability, field) in bad {
        let error = Catalogue::built_in().unwrap().with("tool", capability).err().unwrap();
        assert_eq!((error.tool.as_str(), error.field), ("tool", field), "{error}");
    }
}
