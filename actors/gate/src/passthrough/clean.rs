//! A client's request on its way to a model: every text is scanned, secrets are cut out, and the rest is labelled. No text goes
//! on that was not inspected.

use crate::inspection::marks::SUSPECT;
use crate::passthrough::deps::Dependencies;
use futures::stream::{self, StreamExt, TryStreamExt};
use ipc_proto::gate::RelayError;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::{Asked, Embedding, Message, Request, Role, Thought};
use ipc_proto::scanner::{Crossing, Judgement, SCAN_BOUND, Verdict};
use ipc_proto::{List, Text};

/// Texts that are scanned at once.
const AT_ONCE: usize = 8;

/// The findings on the texts of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    trust: Trust,
    class: Class,
    /// A secret of the host was among them, which is an alert, whatever becomes of the request.
    pub(crate) held_secret: bool,
}

/// The cleaned request, or its refusal, and the findings in either case.
pub(crate) type Cleaned<T> = (Result<T, RelayError>, Found);

impl Found {
    /// Texts of a key's holder, before inspection.
    const SENT: Self = Self { trust: Trust::User, class: Class::Internal, held_secret: false };

    /// The findings that are expected of a request before inspection: none beside those of its sender.
    pub(crate) fn expected(request: &Request) -> Self {
        let mut found = Self::SENT;
        let strange = |message: &Message| message.role == Role::Tool;
        if !request.images.is_empty() || request.messages.iter().any(strange) {
            found.is_a_stranger_s();
        }
        found
    }

    const fn is_a_stranger_s(&mut self) {
        self.trust = Trust::Untrusted;
    }

    /// Notes findings that count whatever becomes of the request.
    fn note(&mut self, verdicts: &[Option<Verdict>]) {
        self.held_secret |= verdicts.iter().flatten().any(|verdict| verdict.held_secret);
    }

    fn shows(&mut self, class: Class) {
        self.class = self.class.max(class);
    }

    /// The label of the findings, with this source.
    pub(crate) fn label(self, source: &str) -> Label {
        Label::of(self.trust, self.class, source)
    }
}

/// Cleans a request.
pub(crate) async fn request(deps: &impl Dependencies, request: Request) -> Cleaned<Request> {
    let mut found = Found::SENT;
    (clean(deps, request, &mut found).await, found)
}

/// Cleans texts to embed. Nobody obeys them, so only secrets matter.
pub(crate) async fn embedding(deps: &impl Dependencies, request: Embedding) -> Cleaned<Embedding> {
    let mut found = Found::SENT;
    (clean_embedding(deps, request, &mut found).await, found)
}

async fn clean(
    deps: &impl Dependencies,
    mut request: Request,
    found: &mut Found,
) -> Result<Request, RelayError> {
    let declared = declared(&request);
    let mut messages = request.messages.into_vec();
    let all = declared.iter().map(|text| (Crossing::Record, text.as_str()));
    let all = all.chain(messages.iter().flat_map(texts));
    // No declared text is empty, so the first verdicts are theirs.
    let verdicts = judge_all(deps, all).await?;
    found.note(&verdicts);
    let mut verdicts = verdicts.into_iter().flatten();
    for verdict in verdicts.by_ref().take(declared.len()) {
        refuse_secrets(found, &verdict)?;
    }
    for message in &mut messages {
        if message.role == Role::Tool {
            found.is_a_stranger_s();
        }
        if !message.text.is_empty()
            && let Some(verdict) = verdicts.next()
        {
            take(found, message, &verdict)?;
        }
        clean_calls(found, message, &mut verdicts);
        clean_thoughts(found, message, &mut verdicts);
    }
    if !request.images.is_empty() {
        found.is_a_stranger_s();
    }
    request.messages = List::clip(messages);
    Ok(request)
}

async fn clean_embedding(
    deps: &impl Dependencies,
    mut request: Embedding,
    found: &mut Found,
) -> Result<Embedding, RelayError> {
    let all: Vec<(Crossing, &str)> =
        request.texts.iter().map(|text| (Crossing::ChannelInput, text.as_str())).collect();
    let verdicts = judge_all(deps, all.into_iter()).await?;
    found.note(&verdicts);
    let mut texts = request.texts.into_vec();
    for (text, verdict) in texts.iter_mut().zip(verdicts) {
        if let Some(verdict) = verdict
            && let Some(clean) = cut(found, &verdict)
        {
            *text = Text::clip(&clean);
        }
    }
    request.texts = List::clip(texts);
    Ok(request)
}

/// Every text of a message with the boundary that it crosses: its own text, the arguments of its calls, its reasoning.
fn texts(message: &Message) -> impl Iterator<Item = (Crossing, &str)> {
    let crossing = match message.role {
        Role::Tool => Crossing::ToolOutput,
        Role::System | Role::User | Role::Assistant => Crossing::ChannelInput,
    };
    let args = message.calls.iter().map(|call| (Crossing::Arguments, call.args.as_str()));
    let thoughts = message.thoughts.iter().flat_map(|it| [it.text.as_str(), it.seal.as_str()]);
    let thoughts = thoughts.map(|text| (Crossing::Answer, text));
    std::iter::once((crossing, message.text.as_str())).chain(args).chain(thoughts)
}

/// The verdicts on these texts, in order; `None` for an empty one.
async fn judge_all<'a>(
    deps: &impl Dependencies,
    texts: impl Iterator<Item = (Crossing, &'a str)>,
) -> Result<Vec<Option<Verdict>>, RelayError> {
    // The futures are built first: a closure across an await could not be sent to another thread.
    let judging: Vec<_> = texts.map(|(crossing, text)| judge(deps, crossing, text)).collect();
    stream::iter(judging).buffered(AT_ONCE).try_collect().await
}

async fn judge(
    deps: &impl Dependencies,
    crossing: Crossing,
    text: &str,
) -> Result<Option<Verdict>, RelayError> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() > SCAN_BOUND {
        return Err(RelayError::Blocked(Text::clip("a text is longer than the scanner looks at")));
    }
    deps.judge(crossing, text).await.map(Some)
}

/// Applies the verdict to one message. A certain attack in a user's message is refused; in a tool's output it is marked as data.
/// The client's own instructions and earlier answers stay.
fn take(found: &mut Found, message: &mut Message, verdict: &Verdict) -> Result<(), RelayError> {
    let hostile = verdict.judgement == Judgement::Block;
    if hostile && message.role == Role::User {
        return Err(blocked(verdict));
    }
    if let Some(clean) = cut(found, verdict) {
        message.text = Text::clip(&clean);
    }
    if hostile && message.role == Role::Tool {
        message.text = Text::clip(&format!("{SUSPECT}{}", message.text));
    }
    Ok(())
}

/// The text with secrets cut out, if there were any.
fn cut(found: &mut Found, verdict: &Verdict) -> Option<String> {
    found.shows(if verdict.redacted.is_some() { Class::Sensitive } else { verdict.class });
    verdict.redacted.as_ref().map(ToString::to_string)
}

/// Cleans the arguments of an earlier answer's calls.
fn clean_calls(found: &mut Found, message: &mut Message, verdicts: &mut impl Iterator<Item = Verdict>) {
    if message.calls.is_empty() {
        return;
    }
    let mut calls: Vec<Asked> = message.calls.iter().cloned().collect();
    for call in calls.iter_mut().filter(|call| !call.args.is_empty()) {
        if let Some(verdict) = verdicts.next()
            && let Some(clean) = cut(found, &verdict)
        {
            call.args = Text::clip(&clean);
        }
    }
    message.calls = List::clip(calls);
}

/// Cleans the reasoning of an earlier answer that its client hands back: each block stays as it is or is dropped. Nobody can read
/// a seal, so there only a certain secret of the host counts.
fn clean_thoughts(found: &mut Found, message: &mut Message, verdicts: &mut impl Iterator<Item = Verdict>) {
    if message.thoughts.is_empty() {
        return;
    }
    let mut kept: Vec<Thought> = Vec::new();
    for thought in &message.thoughts {
        let (mut clean, mut next) = (true, |text: &str| if text.is_empty() { None } else { verdicts.next() });
        let (said, seal) = (next(&thought.text), next(&thought.seal));
        if let Some(verdict) = said {
            clean = cut(found, &verdict).is_none();
        }
        if let Some(verdict) = seal.filter(|verdict| verdict.held_secret) {
            cut(found, &verdict);
            clean = false;
        }
        if clean {
            kept.push(thought.clone());
        }
    }
    message.thoughts = List::clip(kept);
}

/// The declarations of tools and the stop sequences, in as few texts as the scanner takes. A secret has no place there, and
/// cannot be cut out of a schema.
fn declared(request: &Request) -> Vec<String> {
    let tools = request.tools.iter();
    let tools = tools.map(|tool| format!("{}\n{}\n{}\n", tool.name, tool.description, tool.schema));
    let stops = request.stop.iter().map(|stop| format!("{stop}\n"));
    let mut texts: Vec<String> = Vec::new();
    for part in tools.chain(stops) {
        match texts.last_mut() {
            Some(text) if text.len() + part.len() <= SCAN_BOUND => text.push_str(&part),
            _ => texts.push(part),
        }
    }
    texts
}

fn refuse_secrets(found: &mut Found, verdict: &Verdict) -> Result<(), RelayError> {
    match cut(found, verdict) {
        None => Ok(()),
        Some(_) => Err(blocked(verdict)),
    }
}

fn blocked(verdict: &Verdict) -> RelayError {
    let rules: Vec<&str> = verdict.rules.iter().map(Text::as_str).collect();
    RelayError::Blocked(Text::clip(&rules.join(", ")))
}

/// Bytes of the long parts of a request.
pub(crate) fn size(request: &Request) -> usize {
    let messages = request.messages.iter().map(|message| {
        let calls: usize = message.calls.iter().map(|call| call.args.len()).sum();
        message.text.len() + calls + message.thoughts.iter().map(Thought::bytes).sum::<usize>()
    });
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.schema.len());
    messages.sum::<usize>()
        + tools.sum::<usize>()
        + request.images.iter().map(|it| it.bytes.len()).sum::<usize>()
}

/// Bytes of all texts of a conversation.
pub(crate) fn bytes(request: &Request) -> usize {
    request.messages.iter().map(|message| message.text.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passthrough::testing::{Fake, ask};
    use ipc_proto::Name;
    use ipc_proto::ids::CallId;
    use ipc_proto::tool::ToolSpec;

    fn asking(role: Role, text: &str) -> Request {
        let mut request = ask();
        request.messages = List::clip([Message::text(role, text)]);
        request
    }

    async fn request(deps: &Fake, request: Request) -> Result<(Request, Found), RelayError> {
        let (request, found) = crate::passthrough::clean::request(deps, request).await;
        request.map(|request| (request, found))
    }

    async fn cleaned(asked: Request) -> Result<(Vec<String>, Label), RelayError> {
        let (request, found) = request(&Fake::default(), asked).await?;
        let texts = request.messages.iter().map(|message| message.text.to_string()).collect();
        Ok((texts, found.label("api")))
    }

    // Holds P8-18.
    #[tokio::test]
    async fn a_secret_is_cut_out_of_every_text_and_the_rest_is_sensitive() {
        for role in [Role::System, Role::User, Role::Assistant, Role::Tool] {
            let (texts, label) = cleaned(asking(role, "the key is SECRET, use it")).await.unwrap();
            assert_eq!((texts, label.class), (vec!["the key is [cut], use it".to_owned()], Class::Sensitive));
        }
    }

    // Holds P5-02.
    #[tokio::test]
    async fn a_holders_text_is_the_users_and_tool_output_and_images_are_untrusted() {
        let trust = async |request| cleaned(request).await.unwrap().1.trust;
        for role in [Role::System, Role::User, Role::Assistant] {
            assert_eq!(trust(asking(role, "hello")).await, Trust::User);
        }
        assert_eq!(trust(asking(Role::Tool, "hello")).await, Trust::Untrusted);
        let mut request = asking(Role::User, "what is this?");
        request.images = List::clip([ipc_proto::model::Image {
            message: 0,
            media: Text::clip("image/png"),
            bytes: ipc_proto::Blob::new([1, 2, 3]).unwrap(),
        }]);
        assert_eq!(trust(request).await, Trust::Untrusted);
    }

    // Holds P8-18.
    #[tokio::test]
    async fn an_attack_is_refused_from_a_user_and_marked_in_tool_output() {
        let refused = cleaned(asking(Role::User, "ATTACK")).await;
        assert_eq!(refused, Err(RelayError::Blocked(Text::clip("attack"))));
        assert_eq!(cleaned(asking(Role::System, "ATTACK")).await.unwrap().0, ["ATTACK"]);
        assert_eq!(cleaned(asking(Role::Tool, "ATTACK")).await.unwrap().0, [format!("{SUSPECT}ATTACK")]);
    }

    // Holds P8-18.
    #[tokio::test]
    async fn earlier_arguments_are_cleaned_and_a_secret_among_tools_is_refused() {
        let mut request = asking(Role::Assistant, "");
        let mut message = Message::text(Role::Assistant, "");
        let args = Text::clip(r#"{"key":"SECRET"}"#);
        message.calls = List::clip([Asked { id: CallId::random(), tool: Name::clip("send"), args }]);
        request.messages = List::clip([message]);
        let (clean, _) = self::request(&Fake::default(), request).await.unwrap();
        let args = clean.messages.iter().flat_map(|it| &it.calls).map(|call| call.args.to_string());
        assert_eq!(args.collect::<Vec<_>>(), [r#"{"key":"[cut]"}"#]);
        let mut request = asking(Role::User, "hello");
        request.tools = List::clip([ToolSpec {
            name: Name::clip("send"),
            description: Text::clip("use SECRET"),
            schema: Text::clip("{}"),
            in_jail: false,
        }]);
        assert!(matches!(cleaned(request).await, Err(RelayError::Blocked(_))));
        let mut request = asking(Role::User, "hello");
        request.stop = List::clip([Text::clip("SECRET")]);
        assert!(matches!(cleaned(request).await, Err(RelayError::Blocked(_))));
    }

    // Holds P8-22.
    #[tokio::test]
    async fn reasoning_from_a_client_goes_on_unchanged_or_not_at_all() {
        let thought =
            |text: &str| Thought { text: Text::clip(text), seal: Text::clip("s"), ..Thought::default() };
        let mut message = Message::text(Role::Assistant, "well");
        message.thoughts = List::clip([thought("hm"), thought("the SECRET"), thought("ATTACK")]);
        let mut request = ask();
        request.messages = List::clip([message, Message::text(Role::User, "the key is SECRET")]);
        let (clean, found) = self::request(&Fake::default(), request).await.unwrap();
        assert_eq!(clean.messages[0].thoughts[..], [thought("hm"), thought("ATTACK")]);
        assert_eq!(clean.messages[1].text.as_str(), "the key is [cut]", "each text has its own verdict");
        assert_eq!(found.label("api").class, Class::Sensitive);
    }

    #[tokio::test]
    async fn what_is_declared_and_what_is_said_is_judged_in_one_round() {
        let mut request = asking(Role::User, "hello");
        request.stop = List::clip([Text::clip("END")]);
        let fake = Fake::default();
        self::request(&fake, request).await.unwrap();
        assert_eq!(fake.judged_at_once.get(), 2);
    }

    // Holds P8-18.
    #[tokio::test]
    async fn with_the_scanner_away_or_a_text_too_long_for_it_nothing_goes_on() {
        let long = "x".repeat(SCAN_BOUND + 1);
        assert!(matches!(cleaned(asking(Role::System, &long)).await, Err(RelayError::Blocked(_))));
        let away = Fake { away: true, ..Fake::default() };
        assert!(matches!(request(&away, ask()).await, Err(RelayError::Down(_))));
    }

    // Holds P8-18.
    #[tokio::test]
    async fn texts_to_embed_lose_their_secrets_and_are_not_taken_for_attacks() {
        let mut request = crate::passthrough::testing::embed();
        request.texts = List::clip([Text::clip("ATTACK"), Text::clip("SECRET")]);
        let (clean, found) = embedding(&Fake::default(), request).await;
        let clean = clean.unwrap();
        assert_eq!(clean.texts.iter().map(|text| text.as_str()).collect::<Vec<_>>(), ["ATTACK", "[cut]"]);
        assert_eq!(found.label("api").class, Class::Sensitive);
    }
}
