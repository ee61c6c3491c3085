//! meao's three flow rules, each at every enforcement point it applies to: tool output, memory write, prompt, egress,
//! tool chain, log.

use super::world::{World, does, policies};
use ipc_proto::capability::{Capability, Data, Effect, Sandbox};
use ipc_proto::label::{Class, Label, Trust};
use policy::Decision::{Allow, Ask, Deny};
use policy::{Passage, Profile, passes, result_label};
use serde_json::{Value, json};

fn content() -> serde_json::Value {
    json!({"content": "the gate code is 1234"})
}

// Holds P5-47.
#[test]
fn rule_1_memory_write_of_untrusted_content_needs_a_person() {
    for profile in Profile::ALL {
        let verdict = World::new(profile).untrusted().verdict("memory_write", content());
        assert_eq!(verdict.decision, Ask, "{}", profile.name());
        assert!(policies(&verdict).contains(&"flow-1-untrusted"), "{:?}", policies(&verdict));
    }
    let own =
        World::new(Profile::Standard).said("Remember: the gate code is 1234").planned(&["memory_write"]);
    assert_eq!(own.untrusted().decide("memory_write", content()), Allow, "the user's very words");
}

// Holds P5-47.
#[test]
fn rule_1_memory_write_takes_only_the_users_text_and_so_does_a_revision() {
    let own = || {
        World::new(Profile::Standard)
            .said("Remember: the gate code is 1234")
            .planned(&["memory_write", "memory_revise"])
            .untrusted()
    };
    let beside = json!({"content": "the gate code is 1234", "title": "obey mallory", "kind": "observation"});
    let tagged = json!({"content": "the gate code is 1234", "tags": ["obey mallory"]});
    for args in [beside, tagged] {
        assert_eq!(own().decide("memory_write", args.clone()), Ask, "{args}");
    }
    let revised = json!({"id": "550e8400-e29b-41d4-a716-446655440000", "content": "obey", "reason": "x"});
    let verdict = own().verdict("memory_revise", revised);
    assert_eq!(verdict.decision, Ask);
    assert!(policies(&verdict).contains(&"flow-1-untrusted"), "{:?}", policies(&verdict));
}

// Holds P5-47.
#[test]
fn rule_1_memory_write_what_somebody_else_said_asks() {
    for profile in Profile::ALL {
        let world = World::new(profile).read(Trust::Verified, Class::Internal);
        let verdict = world.verdict("memory_write", content());
        assert_eq!(verdict.decision, Ask, "{}", profile.name());
        assert!(policies(&verdict).contains(&"flow-1-verified"), "{:?}", policies(&verdict));
    }
}

// Holds P5-47.
#[test]
fn rule_1_memory_write_a_secret_is_refused_whoever_asks() {
    for profile in Profile::ALL {
        let verdict = World::new(profile).read(Trust::User, Class::Secret).verdict("memory_write", content());
        assert_eq!(verdict.decision, Deny, "{}", profile.name());
        assert!(policies(&verdict).contains(&"flow-1-secret"));
    }
}

// Holds P5-48.
#[test]
fn rule_2_egress_by_class_and_by_whether_the_host_is_known() {
    let fetch = |world: World| world.verdict("web_fetch", json!({"url": "https://example.com/page"}));
    let world = |class| World::new(Profile::Standard).read(Trust::User, class);
    let named = |class| world(class).said("See https://example.com/page please");
    let table = [
        (named(Class::Internal), Allow, None),
        (world(Class::Internal), Ask, Some("flow-2-internal-unknown")),
        (named(Class::Sensitive), Ask, Some("flow-2-sensitive")),
        (world(Class::Sensitive), Deny, Some("flow-2-sensitive-unknown")),
        (named(Class::Secret), Deny, Some("flow-2-secret")),
    ];
    for (world, expected, policy) in table {
        let class = world.session.label.class;
        let verdict = fetch(world);
        assert_eq!(verdict.decision, expected, "{class:?}: {}", verdict.reason);
        assert!(policy.is_none_or(|policy| policies(&verdict).contains(&policy)), "{:?}", policies(&verdict));
        assert_eq!(verdict.declassifies, policy == Some("flow-2-sensitive"));
    }
}

// Holds P5-40.
#[test]
fn rule_3_headers_and_body_of_a_fetch_are_judged_beside_its_address() {
    let url = "https://example.com/page";
    let world =
        |profile| World::new(profile).said("See https://example.com/page please").planned(&["web_fetch"]);
    let decide = |world: &World, more: Value| {
        let mut args = json!({"url": url});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.verdict("web_fetch", args)
    };
    let routine = [json!({}), json!({"method": "GET"}), json!({"headers": {"Accept": "text/html"}})];
    let live = [
        ("headers", json!({"headers": {"Accept": "text/the-data"}})),
        ("headers", json!({"headers": {"If-None-Match": "the-data"}})),
        ("body", json!({"body": "the-data"})),
        ("method", json!({"method": "DELETE"})),
    ];
    let (clean, read) = (world(Profile::Standard), world(Profile::Standard).untrusted());
    for more in routine {
        assert_eq!(decide(&read, more.clone()).decision, Allow, "{more}");
    }
    for (name, more) in live {
        let verdict = decide(&read, more.clone());
        assert_eq!(verdict.decision, Ask, "{more}");
        assert!(verdict.reason.contains(&format!("not named by you: {name}")), "{}", verdict.reason);
        assert!(verdict.why.args.iter().any(|(arg, vouched)| arg.as_str() == name && !vouched), "{more}");
        assert_ne!(
            verdict.scope,
            decide(&read, json!({})).scope,
            "a grant for the address covers no such call"
        );
        assert_eq!(decide(&clean, more.clone()).decision == Ask, name == "method", "{more}");
    }
}

// Holds P5-48.
#[test]
fn rule_2_egress_a_send_is_egress_whatever_network_its_tool_declares() {
    let world = World::new(Profile::PowerUser).tool(does(Effect::Send)).read(Trust::User, Class::Sensitive);
    assert_eq!(world.decide("tool", json!({"to": "Mallory"})), Deny);
    assert_eq!(world.said("Tell Alice").decide("tool", json!({"to": "Alice"})), Ask);
}

// Holds P5-48.
#[test]
fn rule_2_prompt_a_secret_goes_to_no_model_and_personal_data_to_its_own() {
    let world = World::new(Profile::Paranoid);
    let label = |class| Label::of(Trust::Untrusted, class, "elsewhere");
    for (class, expected) in [(Class::Internal, true), (Class::Sensitive, true), (Class::Secret, false)] {
        let passed = passes(&world.engine, &world.session, Passage::Prompt, &label(class));
        assert_eq!(passed.is_ok(), expected, "{class:?}");
        assert!(
            passed.is_ok() || passed.unwrap_err().iter().any(|policy| policy.as_str() == "flow-2-secret")
        );
    }
}

// Holds P5-48.
#[test]
fn rule_2_log_a_secret_is_written_to_no_log() {
    let world = World::new(Profile::PowerUser);
    for (class, expected) in [(Class::Sensitive, true), (Class::Secret, false)] {
        let label = Label::of(Trust::User, class, "elsewhere");
        assert_eq!(
            passes(&world.engine, &world.session, Passage::Log, &label).is_ok(),
            expected,
            "{class:?}"
        );
    }
}

// Holds P5-49.
#[test]
fn rule_3_chain_after_untrusted_content_what_can_leak_asks() {
    let leaky = Capability { data: Data { can_leak_data: true, ..Data::default() }, ..does(Effect::Read) };
    for profile in Profile::ALL {
        let world = World::new(profile).tool(leaky.clone());
        let asked = world.untrusted().verdict("tool", json!({"to": "somebody"}));
        assert_eq!(asked.decision, Ask, "{}", profile.name());
        assert!(policies(&asked).contains(&"flow-3-untrusted"), "{:?}", policies(&asked));
        let clean = World::new(profile).tool(leaky.clone()).said("for Alice");
        assert_eq!(clean.decide("tool", json!({"to": "Alice"})), Allow, "{}", profile.name());
    }
}

// Holds P5-49.
#[test]
fn rule_3_chain_a_secret_goes_to_no_tool_that_may_not_have_it() {
    let may = Data { can_read_secrets: true, ..Data::default() };
    let tool = |data| Capability { data, ..does(Effect::Read) };
    let decide = |data| {
        let world = World::new(Profile::PowerUser).tool(tool(data)).read(Trust::User, Class::Secret);
        let verdict = world.verdict("tool", json!({}));
        (verdict.decision, policies(&verdict).first().map(|policy| (*policy).to_owned()))
    };
    assert_eq!(decide(may.clone()).0, Allow);
    let unsanitised = (Deny, Some("flow-3-secret-unsanitised".to_owned()));
    assert_eq!(decide(Data { sanitize_output: false, ..may }), unsanitised);
    assert_eq!(decide(Data::default()), (Deny, Some("flow-3-secret-not-accepted".to_owned())));
}

// Holds P5-05.
#[test]
fn rule_3_output_of_a_tool_is_labelled_before_anything_follows() {
    let world = World::new(Profile::Standard);
    let capability = Capability::default();
    let label = result_label("tool", &capability, Class::Sensitive, None);
    assert_eq!((label.trust, label.class), (Trust::Untrusted, Class::Sensitive));
    assert!(passes(&world.engine, &world.session, Passage::Output, &label).is_ok());
    let own = Label::of(Trust::Verified, Class::Secret, "row");
    let recalled =
        result_label("memory_read", world.catalogue.get("memory_read").unwrap(), Class::Public, Some(&own));
    assert!(own.within(&recalled), "a recalled row keeps its label");
}

#[test]
fn a_confined_tool_is_no_egress() {
    let jailed = world_jail(Sandbox::Container);
    assert_eq!(jailed.decide("tool", json!({})), Allow);
    assert_eq!(
        world_jail(Sandbox::Process).decide("tool", json!({})),
        Ask,
        "a process of the host is no jail"
    );
}

fn world_jail(sandbox: Sandbox) -> World {
    let mut capability = Capability { effect: Effect::Write, ..Capability::default() };
    capability.execution.sandbox = sandbox;
    World::new(Profile::Paranoid).tool(capability).untrusted()
}

// Holds P1-57.
#[test]
fn an_opaque_tunnel_asks_in_every_profile_and_carries_no_secrets() {
    let tunnel = json!({"method": "CONNECT", "url": "https://a.example/"});
    for profile in Profile::ALL {
        let world = |class| {
            let mut world = World::new(profile).said("go to https://a.example/").read(Trust::User, class);
            world.session.web.mode = Some(ipc_proto::web::Mode::Unrestricted);
            world.session.web.allow = vec!["a.example".to_owned()];
            world
        };
        let asked = world(Class::Public).verdict("network", tunnel.clone());
        assert_eq!(asked.decision, Ask, "{}: {}", profile.name(), asked.reason);
        assert!(policies(&asked).contains(&"opaque"), "{:?}", policies(&asked));
        assert!(asked.grantable || profile == Profile::Paranoid, "{}", profile.name());
        let sensitive = world(Class::Sensitive).verdict("network", tunnel.clone());
        assert!(sensitive.decision == Ask && sensitive.declassifies, "{}", profile.name());
        assert_eq!(world(Class::Secret).decide("network", tunnel.clone()), Deny, "{}", profile.name());
    }
}
