//! Chinese and Japanese, which are written without blanks and read as pairs of characters: the pairs that say little,
//! the kind of answer that a question asks for, and the properties of a text. Data and how it is read; it must never
//! name a person.

use crate::lexicon::unspaced;
use crate::wants::Wants;

/// Characters that ask, or hold a sentence together: a pair with one of them says little.
const PARTICLES: &str = "的了吗呢吧么什怎哪谁誰何";
/// Words by which a question asks for a time, for a number, and for a person or a place. They stand anywhere in it.
const WHEN: &[&str] = &[
    "什么时候", "什麼時候", "几点", "哪天", "哪年", "几号", "いつ", "何時", "何日", "何月", "何年", "何曜日",
];
const MANY: &[&str] = &[
    "多少", "几个", "几岁", "几次", "几天", "几只", "多久", "多长", "多大", "いくつ", "いくら", "どれくらい",
    "何人", "何個", "何歳", "何回", "何匹", "何本", "何枚",
];
const WHO: &[&str] = &["谁", "誰", "哪里", "哪儿", "哪裡", "どこ", "だれ"];
/// Characters of a time and of a number. One alone is in too much else.
const OF_TIME: &str = "年月日時时点號号周週昨曜";
const OF_NUMBER: &str = "二两三四五六七八九十百千万";

/// Returns whether a pair of characters says little: kana of the grammar alone, or with a particle in it.
pub(crate) fn says_little(pair: &str) -> bool {
    let is_hiragana = |c| matches!(c, '\u{3041}'..='\u{309f}');
    pair.chars().all(is_hiragana) || pair.contains(|c| PARTICLES.contains(c))
}

/// The kind of answer that a question asks for.
pub(crate) fn wants(question: &str) -> Wants {
    let asks = |list: &[&str]| list.iter().any(|word| question.contains(word));
    if asks(WHEN) {
        Wants::Time
    } else if asks(MANY) {
        Wants::Number
    } else if asks(WHO) {
        Wants::Name
    } else {
        Wants::Anything
    }
}

/// Returns whether a text that is written so speaks of a time, and whether of a number.
pub(crate) fn holds(text: &str) -> (bool, bool) {
    if text.is_ascii() || !text.contains(unspaced) {
        return (false, false);
    }
    let number = |c: char| OF_NUMBER.contains(c) || c.is_numeric() && !unspaced(c);
    (text.contains(|c| OF_TIME.contains(c)), text.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_the_grammar_or_with_a_particle_says_little() {
        for (pair, little) in [
            ("です", true),
            ("什么", true),
            ("猫的", true),
            ("猫が", false),
            ("旗袍", false),
            ("カメ", false),
        ] {
            assert_eq!(says_little(pair), little, "{pair}");
        }
    }

    // Holds P3-30.
    #[test]
    fn times_and_numbers_are_found_by_cjk_characters_alone() {
        for (text, holds_them) in [
            ("五月十日に決まった", (true, true)),
            ("八十六", (false, true)),
            ("上周我去了", (true, false)),
            ("猫3匹", (false, true)),
            ("一下", (false, false)),
            ("3 cats in May", (false, false)),
            ("три кошки", (false, false)),
        ] {
            assert_eq!(holds(text), holds_them, "{text}");
        }
    }
}
