//! Passages of a text that fit a question: paragraphs, list items, rows of a table, windows of code. Pure functions
//! of text; a quote is always whole lines of the file, or says where a line was cut.

use super::hits::{Hit, Weights, count};
use super::keywords::{Fit, Keywords};
use std::collections::HashSet;

/// Lines of a passage; of a longer paragraph the window that fits best is taken.
const LINES: usize = 10;
/// Characters from which on a passage takes no further line.
const ENOUGH: usize = 900;
/// The part of one line's worth that is added: words on one line have more to do with each other.
const ONE_LINE: f64 = 0.25;
/// The same of the words of a heading, for the first passage below it and for the others.
const HEADING: [f64; 2] = [0.6, 0.3];
/// The same of the words of the file's name.
const NAMED: f64 = 0.2;
/// Characters below which a passage says little.
const SHORT: usize = 80;
/// The worth of the shortest, as part of its full worth.
const SHORTEST: f64 = 0.7;
/// Two passages with this part of their words in common say the same.
const ALIKE: f64 = 0.8;
/// Characters of a quoted line; of a longer one the part around the first word that fits is shown.
const LINE: usize = 700;
/// Characters before that word.
const LEAD: usize = 200;

/// A part of a file that may answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    /// The file.
    pub(super) file: String,
    /// The first quoted line, from 1.
    pub(super) line: usize,
    /// The lines.
    pub(super) quote: String,
    /// How well it fits; a passage with every word is worth 1 and something for how close they stand.
    pub(super) score: f64,
    /// How much of the question it covers, 0 to 1.
    pub(super) covers: f64,
}

impl Passage {
    /// Returns whether two passages say the same in nearly the same words.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let keywords =
            |passage: &Self| passage.quote.split_whitespace().map(str::to_owned).collect::<HashSet<_>>();
        let (own, others) = (keywords(self), keywords(other));
        let (shared, all) = (own.intersection(&others).count(), own.union(&others).count());
        count(shared) >= ALIKE * count(all)
    }
}

/// A question, and how much each of its words says.
pub(super) struct Measure<'a> {
    /// Its words.
    pub(super) keywords: &'a Keywords,
    /// Their weights.
    pub(super) weights: &'a Weights,
}

/// A run of lines that belong together.
#[derive(Clone, Copy, Debug)]
struct Block {
    from: usize,
    to: usize,
    /// The line of the heading it stands under.
    heading: Option<usize>,
    /// It is the first below that heading.
    first: bool,
}

/// The passages of a file's text that have a word of the question.
pub(super) fn of_text(file: &str, text: &str, measure: &Measure<'_>) -> Vec<Passage> {
    let lines: Vec<&str> = text.lines().collect();
    let fits: Vec<Fit> = lines.iter().map(|line| measure.keywords.fit(line)).collect();
    let document = Document { file, lines: &lines, fits: &fits, measure };
    let blocks = blocks(&lines, file.ends_with(".md") || file.ends_with(".markdown"));
    blocks.iter().filter_map(|block| document.passage(*block)).collect()
}

/// The same of grep's lines, for the unread part of a file: all after line `read`.
pub(super) fn of_hits(file: &str, read: usize, hits: &[Hit<'_>], measure: &Measure<'_>) -> Vec<Passage> {
    let own =
        hits.iter().filter(|hit| hit.file == file && usize::try_from(hit.line).is_ok_and(|line| line > read));
    own.map(|hit| {
        let (covers, score) =
            (measure.weights.covers(&hit.fit), measure.weights.worth(&hit.fit, hit.text.len()));
        let line = usize::try_from(hit.line).unwrap_or(usize::MAX);
        Passage { file: file.to_owned(), line, quote: hit.text.to_owned(), score, covers }
    })
    .collect()
}

/// A file's text with the properties of each line.
struct Document<'a> {
    file: &'a str,
    lines: &'a [&'a str],
    fits: &'a [Fit],
    measure: &'a Measure<'a>,
}

impl Document<'_> {
    fn passage(&self, block: Block) -> Option<Passage> {
        let (worth, mut from, to) = self.best_window(block)?;
        if worth <= 0.0 {
            return None;
        }
        let fit = self.fit(from, to);
        let mut score = worth + NAMED * self.adds(&fit, &self.measure.keywords.fit(self.file));
        let mut covers = fit;
        if let Some((heading, over)) = block.heading.and_then(|at| Some((at, self.fits.get(at)?))) {
            let [first, other] = HEADING;
            score += if block.first { first } else { other } * self.adds(&fit, over);
            covers = covers.with(over);
            if block.first && from == block.from && over.any() {
                from = heading;
            }
        }
        let (file, quote) = (self.file.to_owned(), self.quote(from, to));
        Some(Passage { file, line: from + 1, quote, score, covers: self.measure.weights.covers(&covers) })
    }

    /// The window of a block that fits best, of equals the earlier. One that reaches the end has all that follow in it.
    fn best_window(&self, block: Block) -> Option<(f64, usize, usize)> {
        let window = |from| (from, self.reaches(from, block.to));
        let starts = (block.from..block.to).map(window);
        let end = starts.clone().position(|(_, to)| to == block.to)?;
        let scored = starts.take(end + 1).map(|(from, to)| (self.worth(from, to), from, to));
        scored.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Where a passage that begins here ends.
    fn reaches(&self, from: usize, end: usize) -> usize {
        let mut characters = 0;
        let most = end.min(from + LINES);
        let lines = self.lines.get(from..most).unwrap_or_default().iter();
        let full = lines.map(|line| line.len()).position(|length| {
            characters += length;
            characters > ENOUGH
        });
        full.map_or(most, |lines| (from + lines).max(from + 1))
    }

    fn fit(&self, from: usize, to: usize) -> Fit {
        self.fits.get(from..to).unwrap_or_default().iter().fold(Fit::default(), |all, line| all.with(line))
    }

    /// The worth of some lines by themselves.
    fn worth(&self, from: usize, to: usize) -> f64 {
        let lines = || self.lines.get(from..to).unwrap_or_default().iter();
        let fits = self.fits.get(from..to).unwrap_or_default();
        let weights = self.measure.weights;
        let line = lines().zip(fits).map(|(line, fit)| weights.worth(fit, line.len())).fold(0.0, f64::max);
        let characters: usize = lines().map(|line| line.len()).sum();
        let says = SHORTEST + (1.0 - SHORTEST) * count(characters.min(SHORT)) / count(SHORT);
        says * (weights.worth(&self.fit(from, to), characters) + ONE_LINE * line)
    }

    /// How much more of the question is covered with another text, such as a heading.
    fn adds(&self, fit: &Fit, other: &Fit) -> f64 {
        self.measure.weights.covers(&fit.with(other)) - self.measure.weights.covers(fit)
    }

    fn quote(&self, from: usize, to: usize) -> String {
        let lines = self.lines.get(from..to).unwrap_or_default().iter();
        let shown: Vec<String> = lines.map(|line| shorten(line, self.measure.keywords)).collect();
        shown.join("\n").trim_end().to_owned()
    }
}

/// A line, or the part of it around the first word that fits.
fn shorten(line: &str, keywords: &Keywords) -> String {
    if line.chars().count() <= LINE {
        return line.to_owned();
    }
    let fits = |at: &usize| {
        let word = line.get(*at..).and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        word.is_some_and(|word| keywords.fit(word).any())
    };
    let hit = word_starts(line).find(fits).unwrap_or(0);
    let before = line.get(..hit).unwrap_or_default().chars().count();
    let skipped = before.saturating_sub(LEAD);
    let shown: String = line.chars().skip(skipped).take(LINE).collect();
    let more = line.chars().count() > skipped + LINE;
    format!("{}{shown}{}", if skipped > 0 { "[...] " } else { "" }, if more { " [...]" } else { "" })
}

/// Where words begin.
fn word_starts(line: &str) -> impl Iterator<Item = usize> {
    let mut inside = false;
    line.char_indices().filter_map(move |(at, c)| {
        let begins = c.is_alphanumeric() && !inside;
        inside = c.is_alphanumeric();
        begins.then_some(at)
    })
}

/// The blocks of a text. Headings, lists and tables are known only in Markdown, and not within its fences.
fn blocks(lines: &[&str], markdown: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut from, mut heading, mut first, mut fenced) = (0, None, false, false);
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        let shape = if markdown && !fenced { shape(line) } else { Shape::of_plain(line) };
        fenced ^= line.starts_with("```") || line.starts_with("~~~");
        if shape == Shape::Prose {
            continue;
        }
        if from < at {
            blocks.push(Block { from, to: at, heading, first });
            first = false;
        }
        from = if shape == Shape::Begins { at } else { at + 1 };
        if shape == Shape::Heading {
            (heading, first) = (Some(at), true);
        }
    }
    if from < lines.len() {
        blocks.push(Block { from, to: lines.len(), heading, first });
    }
    blocks
}

/// The effect of a line on the block before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It goes on.
    Prose,
    /// It ends it and begins the next.
    Begins,
    /// It ends it.
    Blank,
    /// It ends it and stands over those that follow.
    Heading,
}

impl Shape {
    fn of_plain(line: &str) -> Self {
        if line.is_empty() { Self::Blank } else { Self::Prose }
    }
}

fn shape(line: &str) -> Shape {
    let level = line.chars().take_while(|c| *c == '#').count();
    let number = line.chars().take_while(char::is_ascii_digit).count();
    let after = |marks: usize| line.get(marks..).unwrap_or_default();
    if (1..=6).contains(&level) && after(level).starts_with(' ') {
        Shape::Heading
    } else if line.starts_with('|')
        || ["- ", "* ", "+ "].iter().any(|bullet| line.starts_with(bullet))
        || (number > 0 && (after(number).starts_with(". ") || after(number).starts_with(") ")))
    {
        Shape::Begins
    } else {
        Shape::of_plain(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn best(file: &str, text: &str, question: &str) -> Option<Passage> {
        let keywords = Keywords::of(question);
        let lines: Vec<String> =
            (1..).zip(text.lines()).map(|(n, line)| format!("{file}:{n}:{line}")).collect();
        let output = lines.join("\n");
        let hits = super::super::hits::parse(&output, &keywords);
        let weights = Weights::of(&hits, &keywords);
        let measure = Measure { keywords: &keywords, weights: &weights };
        of_text(file, text, &measure).into_iter().max_by(|a, b| a.score.total_cmp(&b.score))
    }

    const TEXT: &str = "# Harbour\n\nThe office sells tickets.\nIt opens at nine.\n\n## Boats\n\n\
                        - The red boat goes\n  to the island.\n- The blue boat goes nowhere.\n\n| boat | price |\n|---|---|\n\
                        | red | 3 |\n| blue | 4 |\n\n```\n# harbour not a heading\ngrep boat\n```\n";

    #[test]
    fn a_passage_is_a_paragraph_a_list_item_or_a_row() {
        for (question, line, quote) in [
            ("when does the office open", 3, "The office sells tickets.\nIt opens at nine."),
            ("harbour tickets", 1, "# Harbour\n\nThe office sells tickets.\nIt opens at nine."),
            (
                "where does the red boat go, to an island?",
                6,
                "## Boats\n\n- The red boat goes\n  to the island.",
            ),
            ("nowhere", 10, "- The blue boat goes nowhere."),
            ("blue 4", 15, "| blue | 4 |"),
        ] {
            let passage =
                best("a.md", &TEXT.replace("| 4 |", "| 44 |"), &question.replace('4', "44")).unwrap();
            assert_eq!(
                (passage.line, passage.quote.as_str()),
                (line, quote.replace('4', "44").as_str()),
                "{question}"
            );
        }
        assert_eq!(best("a.md", TEXT, "submarine"), None);
    }

    #[test]
    fn of_a_long_paragraph_the_window_that_fits_best_is_quoted() {
        let mut lines = vec!["filler"; 40];
        lines[30] = "the needle is here";
        let passage = best("a.txt", &lines.join("\n"), "needle").unwrap();
        assert!(passage.quote.lines().count() <= LINES);
        assert!(passage.quote.contains("needle"));
        assert_eq!(lines[passage.line - 1..].iter().take(LINES).filter(|line| **line != "filler").count(), 1);
    }

    #[test]
    fn a_long_line_is_cut_around_the_word_and_says_so() {
        let line = format!("{} needle {}", "é".repeat(2000), "x ".repeat(2000));
        let passage = best("a.txt", &line, "needle").unwrap();
        assert!(passage.quote.contains("needle") && passage.quote.chars().count() < LINE + 20);
        assert!(passage.quote.starts_with("[...]") && passage.quote.ends_with("[...]"));
    }

    proptest! {
        #[test]
        fn every_quote_is_lines_of_the_file_at_the_line_it_names(text in "([#|*`~-]{0,3} ?(word|other|é|x)?\n?){0,60}") {
            if let Some(passage) = best("a.md", &text, "word other") {
                let lines: Vec<&str> = text.lines().skip(passage.line - 1).collect();
                let quoted = passage.quote.lines().count();
                let stands = lines[..quoted].join("\n");
                prop_assert_eq!(stands.trim_end(), passage.quote);
            }
        }
    }
}
