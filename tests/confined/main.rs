//! Confined: what only root can hold. `make test-confined` runs these, and fails where root is not there.
// Machines are booted, and folders installed into, by the tools that people use for it.
#![expect(clippy::disallowed_methods, reason = "tests start the real programs and machines")]

#[cfg(test)]
mod installed;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod namespaces_off;
#[cfg(test)]
mod old_kernel;
#[cfg(test)]
mod rebound;
#[cfg(test)]
mod systemd;
#[cfg(test)]
mod tunnel;
#[cfg(test)]
mod two_users;
#[cfg(test)]
mod user_unit;

use std::collections::BTreeSet;
use tests::Host;

// Holds P2-07.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn in_mode_system_every_process_and_runner_slot_has_its_own_uid() {
    assert!(tests::is_root(), "make test-confined needs root");
    let host = Host::start();
    let status = host.json(&["status"]);
    assert_eq!(status["host"]["mode"], "system");
    let processes = status["processes"].as_array().unwrap();
    let uids: BTreeSet<u64> = processes.iter().filter_map(|process| process["uid"].as_u64()).collect();
    assert_eq!(uids.len(), processes.len());
    assert!(!uids.contains(&0));
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn in_mode_flat_as_root_the_same_turns_work_and_what_is_given_up_is_said() {
    assert!(tests::is_root(), "make test-confined needs root");
    let host = tests::Setup::default().config("[host]\nmode = \"flat\"\n").start();
    assert_eq!(host.json(&["status"])["host"]["mode"], "flat");
    let _ = host.chat("s", "remember: flat works");
    assert!(host.chat("t", "recall flat").contains("flat works"));
    assert!(host.chat("s", "run: echo $((6*7))").contains("42"));
    assert!(host.log().contains("gives up"));
    assert!(host.ctl(&["attest", "--json"]).status.success());
}

/// A guest may end only their own messages; they do not see others'.
// Holds P7-55.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_guest_takes_back_and_stops_what_is_theirs_alone() {
    use std::os::unix::process::CommandExt;
    assert!(tests::is_root(), "make test-confined needs root");
    let config = "[[user]]\nname = \"gus\"\nrole = \"guest\"\nuids = [64203]\n\
        [[user]]\nname = \"omar\"\nrole = \"user\"\nuids = [64202]\n";
    let host = tests::Setup::default().config(config).start();
    let as_guest = |words: &[&str]| -> serde_json::Value {
        let output = host.command(words).arg("--json").uid(64203).gid(64203).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let _ = host.json(&["pause"]);
    let say = |uid: u32| {
        let mut chat = host.command(&["chat", "--session", "s", "-m", "echo: x", "--json"]);
        chat.uid(uid).gid(uid).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let (theirs, others) = (say(64203), say(64202));
    let queued = |user: &str| {
        let listed = host.json(&["message", "list"]);
        let mut all = listed["messages"].as_array().cloned().unwrap_or_default().into_iter();
        all.find(|it| it["user"] == user && it["state"] == "queued").map(|it| tests::text(&it, "id"))
    };
    host.wait_for("both wait", || queued("gus").is_some() && queued("omar").is_some());
    let of_other = queued("omar").unwrap();
    assert_eq!(as_guest(&["message", "recall", &of_other])["error"]["type"], "no_message");
    assert_eq!(as_guest(&["message", "recall", &queued("gus").unwrap()])["text"], "echo: x");
    assert!(String::from_utf8_lossy(&theirs.wait_with_output().unwrap().stdout).contains("recalled"));
    let again = say(64203);
    host.wait_for("it waits", || queued("gus").is_some());
    let stopped = as_guest(&["stop", "--all"]);
    assert_eq!((&stopped["running"], &stopped["waiting"]), (&0.into(), &1.into()), "{stopped}");
    assert!(String::from_utf8_lossy(&again.wait_with_output().unwrap().stdout).contains("cancelled"));
    assert_eq!(queued("omar"), Some(of_other), "another's message waits on");
    for words in [&["pause"][..], &["resume"], &["queue"], &["message", "list", "--dead"]] {
        assert_eq!(as_guest(words)["error"]["type"], "not_allowed", "{words:?}");
    }
    let _ = host.json(&["resume"]);
    assert!(String::from_utf8_lossy(&others.wait_with_output().unwrap().stdout).contains("answered"));
}

/// A question is its session's user's, and the owner's; nobody else sees it or has a say in it.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_question_is_seen_and_answered_by_its_user_and_the_owner_alone() {
    use std::os::unix::process::CommandExt;
    assert!(tests::is_root(), "make test-confined needs root");
    let config = "[policy]\nautonomy = \"supervised\"\n\
        [[user]]\nname = \"ines\"\nrole = \"user\"\nuids = [64201]\n\
        [[user]]\nname = \"omar\"\nrole = \"user\"\nuids = [64202]\n\
        [[user]]\nname = \"gus\"\nrole = \"guest\"\nuids = [64203]\n";
    let host = tests::Setup::default().config(config).start();
    let by = |uid: u32, words: &[&str]| -> serde_json::Value {
        let output = host.command(words).arg("--json").uid(uid).gid(uid).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut chat = host.command(&["chat", "--session", "s", "-m", "run: echo done", "--json"]);
    let chat = chat.uid(64201).gid(64201).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let id = host.question();
    for uid in [64202, 64203, 64204] {
        let listed = by(uid, &["approvals", "list"]);
        assert!(!listed.to_string().contains(&id), "{uid}: {listed}");
        for words in [
            &["approvals", "show", &id][..],
            &["approvals", "approve", &id, "--yes"],
            &["approvals", "deny", &id],
        ] {
            assert_eq!(by(uid, words)["ok"], false, "{uid}: {words:?}");
        }
    }
    assert_eq!(host.approval(&id)["state"], "pending");
    assert_eq!(by(64201, &["approvals", "approve", &id, "--yes"])["ok"], true);
    let output = chat.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("done"));
    assert_eq!(host.approval(&id)["answered_by"], "ines");
}
