//! The server that stands for Telegram, as a program: an official client is run against it. It says its address, and then does what
//! the lines of its input say: `direct TEXT`, `file BYTES`, `press MESSAGE DATA`, `limit METHOD`, `migrate FROM TO`, `hook`,
//! `unhook` or `pending`. It answers each with one line of JSON.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a fixture that speaks by its output"
)]

use serde_json::{Value, json};
use std::io::{BufRead, stdin};
use tests::telegram::{ANN, Failing, Telegram};

fn main() {
    let telegram = Telegram::start();
    println!("{}", telegram.url());
    for line in stdin().lock().lines().map_while(Result::ok) {
        println!("{}", done(&telegram, &line));
    }
}

fn done(telegram: &Telegram, line: &str) -> Value {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let two = || rest.split_once(' ').expect("two words");
    let number = |text: &str| text.parse::<i64>().expect("a number");
    match word {
        "direct" => json!(telegram.direct(ANN, rest)),
        "file" => {
            let mut document = telegram.file(&vec![b'x'; rest.parse().expect("a number of bytes")]);
            document["file_name"] = json!("given.txt");
            json!(telegram.direct_with(ANN, json!({ "document": document })))
        }
        "press" => {
            let (id, data) = two();
            let sent = telegram.sent(ANN);
            let message = sent.iter().find(|message| message.id == number(id)).expect("a message of this id");
            telegram.press(ANN, message, data);
            json!(true)
        }
        "limit" => {
            telegram.fail(rest, Failing::TooMany(7));
            json!(true)
        }
        "migrate" => {
            let (from, to) = two();
            telegram.migrate(ANN, number(from), number(to));
            json!(true)
        }
        "hook" | "unhook" => {
            telegram.set_hook(word == "hook");
            json!(true)
        }
        "pending" => json!(telegram.pending()),
        _ => json!("no such word"),
    }
}
