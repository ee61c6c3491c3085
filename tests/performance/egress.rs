//! The way out of jails: what one download brings through the jail's proxy, gate, egress and dialer, and the time that the way adds to
//! a request, beside the same client that asks the server directly.

use crate::figure::Figure;
use crate::local::Server;
use crate::person;
use crate::spread::Samples;
use std::io;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tests::{ADDRESS, Host};

const ROUNDS: usize = 5;
/// Requests of one connection in a round.
const REQUESTS: usize = 50;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let server = Server::start("functional/registry.py")?;
    let host = person::host(&config(&server))?;
    let (mut fast, mut direct_fast) = <(Samples, Samples)>::default();
    let (mut added, mut direct) = <(Samples, Samples)>::default();
    for round in 0..=ROUNDS {
        let large = server.url("/large");
        let (straight, passed) = (ask(&server, &large)?, ask_from_jail(&host, &large)?);
        let small = server.url(&format!("/x?n=[1-{REQUESTS}]"));
        let (one, other) = (ask(&server, &small)?, ask_from_jail(&host, &small)?);
        if round == 0 {
            continue;
        }
        for (speeds, into) in [(&straight, &mut direct_fast), (&passed, &mut fast)] {
            speeds.iter().for_each(|asked| into.add(asked.rate / 1e6));
        }
        // The first of each connects.
        for (one, other) in one.iter().zip(&other).skip(1) {
            direct.add(one.seconds * 1e3);
            added.add((other.seconds - one.seconds) * 1e3);
        }
    }
    let (idle, busy) = beside_streams(&server, &host)?;
    Ok(vec![
        Figure::new("way out of a jail: a request while 4 downloads run, p99", "ms", &busy)
            .floor("the same without them", &idle)
            .at_most_times_floor(2.0),
        Figure::new("way out of a jail: one download of 256 MiB", "MB/s", &fast)
            .floor("the same client without a jail", &direct_fast)
            .at_least(100.0),
        Figure::new("way out of a jail: added to a request", "ms", &added)
            .floor("the whole request without a jail", &direct)
            .at_most(2.0),
    ])
}

/// The client's figures of one request.
struct Asked {
    rate: f64,
    seconds: f64,
}

/// The 99th percentile of the time of small requests of a jail, alone and while four other jails download.
fn beside_streams(server: &Server, host: &Host) -> io::Result<(Samples, Samples)> {
    let small = server.url(&format!("/x?n=[1-{REQUESTS}]"));
    let p99 = || -> io::Result<f64> {
        let mut times = Samples::default();
        for _ in 0..ROUNDS {
            ask_from_jail(host, &small)?.iter().skip(1).for_each(|asked| times.add(asked.seconds * 1e3));
        }
        times.spread().map(|spread| spread.p99).ok_or_else(|| io::Error::other("no request was timed"))
    };
    let idle = Samples::one(p99()?);
    let large = server.url("/large?n=[1-8]");
    let words: Vec<&str> = ["run", "--", "curl"].into_iter().chain(words(&large)).collect();
    let start = |_| host.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut streams = (0..4).map(start).collect::<io::Result<Vec<_>>>()?;
    std::thread::sleep(Duration::from_secs(1));
    let busy = p99();
    let run = streams.iter_mut().all(|stream| matches!(stream.try_wait(), Ok(None)));
    for stream in &mut streams {
        drop(stream.kill());
        drop(stream.wait());
    }
    if run { Ok((idle, Samples::one(busy?))) } else { Err(io::Error::other("a download ended too early")) }
}

/// A host whose agent may read from the server.
pub(crate) fn config(server: &Server) -> String {
    let listed =
        format!("[agent.default.network]\nmode = \"proxy\"\nallow = [\"{ADDRESS}:{}\"]\n", server.port);
    listed + &server.believed()
}

/// The client outside of any jail.
fn ask(server: &Server, url: &str) -> io::Result<Vec<Asked>> {
    read(&Command::new("curl").args(words(url)).arg("--cacert").arg(server.certificate()).output()?)
}

/// The same client in a jail.
fn ask_from_jail(host: &Host, url: &str) -> io::Result<Vec<Asked>> {
    let words: Vec<&str> = ["run", "--", "curl"].into_iter().chain(words(url)).collect();
    read(&host.ctl(&words))
}

/// The arguments of the client: it says rate and time of each request, and keeps nothing.
fn words(url: &str) -> [&str; 6] {
    ["-sS", "-o", "/dev/null", "-w", "%{speed_download} %{time_total}\n", url]
}

fn read(output: &Output) -> io::Result<Vec<Asked>> {
    let text = String::from_utf8_lossy(&output.stdout);
    let asked = text.lines().filter_map(|line| {
        let (rate, seconds) = line.split_once(' ')?;
        Some(Asked { rate: rate.parse().ok()?, seconds: seconds.trim().parse().ok()? })
    });
    let asked: Vec<Asked> = asked.collect();
    if asked.is_empty() || !output.status.success() {
        return Err(io::Error::other(format!("the client: {}", String::from_utf8_lossy(&output.stderr))));
    }
    Ok(asked)
}
