//! The parts of a verdict beside the decision: reasons, grants, the rule for redirects.

use super::world::{World, does};
use ipc_proto::capability::{Approval, Capability, Effect};
use policy::Decision::{Allow, Ask};
use policy::{Engine, Profile};
use serde_json::json;

fn grantable(effect: Effect) -> Capability {
    let approval = Approval { trust_after_approval: true, ..Approval::default() };
    Capability { approval, ..does(effect) }
}

// Holds P5-67.
#[test]
fn a_grant_covers_the_same_tool_and_relevant_arguments_and_nothing_else() {
    let mut world = World::new(Profile::Standard).tool(grantable(Effect::Write)).untrusted();
    let asked = world.verdict("tool", json!({"to": "x", "body": "one"}));
    assert_eq!((asked.decision, asked.grantable), (Ask, true));
    world.session.grants.insert(asked.scope);
    assert_eq!(world.decide("tool", json!({"to": "x", "body": "two"})), Allow);
    assert_eq!(world.decide("tool", json!({"to": "y", "body": "one"})), Ask);
}

// Holds P5-68.
#[test]
fn money_and_destruction_are_never_granted_and_a_policy_can_forbid_grants() {
    for effect in [Effect::Pay, Effect::Delete] {
        let mut world = World::new(Profile::Standard).tool(grantable(effect)).untrusted();
        let asked = world.verdict("tool", json!({"to": "x"}));
        assert_eq!((asked.decision, asked.grantable), (Ask, false), "{effect:?}");
        world.session.grants.insert(asked.scope);
        assert_eq!(world.decide("tool", json!({"to": "x"})), Ask, "{effect:?}: a grant of another day");
    }
    let none = "forbid (principal, action, resource) when { context.granted } unless { context.approved };";
    let world = World::new(Profile::Standard).tool(grantable(Effect::Write)).untrusted().policy(none);
    assert!(!world.verdict("tool", json!({"to": "x"})).grantable);
}

// Holds P5-54.
#[test]
fn a_reason_names_what_the_user_did_not_name_and_no_content() {
    let world = World::new(Profile::Standard).tool(does(Effect::Send)).planned(&["tool"]).untrusted();
    let verdict = world.verdict("tool", json!({"to": "Mallory", "body": "see https://evil.example/x"}));
    assert_eq!(verdict.decision, Ask);
    assert!(
        verdict.reason.contains("not named by you: ") && verdict.reason.contains("to"),
        "{}",
        verdict.reason
    );
    assert!(verdict.reason.contains("body"), "the link in the body: {}", verdict.reason);
    assert!(!verdict.reason.contains("Mallory") && !verdict.reason.contains("evil"), "{}", verdict.reason);
}

// Holds P5-40.
#[test]
fn a_link_in_outgoing_text_asks_and_the_same_text_without_it_does_not() {
    let world = World::new(Profile::Standard)
        .tool(does(Effect::Send))
        .said("Tell Alice")
        .planned(&["tool"])
        .untrusted();
    assert_eq!(world.decide("tool", json!({"to": "Alice", "body": "the meeting is at noon"})), Allow);
    assert_eq!(world.decide("tool", json!({"to": "Alice", "body": "log in at www.evil-login.com"})), Ask);
}

#[test]
fn what_a_fetch_may_reach_follows_profile_and_owner() {
    use ipc_proto::web::Mode::{Allowlist, Blocklist, Unrestricted};
    let modes = [Allowlist, Blocklist, Unrestricted];
    for (profile, mode) in Profile::ALL.into_iter().zip(modes) {
        let mut world = World::new(profile);
        world.session.web.block = vec!["*.bad.example".to_owned()];
        let reach =
            |world: &World| world.verdict("web_fetch", json!({"url": "https://example.com/"})).reach.unwrap();
        assert_eq!(reach(&world).mode, mode, "{}", profile.name());
        assert_eq!(reach(&world).block.len(), 1, "what is blocked is blocked in every mode");
        world.session.web.mode = Some(Blocklist);
        assert_eq!(reach(&world).mode, Blocklist);
        world.session.web.block = vec!["bad.example".to_owned(); 65];
        assert_eq!(
            reach(&world),
            ipc_proto::web::Rule::default(),
            "a list that does not fit lets nothing through"
        );
    }
}

// Holds P4-07.
#[test]
fn the_address_that_was_judged_is_the_one_that_is_given_on() {
    let world = World::new(Profile::PowerUser);
    let verdict = world.verdict("web_fetch", json!({"url": "HTTPS://Example.COM:443/a/../b#c"}));
    assert_eq!(verdict.target.as_deref(), Some("https://example.com/b"));
}

// Holds P5-55.
#[test]
fn verdicts_of_one_call_are_equal_whatever_was_decided_before() {
    let world = World::new(Profile::Standard).tool(does(Effect::Pay)).untrusted();
    let first = world.verdict("tool", json!({"to": "x"}));
    world.verdict("bash", json!({"command": "sudo rm -rf /"}));
    assert_eq!(first, world.verdict("tool", json!({"to": "x"})));
    assert_eq!(first.why.version.as_str(), Engine::built_in().unwrap().version());
}
