//! JSON lines of an actor's offline mode: read to their end, answered in order, each bad one with its number. It reads
//! and writes the given streams, and repeats no part of a line that it refuses.

use serde_json::{Value, json};
use std::fmt::Display;
use std::io::{self, BufRead, Read, Write};

/// Answers each line: `answer` returns the text to print, if any, or the defect of the line. A line of more than
/// `bound` bytes is refused without being stored; an empty one is skipped. Returns true if every line was good.
///
/// # Errors
/// Input or output is gone.
pub fn answer_lines<E: Display>(
    bound: u64,
    mut from: impl BufRead,
    mut to: impl Write,
    mut answer: impl FnMut(&[u8]) -> Result<Option<Value>, E>,
) -> io::Result<bool> {
    let mut good = true;
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        // Reads one byte more than the bound, so that a longer line is noticed.
        if from.by_ref().take(bound + 1).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let answered = if text.len() as u64 > bound {
            from.skip_until(b'\n')?;
            Err(format!("longer than {bound} bytes"))
        } else if text.trim_ascii().is_empty() {
            Ok(None)
        } else {
            answer(text).map_err(|why| why.to_string())
        };
        good &= answered.is_ok();
        let printed = answered.unwrap_or_else(|why| Some(json!({"line": number, "error": why})));
        if let Some(printed) = printed {
            writeln!(to, "{printed}")?;
            to.flush()?;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &str) -> (bool, String) {
        let mut out = Vec::new();
        let good = answer_lines(8, lines.as_bytes(), &mut out, |line| {
            if line == b"bad" { Err("no") } else { Ok((line != b"quiet").then(|| line.len().into())) }
        });
        (good.unwrap(), String::from_utf8(out).unwrap())
    }

    // Holds P5-55.
    #[test]
    fn lines_are_answered_in_order_and_a_bad_or_long_one_costs_only_itself() {
        let cases = [
            ("", true, ""),
            ("one\n\n  \nquiet\ntwelve\n", true, "3\n6\n"),
            ("bad\nfour", false, "{\"line\":1,\"error\":\"no\"}\n4\n"),
            ("12345678\n123456789\n\n1", false, "8\n{\"line\":2,\"error\":\"longer than 8 bytes\"}\n1\n"),
            ("1234567890123", false, "{\"line\":1,\"error\":\"longer than 8 bytes\"}\n"),
        ];
        for (lines, good, out) in cases {
            assert_eq!(run(lines), (good, out.to_owned()), "{lines:?}");
        }
    }
}
