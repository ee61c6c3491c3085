//! `policy simulate`: JSON lines in, one verdict out for each call. A line that makes no sense is answered with its
//! number and why; the rest goes on.

use super::document;
use super::event::{Content, Event};
use crate::{BadCapability, Call, Catalogue, Engine, Profile, Session, decide};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

/// Bytes of one line: the arguments of a call, and room around them.
const LINE: u64 = 4 * 1024 * 1024;

/// Sessions and tools, as far as the lines have told of them.
pub struct Simulation<'a> {
    engine: &'a Engine,
    catalogue: Catalogue,
    sessions: BTreeMap<String, Session>,
}

/// Why a line is not understood.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("not an event: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("longer than {LINE} bytes")]
    Long,
    #[error("not text in UTF-8")]
    Encoding,
    #[error("no session {0}: it needs a line of its own before")]
    NoSession(String),
    #[error("{0}")]
    Profile(String),
    #[error("{0}")]
    Capability(#[from] BadCapability),
}

impl<'a> Simulation<'a> {
    /// Nothing but the built-in tools.
    ///
    /// # Errors
    /// As [`Catalogue::built_in`].
    pub fn new(engine: &'a Engine) -> Result<Self, BadCapability> {
        Ok(Self { engine, catalogue: Catalogue::built_in()?, sessions: BTreeMap::new() })
    }

    /// Takes one line; a verdict if it is a call, an error document if it makes no sense.
    ///
    /// # Errors
    /// The document that says what is wrong with it.
    pub fn line(&mut self, number: u64, line: &[u8]) -> Result<Option<Value>, Value> {
        self.take(line).map_err(|problem| json!({"line": number, "error": problem.to_string()}))
    }

    fn take(&mut self, line: &[u8]) -> Result<Option<Value>, Problem> {
        if u64::try_from(line.len()).is_ok_and(|length| length > LINE) {
            return Err(Problem::Long);
        }
        let line = std::str::from_utf8(line).map_err(|_| Problem::Encoding)?;
        if line.trim().is_empty() {
            return Ok(None);
        }
        match serde_json::from_str(line)? {
            Event::Tool(tool) => {
                let name = tool.name.clone();
                self.catalogue.declare(&name, tool.capability())?;
            }
            Event::Session { id, profile, autonomy, agent, user, contacts, web } => {
                let profile = profile.map_or(Ok(Profile::default()), |profile| profile.parse());
                let mut session = Session::new(&id, profile.map_err(Problem::Profile)?);
                (session.autonomy, session.agent, session.user) = (autonomy, agent, user);
                session.web = web.unwrap_or_default();
                contacts.iter().for_each(|contact| session.setting(contact));
                self.sessions.insert(id, session);
            }
            Event::User { session, text } => self.session(session)?.user(&text),
            Event::Plan { session, tools } => self.session(session)?.plan(tools),
            Event::Content(content) => self.content(&content)?,
            Event::Call { session, id, tool, args } => {
                let session = self.sessions.get(&session).ok_or(Problem::NoSession(session))?;
                let verdict =
                    decide(self.engine, &self.catalogue, session, &Call { tool: &tool, args: &args });
                let mut fields = document(&verdict);
                fields.insert("id".to_owned(), id);
                return Ok(Some(Value::Object(fields)));
            }
        }
        Ok(None)
    }

    fn session(&mut self, id: String) -> Result<&mut Session, Problem> {
        self.sessions.get_mut(&id).ok_or(Problem::NoSession(id))
    }

    fn content(&mut self, content: &Content) -> Result<(), Problem> {
        let missing = || Problem::NoSession(content.session.clone());
        let session = self.sessions.get_mut(&content.session).ok_or_else(missing)?;
        match content.tool() {
            Some(tool) => session.output(&self.catalogue, tool, &content.label(), &content.text),
            None => session.content(&content.label(), &content.text),
        }
        Ok(())
    }
}

/// Reads lines to their end and answers each; whether all made sense.
///
/// # Errors
/// Input or output is gone.
pub fn simulate(
    simulation: &mut Simulation<'_>,
    mut from: impl BufRead,
    mut to: impl Write,
) -> io::Result<bool> {
    let mut sound = true;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        // One byte more than may be, so that a line that is too long is seen to be.
        if from.by_ref().take(LINE + 1).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if !line.ends_with(b"\n") {
            skip(&mut from)?;
        }
        let answer = simulation.line(number, &line);
        sound &= answer.is_ok();
        if let Some(answer) = answer.unwrap_or_else(Some) {
            writeln!(to, "{answer}")?;
            to.flush()?;
        }
    }
    Ok(sound)
}

/// The rest of a line that is too long.
fn skip(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let held = from.fill_buf()?;
        let end = held.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(held.len(), |at| at + 1);
        let done = end.is_some() || held.is_empty();
        from.consume(used);
        if done {
            return Ok(());
        }
    }
}
