//! Modes of files, as programs are given them.

use super::split::Word;

/// Returns whether a mode lets everybody write, or lets the file run with its owner's rights.
pub(super) fn opens(mode: &str) -> bool {
    !mode.is_empty() && mode.split(',').map(clause).try_fold(false, |all, one| Some(all | one?)) == Some(true)
}

/// Returns true if one part of a mode does so; `None` if it is no mode.
fn clause(part: &str) -> Option<bool> {
    let rest = part.trim_start_matches(['u', 'g', 'o', 'a']);
    let who = part.get(..part.len() - rest.len())?;
    let all = who.is_empty() || who.contains(['a', 'o']);
    if who.is_empty() && rest.starts_with(|char: char| char.is_ascii_digit()) {
        return number(rest);
    }
    let (mut gives, mut opens) = (None, false);
    for (at, char) in rest.char_indices() {
        match char {
            '+' | '=' => gives = Some(true),
            '-' => gives = Some(false),
            '0'..='7' => return Some(opens | (number(rest.get(at..)?)? && gives?)),
            's' => opens |= gives?,
            'w' => opens |= gives? && all,
            // Another's rights may be anything.
            'r' | 'x' | 'X' | 't' | 'u' | 'g' | 'o' => drop(gives?),
            _ => return None,
        }
    }
    gives.map(|_| opens)
}

fn number(digits: &str) -> Option<bool> {
    let mode = u32::from_str_radix(digits, 8).ok()?;
    Some(mode & 0o6002 != 0)
}

/// The modes that `install` and its like are given by an option.
pub(super) fn by_option(arguments: &[Word]) -> impl Iterator<Item = &str> {
    let before = std::iter::once("").chain(arguments.iter().map(|word| word.text.as_str()));
    arguments.iter().zip(before).filter_map(|(word, before)| {
        let text = word.text.as_str();
        let long = |text: &str| text.len() > 2 && "--mode".starts_with(text);
        if let Some((name, mode)) = text.split_once('=').filter(|(name, _)| name.starts_with("--")) {
            return long(name).then_some(mode);
        }
        if let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            return letters.split_once('m').map(|(_, mode)| mode);
        }
        let short = before.starts_with('-') && !before.starts_with("--") && before.ends_with('m');
        (short || long(before)).then_some(text)
    })
}
