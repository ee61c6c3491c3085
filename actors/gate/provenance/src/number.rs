//! Amounts. `1,000.50`, `1000.5`, `$1000.50` and `1.000,50` are one number: a separator that can be read in one way
//! alone says nothing of the amount. `1.000` is one, as in every program, and never a thousand; a per cent sign, a
//! letter or a date around the digits makes them something else, and number words are not read at all.

use crate::text::exact;

/// Codes and signs that may stand right before or behind an amount.
const CURRENCIES: [&str; 25] = [
    "$", "€", "£", "¥", "₹", "₩", "₽", "₿", "usd", "eur", "gbp", "chf", "jpy", "cny", "inr", "cad", "aud",
    "nzd", "sek", "nok", "dkk", "pln", "czk", "huf", "brl",
];
/// Digits of an amount; longer ones are numbers of something else, and are compared as text.
const DIGITS: usize = 24;

/// The one form of a number, or nothing if `text` is none.
pub(crate) fn number(text: &str) -> Option<String> {
    let text = exact(text).to_lowercase();
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let text = CURRENCIES.iter().find_map(|code| text.strip_prefix(code)).unwrap_or(text).trim_start();
    let text = CURRENCIES.iter().find_map(|code| text.strip_suffix(code)).unwrap_or(text).trim_end();
    let (sign, text) =
        text.strip_prefix('-').filter(|_| sign.is_empty()).map_or((sign, text), |rest| ("-", rest));
    let (whole, part) = halves(text)?;
    if whole.is_empty() || whole.len() + part.len() > DIGITS {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let part = part.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match part {
        "" if whole == "0" => "0".to_owned(),
        "" => format!("{sign}{whole}"),
        part => format!("{sign}{whole}.{part}"),
    })
}

/// The digits before and behind the decimal mark.
fn halves(text: &str) -> Option<(String, String)> {
    if !text.starts_with(|char: char| char.is_ascii_digit())
        || !text.ends_with(|char: char| char.is_ascii_digit())
    {
        return None;
    }
    let marks: Vec<char> = text.chars().filter(|char| !char.is_ascii_digit()).collect();
    match marks.as_slice() {
        [] => Some((text.to_owned(), String::new())),
        ['.'] => text.split_once('.').map(|(whole, part)| (whole.to_owned(), part.to_owned())),
        [','] if text.split_once(',').is_some_and(|(_, part)| part.len() < 3) => {
            text.split_once(',').map(|(whole, part)| (whole.to_owned(), part.to_owned()))
        }
        [groups @ .., last] if *last != ',' || groups.iter().any(|mark| *mark != ',') => {
            let (whole, part) = text.rsplit_once(*last)?;
            let group = groups.first()?;
            let one = groups.iter().all(|mark| mark == group) && group != last;
            one.then(|| grouped(whole, *group)).flatten().map(|whole| (whole, part.to_owned()))
        }
        _ => grouped(text, ',').map(|whole| (whole, String::new())),
    }
}

/// Digits in groups of three.
fn grouped(text: &str, mark: char) -> Option<String> {
    let mut groups = text.split(mark);
    let first = groups.next()?;
    let fits = matches!(mark, ',' | '.' | '\'')
        && (1..=3).contains(&first.len())
        && groups.all(|group| group.len() == 3);
    fits.then(|| text.chars().filter(char::is_ascii_digit).collect())
}

/// Every number that stands in a text by itself.
pub(crate) fn numbers(text: &str) -> Vec<String> {
    text.split([' ', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', ';', '!', '?', '*', '='])
        .map(|token| token.trim_matches('\'').trim_end_matches(['.', ',', ':', '\'']))
        .filter_map(number)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_one_number_however_it_is_written() {
        for text in [
            "1,000.50", "1000.5", "$1000.50", "1.000,50", "€1,000.50", "1000.50 EUR", "USD 1'000.50",
            "1000,5",
        ] {
            assert_eq!(number(text).as_deref(), Some("1000.5"), "{text}");
        }
        assert_eq!(number("1,000").as_deref(), Some("1000"));
        assert_eq!(number("1,000,000").as_deref(), Some("1000000"));
        assert_eq!(number("-$5").as_deref(), Some("-5"));
        assert_eq!(number("0.00").as_deref(), Some("0"));
    }

    #[test]
    fn what_may_be_another_number_is_not_read_as_this_one() {
        assert_eq!(number("1.000").as_deref(), Some("1"));
        for text in ["10%", "10k", "1e6", "1,00,0", "1.2.3", "12-04", "", ".", "1,", "ten", "0x10", "1,0000"]
        {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_stand_by_themselves() {
        assert_eq!(numbers("pay $98.70, then 12 (not 10%) on 2023-01-02."), ["98.7", "12"]);
    }
}
