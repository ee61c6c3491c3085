//! Goes through a folder in order of name, without following symbolic links and without a path that could be swapped
//! under it: every folder is opened beneath the first one's descriptor. Leaves out `.git` and what a `.gitignore`
//! names, since those bury what is looked for. Must never open what is not a folder or a small regular `.gitignore`
//! (a FIFO of that name would hold the call).

use super::beneath::{Links, beneath};
use super::context::Context;
use super::fault::ToolFault;
use super::path::Place;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{SFlag, fstatat};
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Entries looked at in one walk.
const MAX_VISITED: usize = 200_000;
/// Folders below the first.
const MAX_DEPTH: usize = 64;
/// Bytes of a `.gitignore` that are heeded.
const MAX_IGNORE: u64 = 64 * 1024;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// Something found, by its path from the first folder.
pub(super) struct Found {
    pub(super) rel: PathBuf,
    pub(super) kind: Kind,
}

/// A walk under way.
pub(super) struct Walk<'a> {
    context: &'a Context,
    base: OwnedFd,
    /// The first folder's path in its root, where rules of folders above it are anchored.
    origin: PathBuf,
    above: Vec<Gitignore>,
    stack: Vec<Level>,
    visited: usize,
    most: usize,
    /// Folders that could not be read.
    pub(super) unread: usize,
    /// Why the walk ended before it was through.
    pub(super) cut: Option<String>,
}

struct Level {
    rel: PathBuf,
    entries: std::vec::IntoIter<(OsString, Kind)>,
    rules: Option<Gitignore>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(context: &'a Context, place: &Place<'_>) -> Result<Self, ToolFault> {
        let base = place.open(OFlag::O_RDONLY | OFlag::O_DIRECTORY, "list it")?;
        let plain = !place.rel.components().any(|part| part == Component::ParentDir);
        let origin = if plain && place.rel != Path::new(".") { place.rel.clone() } else { PathBuf::new() };
        let folders = origin.ancestors().skip(1);
        let above = folders.filter_map(|folder| rules(&place.root.dir, folder, folder)).collect();
        let mut walk = Self {
            context,
            base,
            origin,
            above,
            stack: Vec::new(),
            visited: 0,
            most: MAX_VISITED,
            unread: 0,
            cut: None,
        };
        let first = walk.enter(PathBuf::new()).map_err(|errno| place.fault("list it", errno))?;
        walk.stack.push(first);
        Ok(walk)
    }

    /// Opens a file that was found, if it is still a regular one.
    pub(super) fn open(&self, found: &Found) -> Option<File> {
        open_plain(&self.base, &found.rel)
    }

    fn enter(&mut self, rel: PathBuf) -> Result<Level, Errno> {
        let path = if rel.as_os_str().is_empty() { Path::new(".") } else { &rel };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let mut dir = Dir::from_fd(beneath(&self.base, path, flags, Links::Refused)?)?;
        let mut entries = Vec::new();
        let room = self.most.saturating_sub(self.visited);
        // Three names are left out below, and one over the bound tells that there were more.
        let names: Vec<_> = dir.iter().filter_map(Result::ok).take(room.saturating_add(4)).collect();
        for entry in names {
            let name = entry.file_name();
            if name != c"." && name != c".." && name != c".git" {
                let kind = entry.file_type().map_or_else(|| kind_of(&dir, name), Kind::from);
                entries.push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
            }
        }
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        let ruled = entries.iter().any(|(name, kind)| name == ".gitignore" && *kind == Kind::File);
        let rules = if ruled { rules(&self.base, &rel, &self.origin.join(&rel)) } else { None };
        Ok(Level { rel, entries: entries.into_iter(), rules })
    }

    /// Returns whether a rule leaves this out; the innermost folder with a rule for it decides.
    fn ignored(&self, rel: &Path, kind: Kind) -> bool {
        let path = anchored(&self.origin.join(rel));
        let inner = self.stack.iter().rev().filter_map(|level| level.rules.as_ref());
        for rules in inner.chain(&self.above) {
            match rules.matched(&path, kind == Kind::Folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    /// Returns whether one more entry may be looked at.
    fn may_go_on(&mut self) -> bool {
        if let Err(fault) = self.context.go_on() {
            self.cut = Some(fault.to_string());
        } else if self.visited >= self.most {
            self.cut = Some(format!("{} entries were looked at; look in a smaller folder", self.most));
        }
        self.cut.is_none()
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let Some((name, kind)) = self.stack.last_mut()?.entries.next() else {
                self.stack.pop();
                continue;
            };
            if !self.may_go_on() {
                return None;
            }
            self.visited += 1;
            let rel = self.stack.last().map(|level| level.rel.join(name))?;
            if self.ignored(&rel, kind) {
                continue;
            }
            if kind == Kind::Folder {
                match self.enter(rel.clone()) {
                    Ok(level) if self.stack.len() < MAX_DEPTH => self.stack.push(level),
                    _ => self.unread += 1,
                }
            }
            return Some(Found { rel, kind });
        }
    }
}

impl From<Type> for Kind {
    fn from(kind: Type) -> Self {
        match kind {
            Type::File => Self::File,
            Type::Directory => Self::Folder,
            Type::Symlink => Self::Link,
            Type::Fifo | Type::CharacterDevice | Type::BlockDevice | Type::Socket => Self::Other,
        }
    }
}

/// Some filesystems do not say in the listing.
fn kind_of(dir: &Dir, name: &CStr) -> Kind {
    let Ok(about) = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW) else { return Kind::Other };
    match SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => Kind::File,
        SFlag::S_IFDIR => Kind::Folder,
        SFlag::S_IFLNK => Kind::Link,
        _ => Kind::Other,
    }
}

/// Paths as the rules see them: `ignore` wants a root that no relative path can be mistaken for.
fn anchored(rel: &Path) -> PathBuf {
    Path::new("/root").join(rel)
}

/// The rules of one folder, if it has a `.gitignore` that can be read; lines that are not valid are skipped.
fn rules(base: &OwnedFd, rel: &Path, folder: &Path) -> Option<Gitignore> {
    let mut text = String::new();
    let file = open_plain(base, &rel.join(".gitignore"))?;
    file.take(MAX_IGNORE).read_to_string(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(anchored(folder));
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

fn open_plain(base: &OwnedFd, rel: &Path) -> Option<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::from(beneath(base, rel, flags, Links::Refused).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    // Holds B-43.
    #[test]
    fn a_walk_ends_at_its_bound_and_says_so() {
        let dir = tempfile::TempDir::new().unwrap();
        for name in 0..9 {
            std::fs::create_dir(dir.path().join(name.to_string())).unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        let context = Context::open(dir.path(), &[], dir.path(), deadline).unwrap();
        for (most, seen) in [(4, 4), (9, 9), (10, 9)] {
            let place = context.locate(".").unwrap();
            let mut walk = Walk::new(&context, &place).unwrap();
            walk.most = most;
            assert_eq!(walk.by_ref().count(), seen);
            assert_eq!(
                walk.cut.is_some_and(|cut| cut.contains("entries were looked at")),
                most < 9,
                "{most}"
            );
        }
    }
}
