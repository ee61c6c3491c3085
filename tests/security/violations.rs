//! A forbidden attempt of a process is seen: an event and an entry of the record that name the process, the call and the
//! turn; and no jail can keep the host busy with it.

use crate::jail::{bash, has_python, python};
use crate::probed;
use manifest::Process;
use serde_json::Value;
use tests::{Host, text};

/// Waits until so many entries of this kind are on the record.
fn recorded(host: &Host, action: &str, count: usize) -> Vec<Value> {
    host.wait_for(&format!("{count} of {action}"), || host.recorded(action).len() >= count);
    host.recorded(action)
}

fn events(host: &Host, name: &str) -> Vec<Value> {
    let events = host.json(&["events"])["events"].as_array().cloned().unwrap_or_default();
    events.into_iter().filter(|event| event["name"] == name).collect()
}

// Holds P2-15.
#[test]
fn an_actors_forbidden_call_is_recorded_even_before_control_is_there() {
    // web is started before control, and does this at once.
    let acts = "acts\nexecve\nptrace";
    let probed = probed::launch("", &[(Process::Web, acts)]);
    probed.wait_said(Process::Web, "life 3");
    let host = &probed.host;
    host.wait_for("control", || host.try_status().is_some());
    let found = recorded(host, "process_violation", 2);
    for (number, (entry, call)) in found.iter().zip(["execve", "ptrace"]).enumerate() {
        let (subject, reason) = (text(entry, "subject"), text(entry, "reason"));
        assert_eq!((subject.as_str(), &entry["witness"]), ("web", &Value::from("control")), "{entry}");
        assert!(reason.starts_with(&format!("no. {}: {call}(", number + 1)), "{entry}");
        assert!(reason.ends_with(" killed"), "{entry}");
    }
    let shown = events(host, "process.violation");
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown.iter().all(|event| event["process"] == "web"), "{shown:?}");
    // agentd knows that these are recorded: another life of control is not told of them again.
    host.kill_and_wait("control");
    let _ = host.json(&["status"]);
    assert_eq!(host.recorded("process_violation").len(), 2);
}

// Holds P2-15.
#[test]
fn a_call_that_kills_in_a_jail_is_recorded_and_the_turn_goes_on() {
    let host = Host::start();
    let came = bash(&host, "unshare -Ur true; echo $?; mount -t tmpfs none /tmp; echo $?");
    assert_eq!(came.out, "137\n137\n", "{}", came.err);
    // mount gives up its own rights first, which is a violation as well, and none that kills.
    let found: Vec<Value> = recorded(&host, "sandbox_violation", 3)
        .into_iter()
        .filter(|entry| text(entry, "reason").ends_with(" killed"))
        .collect();
    let turns: Vec<Value> = host.recorded("turn_started").iter().map(|entry| entry["turn"].clone()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    for (entry, call) in found.iter().zip(["unshare(", "mount("]) {
        assert!(text(entry, "reason").contains(call), "{entry}");
        assert_eq!((text(entry, "subject").as_str(), entry["turn"].clone()), ("runner", turns[0].clone()));
    }
    let session = text(&host.recorded("turn_started")[0], "session");
    let of_session = host.json(&["audit", "query", "--session", &session, "--action", "sandbox_violation"]);
    assert_eq!(of_session["records"].as_array().map(Vec::len), Some(3), "{of_session}");
    let shown = events(&host, "sandbox.violation");
    assert!(shown.iter().any(|event| event["turn"] == turns[0]), "{shown:?}");
}

// Holds P2-15.
#[test]
fn a_refused_call_in_a_jail_is_recorded_and_library_calls_are_not() {
    if !has_python() {
        return;
    }
    let host = Host::start();
    // Questions of ls to name services, and a thread, are no acts.
    let came =
        bash(&host, "ls -l / >/dev/null; id >/dev/null; touch f; chmod u+s f; echo $?; ls -l f | cut -c4");
    assert_eq!(came.out, "1\n-\n", "{}", came.err);
    let came = python(
        &host,
        "import socket\ntry: socket.socket(socket.AF_INET)\nexcept OSError as e: print(e.errno)",
    );
    assert_eq!(came.out.trim(), "97");
    let found = recorded(&host, "sandbox_violation", 2);
    let reasons: Vec<String> = found.iter().map(|entry| text(entry, "reason")).collect();
    assert!(
        reasons.iter().any(|reason| reason.contains("chmod") && reason.ends_with("errno 1")),
        "{reasons:?}"
    );
    assert!(
        reasons.iter().any(|reason| reason.contains("socket(0x2") && reason.ends_with("errno 97")),
        "{reasons:?}"
    );
    assert_eq!(reasons.len(), 2, "{reasons:?}");
}

// Holds P2-15.
#[test]
fn a_jail_that_floods_is_heard_up_to_its_share_and_the_host_goes_on() {
    if !has_python() {
        return;
    }
    let host = Host::start();
    let script = "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
seen = []
for _ in range(5000):
    libc.syscall(41, 2, 1, 0, 0, 0, 0)
    if ctypes.get_errno() not in seen: seen.append(ctypes.get_errno())
print(seen)
";
    // Refused by agentd, then by the kernel: never let through.
    assert_eq!(python(&host, script).out.trim(), "[97, 38]");
    assert_eq!(host.chat("s", "echo: still here"), "still here");
    let found = recorded(&host, "sandbox_violation", 66);
    assert_eq!(found.len(), 66, "64 of them, that it has used up its share, and that nobody hears it now");
    assert!(found[64..].iter().all(|entry| text(entry, "reason").contains("used up")), "{found:?}");
}

// Holds P1-11.
#[test]
fn no_file_of_a_workspace_can_be_made_to_lend_its_owner_s_rights() {
    if !has_python() {
        return;
    }
    let script = "
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
fd = os.open('f', os.O_CREAT | os.O_RDWR, 0o755)
how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_RDWR, 0o4755, 0)
name = lambda n: n.encode()
tries = [
    lambda: libc.syscall(90, name('f'), 0o4755),
    lambda: libc.syscall(91, fd, 0o4755),
    lambda: libc.syscall(268, -100, name('f'), 0o2755),
    lambda: libc.syscall(452, -100, name('f'), 0o4755, 0),
    lambda: libc.syscall(2, name('a'), os.O_CREAT | os.O_RDWR, 0o4755),
    lambda: libc.syscall(257, -100, name('b'), os.O_CREAT | os.O_RDWR, 0o4755),
    lambda: libc.syscall(85, name('c'), 0o6755),
    lambda: libc.syscall(133, name('d'), stat.S_IFREG | 0o4755, 0),
    lambda: libc.syscall(259, -100, name('e'), stat.S_IFREG | 0o4755, 0),
    lambda: libc.syscall(437, -100, name('g'), how, 24),
]
for act in tries: act()
print([n for n in os.listdir('.') if os.lstat(n).st_mode & 0o6000])
";
    let host = Host::start();
    let came = python(&host, script);
    assert_eq!(came.out.trim(), "[]", "{}", came.err);
}
