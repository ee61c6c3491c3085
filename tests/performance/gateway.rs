//! The time that the gateway adds to a call of a model, all guards on, beside the provider asked directly and beside LiteLLM in
//! front of the same provider; how much it does at once, what it weighs then, and whether it keeps the pace of streams.

use crate::client::{self, Client};
use crate::figure::Figure;
use crate::litellm::LiteLlm;
use crate::provider::{self, Provider, WORD};
use crate::spread::Samples;
use crate::{floors, idle, person};
use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tests::Host;

const ROUNDS: usize = 20;
/// Requests of one kind in a round.
const REQUESTS: usize = 20;
/// Clients that ask at once, and for how long in each round.
const CLIENTS: usize = 16;
const BURST: Duration = Duration::from_secs(2);
const BURSTS: usize = 5;
/// Streams at once.
const STREAMS: usize = 200;

/// The server that is asked.
#[derive(Clone)]
struct Asked {
    at: SocketAddr,
    key: String,
    model: &'static str,
}

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let provider = Provider::start()?;
    let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let config = format!(
        "[gateway]\nlisten = \"{listen}\"\nrequests_per_minute = 10000000\nstreams_per_key = 256\n{}",
        provider.config()
    );
    let host = person::host(&config)?;
    let key = key(&host)?;
    let direct = Asked { at: provider.at(), key: String::new(), model: "one" };
    let through = Asked { at: listen, key: key.clone(), model: "near/one" };
    let priced = Asked { model: "near/priced", ..through.clone() };
    let rival = LiteLlm::start(provider.at());
    let mut figures = alone(&host, &direct, (&through, &priced), rival.as_ref().map(LiteLlm::at))?;
    figures.extend(many(&host, &through, rival.as_ref().map(LiteLlm::at))?);
    drop(rival);
    figures.extend(paced(&host, listen, &key)?);
    Ok(figures)
}

fn key(host: &Host) -> io::Result<String> {
    let made = host.ctl(&["key", "create", "bench", "--json"]);
    let made: Value = serde_json::from_slice(&made.stdout)?;
    let key = made.get("key").and_then(Value::as_str);
    key.map(str::to_owned).ok_or_else(|| io::Error::other("no key was made"))
}

fn of_rival(at: SocketAddr) -> Asked {
    Asked { at, key: "none".to_owned(), model: "one" }
}

/// One client: what is added, answer whole and first byte of a stream; and where money is set aside first, which is durable as
/// well before anything is sent.
fn alone(
    host: &Host,
    direct: &Asked,
    (through, priced): (&Asked, &Asked),
    rival: Option<SocketAddr>,
) -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut appends = Samples::default();
    for (through, stream, name) in [
        (through, false, "a whole answer"),
        (through, true, "the first byte of a stream"),
        (priced, false, "a whole answer that costs money"),
        (priced, true, "the first byte of a stream that costs money"),
    ] {
        let (mut straight, mut passed, mut added) = <(Samples, Samples, Samples)>::default();
        for round in 0..=ROUNDS {
            let (one, other) = (timed(direct, stream, REQUESTS)?, timed(through, stream, REQUESTS)?);
            if round == 0 {
                continue;
            }
            appends.append(floors::append(host.dir(), REQUESTS)?);
            for (one, other) in one.iter().zip(&other) {
                added.add_millis(other.saturating_sub(*one));
                straight.add_millis(*one);
                passed.add_millis(*other);
            }
        }
        let append = appends.spread().map_or(0.0, |spread| spread.p50);
        figures.push(
            Figure::new(format!("gateway: added to {name}, one client"), "ms", &added)
                .at_most((6.0 * append).max(0.8)),
        );
        let whole = Figure::new(format!("gateway: {name}, one client"), "ms", &passed);
        figures.push(whole.floor("the provider itself", &straight));
        if let Some(at) = rival.filter(|_| through.model != priced.model) {
            let mut theirs = Samples::default();
            timed(&of_rival(at), stream, 5)?;
            for took in timed(&of_rival(at), stream, 50)? {
                theirs.add_millis(took);
            }
            figures.push(
                Figure::new(format!("gateway: {name}, beside LiteLLM's"), "ms", &passed)
                    .floor("LiteLLM", &theirs)
                    .at_most_times_floor(0.1),
            );
        }
    }
    figures.push(Figure::new("append of 256 bytes with fdatasync, beside the gateway", "ms", &appends));
    Ok(figures)
}

/// Times requests over a connection that is there.
fn timed(asked: &Asked, stream: bool, requests: usize) -> io::Result<Vec<Duration>> {
    let mut client = Client::connect(asked.at, &asked.key)?;
    let mut took = Vec::with_capacity(requests);
    for _ in 0..requests {
        let answer = client.complete(asked.model, stream)?;
        if !answer.body.contains(WORD) {
            return Err(io::Error::other(format!("it answered {:?}", answer.body)));
        }
        took.push(if stream { answer.first } else { answer.whole });
    }
    Ok(took)
}

/// Many clients at once: answers a second, and what all processes weigh meanwhile.
fn many(host: &Host, through: &Asked, rival: Option<SocketAddr>) -> io::Result<Vec<Figure>> {
    let (mut rate, mut theirs, mut weight) = <(Samples, Samples, Samples)>::default();
    burst(through, &mut || Ok(()))?;
    for _ in 0..BURSTS {
        rate.add(burst(through, &mut || {
            weight.add(idle::weight_of(host.agentd())?);
            Ok(())
        })?);
        if let Some(at) = rival {
            theirs.add(burst(&of_rival(at), &mut || Ok(()))?);
        }
    }
    let name = format!("gateway: answers a second, {CLIENTS} clients");
    let mut figures = vec![Figure::new(&name, "1/s", &rate).at_least(3000.0)];
    if rival.is_some() {
        let beside = Figure::new(format!("{name}, beside LiteLLM's"), "1/s", &rate);
        figures.push(beside.floor("LiteLLM", &theirs).at_least_times_floor(20.0));
    }
    figures.push(Figure::new("gateway: sum of PSS under that load", "MiB", &weight).at_most(80.0));
    Ok(figures)
}

/// Answers a second of so many clients; any error is one of the whole.
fn burst(asked: &Asked, midway: &mut dyn FnMut() -> io::Result<()>) -> io::Result<f64> {
    let (over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| -> io::Result<()> {
                    let mut client = Client::connect(asked.at, &asked.key)?;
                    while !over.load(Ordering::Relaxed) {
                        client.complete(asked.model, false)?;
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        thread::sleep(BURST / 2);
        let told = midway();
        thread::sleep(BURST / 2);
        over.store(true, Ordering::Relaxed);
        clients.into_iter().try_for_each(joined)?;
        told
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a rate is no exact number")]
    let answers = answers.into_inner() as f64;
    Ok(answers / began.elapsed().as_secs_f64())
}

/// The result of a thread.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a client ended by a panic")))
}

/// The answer of the slow model, whose body is still to come.
fn streaming(client: &reqwest::blocking::Client, at: SocketAddr, key: &str) -> io::Result<Response> {
    let request = client.post(format!("http://{at}/v1/chat/completions")).bearer_auth(key);
    let request = request.header(CONTENT_TYPE, "application/json").body(client::question("near/slow", true));
    let response = request.send().map_err(io::Error::other)?;
    if response.status() == StatusCode::OK {
        return Ok(response);
    }
    Err(io::Error::other(format!("{}: {}", response.status(), response.text().unwrap_or_default())))
}

/// The latest word of one stream: how late it came, us. A stream that is not all words of the slow model is an error.
fn latest(client: &reqwest::blocking::Client, at: SocketAddr, key: &str) -> io::Result<u64> {
    let (mut late, mut words, mut rest) = (0, 0, String::new());
    let mut wrong = None;
    let mut response = streaming(client, at, key)?;
    let mut part = [0; 4096];
    loop {
        let length = response.read(&mut part)?;
        if length == 0 {
            break;
        }
        rest.push_str(&String::from_utf8_lossy(part.get(..length).unwrap_or_default()));
        while let Some((before, after)) = rest.split_once('>') {
            match before.rsplit_once('<').and_then(|(_, sent)| sent.parse::<u64>().ok()) {
                Some(sent) => late = late.max(provider::now().saturating_sub(sent)),
                None => wrong = Some(before.to_owned()),
            }
            words += 1;
            rest = after.to_owned();
        }
    }
    match wrong {
        Some(word) => Err(io::Error::other(format!("{word:?} does not say when it was sent"))),
        None if words != provider::PACES => {
            Err(io::Error::other(format!("{words} words came of {}", provider::PACES)))
        }
        None => Ok(late),
    }
}

/// Streams of a minute: how late each word of them comes, and how much more all processes weigh at their end.
fn paced(host: &Host, at: SocketAddr, key: &str) -> io::Result<Vec<Figure>> {
    let (mut worst, mut grown) = <(Samples, Samples)>::default();
    let client = tests::client(reqwest::blocking::Client::builder());
    let longest = thread::scope(|scope| -> io::Result<Vec<u64>> {
        let streams: Vec<_> = (0..STREAMS).map(|_| scope.spawn(|| latest(&client, at, key))).collect();
        thread::sleep(provider::PACE * provider::PACES / 6);
        let before = idle::weight_of(host.agentd())?;
        thread::sleep(provider::PACE * provider::PACES / 2);
        grown.add(idle::weight_of(host.agentd())? - before);
        streams.into_iter().map(joined).collect()
    })?;
    for late in longest {
        worst.add_millis(Duration::from_micros(late));
    }
    Ok(vec![
        Figure::new(
            format!("gateway: the latest word of each of {STREAMS} streams of a minute"),
            "ms",
            &worst,
        )
        .at_most(250.0),
        Figure::new("gateway: growth of the sum of PSS over half a minute of them", "MiB", &grown)
            .at_most(4.0),
    ])
}
