//! Right files: what models may cost and what may be reached of the web.

use crate::common::check;
use crate::plans::section;
use ipc_proto::config::{self, Section};
use manifest::Process;

// Holds B-65.
#[test]
fn routes_and_budgets_reach_model_exactly_and_a_task_serves_as_a_model() {
    let text = "
        [agent.default]
        model = 'fast'
        limits.day_usd = 0.25
        [model]
        temperature = 0.7
        route.default = ['scripted/a', 'offline/reader']
        [budget]
        day_usd = 2.5
        at_limit = 'cheaper'
        cheaper_model = 'offline/reader'
        unpriced = 'allow'
    ";
    let document = check(text).unwrap().document().unwrap();
    let model: Section<config::Model> = section(&document, Process::Model);
    let config::Asking { route, temperature, .. } = model.own.asking;
    let chain = ["scripted/a", "offline/reader"].map(str::to_owned).to_vec();
    assert_eq!((route, temperature), ([("default".to_owned(), chain)].into(), Some(700)));
    let budget = config::Budget {
        day: Some(2_500_000),
        agents: [("default".to_owned(), 250_000)].into(),
        at_limit: config::AtLimit::Cheaper,
        cheaper_model: Some("offline/reader".to_owned()),
        unpriced: true,
        ..config::Budget::default()
    };
    assert_eq!(model.own.budget, budget);
    for wrong in [
        "agent.default.model = 'fast'",
        "model.route.fast = ['offline/none']",
        "model.route.fast = ['fast']",
        "model.route.fast = ['offline/reader', 'offline/reader']",
        "budget.at_limit = 'cheaper'",
        "budget.cheaper_model = 'none/x'",
        "budget.day_usd = -1",
        "budget.warn_at = 1.5",
    ] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_web_is_told_to_each_process_as_far_as_it_concerns_it() {
    let text = "
        [web]
        mode = 'allowlist'
        allow = ['*.example.com']
        private_hosts = ['127.0.0.1:8080', 'wiki.lan:80']
        [web.search]
        provider = 'tavily'
        secret = 'TAVILY'
        [policy]
        contacts = ['ada@example.com', 'DE89 3704']
        approval_seconds = 60
        autonomy = 'supervised'
        [tool.'mail.send']
        effect = 'send'
        relevant_args = ['to']
        data.can_leak_data = true
    ";
    let document = check(text).unwrap().document().unwrap();
    let private = ["127.0.0.1:8080", "wiki.lan:80"];
    let web: Section<config::Web> = section(&document, Process::Web);
    assert_eq!(
        (&web.own.private_hosts[..], web.own.search.secret.as_deref()),
        (&private.map(str::to_owned)[..], Some("TAVILY"))
    );
    let dialer: Section<config::Dialer> = section(&document, Process::Dialer);
    assert_eq!(dialer.own.web_private_hosts, private);
    assert_eq!(dialer.own.credproxy_hosts, ["api.tavily.com:443"]);
    let proxy: Section<config::Credproxy> = section(&document, Process::Credproxy);
    assert_eq!(proxy.own.web_secret.as_deref(), Some("TAVILY"));
    let gate: Section<config::Gate> = section(&document, Process::Gate);
    assert_eq!(gate.own.web.mode, Some(ipc_proto::web::Mode::Allowlist));
    assert_eq!(
        (&gate.own.web.allow[..], &gate.own.web.private_hosts[..]),
        (&["*.example.com".to_owned()][..], &private.map(str::to_owned)[..])
    );
    assert_eq!(gate.own.policy.contacts, ["ada@example.com", "DE89 3704"]);
    assert_eq!(
        (gate.own.policy.approval_seconds, gate.own.policy.autonomy),
        (60, config::Autonomy::Supervised)
    );
    let mut mail = ipc_proto::capability::Capability {
        effect: ipc_proto::capability::Effect::Send,
        relevant_args: vec!["to".to_owned()],
        ..Default::default()
    };
    mail.data.can_leak_data = true;
    assert_eq!(gate.own.tools, [("mail.send".to_owned(), mail)].into());
}

// Holds P3-42.
#[test]
fn an_agent_sees_its_models_abilities_a_task_any_and_an_engine_none() {
    let text = "
        [agent.a]
        model = 'corp/eyes'
        [agent.b]
        model = 'corp/blind'
        [agent.c]
        model = 'fast'
        [agent.d]
        model = 'coding'
        [agent.e]
        model = 'corp/eyes'
        engine = 'codex'
        [model.route]
        default = ['corp/blind', 'corp/eyes']
        coding = ['corp/blind']
        [provider.corp]
        base_url = 'https://api.example.com/v1'
        models.eyes.vision = true
        models.blind = {}
    ";
    let agents = check(text).unwrap().router.agents;
    let seeing: Vec<&str> = agents.iter().filter(|(_, it)| it.sees).map(|(name, _)| name.as_str()).collect();
    assert_eq!(seeing, ["a", "c"]);
}

// Holds P4-35.
#[test]
fn a_private_host_that_is_listed_may_be_a_service_over_tls_alone() {
    let with = |url: &str| {
        format!(
            "[service.s]\nbase_url = '{url}'\n[credproxy]\nprivate_hosts = ['10.0.0.9:443', '10.0.0.9:80']"
        )
    };
    let document = check(&with("https://10.0.0.9")).unwrap().document().unwrap();
    let dialer: Section<config::Dialer> = section(&document, Process::Dialer);
    assert_eq!(dialer.own.credproxy_private_hosts, ["10.0.0.9:443", "10.0.0.9:80"]);
    assert_eq!(dialer.own.credproxy_hosts, ["10.0.0.9:443"]);
    for refused in ["http://10.0.0.9", "https://10.0.0.9:8443", "https://10.0.0.8"] {
        assert!(check(&with(refused)).is_err(), "{refused}");
    }
}
