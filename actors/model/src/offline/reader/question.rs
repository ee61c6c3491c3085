//! Questions: search the workspace and memory for the question's words, read the files that fit best, quote the
//! passages. Four steps at most, each known from the calls that stand in the conversation.

use super::conversation::{Call, Turn};
use super::hits::{self, Hit, Weights};
use super::passages::{self, Measure, Passage};
use super::result::{self, Came, quoted};
use super::words::Words;
use crate::answer::{Reply, Wanted};
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

/// What this program says of itself when there is nothing to look for.
const ABOUT: &str = "I am offline/reader, a program that searches your files and your memory and quotes what fits. I am \
not a chat model. Ask about something that stands in your files, or use one of these:\n\n\
- echo: TEXT\n- remember: TEXT\n- recall WORDS\n- run: COMMAND\n- read PATH\n- write PATH: TEXT";

/// The next step towards an answer.
pub(super) fn answer(turn: &Turn<'_>, question: &str) -> Reply {
    let words = Words::of(question);
    if words.len() == 0 {
        return Reply::say(ABOUT);
    }
    let searched = turn.came("grep").is_some() || turn.came("memory_query").is_some();
    if !searched {
        return search(turn, &words);
    }
    let found = Found::of(turn, &words);
    if found.cut && words.len() > 1 && turn.calls_of("grep").count() == FIRST {
        return Reply::ask(words.one().map(|pattern| grep(&pattern, FEWER)).collect());
    }
    if turn.came("read").is_none() && turn.has("read") {
        let reads: Vec<Wanted> = found.files().into_iter().map(read).collect();
        if !reads.is_empty() {
            return Reply::ask(reads);
        }
    }
    Reply::say(found.answer(turn))
}

fn read(file: &str) -> Wanted {
    Wanted::new("read", &json!({ "path": file, "maxSize": FILE_BYTES }))
}

fn grep(pattern: &str, most: impl Into<serde_json::Value>) -> Wanted {
    Wanted::new("grep", &json!({ "pattern": pattern, "ignoreCase": true, "maxResults": most.into() }))
}

/// Asks for every line with one of the words, for those with two (which the first search's bound may leave out), and
/// for memories.
fn search(turn: &Turn<'_>, words: &Words) -> Reply {
    let mut calls = Vec::new();
    if turn.has("grep") {
        calls.push(grep(&words.any(), LINES));
        calls.extend(words.pairs().map(|pattern| grep(&pattern, FEWER)));
    }
    if turn.has("memory_query") {
        let query = words.texts().collect::<Vec<_>>().join(" ");
        calls.push(Wanted::new("memory_query", &json!({ "query": query, "limit": super::MEMORIES })));
    }
    if calls.is_empty() {
        return Reply::say(
            "I have neither the tool `grep` nor `memory_query` here, so there is nothing I can search.",
        );
    }
    Reply::ask(calls)
}

/// What the searches gave.
struct Found<'a> {
    words: &'a Words,
    hits: Vec<Hit<'a>>,
    weights: Weights,
    /// The search for any of the words found more lines than it gave.
    cut: bool,
}

impl<'a> Found<'a> {
    fn of(turn: &Turn<'a>, words: &'a Words) -> Self {
        let mut found = Self { words, hits: Vec::new(), weights: Weights::default(), cut: false };
        // How rare a word is, the search for any of them says; if that was cut, those for each alone.
        let mut rarity = Vec::new();
        for (index, call) in turn.calls_of("grep").enumerate() {
            let Came::Output(output) = call.came() else { continue };
            let hits = hits::parse(output, words);
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
        found.weights = Weights::of(&rarity, words);
        found.hits.sort_by(|a, b| (a.file, a.line).cmp(&(b.file, b.line)));
        found.hits.dedup_by(|a, b| (a.file, a.line) == (b.file, b.line));
        found
    }

    fn files(&self) -> Vec<&'a str> {
        let mut files = hits::files(&self.hits, self.words, &self.weights);
        files.truncate(FILES);
        files
    }

    /// The passages that fit best, best first. Of what was not read, the lines that grep gave.
    fn passages(&self, turn: &Turn<'_>) -> Vec<Passage> {
        let measure = Measure { words: self.words, weights: &self.weights };
        let mut all: Vec<Passage> = Vec::new();
        for file in self.files() {
            let call = turn.calls_of("read").find(|call| call.argument("path").as_deref() == Some(file));
            let text = match call.map(Call::came) {
                Some(Came::Output(text)) => text,
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
        let Some(Came::Output(output)) = turn.came("memory_query") else { return Vec::new() };
        let fits = |memory: &result::Memory| self.words.fit(&memory.content).any();
        result::memories(output).into_iter().filter(fits).collect()
    }

    /// Which words stand in no file, if the searches themselves worked.
    fn absent(&self, turn: &Turn<'_>) -> Option<String> {
        let mut searches = turn.calls_of("grep").map(Call::came).peekable();
        let worked = searches.peek().is_some() && searches.all(|came| matches!(came, Came::Output(_)));
        let missing = self.weights.missing(self.words);
        let named = missing.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        (worked && !missing.is_empty()).then(|| format!("No file mentions {named}."))
    }
}

/// Every tool that failed, each once.
fn failures(turn: &Turn<'_>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for call in &turn.calls {
        let came = call.came();
        let told = came.told(call.tool);
        if !matches!(came, Came::Output(_)) && !said.contains(&told) {
            said.push(told);
        }
    }
    said
}
