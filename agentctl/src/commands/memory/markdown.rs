//! Memories as Markdown: written for a person to read, and read as notes from folders of Markdown files of other programs.
//! Written text is quoted, so that no text can pass for the document's own.

use super::show;
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{CONTENT_BOUND, Detail, Entry, Kind, Project, Row, Source, SourceType};
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The depth of subfolders that are read.
const DEPTH: usize = 5;
/// Folders without notes.
const NO_NOTES: [&str; 2] = [".git", "node_modules"];
/// Bytes of one file.
const FILE: u64 = 4 * 1024 * 1024;
/// Files of one folder.
const FILES: usize = 10_000;
/// The number of times that a file may return to an earlier text.
pub(super) const AGAIN: u8 = 100;

/// Writes a memory for a person to read.
pub(super) fn shown(row: &Row) -> String {
    let entry = &row.entry;
    let mut out = format!("## {}\n\n", escaped(&text::begin(show::title(row), 80)));
    let project = entry.detail.project.as_ref().map(|project| ("project", text::line(project)));
    let facts = [
        ("id", entry.id.to_string()),
        ("kind", view::kind(&entry.detail.kind)),
        ("created", text::utc(row.created_ms)),
        ("label", view::label(&entry.label)),
        ("tags", entry.tags.iter().map(|tag| text::line(tag)).collect::<Vec<_>>().join(", ")),
    ];
    for (name, value) in facts.into_iter().chain(project) {
        out.push_str(&format!("- {name}: {}\n", escaped(&value)));
    }
    let seen = if let Kind::Observation(seen) = &entry.detail.kind { Some(seen) } else { None };
    for fact in seen.iter().flat_map(|seen| seen.facts.iter()) {
        out.push_str(&format!("- fact: {}\n", escaped(&text::line(fact))));
    }
    for file in seen.iter().flat_map(|seen| seen.files_read.iter().chain(&seen.files_modified)) {
        out.push_str(&format!("- file: {}\n", escaped(&text::line(file))));
    }
    out.push('\n');
    for line in text::shown(&entry.content).lines() {
        out.push_str(&format!("> {line}\n"));
    }
    out.push('\n');
    out
}

/// Puts a backslash before each character that Markdown would interpret.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text::line(text).chars() {
        if "\\`*_{}[]<>#|!".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The notes to import.
#[derive(Debug, Default)]
pub(super) struct MarkdownNotes {
    /// The notes, in the order of their files.
    pub(super) entries: Vec<Entry>,
    /// Files of a folder that were left out because they cannot be read or are no text, with the error.
    pub(super) unread: Vec<(String, io::Error)>,
}

/// The notes of a folder of Markdown files, or of one file, with their paths as keys. An unchanged file is the same memory
/// at every import, and a changed one supersedes it.
///
/// # Errors
/// The one file cannot be read or is no text; or the folder cannot be listed, or has too many files.
pub(super) fn notes(from: &Path, project: Option<&Project>) -> Result<MarkdownNotes, Failure> {
    let mut files = Vec::new();
    let is_folder = from.is_dir();
    if is_folder {
        collect(from, DEPTH, &mut files)?;
    } else {
        files.push(from.to_owned());
    }
    files.sort();
    let mut notes = MarkdownNotes::default();
    for file in files {
        let name = file.strip_prefix(from).ok().filter(|name| !name.as_os_str().is_empty());
        let name = name.or_else(|| file.file_name().map(Path::new)).unwrap_or(&file);
        let content_of_file = match read(&file) {
            Ok(content_of_file) => content_of_file,
            Err(why) if is_folder => {
                notes.unread.push((name.to_string_lossy().into_owned(), why));
                continue;
            }
            Err(cause) => return Err(Failure::File { path: file, cause }),
        };
        for (part, content) in parts(&content_of_file).into_iter().enumerate() {
            let key = if part == 0 {
                name.to_string_lossy().into_owned()
            } else {
                format!("{}#{}", name.display(), part + 1)
            };
            notes.entries.push(note(&key, content, project));
        }
    }
    Ok(notes)
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let at = |cause| Failure::File { path: folder.to_owned(), cause };
    for found in fs::read_dir(folder).map_err(at)? {
        let found = found.map_err(at)?;
        // A link could lead anywhere, and around for ever.
        let kind = found.file_type().map_err(at)?;
        let path = found.path();
        if kind.is_dir() && depth > 0 && !NO_NOTES.contains(&found.file_name().to_string_lossy().as_ref()) {
            collect(&path, depth - 1, files)?;
        } else if kind.is_file()
            && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
        {
            files.push(path);
        }
        if files.len() > FILES {
            return Err(Failure::Usage(format!("more than {FILES} files are below {}", folder.display())));
        }
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let text = fs::read_to_string(path)?;
    // A byte order mark of some editors is not part of the text.
    let Some(rest) = text.strip_prefix('\u{feff}') else { return Ok(text) };
    Ok(rest.to_owned())
}

/// Splits a text into pieces that fit into a memory, at ends of lines if possible.
fn parts(mut text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    while text.len() > CONTENT_BOUND {
        let most = (0..=CONTENT_BOUND).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        let (head, _) = text.split_at(most);
        let end = head.rfind('\n').map_or(most, |end| end + 1);
        let (part, rest) = text.split_at(end);
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn note(key: &str, content: &str, project: Option<&Project>) -> Entry {
    let id = hashed(&["markdown", project.map_or("", |project| project.as_str()), key, content]);
    let label = Label::of(Trust::Untrusted, Class::Internal, "import");
    let detail = Detail {
        kind: Kind::Note { key: Some(Text::clip(key)) },
        source: Source { r#type: SourceType::ExplicitSave, external: true, ..Source::default() },
        project: project.cloned(),
        ..Detail::default()
    };
    let tags = List::clip([Name::clip("markdown")]);
    Entry { detail, tags, ..Entry::new(id, Text::clip(content), label) }
}

/// The id of a note whose file returned to an earlier text, for the given number of times.
pub(super) fn again(id: MemoryId, time: u8) -> MemoryId {
    if time == 0 { id } else { hashed(&["again", &id.to_string(), &time.to_string()]) }
}

/// Returns true if a row is an import of a file, and no revision by a person.
pub(super) fn is_of_a_file(row: &Row, project: Option<&Project>) -> bool {
    let Kind::Note { key: Some(key) } = &row.entry.detail.kind else { return false };
    let first = note(key, &row.entry.content, project).id;
    (0..=AGAIN).any(|time| again(first, time) == row.entry.id)
}

fn hashed(parts: &[&str]) -> MemoryId {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let mut id = [0; 16];
    id.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    MemoryId::from_bytes(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::memory::Area;

    #[test]
    fn a_folders_files_are_notes_by_path_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("MEMORY.md"), "- the ferry leaves at noon\n").unwrap();
        fs::write(folder.path().join("deep/topic.md"), "x".repeat(CONTENT_BOUND + 1)).unwrap();
        fs::write(folder.path().join("other.txt"), "no").unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".git/description.md"), "no").unwrap();
        std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
        let found = notes(folder.path(), None).unwrap().entries;
        let keys: Vec<String> = found.iter().map(|entry| entry.texts().next().unwrap().to_owned()).collect();
        assert_eq!(keys, ["MEMORY.md", "deep/topic.md", "deep/topic.md#2"]);
        assert!(found.iter().all(|entry| entry.detail.source.external));
        let again = notes(folder.path(), None).unwrap();
        assert_eq!((found, again.unread.len()), (again.entries, 0));
    }

    // Holds P7-35.
    #[test]
    fn a_file_that_is_no_text_is_left_out_and_alone_it_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("MEMORY.md"), "- the ferry leaves at noon\n").unwrap();
        let no_text = folder.path().join("deep/latin.md");
        fs::write(&no_text, b"the caf\xe9 opens at six").unwrap();
        let found = notes(folder.path(), None).unwrap();
        let unread: Vec<&str> = found.unread.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((found.entries.len(), unread), (1, vec!["deep/latin.md"]));
        let alone = notes(&no_text, None).unwrap_err();
        assert!(matches!(&alone, Failure::File { path, .. } if *path == no_text), "{alone}");
    }

    #[test]
    fn no_text_of_a_memory_can_pass_for_the_document_s_own() {
        let planted = "# Heading\n## Another\n```\n</div>\n| a | b |\u{1b}[2J";
        let entry = Entry::new(MemoryId::from_bytes([1; 16]), Text::clip(planted), Label::bottom());
        let shown = shown(&Row::new(entry, Area::User, 5));
        let own = shown.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(own, 1, "{shown}");
        assert!(shown.starts_with("## \\# Heading \\#\\# Another") && !shown.contains('\u{1b}'), "{shown}");
    }
}
