//! Answers a prompt that the owner queued. The prompt is the owner's own word; the answer is stored with its job.

use crate::failure::Failure;
use crate::finish::Done;
use crate::model::Asking;
use crate::queue::Queue;
use crate::reading::{self, Wrong};
use crate::store::Job;
use ipc_proto::curator::AnswerType;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::{Message, Role};
use serde_json::Value;

const SYSTEM: &str = "Answer what is asked. Nobody can answer a question of yours.";
const SYSTEM_JSON: &str = "Answer what is asked with one JSON value and nothing else.";

/// The answer. One that breaks off is better than none for its reader, and is marked.
pub(crate) async fn answer(queue: &Queue, job: &Job) -> Result<Done, Failure> {
    let label = Label::of(Trust::User, Class::Internal, "control");
    let wants = job.view.wants;
    let system = if wants == AnswerType::Json { SYSTEM_JSON } else { SYSTEM };
    let input = job.view.prompt.to_string();
    let asking = Asking { by: queue.asker(job), label: &label, system, input };
    if wants == AnswerType::Json {
        let value = queue.ask_json::<Value>(&asking).await?;
        return Ok(Done::Answer(value.to_string(), String::new()));
    }
    let messages = vec![Message::text(Role::System, system), Message::text(Role::User, &asking.input)];
    let answer = queue.ask(&asking, messages).await?;
    let wrong = if answer.cut { Wrong::Truncated.to_string() } else { String::new() };
    let said = match wants {
        AnswerType::Raw => answer.text,
        AnswerType::Response | AnswerType::Json => reading::trimmed(&answer.text).to_owned(),
    };
    Ok(Done::Answer(said, wrong))
}
