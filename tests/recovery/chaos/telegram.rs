//! One run over a messenger: a host with an account of Telegram, people who write to it, and `kill -9` of the processes between them
//! and the platform. It goes in waves: messages both ways and kills, then peace, and each message of the wave is looked for in
//! router and at the server that stands for the Bot API.

use crate::arguments::Arguments;
use crate::asker::{Asker, Trouble};
use crate::dice::Dice;
use crate::laws::Broken;
use crate::settle;
use crate::victims::Victims;
use ::tests::telegram::{SentMessage, Telegram};
use ::tests::{Host, Setup};
use ipc_proto::channel::{DeliveryInfo, DeliveryState};
use ipc_proto::control::{Answer, ControlClient, method};
use ipc_proto::role::UserRole;
use ipc_proto::router::{MessageState, MessageView};
use ipc_proto::{List, Method, Name, Text};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tarpc::client::RpcError;
use tarpc::context::Context;

/// People besides the first, and the identities of each: nobody writes twice within two seconds of an answer.
const PEOPLE: usize = 6;
const IDENTITIES: usize = 16;
/// Kills of one wave, and its messages at most: router lists so many at once.
const KILLS: u64 = 20;
const MESSAGES: usize = 200;
/// The pause behind a message, and the longest behind a kill.
const EVERY: Duration = Duration::from_millis(70);
const PAUSE_MS: u64 = 900;
const TICK: Duration = Duration::from_millis(10);
/// Bytes of a message's token.
const TOKEN: usize = "buoy-000000".len();
/// How long everything may take to come to its end.
const PATIENCE: Duration = Duration::from_secs(120);
/// All conversations of a person are one session, which waits while router is away.
const QUEUE: &str = "[router]\nqueue_per_session = 1024\n";
/// Answers are repeated by the model that comes with the host.
const AGENT: &str = "agent = \"echo\"\n[agent.echo]\nmodel = \"offline/reader\"\n\
                     [agent.echo.limits]\nmodel_calls_per_hour = 100000\n";

/// A message that was given out.
struct SentFiles {
    chat: i64,
    token: String,
}

/// A message as router and the server hold it.
struct Fate {
    view: MessageView,
    deliveries: Vec<DeliveryInfo>,
}

/// The observations of a run.
#[derive(Default)]
struct Tally {
    messages: usize,
    unknown: usize,
    /// Those of them that never arrived.
    absent: usize,
    arrived: usize,
    previews: usize,
    waves: usize,
}

struct Run {
    telegram: Telegram,
    host: Host,
    asker: Asker,
    victims: Victims,
    dice: Dice,
    tally: Tally,
}

/// Lives it through: a line about it, or what is broken.
pub(crate) fn run(seed: u64, arguments: &Arguments) -> Result<String, String> {
    let failed = |error: io::Error| format!("chaos: the run could not be made: {error}\n");
    let began = Instant::now();
    let mut run = Run::start(seed).map_err(failed)?;
    // The first wave has no kills: what is broken in it is no kill's.
    let mut broken = run.wave(0).map_err(failed)?;
    let mut left = arguments.faults;
    while left > 0 && broken.is_empty() {
        let kills = left.min(KILLS);
        broken.extend(run.wave(kills).map_err(failed)?);
        left -= kills;
    }
    let report = run.report(began.elapsed());
    if broken.is_empty() {
        return Ok(format!("chaos: seed {seed}: none lost, none doubled\n{report}"));
    }
    let mut told = format!("chaos: a law is broken, seed {seed}\n{report}\n");
    for broken in broken.iter().take(40) {
        let _ = writeln!(told, "  BROKEN {broken}");
    }
    let _ = writeln!(told, "the last kills:\n  {}\nthe log is kept in {}", run.victims.last(), run.keep());
    Err(told)
}

impl Run {
    fn start(seed: u64) -> io::Result<Self> {
        let own = std::env::current_exe()?;
        let programs = own.parent().ok_or(io::ErrorKind::NotFound)?;
        let telegram = Telegram::start();
        // An odd seed has no previews, so that every message of the bot is an answer.
        let streaming = if seed.is_multiple_of(2) { "edit" } else { "off" };
        let keys = format!("streaming = \"{streaming}\"\n{AGENT}{QUEUE}");
        let host = telegram.host(Setup::default().programs(programs), &keys);
        let mut asker = Asker::new(&host.socket())?;
        for one in 0..PEOPLE {
            let identities = (0..IDENTITIES)
                .map(|number| Text::clip(&format!("telegram:main:{}", id(one * IDENTITIES + number))));
            let (name, identities) = (Name::clip(&format!("p{one}")), List::clip(identities));
            ask(&mut asker, &method::add_user, async |control, context| {
                control
                    .add_user(context, name.clone(), UserRole::Owner, List::default(), identities.clone())
                    .await
            })?;
        }
        let victims = Victims::new(host.agentd());
        Ok(Self { telegram, host, asker, victims, dice: Dice::new(seed), tally: Tally::default() })
    }

    /// Messages and kills, and then the laws of those messages.
    fn wave(&mut self, kills: u64) -> io::Result<Vec<Broken>> {
        let (mut given, mut struck) = (Vec::new(), 0);
        let (mut message_at, mut kill_at) = (Instant::now(), Instant::now());
        let until = Instant::now() + PATIENCE;
        while (struck < kills || given.len() < MESSAGES / 2) && Instant::now() < until {
            self.victims.look();
            let now = Instant::now();
            if now >= message_at && given.len() < MESSAGES {
                given.push(self.give());
                message_at = now + EVERY;
            }
            if now >= kill_at && struck < kills && self.victims.strike(&mut self.dice) {
                struck += 1;
                kill_at = now + Duration::from_millis(self.dice.below(PAUSE_MS));
            }
            thread::sleep(TICK);
        }
        self.tally.waves += 1;
        self.judge(&given)
    }

    /// Gives out a message with a token of its own.
    fn give(&mut self) -> SentFiles {
        let number = self.tally.messages;
        self.tally.messages += 1;
        let (chat, token) = (id(number % (PEOPLE * IDENTITIES)), format!("buoy-{number:06}"));
        self.telegram.direct(chat, &format!("echo: {token}"));
        SentFiles { chat, token }
    }

    /// Waits until every message of a wave has come to its end, and checks it.
    fn judge(&mut self, given: &[SentFiles]) -> io::Result<Vec<Broken>> {
        let until = Instant::now() + PATIENCE;
        let fates = loop {
            if let Ok(status) = self.asker.once(&method::status, async |c, cx| c.status(cx).await) {
                settle::release(&status, &mut self.asker);
            }
            let fates = self.fates()?;
            let over =
                |one: &SentFiles| fates.get(&one.token).is_some_and(|fates| fates.iter().all(Fate::is_over));
            if given.iter().all(over) || Instant::now() > until {
                break fates;
            }
            thread::sleep(TICK * 20);
        };
        Ok(given
            .iter()
            .flat_map(|one| self.laws(one, fates.get(&one.token).map_or(&[][..], Vec::as_slice)))
            .collect())
    }

    /// The newest messages as router holds them, by their tokens.
    fn fates(&mut self) -> io::Result<BTreeMap<String, Vec<Fate>>> {
        let mut fates: BTreeMap<String, Vec<Fate>> = BTreeMap::new();
        let asker = &mut self.asker;
        let listed = ask(asker, &method::messages, async |c, cx| c.messages(cx, 256, false).await)?;
        for info in listed {
            let view = ask(asker, &method::message, async |c, cx| c.message(cx, info.id).await)?;
            let deliveries =
                ask(asker, &method::deliveries, async |c, cx| c.deliveries(cx, Some(info.id), false).await)?;
            let token = view.text.split(' ').next_back().unwrap_or_default().to_owned();
            fates.entry(token).or_default().push(Fate { view, deliveries: deliveries.into_iter().collect() });
        }
        Ok(fates)
    }

    /// The laws of one message: it is in router once, its answer at the platform once; an unknown answer is there once or not at all,
    /// and there is none without a kill behind it. A preview whose id was lost with a process stays beside the answer.
    fn laws(&mut self, given: &SentFiles, fates: &[Fate]) -> Vec<Broken> {
        let sent = self.telegram.sent(given.chat);
        let mut broken = Vec::new();
        if !are_in_order(&sent) {
            broken.push(Broken::new("answers of a conversation go in order", format!("chat {}", given.chat)));
        }
        match fates {
            [fate] => broken.extend(self.law_of_answer(given, fate, &sent)),
            _ => {
                let what = format!("{}: {} times in router", given.token, fates.len());
                broken.push(Broken::new("a message that was given out is accepted once", what));
            }
        }
        broken
    }

    fn law_of_answer(&mut self, given: &SentFiles, fate: &Fate, sent: &[SentMessage]) -> Option<Broken> {
        let copies = self.copies(given, sent);
        let states: Vec<DeliveryState> = fate.deliveries.iter().map(|one| one.state).collect();
        let state = fate.view.info.state;
        let told = format!("{}: {states:?}, {} and {copies} times there", given.token, state.name());
        match (fate.deliveries.as_slice(), copies) {
            (_, 2..) => Some(Broken::new("no answer is doubled", told)),
            ([one], 0 | 1) if one.state == DeliveryState::Unknown => {
                self.tally.unknown += 1;
                self.tally.absent += 1 - copies;
                let told = Broken::new("no outcome is unknown without a kill", told);
                (!self.victims.struck_since(one.made_ms)).then_some(told)
            }
            ([one], 1) if one.state == DeliveryState::Sent => {
                let told = Broken::new("a message whose answer was sent is delivered", told);
                (state != MessageState::Delivered).then_some(told)
            }
            _ => Some(Broken::new("no answer is lost", told)),
        }
    }

    /// How often the answer to a message is there. One that is its own preview leaves that as it is.
    fn copies(&mut self, given: &SentFiles, sent: &[SentMessage]) -> usize {
        let (previews, answers): (Vec<_>, Vec<_>) = sent
            .iter()
            .filter(|message| message.text().contains(&given.token))
            .partition(|message| message.silent);
        let copies = answers.len().max(usize::from(!previews.is_empty()));
        self.tally.previews += (answers.len() + previews.len()).saturating_sub(1);
        self.tally.arrived += copies;
        copies
    }

    fn report(&self, took: Duration) -> String {
        let Tally { messages, unknown, absent, arrived, previews, waves } = &self.tally;
        format!(
            "  {} in {:.1} s and {waves} waves; {messages} messages, {arrived} answers and {previews} lone previews at the \
             platform; {unknown} of unknown outcome, of which {absent} are not there",
            self.victims.counts(),
            took.as_secs_f64()
        )
    }

    fn keep(&self) -> String {
        let kept = std::env::temp_dir().join(format!("chaos-kept-{}.log", std::process::id()));
        drop(std::fs::copy(Path::new(self.host.dir()).join("log"), &kept));
        kept.display().to_string()
    }
}

impl Fate {
    fn is_over(&self) -> bool {
        !self.deliveries.is_empty()
            && self.deliveries.iter().all(|one| one.state.is_final())
            && (self.view.info.state == MessageState::Delivered
                || self.deliveries.iter().any(|one| one.state == DeliveryState::Unknown))
    }
}

/// Returns true if the answers of a chat stand in the order of their messages. One that has become of its preview counts with the place
/// of that; a preview which was lost with a process is none.
fn are_in_order(sent: &[SentMessage]) -> bool {
    let mut places: BTreeMap<&str, (bool, i64)> = BTreeMap::new();
    for message in sent {
        let Some(token) = token_in(message.text()) else { continue };
        let place = places.entry(token).or_insert((message.silent, message.id));
        if place.0 {
            *place = (message.silent, message.id);
        }
    }
    places.values().map(|(_, id)| id).is_sorted()
}

/// The token in an answer; a notice and the beginning of an answer may have none.
fn token_in(text: &str) -> Option<&str> {
    text.find("buoy-").and_then(|at| text.get(at..at + TOKEN))
}

/// The platform's id of a person's identity.
fn id(number: usize) -> i64 {
    i64::try_from(number + 1000).unwrap_or_default()
}

/// Asks until somebody answers.
fn ask<T>(
    asker: &mut Asker,
    method: &Method,
    call: impl AsyncFn(&ControlClient, Context) -> Result<Answer<T>, RpcError>,
) -> io::Result<T> {
    let until = Instant::now() + PATIENCE;
    asker.patiently(method, || Instant::now() < until, call).map_err(|trouble| match trouble {
        Trouble::Away(why) => io::Error::other(why),
        Trouble::Refused(why) => io::Error::other(why.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_replaces_its_preview_and_a_lost_preview_counts_for_nothing() {
        let ordered = |sent: &[(&str, bool)]| {
            let message = |(id, (text, silent)): (i64, &(&str, bool))| {
                let parameters = json!({ "text": text });
                SentMessage { id, chat: 1, parameters, edits: 0, silent: *silent }
            };
            are_in_order(&(1..).zip(sent).map(message).collect::<Vec<_>>())
        };
        let (first, second) = ("echo: buoy-000001", "Lost.\n\nbuoy-000002");
        assert!(ordered(&[(first, true), (second, true), ("Paused", false)]));
        assert!(!ordered(&[(second, true), (first, false)]), "the preview was sent before the first answer");
        assert!(ordered(&[(second, true), (first, false), (second, false)]), "the preview was lost");
        assert!(ordered(&[("buoy-0000", true), (first, false), (second, false)]), "a beginning names none");
    }
}
