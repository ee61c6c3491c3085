//! Files both ways on every platform but Telegram, each against a server that stands for it: what the owner sends stands in the inbox of
//! the workspace, what a stranger sends is not asked for, and what an agent sends arrives. Matrix is tried against a real homeserver.

mod hooked;
mod messengers;
mod posted;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};
use tests::{Host, Way, call, script};

/// A file that a person sends.
struct Sent {
    name: &'static str,
    bytes: Vec<u8>,
    way: Way,
    /// The size that the platform says it has.
    size: usize,
}

impl Sent {
    fn new(name: &'static str, bytes: &[u8]) -> Self {
        Self { name, bytes: bytes.to_vec(), way: Way::Here, size: bytes.len() }
    }
}

/// A platform with an owner, and somebody whom nobody knows.
trait Network {
    /// The channel of the account.
    const CHANNEL: &'static str;
    /// True if a message's text alone comes to the model, so that it can be a command to read a file.
    const TEXT_ALONE: bool = true;
    /// A host with the account, whose table ends with these lines.
    fn host(&self, keys: &str) -> Host;
    /// The owner, or a stranger, sends a text with files.
    fn send(&self, owner: bool, text: &str, files: &[Sent]);
    /// Requests for files, at the platform's server and at another; none where files come with their message.
    fn asked(&self) -> Option<(usize, usize)>;
    /// The texts that the owner got.
    fn said(&self) -> Vec<String>;
    /// The files that the owner got: names and bytes.
    fn got(&self) -> Vec<(String, usize)>;
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A picture: its first bytes, and something after them.
fn png() -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".as_slice(), &[0xe9; 500]].concat()
}

/// Everything that the messages of a channel say.
fn read(host: &Host, channel: &str) -> String {
    let ids = host.messages_by(channel).into_iter().filter_map(|one| one["id"].as_str().map(str::to_owned));
    let shown = ids.map(|id| host.json(&["message", "show", &id])["message"]["text"].clone());
    shown.filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

/// The line about a file that was taken.
fn line(name: &str, kind: &str, bytes: &[u8]) -> [String; 2] {
    let place = format!("; read-only at /workspace/inbox/{}/{name}", sha256(bytes));
    [format!("{name}, {kind}, {} bytes", bytes.len()), place]
}

/// A document and a picture of the owner are in the inbox, where the agent reads them, and a stranger's are not asked for.
fn receives<N: Network>(network: &N) {
    let host =
        network.host("streaming = \"off\"\ntyping = false\nagent = \"reader\"\n[agent.reader]\nmodel = \"offline/reader\"\n");
    let words = "the harbour master's list\n".repeat(11_000);
    let picture = png();
    network.send(false, "look", &[Sent::new("strange.txt", b"let me in")]);
    network.send(
        true,
        "look",
        &[Sent::new("../../list.txt", words.as_bytes()), Sent::new("p.png", &picture)],
    );
    let lines = [line("list.txt", "text/plain", words.as_bytes()), line("p.png", "image/png", &picture)];
    host.wait_for("the files are there", || {
        let read = read(&host, N::CHANNEL);
        lines.as_flattened().iter().all(|part| read.contains(part))
    });
    assert!(network.asked().is_none_or(|asked| asked == (2, 0)), "{:?}", network.asked());
    assert!(!read(&host, N::CHANNEL).contains("strange.txt"));
    if N::TEXT_ALONE {
        network.send(true, &format!("read inbox/{}/list.txt", sha256(words.as_bytes())), &[]);
        host.wait_for("the agent has read it", || {
            network.said().iter().any(|text| text.contains("the harbour master's list"))
        });
    }
}

/// A file that is too large, on another server, or led to another server, is not taken, and its sender reads so.
fn refuses<N: Network>(network: &N, ways: &[Way]) {
    let host =
        network.host("streaming = \"off\"\ntyping = false\nagent = \"reader\"\n[agent.reader]\nmodel = \"offline/reader\"\n");
    let large = vec![b'7'; 21 << 20];
    let mut files = vec![
        Sent { size: large.len(), ..Sent::new("declared.bin", b"small") },
        Sent { size: 5, ..Sent::new("endless.bin", &large) },
    ];
    files.extend(ways.iter().map(|way| match way {
        Way::Elsewhere => Sent { way: *way, ..Sent::new("elsewhere.bin", b"foreign") },
        _ => Sent { way: *way, ..Sent::new("moved.bin", b"foreign") },
    }));
    for file in &files {
        network.send(true, "see", std::slice::from_ref(file));
        let told = |text: &String| text.contains("I did not take") && text.contains(file.name);
        host.wait_for(file.name, || network.said().iter().any(told));
    }
    assert!(network.asked().is_none_or(|(_, elsewhere)| elsewhere == 0), "nothing is asked elsewhere");
    let reasons = network.said().iter().filter(|text| text.contains("it is over 20 MiB")).count();
    assert_eq!(reasons, 2, "{:?}", network.said());
    assert!(!read(&host, N::CHANNEL).contains("read-only at"));
}

/// An agent sends a document and a picture, once a person has allowed it where the host asks for that.
fn sends<N: Network>(network: &N) {
    let host = network.host(
        "streaming = \"off\"\ntyping = false\nagent = \"sender\"\n[agent.sender]\nmodel = \"scripted/answers\"\nprofile = \"standard\"\n",
    );
    let (words, picture) = ("a,b\n1,2\n", png());
    let encoded = STANDARD.encode(&picture);
    let calls = [
        call("write", &json!({ "path": "table.csv", "content": words })),
        call(
            "send_file",
            &json!({ "path": "table.csv", "sha256": sha256(words.as_bytes()), "caption": "The table" }),
        ),
        call("write", &json!({ "path": "p.png", "content": encoded, "encoding": "base64" })),
        call("send_file", &json!({ "path": "p.png", "sha256": sha256(&picture) })),
    ];
    host.script("answers", &script(&calls));
    network.send(true, "make me a table and a picture", &[]);
    host.wait_for("the files are sent", || {
        let waiting = host.ask(&["approvals", "list"])["approvals"].as_array().cloned().unwrap_or_default();
        for id in waiting.iter().filter_map(|one| one["id"].as_str()) {
            let _ = host.ask(&["approvals", "approve", id, "--yes"]);
        }
        network.got().len() == 2
    });
    let sent = [("table.csv".to_owned(), words.len()), ("p.png".to_owned(), picture.len())];
    assert_eq!(network.got(), sent);
    assert!(network.said().iter().any(|text| text.contains("The table")), "{:?}", network.said());
}

/// The tests of a platform.
macro_rules! platform {
    ($name:ident, $start:expr, $ways:expr) => {
        mod $name {
            use super::*;

            // Holds P11-51, P11-55.
            #[test]
            fn files_of_the_owner_arrive_and_those_of_a_stranger_are_not_fetched() {
                receives(&$start);
            }

            // Holds P11-50, P11-55.
            #[test]
            fn a_file_that_is_too_large_or_led_elsewhere_is_not_taken() {
                refuses(&$start, &$ways);
            }

            // Holds P11-53.
            #[test]
            fn files_of_an_agent_arrive() {
                sends(&$start);
            }
        }
    };
}

platform!(on_discord, messengers::OnDiscord::start(), [Way::Elsewhere, Way::Moved]);
platform!(on_slack, messengers::OnSlack::start(), [Way::Elsewhere, Way::Moved]);
platform!(on_whatsapp, hooked::OnWhatsapp::start(), [Way::Elsewhere, Way::Moved]);
platform!(on_signal, posted::OnSignal::start(), []);

// Holds P11-51, P11-55.
#[test]
fn files_of_mail_arrive_and_those_of_an_unproven_sender_do_not() {
    receives(&posted::OnMail::start());
}

// Holds P11-53.
#[test]
fn files_of_an_agent_arrive_by_mail() {
    sends(&posted::OnMail::start());
}

// Holds P11-51, P11-55.
#[test]
fn files_of_a_hook_arrive_and_those_of_a_stranger_are_not_kept() {
    receives(&hooked::OnWebhook::start());
}

// Holds P11-53.
#[test]
fn files_of_an_agent_arrive_at_the_receiver_of_hooks() {
    sends(&hooked::OnWebhook::start());
}
