//! Ten accounts of Telegram that are written to a thousand times a second by people whom the host knows, while no turn is started:
//! every message that the server gave out is counted in router, which is then killed, and counted again.

use crate::figure::Figure;
use crate::person::{self, Person};
use crate::spread::Samples;
use crate::{idle, role};
use ipc_proto::control::{ControlClient, method};
use ipc_proto::role::UserRole;
use ipc_proto::{List, Name, Text};
use memory::bench::Bare;
use std::io;
use std::time::{Duration, Instant};
use tests::telegram::{TOKEN, Telegram};
use tests::{Host, Setup};

/// The accounts.
const ACCOUNTS: usize = 10;
/// Messages a second: a few more than are asked for, so that one that keeps up has done them.
const A_SECOND: usize = 1_020;
/// Messages of one sender, who may send 30 a minute.
const EACH: usize = 28;
/// Identities of one person.
const IDENTITIES: usize = 16;
/// How long the load goes on, if `CHANNELS_SECONDS` does not say; 60 at most, by the length of the queue.
const SECONDS: usize = 20;
/// The text that is written.
const TEXT: &str = "good morning, and what is new in the harbour today";
/// The longest wait for the rest.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(5);

/// Its figures.
pub(super) fn measure() -> io::Result<Vec<Figure>> {
    let seconds = std::env::var("CHANNELS_SECONDS").ok().and_then(|text| text.parse().ok());
    kit::bench::run(figures(seconds.unwrap_or(SECONDS).clamp(1, 60)))?
}

async fn figures(seconds: usize) -> io::Result<Vec<Figure>> {
    let total = seconds * A_SECOND;
    let telegrams: Vec<Telegram> = (0..ACCOUNTS).map(|_| Telegram::start()).collect();
    let host = host(&telegrams)?;
    let person = Person::connect(&host.socket()).await?;
    let senders = admit(&person, total).await?;
    person.ask(&method::pause, async |control, context| control.pause(context, None, true).await).await?;
    let (rate, rest) = give(&telegrams, total, senders).await?;
    count(&person, total).await?;
    let [mut late, mut weight] = <[Samples; 2]>::default();
    late.add_millis(rest);
    weight.add(idle::weight_of_one(host.pid("channel@telegram").unsigned_abs())?);
    host.kill_and_wait("router");
    count(&person, total).await?;
    let batches = polls(&telegrams);
    let floor = commits(&host, total, batches)?;
    let name = format!("Telegram: {ACCOUNTS} accounts, {total} messages in {seconds} s, durable, none lost");
    Ok(vec![
        Figure::new(name, "1/s", &rate)
            .floor(
                format!("{batches} commits of as many texts to a table of SQLite without an index"),
                &floor,
            )
            .at_least(1000.0),
        Figure::new("Telegram: from the last message given to the last acknowledged", "ms", &late)
            .at_most(1000.0),
        Figure::new(format!("Telegram: PSS of its process after {total} messages"), "MiB", &weight)
            .at_most(12.0),
    ])
}

fn host(telegrams: &[Telegram]) -> io::Result<Host> {
    let plain: Vec<String> = telegrams.iter().map(|one| format!("127.0.0.1:{}", one.port)).collect();
    let queue = "[router]\nqueue_total = 65536\nqueue_per_session = 1024\n";
    let mut config = format!("[credproxy]\nplain_http = {plain:?}\n{queue}");
    for (number, telegram) in telegrams.iter().enumerate() {
        let url = telegram.url();
        config += &format!(
            "[channel.a{number}]\nplatform = \"telegram\"\nsecret = \"a{number}\"\nbase_url = \"{url}\"\n"
        );
    }
    let host = Setup::default().programs(&person::programs()?).config(&config).start();
    for (number, at) in plain.iter().enumerate() {
        host.keep(&format!("a{number}"), TOKEN, &["--host", at, "--segment"]);
    }
    for number in 0..telegrams.len() {
        host.wait_for("the account is up", || is_up(&host, number));
    }
    Ok(host)
}

fn is_up(host: &Host, number: usize) -> bool {
    host.channel(&format!("a{number}")).get("link").is_some_and(|link| link == "up")
}

/// Adds owners with as many identities as the load needs senders. Returns the senders of one account.
async fn admit(person: &Person, total: usize) -> io::Result<usize> {
    let people = total.div_ceil(EACH).div_ceil(IDENTITIES);
    for one in 0..people {
        let senders = one * IDENTITIES..(one + 1) * IDENTITIES;
        let identities = senders
            .map(|sender| Text::clip(&format!("telegram:a{}:{}", sender % ACCOUNTS, id(sender / ACCOUNTS))));
        let (name, identities) = (Name::clip(&format!("o{one}")), List::clip(identities));
        let add = async |control: &ControlClient, context| {
            control.add_user(context, name, UserRole::Owner, List::default(), identities).await
        };
        person.ask(&method::add_user, add).await?;
    }
    Ok(people * IDENTITIES / ACCOUNTS)
}

/// The platform's id of a sender of an account.
fn id(number: usize) -> i64 {
    i64::try_from(number + 100).unwrap_or_default()
}

/// Gives out the messages at their pace. Returns how many were acknowledged in each second, and how long after the last one the rest was.
async fn give(telegrams: &[Telegram], total: usize, senders: usize) -> io::Result<(Samples, Duration)> {
    let (mut rate, mut before, began) = (Samples::default(), 0, Instant::now());
    for (number, telegram) in telegrams.iter().cycle().take(total).enumerate() {
        let due = Duration::from_secs(1).mul_f64(of(number) / of(A_SECOND));
        tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
        telegram.direct(id(number / ACCOUNTS % senders), TEXT);
        if (number + 1) % A_SECOND == 0 {
            let acknowledged = number + 1 - pending(telegrams);
            rate.add(of(acknowledged - before));
            before = acknowledged;
        }
    }
    let last = Instant::now();
    while pending(telegrams) > 0 {
        if last.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("{} messages were not accepted", pending(telegrams))));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok((rate, last.elapsed()))
}

fn polls(telegrams: &[Telegram]) -> usize {
    let calls = telegrams.iter().flat_map(Telegram::calls);
    calls.filter(|(method, _)| method == "getUpdates").count()
}

fn pending(telegrams: &[Telegram]) -> usize {
    telegrams.iter().map(Telegram::pending).sum()
}

fn of(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Fails unless every message waits in router, once, and none was dropped.
async fn count(person: &Person, total: usize) -> io::Result<()> {
    let queue = person.ask(&method::queue, async |control, context| control.queue(context).await).await?;
    let mut dropped = Vec::new();
    for number in 0..ACCOUNTS {
        let name = Name::clip(&format!("a{number}"));
        let show = async |control: &ControlClient, context| control.channel(context, name).await;
        dropped.extend(person.ask(&method::channel, show).await?.dropped);
    }
    let waiting = usize::try_from(queue.waiting).unwrap_or_default();
    if waiting == total && dropped.is_empty() {
        return Ok(());
    }
    Err(io::Error::other(format!("{waiting} of {total} messages wait, and these were dropped: {dropped:?}")))
}

/// The same texts in as many commits, texts a second.
fn commits(host: &Host, total: usize, batches: usize) -> io::Result<Samples> {
    let folder = tempfile::tempdir_in(host.dir())?;
    let bare = Bare::new(folder.path())?;
    let text = TEXT.repeat(total.div_ceil(batches.max(1)));
    let began = Instant::now();
    for _ in 0..batches {
        bare.write(&text)?;
    }
    let mut samples = Samples::default();
    samples.add(role::per_second(total, began.elapsed()));
    Ok(samples)
}
