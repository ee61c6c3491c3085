//! Terms of nearly the same meaning, and terms beneath a kind: people ask for "instruments" and mentioned a guitar. Two
//! lists of everyday English, part of the program. Data and how it is read; it must never name a person.

use std::collections::HashMap;

/// Words of one line mean nearly the same in some sense.
const SAME: &str = include_str!("kin/same.txt");
/// `KIND: MEMBERS`: each member is of that kind.
const KINDS: &str = include_str!("kin/kinds.txt");

/// The worth of a word of the same line beside the word itself, and of a kind beside its member.
const NEAR: f32 = 0.5;

/// The related terms of each term, with their worth.
#[derive(Debug, Default)]
pub(crate) struct Kin {
    of: HashMap<String, Vec<(String, f32)>>,
}

impl Kin {
    /// Both lists, each word made a term by `term`.
    pub(crate) fn of(term: impl Fn(&str) -> String) -> Self {
        let mut kin = Self::default();
        for line in SAME.lines() {
            let terms: Vec<String> = line.split_whitespace().map(&term).collect();
            for one in &terms {
                for other in &terms {
                    kin.add(one, other);
                }
            }
        }
        for (kind, members) in KINDS.lines().filter_map(|line| line.split_once(':')) {
            let kind = term(kind);
            for member in members.split_whitespace().map(&term) {
                kin.add(&kind, &member);
                kin.add(&member, &kind);
            }
        }
        kin
    }

    fn add(&mut self, one: &str, other: &str) {
        let near = self.of.entry(one.to_owned()).or_default();
        if one != other && !near.iter().any(|(known, _)| known == other) {
            near.push((other.to_owned(), NEAR));
        }
    }

    /// Those of one term.
    pub(crate) fn of_term(&self, term: &str) -> &[(String, f32)] {
        self.of.get(term).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(term: &str) -> Vec<String> {
        let kin = Kin::of(str::to_owned);
        kin.of_term(term).iter().map(|(other, _)| other.clone()).collect()
    }

    #[test]
    fn a_kind_finds_its_members_and_no_member_finds_another() {
        assert!(names("instrument").contains(&"guitar".to_owned()));
        assert!(names("guitar").contains(&"instrument".to_owned()));
        assert!(!names("guitar").contains(&"cello".to_owned()));
    }

    #[test]
    fn no_term_is_its_own_kin_and_every_line_is_read() {
        let kin = Kin::of(str::to_owned);
        assert!(kin.of.iter().all(|(term, near)| near.iter().all(|(other, _)| other != term)));
        for line in KINDS.lines() {
            assert!(line.contains(": "), "{line}");
        }
    }
}
