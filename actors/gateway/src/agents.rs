//! `agent/NAME`: a message to an agent, and the events of its turn. The agent knows the conversation from its session, so earlier messages
//! that a client sends again are left out, and its tools are its own. A client that goes away cancels nothing.

use crate::app_state::AppState;
use crate::chat_request::ChatRequest;
use crate::fault::{Fault, Kind};
use crate::guard::{self, Who};
use crate::health;
use crate::ids;
use crate::listing;
use crate::permits::Permit;
use crate::scope;
use axum::http::HeaderMap;
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use futures::FutureExt;
use ipc_proto::api::Caller;
use ipc_proto::content::{Content, IMAGES_BOUND, Media, PARTS, Part, Place, TEXT_BOUND};
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::model::{Finish, Request, Role};
use ipc_proto::router::{End, Finished, Followed, RouterError, Submission, Task, TurnEvent, method};
use ipc_proto::{List, Name, Text};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use vendors::answer::ReplyEvent;

/// The channel that messages of the API come by.
const CHANNEL: &str = "api";
/// Events in one answer.
const CREDIT: u16 = 64;
/// How often a router that is away is asked again, and after how long: it comes back in tens of milliseconds, and the
/// turn outlives it.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(500);
/// A turn that says nothing for so long may wait for a process that is away.
const SILENT: Duration = Duration::from_secs(12);
/// A process that has died is back after less.
const RETURNS: Duration = Duration::from_secs(2);
/// Bytes of a client's key that are used as they are: the prefixes of router and of this process fit as well.
const KEY: usize = 128;

/// A turn that is followed.
pub(crate) struct Turn {
    app: Arc<AppState>,
    caller: Caller,
    id: TurnId,
    /// The event to go on with.
    from: u64,
    /// Something was said.
    spoken: bool,
    /// When something came last, or was looked for.
    looked: Instant,
    /// Events were lost, so what is said until the reply begins again is not the whole.
    lost: bool,
    _permit: Permit,
}

/// Gives the agent the client's last message.
///
/// # Errors
/// There is no such agent for this key, nothing is said, or router takes nothing.
pub(crate) async fn begin(
    app: &Arc<AppState>,
    who: &Who,
    headers: &HeaderMap,
    agent: &str,
    chat: &ChatRequest,
    key: Option<&str>,
) -> Result<Turn, Fault> {
    let holder = &who.holder;
    let Some(name) = holder.agents.iter().find(|name| name.as_str() == agent) else {
        return Err(listing::no_agent(app, who.caller, chat.request.model.as_str()).await);
    };
    let conversation = conversation(headers, chat)?;
    let submission = Submission {
        // Router fills it in from what was presented.
        user: UserId::from_bytes([0; 16]),
        session: scope::session(holder, agent, conversation.as_deref()),
        agent: Some(name.clone()),
        channel: Name::clip(CHANNEL),
        key: message_key(who.caller, key),
        content: last_message(&chat.request)?,
        task: Task::Chat,
        workspace: None,
        workspace_label: None,
    };
    let permit = app.permits.turn(holder)?;
    let caller = who.caller;
    let accepted = app.router.call(&method::api_submit, |router, context| {
        let submission = submission.clone();
        async move { router.api_submit(context, caller, submission).await }
    });
    let accepted = accepted.await.map_err(|fault| Fault::down("router", fault))??;
    let (app, id) = (Arc::clone(app), accepted.turn);
    Ok(Turn { app, caller, id, from: 0, spoken: false, looked: Instant::now(), lost: false, _permit: permit })
}

/// The client's own name for its conversation.
///
/// # Errors
/// It goes on from a response that is none.
pub(crate) fn conversation(headers: &HeaderMap, chat: &ChatRequest) -> Result<Option<String>, Fault> {
    match &chat.previous {
        Some(response) => scope::conversation_of(response),
        None => Ok(scope::conversation(headers, chat.conversation.as_deref())),
    }
}

/// The idempotency key of a message: the same key of one client is one message, however often it is sent. Router joins it with the id of
/// the API key; users without one are distinguished here.
pub(crate) fn message_key(caller: Caller, key: Option<&str>) -> Text<256> {
    let own = match key {
        None => ids::fresh(""),
        Some(key) if key.len() <= KEY => key.to_owned(),
        Some(key) => HEX.encode(&ids::short_hash(key.as_bytes())),
    };
    match caller {
        Caller::Key(_) => Text::clip(&own),
        Caller::Peer(uid) => Text::clip(&format!("{uid}:{own}")),
    }
}

/// The client's last message, with the images of all its messages since the last answer: some clients send an image as a message of its
/// own.
fn last_message(request: &Request) -> Result<Content, Fault> {
    let last = request.messages.iter().enumerate().rev().find(|(_, message)| message.role == Role::User);
    let Some((index, message)) = last else {
        return Err(Fault::bad(
            "messages",
            "An agent is asked by a message of role `user`, and there is none.",
        ));
    };
    let mut parts = Vec::new();
    if !message.text.trim().is_empty() {
        let text = Text::new(message.text.as_str()).map_err(|_| {
            Fault::bad("messages", format!("A message to an agent is at most {TEXT_BOUND} bytes of text."))
        })?;
        parts.push(Part::Text(text));
    }
    let before = request.messages.iter().take(index);
    let since = before.enumerate().rev().find(|(_, message)| message.role == Role::Assistant);
    let since = since.map_or(0, |(answered, _)| answered + 1);
    let shown = request.images.iter().filter(|image| (since..=index).contains(&usize::from(image.message)));
    parts.extend(shown.map(|image| {
        let place = Place::Bytes(image.bytes.clone());
        Part::Image(Media { place, media_type: image.media.clone(), name: None })
    }));
    if parts.is_empty() {
        return Err(Fault::bad("messages", "The last message of role `user` is empty."));
    }
    let parts = List::new(parts)
        .map_err(|_| Fault::bad("messages", format!("A message has at most {PARTS} parts.")))?;
    let content = Content { parts, ..Content::default() };
    if content.image_bytes() > IMAGES_BOUND {
        let most = format!("A message to an agent shows at most {IMAGES_BOUND} bytes of images together.");
        return Err(Fault::new(Kind::Large, most).about("messages"));
    }
    Ok(content)
}

impl Turn {
    pub(crate) const fn id(&self) -> TurnId {
        self.id
    }

    /// The next events of the reply.
    pub(crate) async fn next(&mut self) -> Vec<ReplyEvent> {
        let heard = self.next_events().await;
        match guard::still(&self.app, self.caller).await.and(heard) {
            Ok(followed) => self.take(followed),
            Err(fault) => vec![ReplyEvent::Failed(fault)],
        }
    }

    /// The next events of the turn. If it has said nothing for long because a process that it waits for does not serve, the client gets
    /// an error that says so.
    async fn next_events(&mut self) -> Result<Followed, Fault> {
        let mut following = pin!(follow(&self.app, self.caller, self.id, self.from));
        loop {
            let silent = sleep_until(self.looked + SILENT);
            tokio::select! {
                followed = &mut following => return followed,
                () = silent, if !self.spoken => {}
            }
            let away = self.stays_away().await;
            if !away.is_empty() {
                // Something may have come meanwhile.
                return match following.now_or_never() {
                    Some(Ok(followed)) if !followed.events.is_empty() => Ok(followed),
                    _ => Err(waits(self.id, &away)),
                };
            }
            self.looked = Instant::now();
        }
    }

    /// The processes that the turn waits for and that do not serve, not even a while later: one that has only died is back by then.
    async fn stays_away(&self) -> Vec<String> {
        let (app, caller, turn) = (&self.app, self.caller, self.id);
        if health::away(app).await.is_empty() {
            return Vec::new();
        }
        sleep(RETURNS).await;
        let mut away = health::away(app).await;
        if away.is_empty() {
            return away;
        }
        let waits = app.router.call(&method::api_waits, |router, context| async move {
            router.api_waits(context, caller, turn).await
        });
        match waits.await {
            Ok(Ok(waits)) => away.retain(|name| waits.iter().any(|it| it.as_str() == name)),
            // Router gives the reason to the client that follows the turn.
            Ok(Err(_)) => away.clear(),
            Err(_) => away.retain(|name| name == "router"),
        }
        away
    }

    fn take(&mut self, followed: Followed) -> Vec<ReplyEvent> {
        if !followed.events.is_empty() {
            self.looked = Instant::now();
        }
        let mut said = Vec::new();
        if followed.from > self.from {
            self.lost = true;
            said.push(ReplyEvent::Void);
        }
        self.from = followed.next;
        for event in followed.events {
            self.hear(event, &mut said);
        }
        self.spoken |= said.iter().any(|said| matches!(said, ReplyEvent::Text(_)));
        let ended = matches!(said.last(), Some(ReplyEvent::Done(_) | ReplyEvent::Failed(_)));
        if followed.over && !ended {
            // The end itself was missed, which only an ended host can come to.
            said.push(ReplyEvent::Failed(RouterError::NoTurn.into()));
        }
        said
    }

    fn hear(&mut self, event: TurnEvent, said: &mut Vec<ReplyEvent>) {
        match event {
            TurnEvent::Text(text) if !self.lost => said.push(ReplyEvent::Text(text.into_string())),
            TurnEvent::Started { attempt } if attempt > 1 => self.again(said),
            TurnEvent::Again => self.again(said),
            TurnEvent::ToolStart { tool, refused, .. } => {
                let word = if refused.is_some() { "was refused" } else { "runs" };
                said.push(ReplyEvent::Note(format!("tool {tool} {word}")));
            }
            TurnEvent::Approval { id, tool, .. } => {
                said.push(ReplyEvent::Note(format!(
                    "tool {tool} waits for a person: agentctl approvals show {id}"
                )));
            }
            TurnEvent::Notice(notice) => said.push(ReplyEvent::Note(notice.into_string())),
            TurnEvent::Done(finished) => ended(finished, said),
            _ => {}
        }
    }

    /// The reply begins again, and what comes now is whole.
    fn again(&mut self, said: &mut Vec<ReplyEvent>) {
        self.lost = false;
        said.push(ReplyEvent::Void);
    }
}

async fn follow(app: &AppState, caller: Caller, turn: TurnId, from: u64) -> Result<Followed, Fault> {
    let mut tries = 1;
    loop {
        let asked = app.router.call(&method::api_follow, |router, context| async move {
            router.api_follow(context, caller, turn, from, CREDIT).await
        });
        match asked.await {
            Ok(followed) => return followed.map_err(Fault::from),
            Err(_) if tries < TRIES => {
                tries += 1;
                sleep(PAUSE).await;
            }
            Err(fault) => return Err(Fault::down("router", fault)),
        }
    }
}

/// The turn is not over, and a second message would be a second turn.
fn waits(turn: TurnId, away: &[String]) -> Fault {
    let message = format!(
        "Turn {turn} was accepted and waits for {}; it goes on by itself. The same `Idempotency-Key` gets its answer.",
        away.join(", ")
    );
    Fault::new(Kind::Busy, message).coded("turn_waits").never_by_itself()
}

fn ended(finished: Finished, said: &mut Vec<ReplyEvent>) {
    let fault = match finished.end {
        End::Answered => {
            said.push(ReplyEvent::Answer(finished.text.into_string()));
            said.push(ReplyEvent::Usage(finished.usage));
            said.push(ReplyEvent::Done(Finish::Stop));
            return;
        }
        End::Blocked(why) => {
            let message = format!("The scanner kept the message from being answered: {why}.");
            Fault::new(Kind::Bad, message).coded("content_filter")
        }
        End::TimedOut => Fault::new(Kind::Late, "The agent's turn ran out of time."),
        End::Cancelled => Fault::new(Kind::Conflict, "The agent's turn was cancelled.").coded("cancelled"),
        End::Recalled => Fault::new(Kind::Conflict, "The message was taken back.").coded("cancelled"),
        End::Failed(reason) => Fault::of_model(reason.into_string()),
        End::Quarantined(reason) => Fault::new(Kind::Failed, reason.into_string()),
        End::TakenIn(turn) => {
            Fault::new(Kind::Conflict, format!("Turn {turn} took the message in.")).coded("taken_in")
        }
        End::OverLimit(limit) => Fault::new(Kind::Failed, limit.sentence()),
        End::Exited { status } => Fault::new(Kind::Failed, format!("It ended with status {status}.")),
    };
    said.push(ReplyEvent::Failed(fault));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat_request::{Draft, Options, picture_at};
    use ipc_proto::model::{ModelError, Per, Usage};

    fn finished(end: End, text: &str) -> TurnEvent {
        TurnEvent::Done(Finished {
            end,
            text: Text::clip(text),
            label: ipc_proto::label::Label::default(),
            usage: Usage::default(),
            duration_ms: 1,
            attempts: 1,
        })
    }

    fn asked(build: impl FnOnce(&mut Draft)) -> Result<Content, Fault> {
        let mut draft = Draft::default();
        draft.say(Role::System, "be brief".into(), "x").unwrap();
        build(&mut draft);
        last_message(&draft.request(Options { model: "agent/a".into(), ..Options::default() }).unwrap())
    }

    #[test]
    fn an_agent_gets_the_last_message_with_its_images() {
        let content = asked(|draft| {
            draft.say(Role::User, "first".into(), "x").unwrap();
            draft.show(picture_at("data:image/png;base64,AQID", "x").unwrap(), "x").unwrap();
            draft.say(Role::Assistant, "answer".into(), "x").unwrap();
            draft.say(Role::User, "second".into(), "x").unwrap();
            draft.show(picture_at("data:image/png;base64,BAUG", "x").unwrap(), "x").unwrap();
        });
        let content = content.unwrap();
        let [Part::Text(text), Part::Image(image)] = &content.parts[..] else { panic!("{content:?}") };
        assert_eq!((text.as_str(), image.media_type.as_str()), ("second", "image/png"));
        assert!(matches!(&image.place, Place::Bytes(bytes) if bytes[..] == [4, 5, 6]));
    }

    // Holds P3-43.
    #[test]
    fn images_of_unanswered_messages_go_with_the_last_one_in_order() {
        let content = asked(|draft| {
            draft.say(Role::User, "old".into(), "x").unwrap();
            draft.show(picture_at("data:image/png;base64,AA==", "x").unwrap(), "x").unwrap();
            draft.say(Role::Assistant, "answer".into(), "x").unwrap();
            draft.say(Role::User, String::new(), "x").unwrap();
            draft.show(picture_at("data:image/png;base64,AQ==", "x").unwrap(), "x").unwrap();
            draft.say(Role::User, "what is it?".into(), "x").unwrap();
            draft.show(picture_at("data:image/png;base64,Ag==", "x").unwrap(), "x").unwrap();
        });
        let content = content.unwrap();
        let [Part::Text(text), images @ ..] = &content.parts[..] else { panic!("{content:?}") };
        let first = |part: &Part| match part {
            Part::Image(Media { place: Place::Bytes(bytes), .. }) => bytes.first().copied(),
            _ => None,
        };
        assert_eq!(text.as_str(), "what is it?");
        assert_eq!(images.iter().map(first).collect::<Vec<_>>(), [Some(1), Some(2)]);
    }

    // Holds B-154.
    #[test]
    fn an_agent_is_not_asked_by_nothing_nor_by_more_than_a_message_holds() {
        assert!(asked(|_| ()).is_err());
        assert!(asked(|draft| draft.say(Role::User, " \n".into(), "x").unwrap()).is_err());
        assert!(asked(|draft| draft.say(Role::User, "a".repeat(TEXT_BOUND + 1), "x").unwrap()).is_err());
        let shown = |last: &'static str| {
            asked(|draft| {
                draft.say(Role::User, "look".into(), "x").unwrap();
                // As many characters in base64 as its bound of bytes is.
                let large = format!("data:image/png;base64,{}", "A".repeat(IMAGES_BOUND / 3 * 4));
                draft.show(picture_at(&large, "x").unwrap(), "x").unwrap();
                draft.show(picture_at(&format!("data:image/png;base64,{last}"), "x").unwrap(), "x").unwrap();
            })
        };
        assert!(shown("AQ==").is_ok());
        assert_eq!(shown("AQID").unwrap_err().kind(), Kind::Large);
        let many = asked(|draft| {
            draft.say(Role::User, "look".into(), "x").unwrap();
            for _ in 0..PARTS {
                draft.show(picture_at("data:image/png;base64,AQID", "x").unwrap(), "x").unwrap();
            }
        });
        assert_eq!(many.unwrap_err().kind(), Kind::Bad, "its text is a part as well");
    }

    #[test]
    fn an_idempotency_key_is_one_users_alone() {
        let (one, other) = (Caller::Peer(1), Caller::Peer(11));
        assert_eq!(message_key(one, Some("k")), message_key(one, Some("k")));
        assert_ne!(message_key(one, Some("1:k")), message_key(other, Some("k")));
        assert_ne!(message_key(one, None), message_key(one, None));
        let long = "k".repeat(200);
        assert_ne!(message_key(one, Some(&long)), message_key(one, Some(&format!("{long}k"))));
    }

    #[test]
    fn the_end_of_a_turn_is_an_answer_or_a_fault() {
        let end = |end: End| {
            let mut said = Vec::new();
            let TurnEvent::Done(finished) = finished(end, "all") else { panic!() };
            ended(finished, &mut said);
            said
        };
        let answered = end(End::Answered);
        assert_eq!(answered[0], ReplyEvent::Answer("all".into()));
        assert_eq!(answered[2], ReplyEvent::Done(Finish::Stop));
        for (how, kind) in [
            (End::Blocked(Text::clip("why")), Kind::Bad),
            (End::TimedOut, Kind::Late),
            (End::Cancelled, Kind::Conflict),
            (End::Failed(Text::clip("why")), Kind::Failed),
            (
                End::Failed(Text::clip(&ModelError::Budget { per: Per::Key, again_s: 900 }.to_string())),
                Kind::Spent,
            ),
            (
                End::Failed(Text::clip(&ModelError::Budget { per: Per::Key, again_s: 2 }.to_string())),
                Kind::Often,
            ),
            (End::Failed(Text::clip(&ModelError::Timeout.to_string())), Kind::Late),
            (End::Failed(Text::clip(&ModelError::Auth.to_string())), Kind::Upstream),
        ] {
            let said = end(how);
            let [ReplyEvent::Failed(fault)] = &said[..] else { panic!("{said:?}") };
            assert_eq!(fault.kind(), kind);
        }
    }
}
