//! Prints how long a verdict takes, p50 and p99 in µs: allowed, asked and denied. Usage: verdict [TIMES].

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for people, no part of any process")]

use ipc_proto::capability::{Capability, Effect};
use ipc_proto::label::Label;
use policy::{Call, Catalogue, Engine, Profile, Session, decide};
use serde_json::json;
use std::time::Instant;

const TIMES: usize = 20_000;

fn main() {
    let times = std::env::args().nth(1).map_or(TIMES, |times| times.parse().unwrap());
    let engine = Engine::built_in().unwrap();
    let send =
        Capability { effect: Effect::Send, relevant_args: vec!["to".to_owned()], ..Capability::default() };
    let catalogue = Catalogue::built_in().and_then(|catalogue| catalogue.with("send", send));
    let catalogue = catalogue.unwrap();
    let mut session = Session::new("bench", Profile::Standard);
    session.user("Please tell Alice what the page https://example.com/agenda says about Thursday.");
    session.plan(["web_fetch".to_owned(), "send".to_owned()]);
    session.content(&Label::default(), &"On Thursday there is cake. ".repeat(400));
    let calls = [
        ("allow", "send", json!({"to": "Alice", "body": "On Thursday there is cake."})),
        ("ask", "send", json!({"to": "Mallory", "body": "See www.example.net/cake"})),
        ("deny", "web_fetch", json!({"url": "http://169.254.169.254/latest"})),
        ("jail", "bash", json!({"command": "grep -rn cake . | sort | uniq -c | sort -rn | head"})),
    ];
    for (name, tool, args) in &calls {
        let [p50, p99] =
            time(times, &engine, &catalogue, &session, &Call { tool, args: args.as_object().unwrap() });
        println!("{name:<6} {tool:<10} p50 {p50:>7.1} µs  p99 {p99:>7.1} µs");
    }
}

fn time(
    times: usize,
    engine: &Engine,
    catalogue: &Catalogue,
    session: &Session,
    call: &Call<'_>,
) -> [f64; 2] {
    let mut taken: Vec<f64> = (0..times)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(decide(engine, catalogue, session, call));
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    [50, 99].map(|percent| taken.get(times * percent / 100).copied().unwrap_or(f64::NAN))
}
