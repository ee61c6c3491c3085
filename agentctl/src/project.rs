//! The project that a directory belongs to, by which memories are sorted: the root of the repository, the same for all its
//! worktrees, or the directory itself. Reads two small files, runs nothing and writes nothing.

use ipc_proto::memory::Project;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a file that says where a repository is.
const POINTER: u64 = 4096;

/// The project of a directory; the path as it was given where there is no such directory.
pub(crate) fn of(directory: &Path) -> Project {
    let canonical = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let root = canonical.ancestors().find_map(root).unwrap_or(canonical);
    Project::clip(&root.to_string_lossy())
}

/// The project that a person names: a directory that is there, or any other name but none.
pub(crate) fn named(name: &str) -> Result<Project, String> {
    if name.trim().is_empty() {
        return Err("a directory or a name; leave --project out for memories of no project".to_owned());
    }
    let path = Path::new(name);
    if path.is_dir() {
        return Ok(of(path));
    }
    Project::new(name).map_err(|why| why.to_string())
}

/// The root of the repository whose `.git` stands in this folder; of a worktree that of the first one.
fn root(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let kind = fs::metadata(&git).ok()?;
    if kind.is_dir() {
        return Some(folder.to_owned());
    }
    let own = folder.join(pointed(&git)?.strip_prefix("gitdir:")?.trim());
    // A submodule's folder of git names no common one: it is a project of its own.
    let Some(common) = pointed(&own.join("commondir")) else { return Some(folder.to_owned()) };
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    if common.file_name().is_some_and(|name| name == ".git") {
        return common.parent().map(Path::to_owned);
    }
    Some(common)
}

/// The contents of a small file.
fn pointed(file: &Path) -> Option<String> {
    // A pipe or a device, which the folder's maker may have put here, could be read for ever.
    fs::metadata(file).ok().filter(|file| file.is_file() && file.len() <= POINTER)?;
    let mut contents = String::new();
    fs::File::open(file).ok()?.take(POINTER).read_to_string(&mut contents).ok()?;
    Some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_a_repository_and_its_worktrees_have_one_project_each() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| fs::canonicalize(folder.path()).unwrap().join(path);
        for path in [
            "main/.git/worktrees/side",
            "main/src/deep",
            "side/src",
            "plain/below",
            "main/part",
            "main/.git/modules/part",
            "odd/git",
        ] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("side/.git"), format!("gitdir: {}\n", at("main/.git/worktrees/side").display()))
            .unwrap();
        fs::write(at("main/.git/worktrees/side/commondir"), "../..\n").unwrap();
        fs::write(at("main/part/.git"), "gitdir: ../.git/modules/part\n").unwrap();
        fs::write(at("odd/.git"), "gitdir: git\n").unwrap();
        std::os::unix::fs::symlink("/dev/null", at("odd/git/commondir")).unwrap();
        for (directory, project) in [
            ("main", "main"),
            ("main/src/deep", "main"),
            ("side/src", "main"),
            ("main/part", "main/part"),
            ("plain/below", "plain/below"),
            ("odd", "odd"),
            ("gone", "gone"),
        ] {
            assert_eq!(of(&at(directory)).as_str(), at(project).to_str().unwrap(), "{directory}");
        }
        assert_eq!(named("a name").unwrap().as_str(), "a name");
        assert!(named(&"x".repeat(513)).is_err());
    }

    #[test]
    fn a_project_has_a_name() {
        for empty in ["", " "] {
            assert!(named(empty).is_err(), "{empty:?}");
        }
        assert_eq!(named("the boat").unwrap().as_str(), "the boat");
    }
}
