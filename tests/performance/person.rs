//! Somebody who keeps one connection to control and asks over it, as a program that works with the host would.

use ipc_proto::bounded::Text;
use ipc_proto::content::Content;
use ipc_proto::control::{Answer, Ask, ControlClient, FRAME_BOUND, method};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Label;
use ipc_proto::memory::{CONTENT_BOUND, Entry};
use ipc_proto::router::{Accepted, End, Task, TurnEvent};
use ipc_proto::{Method, Name};
use manifest::Process;
use std::io;
use std::path::Path;
use std::time::Instant;
use tarpc::client::{Config, RpcError};
use tarpc::context::Context;
use tests::{Host, Setup};
use tokio::net::UnixStream;

/// Events in one answer.
const CREDIT: u16 = 64;

/// A connection to control.
pub(crate) struct Person(ControlClient);

/// A host of the programs that stand beside this one, with this configuration.
pub(crate) fn host(config: &str) -> io::Result<Host> {
    Ok(Setup::default().programs(&programs()?).config(config).start())
}

/// A memory with this text.
pub(crate) fn note(text: Text<CONTENT_BOUND>) -> Box<Entry> {
    Box::new(Entry::new(MemoryId::random(), text, Label::bottom()))
}

/// The folder of this program, where all of them are built.
pub(crate) fn programs() -> io::Result<std::path::PathBuf> {
    let own = std::env::current_exe()?;
    own.parent().map(Path::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl Person {
    /// Connects; to be called by a task of the event loop.
    pub(crate) async fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket).await?;
        let transport = wire::client(stream, Process::Agentd, FRAME_BOUND).await.map_err(io::Error::other)?;
        let new = ControlClient::new(Config::default(), transport);
        tokio::task::spawn_local(async move { drop(new.dispatch.await) });
        Ok(Self(new.client))
    }

    /// Asks once.
    pub(crate) async fn ask<T>(
        &self,
        method: &Method,
        call: impl AsyncFnOnce(&ControlClient, Context) -> Result<Answer<T>, RpcError>,
    ) -> io::Result<T> {
        let mut context = tarpc::context::current();
        context.deadline = Instant::now() + method.deadline;
        call(&self.0, context).await.map_err(io::Error::other)?.map_err(io::Error::other)
    }

    /// Hands a message over; it is durable when this returns.
    pub(crate) async fn submit(
        &self,
        session: &str,
        agent: Option<&str>,
        text: &str,
    ) -> io::Result<Accepted> {
        let ask = Ask {
            session: Text::clip(session),
            agent: agent.map(Name::clip),
            content: Content::text(Text::clip(text)),
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
            key: Text::clip(&ipc_proto::ids::TurnId::random().to_string()),
        };
        self.ask(&method::submit, async |control, context| control.submit(context, ask).await).await
    }

    /// Says something to an agent in a session and gives the answer.
    pub(crate) async fn say(&self, session: &str, agent: Option<&str>, text: &str) -> io::Result<String> {
        let accepted = self.submit(session, agent, text).await?;
        let mut from = 0;
        loop {
            let follow = async |control: &ControlClient, context| {
                control.follow(context, accepted.turn, from, CREDIT).await
            };
            let followed = self.ask(&method::follow, follow).await?;
            for event in followed.events {
                match event {
                    TurnEvent::Done(done) if done.end == End::Answered => return Ok(done.text.into_string()),
                    TurnEvent::Done(done) => {
                        return Err(io::Error::other(format!("it ended as {:?}", done.end)));
                    }
                    _ => {}
                }
            }
            from = followed.next;
        }
    }
}
