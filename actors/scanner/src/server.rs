//! The interface: each method is one call of the engine. What the host's own secrets look like is kept up to date
//! beside it. Of a text it may log only where it crossed and what came of it.

use crate::fingerprints::SecretSearch;
use ipc_proto::config;
use ipc_proto::scanner::{FRAME_BOUND, Release, SCAN_BOUND, Scanner, Subject, Verdict};
use ipc_proto::{Name, Text};
use kit::{Actor, Edge, Host, OpenFault, Place};
use manifest::Process;
use scanner::rules::Class;
use scanner::{Engine, Held, answer};
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Scanning {
    server: Server,
}

impl Actor for Scanning {
    const PROCESS: Process = Process::Scanner;
    type Config = config::NoKeys;
    type Opened = Engine;

    fn open(_: config::NoKeys, _: &Place) -> Result<Engine, OpenFault> {
        // The first regex of a process asks how many cores there are; after the seal that would be its death.
        drop(regex::Regex::new("x"));
        let engine = Engine::new();
        if engine.is_ready() {
            Ok(engine)
        } else {
            Err(OpenFault::new("the rules", "they cannot be compiled"))
        }
    }

    async fn start(engine: Engine, host: Host) -> Self {
        Self { server: Server { engine: Rc::new(engine), secrets: SecretSearch::follow(&host) } }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, self.server.clone().serve()).await;
    }
}

#[derive(Clone)]
struct Server {
    engine: Rc<Engine>,
    secrets: SecretSearch,
}

impl Scanner for Server {
    async fn scan(self, _: Context, subject: Subject, text: Text<SCAN_BOUND>) -> Verdict {
        let held: Rc<Held> = self.secrets.now().await;
        let (report, conversation) = self.engine.judge(&subject, &held, &text);
        tracing::debug!(
            crossing = ?subject.crossing,
            verdict = ?report.judgement,
            score = answer::thousandths(report.score),
            bytes = text.len(),
            held_secret = report.held_secret,
            canary_leaked = report.canary_leaked,
            "scanned"
        );
        answer::verdict(&self.engine, &text, &report, conversation)
    }

    async fn hold_back(
        self,
        _: Context,
        pending: Text<SCAN_BOUND>,
        last: bool,
        canary: Option<Name>,
    ) -> Release {
        let held: Rc<Held> = self.secrets.now().await;
        let ready = scanner::ready(&self.engine, &held, &pending, last, canary.as_deref());
        let redactions = answer::of_class(&ready.report, Class::Secret);
        tracing::debug!(
            crossing = ?ipc_proto::scanner::Crossing::ModelStream,
            verdict = ?ready.report.judgement,
            bytes = pending.len(),
            released = ready.consumed,
            redactions,
            canary_leaked = ready.report.canary_leaked,
            "scanned"
        );
        Release {
            text: Text::clip(&ready.release),
            consumed: u32::try_from(ready.consumed).unwrap_or(u32::MAX),
            canary_leaked: ready.report.canary_leaked,
            redactions: u16::try_from(redactions).unwrap_or(u16::MAX),
        }
    }
}
