//! `PROVIDER/MODEL`, or a task such as `fast`: the conversation goes to a model through the gate, and its answer comes
//! back as it was scanned. An answer that nobody takes any more is ended.

use crate::answer::{Call, Said};
use crate::desk::Desk;
use crate::fault::{Fault, Kind};
use crate::guard::Who;
use crate::wish::Wish;
use ipc_proto::Name;
use ipc_proto::api::Holder;
use ipc_proto::gate::{RelayError, method};
use ipc_proto::ids::CallId;
use ipc_proto::model::{ModelError, Piece, StreamId};
use ipc_proto::tool::ARGS_BOUND;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Pieces in one answer.
const CREDIT: u16 = 64;
/// Models named to a client that asks for one that there is not.
const NAMED: usize = 40;

/// A model's answer on its way.
pub(crate) struct Relay {
    desk: Arc<Desk>,
    stream: StreamId,
    calls: Calls,
    over: bool,
}

/// Begins it.
///
/// # Errors
/// The gate refuses, or there is no such model.
pub(crate) async fn begin(desk: &Arc<Desk>, who: &Who, wish: &Wish) -> Result<Relay, Fault> {
    let caller = who.caller;
    let asked = desk.gate.call(&method::relay, |gate, context| {
        let request = wish.request.clone();
        async move { gate.relay(context, caller, request).await }
    });
    match asked.await.map_err(|fault| Fault::down("gate", fault))? {
        Ok(stream) => Ok(Relay { desk: Arc::clone(desk), stream, calls: Calls::default(), over: false }),
        Err(error) => Err(refused(desk, &who.holder, wish.request.model.as_str(), error).await),
    }
}

/// A refusal in the words of the API; of a model that there is not, with the names of those that there are.
pub(crate) async fn refused(desk: &Desk, holder: &Holder, model: &str, error: RelayError) -> Fault {
    if error != RelayError::Model(ModelError::UnknownModel) {
        return error.into();
    }
    match names(desk, holder).await {
        Ok(names) => Fault::no_model(model, &names.join(", ")),
        Err(fault) => fault,
    }
}

/// What a holder may name as a model: the agents first.
///
/// # Errors
/// The gate is away.
async fn names(desk: &Desk, holder: &Holder) -> Result<Vec<String>, Fault> {
    let agents = holder.agents.iter().map(|name| format!("agent/{name}"));
    let models = desk.models().await?;
    let models =
        models.iter().filter(|model| holder.may_use(&model.name)).map(|model| model.name.to_string());
    Ok(agents.chain(models).take(NAMED).collect())
}

impl Relay {
    /// What is said next.
    pub(crate) async fn next(&mut self) -> Vec<Said> {
        let stream = self.stream;
        let asked = self.desk.gate.call(&method::relayed, |gate, context| async move {
            gate.relayed(context, stream, CREDIT).await
        });
        match asked.await {
            Ok(Ok(pieces)) => {
                self.over = pieces.iter().any(|piece| matches!(piece, Piece::Done(_) | Piece::Failed(_)));
                let mut said = Vec::with_capacity(pieces.len());
                pieces.into_iter().for_each(|piece| self.calls.take(piece, &mut said));
                said
            }
            Ok(Err(error)) => {
                self.over = true;
                vec![Said::Failed(error.into())]
            }
            Err(fault) => vec![Said::Failed(Fault::down("gate", fault))],
        }
    }
}

impl Drop for Relay {
    /// Nobody takes it any more: the provider is told so, through the gate, and is not paid for the rest.
    fn drop(&mut self) {
        // At the end of the process there is nobody who would do it, and the gate hears of that by itself.
        let Some(runtime) = Handle::try_current().ok().filter(|_| !self.over) else { return };
        let (gate, stream) = (self.desk.gate.clone(), self.stream);
        drop(runtime.spawn(async move {
            let end = gate.call(&method::relay_end, |gate, context| async move {
                gate.relay_end(context, stream).await
            });
            if let Err(fault) = end.await {
                tracing::debug!(%fault, "an answer is left to the gate to end");
            }
        }));
    }
}

/// Calls whose arguments are still coming.
#[derive(Default)]
struct Calls(Vec<(u16, Call)>);

impl Calls {
    /// Takes a piece. A call is told once its arguments are whole, since fragments mean nothing.
    fn take(&mut self, piece: Piece, said: &mut Vec<Said>) {
        match piece {
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) => said.push(Said::Text(text.into_string())),
            // No client needs it, and those of one vendor could not send it back as they must.
            Piece::Reasoning(_) => {}
            Piece::CallStart { index, tool } => self.begin(index, tool),
            Piece::CallDelta { index, args } => {
                let call = self.0.iter_mut().find(|(at, _)| *at == index);
                if let Some((_, call)) = call {
                    call.args.push_str(&args);
                    if call.args.len() > ARGS_BOUND {
                        said.push(Said::Failed(Fault::new(
                            Kind::Upstream,
                            "A call's arguments are over their bound.",
                        )));
                    }
                }
            }
            Piece::CallEnd { index } => {
                if let Some(place) = self.0.iter().position(|(at, _)| *at == index) {
                    let (_, mut call) = self.0.swap_remove(place);
                    if call.args.trim().is_empty() {
                        call.args = "{}".to_owned();
                    }
                    said.push(Said::Call(call));
                }
            }
            Piece::Failover { from, why, to } => {
                self.0.clear();
                said.push(Said::Note(format!("{from} failed ({why}); {to} answers")));
                said.push(Said::Void);
            }
            Piece::Usage(usage) => said.push(Said::Usage(usage)),
            Piece::Done(finish) => said.push(Said::Done(finish)),
            Piece::Failed(error) => said.push(Said::Failed(error.into())),
        }
    }

    fn begin(&mut self, index: u16, tool: Name) {
        self.0.retain(|(at, _)| *at != index);
        self.0.push((index, Call { id: CallId::random(), tool, args: String::new() }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::model::{Finish, Usage};

    fn told(pieces: Vec<Piece>) -> Vec<Said> {
        let (mut calls, mut said) = (Calls::default(), Vec::new());
        pieces.into_iter().for_each(|piece| calls.take(piece, &mut said));
        said
    }

    fn start(index: u16, tool: &str) -> Piece {
        Piece::CallStart { index, tool: Name::clip(tool) }
    }

    fn delta(index: u16, args: &str) -> Piece {
        Piece::CallDelta { index, args: Text::clip(args) }
    }

    #[test]
    fn a_call_is_told_once_and_whole_whatever_lies_between_its_fragments() {
        let said = told(vec![
            Piece::Text(Text::clip("a")),
            start(0, "read"),
            delta(0, "{\"p\":"),
            start(1, "list"),
            Piece::CallEnd { index: 1 },
            delta(0, "1}"),
            Piece::CallEnd { index: 0 },
            start(2, "never"),
            delta(2, "{"),
            Piece::Reasoning(Text::clip("hm")),
            Piece::Done(Finish::ToolUse),
        ]);
        let calls: Vec<(&str, &str)> = said
            .iter()
            .filter_map(|said| match said {
                Said::Call(call) => Some((call.tool.as_str(), call.args.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(calls, [("list", "{}"), ("read", "{\"p\":1}")]);
        assert_eq!(
            (said.first(), said.last()),
            (Some(&Said::Text("a".into())), Some(&Said::Done(Finish::ToolUse)),)
        );
    }

    #[test]
    fn what_a_model_said_before_another_took_over_is_void_and_open_calls_are_forgotten() {
        let failover =
            Piece::Failover { from: Text::clip("a/b"), why: ModelError::Timeout, to: Text::clip("c/d") };
        let said = told(vec![
            start(0, "read"),
            failover,
            delta(0, "x"),
            Piece::CallEnd { index: 0 },
            Piece::Usage(Usage::default()),
        ]);
        assert!(matches!(&said[..], [Said::Note(_), Said::Void, Said::Usage(_)]), "{said:?}");
    }

    #[test]
    fn arguments_over_their_bound_end_the_answer() {
        let part = "a".repeat(16384);
        let mut pieces = vec![start(0, "read")];
        pieces.extend((0..33).map(|_| delta(0, &part)));
        assert!(told(pieces).iter().any(|said| matches!(said, Said::Failed(_))));
    }
}
