//! A memory of a hundred thousand rows in a host: what its process weighs, what a durable row costs over a connection that is
//! there already, and what a coding agent waits for its hook, a whole process each time.

use crate::figure::Figure;
use crate::finding::{OF_ROW, Words};
use crate::person::{self, Person, note};
use crate::spread::Samples;
use crate::{floors, idle};
use ipc_proto::Text;
use ipc_proto::control::{ControlClient, method};
use ipc_proto::memory::Area;
use memory::bench::{Bare, FilledStore};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tests::Host;

/// Rows that are there, and words of a question.
const ROWS: u64 = 100_000;
const QUESTION: usize = 3;
/// How often each thing is done, and how long after the one before it: what follows an answer is none of the next one's time.
const ROUNDS: usize = 100;
const PAUSE: Duration = Duration::from_millis(25);
/// More rows than one user may have unless told otherwise.
const CONFIG: &str = "[memory]\nmax_rows = 200000\n";

/// An event of Claude Code for its hook.
const HOOKS: [(&str, &str); 3] = [
    ("a session that begins", "SessionStart"),
    ("a question", "UserPromptSubmit"),
    ("a tool's result", "PostToolUse"),
];

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let host = person::host(CONFIG)?;
    fill(&host)?;
    let mut words = Words::new(2);
    for _ in 0..ROUNDS {
        let _ = host.json(&["memory", "search", &words.text(QUESTION, 0.0)]);
    }
    let mut weight = Samples::default();
    weight.add(idle::weight_of_one(host.pid("memory").unsigned_abs())?);
    let [whole, floor] = kit::bench::run(hand_over(host.socket(), host.dir().to_owned()))??;
    let [kept, bare] = keep()?;
    let mut figures = vec![
        Figure::new(format!("memory of a host with {ROWS} rows, asked: PSS"), "MiB", &weight).at_most(60.0),
        Figure::new(format!("a row kept beside {ROWS}, found by words and meaning, durable"), "ms", &kept)
            .floor("the same text in a table of SQLite without an index", &bare)
            .at_most_times_floor(3.0),
        Figure::new("a row handed over: scanned, on the record, kept, acknowledged", "ms", &whole)
            .floor("append of 256 bytes with fdatasync", &floor),
    ];
    for (name, event) in HOOKS {
        let mut took = Samples::default();
        for round in 0..ROUNDS {
            took.add_millis(hook(&host, event, round, &words.text(OF_ROW, 0.0))?);
            std::thread::sleep(PAUSE);
        }
        figures.push(Figure::new(format!("hook of a coding agent: {name}"), "ms", &took).at_most(20.0));
    }
    Ok(figures)
}

/// The placeholder for the words of a row.
const LIKE: &str = "a row like the others";

/// Has a host take in its rows, from lines like the one that it wrote of one.
fn fill(host: &Host) -> io::Result<()> {
    let id = tests::text(&host.json(&["memory", "add", LIKE, "--kind", "discovery"]), "id");
    let [one, all] = ["one", "all"].map(|name| host.dir().join(name));
    let _ = host.ctl(&["memory", "export", &one.display().to_string()]);
    let line = fs::read_to_string(one)?;
    let mut to = BufWriter::new(File::create(&all)?);
    let mut words = Words::new(1);
    for number in 0..ROWS {
        // An id of its own, of the form that ids have.
        let own = format!("00000000-0000-4000-8000-{number:012x}");
        to.write_all(line.replace(&id, &own).replace(LIKE, &words.text(OF_ROW, 0.0)).as_bytes())?;
    }
    to.flush()?;
    let done = host.json(&["memory", "import", &all.display().to_string(), "--mine"]);
    if done.get("taken") == Some(&json!(ROWS)) { Ok(()) } else { Err(io::Error::other(done.to_string())) }
}

/// How long memory's own code takes for a row, and a bare commit beside it.
fn keep() -> io::Result<[Samples; 2]> {
    let folder = tempfile::tempdir()?;
    let mut words = Words::new(1);
    let texts: Vec<String> = (0..ROWS).map(|_| words.text(OF_ROW, 0.0)).collect();
    let (mut store, plain) = (FilledStore::filled(folder.path(), &texts)?, Bare::new(folder.path())?);
    let [mut kept, mut bare] = <[Samples; 2]>::default();
    for _ in 0..ROUNDS {
        let text = words.text(OF_ROW, 0.0);
        let began = Instant::now();
        store.write(&text)?;
        kept.add_millis(began.elapsed());
        let began = Instant::now();
        plain.write(&text)?;
        bare.add_millis(began.elapsed());
        std::thread::sleep(PAUSE);
    }
    Ok([kept, bare])
}

/// How long a row takes over a connection, and an append beside it.
async fn hand_over(socket: PathBuf, folder: PathBuf) -> io::Result<[Samples; 2]> {
    let person = Person::connect(&socket).await?;
    let [mut whole, mut floor] = <[Samples; 2]>::default();
    let mut words = Words::new(3);
    for _ in 0..ROUNDS {
        let text = Text::clip(&words.text(OF_ROW, 0.0));
        let began = Instant::now();
        let add = async |control: &ControlClient, context| {
            control.memory_write(context, Area::User, note(text.clone())).await
        };
        person.ask(&method::memory_write, add).await?;
        whole.add_millis(began.elapsed());
        floor.append(floors::append(&folder, 1)?);
        tokio::time::sleep(PAUSE).await;
    }
    Ok([whole, floor])
}

/// How long a hook takes, from its exec to its end.
fn hook(host: &Host, event: &str, round: usize, words: &str) -> io::Result<Duration> {
    let told = told(host.dir(), event, round, words).to_string();
    let mut command = host.command(&["hook", "claude-code"]);
    command.env("XDG_STATE_HOME", host.dir()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(told.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let took = began.elapsed();
    let said = fs::read_to_string(host.dir().join("cordon/hook.log")).unwrap_or_default();
    if output.status.success() && said.is_empty() { Ok(took) } else { Err(io::Error::other(said)) }
}

fn told(folder: &Path, event: &str, round: usize, words: &str) -> Value {
    json!({
        "session_id": format!("bench-{event}"),
        "cwd": folder,
        "hook_event_name": event,
        "source": "startup",
        "prompt": words,
        "tool_name": "Read",
        "tool_use_id": format!("t{round}"),
        "tool_input": { "file_path": "tides.rs" },
        "tool_response": words,
    })
}
