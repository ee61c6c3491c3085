//! `memory --offline eval`: measures how well rows are found, without a host. `agentctl memory eval` executes this.
//! Turns and questions come as JSON lines on standard input; the turns go into a store of this process's own, through
//! the same code that serves, and each question is answered by it at once. Nothing is written to any disk.
//!
//! A line may come with a vector of its text: then a vector of the same embedder decides about meaning, as on a host
//! whose rows have one. `agentctl memory eval --embedder` has embedder's own program put them there.
//!
//! A line that is not understood ends the run: figures over a part of the questions would be taken for figures over
//! all. A text that is too long is cut, as a host's own hooks would, and standard error says so.

mod figures;
mod foreign;
mod lines;

use crate::error::StoreError;
use crate::library::Library;
use crate::screen::{Proposal, Scanned};
use crate::store::Store;
use crate::write;
use figures::Figures;
use ipc_proto::ids::{MemoryId, SessionId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, CONTENT_BOUND, Detail, Entry, HITS, Manner, Question, Scope, Vector};
use ipc_proto::scanner::{Conversation, Judgement, Verdict};
use ipc_proto::{Blob, List, Name, Text};
use lines::{Add, Asked, Line, LineFault, Lines};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

const USAGE: u8 = 64;
const MALFORMED: u8 = 2;
/// The name of the embedder whose vectors come with the lines.
const GIVEN: &str = "given";
/// Turns that are put into the store at once.
const AT_ONCE: usize = 500;
const HELP: &str = "usage: memory --offline eval [--limit 1..100] [--by words|meaning|fused|weighted|plain] [--json]\n\
     \x20      memory --offline read-foreign FILE";

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    limit: u16,
    manner: Manner,
    json: bool,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Line(#[from] LineFault),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the answers cannot be written: {0}")]
    Output(#[from] io::Error),
}

/// Runs offline.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    if let [command, path] = words.as_slice()
        && command == "read-foreign"
    {
        return read_foreign(Path::new(path));
    }
    let Some(task) = task(&words) else {
        drop(writeln!(io::stderr(), "{HELP}"));
        return ExitCode::from(USAGE);
    };
    match evaluate(task, io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            complain(task, &fault);
            ExitCode::from(if matches!(fault, Fault::Line(LineFault::Malformed { .. })) {
                MALFORMED
            } else {
                1
            })
        }
    }
}

/// Prints the rows of another program's database.
fn read_foreign(path: &Path) -> ExitCode {
    match foreign::read(path, &mut io::BufWriter::new(io::stdout().lock())) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(rows) => {
            drop(writeln!(io::stderr(), "memory: {rows} rows without an id, a time or a text were left out"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            drop(writeln!(io::stderr(), "memory: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints the fault; a line's number and the reason stand apart where JSON was asked for.
fn complain(task: Task, fault: &Fault) {
    let said = match (task.json, fault) {
        (true, Fault::Line(LineFault::Malformed { line, why })) => {
            json!({"line": line, "error": why}).to_string()
        }
        (true, _) => json!({"error": fault.to_string()}).to_string(),
        (false, _) => format!("memory: {fault}"),
    };
    drop(writeln!(io::stderr(), "{said}"));
}

/// Warns that only the beginning of a turn is measured, as only that would be stored. The figures are printed all the
/// same.
fn warn(task: Task, (line, bytes): (u64, usize)) {
    let why = format!("a text of {bytes} bytes; its first {CONTENT_BOUND} are measured");
    let said = if task.json {
        json!({"line": line, "warning": why}).to_string()
    } else {
        format!("memory: line {line}: {why}")
    };
    drop(writeln!(io::stderr(), "{said}"));
}

/// The words after `--offline`; none if they make no sense.
fn task(words: &[String]) -> Option<Task> {
    let (command, mut options) = words.split_first()?;
    let mut task = Task { limit: 20, manner: Manner::Words, json: false };
    while let [name, rest @ ..] = options {
        options = match (name.as_str(), rest) {
            ("--json", rest) => {
                task.json = true;
                rest
            }
            ("--limit", [value, rest @ ..]) => {
                let fits = |limit: &u16| (1..=HITS).contains(&usize::from(*limit));
                task.limit = value.parse().ok().filter(fits)?;
                rest
            }
            ("--by", [value, rest @ ..]) => {
                task.manner = serde_json::from_value(Value::from(value.as_str())).ok()?;
                rest
            }
            _ => return None,
        };
    }
    (command == "eval").then_some(task)
}

/// Answers every question, and says at the end how well.
fn evaluate(task: Task, from: impl BufRead, to: &mut impl Write) -> Result<(), Fault> {
    let mut trial = Trial::new(task)?;
    let mut figures = Figures::default();
    for line in Lines::of(from) {
        match line? {
            Line::Add(add) => {
                if let Some(cut) = add.cut {
                    warn(task, cut);
                }
                trial.add(add)?;
            }
            Line::Ask(asked) => {
                let results = trial.answer(&asked)?;
                figures.count(&results, &asked.evidence);
                writeln!(to, "{}", json!({"id": asked.id, "results": results}))?;
                to.flush()?;
            }
        }
    }
    writeln!(to, "{}", json!({"figures": figures.shown(task.limit)}))?;
    Ok(to.flush()?)
}

/// A store that is filled and asked.
struct Trial {
    task: Task,
    store: Store,
    scope: Scope,
    /// The ids that the turns were given, in their order; a row's own id holds its place in this list.
    ids: Vec<Value>,
    sessions: HashMap<String, u64>,
    /// The latest time so far: questions are asked then.
    now_ms: u64,
    /// Turns that are not in the store yet, and when they were said.
    pending: Vec<(Scanned, u64)>,
    /// Their vectors, and of those before.
    vectors: Vec<(MemoryId, Vector)>,
}

impl Trial {
    fn new(task: Task) -> Result<Self, Fault> {
        let scope = Scope { owner: UserId::from_bytes([0; 16]), area: Area::User };
        let store = Store::fleeting()?;
        // Each question is to be answered by the whole index, however long the first of them waits for it.
        store.library.replace(Library::unhurried());
        Ok(Self {
            task,
            store,
            scope,
            ids: Vec::new(),
            sessions: HashMap::new(),
            now_ms: 0,
            pending: Vec::new(),
            vectors: Vec::new(),
        })
    }

    fn add(&mut self, add: Add) -> Result<(), Fault> {
        let place = u64::try_from(self.ids.len()).unwrap_or(u64::MAX);
        self.ids.push(add.id);
        let next = u64::try_from(self.sessions.len()).unwrap_or(u64::MAX);
        let session = add.session.map(|session| *self.sessions.entry(session).or_insert(next));
        let time_ms = add.time_ms.unwrap_or(self.now_ms);
        self.now_ms = self.now_ms.max(time_ms);
        let entry = Entry {
            id: MemoryId::from_bytes(numbered(place)),
            content: add.text,
            tags: List::clip(add.speaker.map(|speaker| Text::clip(&speaker))),
            label: Label::of(Trust::User, Class::Internal, "evaluation"),
            session: session.map(|session| SessionId::from_bytes(numbered(session))),
            detail: Detail::default(),
        };
        // A turn of which nothing is left to keep, such as an empty one, is not there to be found.
        let kept = Proposal::of(entry).ok().and_then(|proposal| proposal.judged(&passed()).ok());
        let id = MemoryId::from_bytes(numbered(place));
        self.vectors
            .extend(kept.is_some().then_some(add.vector).flatten().map(|values| (id, vector(&values))));
        self.pending.extend(kept.map(|scanned| (scanned, time_ms)));
        if self.pending.len() >= AT_ONCE { self.keep() } else { Ok(()) }
    }

    /// Puts pending turns into the store: many in one transaction, each as any row is put there.
    fn keep(&mut self) -> Result<(), Fault> {
        let (scope, pending) = (&self.scope, std::mem::take(&mut self.pending));
        self.store.changed(|change, limits, changes| {
            pending.iter().try_for_each(|(scanned, time_ms)| {
                write::inserted(change, limits, scope, scanned, *time_ms, changes).map(drop)
            })
        })?;
        let vectors = std::mem::take(&mut self.vectors);
        if !vectors.is_empty() && self.store.embedder.is_none() {
            self.store.keep_vectors_of(Some(Name::clip(GIVEN)))?;
        }
        for (id, vector) in &vectors {
            self.store.embedded(&self.scope, *id, vector)?;
        }
        Ok(())
    }

    /// Ids of turns, best first.
    fn answer(&mut self, asked: &Asked) -> Result<Vec<Value>, Fault> {
        self.keep()?;
        let question = Question {
            manner: asked.manner.unwrap_or(self.task.manner),
            vector: asked.vector.as_deref().map(vector).filter(|_| self.store.embedder.is_some()),
            ..Question::new(asked.question.clone(), self.task.limit)
        };
        let found = self.store.find(&self.scope, &question, self.now_ms)?;
        let ids = found.iter().map(|found| self.ids.get(place(found.hit.row.entry.id)).cloned());
        Ok(ids.flatten().collect())
    }
}

/// A vector that came with a line. One that is too long is none of any embedder's.
fn vector(values: &[f32]) -> Vector {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Vector { by: Name::clip(GIVEN), values: Blob::new(bytes).unwrap_or_default() }
}

/// An id that holds a number.
fn numbered(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// The number that an id holds.
fn place(id: MemoryId) -> usize {
    usize::try_from(u128::from_be_bytes(id.bytes())).unwrap_or(usize::MAX)
}

/// There is no scanner here. The measured text never leaves this process's memory, and no host ever reads it.
pub(crate) fn passed() -> Verdict {
    Verdict {
        judgement: Judgement::Pass,
        score: 0,
        rules: List::default(),
        canary_leaked: false,
        class: Class::Public,
        redacted: None,
        threats: List::default(),
        spans: List::default(),
        held_secret: false,
        conversation: Conversation::default(),
    }
}

#[cfg(test)]
mod tests;
