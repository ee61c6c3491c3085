//! The `edit` tool. Changes parts of one text file beneath the workspace, all of them or none; must never guess which
//! of two places was meant.

use super::context::Context;
use super::fault::ToolFault;
use super::outcome::Outcome;
use super::replace::Slot;
use super::tool::{Checked, Tool};
use nix::fcntl::OFlag;
use serde::Deserialize;
use std::io::Read;
use toolset::jail_tools::MAX_WRITE;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Args {
    path: String,
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Edit {
    old_text: String,
    new_text: String,
}

impl Tool for Args {
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault> {
        run(self, context)
    }

    fn changes(&self) -> Option<&str> {
        Some(&self.path)
    }
}

impl Checked for Args {
    type Raw = Self;

    fn check(args: Self::Raw) -> Result<Self, String> {
        match args.edits.iter().position(|edit| edit.old_text == edit.new_text) {
            Some(index) => {
                Err(format!("`edits[{index}]`: oldText and newText are the same, which changes nothing"))
            }
            None => Ok(args),
        }
    }
}

fn run(args: &Args, context: &Context) -> Result<Outcome, ToolFault> {
    let place = context.locate(&args.path)?;
    let slot = Slot::of(&place, false)?;
    let (file, about) = place.open_file(OFlag::O_NOFOLLOW)?;
    let limit = u64::try_from(MAX_WRITE).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|cause| ToolFault::from_io(&place.shown, "read it", cause))?;
    fits(&place.shown, bytes.len())?;
    let hint = ", so it cannot be edited; write it whole";
    let text =
        String::from_utf8(bytes).map_err(|_| ToolFault::NotText { path: place.shown.clone(), hint })?;
    let edited = apply(&place.shown, text, &args.edits)?;
    context.go_on()?;
    slot.put(edited.as_bytes(), Some(&about), true)?;
    let count = args.edits.len();
    let size = u64::try_from(edited.len()).unwrap_or(u64::MAX);
    Ok(Outcome::done(format!("edited `{}`: {count} places changed, now {size} bytes", place.shown))
        .with("path", place.shown.as_str())
        .with("edits", u64::try_from(count).unwrap_or(u64::MAX))
        .with("size", size))
}

fn fits(path: &str, size: usize) -> Result<(), ToolFault> {
    if size <= MAX_WRITE {
        return Ok(());
    }
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    Err(ToolFault::TooLarge { path: path.to_owned(), size, limit: MAX_WRITE })
}

/// The text with every edit applied, each to the result of those before it.
fn apply(path: &str, mut text: String, edits: &[Edit]) -> Result<String, ToolFault> {
    for (index, edit) in edits.iter().enumerate() {
        let places = places(&text, &edit.old_text);
        match places.as_slice() {
            [] => return Err(no_match(path, &text, index, edit)),
            [at] => text.replace_range(*at..*at + edit.old_text.len(), &edit.new_text),
            many => {
                let lines: Vec<_> = many.iter().map(|at| line_of(&text, *at).to_string()).collect();
                return Err(ToolFault::Ambiguous { index, path: path.to_owned(), lines: lines.join(", ") });
            }
        }
        fits(path, text.len())?;
    }
    Ok(text)
}

/// Where `needle` begins, the first five places; overlapping ones count, since either could be meant.
fn places(text: &str, needle: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(needle))
        && found.len() < 5
    {
        found.push(from + at);
        from = text.ceil_char_boundary(from + at + 1);
    }
    found
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn no_match(path: &str, text: &str, index: usize, edit: &Edit) -> ToolFault {
    let first = edit.old_text.lines().map(str::trim).find(|line| !line.is_empty());
    let near = first.and_then(|first| text.lines().position(|line| line.trim() == first));
    let hint = if text.contains("\r\n") && !edit.old_text.contains('\r') && edit.old_text.contains('\n') {
        "; its lines end in \\r\\n".to_owned()
    } else if let Some(line) = near {
        format!("; line {} is like its first line, but white space or what follows differs", line + 1)
    } else {
        String::new()
    };
    ToolFault::NoMatch { index, path: path.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old_text: old.to_owned(), new_text: new.to_owned() }
    }

    fn applied(text: &str, edits: &[Edit]) -> Result<String, ToolFault> {
        apply("f", text.to_owned(), edits)
    }

    #[test]
    fn each_edit_sees_the_result_of_those_before_it() {
        assert_eq!(applied("one two", &[edit("one", "three"), edit("three two", "x")]).unwrap(), "x");
    }

    #[test]
    fn two_places_are_named_by_line_even_where_they_overlap() {
        let said = applied("a\nb\na\n", &[edit("a", "c")]).unwrap_err().to_string();
        assert!(
            said.contains("edits[0].oldText occurs more than once") && said.contains("lines 1, 3"),
            "{said}"
        );
        assert!(matches!(applied("aaa", &[edit("aa", "b")]), Err(ToolFault::Ambiguous { .. })));
        assert!(matches!(applied("äää", &[edit("ää", "b")]), Err(ToolFault::Ambiguous { .. })));
    }

    #[test]
    fn what_comes_close_is_told() {
        let said = applied("  let x = 1;\n", &[edit("let x = 1;\nlet y", "")]).unwrap_err().to_string();
        assert!(said.contains("line 1 is like its first line"), "{said}");
        let said = applied("a\r\nb\r\n", &[edit("a\nb", "")]).unwrap_err().to_string();
        assert!(said.contains("end in \\r\\n"), "{said}");
    }

    proptest! {
        #[test]
        fn an_edit_is_applied_exactly_where_its_text_occurs_once(text in "[abä\n]{0,12}", old in "[abä\n]{1,3}", new in "[xy]{0,3}") {
            let starts: Vec<_> = text.char_indices().map(|(at, _)| at).filter(|at| text[*at..].starts_with(&old)).collect();
            match (applied(&text, &[edit(&old, &new)]), starts.as_slice()) {
                (Ok(edited), [at]) => prop_assert_eq!(edited, format!("{}{new}{}", &text[..*at], &text[at + old.len()..])),
                (Err(ToolFault::NoMatch { .. }), []) => {}
                (Err(ToolFault::Ambiguous { .. }), many) => prop_assert!(many.len() > 1),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
