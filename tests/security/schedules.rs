//! Jobs of several people: nobody sees, runs or removes another's, and the owner does all of that. Each person has a uid, which takes
//! root to try.

use serde_json::Value;
use std::os::unix::process::CommandExt;
use tests::{Host, Setup, is_root, text};

const CONFIG: &str = "[scheduler]\nenabled = true\n\
    [[user]]\nname = \"gus\"\nrole = \"guest\"\nuids = [64203]\n\
    [[user]]\nname = \"omar\"\nrole = \"user\"\nuids = [64202]\n\
    [[user]]\nname = \"uma\"\nrole = \"user\"\nuids = [64204]\n";
const GUS: u32 = 64_203;
const OMAR: u32 = 64_202;
const UMA: u32 = 64_204;

fn ask(host: &Host, uid: u32, words: &[&str]) -> Value {
    let mut command = host.command(&[&["--json", "schedule"], words].concat());
    let output = command.uid(uid).gid(uid).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

// Holds P12-45.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn nobody_sees_runs_or_removes_the_job_of_another() {
    assert!(is_root(), "make test-confined needs root");
    let host = Setup::default().config(CONFIG).start();
    let added = ask(&host, OMAR, &["every", "1h", "--name", "mine", "echo: of omar"]);
    assert_eq!(added["ok"], true, "{added}");
    let id = text(&added["job"], "id");
    for named in [id.as_str(), "mine"] {
        for verb in ["show", "run", "pause", "resume", "remove", "history"] {
            let refused = ask(&host, UMA, &[verb, named]);
            assert_eq!(refused["error"]["type"], "no_job", "{verb} {named}: {refused}");
            assert!(!refused.to_string().contains("omar"), "{refused}");
        }
    }
    let listed = |uid| ask(&host, uid, &["list"])["jobs"].as_array().map(Vec::len);
    assert_eq!((listed(UMA), listed(OMAR), listed(0)), (Some(0), Some(1), Some(1)));
    assert_eq!(ask(&host, UMA, &["history"])["fires"].as_array().map(Vec::len), Some(0));
    // The same name is another job, in another user's session.
    assert_eq!(ask(&host, UMA, &["every", "1h", "--name", "mine", "echo: of uma"])["ok"], true);
    assert_eq!(ask(&host, UMA, &["remove", "mine"])["ok"], true);
    assert_eq!(listed(OMAR), Some(1));
    for words in [&["list"][..], &["every", "1h", "x"]] {
        assert_eq!(ask(&host, GUS, words)["error"]["type"], "not_allowed", "a guest has no jobs");
    }
    assert_eq!(ask(&host, 0, &["run", &id])["ok"], true, "the owner may");
    host.wait_for("it is answered", || {
        ask(&host, OMAR, &["history", "mine"])["fires"][0]["state"] == "answered"
    });
    let messages = host.json(&["message", "list"])["messages"].clone();
    assert_eq!(
        (messages[0]["user"].clone(), messages[0]["channel"].clone()),
        ("omar".into(), "schedule".into())
    );
}

// Holds P12-45, B-240.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn one_user_has_64_jobs_and_leaves_others_theirs() {
    assert!(is_root(), "make test-confined needs root");
    let host = Setup::default().config(CONFIG).start();
    for number in 0..64 {
        let added = ask(&host, OMAR, &["every", "1h", "echo: x"]);
        assert_eq!(added["ok"], true, "{number}: {added}");
    }
    assert_eq!(ask(&host, OMAR, &["every", "1h", "echo: x"])["error"]["type"], "too_many_jobs");
    assert_eq!(ask(&host, UMA, &["every", "1h", "echo: x"])["ok"], true);
}
