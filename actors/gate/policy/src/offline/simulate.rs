//! `policy simulate`: events in JSON, one verdict out for each call. It knows lines one by one and reads nothing itself.

use super::document;
use super::event::{Content, Event};
use crate::{BadCapability, Call, Catalogue, Engine, Profile, Session, decide};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of one line at most: the arguments of a call, and room around them.
pub const LINE: u64 = 4 * 1024 * 1024;

/// The sessions and tools of the lines so far.
pub struct Simulation<'a> {
    engine: &'a Engine,
    catalogue: Catalogue,
    sessions: BTreeMap<String, Session>,
}

/// The reason for which a line is not understood.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Not JSON, or no event.
    #[error("not an event: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A session that no earlier line opened.
    #[error("no session {0}: it needs a line of its own before")]
    NoSession(String),
    /// No such profile.
    #[error("{0}")]
    Profile(String),
    /// An invalid capability.
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

    /// Handles one line; returns a verdict if it is a call.
    ///
    /// # Errors
    /// The error in the line.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Value>, Problem> {
        match serde_json::from_slice(line)? {
            Event::Tool(tool) => {
                let name = tool.name.clone();
                self.catalogue.declare(&name, tool.capability())?;
            }
            Event::Session { id, profile, autonomy, agent, user, contacts, web, attached, unattended } => {
                let profile = profile.map_or(Ok(Profile::default()), |profile| profile.parse());
                let mut session = Session::new(&id, profile.map_err(Problem::Profile)?);
                (session.autonomy, session.agent, session.user) = (autonomy, agent, user);
                (session.web, session.attached) = (web.unwrap_or_default(), attached);
                session.unattended = unattended;
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
