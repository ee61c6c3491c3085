//! The input of the laws: the repository's files, and Rust text split into code, comments and literals.
//! It reads beneath the repository and nowhere else, and leaves out what is built or hidden.

use std::fs;
use std::path::Path;

/// One file of the repository.
pub(crate) struct File {
    /// Its path from the repository's root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// Every file beneath the repository whose name ends so, sorted by path.
pub(crate) fn files(ending: &str) -> Vec<File> {
    let root = tests::repository();
    let mut found = Vec::new();
    walk(&root, &root, ending, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no file ends in {ending}");
    found
}

fn walk(root: &Path, folder: &Path, ending: &str, found: &mut Vec<File>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with('.') || (folder == root && name == "target") {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(root, &path, ending, found);
        } else if name.ends_with(ending)
            && let (Ok(text), Ok(beneath)) = (fs::read_to_string(&path), path.strip_prefix(root))
        {
            found.push(File { path: beneath.to_string_lossy().into_owned(), text });
        }
    }
}

/// A file of the repository.
pub(crate) fn read(path: &str) -> String {
    let whole = tests::repository().join(path);
    fs::read_to_string(&whole).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns whether the repository has this file or folder.
pub(crate) fn exists(path: &str) -> bool {
    tests::repository().join(path).exists()
}

/// Returns whether a file holds nothing but tests, by its path.
pub(crate) fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "testing.rs"))
}

/// The number of lines before the tests with which a file ends.
pub(crate) fn program_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opens = |line: &&str| line.contains("mod ") && line.ends_with('{');
    let tests = lines
        .windows(2)
        .position(|pair| pair.first() == Some(&"#[cfg(test)]") && pair.last().is_some_and(opens));
    tests.unwrap_or(lines.len())
}

/// Rust text told apart. Each part has the line breaks of the whole, so that line numbers hold.
#[derive(Default)]
pub(crate) struct Parts {
    /// Program text, with literals left out.
    pub(crate) code: String,
    /// Comments.
    pub(crate) comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// Tells Rust text apart. Enough of the grammar for text that compiles.
pub(crate) fn parts(text: &str) -> Parts {
    let mut parts = Parts::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (length, part) = token(rest);
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let breaks: String = token.chars().filter(|c| *c == '\n').collect();
        parts.code.push_str(if part == Part::Code { token } else { &breaks });
        parts.comments.push_str(if part == Part::Comment { token } else { &breaks });
        rest = after;
    }
    parts
}

/// Bytes of the token that `text` begins with, and what it is. Never none.
fn token(text: &str) -> (usize, Part) {
    let first = text.chars().next().unwrap_or(' ');
    if text.starts_with("//") {
        return (text.find('\n').unwrap_or(text.len()), Part::Comment);
    }
    if text.starts_with("/*") {
        return (block(text), Part::Comment);
    }
    if first == '"' {
        return (quoted(text), Part::Literal);
    }
    if first == '\'' {
        return character(text);
    }
    let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (prefix, after) = text.split_at(word);
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    if matches!(prefix, "r" | "br" | "cr") && after.get(hashes..).is_some_and(|rest| rest.starts_with('"')) {
        let end = format!("\"{}", "#".repeat(hashes));
        let inner = after.get(hashes + 1..).unwrap_or_default();
        let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
        return (word + hashes + 1 + length, Part::Literal);
    }
    (word.max(first.len_utf8()), Part::Code)
}

/// Bytes of a block comment, those inside it included.
fn block(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, pair) in text.as_bytes().windows(2).enumerate() {
        match pair {
            b"/*" => depth += 1,
            b"*/" if depth == 1 => return at + 2,
            b"*/" => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of a string literal, both quotes included.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    text.len()
}

/// A character literal, or the tick of a lifetime.
fn character(text: &str) -> (usize, Part) {
    let mut inner = text.chars().skip(1);
    let (first, second) = (inner.next(), inner.next());
    if first == Some('\\') {
        let end = text.get(3..).and_then(|rest| rest.find('\'')).map_or(text.len(), |at| at + 4);
        return (end, Part::Literal);
    }
    match (first, second) {
        (Some(one), Some('\'')) => (2 + one.len_utf8(), Part::Literal),
        _ => (1, Part::Code),
    }
}

/// Returns whether `text` has `word` as a whole word.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|it| it == word)
}

#[test]
fn code_comments_and_literals_are_told_apart() {
    let text = "let a = \"// x\"; // one /* two\nlet b = '\"'; /* three /* four */ \"five */ let c: &'a str = r#\"six\"#;\n";
    let parts = parts(text);
    assert_eq!(parts.code.lines().count(), 2);
    for (word, in_code, in_comment) in [
        ("a", true, false),
        ("x", false, false),
        ("two", false, true),
        ("b", true, false),
        ("four", false, true),
        ("five", false, true),
        ("c", true, false),
        ("str", true, false),
        ("six", false, false),
    ] {
        let found = (has_word(&parts.code, word), has_word(&parts.comments, word));
        assert_eq!(found, (in_code, in_comment), "{word}");
    }
    assert!(!has_word("unsafe_code", "unsafe") && has_word("an unsafe block", "unsafe"));
}
