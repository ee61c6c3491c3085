//! The interface: each method is one call of the engine.

use ipc_proto::config;
use ipc_proto::label::Class;
use ipc_proto::scanner::{Direction, FRAME_BOUND, Judgement, Release, SCAN_BOUND, Scanner, Verdict};
use ipc_proto::{List, Name, Text};
use kit::{Actor, Edge, Host, OpenFault, Place};
use manifest::Process;
use scanner::rules;
use scanner::{Engine, Report};
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Scanning {
    engine: Rc<Engine>,
}

impl Actor for Scanning {
    const PROCESS: Process = Process::Scanner;
    type Config = config::Scanner;
    type Opened = Engine;

    fn open(_: config::Scanner, _: &Place) -> Result<Engine, OpenFault> {
        // The first regex of a process asks how many cores there are; after the seal that would be its death.
        drop(regex::Regex::new("x"));
        let engine = Engine::new();
        if engine.is_ready() {
            Ok(engine)
        } else {
            Err(OpenFault::new("the rules", "they cannot be compiled"))
        }
    }

    async fn start(engine: Engine, _: Host) -> Self {
        Self { engine: Rc::new(engine) }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Server { engine: Rc::clone(&self.engine) }.serve()).await;
    }
}

#[derive(Clone)]
struct Server {
    engine: Rc<Engine>,
}

impl Scanner for Server {
    async fn scan(
        self,
        _: Context,
        direction: Direction,
        text: Text<SCAN_BOUND>,
        canary: Option<Name>,
    ) -> Verdict {
        let way = match direction {
            Direction::Input => scanner::Direction::Input,
            Direction::Output => scanner::Direction::Output,
        };
        let report = self.engine.scan(way, &text, canary.as_deref());
        let secrets = of_class(&report, rules::Class::Secret);
        let redacted = (secrets > 0).then(|| Text::clip(&self.engine.redact(&text, &report)));
        Verdict {
            judgement: judgement(report.verdict),
            score: thousandths(report.score),
            rules: rule_names(&report),
            canary_leaked: report.canary_leaked,
            class: class(&report),
            redacted,
        }
    }

    async fn hold_back(
        self,
        _: Context,
        pending: Text<SCAN_BOUND>,
        last: bool,
        canary: Option<Name>,
    ) -> Release {
        let ready = scanner::ready(&self.engine, &pending, last, canary.as_deref());
        Release {
            text: Text::clip(&ready.release),
            consumed: u32::try_from(ready.consumed).unwrap_or(u32::MAX),
            canary_leaked: ready.report.canary_leaked,
            redactions: u16::try_from(of_class(&ready.report, rules::Class::Secret)).unwrap_or(u16::MAX),
        }
    }
}

const fn judgement(verdict: scanner::Verdict) -> Judgement {
    match verdict {
        scanner::Verdict::Pass => Judgement::Pass,
        scanner::Verdict::Flag => Judgement::Flag,
        scanner::Verdict::Block => Judgement::Block,
    }
}

fn of_class(report: &Report, class: rules::Class) -> usize {
    report.findings.iter().filter(|finding| finding.family.class() == class).count()
}

/// What the content shows of itself: keys are secret, personal data is sensitive.
fn class(report: &Report) -> Class {
    if of_class(report, rules::Class::Secret) > 0 {
        Class::Secret
    } else if of_class(report, rules::Class::Personal) > 0 {
        Class::Sensitive
    } else {
        Class::Public
    }
}

fn rule_names(report: &Report) -> List<Name, 32> {
    let mut names: Vec<Name> = report.findings.iter().map(|finding| Name::clip(finding.rule)).collect();
    names.sort();
    names.dedup();
    List::clip(names)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a score is between 0 and 1")]
fn thousandths(score: f32) -> u16 {
    (score.clamp(0.0, 1.0) * 1000.0) as u16
}
