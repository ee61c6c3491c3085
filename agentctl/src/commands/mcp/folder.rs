//! The section of memories in a folder's AGENTS.md and CLAUDE.md. Text of a person around it stays, byte for byte; a file
//! is replaced whole or not at all; nothing outside of the folder is touched, even through a link.

use memory_tools::{FolderAct, SECTION};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Files that clients read when they start.
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The depth of subfolders that are searched.
const DEPTH: usize = 5;
/// Folders that are not searched.
const EXCLUDED: [&str; 9] =
    ["node_modules", ".git", "dist", "coverage", ".open-mem", "build", "__pycache__", ".next", ".nuxt"];
/// Bytes of a file at most.
const BOUND: u64 = 1 << 20;

/// The change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Write(String),
    Remove,
}

/// Makes the changes, or lists them.
///
/// # Errors
/// A file or folder cannot be read or written.
pub(super) fn act(root: &Path, act: FolderAct) -> io::Result<Value> {
    let dry = matches!(act, FolderAct::DryRun(_));
    let (section, purge, files) = match act {
        FolderAct::DryRun(section) | FolderAct::Rebuild(section) => (section, false, own(root)),
        FolderAct::Clean => (String::new(), false, beneath(root)?),
        FolderAct::Purge => (String::new(), true, beneath(root)?),
    };
    let (mut seen, mut changed, mut skipped) = (BTreeSet::new(), Vec::new(), Vec::new());
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let (path, old) = match inside(root, &path) {
            Ok(found) => found,
            Err(why) => {
                skipped.push(json!({ "file": shown, "why": why.to_string() }));
                continue;
            }
        };
        // Two names may lead to one file.
        if !seen.insert(path.clone()) {
            continue;
        }
        match change(old.as_deref(), &section, purge) {
            Ok(None) => {}
            Ok(Some(change)) => {
                let what = match (&change, &old) {
                    (Change::Remove, _) => "removed",
                    (_, None) => "created",
                    (_, Some(_)) => "changed",
                };
                if !dry {
                    make(&path, &change)?;
                }
                changed.push(json!({ "file": shown, "change": what }));
            }
            Err(why) => skipped.push(json!({ "file": shown, "why": why })),
        }
    }
    Ok(json!({ "dryRun": dry, "files": changed, "skipped": skipped, "section": section }))
}

/// Files of the folder itself that the section stands in: the first always, others if they are there.
fn own(root: &Path) -> Vec<PathBuf> {
    let first = FILES.first().map(|name| root.join(name));
    let others = FILES.iter().skip(1).map(|name| root.join(name)).filter(|path| path.exists());
    first.into_iter().chain(others).collect()
}

/// Every such file in the folder and beneath it.
fn beneath(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![(root.to_owned(), 0)]);
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            if kind.is_dir() {
                let excluded = EXCLUDED.iter().any(|it| name == OsStr::new(it));
                if !excluded && depth < DEPTH {
                    open.push((entry.path(), depth + 1));
                }
            } else if FILES.iter().any(|it| name == OsStr::new(it)) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The real path of a file, and its text if it exists. A link that leads out of the folder is not followed.
fn inside(root: &Path, path: &Path) -> io::Result<(PathBuf, Option<String>)> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        // A dangling link still exists, and would be written through.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok((path.to_owned(), None));
        }
        Err(error) => return Err(error),
    };
    let folder = root.canonicalize()?;
    let metadata = real.metadata()?;
    if !real.starts_with(&folder) || !metadata.is_file() || metadata.len() > BOUND {
        return Err(io::Error::other("it is no file of at most 1 MiB in this folder"));
    }
    let mut text = String::new();
    fs::File::open(&real)?.take(BOUND).read_to_string(&mut text)?;
    Ok((real, Some(text)))
}

/// The change that gives a file this section, or removes an empty one; `None` if the file is already so.
fn change(old: Option<&str>, section: &str, purge: bool) -> Result<Option<Change>, String> {
    let text = old.unwrap_or_default();
    let (before, after) = match text.split_once(SECTION.0) {
        None => (text, None),
        Some((before, rest)) => {
            let (_, after) = rest
                .split_once(SECTION.1)
                .ok_or_else(|| format!("it has {} and no {} after it", SECTION.0, SECTION.1))?;
            (before, Some(after))
        }
    };
    let new = match (section.is_empty(), after) {
        (true, None) => text.to_owned(),
        (true, Some(after)) => format!("{}{}", before.strip_suffix('\n').unwrap_or(before), after),
        (false, Some(after)) => format!("{before}{section}{after}"),
        (false, None) if before.is_empty() => format!("{section}\n"),
        (false, None) => format!("{before}\n{section}\n"),
    };
    if purge && after.is_some() && new.trim().is_empty() {
        return Ok(Some(Change::Remove));
    }
    Ok((new != text).then_some(Change::Write(new)))
}

fn make(path: &Path, change: &Change) -> io::Result<()> {
    let text = match change {
        Change::Remove => return fs::remove_file(path),
        Change::Write(text) => text,
    };
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut file = tempfile::Builder::new().prefix(".cordon-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let mode = match path.metadata() {
        Ok(metadata) => metadata.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    file.as_file().set_permissions(mode)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> String {
        format!("{}\n{text}\n{}", SECTION.0, SECTION.1)
    }

    fn read(root: &Path, name: &str) -> String {
        fs::read_to_string(root.join(name)).unwrap()
    }

    // Holds P3-39.
    #[test]
    fn a_section_comes_changes_and_goes_and_what_a_person_wrote_stays() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let own = "# Mine\n\nkeep this\n";
        fs::write(root.join("CLAUDE.md"), own).unwrap();
        let report = act(root, FolderAct::DryRun(section("one"))).unwrap();
        assert_eq!(report["files"].as_array().unwrap().len(), 2, "{report}");
        assert!(!root.join("AGENTS.md").exists());
        for text in ["one", "two"] {
            let _ = act(root, FolderAct::Rebuild(section(text))).unwrap();
            assert_eq!(read(root, "CLAUDE.md"), format!("{own}\n{}\n", section(text)));
            assert_eq!(read(root, "AGENTS.md"), format!("{}\n", section(text)));
        }
        let again = act(root, FolderAct::Rebuild(section("two"))).unwrap();
        assert_eq!(again["files"], json!([]), "what is so already is not written");
        let _ = act(root, FolderAct::Purge).unwrap();
        assert_eq!(read(root, "CLAUDE.md").trim_end(), own.trim_end());
        assert!(!root.join("AGENTS.md").exists());
    }

    // Holds P3-39.
    #[test]
    fn a_link_out_of_the_folder_a_half_section_and_a_deep_file_are_left_alone() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path();
        let outside = other.path().join("AGENTS.md");
        fs::write(&outside, section("outside")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink(other.path().join("new.md"), root.join("CLAUDE.md")).unwrap();
        fs::create_dir_all(root.join("half")).unwrap();
        fs::write(root.join("half/AGENTS.md"), SECTION.0).unwrap();
        let deep = root.join("a/b/c/d/e/f");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(root.join("node_modules")).unwrap();
        for folder in [&deep, &root.join("node_modules"), &root.join("a/b")] {
            fs::write(folder.join("AGENTS.md"), section("x")).unwrap();
        }
        for request in [FolderAct::Clean, FolderAct::Purge, FolderAct::Rebuild(section("mine"))] {
            let _ = act(root, request).unwrap();
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), section("outside"));
        assert!(!other.path().join("new.md").exists());
        assert_eq!(read(root, "half/AGENTS.md"), SECTION.0);
        assert_eq!(fs::read_to_string(deep.join("AGENTS.md")).unwrap(), section("x"));
        assert_eq!(read(root, "node_modules/AGENTS.md"), section("x"));
        assert_eq!(read(root, "a/b/AGENTS.md"), "");
    }

    #[test]
    fn two_names_of_one_file_are_changed_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("AGENTS.md"), "mine\n").unwrap();
        std::os::unix::fs::symlink("AGENTS.md", dir.path().join("CLAUDE.md")).unwrap();
        let report = act(dir.path(), FolderAct::Rebuild(section("x"))).unwrap();
        assert_eq!(report["files"].as_array().unwrap().len(), 1, "{report}");
        assert!(dir.path().join("CLAUDE.md").is_symlink());
    }

    proptest::proptest! {
        #[test]
        fn removing_a_section_restores_any_file(text in "(?s).{0,80}") {
            proptest::prop_assume!(!text.contains(SECTION.0));
            let made = change(Some(&text), &section("x"), false).unwrap();
            let Some(Change::Write(with)) = made else { panic!("nothing was written") };
            let back = change(Some(&with), "", false).unwrap();
            let Some(Change::Write(back)) = back else { panic!("nothing was taken out") };
            proptest::prop_assert_eq!(back.trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
    }
}
