//! Terms that are spelled nearly like one that no row holds: another ending, a compound, a slip of one letter, or a
//! code written with its hyphen. Pure.

use std::cmp::Reverse;

/// Letters that a term must have, and a beginning or an end in common.
const LEAST: usize = 5;
/// Tenths of the asked term that a common beginning must have.
const TENTHS: usize = 7;
/// Figures of a number by which a code with letters before it is found.
const LEAST_FIGURES: usize = 3;
/// Runs of letters and of figures that a code may be made of.
const MOST_PARTS: usize = 4;
/// Terms that are held beyond those that are asked for before the likest of them are chosen: nearly all of very many may be like
/// one.
const AT_ONCE: usize = 256;

/// The look of a term, in so few bits that it stands beside the term's number. It selects the few terms that look like
/// an asked one, so that only these are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sketch(u32);

impl Sketch {
    /// Where in it stands something of the first byte, of the first bytes and of the last, and which letters there are.
    const FIRST: u32 = 0x1f;
    const BEGIN: u32 = 0x3e0;
    const END: u32 = 0xfc00;
    const LETTERS: u32 = 0xffff_0000;
    /// Letters that a slip changes, one for another.
    const OF_SLIP: u32 = 2;

    /// The sketch of this term.
    pub(crate) fn of(term: &str) -> Self {
        let bytes = term.as_bytes();
        let first = bytes.first().copied().map_or(0, u32::from);
        let begin = mixed(bytes.get(..LEAST).unwrap_or(bytes));
        let end = mixed(bytes.get(bytes.len().saturating_sub(LEAST_FIGURES)..).unwrap_or(bytes));
        let letters = term.chars().fold(0, |all, c| all | 1 << (u32::from(c).wrapping_mul(GOLDEN) >> 28));
        Self(first & Self::FIRST | begin << 5 & Self::BEGIN | end << 10 & Self::END | letters << 16)
    }

    /// Returns whether it may be like a term of that look. Of one that is not, it is certain.
    fn may_be_like(self, other: Self) -> bool {
        let differs = self.0 ^ other.0;
        let same = |part| differs & part == 0;
        let slipped = || (differs & Self::LETTERS).count_ones() <= Self::OF_SLIP;
        same(Self::END) || same(Self::FIRST) && (same(Self::BEGIN) || slipped())
    }
}

/// The fractional part of the golden ratio: a product with it moves similar numbers apart.
const GOLDEN: u32 = 0x9e37_79b9;

fn mixed(bytes: &[u8]) -> u32 {
    let sum = bytes.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    sum.wrapping_mul(GOLDEN) >> 16
}

/// A term that is asked for, and its substitutes so far, by likeness.
struct Asked<'a> {
    term: &'a str,
    looks: Sketch,
    likest: Vec<(Reverse<usize>, &'a str)>,
}

impl<'a> Asked<'a> {
    /// Takes a held term that may stand for it; more than the most there may be are put off for a while.
    fn take(&mut self, held: &'a str, most: usize) {
        self.likest.extend(likeness(self.term, held).map(|likeness| (Reverse(likeness), held)));
        if self.likest.len() >= most + AT_ONCE {
            self.likest.select_nth_unstable(most);
            self.likest.truncate(most);
        }
    }

    fn sorted(mut self, most: usize) -> Vec<&'a str> {
        self.likest.sort_unstable();
        self.likest.into_iter().take(most).map(|(_, held)| held).collect()
    }
}

/// The substitutes of each asked term, with a bound on their number, the likest first. All stored terms are gone
/// through once, by their sketches, since there may be very many.
pub(crate) fn likest<'a>(
    asked: &[&'a str],
    held: impl Iterator<Item = (&'a str, Sketch)>,
    most: usize,
) -> Vec<Vec<&'a str>> {
    let asked = asked.iter().map(|term| Asked { term, looks: Sketch::of(term), likest: Vec::new() });
    let mut asked: Vec<Asked<'a>> = asked.collect();
    if !asked.is_empty() {
        for (held, looks) in held {
            asked.iter_mut().filter(|it| it.looks.may_be_like(looks)).for_each(|it| it.take(held, most));
        }
    }
    asked.into_iter().map(|it| it.sorted(most)).collect()
}

/// How well a term that rows hold stands for an asked one, the more the better; nothing if it does not.
fn likeness(asked: &str, held: &str) -> Option<usize> {
    if asked.as_bytes().first() != held.as_bytes().first() {
        let (short, long) = if asked.len() < held.len() { (asked, held) } else { (held, asked) };
        // In codes and dates each sign counts, but for the letters before a number.
        return match long.strip_suffix(short)? {
            before if is_number(asked) => {
                asked.len() >= LEAST_FIGURES && !before.is_empty() && !has_figures(before)
            }
            _ => short.len() >= LEAST && !has_figures(long),
        }
        .then_some(short.len());
    }
    if asked.len() < LEAST || has_figures(asked) || has_figures(held) {
        return None;
    }
    let begun = asked.chars().zip(held.chars()).take_while(|(one, other)| one == other);
    let begun: usize = begun.map(|(c, _)| c.len_utf8()).sum();
    let is_more_of_it = begun == held.len() && matches!(asked.get(begun..), Some("er" | "est"));
    let begins_alike = begun >= LEAST && (10 * begun >= TENTHS * asked.len() || is_more_of_it);
    (begins_alike || is_slip(asked, held, begun)).then_some(begun)
}

/// The runs of letters and of figures of a code such as "sup10471", if it has both. Of a longer mixture, such as a hash, they say
/// nothing.
pub(crate) fn parts(code: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    let kinds = code.char_indices().map(|(at, c)| (at, c.is_ascii_digit()));
    for ((_, one), (at, other)) in kinds.clone().zip(kinds.skip(1)) {
        if one != other {
            parts.extend(code.get(from..at));
            from = at;
        }
    }
    if from > 0 {
        parts.extend(code.get(from..));
    }
    if parts.len() <= MOST_PARTS { parts } else { Vec::new() }
}

/// Returns true if two terms whose first `begun` bytes are the same differ in one letter more, less, another, or two
/// that changed places.
fn is_slip(one: &str, other: &str, begun: usize) -> bool {
    if one.len().abs_diff(other.len()) > 2 {
        return false;
    }
    let rest = |text: &str| -> Vec<char> { text.get(begun..).unwrap_or_default().chars().collect() };
    let (one, other) = (rest(one), rest(other));
    match (one.as_slice(), other.as_slice()) {
        ([a, b, one @ ..], [c, d, other @ ..]) if a == d && b == c => one == other,
        ([_, ones @ ..], [_, others @ ..]) => ones == others || *ones == other || one == *others,
        (left, []) | ([], left) => left.len() == 1,
    }
}

fn is_number(term: &str) -> bool {
    term.bytes().all(|c| c.is_ascii_digit())
}

fn has_figures(term: &str) -> bool {
    term.bytes().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn another_ending_a_compound_and_a_slip_stand_for_a_word() {
        for (asked, held) in [
            ("weihnachten", "weihnachtsfeier"),
            ("feier", "weihnachtsfeier"),
            ("mietvertrag", "vertrag"),
            ("lanza", "lanzamiento"),
            ("descargo", "descargas"),
            ("goverment", "government"),
            ("recieve", "receive"),
            ("yilmaz", "yılmaz"),
            ("proudest", "proud"),
            ("happiest", "happi"),
        ] {
            assert!(likeness(asked, held).is_some(), "{asked} {held}");
        }
    }

    #[test]
    fn what_is_short_or_begins_otherwise_stands_for_nothing() {
        for (asked, held) in
            [("cat", "car"), ("cat", "category"), ("garden", "warden"), ("marcus", "march"), ("", "x")]
        {
            assert_eq!(likeness(asked, held), None, "{asked} {held}");
        }
    }

    #[test]
    fn of_very_many_the_likest_are_given_whatever_their_order() {
        let letters = 'a'..='z';
        let ends =
            letters.clone().flat_map(|one| letters.clone().map(move |other| format!("harbo{one}{other}s")));
        let terms: Vec<String> = ends.collect();
        let held: Vec<&str> = terms.iter().map(String::as_str).collect();
        for held in [held.clone(), held.iter().rev().copied().collect()] {
            assert!(held.len() > 2 * AT_ONCE);
            let held = held.into_iter().map(|held| (held, Sketch::of(held)));
            assert_eq!(likest(&["harbour"], held, 2), [["harbours", "harbouas"]]);
        }
    }

    proptest! {
        // Holds P3-30.
        #[test]
        fn what_is_like_a_term_never_looks_otherwise(
            term in "[a-eıé]{1,9}|[a-c]{0,4}[0-9]{1,5}", before in "[a-eıé]{0,3}", behind in "[a-eıé]{0,3}",
            at in 0..9_usize, kind in 0..6_usize, letter in "[a-eıé]",
        ) {
            let mut letters: Vec<char> = term.chars().collect();
            let (at, letter) = (at % letters.len(), letter.chars().next().unwrap());
            match kind {
                0 => letters[at] = letter,
                1 => letters.insert(at, letter),
                2 => drop(letters.remove(at)),
                3 if at > 0 => letters.swap(at - 1, at),
                _ => {}
            }
            let other: String = letters.into_iter().collect();
            let other = if kind == 4 { format!("{before}{other}{behind}") } else { other };
            for (asked, held) in [(&term, &other), (&other, &term)] {
                if likeness(asked, held).is_some() {
                    prop_assert!(Sketch::of(asked).may_be_like(Sketch::of(held)), "{} {}", asked, held);
                }
            }
        }
    }

    #[test]
    fn a_number_stands_for_a_code_that_ends_in_it_and_for_no_other_number() {
        assert!(likeness("7781", "bug7781").is_some());
        for (asked, held) in [("7781", "7782"), ("7781", "17781"), ("81", "bug81"), ("sup10471", "sup10472")]
        {
            assert_eq!(likeness(asked, held), None, "{asked} {held}");
        }
    }

    #[test]
    fn a_code_is_made_of_its_letters_and_its_figures() {
        assert_eq!(parts("sup10471"), ["sup", "10471"]);
        assert_eq!(parts("a1b22"), ["a", "1", "b", "22"]);
        for none in ["2027", "word", "", "c7f3e9a1"] {
            assert!(parts(none).is_empty(), "{none}");
        }
    }
}
