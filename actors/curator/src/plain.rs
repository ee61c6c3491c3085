//! Makes an observation of a captured row without a model: a better title, and the files that it names. Pure, and in
//! time linear in the text.

use ipc_proto::Text;
use ipc_proto::memory::{FilePath, Observation, Row};

/// Endings of words that are taken for a file where no folder stands before them.
const ENDINGS: &[&str] = &[
    "c", "cc", "cpp", "cs", "css", "csv", "go", "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt",
    "lock", "lua", "md", "mjs", "php", "proto", "py", "rb", "rs", "scss", "sh", "sql", "svelte", "swift",
    "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml",
];
/// Tools that change the files they name, in lower case.
const CHANGING: &[&str] = &["write", "edit", "multiedit", "notebookedit", "patch", "apply_patch"];
/// Most files that are taken.
const FILES: usize = 16;
/// Characters of a line that becomes a title.
const TITLE: usize = 80;

/// The observation that can be made of a captured row without a model; none if it would add nothing to the row.
pub(crate) fn observation(row: &Row, seen: &Observation, raw: &str) -> Option<Observation> {
    let tool = row.entry.detail.source.tool.as_ref().map_or("tool", |tool| tool.as_str());
    let mut better = seen.clone();
    let found = files(raw);
    if better.files_read.is_empty() && better.files_modified.is_empty() {
        let changes = CHANGING.contains(&tool.to_ascii_lowercase().as_str());
        let files = found.iter().map(|file| FilePath::clip(file));
        let list = if changes { &mut better.files_modified } else { &mut better.files_read };
        *list = ipc_proto::List::clip(files);
    }
    let named: Vec<&str> =
        better.files_modified.iter().chain(&better.files_read).map(|file| file.as_str()).collect();
    let title = title(tool, &named, raw)?;
    better.title = Text::clip(&title);
    better.plain = false;
    (better.title != seen.title || better.files_read != seen.files_read).then_some(better)
}

fn title(tool: &str, files: &[&str], raw: &str) -> Option<String> {
    let shown = match files {
        [] => {
            let line = raw.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
            line.chars().take(TITLE).collect()
        }
        [one] => (*one).to_owned(),
        [one, two] => format!("{one}, {two}"),
        [one, two, rest @ ..] => format!("{one}, {two} and {} more", rest.len()),
    };
    Some(format!("{tool}: {shown}"))
}

/// Files that a text names, each once, in the order in which they come.
fn files(text: &str) -> Vec<&str> {
    let apart = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>()[]{},;|=*".contains(c);
    let mut found: Vec<&str> = Vec::new();
    for word in text.split(apart) {
        // A line of a compiler or of a search: FILE:LINE.
        let word = word.split(':').next().unwrap_or_default().trim_end_matches(['.', '!', '?']);
        if is_file(word) && !found.contains(&word) {
            found.push(word);
            if found.len() == FILES {
                break;
            }
        }
    }
    found
}

fn is_file(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "./_-@+~".contains(c);
    if !(3..=256).contains(&word.len()) || !word.chars().all(plain) || word.starts_with("//") {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    !stem.is_empty() && ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::label::Label;
    use ipc_proto::memory::{Area, Entry};
    use ipc_proto::{List, Name};

    fn row(tool: &str) -> (Row, Observation) {
        let mut entry = Entry::new(MemoryId::from_bytes([1; 16]), Text::default(), Label::bottom());
        entry.detail.source.tool = Some(Name::clip(tool));
        let title = Text::clip(&format!("{tool} execution"));
        (Row::new(entry, Area::User, 1), Observation { title, plain: true, ..Observation::default() })
    }

    #[test]
    fn files_are_found_in_paths_and_compiler_lines_and_not_in_urls() {
        let text = "error in src/main.rs:12:3, see \"docs/a b.md\" and `lib/x.ts`. https://example.com/page.html e.g. 1.5 \
                    Cargo.toml src/main.rs /etc/passwd v1.2.3";
        assert_eq!(files(text), ["src/main.rs", "b.md", "lib/x.ts", "Cargo.toml"]);
        assert_eq!(files(&"a/b.rs ".repeat(100_000)).len(), 1);
    }

    #[test]
    fn a_title_names_the_tool_and_what_it_was_about() {
        let cases = [
            ("Read", "see src/a.rs", "Read: src/a.rs"),
            ("Grep", "a.rs b.rs c.rs d.rs", "Grep: a.rs, b.rs and 2 more"),
            ("Bash", "\n---\n  3 tests passed\n", "Bash: 3 tests passed"),
        ];
        for (tool, raw, title) in cases {
            let (row, seen) = row(tool);
            let better = observation(&row, &seen, raw).unwrap();
            assert_eq!((better.title.as_str(), better.plain), (title, false));
        }
    }

    #[test]
    fn a_tool_that_writes_changed_its_files_and_files_that_are_known_stay() {
        let (edit, seen) = row("Edit");
        let better = observation(&edit, &seen, "wrote src/a.rs").unwrap();
        assert_eq!((better.files_read.len(), better.files_modified.len()), (0, 1));
        let known = Observation { files_read: List::clip([Text::clip("k.rs")]), ..seen };
        let better = observation(&edit, &known, "wrote src/a.rs").unwrap();
        assert_eq!((better.files_read, better.files_modified.len()), (known.files_read, 0));
    }

    #[test]
    fn where_nothing_is_to_be_gained_nothing_is_said() {
        let (row, seen) = row("Bash");
        for raw in ["", " \n--\n", "..."] {
            assert_eq!(observation(&row, &seen, raw), None, "{raw:?}");
        }
    }
}
