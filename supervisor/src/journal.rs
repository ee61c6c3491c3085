//! Priorities for the journal: if standard error leads there, each line begins with its priority in angle brackets (sd-daemon(3)), so
//! that `journalctl -p warning` shows what matters. Elsewhere nothing is added.

use nix::sys::stat::fstat;
use std::env;
use std::sync::LazyLock;

/// The part of a line in which its level is looked for: a level follows a name and a time.
const HEAD: usize = 96;
/// The levels that processes write, and agentd's own words for an end; the first that is found counts.
const WORDS: [(&str, u8); 9] = [
    (" ERROR ", 3),
    (" WARN ", 4),
    (" INFO ", 6),
    (" DEBUG ", 7),
    (" TRACE ", 7),
    (" is ended: ", 4),
    (" ended: ", 4),
    ("runner not launched: ", 4),
    (" panicked at ", 3),
];
/// The priority of everything else.
const USUAL: u8 = 6;

/// True if standard error leads to the journal. Determined once, with the first line.
static JOURNAL: LazyLock<bool> = LazyLock::new(|| {
    let named = env::var("JOURNAL_STREAM").ok();
    let own = fstat(std::io::stderr()).ok().map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino));
    named.is_some() && named == own
});

/// A line for standard error.
pub(crate) fn line(text: &str) -> String {
    if *JOURNAL { with(text, priority(text)) } else { format!("{text}\n") }
}

/// A line for the fault that ends agentd.
pub(crate) fn fault(text: &str) -> String {
    if *JOURNAL { with(text, 3) } else { format!("{text}\n") }
}

/// Adds the priority to each line of a text: the journal takes a line break for the end of an entry.
fn with(text: &str, priority: u8) -> String {
    text.lines().map(|line| format!("<{priority}>{line}\n")).collect()
}

/// The priority, by syslog(3)'s numbers.
fn priority(text: &str) -> u8 {
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= HEAD).last().unwrap_or(0);
    let head = if text.len() > HEAD { text.get(..end).unwrap_or_default() } else { text };
    let found = WORDS.iter().filter_map(|(word, priority)| Some((head.find(word)?, *priority)));
    found.min().map_or(USUAL, |(_, priority)| priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_priority_that_its_level_says() {
        for (text, expected) in [
            ("router: 2026-11-22T01:53:43.081866Z  WARN router::queue: slow", 4),
            ("gate: 2026-11-22T01:53:43.081866Z ERROR gate: down", 3),
            ("gate: 2026-11-22T01:53:43.081866Z  INFO gate: an ERROR in words", 6),
            ("model: 2026-11-22T01:53:43.081866Z DEBUG model: x", 7),
            ("agentd: router is ended: it sent no heartbeat for 10 s", 4),
            ("agentd: router ended: killed by signal 9", 4),
            ("agentd: ready in 168 ms, mode system", 6),
            ("", 6),
        ] {
            assert_eq!(priority(text), expected, "{text}");
        }
        assert_eq!(priority(&format!("{} ERROR ", "é".repeat(200))), 6);
    }

    #[test]
    fn every_line_of_a_text_has_its_priority() {
        assert_eq!(with("a\nb", 3), "<3>a\n<3>b\n");
        assert_eq!(with("<0>forged", 6), "<6><0>forged\n");
    }
}
