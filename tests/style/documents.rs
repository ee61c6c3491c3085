//! Laws of the documents: what they name exists, so that nobody is sent to a file, a test or a command that is gone.

use crate::{source, specification};

/// The documents that name files of the tree in backticks.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "SPECIFICATION.md",
    "docs/decisions.md",
    "docs/guarantees.md",
    "docs/jail.md",
    "docs/probes.md",
    "docs/running.md",
    "docs/systemd.md",
    "docs/threat-model.md",
];

/// Endings of names that are files of the tree.
const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".8", ".5", ".service"];

#[test]
fn every_file_and_test_that_a_document_names_exists() {
    for document in DOCUMENTS {
        let text = source::read(document);
        for reference in specification::references(&text) {
            assert_eq!(specification::check(reference), Ok(()), "{document}");
        }
        for name in text.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            assert!(source::exists(name), "{document} names {name}, which does not exist");
        }
    }
}

/// A path from the root of the repository: a folder in it, no blank, and an ending that files here have.
fn is_path(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte));
    plain
        && name.contains('/')
        && !name.starts_with(['/', '.'])
        && ENDINGS.iter().any(|end| name.ends_with(end))
}

#[test]
fn every_actor_says_in_a_few_lines_what_it_is_and_what_owning_it_gives() {
    for row in manifest::TABLE.iter().filter(|row| manifest::is_actor(row.process)) {
        let path = format!("actors/{}/README.md", row.process.name());
        let text = source::read(&path);
        assert!(text.lines().count() <= 20, "{path} is long");
        let lower = text.to_lowercase();
        assert!(
            lower.contains("attacker") || lower.contains("owns it"),
            "{path} does not say what owning it gives"
        );
        let model = source::read("docs/threat-model.md");
        let head = format!("| `{}` |", row.process.name());
        let line = model.lines().find(|line| line.starts_with(&head));
        let line = line.unwrap_or_else(|| panic!("docs/threat-model.md leaves out {path}"));
        assert!(!specification::references(line).is_empty(), "docs/threat-model.md: no test holds {head}");
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
