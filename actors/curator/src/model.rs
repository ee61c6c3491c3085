//! Asks a model, through the gate alone, which checks labels, policy, budget and scanner, and records the call. The
//! answer is a stranger's text.

use crate::failure::Failure;
use crate::queue::Queue;
use crate::reading::{self, Answer, Wrong};
use crate::store::Job;
use ipc_proto::gate::method;
use ipc_proto::ids::UserId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::{Choice, Finish, Message, ModelName, Payer, Piece, Request, Role, StreamId, Usage};
use ipc_proto::{List, Text};
use serde::de::DeserializeOwned;

/// Pieces taken at once.
const CREDIT: u16 = 64;
/// Bytes of an answer; longer ones break off.
const LONGEST: usize = ipc_proto::curator::ANSWER_BOUND;

/// For whom a model is asked, and which; none if it is to be done without.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) owner: UserId,
    pub(crate) model: Option<ModelName>,
    /// The rows that it is to put into order: who waits for them pays.
    pub(crate) order: Option<u64>,
}

/// A question to a model.
pub(crate) struct Asking<'a> {
    /// For whom, and which model.
    pub(crate) by: Asker,
    /// The joined label of all that the prompt holds.
    pub(crate) label: &'a Label,
    /// The instruction for the model, in the host's own words.
    pub(crate) system: &'a str,
    /// The quoted material that the model works on.
    pub(crate) input: String,
}

/// The label of a model's output: whoever wrote the input, a model's word is nobody's.
pub(crate) fn written_by(model: &str, input: &Label) -> Label {
    input.join(&Label::of(Trust::Untrusted, Class::Public, &format!("model:{model}")))
}

impl Queue {
    /// The model that a job asks; none if it is to do without.
    pub(crate) fn model_of(&self, job: &Job) -> Option<ModelName> {
        job.view.info.model.clone().or_else(|| self.model(job).map(ModelName::clip))
    }

    /// For whom a job asks, and which model.
    pub(crate) fn asker(&self, job: &Job) -> Asker {
        Asker { owner: job.view.info.owner, model: self.model_of(job), order: None }
    }

    /// A JSON value of this shape; a model that answers with none is told so once.
    ///
    /// # Errors
    /// [`Failure::Unusable`] with the code of what was wrong with its second answer.
    pub(crate) async fn ask_json<T: DeserializeOwned>(&self, asking: &Asking<'_>) -> Result<T, Failure> {
        self.ask_for(asking, |_| true).await
    }

    /// The same of a value that has to fit besides.
    ///
    /// # Errors
    /// [`Failure::Unusable`] with the code of what was wrong with its second answer.
    pub(crate) async fn ask_for<T: DeserializeOwned>(
        &self,
        asking: &Asking<'_>,
        fits: impl Fn(&T) -> bool,
    ) -> Result<T, Failure> {
        let read = |answer: &Answer| {
            reading::json(answer)
                .and_then(|value| if fits(&value) { Ok(value) } else { Err(Wrong::InvalidJson) })
        };
        let mut messages =
            vec![Message::text(Role::System, asking.system), Message::text(Role::User, &asking.input)];
        let first = self.ask(asking, messages.clone()).await?;
        let wrong = match read(&first) {
            Ok(value) => return Ok(value),
            Err(wrong) => wrong,
        };
        messages.push(Message::text(Role::Assistant, &first.text));
        let again = format!("{wrong}. Answer once more, with the JSON value alone, whole and shorter.");
        messages.push(Message::text(Role::User, &again));
        let second = self.ask(asking, messages).await?;
        read(&second).map_err(|wrong| Failure::Unusable(wrong.to_string()))
    }

    /// The model's answer to these messages.
    pub(crate) async fn ask(&self, asking: &Asking<'_>, messages: Vec<Message>) -> Result<Answer, Failure> {
        let Some(model) = asking.by.model.clone() else {
            return Err(Failure::Permanent("no model is configured".to_owned()));
        };
        let (owner, order) = (asking.by.owner, asking.by.order);
        let request = Request {
            max_output: self.config.max_tokens_per_compression,
            choice: Choice::Never,
            // The gate fills in the payer.
            ..Request::new(model, List::clip(messages), Payer::of(owner))
        };
        let stream = self.gate.call(&method::background, |gate, context| {
            let (label, request) = (asking.label.clone(), request.clone());
            async move { gate.background(context, owner, label, order, request).await }
        });
        Hearing { queue: self, stream: stream.await??, used: Usage::default(), over: false }.whole().await
    }
}

/// An answer that comes. However it ends, its tokens are counted. One that is dropped before its end is ended at the
/// gate: an unheard answer costs nothing.
struct Hearing<'a> {
    queue: &'a Queue,
    stream: StreamId,
    used: Usage,
    over: bool,
}

impl Hearing<'_> {
    async fn whole(&mut self) -> Result<Answer, Failure> {
        let mut text = String::new();
        let stream = self.stream;
        loop {
            let pulled = self.queue.gate.call(&method::relayed, |gate, context| async move {
                gate.relayed(context, stream, CREDIT).await
            });
            for piece in pulled.await?? {
                match piece {
                    Piece::Text(more) => text.push_str(&more),
                    Piece::Failover { .. } => text.clear(),
                    Piece::Usage(used) => self.used = used,
                    Piece::Failed(error) => {
                        self.over = true;
                        return Err(error.into());
                    }
                    Piece::Done(finish) => {
                        self.over = true;
                        let cut = finish == Finish::MaxTokens;
                        return Ok(Answer { text, cut });
                    }
                    Piece::Reasoning(_)
                    | Piece::Thought { .. }
                    | Piece::ThoughtEnd { .. }
                    | Piece::CallStart { .. }
                    | Piece::CallDelta { .. }
                    | Piece::CallEnd { .. }
                    | Piece::OverBudget { .. } => {}
                }
            }
            if text.len() > LONGEST {
                return Ok(Answer { text: Text::<LONGEST>::clip(&text).into_string(), cut: true });
            }
        }
    }
}

impl Drop for Hearing<'_> {
    fn drop(&mut self) {
        let tokens = u64::from(self.used.input) + u64::from(self.used.output);
        if tokens > 0
            && let Err(error) = self.queue.store.spend(kit::now_ms(), tokens)
        {
            tracing::error!(%error, "tokens could not be counted");
        }
        if self.over {
            return;
        }
        let (gate, stream) = (self.queue.gate.clone(), self.stream);
        drop(tokio::task::spawn_local(async move {
            let ended = gate.call(&method::relay_end, |gate, context| async move {
                gate.relay_end(context, stream).await
            });
            if let Err(fault) = ended.await {
                tracing::warn!(%fault, "an answer that nobody waits for goes on");
            }
        }));
    }
}
