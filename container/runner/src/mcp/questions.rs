//! Questions of a server for a person, of both versions of the protocol, as bounded values; and what the person said, as the protocol
//! has it. A question that cannot be shown whole is answered with no.

use ipc_proto::mcp::{ASKS, Ask, AskAnswer, AskAnswers, Asks, Field, FieldKind, PAGE};
use ipc_proto::{List, Text};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses,
};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// The requests under way, by the gate's number.
#[derive(Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<HashMap<u64, Entry>>>);

struct Entry {
    asking: Asking,
    /// The way for what a person said, while the request waits for that.
    resumed: Option<oneshot::Sender<Resumed>>,
}

/// The way for a server's questions to the request that they belong to.
pub(super) type Asking = mpsc::Sender<Questions>;

/// Questions, and the way for the answers.
pub(super) struct Questions {
    pub(super) asks: Asks,
    pub(super) answers: oneshot::Sender<AskAnswers>,
}

/// A request goes on.
pub(super) struct Resumed {
    /// The number that the reply has from then on.
    pub(super) id: u64,
    pub(super) seconds: u16,
    pub(super) answers: AskAnswers,
}

impl UnderWay {
    /// Notes a request.
    pub(super) fn begin(&self, id: u64, asking: Asking) {
        self.all().insert(id, Entry { asking, resumed: None });
    }

    /// Forgets a request.
    pub(super) fn end(&self, id: u64) {
        self.all().remove(&id);
    }

    /// Has a request wait for a person; returns what it waits for.
    pub(super) fn suspend(&self, id: u64) -> oneshot::Receiver<Resumed> {
        let (resume, resumed) = oneshot::channel();
        if let Some(entry) = self.all().get_mut(&id) {
            entry.resumed = Some(resume);
        }
        resumed
    }

    /// Has a request go on; returns false if none of this number waits.
    pub(super) fn resume(&self, id: u64, resumed: Resumed) -> bool {
        let waiting = self.all().get_mut(&id).and_then(|entry| entry.resumed.take());
        waiting.is_some_and(|waiting| waiting.send(resumed).is_ok())
    }

    /// The way to the only request that is under way. Where there are several, the older protocol does not say which one a question
    /// belongs to, and no person is asked about another's.
    fn only(&self) -> Option<Asking> {
        let all = self.all();
        match all.values().collect::<Vec<_>>().as_slice() {
            [entry] => Some(entry.asking.clone()),
            _ => None,
        }
    }

    /// Answers a question of the older protocol.
    pub(super) async fn answer(&self, asked: ElicitRequestParams) -> ElicitResult {
        let asking = self.only();
        let (Some(ask), Some(asking)) = (ask(&asked), asking) else { return said(None) };
        said(answers(&asking, List::clip([ask])).await.into_iter().next().as_ref())
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks; nothing where the request is over.
async fn answers(asking: &Asking, asks: Asks) -> AskAnswers {
    let (answers, answered) = oneshot::channel();
    if asking.send(Questions { asks, answers }).await.is_err() {
        return List::default();
    }
    answered.await.unwrap_or_default()
}

/// Answers the questions of the newer protocol. None if the server asks for something else than a person's word.
pub(super) async fn answer_all(asking: &Asking, requests: InputRequests) -> Option<InputResponses> {
    let (mut shown, mut responses) = (Vec::new(), InputResponses::new());
    for (key, request) in requests {
        let InputRequest::Elicitation(request) = request else { return None };
        match ask(&request.params).filter(|_| shown.len() < ASKS) {
            Some(ask) => shown.push((key, ask)),
            None => drop(responses.insert(key, value(None))),
        }
    }
    if !shown.is_empty() {
        let asks = List::clip(shown.iter().map(|(_, ask)| ask.clone()));
        let answers = answers(asking, asks).await;
        for (number, (key, _)) in shown.into_iter().enumerate() {
            responses.insert(key, value(answers.get(number)));
        }
    }
    Some(responses)
}

fn value(answer: Option<&AskAnswer>) -> Value {
    serde_json::to_value(said(answer)).unwrap_or_default()
}

/// An answer as the protocol has it.
fn said(answer: Option<&AskAnswer>) -> ElicitResult {
    match answer {
        Some(AskAnswer::Accepted(form)) => {
            let accepted = ElicitResult::new(ElicitationAction::Accept);
            match serde_json::from_str(form) {
                Ok(form) => accepted.with_content(form),
                Err(_) => accepted,
            }
        }
        Some(AskAnswer::Cancelled) => ElicitResult::new(ElicitationAction::Cancel),
        Some(AskAnswer::Declined) | None => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// A question within its bounds.
fn ask(asked: &ElicitRequestParams) -> Option<Ask> {
    match asked {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).ok()?;
            Some(Ask::Form { message: Text::new(message).ok()?, fields: fields(&schema)? })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            Some(Ask::Page { message: Text::new(message).ok()?, url: Text::<PAGE>::new(url).ok()? })
        }
        _ => None,
    }
}

/// The fields of a form: those of one flat object.
fn fields<const N: usize>(schema: &Value) -> Option<List<Field, N>> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties")?.as_object()?;
    let all: Option<Vec<Field>> = properties
        .iter()
        .map(|(name, own)| field(name, own.as_object()?, required.contains(&name.as_str())))
        .collect();
    List::new(all?).ok()
}

fn field(name: &str, own: &Map<String, Value>, required: bool) -> Option<Field> {
    let words = ["title", "description"].iter().filter_map(|key| own.get(*key).and_then(Value::as_str));
    let kind = match own.get("type").and_then(Value::as_str).unwrap_or("string") {
        "string" => choices(own)?.map_or(FieldKind::Text, FieldKind::One),
        "integer" => FieldKind::Integer,
        "number" => FieldKind::Number,
        "boolean" => FieldKind::Boolean,
        "array" => FieldKind::Several(choices(own.get("items")?.as_object()?)??),
        _ => return None,
    };
    Some(Field {
        name: Text::new(name).ok()?,
        description: Text::new(words.collect::<Vec<_>>().join(": ")).ok()?,
        required,
        kind,
        default: own
            .get("default")
            .map_or_else(|| Some(Text::default()), |value| Text::new(value.to_string()).ok())?,
    })
}

/// The texts that a field may have, if it has a list of them; none if the list is not within its bound.
fn choices<const N: usize>(own: &Map<String, Value>) -> Option<Option<List<Text<128>, N>>> {
    let plain = own.get("enum").and_then(Value::as_array);
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| own.get(*key).and_then(Value::as_array));
    let texts: Option<Vec<Text<128>>> = match (plain, titled) {
        (Some(plain), _) => plain.iter().map(|one| Text::new(one.as_str()?).ok()).collect(),
        (None, Some(titled)) => {
            titled.iter().map(|one| Text::new(one.get("const")?.as_str()?).ok()).collect()
        }
        (None, None) => return Some(None),
    };
    List::new(texts?).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(params: Value) -> Option<Ask> {
        ask(&serde_json::from_value(params).unwrap())
    }

    #[test]
    fn a_form_has_its_fields_and_one_beyond_the_bounds_is_no_question() {
        let properties = json!({
            "when": {"type": "string", "title": "When", "description": "The day", "default": "today"},
            "seats": {"type": "integer", "minimum": 1},
            "class": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            "extras": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}}
        });
        let schema = json!({"type": "object", "properties": properties, "required": ["seats"]});
        let Some(Ask::Form { fields, .. }) = asked(json!({"message": "Book?", "requestedSchema": schema}))
        else {
            panic!("a form");
        };
        let named = |name: &str| fields.iter().find(|field| field.name.as_str() == name).unwrap();
        assert_eq!(
            (named("when").default.as_str(), named("when").description.as_str()),
            ("\"today\"", "When: The day")
        );
        assert!(named("seats").required && named("seats").kind == FieldKind::Integer);
        assert!(matches!(&named("class").kind, FieldKind::One(two) if two.len() == 2));
        assert!(matches!(&named("extras").kind, FieldKind::Several(two) if two.len() == 2));
        let many: Map<String, Value> =
            (0..40).map(|n| (format!("f{n}"), json!({"type": "boolean"}))).collect();
        let schema = json!({"type": "object", "properties": many});
        assert_eq!(asked(json!({"message": "Book?", "requestedSchema": schema})), None);
        let long =
            json!({"mode": "url", "message": "Look", "url": "x".repeat(PAGE + 1), "elicitationId": "1"});
        assert_eq!(asked(long), None);
    }

    #[tokio::test]
    async fn a_question_that_may_be_of_either_request_is_declined() {
        let (under_way, (asking, mut asked)) = (UnderWay::default(), mpsc::channel(1));
        let page = || {
            serde_json::from_value(json!({"mode": "url", "message": "m", "url": "u", "elicitationId": "1"}))
        };
        under_way.begin(1, asking.clone());
        under_way.begin(2, asking);
        assert_eq!(under_way.answer(page().unwrap()).await.action, ElicitationAction::Decline);
        under_way.end(2);
        let (answered, ()) = tokio::join!(under_way.answer(page().unwrap()), async {
            let questions: Questions = asked.recv().await.unwrap();
            questions.answers.send(List::clip([AskAnswer::Accepted(Text::default())])).unwrap();
        });
        assert_eq!(answered, ElicitResult::new(ElicitationAction::Accept));
    }
}
