//! Questions: search the workspace and memory for the question's words, read the best files, quote the passages. Four
//! steps at most, each known from the calls that stand in the conversation.

use super::conversation::{Call, Turn};
use super::hits::{self, Hit, Weights};
use super::keywords::Keywords;
use super::passages::{self, Measure, Passage};
use super::result::{self, CallOutcome, quoted};
use crate::answer::{Reply, ToolCall};
use serde_json::json;

/// Lines that the search for any of the words gives at most: the tool's own bound.
const LINES: usize = 500;
/// Lines that the searches for two words at once, and for one word alone, may give.
const FEWER: u32 = 150;
/// Files that are read for one question.
const FILES: usize = 3;
/// Bytes of each that are read.
const FILE_BYTES: u32 = 400_000;
/// Passages that are quoted.
const QUOTES: usize = 3;
/// A passage is quoted if it is worth this much of the best one.
const WORTH: f64 = 0.65;
/// Below this part of the question covered, the best passage is called a poor fit.
const POOR: f64 = 0.4;
/// Searches of the first step, if there are two words or more.
const FIRST: usize = 2;
/// Memories that are quoted.
const MEMORIES: usize = 2;

/// The program's description of itself when there is nothing to look for.
const ABOUT: &str = "I am offline/reader, a program that searches your files and your memory and quotes what fits. I am \
not a chat model. Ask about something that stands in your files, or use one of these:\n\n\
- echo: TEXT\n- remember: TEXT\n- recall WORDS\n- run: COMMAND\n- read PATH\n- write PATH: TEXT";

/// The next step towards an answer.
pub(super) fn answer(turn: &Turn<'_>, question: &str) -> Reply {
    let keywords = Keywords::of(question);
    if keywords.len() == 0 {
        return Reply::say(ABOUT);
    }
    let searched = turn.outcome("grep").is_some() || turn.outcome("memory_query").is_some();
    if !searched {
        return search(turn, &keywords);
    }
    let found = SearchResults::of(turn, &keywords);
    if found.cut && keywords.len() > 1 && turn.calls_of("grep").count() == FIRST {
        return Reply::ask(keywords.one().map(|pattern| grep(&pattern, FEWER)).collect());
    }
    if turn.outcome("read").is_none() && turn.has("read") {
        let reads: Vec<ToolCall> = found.files().into_iter().map(read).collect();
        if !reads.is_empty() {
            return Reply::ask(reads);
        }
    }
    Reply::say(found.answer(turn))
}

fn read(file: &str) -> ToolCall {
    ToolCall::new("read", &json!({ "path": file, "maxSize": FILE_BYTES }))
}

fn grep(pattern: &str, most: impl Into<serde_json::Value>) -> ToolCall {
    ToolCall::new("grep", &json!({ "pattern": pattern, "ignoreCase": true, "maxResults": most.into() }))
}

/// Asks for every line with one of the words, for those with two (which the first search's bound may leave out), and
/// for memories.
fn search(turn: &Turn<'_>, keywords: &Keywords) -> Reply {
    let mut calls = Vec::new();
    if turn.has("grep") {
        calls.push(grep(&keywords.any(), LINES));
        calls.extend(keywords.pairs().map(|pattern| grep(&pattern, FEWER)));
    }
    if turn.has("memory_query") {
        let query = keywords.texts().collect::<Vec<_>>().join(" ");
        calls.push(ToolCall::new("memory_query", &json!({ "query": query, "limit": super::MEMORIES })));
    }
    if calls.is_empty() {
        return Reply::say(
            "I have neither the tool `grep` nor `memory_query` here, so there is nothing I can search.",
        );
    }
    Reply::ask(calls)
}

/// The results of the searches.
struct SearchResults<'a> {
    keywords: &'a Keywords,
    hits: Vec<Hit<'a>>,
    weights: Weights,
    /// The search for any of the words found more lines than it gave.
    cut: bool,
}

impl<'a> SearchResults<'a> {
    fn of(turn: &Turn<'a>, keywords: &'a Keywords) -> Self {
        let mut found = Self { keywords, hits: Vec::new(), weights: Weights::default(), cut: false };
        // How rare a word is, the search for any of them says; if that was cut, those for each alone.
        let mut rarity = Vec::new();
        for (index, call) in turn.calls_of("grep").enumerate() {
            let CallOutcome::Output(output) = call.outcome() else { continue };
            let hits = hits::parse(output, keywords);
            match index {
                0 => found.cut = output.lines().count() >= LINES,
                FIRST => rarity.clear(),
                _ => {}
            }
            if index != 1 {
                rarity.extend(hits.iter().cloned());
            }
            found.hits.extend(hits);
        }
        found.weights = Weights::of(&rarity, keywords);
        found.hits.sort_by(|a, b| (a.file, a.line).cmp(&(b.file, b.line)));
        found.hits.dedup_by(|a, b| (a.file, a.line) == (b.file, b.line));
        found
    }

    fn files(&self) -> Vec<&'a str> {
        let mut files = hits::files(&self.hits, self.keywords, &self.weights);
        files.truncate(FILES);
        files
    }

    /// The best passages, best first; for unread parts, grep's lines.
    fn passages(&self, turn: &Turn<'_>) -> Vec<Passage> {
        let measure = Measure { keywords: self.keywords, weights: &self.weights };
        let mut all: Vec<Passage> = Vec::new();
        for file in self.files() {
            let call = turn.calls_of("read").find(|call| call.argument("path").as_deref() == Some(file));
            let text = match call.map(Call::outcome) {
                Some(CallOutcome::Output(text)) => text,
                _ => "",
            };
            all.extend(passages::of_text(file, text, &measure));
            all.extend(passages::of_hits(file, text.lines().count(), &self.hits, &measure));
        }
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        let least = all.first().map_or(0.0, |best| best.score * WORTH);
        let mut kept: Vec<Passage> = Vec::new();
        for passage in all.into_iter().take_while(|passage| passage.score >= least) {
            if kept.len() < QUOTES && !kept.iter().any(|other| other.is_like(&passage)) {
                kept.push(passage);
            }
        }
        kept
    }

    fn answer(&self, turn: &Turn<'_>) -> String {
        let (passages, memories) = (self.passages(turn), self.memories(turn));
        let mut parts: Vec<String> = Vec::new();
        let covers = passages.iter().map(|passage| passage.covers).fold(0.0, f64::max);
        match passages.is_empty() {
            true if memories.is_empty() => parts.push("I found nothing about this.".to_owned()),
            true => {}
            false if covers < POOR => {
                parts.push("Nothing in the files fits this question well; this comes closest:".to_owned());
            }
            false => parts.push("This is what the files say:".to_owned()),
        }
        parts.extend(
            passages.iter().map(|found| format!("{}\n({}:{})", quoted(&found.quote), found.file, found.line)),
        );
        if !memories.is_empty() {
            parts.push("This is what I remember:".to_owned());
            parts.extend(memories.iter().take(MEMORIES).map(result::Memory::quote));
        }
        parts.extend(self.absent(turn));
        parts.extend(failures(turn));
        parts.join("\n\n")
    }

    /// Memories with a word of the question; memory itself finds by looser likeness.
    fn memories(&self, turn: &Turn<'_>) -> Vec<result::Memory> {
        let Some(CallOutcome::Output(output)) = turn.outcome("memory_query") else { return Vec::new() };
        let fits = |memory: &result::Memory| self.keywords.fit(&memory.content).any();
        result::memories(output).into_iter().filter(fits).collect()
    }

    /// The words that stand in no file, if the searches themselves worked.
    fn absent(&self, turn: &Turn<'_>) -> Option<String> {
        let mut searches = turn.calls_of("grep").map(Call::outcome).peekable();
        let worked =
            searches.peek().is_some() && searches.all(|outcome| matches!(outcome, CallOutcome::Output(_)));
        let missing = self.weights.missing(self.keywords);
        let named = missing.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        (worked && !missing.is_empty()).then(|| format!("No file mentions {named}."))
    }
}

/// Every tool that failed, each once.
fn failures(turn: &Turn<'_>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for call in &turn.calls {
        let outcome = call.outcome();
        let text = outcome.explanation(call.tool);
        if !matches!(outcome, CallOutcome::Output(_)) && !said.contains(&text) {
            said.push(text);
        }
    }
    said
}
