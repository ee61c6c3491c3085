//! Laws of the documents: what they name exists, so that nobody is sent to a file, a test or a command that is gone.

use crate::{source, specification};

/// The documents: those of the root and everything below `docs/`, but the table of the seeds, which has laws of its own.
fn documents() -> Vec<source::File> {
    let all = source::files(".md").into_iter();
    all.filter(|file| !file.path.contains('/') || file.path.starts_with("docs/"))
        .filter(|file| !file.path.starts_with("docs/project/"))
        .collect()
}

/// Endings of names that are files of the tree.
const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".8", ".5", ".service"];

/// Folders of the root, which the path of a file of the tree begins with.
const TOP: [&str; 9] = [
    "ipc-proto/", "supervisor/", "actors/", "container/", "agentctl/", "deploy/", "tests/", "docs/", "fuzz/",
];

/// The texts between backticks, each with its line.
fn quoted(text: &str) -> Vec<(usize, &str)> {
    let (mut line, mut found) = (1, Vec::new());
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            found.push((line, part));
        }
        line += part.matches('\n').count();
    }
    found
}

#[test]
fn every_file_and_test_that_a_document_names_exists() {
    let mut faults = Vec::new();
    for source::File { path, text } in documents() {
        for (line, name) in quoted(&text) {
            if specification::is_reference(name) {
                faults
                    .extend(specification::check(name).err().map(|fault| format!("{path}:{line}: {fault}")));
            } else if is_path(name) && !source::exists(name) {
                faults.push(format!("{path}:{line} names {name}, which does not exist"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_link_of_a_document_leads_to_a_file() {
    let mut faults = Vec::new();
    for source::File { path, text } in documents() {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let is_file = !link.contains("://") && !target.is_empty();
            if is_file && !source::exists(&format!("./{folder}/{target}")) {
                faults.push(format!("{path} links to {link}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Bytes of all documents together, but those of docs/project and the reference.
const BYTES: usize = 256 << 10;

#[test]
fn documents_stay_short_together() {
    let all = source::files(".md").into_iter();
    let counted =
        all.filter(|file| !["docs/project/", "docs/reference/"].iter().any(|it| file.path.starts_with(it)));
    let bytes: usize = counted.map(|file| file.text.len()).sum();
    assert!(bytes <= BYTES, "the documents have {bytes} bytes");
}

#[test]
fn the_list_of_decisions_is_made_of_their_titles() {
    let list = source::read("docs/reference/decisions.md");
    let mut titles = Vec::new();
    for source::File { path, text } in documents() {
        let Some(name) = path.strip_prefix("docs/decisions/").filter(|name| *name != "README.md") else {
            continue;
        };
        let title = text.lines().next().and_then(|line| line.split_once(". ")).unwrap_or_default().1;
        titles.push(format!("- [{title}](../decisions/{name})"));
    }
    titles.sort_by_key(|line| line.rsplit('/').next().map(str::to_owned));
    let listed: Vec<&str> = list.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(listed, titles);
}

/// A path from the root of the repository: a folder in it, no blank, and an ending that files here have.
fn is_path(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte));
    plain
        && name.contains('/')
        && TOP.iter().any(|folder| name.starts_with(folder))
        && !name.starts_with(['/', '.'])
        && ENDINGS.iter().any(|end| name.ends_with(end))
}

#[test]
fn every_actor_says_in_a_few_lines_what_it_is_and_what_owning_it_gives() {
    for row in manifest::TABLE.iter().filter(|row| manifest::is_actor(row.process)) {
        let path = format!("actors/{}/README.md", row.process.program());
        let text = source::read(&path);
        assert!(text.lines().count() <= 20, "{path} is long");
        let lower = text.to_lowercase();
        assert!(
            lower.contains("attacker") || lower.contains("owns it"),
            "{path} does not say what owning it gives"
        );
        // The test that holds it stands there, or in the threat model's row of the process.
        let model = source::read("docs/operations/threat-model.md");
        let head = format!("| `{}` |", row.process.name());
        let line = model.lines().find(|line| line.starts_with(&head)).unwrap_or_default();
        let held = [specification::references(&text), specification::references(line)].concat();
        assert!(!held.is_empty(), "{path} names no test that holds it, nor does the threat model");
        for reference in held {
            assert_eq!(specification::check(reference), Ok(()), "{path}");
        }
    }
}

#[test]
fn the_readme_says_the_two_commands_and_every_folder() {
    let text = source::read("README.md");
    for word in ["make demo", "make test"] {
        assert!(text.contains(word), "README.md does not name {word}");
    }
    for folder in
        ["ipc-proto/", "supervisor/", "actors/", "container/", "agentctl/", "deploy/", "tests/", "docs/"]
    {
        assert!(text.contains(&format!("`{folder}`")), "README.md leaves out {folder}");
    }
}
