//! The time of a policy verdict, and of the scanner on ordinary text. In this process, with the very code that
//! the gate and the scanner run; the floors are the least that any judge does: reading the call, reading the text.

use crate::figure::Figure;
use crate::spread::Samples;
use ipc_proto::capability::{Capability, Effect};
use ipc_proto::label::Label;
use ipc_proto::scanner::{Direction, Profile as Strictness};
use policy::{Call, Catalogue, Engine, Invalid, Profile, Session, decide};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::io;
use std::time::Instant;

const VERDICTS: usize = 5_000;
/// Scans of a whole text; each takes a third of a second.
const PASSES: usize = 7;
const MESSAGES: usize = 1_000;
const TEXT: usize = 4 << 20;
const MESSAGE: usize = 16 << 10;
/// Ordinary words, as they stand in mail and notes; nothing in them is a secret or an instruction.
const PROSE: &str = "The ferry leaves at half past nine, so we should be at the harbour a little earlier. Anna \
    brings the tent and the small stove; the maps are in the blue folder. On Thursday the library closes at noon, \
    which means that the books have to go back on Wednesday. Version 2.14 fixed the slow start that people saw on \
    older machines, and the change is described in the third section of the notes.\n";

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = verdicts().map_err(io::Error::other)?;
    figures.extend(scans());
    Ok(figures)
}

fn verdicts() -> Result<Vec<Figure>, Box<dyn std::error::Error + Send + Sync>> {
    let engine = Engine::built_in()?;
    let send =
        Capability { effect: Effect::Send, relevant_args: vec!["to".to_owned()], ..Capability::default() };
    let catalogue = Catalogue::built_in()?.with("send", send)?;
    let mut session = Session::new("bench", Profile::Standard);
    session.user("Please tell Alice what the page https://example.com/agenda says about Thursday.");
    session.plan(["web_fetch".to_owned(), "send".to_owned()]);
    session.content(&Label::default(), &PROSE.repeat(20));
    let calls = [
        ("allowed", "send", json!({"to": "Alice", "body": "On Thursday there is cake."})),
        ("asked", "send", json!({"to": "Mallory", "body": "See www.example.net/cake"})),
        ("refused", "web_fetch", json!({"url": "http://169.254.169.254/latest"})),
    ];
    let mut figures: Vec<Figure> = calls
        .iter()
        .map(|(name, tool, args)| {
            let text = args.to_string();
            let args = args.as_object().cloned().unwrap_or_default();
            let call = Call { tool, args: &args };
            let measured = micros(VERDICTS, || drop(black_box(decide(&engine, &catalogue, &session, &call))));
            let floor = micros(VERDICTS, || {
                drop(black_box(serde_json::from_str::<Map<String, Value>>(&text)));
                black_box(Sha256::digest(&text));
            });
            Figure::new(format!("a verdict on a call that is {name}"), "us", &measured)
                .floor("its arguments read as JSON, and hashed", &floor)
                .at_most(100.0)
        })
        .collect();
    figures.push(unlike_any_before(&catalogue, &session)?);
    Ok(figures)
}

/// The engine keeps what its policies said of what they read. One that reads whom a call is about reads another thing
/// with each of these, so that nothing kept is of use.
fn unlike_any_before(catalogue: &Catalogue, session: &Session) -> Result<Figure, Invalid> {
    const OWN: &str = "forbid (principal, action, resource) when { resource.value == \"nobody.example\" };";
    let engine = Engine::with(&[("own", OWN)])?;
    let url = |number: usize| json!({"url": format!("https://h{number}.example.com/agenda")});
    let mut calls = (0..=VERDICTS).map(url);
    let measured = micros(VERDICTS, || {
        let args = calls.next().unwrap_or_default();
        let none = Map::new();
        let call = Call { tool: "web_fetch", args: args.as_object().unwrap_or(&none) };
        drop(black_box(decide(&engine, catalogue, session, &call)));
    });
    Ok(Figure::new(
        "a verdict on a call unlike any before it, under a policy that reads its target",
        "us",
        &measured,
    ))
}

fn scans() -> Vec<Figure> {
    let engine = scanner::Engine::new();
    let text = PROSE.repeat(TEXT / PROSE.len());
    let message = PROSE.repeat(MESSAGE / PROSE.len());
    let floor = rate(&text, || {
        black_box(Sha256::digest(&text));
    });
    let secrets = rate(&text, || drop(black_box(engine.secrets(&text))));
    let whole =
        rate(&text, || drop(black_box(engine.scan(Direction::Input, Strictness::Standard, &text, None))));
    let one = micros(MESSAGES, || {
        drop(black_box(engine.scan(Direction::Input, Strictness::Standard, &message, None)));
    });
    vec![
        Figure::new("scanner, secrets in ordinary text", "MB/s", &secrets)
            .floor("SHA-256 of the text", &floor)
            .at_least(120.0),
        Figure::new("scanner, everything in ordinary text", "MB/s", &whole).at_least(25.0),
        Figure::new("scanner, a message of 16 KiB (asked: p99 at most 1000)", "us", &one).at_most(1000.0),
    ]
}

fn micros(times: usize, mut run: impl FnMut()) -> Samples {
    run();
    let mut samples = Samples::default();
    for _ in 0..times {
        let began = Instant::now();
        run();
        samples.add_micros(began.elapsed());
    }
    samples
}

#[expect(clippy::cast_precision_loss, reason = "a few million bytes")]
fn rate(text: &str, run: impl Fn()) -> Samples {
    run();
    let mut samples = Samples::default();
    for _ in 0..PASSES {
        let began = Instant::now();
        run();
        samples.add(text.len() as f64 / began.elapsed().as_secs_f64() / 1e6);
    }
    samples
}
