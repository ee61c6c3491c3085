//! The reference of all keys, made from the table of keys: Markdown for `docs/reference/configuration.md` and roff for
//! `cordon.toml(5)`. Tests hold the two files to it.

use crate::keys::{self, ACTORS, ALL, Key};
use crate::problem::listed;
use std::fmt::Write as _;

/// The line before the reference in a Markdown file.
pub const BEGIN: &str =
    "<!-- made by `agentd-config --print-reference`; change supervisor/config/src/keys.rs -->\n";
/// The line after it.
pub const END: &str = "<!-- end of what is made -->\n";
/// The line before the reference in a man page.
pub const MAN_BEGIN: &str = ".\\\" made by agentd-config --print-man; change supervisor/config/src/keys.rs\n";
/// The line after it.
pub const MAN_END: &str = ".\\\" end of what is made\n";

/// The reference as Markdown, with the lines that mark it.
#[must_use]
pub fn markdown() -> String {
    let mut out = BEGIN.to_owned();
    let mut section = None;
    for key in keys::all() {
        let (table, name) = split(key);
        if section != Some(table) {
            let head = if table.is_empty() { "Top level".to_owned() } else { format!("`{}`", head(table)) };
            let _ = write!(out, "\n### {head}\n\n| key | type and range | default | handed to | meaning |\n");
            out.push_str("|---|---|---|---|---|\n");
            section = Some(table);
        }
        let valid = key.kind.valid().replace('|', "\\|");
        let (default, seen) = (default(key), seen(key));
        let _ = writeln!(out, "| `{name}` | {valid} | {default} | {seen} | {} |", key.means);
    }
    out.push('\n');
    out + END
}

/// The reference as roff, with the lines that mark it.
#[must_use]
pub fn man() -> String {
    let mut out = MAN_BEGIN.to_owned();
    let mut section = None;
    for key in keys::all() {
        let (table, name) = split(key);
        if section != Some(table) && !table.is_empty() {
            let _ = writeln!(out, ".SS {}", roff(&head(table)));
        }
        section = Some(table);
        let (valid, default) = (roff(&key.kind.valid()), roff(&default(key)));
        let _ = write!(
            out,
            ".TP\n.B {}\n{}\n.br\nValid: {valid}.\nDefault: {default}.\n",
            roff(name),
            roff(key.means)
        );
    }
    out + MAN_END
}

/// The key's table and its name in it.
fn split(key: &Key) -> (&'static str, &'static str) {
    key.path.rsplit_once('.').unwrap_or(("", key.path))
}

/// The table's head as the file has it.
fn head(table: &str) -> String {
    match table.strip_suffix("[]") {
        Some(rows) => format!("[[{rows}]]"),
        None => format!("[{table}]"),
    }
}

fn default(key: &Key) -> String {
    match key.preset {
        crate::kind::Preset::Required | crate::kind::Preset::Nothing => key.preset.toml(),
        _ => format!("`{}`", key.preset.toml()),
    }
}

fn seen(key: &Key) -> String {
    match key.seen_by.len() {
        0 => "none".to_owned(),
        all if all == ALL.len() => "every process".to_owned(),
        actors if actors == ACTORS.len() => "every process but agentd".to_owned(),
        _ => listed(key.seen_by.iter().map(|process| process.name())),
    }
}

/// Text for roff: a backslash, and a dot or quote at the beginning, would be commands; a hyphen would be typeset.
/// What stands in backquotes is set bold.
fn roff(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.split('`').enumerate() {
        if n > 0 {
            out.push_str(if n % 2 == 1 { "\\fB" } else { "\\fR" });
        }
        out.push_str(&part.replace('\\', "\\e").replace('-', "\\-"));
    }
    if out.starts_with(['.', '\'']) { format!("\\&{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roff_takes_text_for_text() {
        assert_eq!(roff("a-b `c\\d`"), "a\\-b \\fBc\\ed\\fR");
        assert_eq!(roff(".x"), "\\&.x");
    }
}
