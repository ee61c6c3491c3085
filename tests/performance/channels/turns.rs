//! From a message at the platform to the turn's request of its model, beside the same message by `chat`; and from a durable answer to
//! the request that takes it to the platform.

use super::call;
use super::talker::{self, Talker};
use crate::figure::Figure;
use crate::floors;
use crate::person::{self, Person};
use crate::spread::Samples;
use ipc_proto::control::{ControlClient, method};
use ipc_proto::router::{MessageInfo, MessageState, MessageView};
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tests::telegram::{ANN, Telegram};
use tests::{Host, Setup};

/// Identities of the person, who writes by each in turn: nobody writes within two seconds of an answer.
pub(super) const IDENTITIES: usize = 16;
/// Messages that are timed, and those before them, which make their sessions.
const TIMED: usize = 192;
const WARM: usize = IDENTITIES;
/// The pause behind an answer: what comes after it is none of the next message's time.
const PAUSE: Duration = Duration::from_millis(100);

/// Its figures.
pub(super) fn measure() -> io::Result<Vec<Figure>> {
    kit::bench::run(figures())?
}

/// A host with an account whose agent uses the talker's model, and a person with many identities.
pub(super) fn host(telegram: &Telegram, talker: &Talker, keys: &str) -> io::Result<Host> {
    let setup = Setup::default().programs(&person::programs()?);
    let host = telegram.host_beside(setup, talker.port, &format!("{keys}{}", talker.config()));
    for sender in 1..IDENTITIES {
        let _ = host.json(&["user", "link", "ann", &format!("telegram:main:{}", identity(sender))]);
    }
    Ok(host)
}

/// The platform's id of one of the person's identities.
pub(super) fn identity(number: usize) -> i64 {
    ANN + i64::try_from(number % IDENTITIES).unwrap_or_default()
}

async fn figures() -> io::Result<Vec<Figure>> {
    let (telegram, talker) = (Telegram::start(), Talker::start());
    let host = host(&telegram, &talker, &format!("streaming = \"off\"\nagent = \"{}\"\n", talker::QUICK))?;
    let person = Person::connect(&host.socket()).await?;
    let mut runs = Runs { telegram, talker, person, sent: HashMap::new() };
    let [mut chat, mut channel, mut append] = <[Samples; 3]>::default();
    for round in 0..WARM + TIMED {
        let by_chat = runs.by_chat(round).await?;
        let by_channel = runs.by_channel(round).await?;
        if round >= WARM {
            chat.add_millis(by_chat);
            channel.add_millis(by_channel);
            append.append(floors::append(host.dir(), 2)?);
        }
    }
    let sending = runs.sending().await?;
    Ok(table(&chat, &channel, &sending, &append))
}

fn table(chat: &Samples, channel: &Samples, sending: &Samples, append: &Samples) -> Vec<Figure> {
    let (p50, p99) = channel.over(chat);
    let (p50, p99) = (Samples::one(p50), Samples::one(p99));
    vec![
        Figure::new("Telegram: from its message to the turn's request of its model", "ms", channel)
            .floor("the same by chat, over a connection that is there", chat),
        Figure::new("Telegram: what that is more than by chat", "ms", &p50).at_most(5.0),
        Figure::new("Telegram: what its p99 is more than that of chat", "ms", &p99).at_most(15.0),
        Figure::new("Telegram: from an answer's end to its request on the wire", "ms", sending)
            .floor("append of 256 bytes with fdatasync", append)
            .at_most(5.0),
    ]
}

struct Runs {
    telegram: Telegram,
    talker: Talker,
    person: Person,
    /// When the request with the answer to each message was at the server, by its token.
    sent: HashMap<String, Instant>,
}

impl Runs {
    async fn by_chat(&self, round: usize) -> io::Result<Duration> {
        let token = talker::token(2 * round);
        let (session, text) = (format!("c{}", round % IDENTITIES), format!("what of {token}"));
        let began = Instant::now();
        self.person.say(&session, Some(talker::QUICK), &text).await?;
        tokio::time::sleep(PAUSE).await;
        Ok(self.talker.asked(&token)?.saturating_duration_since(began))
    }

    async fn by_channel(&mut self, round: usize) -> io::Result<Duration> {
        let token = talker::token(2 * round + 1);
        let first = self.telegram.call_count();
        let began = Instant::now();
        self.telegram.direct(identity(round), &format!("what of {token}"));
        let is = |call: &tests::telegram::Call| call.method == "sendMessage" && call.text().contains(&token);
        let sent = call(&self.telegram, first, is).await?;
        tokio::time::sleep(PAUSE).await;
        let asked = self.talker.asked(&token)?;
        self.sent.insert(token, sent.at);
        Ok(asked.saturating_duration_since(began))
    }

    /// From the time at which router dates an answer's end, which is before it is durable and in whole milliseconds, to its request.
    async fn sending(&self) -> io::Result<Samples> {
        let (now, clock) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let list = async |control: &ControlClient, context| control.messages(context, 256, false).await;
        let listed = self.person.ask(&method::messages, list).await?;
        let mut samples = Samples::default();
        for info in listed.into_iter().filter(|info| info.channel.as_str() == "telegram:main") {
            let view = self.view(&info).await?;
            let token = view.text.split(' ').next_back().unwrap_or_default();
            let ended = view.states.iter().find(|passed| passed.state == MessageState::Answered);
            if let (Some(sent), Some(ended)) = (self.sent.get(token), ended) {
                let sent = clock.saturating_sub(now.saturating_duration_since(*sent));
                samples.add_millis(sent.saturating_sub(Duration::from_millis(ended.at_ms)));
            }
        }
        Ok(samples)
    }

    async fn view(&self, info: &MessageInfo) -> io::Result<MessageView> {
        let show = async |control: &ControlClient, context| control.message(context, info.id).await;
        self.person.ask(&method::message, show).await
    }
}
