//! No file of the owner's overrides an invariant; what does not validate is not taken.

use super::world::{World, does, policies};
use ipc_proto::capability::{Capability, Data, Effect, Labels};
use ipc_proto::label::{Class, Trust};
use policy::Decision::{Allow, Ask, Deny};
use policy::{Engine, Profile};
use serde_json::json;

const PERMIT_ALL: &str = "permit (principal, action, resource);";

// Holds P5-50.
#[test]
fn no_permit_of_the_owners_overrides_an_invariant() {
    let world = || World::new(Profile::Paranoid).policy(PERMIT_ALL);
    let secret = |capability| world().tool(capability).read(Trust::User, Class::Secret);
    let reads = Data { can_read_secrets: true, ..Data::default() };
    let unsanitised = Data { sanitize_output: false, ..reads.clone() };
    let refuses = Labels { accepts_untrusted: false, ..Labels::default() };
    let mut canary = world().tool(does(Effect::Read));
    canary.session.canary = "CANARY-1".to_owned();
    let cases = [
        (world().verdict("unheard_of", json!({})), "undeclared-tool"),
        (canary.verdict("tool", json!({"to": ["x CANARY-1 y"]})), "canary"),
        (world().verdict("web_fetch", json!({"url": "http://127.0.0.1/"})), "unfit-target"),
        (world().verdict("read", json!({"path": "../../etc/shadow"})), "unfit-target"),
        (
            world()
                .tool(Capability { labels: refuses, ..does(Effect::Read) })
                .untrusted()
                .verdict("tool", json!({})),
            "refuses-untrusted",
        ),
        (
            world().read(Trust::User, Class::Secret).verdict("memory_write", json!({"content": "x"})),
            "flow-1-secret",
        ),
        (
            secret(Capability { data: reads, ..does(Effect::Send) }).verdict("tool", json!({})),
            "flow-2-secret",
        ),
        (
            world()
                .tool(does(Effect::Send))
                .read(Trust::User, Class::Sensitive)
                .verdict("tool", json!({"to": "M"})),
            "flow-2-sensitive-unknown",
        ),
        (
            secret(Capability { data: unsanitised, ..does(Effect::Read) }).verdict("tool", json!({})),
            "flow-3-secret-unsanitised",
        ),
        (secret(does(Effect::Read)).verdict("tool", json!({})), "flow-3-secret-not-accepted"),
    ];
    for (verdict, policy) in cases {
        assert_eq!(verdict.decision, Deny, "{policy}");
        assert!(policies(&verdict).contains(&policy), "{policy}: {:?}", policies(&verdict));
    }
}

#[test]
fn a_permit_of_the_owners_lifts_what_a_profile_asks() {
    let world = || World::new(Profile::Standard).tool(does(Effect::Write)).untrusted();
    assert_eq!(world().decide("tool", json!({"to": "x"})), Ask);
    let own =
        r#"@id("write-freely") permit (principal, action == Action::"write", resource in Tool::"tool");"#;
    let verdict = world().policy(own).verdict("tool", json!({"to": "x"}));
    assert_eq!(verdict.decision, Allow);
    assert_eq!(policies(&verdict), ["own.write-freely"], "the owner's ids cannot pass for built-in ones");
}

// Holds P5-50.
#[test]
fn an_owners_forbid_holds_in_every_profile_and_may_ask_for_approval() {
    let bound = r#"@id("no-large-sums") @reason("more than 50 in one go")
        forbid (principal, action == Action::"pay", resource)
        when { context has amount && context.amount > 5000 } unless { context.approved };"#;
    for profile in Profile::ALL {
        let pay = |amount: f64| {
            let world = World::new(profile).tool(does(Effect::Pay)).policy(bound).said("Pay Alice");
            world.verdict("tool", json!({"to": "Alice", "amount": amount}))
        };
        assert_eq!(pay(50.01).decision, Ask, "{}", profile.name());
        assert!(policies(&pay(50.01)).contains(&"own.no-large-sums"));
        assert!(!policies(&pay(50.0)).contains(&"own.no-large-sums"));
    }
    let never = r#"forbid (principal in Agent::"", action, resource in Tool::"bash");"#;
    assert_eq!(World::new(Profile::PowerUser).policy(never).decide("bash", json!({"command": "ls"})), Deny);
}

// Holds P5-51.
#[test]
fn a_policy_that_errs_denies_and_is_not_skipped() {
    // Overflow cannot be ruled out by validation, and Cedar would skip this forbid.
    let text = r#"forbid (principal, action, resource) when { context.taint + 9223372036854775807 > 0 };"#;
    let world =
        World::new(Profile::PowerUser).policy(text).tool(does(Effect::Read)).planned(&["tool"]).untrusted();
    let verdict = world.verdict("tool", json!({}));
    assert_eq!(verdict.decision, Deny);
    assert!(policies(&verdict).contains(&"evaluation-failed"));
}

// Holds P5-52.
#[test]
fn a_file_that_does_not_validate_is_refused_with_line_and_cedars_words() {
    let bad = [
        ("permit (principal, action, resource)\nwhen { context.nonsense };", 2, "nonsense"),
        ("// fine\n\npermit (principal, action == Action::\"fly\", resource);", 3, "fly"),
        (
            "permit (principal, action, resource)\nwhen { context.taint == \"much\" && };",
            2,
            "unexpected token",
        ),
        ("permit (principal == ?principal, action, resource);", 1, "templates"),
        (
            "@id(\"a\") permit (principal, action, resource);\n@id(\"a\") forbid (principal, action, resource);",
            1,
            "id a",
        ),
    ];
    for (text, line, words) in bad {
        let error = Engine::with(&[("own", text)]).err().unwrap();
        assert_eq!((error.name.as_str(), error.line), ("own", line), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    assert!(Engine::with(&[("standard", PERMIT_ALL)]).is_err(), "a built-in name is taken");
}

// Holds P5-53.
#[test]
fn the_version_names_exactly_the_files_that_hold() {
    let version = |files: &[(&str, &str)]| Engine::with(files).unwrap().version().to_owned();
    let own = version(&[("own", PERMIT_ALL)]);
    assert_eq!(own, version(&[("own", PERMIT_ALL)]));
    assert_ne!(own, version(&[]));
    assert_ne!(own, version(&[("other", PERMIT_ALL)]));
    assert_ne!(own, version(&[("own", "permit (principal, action, resource) ;")]));
}

// Holds P5-50.
#[test]
fn built_in_policies_have_a_reason_and_no_invariant_reads_approval() {
    let engine = Engine::built_in().unwrap();
    for file in engine.files() {
        let count = |what: &str| file.text.lines().filter(|line| line.starts_with(what)).count();
        let policies = usize::from(file.policies);
        assert_eq!((count("@id(\""), count("@reason(\"")), (policies, policies), "{}", file.name);
    }
    let invariants = engine.files().iter().find(|file| file.name == "invariants").unwrap();
    let rules: String = invariants.text.lines().filter(|line| !line.starts_with("//")).collect();
    assert!(!rules.contains("approved") && !rules.contains("granted") && !rules.contains("permit ("));
}
