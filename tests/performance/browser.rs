//! The browser of a session: until it is ready, a snapshot of a page of many links, and its memory. Needs Debian's package
//! `chromium-headless-shell`.

use crate::figure::Figure;
use crate::idle::weight_of_tree;
use crate::local::Server;
use crate::person::{self, Person};
use crate::spread::Samples;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::Instant;
use tests::ADDRESS;

const ROUNDS: usize = 8;
const LINKS: usize = 300;
/// The program of the package.
const PROGRAM: &str = "/usr/lib/chromium/chromium-headless-shell";

/// Its figures; none where there is no browser.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    if !Path::new(PROGRAM).exists() {
        eprintln!("bench: no browser on this machine (Debian: chromium-headless-shell)");
        return Ok(Vec::new());
    }
    kit::bench::run(figures())?
}

async fn figures() -> io::Result<Vec<Figure>> {
    let server = Server::start("browser/shop.py")?;
    let host = person::host(&config(&server))?;
    let person = Person::connect(&host.socket()).await?;
    let [mut ready, mut snapshot, mut memory, mut opened, mut idle] = <[Samples; 5]>::default();
    let open = |path: &str| call("navigate", &json!({ "url": server.url(path) }));
    for round in 0..=ROUNDS {
        // A later message would be asked about, since most of its context is a stranger's: each session has one and an end.
        let one = Turn { person: &person, session: format!("one-{round}") };
        let nothing =
            Turn { person: &person, session: format!("none-{round}") }.timed("hello", "hello").await?;
        let first = one.timed(&open("/terms?1"), "Title: Terms").await?;
        one.close().await?;
        let two = Turn { person: &person, session: format!("two-{round}") };
        let second =
            two.timed(&format!("{} {}", open("/terms?1"), open("/terms?2")), "/terms?2\nTitle").await?;
        two.close().await?;
        let links = Turn { person: &person, session: format!("links-{round}") };
        let loaded = links.timed(&open("/links"), "Title: Links").await?;
        links.close().await?;
        let shown = Turn { person: &person, session: format!("shown-{round}") };
        let all = format!("{} {}", open("/links"), call("snapshot", &json!({})));
        let taken = shown.timed(&all, &format!("link \"Link {}\"", LINKS - 1)).await?;
        let browser = host.browsers().first().copied().ok_or(io::ErrorKind::NotFound)?;
        let weight = weight_of_tree(browser.unsigned_abs())?;
        shown.close().await?;
        if round > 0 {
            opened.add(second - first);
            ready.add(first - (second - first) - nothing);
            snapshot.add(taken - loaded);
            idle.add(nothing);
            memory.add(weight);
        }
    }
    Ok(vec![
        Figure::new("browser: until it is ready, in its jail", "ms", &ready)
            .floor("a page opened in one that runs", &opened)
            .at_most(400.0),
        Figure::new(
            format!("browser: a snapshot of {LINKS} links, with the call that takes it"),
            "ms",
            &snapshot,
        )
        .floor("a turn without a call", &idle)
        .at_most(300.0),
        Figure::new(format!("browser: PSS of its jail with {LINKS} links"), "MiB", &memory).at_most(300.0),
    ])
}

fn config(server: &Server) -> String {
    let believed = server.believed();
    format!(
        "[agent.default]\nmodel = \"offline/hijackable\"\nprofile = \"power-user\"\nbrowser = true\n\
         [web]\nprivate_hosts = [\"{ADDRESS}:{}\"]\n{believed}",
        server.port
    )
}

fn call(tool: &str, args: &Value) -> String {
    format!("!!CALL browser_{tool} {args}!!")
}

/// A session of one turn and its end.
struct Turn<'a> {
    person: &'a Person,
    session: String,
}

impl Turn<'_> {
    /// Milliseconds of a turn, whose answer must have this.
    async fn timed(&self, say: &str, hear: &str) -> io::Result<f64> {
        let began = Instant::now();
        let answer = self.person.say(&self.session, None, &format!("echo: {say}")).await?;
        let took = began.elapsed();
        if answer.contains(hear) {
            return Ok(took.as_secs_f64() * 1e3);
        }
        Err(io::Error::other(format!("asked {say:?}, it answered {answer:?}")))
    }

    /// Closes its browser.
    async fn close(&self) -> io::Result<()> {
        self.timed(&call("close", &json!({})), "closed").await.map(drop)
    }
}
