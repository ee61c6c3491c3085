//! Every jail tried from inside, on a running host in every mode that this user can have: what must be refused is, a
//! layer that was left out is found, and then no runner is served.

use manifest::acts::{ACTS, Act};
use manifest::{Network, Row};
use serde_json::Value;
use std::fs;
use tests::{Host, Setup, is_root};

/// The modes that this user can have: the strongest, and the one without namespaces.
fn modes() -> [&'static str; 2] {
    [if is_root() { "system" } else { "user" }, "flat"]
}

fn host(mode: &str) -> Host {
    Setup::default().config(&format!("[host]\nmode = \"{mode}\"\n")).every_process().start()
}

/// The acts that came out as they must not, by jail.
fn surprises(rows: &Value) -> Vec<String> {
    let rows = rows.as_array().unwrap().iter().filter(|row| row["surprise"] == true);
    rows.map(|row| format!("{} {}: {} {}", row["profile"], row["probe"], row["expected"], row["seen"]))
        .collect()
}

/// Tries everything by one of the two commands that do, and a little by the other.
fn proven(mode: &str, attesting: bool) {
    let host = host(mode);
    let document = if attesting {
        let attested = host.ask(&["attest", "--probe"]);
        assert_eq!(attested["ok"], true, "{mode}: {}", attested["probes"]["summary"]);
        attested["probes"].clone()
    } else {
        host.ask(&["redteam"])
    };
    assert_eq!(surprises(&document["rows"]), Vec::<String>::new(), "{mode}\n{}", host.log());
    let tried = document["summary"]["tried"].as_u64().unwrap();
    assert!(document["ok"] == true && tried > 1000, "{}", document["summary"]);
    // Where there is no network namespace, nobody has the jail of a row that needs one.
    let there = |row: &&Row| mode != "flat" || row.network != Network::Loopback;
    for row in manifest::TABLE.iter().filter(there) {
        let of_row = |it: &&Value| it["profile"] == row.process.name();
        let all: Vec<&Value> = document["rows"].as_array().unwrap().iter().filter(of_row).collect();
        assert!(all.len() > 90, "{} tried {} acts", row.process.name(), all.len());
        assert!(all.iter().any(|it| it["seen"].as_str().is_some_and(|seen| seen.starts_with("killed"))));
    }
    let runs = host.recorded("host_probed");
    assert_eq!((runs.len(), host.recorded("probe_surprise").len()), (1, 0), "{runs:?}");
    let one = host.json(&["redteam", "--act", "shadow"]);
    assert_eq!(one["summary"]["tried"], manifest::TABLE.iter().filter(there).count(), "{mode}: {one}");
    // It was tried beside everything else, and nothing of it is left.
    assert_eq!(host.chat("s", "echo: still here"), "still here");
    assert!(fs::read_dir(host.state().join("probes")).map_or(0, Iterator::count) == 0);
}

// Holds P2-29.
#[test]
fn every_act_in_every_jail_comes_out_as_the_table_says() {
    proven(modes()[0], false);
}

// Holds P2-29.
#[test]
fn every_act_in_every_jail_comes_out_as_the_table_says_without_namespaces() {
    proven(modes()[1], true);
}

// Holds P2-31.
#[test]
fn a_host_checks_itself_before_it_serves_a_runner() {
    for mode in modes() {
        let host = host(mode);
        // The turn waits for the check, whichever of them comes first.
        assert!(host.chat("s", "run: echo $((6*7))").contains("42"), "{mode}");
        let check = host.json(&["status"])["host"]["self_check"].clone();
        assert!(check.as_str().unwrap().starts_with("passed in "), "{mode}: {check}");
    }
}

/// A host of which the jails of one row lack a layer: what its check, a person who waits for an answer, and probing say.
fn weakened(row: &str, other: &str) -> Host {
    let host = Setup::default().arguments(&["--weaken", row]).launch();
    host.wait_for("degraded", || {
        host.try_status().is_some_and(|status| status["host"]["state"] == "degraded")
    });
    let check = host.json(&["status"])["host"]["self_check"].clone();
    let failed = format!("chroot-jailed in the jail of {row}");
    assert!(check.as_str().unwrap().starts_with(&format!("failed: {failed} succeeded")), "{check}");
    assert!(host.log().contains(&format!("self-check failed: {failed}")), "{}", host.log());
    for words in [&["chat", "--session", "s", "-m", "echo: x"][..], &["sandbox", "run", "--", "true"]] {
        let output = host.ctl(words);
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success() && said.contains("serves no runner"), "{words:?}: {said}");
    }
    assert_eq!(host.runners(), Vec::<i32>::new());

    let output = host.ctl(&["redteam", "--row", row, "--act", "chroot-jailed", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), document["error"]["type"].as_str()), (Some(1), Some("surprise")));
    let found = format!("\"{row}\" \"chroot-jailed\": \"refused\" \"succeeded\"");
    assert_eq!(surprises(&document["rows"]), [found]);
    let others = host.ask(&["redteam", "--row", other, "--act", "chroot-jailed"]);
    assert_eq!(others["ok"], true, "{others}");
    let found = host.recorded("probe_surprise");
    assert_eq!(found.iter().map(|it| it["subject"].clone()).collect::<Vec<_>>(), [row], "{found:?}");
    host
}

// Holds P2-31.
#[test]
fn a_jail_without_a_layer_is_found_and_no_runner_is_served() {
    let host = weakened("memory", "scanner");
    host.wait_for("an alert", || {
        host.recorded("alert").iter().any(|it| it["subject"] == "attest drift: memory")
    });
}

// Holds P2-31.
#[test]
fn a_runner_s_jail_without_a_layer_is_found_as_an_actor_s_is() {
    weakened("runner", "runner@agent");
}

// Holds P2-32.
#[test]
fn probes_of_a_file_run_in_the_runners_jail_and_one_surprise_is_a_failure() {
    let host = host(modes()[0]);
    let file = host.dir().join("probes.jsonl");
    let well = [
        r#"{"id":"X0","command":"cat /etc/shadow","expect":"refused"}"#,
        r#"{"id":"X1","command":"echo pwned > .git-hook; id -u","expect":"refused-or-contained, audited"}"#,
        r#"{"id":"X2","command":"true","expect":"ok"}"#,
        r#"{"id":"X3","command":"kill -9 1; kill -9 -1","expect":"contained"}"#,
    ];
    fs::write(&file, well.join("\n")).unwrap();
    let probes = |host: &Host| host.ctl(&["redteam", "--probes", file.to_str().unwrap(), "--json"]);
    let output = probes(&host);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), surprises(&document["rows"])), (Some(0), vec![]), "{document}");
    assert_eq!(document["summary"]["tried"], 4);
    assert_eq!(document["rows"][1]["audited"], true);

    fs::write(&file, [well[2], r#"{"id":"Y0","command":"true","expect":"refused"}"#].join("\n")).unwrap();
    let output = probes(&host);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(surprises(&document["rows"]), ["\"runner\" \"Y0\": \"refused\" \"status 0\""]);
}

// Holds P2-32.
#[test]
fn a_malformed_file_of_probes_is_refused_by_its_line_and_not_run() {
    let host = host(modes()[0]);
    let file = host.dir().join("probes.jsonl");
    fs::write(
        &file,
        "{\"id\":\"a\",\"command\":\"true\",\"expect\":\"ok\"}\n{\"id\":\"b\",\"command\":\"true\"}\n",
    )
    .unwrap();
    let output = host.ctl(&["redteam", "--probes", file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("line 2") && said.contains("missing field `expect`"), "{said}");
    assert_eq!(host.recorded("turn_started").len(), 0);
    let none = host.ctl(&["redteam", "--probes", "/no/such/file"]);
    assert!(none.status.code() == Some(1) && !none.stderr.is_empty());
    for words in [
        &["redteam", "--row", "nobody"][..],
        &["redteam", "--act", "nothing"],
        &["redteam", "--row", "runner", "--act", "own-folder"],
    ] {
        let output = host.ctl(words);
        assert!(output.status.code() == Some(64) && !output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}

#[test]
fn the_document_maps_each_class_of_attempts_to_acts_that_exist() {
    let read = |path: &str| fs::read_to_string(tests::repository().join(path)).unwrap();
    let text = read("docs/reference/jail-probes.md");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| D"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let ids: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    assert_eq!(ids, (0..40).map(|n| format!("D{n:02}")).collect::<Vec<_>>());
    for cells in rows {
        let acts: Vec<&str> = cells[2].split('`').skip(1).step_by(2).collect();
        assert!(!acts.is_empty(), "{cells:?}");
        for act in acts {
            assert!(Act::named(act).is_some(), "{} maps to {act}, which is no act", cells[0]);
        }
    }
    let page = read("docs/operations/probes.md");
    assert!(page.contains(&format!("{} acts", ACTS.len())), "there are {} acts", ACTS.len());
}
