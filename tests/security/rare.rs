//! No rule is marked as rare for nothing: each condition that the table names is made to hold in real processes, with
//! every call of theirs told to agentd, and each rule that is there for it must be needed then.

mod clock;
mod names;

use crate::needed::{rules, shared};
use manifest::syscalls::{Call, Condition, Group};
use manifest::{Row, TABLE};
use nix::sys::signal::Signal;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tests::{Host, Setup, Upstream, free_port, get_over_tcp, is_root, signal};

/// The circumstance in which a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A day of the host.
    ADay,
    /// A process that ends itself, and one that is sent the signal of a wrong address.
    ADeath,
    /// A large file, a client over TCP, a service without TLS.
    Clients,
    /// A name server of the test's own.
    Names,
    /// A record that grows past a tile.
    ALongRecord,
    /// A record whose last entry is not whole.
    ATornRecord,
    /// A process that was started without the kernel's clock in its memory.
    AClock,
    /// This function of `seldom.py`, in both kinds of jail.
    AProgram(&'static str),
}

/// The list of conditions is closed, and so is this one.
const fn by(condition: Condition) -> By {
    match condition {
        Condition::OfSome | Condition::OtherLibrary => By::ADay,
        Condition::Aborts | Condition::Faults => By::ADeath,
        Condition::LargeBlock | Condition::PlainService | Condition::ListensOnTcp => By::Clients,
        Condition::NameServer | Condition::Ipv6 => By::Names,
        Condition::TileFilled => By::ALongRecord,
        Condition::WriteTorn | Condition::TornAndStopped => By::ATornRecord,
        Condition::NoVdso => By::AClock,
        Condition::Attributes => By::AProgram("attributes"),
        Condition::Copies => By::AProgram("copies"),
        Condition::Folders => By::AProgram("folders"),
        Condition::Locks => By::AProgram("locks"),
        Condition::Loopback => By::AProgram("loopback"),
        Condition::Memory => By::AProgram("memory"),
        Condition::Names => By::AProgram("names"),
        Condition::OlderCalls => By::AProgram("older"),
        Condition::Pairs => By::AProgram("pairs"),
        Condition::Parts => By::AProgram("parts"),
        Condition::ProtectionKeys => By::AProgram("keys"),
        Condition::Relatives => By::AProgram("relatives"),
        Condition::Room => By::AProgram("room"),
        Condition::Shares => By::AProgram("shares"),
        Condition::Signals => By::AProgram("signals"),
        Condition::Stopped => By::AProgram("stops"),
        Condition::Terminals => By::AProgram("terminals"),
        Condition::Timers => By::AProgram("timers"),
        Condition::Watches => By::AProgram("watches"),
    }
}

/// The rows that a group is there for. A runner has two groups of the host's own processes besides its own, which hold
/// what its programs do anyway.
fn holders(group: &Group) -> Vec<&'static Row> {
    let has = |row: &&Row| row.syscalls.iter().any(|its| its.name == group.name);
    let (runners, actors): (Vec<_>, Vec<_>) =
        TABLE.iter().filter(has).partition(|row| row.process.is_runner());
    if actors.is_empty() { runners } else { actors }
}

/// The parts of a rule that nothing needed. A program's rule is needed in each kind of jail; one of the host's own processes in
/// one of those that have it, since all are one runtime.
fn needless(group: &Group, call: &Call, seen: &BTreeSet<String>) -> Vec<String> {
    let rows = holders(group);
    let by_row: Vec<Vec<String>> = rows.iter().map(|row| rules(row, call)).collect();
    if rows.iter().all(|row| row.process.is_runner()) {
        return by_row.concat().into_iter().filter(|rule| !seen.contains(&shared(rule))).collect();
    }
    let alternatives = 0..call.when.len().max(1);
    let unseen = alternatives.filter(|at| !by_row.iter().any(|rules| seen.contains(&rules[*at])));
    unseen.map(|at| by_row[0][at].clone()).collect()
}

/// Fails for rules of conditions that are made to hold in this way, and that were not needed.
pub(crate) fn all_needed(how: By, seen: &BTreeSet<String>) {
    let groups: BTreeMap<&str, &Group> =
        TABLE.iter().flat_map(|row| row.syscalls).map(|group| (group.name, *group)).collect();
    let mut count = 0;
    for (name, group) in groups {
        let of = |condition: Condition| {
            let known = |call: &&Call| confine::acts::call_number(call.name).is_some();
            group.calls.iter().filter(known).filter(move |call| call.rare == Some(condition))
        };
        for condition in Condition::ALL.iter().filter(|condition| by(**condition) == how) {
            let all = of(*condition).count();
            count += all;
            let left: Vec<String> = of(*condition).flat_map(|call| needless(group, call, seen)).collect();
            // The C library makes one of two calls that do the same.
            let enough = *condition == Condition::OtherLibrary && left.len() < all;
            assert!(left.is_empty() || enough, "[{name}] not needed where {}: {left:#?}", condition.says());
        }
    }
    assert!(count > 0, "{how:?}");
}

/// Every rule that a host's processes make use of meanwhile, as agentd notes them.
pub(crate) fn recorded(setup: Setup, meanwhile: impl FnOnce(&Host)) -> BTreeSet<String> {
    let notes = tempfile::tempdir().unwrap();
    let file = notes.path().join("rules");
    let mut host = setup.arguments(&["--record", file.to_str().unwrap()]).start();
    meanwhile(&host);
    assert_eq!(host.stop(), Some(0), "{}", host.log());
    fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect()
}

/// Makes a folder one of programs: what is built, with this script in the place of agentd.
fn with_script(folder: &Path, script: &str) {
    let agentd = folder.join("agentd");
    fs::write(&agentd, script).unwrap();
    for path in [folder, agentd.as_path()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink(tests::programs().join("agentctl"), folder.join("agentctl")).unwrap();
}

/// A folder that a jail may work in, with the programs' script in it.
fn workspace(host: &Host, name: &str) -> String {
    let folder = host.dir().join(format!("of-{name}"));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(folder.join("seldom.py"), include_str!("seldom.py")).unwrap();
    folder.display().to_string()
}

// Holds P2-13.
#[test]
fn what_programs_seldom_do_is_needed_by_programs_that_do_it() {
    let functions = |all: bool| {
        let name = |condition: &Condition| match by(*condition) {
            By::AProgram(name) => Some(name),
            _ => None,
        };
        Condition::ALL.iter().filter_map(name).filter(move |name| all || *name != "loopback")
    };
    let seen = recorded(Setup::default(), |host| {
        for (words, has_loopback) in [(&["run"][..], true), (&["sandbox", "run"], false)] {
            let folder = workspace(host, words[0]);
            let program = ["--workspace", &folder, "--", "/usr/bin/python3", "seldom.py"];
            let ran = host.ctl(&[words, &program, &functions(has_loopback).collect::<Vec<_>>()].concat());
            assert_eq!(ran.status.code(), Some(0), "{ran:?}");
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            for name in functions(has_loopback) {
                assert!(said.lines().any(|line| line == name), "{name}: {ran:?}");
            }
        }
    });
    for name in functions(true) {
        all_needed(By::AProgram(name), &seen);
    }
}

// Holds P2-13.
#[test]
fn what_a_process_calls_as_it_dies_is_needed_by_one_that_does() {
    let setup = Setup::default().arguments(&["--fault", "router:router.start.recorded"]);
    let seen = recorded(setup, |host| {
        let answer = host.ask(&["chat", "--session", "s", "-m", "echo: still here"]);
        assert_eq!((host.process("router")["restarts"].as_u64(), &answer["ok"]), (Some(1), &json!(true)));
        let scanner = host.pid("scanner");
        // Nothing reached for memory, so std's handler gives the signal back to the kernel and returns to what goes on; the
        // next one is the end.
        signal(scanner, Signal::SIGSEGV);
        host.wait_for("the scanner is another", || {
            signal(scanner, Signal::SIGSEGV);
            host.process("scanner")["pid"] != scanner
        });
    });
    all_needed(By::ADeath, &seen);
}

// Holds P2-13.
#[test]
fn what_clients_and_services_of_other_kinds_need_is_needed_by_them() {
    let (upstream, port) = (Upstream::start("a page"), free_port());
    let at = upstream.port;
    let setup = Setup::default().config(&format!(
        "[gateway]\nlisten = \"127.0.0.1:{port}\"\n[agent.default]\nmodel = \"offline/hijackable\"\n\
         [credproxy]\nplain_http = [\"127.0.0.1:{at}\"]\n\
         [service.mail]\nbase_url = \"http://127.0.0.1:{at}/api\"\nsecret = \"mail\"\nagents = [\"default\"]\n"
    ));
    let seen = recorded(setup, |host| {
        host.keep("mail", "mailbox-Wq7ZtVx2Kc9LmRb4HsYd-token", &["--host", &format!("127.0.0.1:{at}")]);
        let args = json!({ "service": "mail", "path": "/messages" });
        let _ = host.chat("s", &format!("echo: my mail !!CALL http_call {args}!!"));
        assert_eq!(upstream.heard().len(), 1, "{}", host.log());
        let large = host.dir().join("large");
        fs::write(&large, "x".repeat(2_000_000)).unwrap();
        let _ = host.json(&["workspace", "put", "large", "large", large.to_str().unwrap()]);
        let _ = get_over_tcp(port, "/v1/models", None);
    });
    all_needed(By::Clients, &seen);
}

// Holds P2-13.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn what_a_lookup_needs_is_needed_by_one() {
    // A resolv.conf of its own needs a mount.
    assert!(is_root(), "make test-confined needs root");
    let servers = names::Servers::start();
    let config = "[web]\nprivate_hosts = [\"there.test:9\", \"here.test:9\"]\n[agent.default]\nmodel = \"offline/hijackable\"\nprofile = \"power-user\"\n";
    let setup = Setup::default().config(config).programs(servers.programs());
    let seen = recorded(setup, |host| {
        // The second server is asked once the first has told how long it takes.
        for url in ["http://there.test:9/", "http://here.test:9/"] {
            let call = json!({ "url": url });
            let _ = host.chat("s", &format!("echo: look at {url} !!CALL web_fetch {call}!!"));
        }
        assert!(servers.asked() > 0, "{}", host.log());
    });
    all_needed(By::Names, &seen);
}

/// The bundle of a host's record that grows.
fn growing(host: &Host) -> PathBuf {
    let entries = fs::read_dir(host.state().join("audit/tile/entries")).unwrap().flatten();
    let tails =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "tail"));
    tails.min().unwrap()
}

// Holds P2-13.
#[test]
fn what_the_record_needs_once_a_tile_is_full_is_needed_then() {
    let seen = recorded(Setup::default(), |host| {
        while !host.state().join("audit/tile/entries/000").exists() {
            let _ = host.json(&["memory", "add", "a fact"]);
        }
        // The part that is stored is needed until the checkpoint after the next.
        host.wait_for("the parts are gone", || {
            let _ = host.json(&["memory", "add", "another fact"]);
            !host.state().join("audit/tile/entries/000.p").exists()
        });
    });
    all_needed(By::ALongRecord, &seen);
}

/// Writes a byte behind the last entry of the record, where the next one would begin.
fn put_behind(file: &Path, byte: u8, at: Option<u64>) -> u64 {
    let end = at.unwrap_or_else(|| {
        let bytes = fs::read(file).unwrap();
        let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        u64::try_from(last).unwrap() + 1
    });
    File::options().write(true).open(file).unwrap().write_all_at(&[byte], end).unwrap();
    end
}

// Holds P2-13.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_stopped_reader_of_a_torn_record_needs_its_rare_rules() {
    // The offline check of the record reads the folder, as root and the user of the host may.
    assert!(is_root(), "make test-confined needs root");
    let person = 4242;
    let config = format!("[[user]]\nname = \"ada\"\nuids = [{person}]\nrole = \"owner\"\n");
    let seen = recorded(Setup::default().config(&config), |host| {
        let _ = host.json(&["memory", "add", "a fact"]);
        let (audit, file) = (host.pid("audit"), growing(host));
        let at = put_behind(&file, 1, None);
        let mut verify = host.command(&["audit", "verify"]);
        let mut child = verify.uid(person).gid(person).spawn().unwrap();
        let ended = loop {
            if let Some(ended) = child.try_wait().unwrap() {
                break ended;
            }
            signal(audit, Signal::SIGSTOP);
            thread::sleep(Duration::from_millis(2));
            signal(audit, Signal::SIGCONT);
            thread::sleep(Duration::from_millis(3));
        };
        put_behind(&file, 0, Some(at));
        assert_eq!(ended.code(), Some(1));
    });
    all_needed(By::ATornRecord, &seen);
}
