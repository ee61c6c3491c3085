//! The server that stands for Discord, as a program: an official client is run against it. It says its address, and then does what the
//! lines of its input say: `direct TEXT`, `say TEXT`, `press MESSAGE`, `cut` or `end`. It answers each with one line of JSON.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a fixture of tests that speaks by its output")]

use serde_json::{Value, json};
use std::io::{BufRead, stdin};
use tests::discord::{ANN, Discord, direct};

fn main() {
    let discord = Discord::start();
    println!("{}", discord.url());
    for line in stdin().lock().lines().map_while(Result::ok) {
        println!("{}", done(&discord, &line));
    }
}

fn done(discord: &Discord, line: &str) -> Value {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "direct" => json!(discord.direct(ANN, rest).to_string()),
        "say" => json!(discord.say(ANN, rest).to_string()),
        "press" => {
            let sent = discord.sent(direct(ANN));
            let message =
                sent.iter().find(|message| message.id.to_string() == rest).expect("a message of this id");
            json!(discord.press(ANN, message, &message.button("Yes")))
        }
        "cut" => {
            discord.cut();
            json!(discord.beginnings())
        }
        "end" => {
            discord.end_sessions();
            discord.cut();
            json!(discord.beginnings())
        }
        "asides" => json!(discord.asides(rest)),
        "beginnings" => json!(discord.beginnings()),
        "exceeded" => json!(discord.exceeded()),
        _ => json!("no such word"),
    }
}
