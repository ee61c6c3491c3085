//! The server that stands for Slack, by itself: it says its address and does what its standard input says, a line each.
#![expect(clippy::print_stdout, reason = "its answers")]

use std::io::BufRead;
use tests::slack::{ANN, BOT, CHANNEL, Failing, Slack, direct};

fn main() {
    let slack = Slack::start();
    println!("{}", slack.url());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (word, rest) = line.split_once(' ').unwrap_or((line.as_str(), ""));
        match word {
            "direct" => println!("{}", slack.direct(ANN, rest)),
            "mention" => {
                let text = serde_json::json!({ "text": format!("<@{BOT}> {rest}") });
                println!("{}", slack.message(CHANNEL, ANN, &text));
            }
            "press" => {
                let last = slack.sent(&direct(ANN)).pop();
                last.iter().for_each(|message| slack.press(ANN, message, rest));
                println!("{}", last.is_some());
            }
            "limit" => {
                slack.fail(rest, Failing::TooMany(7));
                println!("{rest}");
            }
            "drop" => {
                slack.drop_sockets();
                println!("dropped");
            }
            "warn" => {
                slack.warn_sockets();
                println!("warned");
            }
            "sockets" => println!("{}", slack.sockets()),
            _ => println!("{}", slack.pending()),
        }
    }
}
