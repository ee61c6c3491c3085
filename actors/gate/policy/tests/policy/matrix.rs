//! Each profile, each effect, each state of the context, as one table.

use super::world::{World, does, policies};
use ipc_proto::capability::{Capability, Effect};
use ipc_proto::config::Autonomy;
use policy::Decision::{Allow, Ask, Deny};
use policy::{Decision, Profile};
use serde_json::json;

const EFFECTS: [Effect; 5] = [Effect::Read, Effect::Write, Effect::Send, Effect::Pay, Effect::Delete];

/// A context: whether it is untrusted, whether the call is planned, whether its target was named by the user.
fn world(profile: Profile, untrusted: bool, planned: bool, vouched: bool, effect: Effect) -> World {
    let mut world = World::new(profile).tool(does(effect));
    if vouched {
        world = world.said("It is for Alice Example.");
    }
    if planned {
        world = world.planned(&["tool"]);
    }
    if untrusted { world.untrusted() } else { world }
}

// Holds P5-44.
#[test]
fn each_profile_decides_on_each_effect_by_label_plan_and_vouching() {
    // (profile, untrusted, planned, vouched) -> read, write, send, pay, delete
    let table: &[(Profile, [bool; 3], [Decision; 5])] = &[
        (Profile::Paranoid, [false, false, true], [Allow, Allow, Ask, Ask, Allow]),
        (Profile::Paranoid, [false, false, false], [Allow, Allow, Ask, Ask, Ask]),
        (Profile::Paranoid, [true, true, true], [Allow, Ask, Ask, Ask, Ask]),
        (Profile::Paranoid, [true, true, false], [Ask, Ask, Ask, Ask, Ask]),
        (Profile::Standard, [false, false, true], [Allow, Allow, Allow, Allow, Allow]),
        (Profile::Standard, [false, false, false], [Allow, Allow, Ask, Ask, Ask]),
        (Profile::Standard, [true, true, true], [Allow, Allow, Allow, Allow, Allow]),
        (Profile::Standard, [true, true, false], [Ask, Ask, Ask, Ask, Ask]),
        (Profile::Standard, [true, false, true], [Ask, Ask, Ask, Ask, Ask]),
        (Profile::Standard, [true, false, false], [Ask, Ask, Ask, Ask, Ask]),
        (Profile::PowerUser, [false, false, false], [Allow, Allow, Allow, Allow, Allow]),
        (Profile::PowerUser, [true, true, true], [Allow, Allow, Allow, Allow, Allow]),
        (Profile::PowerUser, [true, true, false], [Allow, Allow, Ask, Ask, Ask]),
        (Profile::PowerUser, [true, false, true], [Ask, Ask, Ask, Ask, Ask]),
    ];
    for (profile, [untrusted, planned, vouched], expected) in table {
        for (effect, expected) in EFFECTS.iter().zip(expected) {
            let verdict = world(*profile, *untrusted, *planned, *vouched, *effect)
                .verdict("tool", json!({"to": "Alice Example"}));
            let at = format!(
                "{} {effect:?} untrusted {untrusted} planned {planned} vouched {vouched}",
                profile.name()
            );
            assert_eq!(verdict.decision, *expected, "{at}: {:?}", policies(&verdict));
        }
    }
}

// Holds P5-41.
#[test]
fn no_plan_is_the_empty_plan() {
    let world = World::new(Profile::Standard).tool(does(Effect::Read)).said("for Bob").untrusted();
    let verdict = world.verdict("tool", json!({"to": "Bob"}));
    assert_eq!((verdict.decision, policies(&verdict)), (Ask, vec!["standard-ask-unplanned"]));
    assert_eq!(verdict.why.planned, None);
    assert_eq!(world.planned(&[]).verdict("tool", json!({"to": "Bob"})).why.planned, Some(false));
}

// Holds P5-43.
#[test]
fn the_taint_ratio_changes_a_verdict_where_labels_alone_would_not() {
    // A send whose target nobody could name: label, plan and arguments are the same, only the share differs.
    let send = Capability { effect: Effect::Send, ..Capability::default() };
    for profile in [Profile::Standard, Profile::PowerUser] {
        let world = || World::new(profile).tool(send.clone()).planned(&["tool"]);
        let (little, much) = (world().untrusted(), world().untrusted().flooded());
        assert_eq!(little.session.label, much.session.label);
        assert_eq!(little.decide("tool", json!({"body": "hello"})), Allow);
        let asked = much.verdict("tool", json!({"body": "hello"}));
        assert_eq!(asked.decision, Ask);
        assert_eq!(policies(&asked), [format!("{}-ask-taint", profile.name())]);
    }
}

#[test]
fn an_empty_argument_names_nothing() {
    for to in [json!(""), json!(" "), json!([]), json!({"a": [null, ""]}), json!(null)] {
        let world =
            World::new(Profile::Standard).tool(does(Effect::Send)).planned(&["tool"]).untrusted().flooded();
        assert_eq!(world.decide("tool", json!({"to": to, "body": "hello"})), Ask, "{to}");
    }
}

#[test]
fn the_seeds_sensitive_actions_ask_strictly_above_the_profiles_threshold() {
    let thresholds = [(Profile::Standard, 300), (Profile::PowerUser, 600)];
    for (profile, threshold) in thresholds {
        // The third of them, scheduler_add_cron, always asks.
        for tool in ["browser_navigate", "oauth_call"] {
            let decide = |tainted: usize| {
                let mut world = World::new(profile).planned(&[tool]);
                world.catalogue.declare(tool, does(Effect::Read)).unwrap();
                world.session.taint = provenance::Taint::default();
                world.session.taint.add(&"abcd".repeat(1000 - tainted), false);
                world.session.content(&ipc_proto::label::Label::default(), &"abcd".repeat(tainted));
                world.decide(tool, json!({}))
            };
            assert_eq!((decide(threshold), decide(threshold + 1)), (Allow, Ask), "{tool} {}", profile.name());
        }
    }
}

// Holds P5-44.
#[test]
fn autonomy_tightens_every_profile() {
    use Autonomy::{Full, Readonly, Supervised};
    let table = [
        (Full, [Allow, Allow, Allow, Allow, Allow]),
        (Supervised, [Allow, Allow, Ask, Ask, Ask]),
        (Readonly, [Allow, Ask, Ask, Ask, Ask]),
    ];
    for (autonomy, expected) in table {
        for (effect, expected) in EFFECTS.iter().zip(expected) {
            let mut world = World::new(Profile::PowerUser).tool(does(*effect));
            world.session.autonomy = autonomy;
            assert_eq!(world.decide("tool", json!({})), expected, "{autonomy:?} {effect:?}");
        }
        let mut world = World::new(Profile::PowerUser);
        world.session.autonomy = autonomy;
        let expected = if autonomy == Full { Allow } else { Ask };
        assert_eq!(world.decide("bash", json!({"command": "ls"})), expected, "{autonomy:?} bash");
    }
}

// Holds P5-44.
#[test]
fn profiles_differ_in_accounts_skills_and_acting_by_themselves() {
    let table = [
        // tool, effect, paranoid, standard, power-user
        ("oauth_call", Effect::Read, [Deny, Allow, Allow]),
        ("oauth_call", Effect::Write, [Deny, Deny, Allow]),
        ("skill_propose", Effect::Write, [Deny, Ask, Allow]),
        ("scheduler_add_cron", Effect::Write, [Deny, Ask, Ask]),
        ("scheduler_add_cron", Effect::Read, [Ask, Ask, Ask]),
        ("scheduler_run_at", Effect::Write, [Deny, Ask, Ask]),
        ("scheduler_add_trigger", Effect::Write, [Deny, Deny, Allow]),
        ("proactive_hint", Effect::Write, [Deny, Deny, Allow]),
    ];
    for (tool, effect, expected) in table {
        for (profile, expected) in Profile::ALL.into_iter().zip(expected) {
            let mut world = World::new(profile);
            world.catalogue.declare(tool, does(effect)).unwrap();
            let verdict = world.verdict(tool, json!({}));
            assert_eq!(verdict.decision, expected, "{tool} {effect:?} {}", profile.name());
            assert_eq!(verdict.owner_only, tool == "skill_propose" && profile == Profile::Standard);
        }
    }
}

#[test]
fn a_jails_tools_run_unasked_in_every_profile_and_the_dangerous_ask() {
    let calls = [
        ("read", json!({"path": "notes.txt"}), Allow),
        ("write", json!({"path": "notes.txt", "content": "x"}), Allow),
        ("bash", json!({"command": "ls -l"}), Allow),
        ("bash", json!({"command": "sudo ls"}), Ask),
        ("bash", json!({"command": "rm -rf build"}), Ask),
        ("read", json!({"path": "/skills/mail/SKILL.md"}), Allow),
        ("read", json!({"path": "../../etc/shadow"}), Deny),
        ("write", json!({"path": "/etc/cron.d/x", "content": "x"}), Deny),
    ];
    for profile in Profile::ALL {
        let world = World::new(profile).planned(&["read", "write", "bash"]).untrusted();
        for (tool, args, expected) in &calls {
            let verdict = world.verdict(tool, args.clone());
            assert_eq!(verdict.decision, *expected, "{} {tool} {args}: {}", profile.name(), verdict.reason);
        }
    }
}
