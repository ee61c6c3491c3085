//! The memory of each platform's process while nothing happens, and how soon Telegram's is back: after a dropped connection, and after
//! the process was killed.

use super::call;
use crate::figure::Figure;
use crate::spread::Samples;
use crate::{idle, person};
use manifest::Process;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tests::telegram::{Call, Failing, Telegram};
use tests::{Host, Setup};

/// Looks at the memory, a second apart, and the time until what starting took has been given back.
const LOOKS: usize = 5;
const SETTLED: Duration = Duration::from_secs(4);
/// Connections that are dropped.
const DROPS: usize = 10;
/// Kills, each after a time behind which a process is started again at once.
const KILLS: usize = 5;
const QUIET: Duration = Duration::from_millis(11_000);
/// Somebody whom nobody knows: what they write has no turn.
const STRANGER: i64 = 99;
/// The process.
const CHANNEL: &str = "channel@telegram";

/// Its figures.
pub(super) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = weights()?;
    let telegram = Telegram::start();
    let host = telegram.host(Setup::default().programs(&person::programs()?), "");
    let (drops, kills) = kit::bench::run(async move {
        let drops = drops(&telegram).await?;
        let kills = kills(&host, &telegram).await?;
        Ok::<_, io::Error>((drops, kills))
    })??;
    figures.push(
        Figure::new("Telegram: from a dropped connection to the next poll", "ms", &drops).at_most(1000.0),
    );
    figures.push(
        Figure::new("Telegram: `kill -9` of its process, to its first poll", "ms", &kills).at_most(200.0),
    );
    Ok(figures)
}

fn weights() -> io::Result<Vec<Figure>> {
    let host = Setup::default().programs(&person::programs()?).every_process().start();
    sleep(SETTLED);
    let platforms = Process::ALL.iter().filter(|process| process.is_channel()).map(|process| process.name());
    let mut figures = Vec::new();
    let mut all: Vec<(&str, u32, Samples)> =
        platforms.map(|name| (name, host.pid(name).unsigned_abs(), Samples::default())).collect();
    for _ in 0..LOOKS {
        sleep(Duration::from_secs(1));
        for (_, pid, samples) in &mut all {
            samples.add(idle::weight_of_one(*pid)?);
        }
    }
    for (name, _, samples) in &all {
        figures.push(Figure::new(format!("idle, PSS of {name}"), "MiB", samples).at_most(4.0));
    }
    Ok(figures)
}

fn polls(call: &Call) -> bool {
    call.method == "getUpdates"
}

/// The poll behind a stranger's message is dropped as soon as it is there.
async fn drops(telegram: &Telegram) -> io::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..DROPS {
        let first = telegram.call_count();
        telegram.fail("getUpdates", Failing::DropBefore);
        telegram.direct(STRANGER, "let me in");
        let dropped = call(telegram, first, polls).await?;
        let next = call(telegram, first, |call: &Call| polls(call) && call.at > dropped.at).await?;
        samples.add_millis(next.at.duration_since(dropped.at));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Ok(samples)
}

async fn kills(host: &Host, telegram: &Telegram) -> io::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..KILLS {
        tokio::time::sleep(QUIET).await;
        let (pid, first) = (host.pid(CHANNEL), telegram.call_count());
        let began = Instant::now();
        tests::kill(pid);
        samples.add_millis(call(telegram, first, polls).await?.at.saturating_duration_since(began));
    }
    Ok(samples)
}
