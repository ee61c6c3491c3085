//! No rule of the table is there for nothing: a day of the host in small, with every call of every process told to
//! agentd, makes use of each rule of each row that the table does not mark as rare. When a rare one is needed the table
//! says as well, and `rare.rs` makes it so.

use crate::rare;
use manifest::syscalls::Call;
use manifest::{Row, TABLE};
use serde_json::json;
use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use tests::{Host, Setup, Upstream, call, connect};

/// The name under which agentd notes each alternative of a rule.
pub(crate) fn rules(row: &Row, call: &Call) -> Vec<String> {
    let name = |conditions: String| format!("{} {} {conditions}", row.process.name(), call.name);
    if call.when.is_empty() {
        return vec![name("[]".to_owned())];
    }
    call.when.iter().map(|all| name(format!("{all:?}"))).collect()
}

/// The work of a coding agent's tools: the shell, git, python and node where this machine has them.
const SCRIPT: &str = "
ls -la / /usr/bin >/dev/null; id; mkfifo pipe; ln -s a b; ln f.txt g 2>/dev/null
git init -q r && cd r && git config user.email a@b && git config user.name n
echo x > f && git add f && git commit -qm m && git log --oneline | cat && git status >/dev/null && git clone -q . ../h
cd ..; chmod 755 r/f; cp -a r r2; mv r2 r3; rm -r r3; sed -i s/x/y/ r/f; find . | sort | head -2; sleep 0.01; df . >/dev/null
(cd /tmp && rmdir -p q 2>/dev/null); mkdir q && rmdir q; touch r/f; stat -f . >/dev/null; kill -0 $$; (sleep 5 & kill $!; wait)
cat f.txt | while read line; do echo $line; done; exec 5>&1; echo >&5; umask 022; uname -a; nice true
/usr/bin/python3 -c '
import faulthandler, os, subprocess, threading, socket, signal, time
faulthandler.enable(); t = threading.Thread(target=time.sleep, args=(0.01,)); t.start(); t.join()
subprocess.run([\"true\"]); a, b = socket.socketpair(); a.send(b\"x\"); b.recvmsg(1); os.sched_yield(); os.utime(\"f.txt\"); os.waitid
signal.signal(signal.SIGUSR1, lambda *a: None); os.kill(os.getpid(), signal.SIGUSR1); os.fchmod(os.open(\"f.txt\", 0), 0o644)
' 2>/dev/null
node -e '
const fs = require(\"fs\"), cp = require(\"child_process\"); cp.execSync(\"true\"); fs.writeFileSync(\"x\", \"y\"); fs.fsyncSync(fs.openSync(\"x\", \"r+\"));
const c = cp.spawn(\"cat\"); c.stdin.end(\"z\"); c.stdout.on(\"data\", d => console.log(\"\" + d)); setTimeout(() => {}, 20);
fs.promises.readFile(\"x\"); let s = 0; for (let i = 0; i < 3e6; i++) s += i; console.log(s);
' 2>/dev/null
perl -e 'print 1' 2>/dev/null; exit 0";

/// Further work of a person's own program: it asks for the models, and serves a page to itself.
const CLIENT: &str = "
echo x > f.txt
/usr/bin/python3 -c '
import os, select, socket, urllib.request
select.poll().poll(0); os.waitid(os.P_PID, os.fork() or os._exit(0), os.WEXITED)
urllib.request.urlopen(os.environ[\"OPENAI_BASE_URL\"] + \"/models\").read()
served = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(served.getsockname()); served.accept()
'";

/// A secret, put in by hand as a person would.
fn secret(host: &Host) {
    let mut command = host.command(&["cred", "set", "planted", "--host", "api.example.com", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a-value-that-is-kept").unwrap();
    let _ = child.wait().unwrap();
}

/// Every tool, in one turn of a scripted model, on a workspace of its own.
fn tools(host: &Host, upstream: &Upstream) {
    let plan = ["write", "read", "edit", "glob", "grep", "bash", "memory_write", "memory_query", "web_fetch"];
    // Untrusted content comes last: calls after it may ask.
    let calls = [
        call("memory_write", &json!({ "content": "kept" })),
        call("memory_query", &json!({ "query": "kept" })),
        call("write", &json!({ "path": "f.txt", "content": "one\ntwo\n" })),
        call("read", &json!({ "path": "f.txt" })),
        call("edit", &json!({ "path": "f.txt", "edits": [{ "oldText": "two", "newText": "three" }] })),
        call("glob", &json!({ "pattern": "**/*.txt" })),
        call("grep", &json!({ "pattern": "three" })),
        call("web_fetch", &json!({ "url": upstream.url("/page") })),
        call("bash", &json!({ "command": "echo done" })),
    ];
    let mut lines = vec![json!({ "plan": plan })];
    lines.extend(calls.iter().map(|call| json!({ "pieces": [call] })));
    lines.push(json!({ "pieces": [{ "text": "that is all" }] }));
    host.script("it", &lines);
    let turn = host.say("tools", &format!("write, read, edit f.txt, look at {}", upstream.url("/page")));
    let _ = turn.ended();
}

/// Requests of people to a host.
fn people(host: &Host) {
    let file = host.dir().join("mine.cedar");
    fs::write(&file, "@id(\"no\")\n@reason(\"no\")\nforbid (principal, action, resource) when { context.tool == \"none\" };\n").unwrap();
    let (policy, note) = (file.display().to_string(), host.dir().join("note"));
    fs::write(&note, "forty-two\n").unwrap();
    secret(host);
    let _ = host.get("/v1/models");
    for words in [
        &["memory", "add", "a fact"][..],
        &["memory", "search", "fact"],
        &["memory", "search", "fact", "--by", "meaning"],
        &["policy", "set", "mine", &policy],
        &["policy", "remove", "mine"],
        &["workspace", "put", "s", "f.txt", note.to_str().unwrap()],
        &["audit", "verify"],
        &["audit", "rotate-key"],
        &["audit", "query", "--category", "tool"],
        &["schedule", "every", "1h", "echo: x"],
        &["schedule", "run", "job-1"],
        &["session", "list"],
        &["logs", "gate"],
        &["events"],
        &["cred", "list"],
        &["attest"],
    ] {
        let _ = host.ctl(words);
    }
}

/// A hook for a channel that has no secret to prove it by.
fn hook(host: &Host) {
    let config = fs::read_to_string(host.dir().join("cordon.toml")).unwrap();
    let port =
        config.split("[ingress]\nlisten = \"127.0.0.1:").nth(1).and_then(|rest| rest.split('"').next());
    let mut stream = connect(port.unwrap().parse().unwrap());
    let head = "POST /hook/idle-webhook HTTP/1.1\r\nhost: hooks\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 5"), "{answer}");
}

/// A rule with all channels under one name: they are one program of the kit with one list of calls, and an idle one may not come to
/// each of them in a short day. Jails with a loopback are under one name too: any program may run in each, and none has a group that
/// that of a person's program has not.
pub(crate) fn shared(rule: &str) -> String {
    match rule.split_once(' ') {
        Some((process, call)) if process.starts_with("channel@") => format!("channel {call}"),
        Some(("runner@net" | "runner@mcp" | "runner@browser", call)) => format!("runner@agent {call}"),
        _ => rule.to_owned(),
    }
}

// Holds P2-12, P2-13.
#[test]
fn every_rule_that_is_not_rare_is_needed_by_a_day_of_the_host() {
    let upstream = Upstream::start("a page");
    let config = format!(
        "[memory]\nembedder = \"local\"\n[web]\nprivate_hosts = [\"127.0.0.1:{0}\"]\n[egress]\nprivate_hosts = [\"127.0.0.1:{0}\"]\n\
         [agent.default]\nmodel = \"scripted/it\"\nprofile = \"power-user\"\n",
        upstream.port
    );
    // By the proxy of the jail, which programs do not ask for addresses of loopback by themselves.
    let fetch = format!("curl -sf --noproxy none.example -x http://127.0.0.1:7081 {}", upstream.url("/page"));
    let place = format!("127.0.0.1:{}", upstream.port);
    let seen = rare::recorded(Setup::default().config(&config).every_process(), |host| {
        tools(host, &upstream);
        people(host);
        host.script("it", &[json!({ "pieces": [{ "text": "that is all" }] })]);
        let folder = host.dir().join("attached");
        fs::create_dir(&folder).unwrap();
        let attached =
            host.ctl(&["chat", "--session", "w", "--workspace", folder.to_str().unwrap(), "-m", "echo: x"]);
        assert_eq!(attached.status.code(), Some(0), "{attached:?}");
        let ran = host.ctl(&["sandbox", "run", "--session", "s", "--", "bash", "-c", SCRIPT]);
        assert!(ran.status.code().is_some(), "{ran:?}");
        let ran = host.ctl(&["run", "--", "bash", "-c", &format!("{CLIENT}{SCRIPT}")]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let ran = host.ctl(&["run", "--agent", "outward", "--allow", &place, "--", "sh", "-c", &fetch]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        hook(host);
        host.kill_and_wait("model");
    });
    let known: HashSet<String> = seen.iter().map(|rule| shared(rule)).collect();
    let all = TABLE
        .iter()
        .flat_map(|row| row.syscalls.iter().flat_map(|group| group.calls).map(move |call| (row, call)));
    let needless: Vec<String> = all
        .filter(|(_, call)| call.rare.is_none() && confine::acts::call_number(call.name).is_some())
        .flat_map(|(row, call)| rules(row, call))
        .filter(|rule| !known.contains(&shared(rule)))
        .collect();
    assert!(needless.is_empty(), "{} rules that nothing needed: {needless:#?}", needless.len());
    rare::all_needed(rare::By::ADay, &seen);
}
