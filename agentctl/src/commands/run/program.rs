//! The program of a run, as its jail will find it. A jail sees the machine's `/usr` and the workspace, and nothing of the person's
//! home, where npm, nvm and pip put programs. A program that is only there is refused with what to do.

use crate::failure::Failure;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders that a jail looks for programs in.
const JAIL: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
/// Trees that a jail sees besides the workspace.
const SEEN: [&str; 4] = ["/usr", "/bin", "/sbin", "/lib"];
/// Programs that npm installs, and their packages.
const PACKAGES: [(&str, &str); 3] =
    [("claude", "@anthropic-ai/claude-code"), ("codex", "@openai/codex"), ("opencode", "opencode-ai")];

/// The places where programs of a person's own are.
pub(super) struct Places {
    /// The attached directory.
    pub(super) workspace: Option<PathBuf>,
    /// The person's home.
    pub(super) home: Option<PathBuf>,
    /// The folders of their `PATH`.
    pub(super) path: Vec<PathBuf>,
    /// The folders that a jail looks for programs in.
    pub(super) jail: Vec<PathBuf>,
}

impl Places {
    /// Those of this person and machine.
    pub(super) fn here(workspace: Option<&Path>) -> Self {
        let path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
        Self {
            workspace: workspace.map(|path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
            home: std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
            path: path.unwrap_or_default(),
            jail: JAIL.iter().map(PathBuf::from).collect(),
        }
    }

    /// The word by which the jail finds the program `word`.
    ///
    /// # Errors
    /// It is on this machine where no jail sees it; the error says what to do.
    pub(super) fn find(&self, word: &str) -> Result<String, Failure> {
        if word.contains('/') {
            return self.named(word);
        }
        let in_jail = self.jail.iter().map(|folder| folder.join(word)).find(|path| path.exists());
        if in_jail.as_deref().is_some_and(is_seen) {
            return Ok(word.to_owned());
        }
        let installed = format!("node_modules/.bin/{word}");
        if self.workspace.as_ref().is_some_and(|workspace| workspace.join(&installed).exists()) {
            return Ok(format!("./{installed}"));
        }
        let own = self.own_folders().into_iter().map(|folder| folder.join(word));
        match in_jail.or_else(|| own.into_iter().find(|path| is_program(path))) {
            Some(found) => Err(self.unseen(word, &found)),
            // It may be in the workspace of the session, or nowhere; the run says so.
            None => Ok(word.to_owned()),
        }
    }

    /// A program that is named by its path. One in the attached directory has another path in the jail.
    fn named(&self, word: &str) -> Result<String, Failure> {
        let path = Path::new(word);
        if path.is_relative() || !is_program(path) || is_seen(path) {
            return Ok(word.to_owned());
        }
        // The workspace is known by its real path, and `path` may lead there by a link.
        let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
        let real =
            folder.zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name));
        let inside = self.workspace.as_ref().and_then(|workspace| real.strip_prefix(workspace).ok());
        match inside.and_then(Path::to_str) {
            Some(inside) => Ok(format!("./{inside}")),
            None => Err(self.unseen(word, path)),
        }
    }

    /// The folders of the person's own programs, also those that a shell adds to `PATH` only when it is asked.
    fn own_folders(&self) -> Vec<PathBuf> {
        let mut folders = self.path.clone();
        let Some(home) = &self.home else { return folders };
        folders.push(home.join(".local/bin"));
        let versions = std::fs::read_dir(home.join(".nvm/versions/node")).into_iter().flatten().flatten();
        folders.extend(versions.map(|version| version.path().join("bin")));
        folders
    }

    fn unseen(&self, word: &str, found: &Path) -> Failure {
        let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
        let package = PACKAGES.iter().find(|(program, _)| *program == name).map(|(_, package)| *package);
        let directory = self.workspace.as_deref().map_or("DIR".into(), Path::to_string_lossy);
        let remedy = match package {
            Some(package) => format!(
                "install it into the workspace: npm install --prefix {directory} {package}, then: agentctl run --workspace \
                 {directory} -- {name}; or for everybody on this machine: sudo npm install -g {package}"
            ),
            None => format!(
                "copy it into the workspace and name it as ./{name} with --workspace {directory}, or install it under /usr/local"
            ),
        };
        Failure::ProgramUnseen { found: found.to_owned(), remedy }
    }
}

/// Returns true for a file that somebody may execute.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns true if a jail sees this file: it and the file that it links to are in a tree of the machine's own.
fn is_seen(path: &Path) -> bool {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let seen = |path: &Path| SEEN.iter().any(|tree| path.starts_with(tree));
    seen(path) && seen(&target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn places(folder: &Path) -> Places {
        Places {
            workspace: Some(fs::canonicalize(folder).unwrap().join("work")),
            home: Some(folder.join("home")),
            path: vec![folder.join("path")],
            jail: vec![PathBuf::from("/usr/bin")],
        }
    }

    // Holds P1-43.
    #[test]
    fn a_program_of_the_machine_or_the_workspace_is_found_by_the_jail() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        assert_eq!(places.find("env").unwrap(), "env");
        assert_eq!(places.find("nowhere-at-all").unwrap(), "nowhere-at-all", "the run says so");
        assert_eq!(places.find("./own").unwrap(), "./own");
        put(&folder.path().join("work/node_modules/.bin/codex"));
        assert_eq!(places.find("codex").unwrap(), "./node_modules/.bin/codex");
        put(&folder.path().join("work/tool"));
        let whole = folder.path().join("work/tool");
        assert_eq!(places.find(whole.to_str().unwrap()).unwrap(), "./tool");
        std::os::unix::fs::symlink(folder.path().join("work"), folder.path().join("link")).unwrap();
        let by_link = folder.path().join("link/tool");
        assert_eq!(places.find(by_link.to_str().unwrap()).unwrap(), "./tool");
    }

    // Holds P1-43.
    #[test]
    fn a_program_in_the_persons_home_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        for at in ["path/tool-a", "home/.local/bin/tool-b", "home/.nvm/versions/node/v22.1.0/bin/claude"] {
            let found = folder.path().join(at);
            put(&found);
            let name = found.file_name().unwrap().to_str().unwrap();
            let said = places.find(name).unwrap_err().to_string();
            assert!(said.contains(found.to_str().unwrap()) && said.contains("--workspace"), "{said}");
            assert_eq!(places.find(found.to_str().unwrap()).unwrap_err().to_string(), said, "by its path");
        }
        let said = places.find("claude").unwrap_err().to_string();
        assert!(
            said.contains("npm install --prefix") && said.contains("@anthropic-ai/claude-code"),
            "{said}"
        );
    }
}
