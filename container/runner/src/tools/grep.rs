//! The `grep` tool. Searches lines of text files beneath a root with an engine that takes linear time whatever the
//! pattern; must never block on what is not a file.

use super::context::Context;
use super::fault::ToolFault;
use super::glob;
use super::outcome::Outcome;
use super::output;
use super::tool::{Checked, Tool};
use super::walk::{Kind, Walk};
use globset::GlobMatcher;
use nix::fcntl::OFlag;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};
use toolset::jail_tools::MAX_HITS;

/// Bytes of the largest file that is searched.
const MAX_FILE: u64 = 10_000_000;
/// Bytes at the beginning of a file in which a NUL marks it as binary.
const SNIFFED: usize = 8192;
/// Bytes of a line that are shown.
const SHOWN: usize = 500;
/// Bytes shown before the hit in a line that is longer.
const LEAD: usize = 150;
/// Memory a compiled pattern may take.
const PATTERN_MEMORY: usize = 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawArgs {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context: usize,
    max_results: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Args {
    regex: Regex,
    path: Option<String>,
    files: Option<GlobMatcher>,
    around: usize,
    most: usize,
}

impl Tool for Args {
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault> {
        run(self, context)
    }
}

impl Checked for Args {
    type Raw = RawArgs;

    fn check(raw: Self::Raw) -> Result<Self, String> {
        let regex = RegexBuilder::new(&raw.pattern)
            .case_insensitive(raw.ignore_case)
            .size_limit(PATTERN_MEMORY)
            .dfa_size_limit(PATTERN_MEMORY)
            .build()
            .map_err(|cause| {
                format!("`pattern`: is not a regular expression that can be searched for: {cause}")
            })?;
        let files = raw.glob.as_deref().map(anywhere).transpose()?;
        let most = raw.max_results.unwrap_or(MAX_HITS);
        Ok(Self { regex, path: raw.path, files, around: raw.context, most })
    }
}

/// A pattern without a slash fits in every folder.
fn anywhere(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.contains('/') {
        glob::compile("glob", pattern)
    } else {
        glob::compile("glob", &format!("**/{pattern}"))
    }
}

fn run(args: &Args, context: &Context) -> Result<Outcome, ToolFault> {
    let place = context.locate_or_workspace(args.path.as_deref())?;
    let mut search = Search::new(args, context.max_output);
    let about = place.about()?;
    let ending = if about.is_dir() {
        let mut walk = Walk::new(context, &place)?;
        search.tree(&mut walk, context, &glob::prefix(&place.shown));
        glob::ending(&walk)
    } else {
        let (file, about) = place.open_file(OFlag::empty())?;
        search.file(file, about.len(), &place.shown);
        String::new()
    };
    if context.abort.is_set() {
        return Err(ToolFault::Aborted);
    }
    Ok(search.outcome(&ending))
}

/// A search under way.
struct Search<'a> {
    args: &'a Args,
    out: String,
    /// Bytes of output there is room for.
    room: usize,
    hits: usize,
    files: u64,
    large: u64,
    binary: u64,
    /// More than can be shown was found.
    full: bool,
}

impl<'a> Search<'a> {
    const fn new(args: &'a Args, room: usize) -> Self {
        Self { args, out: String::new(), room, hits: 0, files: 0, large: 0, binary: 0, full: false }
    }

    fn tree(&mut self, walk: &mut Walk<'_>, context: &Context, prefix: &str) {
        let mut told = Instant::now();
        while !self.full
            && let Some(found) = walk.next()
        {
            let wanted = self.args.files.as_ref().is_none_or(|files| files.is_match(&found.rel));
            if found.kind != Kind::File || !wanted {
                continue;
            }
            let Some(file) = walk.open(&found) else { continue };
            let size = file.metadata().map_or(0, |about| about.len());
            self.file(file, size, &format!("{prefix}{}", output::shown(&found.rel)));
            if told.elapsed() >= Duration::from_secs(1) {
                told = Instant::now();
                (context.progress)(&format!("{} files searched, {} hits", self.files, self.hits));
            }
        }
    }

    fn file(&mut self, file: File, size: u64, name: &str) {
        let mut bytes = Vec::new();
        if size > MAX_FILE || file.take(MAX_FILE).read_to_end(&mut bytes).is_err() {
            self.large += 1;
            return;
        }
        if bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
            self.binary += 1;
            return;
        }
        self.files += 1;
        self.lines(&bytes, name);
    }

    fn lines(&mut self, bytes: &[u8], name: &str) {
        let around = self.args.around;
        let mut before: VecDeque<(usize, &[u8])> = VecDeque::new();
        let (mut after, mut last) = (0, None);
        let ended = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (index, line) in ended.split(|byte| *byte == b'\n').enumerate() {
            let (number, line) = (index + 1, line.strip_suffix(b"\r").unwrap_or(line));
            if let Some(hit) = self.args.regex.find(line) {
                if !self.has_room() {
                    return;
                }
                let begins = before.front().map_or(number, |(first, _)| *first);
                if around > 0 && !self.out.is_empty() && last.is_none_or(|last| begins > last + 1) {
                    self.out.push_str("--\n");
                }
                before.drain(..).for_each(|(number, line)| self.show(name, '-', number, line, 0));
                self.show(name, ':', number, line, hit.start());
                self.hits += 1;
                (after, last) = (around, Some(number));
            } else if after > 0 {
                self.show(name, '-', number, line, 0);
                (after, last) = (after - 1, Some(number));
            } else if around > 0 {
                before.push_back((number, line));
                if before.len() > around {
                    before.pop_front();
                }
            }
        }
    }

    fn has_room(&mut self) -> bool {
        self.full = self.hits >= self.args.most || self.out.len() >= self.room;
        !self.full
    }

    fn show(&mut self, name: &str, mark: char, number: usize, line: &[u8], hit: usize) {
        let from = if line.len() > SHOWN { hit.saturating_sub(LEAD) } else { 0 };
        let shown = line.get(from..line.len().min(from + SHOWN)).unwrap_or_default();
        let (lead, rest) =
            (if from > 0 { "[...]" } else { "" }, if from + shown.len() < line.len() { "[...]" } else { "" });
        let text = String::from_utf8_lossy(shown);
        self.out.push_str(&format!("{name}{mark}{number}{mark}{lead}{text}{rest}\n"));
    }

    fn outcome(mut self, ending: &str) -> Outcome {
        if self.hits == 0 {
            self.out.push_str(&format!("no line fits; {} files searched\n", self.files));
        }
        if self.full {
            self.out.push_str(&format!(
                "[... cut: there are more than these {} hits; search for less ...]\n",
                self.hits
            ));
        }
        if self.large + self.binary > 0 {
            let (large, binary) = (self.large, self.binary);
            self.out.push_str(&format!(
                "[{large} files too large and {binary} binary files were not searched]\n"
            ));
        }
        let output = format!("{}{ending}", self.out.trim_end_matches('\n'));
        Outcome::done(output)
            .with("hits", u64::try_from(self.hits).unwrap_or(u64::MAX))
            .with("files", self.files)
            .with("truncated", self.full || !ending.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_name_pattern_fits_in_every_folder_and_a_path_pattern_where_it_says() {
        for (pattern, path, fits) in [
            ("*.rs", "a/b/c.rs", true),
            ("*.rs", "c.rs", true),
            ("a/*.rs", "a/c.rs", true),
            ("a/*.rs", "a/b/c.rs", false),
            ("a/**/*.rs", "a/b/c.rs", true),
        ] {
            assert_eq!(anywhere(pattern).unwrap().is_match(Path::new(path)), fits, "{pattern} {path}");
        }
    }
}
