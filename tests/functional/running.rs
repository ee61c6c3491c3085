//! `agentctl run`: a program that asks models by itself, in a jail with a loopback of its own.

use crate::sandbox::NOT_RUN;
use nix::pty::{Winsize, openpty};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tests::{Host, Person, Setup, Upstream, kill, signal};

/// A client of chat completions that streams, in words that every Python has.
const CLIENT: &str = r#"
import json, os, sys, urllib.request
base, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
body = {"model": os.environ["CORDON_MODEL"], "stream": True,
        "messages": [{"role": "user", "content": "echo: high water"}]}
request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(),
                                 {"Content-Type": "application/json", "Authorization": "Bearer " + key})
said = ""
for line in urllib.request.urlopen(request):
    if line.startswith(b"data: {"):
        for choice in json.loads(line[6:])["choices"]:
            said += choice["delta"].get("content") or ""
print(key, said)
"#;

/// Attempts to reach the network, each with its result.
const TRIES: &str = r#"
import errno, socket, sys
def tried(name, family, kind, address):
    try:
        made = socket.socket(family, kind)
        made.settimeout(2)
        made.connect(address)
        print(name, "REACHED")
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, error))
port = int(sys.argv[1])
tried("host", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
tried("outside", socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80))
tried("outside6", socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80))
tried("datagram", socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53))
tried("unix", socket.AF_UNIX, socket.SOCK_STREAM, "/workspace/s")
"#;

/// Asks for as much as it can at once.
const MANY: &str = r#"
import json, os, threading, urllib.request
said = [{"role": role, "content": "a b " * 240_000} for role in ("user", "assistant", "user", "assistant")]
body = json.dumps({"model": os.environ["CORDON_MODEL"], "max_tokens": 9, "messages": said}).encode()
def ask(found):
    address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages/count_tokens"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    found.append(urllib.request.urlopen(request).status)
found = []
threads = [threading.Thread(target=ask, args=(found,)) for _ in range(60)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), set(found))
"#;

/// The fields of an answer by which each vendor's client knows it.
const WORDS: &str = r#"
import http.client, json, sys
def asked(method, path, second):
    link = http.client.HTTPConnection("127.0.0.1", 7080)
    link.request(method, path, headers={"anthropic-version": "2023-06-01"} if second else {})
    answer = link.getresponse()
    value, named = json.loads(answer.read()), "request-id" if second else "x-request-id"
    assert answer.getheader(named).startswith("req_"), answer.headers
    return answer.status, value
for second in (False, True):
    status, listed = asked("GET", "/v1/models", second)
    first = listed["data"][0]
    print(status, first.get("display_name"), first.get("object"), listed.get("first_id"), listed.get("object"))
    status, one = asked("GET", "/v1/models/" + first["id"], second)
    print(status, one == first)
    for method, path in (("GET", "/v1/models/a%ff"), ("DELETE", "/v1/models")):
        status, refused = asked(method, path, second)
        print(status, refused.get("type"), refused["error"]["type"])
"#;

/// Runs a program; its status, its output and what was said beside it.
fn run(host: &Host, words: &[&str]) -> (Option<i32>, String, String) {
    let words: Vec<&str> = ["run"].iter().chain(words).copied().collect();
    let output = host.ctl(&words);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// Holds P1-18.
#[test]
fn a_program_asks_a_model_over_its_loopback_with_a_placeholder_key() {
    let host = Host::start();
    let (code, out, err) = run(&host, &["--", "/usr/bin/python3", "-c", CLIENT]);
    assert_eq!((code, out.as_str()), (Some(0), "placeholder high water\n"), "{err}\n{}", host.log());
    assert_eq!(run(&host, &["--", "sh", "-c", "echo out; echo err >&2; exit 7"]).0, Some(7));
    for (program, status) in NOT_RUN {
        let (code, out, err) = run(&host, &["--", program]);
        assert!(
            (code, out.as_str()) == (Some(status), "") && err.contains(&format!("{program}: ")),
            "{code:?} {err}"
        );
    }
}

// Holds P1-18.
#[test]
fn nothing_but_the_jail_itself_answers_on_its_network() {
    let host = Host::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (code, out, err) = run(&host, &["--", "/usr/bin/python3", "-c", TRIES, &port]);
    let expected = "host ECONNREFUSED\noutside ENETUNREACH\noutside6 ENETUNREACH\ndatagram EAFNOSUPPORT\n\
                    unix EAFNOSUPPORT\n";
    assert_eq!((code, out.as_str()), (Some(0), expected), "{err}");
}

// Holds P1-19.
#[test]
fn each_vendors_client_in_a_jail_gets_models_and_faults_in_its_own_form() {
    let host = Host::start();
    let (code, out, err) = run(&host, &["--", "/usr/bin/python3", "-c", WORDS]);
    let expected = "200 None model None list\n200 True\n\
                    404 None invalid_request_error\n405 None invalid_request_error\n\
                    200 offline/reader None offline/reader None\n200 True\n\
                    404 error not_found_error\n405 error invalid_request_error\n";
    assert_eq!((code, out.as_str()), (Some(0), expected), "{err}");
}

#[test]
fn however_much_it_asks_at_once_the_gate_goes_on_serving_everybody() {
    let host = Host::start();
    let gate = host.pid("gate");
    let (code, out, err) = run(&host, &["--", "/usr/bin/python3", "-c", MANY]);
    assert_eq!((code, out.as_str()), (Some(0), "60 {200}\n"), "{err}\n{}", host.log());
    assert_eq!(host.pid("gate"), gate, "{}", host.log());
}

// Holds P1-21.
#[test]
fn what_it_asks_costs_its_agent_s_budget_and_is_on_the_record() {
    const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ready\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
        \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1,\"total_tokens\":8}}\n\ndata: [DONE]\n\n";
    let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
    let at = format!("127.0.0.1:{}", upstream.port);
    let config = format!(
        "[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
         [provider.corp.models.small]\ninput_usd = 1\noutput_usd = 1\n[agent.default]\nmodel = \"corp/small\"\n\
         [budget]\nday_usd = 0.000005\n"
    );
    let host = Setup::default().config(&config).start();
    let (code, out, err) = run(&host, &["--", "/usr/bin/python3", "-c", CLIENT]);
    assert_eq!((code, out.as_str()), (Some(0), "placeholder ready\n"), "{err}\n{}", host.log());
    let usage = || host.json(&["model", "usage", "--by", "agent"])["usage"].clone();
    host.wait_for("it is settled", || usage()[0]["cost_micros"] == 8);
    assert_eq!(usage()[0]["group"], "default");
    let (code, _, err) = run(&host, &["--", "/usr/bin/python3", "-c", CLIENT]);
    assert!(code == Some(1) && err.contains("429"), "{err}");
    assert_eq!(upstream.heard().len(), 1, "nobody was asked again");
    let record = host.json(&["audit", "query", "--action", "model_decided"]);
    let events = record["records"].as_array().cloned().unwrap_or_default();
    let ours = |event: &&Value| event["reason"].as_str().is_some_and(|why| why.starts_with("run by"));
    assert!(events.iter().any(|event| ours(&event) && event["turn"].is_string()), "{record}");
}

// Holds P1-22.
#[test]
fn what_is_piped_in_reaches_it_and_so_does_the_end_of_it() {
    let host = Host::start();
    let mut command = host.command(&["run", "--", "sh", "-c", "wc -c; head -c 3 /dev/null; exit 5"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b'a'; 1_000_000]).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).trim()), (Some(5), "1000000"), "{output:?}");
}

#[test]
fn nothing_of_what_it_said_is_lost_on_somebody_who_reads_slowly() {
    let host = Host::start();
    let said = |bytes: usize| {
        let script = format!("head -c {bytes} /dev/zero | tr '\\0' a; echo END");
        let mut command = host.command(&["run", "--", "sh", "-c", &script]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // More than what waits on the way takes in, and less than what ends the program only once it is read.
    let lengths = [700_000, 800_000, 1_000_000];
    let children = lengths.map(said);
    std::thread::sleep(Duration::from_secs(4));
    for (length, child) in lengths.into_iter().zip(children) {
        let output = child.wait_with_output().unwrap();
        let (count, end) = (output.stdout.len(), output.stdout.ends_with(b"aEND\n"));
        assert_eq!((output.status.code(), count, end), (Some(0), length + 4, true));
    }
}

#[test]
fn runners_that_wait_for_an_agent_s_turn_make_room_for_it() {
    let host = Setup::default().config("[host]\nrunner_slots = 1\nwarm_runners = 1\n").start();
    for _ in 0..2 {
        let (code, out, err) = run(&host, &["--", "echo", "there"]);
        assert_eq!((code, out.as_str()), (Some(0), "there\n"), "{err}\n{}", host.log());
    }
}

// Holds P1-22.
#[test]
fn a_jail_has_its_own_terminal_of_the_persons_size() {
    let host = Host::start();
    let size = Winsize { ws_row: 31, ws_col: 97, ws_xpixel: 0, ws_ypixel: 0 };
    let ends = openpty(Some(&size), None).unwrap();
    let script = "tty; stty size; echo ready; read x; echo got-$x; exit 3";
    let mut command = host.command(&["run", "--", "sh", "-c", script]);
    command
        .stdin(ends.slave.try_clone().unwrap())
        .stdout(ends.slave.try_clone().unwrap())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop((command, ends.slave));
    let mut terminal = File::from(ends.master);
    let mut said = String::new();
    let mut typed = false;
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = terminal.read(&mut buffer) {
        said.push_str(&String::from_utf8_lossy(&buffer[..length]));
        if !typed && said.contains("ready\r") {
            typed = true;
            terminal.write_all(b"hello\r").unwrap();
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    for line in ["/dev/pts/0", "31 97", "got-hello"] {
        assert!(said.lines().any(|it| it.trim() == line), "{said}");
    }
}

// Holds P1-23.
#[test]
fn a_run_whose_client_went_away_goes_on_and_is_taken_up_by_its_token() {
    let host = Host::start();
    let script = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second; exit 4";
    let mut command = host.command(&["run", "--session", "kept", "--json", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        std::io::BufRead::read_line(&mut said, line).unwrap();
    }
    let started: Value = serde_json::from_str(&lines[0]).unwrap();
    assert!(lines[1].contains("first"), "{lines:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let token = started["token"].as_str().unwrap();
    let mut command = host.command(&["run", "--resume", token]);
    let taken_up = command.stdout(Stdio::piped()).spawn().unwrap();
    // A turn of the same session would wait for the run: the file comes from outside.
    std::fs::write(workspace(&host).join("go"), "").unwrap();
    let output = taken_up.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(4), "first\nsecond\n"));
}

/// The names of the sessions that have not ended.
fn sessions(host: &Host) -> Vec<String> {
    let listed = host.json(&["session", "list"]);
    let all = listed["sessions"].as_array().cloned().unwrap_or_default();
    let open = all.iter().filter(|session| session["status"] == "active");
    open.map(|session| tests::text(session, "name")).collect()
}

/// How many workspaces the host knows.
fn workspaces(host: &Host) -> usize {
    host.json(&["workspace", "list"])["workspaces"].as_array().map_or(usize::MAX, Vec::len)
}

// Holds P1-23.
#[test]
fn a_run_that_is_taken_up_leaves_no_session_behind_that_nobody_named() {
    let host = Host::start();
    let script = "echo first; while [ ! -e go ]; do sleep 0.05; done; exit 6";
    let mut command = host.command(&["run", "--json", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        std::io::BufRead::read_line(&mut said, line).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sessions(&host).len(), 1);
    let started: Value = serde_json::from_str(&lines[0]).unwrap();
    let mut command = host.command(&["run", "--resume", started["token"].as_str().unwrap()]);
    let taken_up = command.stdout(Stdio::piped()).spawn().unwrap();
    std::fs::write(workspace(&host).join("go"), "").unwrap();
    assert_eq!(taken_up.wait_with_output().unwrap().status.code(), Some(6));
    assert_eq!((sessions(&host), workspaces(&host)), (vec![], 0));
}

// Holds P1-07.
#[test]
fn a_removed_workspace_leaves_the_disk_also_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let start = || tests::Setup::default().state(&state).start();
    let entries = |of: &str| std::fs::read_dir(state.join(of)).map_or(0, Iterator::count);
    let made = "run: mkdir -p a/b/c && for n in $(seq 600); do : > a/b/$n; done && chmod 000 a/b && ln -s / root; echo ok";
    for (session, stops) in [("one", false), ("other", true)] {
        let mut host = start();
        assert!(host.chat(session, made).contains("ok"));
        let _ = host.json(&["session", "end", session]);
        let listed = host.json(&["workspace", "list"]);
        assert_eq!(entries("runner"), 1, "it stays until it is removed");
        let _ = host.json(&["workspace", "remove", &tests::text(&listed["workspaces"][0], "id")]);
        if stops {
            host.stop();
            host = start();
        }
        host.wait_for("its folder is gone", || entries("runner") == 0 && entries("removed") == 0);
        // Its processes are gone before the next host begins, however long they take.
        host.stop();
    }
    assert!(std::path::Path::new("/usr").exists());
}

// Holds P1-25.
#[test]
fn a_signal_ends_the_jail_and_restores_the_terminal() {
    let host = Host::start();
    for (sent, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let mut person = Person::with(host.command(&["run", "--", "sh", "-c", "echo rea''dy; sleep 600"]));
        person.sees("ready");
        assert!(!person.is_echoed(), "every key is the program's");
        signal(person.pid(), sent);
        assert_eq!(person.ended().code(), Some(code), "{}", person.shown());
        assert!(person.is_echoed(), "{sent}");
        host.wait_for("the jail is gone", || host.programs_in_jails().is_empty());
        assert_eq!((sessions(&host), workspaces(&host)), (vec![], 0));
    }
    // Without a terminal, and with nobody who reads any more.
    let mut command = host.command(&["run", "--", "sh", "-c", "while true; do echo out; sleep 0.05; done"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 4]).unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    host.wait_for("the jail is gone", || host.programs_in_jails().is_empty());
    assert_eq!((sessions(&host), workspaces(&host)), (vec![], 0));
}

// Holds B-75.
#[test]
fn a_user_has_four_programs_under_way_and_the_next_is_refused() {
    let host = Host::start();
    let start = || {
        let mut command = host.command(&["run", "--", "sh", "-c", "echo up; sleep 600"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        child
    };
    let mut children: Vec<_> = (0..4).map(|_| start()).collect();
    let (code, _, err) = run(&host, &["--", "true"]);
    assert!(
        code == Some(125) && err.contains("4 programs and engines of yours run or wait already"),
        "{code:?} {err}"
    );
    assert_eq!(host.chat("s", "echo: still here"), "still here", "agents go on");
    let mut first = children.remove(0);
    signal(i32::try_from(first.id()).unwrap(), Signal::SIGTERM);
    assert_eq!(first.wait().unwrap().code(), Some(143));
    let (code, out, err) = run(&host, &["--", "echo", "again"]);
    assert_eq!((code, out.as_str()), (Some(0), "again\n"), "{err}");
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The one workspace that the host keeps.
fn workspace(host: &Host) -> std::path::PathBuf {
    let mut found =
        std::fs::read_dir(host.state().join("runner")).unwrap().flatten().map(|entry| entry.path());
    found.next().unwrap()
}

// Holds P1-23.
#[test]
fn a_program_whose_jail_is_lost_is_not_run_again_by_itself() {
    let host = Host::start();
    let script = "echo x >> ran; echo up; sleep 60";
    let mut command = host.command(&["run", "--session", "kept", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut up = [0; 3];
    child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
    kill(host.programs_in_jails()[0]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("not run again by itself"), "{output:?}");
    assert_eq!(std::fs::read_to_string(workspace(&host).join("ran")).unwrap(), "x\n");
}

#[test]
fn a_program_whose_gate_is_gone_ends_at_once_whether_it_speaks_or_not() {
    let host = Host::start();
    let mut command = host.command(&["run", "--", "sh", "-c", "echo up; sleep 600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut up = [0; 3];
    child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
    // Long before its program would have ended, on however slow a machine.
    let began = Instant::now();
    kill(host.pid("gate"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(text(&output.stderr).contains("not run again by itself"), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(300), "{:?}", began.elapsed());
}

// Holds P1-27.
#[test]
fn a_host_without_network_namespaces_refuses_it_and_says_why() {
    let host = Setup::default().config("[host]\nmode = \"flat\"\n").start();
    let (code, _, err) = run(&host, &["--", "true"]);
    assert!(code == Some(125) && err.contains("mode flat"), "{code:?} {err}");
}
