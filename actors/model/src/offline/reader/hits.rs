//! The hits of grep: lines with the words of a question, the files they stand in, and how rare each word is. Pure
//! functions of a tool's text; a line that is no hit is skipped.

use super::keywords::{Fit, Keywords, MOST};
use std::collections::HashMap;

/// Lines that count as one place.
const WINDOW: u32 = 5;

/// One line that was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hit<'a> {
    /// The file.
    pub(super) file: &'a str,
    /// The line, from 1.
    pub(super) line: u32,
    /// The line.
    pub(super) text: &'a str,
    /// How well it fits.
    pub(super) fit: Fit,
}

/// How much each word of a question says: the rarer, the more.
#[derive(Debug, Default)]
pub(super) struct Weights {
    each: [f64; MOST],
    found: [bool; MOST],
    all: f64,
}

/// The weight that two adjacent words add, as part of their own.
const TOGETHER: f64 = 0.3;
/// The weight that a repeated word adds, as part of its own.
const AGAIN: f64 = 0.15;
/// Characters after which a text is worth half: in a long one any words are found somewhere.
const HALF: f64 = 1500.0;

/// The lines in grep's output, `file:line:text`, that have one of the words.
pub(super) fn parse<'a>(output: &'a str, keywords: &Keywords) -> Vec<Hit<'a>> {
    output.lines().filter_map(|line| hit(line, keywords)).filter(|hit| hit.fit.any()).collect()
}

fn hit<'a>(line: &'a str, keywords: &Keywords) -> Option<Hit<'a>> {
    // A file's name may have a colon; the first number between two of them is taken for the line.
    for (at, _) in line.match_indices(':') {
        let (file, rest) = (line.get(..at)?, line.get(at + 1..)?);
        let Some((number, text)) = rest.split_once(':') else { break };
        if !file.is_empty()
            && let Ok(number) = number.parse()
        {
            return Some(Hit { file, line: number, text, fit: keywords.fit(text) });
        }
    }
    None
}

impl Weights {
    /// Weights after the lines that were found, and of how many lines each word was found in.
    pub(super) fn of(hits: &[Hit<'_>], keywords: &Keywords) -> Self {
        let total = count(hits.len());
        let mut weights = Self::default();
        let slots = weights.each.iter_mut().zip(&mut weights.found).take(keywords.len()).enumerate();
        for (index, (weight, found)) in slots {
            let with = hits.iter().filter(|hit| hit.fit.each.get(index).is_some_and(|s| *s > 0.0)).count();
            *found = with > 0;
            *weight = ((total + 1.0) / (count(with) + 0.5)).ln_1p();
            weights.all += *weight;
        }
        weights
    }

    /// How much of the question a text covers: one with every word 1.
    pub(super) fn covers(&self, fit: &Fit) -> f64 {
        let sum: f64 = self.each.iter().zip(fit.each).map(|(weight, strength)| weight * strength).sum();
        if self.all > 0.0 { sum / self.all } else { 0.0 }
    }

    /// The worth of a text of this many characters: its coverage, and something for words that stand together or are
    /// there more than once.
    pub(super) fn worth(&self, fit: &Fit, characters: usize) -> f64 {
        let next = self.each.iter().skip(1);
        let pairs = self.each.iter().zip(next).zip(fit.beside).filter(|(_, together)| *together);
        let together: f64 = pairs.map(|((first, second), _)| f64::midpoint(*first, *second)).sum();
        let often = self.each.iter().zip(fit.times).filter(|(_, times)| *times > 1);
        let again: f64 = often.map(|(weight, times)| weight * (1.0 - 1.0 / f64::from(times))).sum();
        let more = if self.all > 0.0 { (TOGETHER * together + AGAIN * again) / self.all } else { 0.0 };
        (self.covers(fit) + more) / (1.0 + count(characters) / HALF)
    }

    /// The words that were found nowhere.
    pub(super) fn missing<'a>(&self, keywords: &'a Keywords) -> Vec<&'a str> {
        keywords.texts().zip(self.found).filter(|(_, found)| !found).map(|(word, _)| word).collect()
    }
}

/// An exact float for any number of lines that a tool gives.
pub(super) fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// The files in which the words stand closest together, best first.
pub(super) fn files<'a>(hits: &[Hit<'a>], keywords: &Keywords, weights: &Weights) -> Vec<&'a str> {
    let mut by_file: HashMap<&str, Vec<&Hit<'_>>> = HashMap::new();
    for hit in hits {
        by_file.entry(hit.file).or_default().push(hit);
    }
    let mut ranked: Vec<(f64, &str)> = by_file
        .into_iter()
        .map(|(file, mut hits)| {
            hits.sort_by_key(|hit| hit.line);
            let named = weights.covers(&keywords.fit(file));
            (best_window(&hits, weights) + 0.2 * named, file)
        })
        .collect();
    ranked.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
    ranked.into_iter().map(|(_, file)| file).collect()
}

fn best_window(hits: &[&Hit<'_>], weights: &Weights) -> f64 {
    let worth = |(start, first): (usize, &&Hit<'_>)| {
        let near = || hits.iter().skip(start).take_while(|hit| hit.line < first.line.saturating_add(WINDOW));
        let fit = near().fold(Fit::default(), |all, hit| all.with(&hit.fit));
        weights.worth(&fit, near().map(|hit| hit.text.len()).sum())
    };
    hits.iter().enumerate().map(worth).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_hits_are_taken() {
        let keywords = Keywords::of("router memory");
        let output = "docs/a.md:12:the router: it routes\nb:c.md:3:memory\nno line fits; 3 files searched\n\
                      docs/a.md-13-around\n[... cut: there are more than these 500 hits; search for less ...]\n--\n:1:router";
        let found: Vec<_> =
            parse(output, &keywords).iter().map(|hit| (hit.file, hit.line, hit.text)).collect();
        assert_eq!(found, [("docs/a.md", 12, "the router: it routes"), ("b:c.md", 3, "memory")]);
    }

    #[test]
    fn the_file_with_the_rarer_words_close_together_comes_first() {
        let keywords = Keywords::of("harbour office opens");
        let output = "a.md:1:the office\na.md:2:the office\na.md:90:the harbour\n\
                      b.md:7:harbour office\nb.md:9:it opens at nine\nc.md:1:an office opens";
        let hits = parse(output, &keywords);
        let weights = Weights::of(&hits, &keywords);
        assert_eq!(files(&hits, &keywords, &weights), ["b.md", "c.md", "a.md"]);
        assert!(weights.missing(&keywords).is_empty());
        assert_eq!(Weights::of(&[], &keywords).missing(&keywords).len(), 3);
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_read_without_panic(output in "([a-z.:0-9é\n\\[-]|:1:word){0,80}") {
            let keywords = Keywords::of("word other");
            let hits = parse(&output, &keywords);
            files(&hits, &keywords, &Weights::of(&hits, &keywords));
        }
    }
}
