//! A killed process, from the kill to the first good answer that needs it, as a process beside it sees it. A call
//! that fails is asked again at once.

use crate::figure::Figure;
use crate::floors;
use crate::person::{self, Person, note};
use crate::provider::{self, Provider};
use crate::spread::Samples;
use ipc_proto::Text;
use ipc_proto::control::{ControlClient, method};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::Area;
use manifest::Process;
use reqwest::StatusCode;
use reqwest::redirect::Policy;
use std::io;
use std::time::{Duration, Instant};
use tests::Host;

/// Kills of each process.
const ROUNDS: usize = 10;
/// A process that has lived for so long is started again at once; sooner, it has to wait by intent.
const QUIET: Duration = Duration::from_millis(11_000);
/// From an answer to the next kill.
const PAUSE: Duration = Duration::from_millis(300);
/// How long one may take to be well again.
const PATIENCE: Duration = Duration::from_secs(30);
/// The process that is killed, and the request that follows.
const VICTIMS: [(Process, &str); 12] = [
    (Process::Audit, "control reads the record"),
    (Process::Dialer, "a turn whose model is dialled for"),
    (Process::Credproxy, "control lists secrets"),
    (Process::Scanner, "memory has a row scanned"),
    (Process::Memory, "control lists memories"),
    (Process::Web, "a turn that fetches a page"),
    (Process::Model, "gate asks for the models"),
    (Process::Router, "control lists sessions"),
    (Process::Gate, "control asks for the models"),
    (Process::Curator, "control lists background work"),
    (Process::Gateway, "a client asks whether it serves"),
    (Process::Control, "a new connection asks who it is"),
];

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    kit::bench::run(figures())?
}

async fn figures() -> io::Result<Vec<Figure>> {
    let provider = Provider::start()?;
    let host = person::host(provider.config())?;
    let [mut all, mut floor, mut dialled] = <[Samples; 3]>::default();
    let mut each = VICTIMS.map(|victim| (victim, Samples::default()));
    for _ in 0..ROUNDS {
        tokio::time::sleep(QUIET).await;
        for ((victim, _), samples) in &mut each {
            let took = kill(&host, *victim, provider.fetch()).await?;
            samples.add_millis(took);
            all.add_millis(took);
        }
        let began = Instant::now();
        asked(&Person::connect(&host.socket()).await?, Process::Dialer, provider.fetch()).await?;
        dialled.add_millis(began.elapsed());
        floor.append(floors::spawn(VICTIMS.len())?);
    }
    let spawn = "posix_spawn of /bin/true";
    let all = Figure::new("killed process, to the first good answer: all", "ms", &all)
        .floor(spawn, &floor)
        .at_most(60.0);
    let one = |((victim, by), samples): &((Process, &str), Samples)| {
        Figure::new(format!("– {}: {by}", victim.name()), "ms", samples).at_most(60.0)
    };
    let usual = Figure::new("– the turn whose model is dialled for, nothing killed", "ms", &dialled);
    Ok([all].into_iter().chain(each.iter().map(one)).chain([usual]).collect())
}

/// Kills a process and asks for what needs it until it is there; `fetch` is what has a page fetched.
async fn kill(host: &Host, victim: Process, fetch: &str) -> io::Result<Duration> {
    let mut person = Person::connect(&host.socket()).await?;
    asked(&person, victim, fetch).await?;
    let before = pid(&person, victim).await?;
    let began = Instant::now();
    tests::kill(before);
    let took = loop {
        let answer = match victim {
            Process::Control => again(host, &mut person).await,
            Process::Gateway => served(host).await,
            _ => asked(&person, victim, fetch).await,
        };
        match answer {
            Ok(()) => break began.elapsed(),
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::task::yield_now().await,
        }
    };
    tokio::time::sleep(PAUSE).await;
    // An answer of the killed process would be no answer.
    if pid(&person, victim).await? == before { Err(io::Error::other("it was not killed")) } else { Ok(took) }
}

async fn pid(person: &Person, of: Process) -> io::Result<i32> {
    let status = person.ask(&method::status, async |control, context| control.status(context).await).await?;
    let found = status.processes.iter().find(|process| process.name.as_str() == of.name());
    found.and_then(|process| i32::try_from(process.pid).ok()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

async fn again(host: &Host, person: &mut Person) -> io::Result<()> {
    *person = Person::connect(&host.socket()).await?;
    asked(person, Process::Control, "").await
}

async fn served(host: &Host) -> io::Result<()> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .timeout(PATIENCE)
        .unix_socket(host.gateway())
        .build();
    let response = client.map_err(io::Error::other)?.get("http://localhost/healthz").send().await;
    let status = response.map_err(io::Error::other)?.status();
    if status == StatusCode::OK { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Asks for something that this process has to do with.
async fn asked(person: &Person, process: Process, fetch: &str) -> io::Result<()> {
    match process {
        Process::Audit => {
            person.ask(&method::audit_tail, async |c, cx| c.audit_tail(cx, 0, 1, 0).await).await.map(drop)
        }
        Process::Credproxy => {
            person.ask(&method::cred_list, async |c, cx| c.cred_list(cx).await).await.map(drop)
        }
        Process::Scanner => {
            let add = async |control: &ControlClient, context| {
                let text = Text::clip("the tide table hangs beside the door");
                control.memory_write(context, Area::User, note(text)).await
            };
            person.ask(&method::memory_write, add).await.map(drop)
        }
        Process::Memory => {
            let stats =
                async |control: &ControlClient, context| control.memory_stats(context, Area::User).await;
            person.ask(&method::memory_stats, stats).await.map(drop)
        }
        Process::Model | Process::Gate => {
            let models = person.ask(&method::models, async |c, cx| c.models(cx).await).await?;
            // Gate answers with none while model is away.
            if models.is_empty() { Err(io::ErrorKind::NotConnected.into()) } else { Ok(()) }
        }
        Process::Curator => {
            person.ask(&method::curator_jobs, async |c, cx| c.curator_jobs(cx, None).await).await.map(drop)
        }
        Process::Router => person.ask(&method::sessions, async |c, cx| c.sessions(cx).await).await.map(drop),
        Process::Control => person.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await.map(drop),
        Process::Web => {
            // In a session of its own: this model does the same thing once in each.
            let session = format!("fetch-{}", MemoryId::random());
            let answer = person.say(&session, Some(provider::FETCHER), fetch).await?;
            if answer.contains(provider::WORD) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
        }
        Process::Dialer => {
            let answer = person.say("dialled", Some(provider::AGENT), "good morning").await?;
            if answer.contains(provider::WORD) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
        }
        _ => Ok(()),
    }
}
