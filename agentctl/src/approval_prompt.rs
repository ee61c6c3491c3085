//! Approvals during a turn: on a terminal the person sees the action and answers there; elsewhere a hint says how to
//! answer. Only input typed after the question was shown counts as an answer, and text of a model never does.

use crate::app::App;
use crate::approval_card::Card;
use crate::failure::Failure;
use crate::form::{Form, Values};
use crate::{approval, text, wrap};
use ipc_proto::Text;
use ipc_proto::approval::{ApprovalView, FORM, Reply, State};
use ipc_proto::ids::ApprovalId;
use ipc_proto::router::TurnEvent;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, tcflush};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// The interval at which the remaining time is redrawn.
const REFRESH: Duration = Duration::from_secs(1);
/// Bytes of an answer at most.
const LINE: usize = 4096;

/// The prompt for approvals of one turn.
pub(crate) struct ApprovalPrompt {
    /// Standard input, if a person sits at the terminal.
    terminal: Option<AsyncFd<io::Stdin>>,
    /// Approvals that wait for an answer; the first is on the screen.
    asked: VecDeque<ApprovalView>,
    /// All of the first action is on the screen. Until then a yes is not taken.
    is_whole: bool,
    /// The form of the first, once a person said yes to it: its values so far and the field that is asked for.
    filling: Option<(Form, Values, usize)>,
}

impl ApprovalPrompt {
    /// Asks on the terminal if standard input and standard error are one and the output is not JSON.
    pub(crate) fn new(app: &App) -> Self {
        // Nobody can answer at a terminal that the event loop cannot wait for.
        let terminal = app.out.can_ask().then(|| watched(io::stdin()).ok()).flatten();
        Self { terminal, asked: VecDeque::new(), is_whole: true, filling: None }
    }

    /// Returns true while an approval waits for an answer.
    pub(crate) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Handles an event of the turn: an approval is asked for, or was answered.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) async fn on_event(&mut self, app: &App, event: &TurnEvent) -> Result<(), Failure> {
        match event {
            TurnEvent::Approval { id, expires_ms, tool, action, preview, reason, .. } => {
                let card = || Card::new(tool, action, preview, reason);
                self.ask(app, *id, *expires_ms, card).await
            }
            TurnEvent::Answered { id, .. } => self.settled(app, *id),
            TurnEvent::Done(_) if self.is_asked() => {
                self.asked.clear();
                Ok(eprintln()?)
            }
            _ => Ok(()),
        }
    }

    async fn ask(
        &mut self,
        app: &App,
        id: ApprovalId,
        expires_ms: u64,
        card: impl FnOnce() -> Card,
    ) -> Result<(), Failure> {
        if expires_ms <= text::now_ms() || self.asked.iter().any(|view| view.info.id == id) {
            return Ok(());
        }
        if self.terminal.is_some() {
            match approval::fetch(app, id).await {
                Ok(view) if view.info.state != State::Pending => return Ok(()),
                Ok(view) => {
                    self.asked.push_back(view);
                    return if self.asked.len() == 1 { self.show(app) } else { Ok(()) };
                }
                // A guest may not see it; the hint below tells a user who may.
                Err(failure) => app.out.remark(&format!("({failure})")),
            }
        }
        card().lines(wrap::columns(io::stderr())).iter().for_each(|line| app.out.remark(line));
        app.out.hint(&format!("this waits for an answer: agentctl approvals approve {id} (or deny)"));
        Ok(())
    }

    /// Shows the first question, and discards input typed before it was visible.
    fn show(&mut self, app: &App) -> Result<(), Failure> {
        let Some(view) = self.asked.front() else { return Ok(()) };
        let card = approval::card(view);
        self.is_whole = card.is_whole;
        card.lines(wrap::columns(io::stderr())).iter().for_each(|line| app.out.remark(line));
        prompted(app, view)
    }

    /// An approval was answered or expired, here or elsewhere.
    fn settled(&mut self, app: &App, id: ApprovalId) -> Result<(), Failure> {
        let first = self.asked.front().is_some_and(|view| view.info.id == id);
        self.asked.retain(|view| view.info.id != id);
        if !first {
            return Ok(());
        }
        self.filling = None;
        eprintln()?;
        self.show(app)
    }

    /// Waits for a line and redraws the remaining time meanwhile. Dropping the future loses no input.
    pub(crate) async fn line(&self) -> Option<String> {
        let (Some(terminal), Some(view)) = (&self.terminal, self.asked.front()) else {
            return std::future::pending().await;
        };
        loop {
            let Ok(ready) = tokio::time::timeout(REFRESH, terminal.readable()).await else {
                if self.filling.is_none() {
                    redraw(&prompt(view, text::now_ms()));
                }
                continue;
            };
            let Ok(mut ready) = ready else { return None };
            // Input typed early was discarded, and the event loop still reports it as readable.
            if !has_line() {
                ready.clear_ready();
                continue;
            }
            let mut line = [0; LINE];
            let read = nix::unistd::read(io::stdin(), &mut line);
            ready.clear_ready();
            return match read {
                Ok(0) | Err(_) => None,
                Ok(bytes) => line.get(..bytes).map(|line| String::from_utf8_lossy(line).into_owned()),
            };
        }
    }

    /// Handles a typed line as the answer to the shown question. At the end of input no further question is asked.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) async fn answer(&mut self, app: &App, line: Option<String>) -> Result<(), Failure> {
        let Some(view) = self.asked.front() else { return Ok(()) };
        let Some(line) = line else {
            self.terminal = None;
            self.asked.clear();
            return Ok(());
        };
        if let Some((form, mut values, at)) = self.filling.take() {
            if let Err(why) = form.put(&mut values, at, &line) {
                app.out.remark(&why);
                return self.fill(app, form, values, at).await;
            }
            return self.fill(app, form, values, at + 1).await;
        }
        let reply = match understood(&line, view.question.grantable) {
            Typed::Answer(reply) if self.is_whole || reply == Reply::Deny => reply,
            Typed::Unclear => return prompted(app, view),
            // A yes to an action that was not shown whole shows it, and asks again.
            Typed::Answer(_) | Typed::Details => {
                approval::present(app, view);
                self.is_whole = true;
                return prompted(app, view);
            }
        };
        match Form::of(&view.question).filter(|_| reply == Reply::Once) {
            Some(form) => self.fill(app, form, Values::new(), 0).await,
            None => self.send(app, reply, &Text::default()).await,
        }
    }

    /// Asks for the next field of a form, and answers with all of them after the last.
    async fn fill(&mut self, app: &App, form: Form, values: Values, from: usize) -> Result<(), Failure> {
        let Some(at) = form.open(&values, from) else {
            return match form.sent(&values) {
                Ok(sent) => self.send(app, Reply::Once, &sent).await,
                Err(failure) => {
                    app.out.remark(&format!("({failure})"));
                    self.show(app)
                }
            };
        };
        app.out.ask(&form.prompt(at))?;
        self.filling = Some((form, values, at));
        Ok(())
    }

    async fn send(&mut self, app: &App, reply: Reply, form: &Text<FORM>) -> Result<(), Failure> {
        if let Some(view) = self.asked.front()
            && let Err(failure) = approval::answer(app, &view.question, reply, form).await
        {
            app.out.remark(&format!("({failure})"));
        }
        self.asked.pop_front();
        self.show(app)
    }
}

/// Returns true if reading would not wait: a terminal gives whole lines.
fn has_line() -> bool {
    let stdin = io::stdin();
    let mut look = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut look, PollTimeout::ZERO), Ok(1..))
}

#[expect(
    deprecated,
    reason = "the successor is unsafe; standard input stays what it is while this program runs, as that asks for"
)]
fn watched(terminal: io::Stdin) -> io::Result<AsyncFd<io::Stdin>> {
    AsyncFd::new(terminal)
}

/// Prints the question. Earlier input, such as the rest of a long line, is discarded.
fn prompted(app: &App, view: &ApprovalView) -> Result<(), Failure> {
    tcflush(io::stdin(), FlushArg::TCIFLUSH).map_err(io::Error::from)?;
    app.out.ask(&prompt(view, text::now_ms()))?;
    Ok(())
}

/// A typed line.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    /// An answer.
    Answer(Reply),
    /// The person asks for the details.
    Details,
    /// No answer; the person is asked again.
    Unclear,
}

/// Reads a typed line. A grant counts only where one may be given.
fn understood(line: &str, grantable: bool) -> Typed {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Typed::Answer(Reply::Once),
        "s" | "session" if grantable => Typed::Answer(Reply::Session),
        "n" | "no" => Typed::Answer(Reply::Deny),
        "d" | "details" => Typed::Details,
        _ => Typed::Unclear,
    }
}

/// The question with the time that is left, always of the same width.
fn prompt(view: &ApprovalView, now_ms: u64) -> String {
    let left = view.info.expires_ms.saturating_sub(now_ms) / 1000;
    let session = if view.question.grantable { " / [s]ession" } else { "" };
    format!("[{:>4}:{:02} left] [y]es once{session} / [n]o / [d]etails: ", left / 60, left % 60)
}

/// Redraws the prompt in place; the typed text and the cursor stay where they are.
fn redraw(prompt: &str) {
    // A countdown that cannot be shown is no reason to stop.
    let _ = write!(io::stderr().lock(), "\u{1b}7\r{prompt}\u{1b}8");
}

fn eprintln() -> io::Result<()> {
    writeln!(io::stderr().lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_is_an_answer_and_a_grant_only_where_one_may_be_given() {
        for (line, expected) in [
            ("y\n", Typed::Answer(Reply::Once)),
            (" YES ", Typed::Answer(Reply::Once)),
            ("n", Typed::Answer(Reply::Deny)),
            ("s", Typed::Answer(Reply::Session)),
            ("d\n", Typed::Details),
            ("", Typed::Unclear),
            ("\n", Typed::Unclear),
            ("yes please", Typed::Unclear),
            ("ok", Typed::Unclear),
        ] {
            assert_eq!(understood(line, true), expected, "{line:?}");
        }
        assert_eq!(understood("s", false), Typed::Unclear);
    }
}
