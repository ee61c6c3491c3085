//! A reply as it streams: printed at once, and collected for the document at the end.

use crate::answer_text::AnswerText;
use crate::in_place::InPlace;
use crate::out::Out;
use crate::turn::Ended;
use crate::wrap::{self, Flow};
use crate::{text, tool_line, turn_end};
use ipc_proto::approval::State;
use ipc_proto::ids::ApprovalId;
use ipc_proto::router::{End, TurnEvent};
use ipc_proto::tool::Outcome;
use serde_json::{Value, json};
use std::io;

/// A tool call, as it was seen.
struct Call {
    id: ipc_proto::ids::CallId,
    tool: String,
    args: String,
    refused: Option<String>,
    record: u64,
    end: Option<(Outcome, u32)>,
}

/// A question to a person, as it was seen.
struct Asked {
    id: ApprovalId,
    shown: Value,
    state: State,
    note: String,
}

/// A reply as it comes.
pub(crate) struct Live {
    out: Out,
    text: AnswerText,
    /// The cursor is not at the beginning of a line.
    mid_line: bool,
    /// Breaks the text between words.
    flow: Flow,
    /// The last line of the running tool's output.
    running: InPlace,
    calls: Vec<Call>,
    asked: Vec<Asked>,
    notices: Vec<String>,
}

impl Live {
    /// Shows text as it comes unless `out` prints JSON.
    pub(crate) fn new(out: Out) -> Self {
        Self {
            out,
            text: AnswerText::default(),
            mid_line: false,
            flow: Flow::new(wrap::columns(io::stdout())),
            running: InPlace::new(out.json),
            calls: Vec::new(),
            asked: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Takes one event.
    ///
    /// # Errors
    /// Standard output is gone.
    pub(crate) fn on_event(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Started { attempt } => {
                if *attempt > 1 {
                    // The unfinished text of an earlier attempt is not part of the answer.
                    self.text.begin_again();
                    self.remark(&format!("(attempt {attempt})"))?;
                }
                self.text.settle();
            }
            TurnEvent::Text(text) => self.say(text)?,
            TurnEvent::Again => {
                if self.text.begin_again() {
                    self.remark("(the reply begins again)")?;
                }
            }
            TurnEvent::ToolStart { call, tool, args, refused, record } => {
                self.text.settle();
                let verdict = refused.as_ref().map_or(String::new(), |why| format!(" refused: {why}"));
                let line = tool_line::sentence(tool, args);
                self.remark(&format!("  - {line}{verdict} [record {record}]"))?;
                self.calls.push(Call {
                    id: *call,
                    tool: tool.to_string(),
                    args: args.to_string(),
                    refused: refused.as_ref().map(ToString::to_string),
                    record: *record,
                    end: None,
                });
            }
            TurnEvent::Approval { .. } => self.ask(event)?,
            TurnEvent::Answered { id, state, note } => self.answered(*id, *state, note)?,
            TurnEvent::ToolProgress { line, .. } => self.progress(line)?,
            TurnEvent::ToolEnd { call, outcome, duration_ms } => {
                self.running.clear();
                if let Some(seen) = self.calls.iter_mut().rev().find(|seen| seen.id == *call) {
                    seen.end = Some((*outcome, *duration_ms));
                }
            }
            TurnEvent::Output { error, bytes } => {
                if !self.out.json {
                    self.running.clear();
                    self.out.content(bytes, *error, false)?;
                }
            }
            TurnEvent::Notice(notice) => {
                self.remark(&format!("({notice})"))?;
                self.notices.push(notice.to_string());
            }
            TurnEvent::Done(_) => {}
        }
        Ok(())
    }

    /// Collects a question; an event that is repeated after a restart is ignored.
    fn ask(&mut self, event: &TurnEvent) -> io::Result<()> {
        let TurnEvent::Approval { id, call, tool, preview, action, hash, reason, grantable, expires_ms } =
            event
        else {
            return Ok(());
        };
        if self.asked.iter().any(|seen| seen.id == *id) {
            return Ok(());
        }
        // The prompt shows the question.
        self.running.clear();
        self.end_line()?;
        let shown = json!({
            "id": id.to_string(),
            "call": call.to_string(),
            "tool": tool,
            "preview": preview,
            "action": action,
            "hash": text::hex(hash),
            "reason": reason,
            "grantable": grantable,
            "expires_ms": expires_ms,
        });
        self.asked.push(Asked { id: *id, shown, state: State::Pending, note: String::new() });
        Ok(())
    }

    fn answered(&mut self, id: ApprovalId, state: State, note: &str) -> io::Result<()> {
        self.remark(&format!("  ? {}", text::exact(&answer(state, note))))?;
        if let Some(seen) = self.asked.iter_mut().rev().find(|seen| seen.id == id) {
            (seen.state, seen.note) = (state, note.to_owned());
        }
        Ok(())
    }

    /// Shows the last line of a tool's output: in place on a terminal, else as a line of its own.
    fn progress(&mut self, line: &str) -> io::Result<()> {
        if !self.running.is_seen() {
            return self.remark(&format!("    {}", text::begin(line, 100)));
        }
        self.end_line()?;
        self.running.show(&format!("    {}", text::begin(line, 200)));
        Ok(())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.text.push(text);
        if !self.out.json && !text.is_empty() {
            self.running.clear();
            self.out.piece(&self.flow.push(text))?;
            self.mid_line = !text.ends_with('\n');
        }
        Ok(())
    }

    fn remark(&mut self, remark: &str) -> io::Result<()> {
        self.running.clear();
        self.end_line()?;
        self.out.remark(remark);
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.mid_line {
            let rest = self.flow.flush();
            self.out.piece(&format!("{rest}\n"))?;
            self.mid_line = false;
        }
        Ok(())
    }

    /// Prints the rest of the final answer, or the reason why there is none.
    ///
    /// # Errors
    /// Standard output is gone.
    pub(crate) fn finish(&mut self, ended: &Ended) -> io::Result<()> {
        if self.out.json {
            return Ok(());
        }
        self.running.clear();
        let rest = self.text.rest(&ended.finished.text).to_owned();
        if rest.len() == ended.finished.text.len() && !rest.is_empty() {
            self.end_line()?;
        }
        self.say(&rest)?;
        self.end_line()?;
        if ended.finished.end != End::Answered {
            self.out.complain(turn_end::kind(&ended.finished.end), &turn_end::sentence(&ended.finished.end));
        }
        Ok(())
    }

    /// Everything known of the turn, for `--json`. An end that is no answer is a failure with the same fields.
    pub(crate) fn document(&self, session: &str, ended: &Ended) -> Value {
        let finished = &ended.finished;
        let mut document = json!({
            "ok": finished.end == End::Answered,
            "turn": ended.accepted.turn.to_string(),
            "message": ended.accepted.message.to_string(),
            "session": session,
            "session_id": ended.accepted.session.to_string(),
            "reply": finished.text,
            "label": finished.label,
            "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
            "approvals": self.asked.iter().map(asked).collect::<Vec<_>>(),
            "notices": self.notices,
            "timings": { "first_text_ms": ended.first_text_ms, "total_ms": ended.total_ms },
            "attempts": finished.attempts,
            "usage": finished.usage,
            "end": turn_end::kind(&finished.end),
        });
        if finished.end != End::Answered
            && let Some(map) = document.as_object_mut()
        {
            let error = json!({ "type": turn_end::kind(&finished.end), "message": turn_end::sentence(&finished.end) });
            map.insert("error".to_owned(), error);
        }
        document
    }
}

/// How a question ended, and if the call was run.
pub(crate) fn answer(state: State, note: &str) -> String {
    match state {
        State::Approved if note.is_empty() || note == "approved" => "approved".to_owned(),
        State::Approved => format!("approved, but not run: {note}"),
        State::Denied => "denied: it was not run".to_owned(),
        State::Expired | State::Void | State::Claimed | State::Pending => format!("not run: {note}"),
    }
}

fn asked(asked: &Asked) -> Value {
    let mut shown = asked.shown.clone();
    if let Some(map) = shown.as_object_mut() {
        map.insert("state".to_owned(), json!(asked.state));
        map.insert("note".to_owned(), json!(asked.note));
    }
    shown
}

fn call(call: &Call) -> Value {
    let outcome = match (&call.end, &call.refused) {
        (Some((outcome, _)), _) => json!(outcome),
        (None, Some(_)) => json!(Outcome::Blocked),
        (None, None) => Value::Null,
    };
    json!({
        "call": call.id.to_string(),
        "tool": call.tool,
        "args": call.args,
        "verdict": if call.refused.is_some() { "refused" } else { "run" },
        "reason": call.refused,
        "record": call.record,
        "outcome": outcome,
        "duration_ms": call.end.map(|(_, ms)| ms),
    })
}

#[cfg(test)]
mod tests {
    use super::{State, answer};

    #[test]
    fn the_end_of_a_question_says_that_the_call_was_not_run() {
        for (state, note, said) in [
            (State::Approved, "approved", "approved"),
            (State::Denied, "a person said no", "denied: it was not run"),
            (State::Expired, "nobody answered in time", "not run: nobody answered in time"),
            (
                State::Void,
                "the question does not stand any more",
                "not run: the question does not stand any more",
            ),
            (State::Approved, "the policies changed", "approved, but not run: the policies changed"),
        ] {
            assert_eq!(answer(state, note), said);
        }
    }
}
