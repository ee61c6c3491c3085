//! The manual pages: they read as manual pages, and leave no option out.

use crate::source;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Sections that every page of programs has.
const SECTIONS: [&str; 4] = ["NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"];

fn pages() -> Vec<PathBuf> {
    let folder = tests::repository().join("deploy/man");
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    pages.sort();
    assert!(pages.len() >= 3, "{pages:?}");
    pages
}

/// The text of a page as it is read: escapes of roff undone.
fn plain(text: &str) -> String {
    text.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace("\\fP", "")
}

/// The text of `agentd --help`, from its one place in the source: a program that is out of date must not decide.
fn help() -> String {
    let text = source::read("supervisor/src/args.rs");
    let after = text.split("HELP: &str = \"\\").nth(1).unwrap_or_default();
    after.split("\n\";").next().unwrap_or_default().to_owned()
}

#[test]
fn agentds_page_names_every_option_command_path_and_status_of_its_help() {
    let (help, page) = (help(), plain(&source::read("deploy/man/agentd.8")));
    let blank = |c: char| c.is_whitespace() || "[]|,;()".contains(c);
    let words: Vec<&str> =
        help.split(blank).filter(|word| word.starts_with("--") || word.starts_with('/')).collect();
    assert!(words.len() > 5, "{words:?}");
    for word in words.into_iter().chain(["run", "check", "64", "69", "77", "78"]) {
        assert!(help.contains(word) && page.contains(word), "agentd.8 leaves out {word}");
    }
}

#[test]
fn every_page_has_its_title_and_sections_in_order() {
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let name = path.display();
        let title = text.lines().find(|line| !line.starts_with(".\\\"")).unwrap_or_default();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_uppercase()).unwrap_or_default();
        assert!(
            title.starts_with(&format!(".TH {stem} ")) || title.starts_with(&format!(".TH \"{stem}\" ")),
            "{name}: {title}"
        );
        let wanted = SECTIONS
            .iter()
            .filter(|section| **section != "SYNOPSIS" || path.extension().is_some_and(|e| e == "8"));
        let places: Vec<Option<usize>> =
            wanted.map(|section| text.find(&format!("\n.SH {section}"))).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{name}: sections are missing or out of order"
        );
        for (at, line) in text.lines().enumerate() {
            assert!(!line.ends_with(' '), "{name}:{}: a blank at its end", at + 1);
        }
    }
}

#[test]
fn no_reader_of_manual_pages_finds_a_fault() {
    let found = |program: &str| {
        ["/usr/bin", "/usr/local/bin", "/bin"]
            .iter()
            .map(|it| Path::new(it).join(program))
            .find(|it| it.exists())
    };
    let (mandoc, groff) = (found("mandoc"), found("groff"));
    for page in pages() {
        let complaints = match (&mandoc, &groff) {
            (Some(mandoc), _) => said(mandoc, &["-T", "lint", "-W", "error"], &page),
            (None, Some(groff)) => said(groff, &["-man", "-ww", "-z", "-Tutf8"], &page),
            // The test of sections is what remains.
            (None, None) => String::new(),
        };
        assert!(complaints.is_empty(), "{complaints}");
    }
}

#[expect(clippy::disallowed_methods, reason = "mandoc or groff reads a page of the repository")]
fn said(program: &Path, words: &[&str], page: &Path) -> String {
    let output = Command::new(program).args(words).arg(page).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned()
}
