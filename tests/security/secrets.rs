//! A secret goes in and never comes out: it is planted, used against an upstream that gives it back, and then looked
//! for everywhere.

use crate::probed::processes;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use tests::discord::{self, Discord};
use tests::{Host, Setup};

/// Looks like nothing that a scanner knows by its form, so that only what credproxy knows can cut it out.
const SECRET: &str = "planted-Wq7ZtVx2Kc9LmRb4HsYd-value";

/// The secret as it could stand somewhere.
fn needles() -> Vec<Vec<u8>> {
    needles_of(SECRET)
}

/// The same of any secret.
pub(crate) fn needles_of(secret: &str) -> Vec<Vec<u8>> {
    let mut needles = vec![secret.as_bytes().to_vec()];
    for skip in 0..3 {
        // The borders depend on the neighbours: the middle is always the same.
        let padded = [vec![b' '; skip], secret.as_bytes().to_vec()].concat();
        for text in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            needles.push(text.as_bytes()[4..text.len() - 4].to_vec());
        }
    }
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    needles.extend([hex.to_uppercase().into_bytes(), hex.into_bytes()]);
    needles
}

pub(crate) fn holds(haystack: &[u8], needles: &[Vec<u8>]) -> bool {
    needles.iter().any(|needle| {
        let (first, rest) = needle.split_first().unwrap();
        let mut from = 0;
        while let Some(at) = haystack[from..].iter().position(|byte| byte == first) {
            from += at + 1;
            if haystack[from..].starts_with(rest) {
                return true;
            }
        }
        false
    })
}

/// An upstream that answers each request with the key it was given, in every way it can think of.
fn upstream() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, keys) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut key, mut length) = (String::new(), 0);
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                let (name, value) = line.split_once(": ").unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "authorization" => value.clone_into(&mut key),
                    "content-length" => length = value.parse().unwrap_or(0),
                    _ => {}
                }
            }
            drop(reader.take(length).read_to_end(&mut Vec::new()));
            drop(stream.write_all(reply(&key).as_bytes()));
            drop(sender.send(key));
        }
    });
    (port, keys)
}

fn reply(key: &str) -> String {
    let text = format!("your key is {key}, or {}", STANDARD_NO_PAD.encode(key));
    let piece = |delta: serde_json::Value, finish: serde_json::Value| {
        let choice = serde_json::json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!(
            "data: {}\n\n",
            serde_json::json!({ "id": "x", "object": "chat.completion.chunk", "choices": [choice] })
        )
    };
    let first = piece(serde_json::json!({ "role": "assistant", "content": text }), serde_json::Value::Null);
    let body = format!("{first}{}data: [DONE]\n\n", piece(serde_json::json!({}), "stop".into()));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    format!("{head}x-your-key: {key}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A host whose model sends the planted secret to the upstream, once, and whose agent calls a service there with it,
/// once.
fn planted() -> Host {
    let (port, keys) = upstream();
    let config = format!(
        "[agent.default]\nmodel = \"local/m\"\n[provider.local]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
         secret = \"planted\"\n[provider.local.models.m]\n[credproxy]\nplain_http = [\"127.0.0.1:{port}\"]\n\
         [agent.helper]\nmodel = \"offline/hijackable\"\n[service.box]\nbase_url = \"http://127.0.0.1:{port}\"\n\
         secret = \"planted\"\nagents = [\"helper\"]\n[log]\nlevel = \"trace\"\n"
    );
    let host = Setup::default().config(&config).start();
    host.keep("planted", SECRET, &["--host", &format!("127.0.0.1:{port}")]);
    let value = host.ask(&["chat", "--session", "s", "-m", "what is my key?"]);
    assert_eq!(keys.recv_timeout(std::time::Duration::from_secs(60)).unwrap(), format!("Bearer {SECRET}"));
    assert!(!holds(value.to_string().as_bytes(), &needles()), "{value}");
    let order = r#"echo: look !!CALL http_call {"service":"box","path":"/"}!!"#;
    let value = host.ask(&["chat", "--agent", "helper", "--session", "box", "-m", order]);
    assert_eq!(keys.recv_timeout(std::time::Duration::from_secs(60)).unwrap(), format!("Bearer {SECRET}"));
    assert!(!holds(value.to_string().as_bytes(), &needles()), "{value}");
    assert!(value.to_string().contains("your key is"), "{value}");
    host
}

pub(crate) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

// Holds P4-30.
#[test]
fn a_planted_secret_is_in_no_file_no_log_and_no_answer() {
    let host = planted();
    for words in [
        &["cred", "list"][..],
        &["session", "show", "s"],
        &["session", "show", "box"],
        &["audit", "tail"],
        &["message", "list"],
        &["status"],
    ] {
        let answer = host.json(words).to_string();
        assert!(!holds(answer.as_bytes(), &needles()), "{words:?}: {answer}");
    }
    no_file_holds(&host, &needles());
}

fn no_file_holds(host: &Host, needles: &[Vec<u8>]) {
    let mut found = Vec::new();
    // Everything of the host's, the vault too: it is sealed.
    files(host.dir(), &mut found);
    assert!(found.iter().any(|path| path.ends_with("state/logs/credproxy.log")));
    assert!(found.iter().filter(|path| path.starts_with(host.state().join("credproxy"))).count() >= 2);
    for path in found {
        assert!(!holds(&fs::read(&path).unwrap(), needles), "{}", path.display());
    }
}

// Holds P4-30.
#[test]
fn a_planted_secret_is_in_no_environment_and_no_command_line() {
    let host = planted();
    for (name, pid) in processes(&host) {
        for file in ["environ", "cmdline"] {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            assert!(!holds(&text, &needles()), "{name}: {file}");
        }
    }
}

// Holds P4-30.
#[test]
fn a_planted_secret_is_in_nobody_s_memory_but_credproxy_s() {
    // The user of a host in mode user owns the namespace of its processes, and may look into them as root may.
    let host = planted();
    let mut looked = 0;
    for (name, pid) in processes(&host).into_iter().chain([("agentd".to_owned(), host.agentd())]) {
        let found = memory_holds(pid, &needles());
        looked += 1;
        assert!(name == "credproxy" || !found, "{name} has it in memory");
    }
    assert!(looked > 8);
}

/// Returns whether any readable mapping of a process holds one of these.
pub(crate) fn memory_holds(pid: i32, needles: &[Vec<u8>]) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let ranges = maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let readable =
            words.next()?.starts_with('r') && !line.ends_with("[vvar]") && !line.ends_with("[vsyscall]");
        let number = |text| u64::from_str_radix(text, 16).ok();
        readable.then_some((number(from)?, number(to)?))
    });
    let mut read = 0;
    for (from, to) in ranges {
        let mut bytes = vec![0; usize::try_from(to - from).unwrap()];
        // A page that cannot be read after all ends the piece, not the search.
        let length = memory.read_at(&mut bytes, from).unwrap_or(0);
        read += length;
        if holds(&bytes[..length], needles) {
            return true;
        }
    }
    assert!(read > 1 << 20, "almost nothing of {pid} could be read");
    false
}

#[test]
fn a_secret_that_is_there_is_found_by_this_search() {
    // The search above proves something only if it finds what is there: this program's own memory has it.
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(memory_holds(own, &needles()));
    assert!(holds(
        format!("x{}", STANDARD_NO_PAD.encode(format!("Bearer {SECRET}."))).as_bytes(),
        &needles()
    ));
}

// Holds P4-30, P4-40.
#[test]
fn a_token_of_discord_is_nowhere_but_in_credproxy() {
    let (discord, needles) = (Discord::start(), needles_of(discord::TOKEN));
    let host = discord.host(Setup::default().config("[log]\nlevel = \"trace\"\n"), "");
    host.script("answers", &[serde_json::json!({ "pieces": [{ "text": "it is safe" }] })]);
    // The token goes out over the socket and in requests, and comes back in a message.
    discord.direct(discord::ANN, &format!("is {} safe?", discord::TOKEN));
    host.wait_for("it is answered", || {
        discord.sent(discord::direct(discord::ANN)).iter().any(|message| message.text() == "it is safe")
    });
    let listed = host.json(&["message", "list", "--channel", "discord:main"]);
    let shown = host.json(&["message", "show", listed["messages"][0]["id"].as_str().unwrap()]);
    let tail = host.json(&["audit", "tail", "--from", "0"]);
    for answer in [&listed, &shown, &tail, &host.json(&["status"])] {
        assert!(!holds(answer.to_string().as_bytes(), &needles), "{answer}");
    }
    no_file_holds(&host, &needles);
    for (name, pid) in processes(&host) {
        assert!(name == "credproxy" || !memory_holds(pid, &needles), "{name} has it in memory");
    }
}
