//! Opening a path beneath a directory that is open already, one name at a time: every step starts from a descriptor,
//! links are read and not followed, and `..` goes back to a descriptor that was passed on the way down. So neither `..`
//! nor a link, nor one put there meanwhile, leads out.
//!
//! Not `openat2`, which does this in the kernel: a filter cannot see the mode that it is given, so a jail that has it
//! could make files that lend their owner's rights.

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstat};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

/// Links in one path, as many as the kernel follows (`MAXSYMLINKS`).
const MOST: usize = 40;

/// The rule for a symbolic link on the way, or at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// It is followed, as long as it stays beneath; the last one unless `O_NOFOLLOW` is given.
    Followed,
    /// It is refused.
    Refused,
}

/// The state of a resolution.
struct Resolution<'a> {
    root: BorrowedFd<'a>,
    /// The directories passed below the root.
    passed: Vec<OwnedFd>,
    /// Names still to go, the next one last.
    names: Vec<OsString>,
    links: usize,
}

/// Opens a path beneath a directory. `flags` must not create: there is no mode to create with.
///
/// # Errors
/// The kernel's errno; EXDEV where the path leads out, ELOOP for a link that is refused and for too many.
pub(super) fn beneath(dir: &OwnedFd, rel: &Path, flags: OFlag, links: Links) -> Result<OwnedFd, Errno> {
    let mut resolution = Resolution { root: dir.as_fd(), passed: Vec::new(), names: Vec::new(), links: 0 };
    resolution.add(rel)?;
    while let Some(name) = resolution.names.pop() {
        if name == ".." {
            resolution.passed.pop().ok_or(Errno::EXDEV)?;
        } else if resolution.names.is_empty() {
            if let Some(found) = resolution.last(&name, flags, links)? {
                return Ok(found);
            }
        } else {
            resolution.enter(&name, links)?;
        }
    }
    open(resolution.here(), OsStr::new("."), flags)
}

impl Resolution<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.passed.last().map_or(self.root, AsFd::as_fd)
    }

    fn add(&mut self, path: &Path) -> Result<(), Errno> {
        if path.as_os_str().is_empty() {
            return Err(Errno::ENOENT);
        }
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.names.push(name.to_owned()),
                Component::ParentDir => self.names.push("..".into()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(Errno::EXDEV),
            }
        }
        Ok(())
    }

    /// Goes into a directory, or takes up the names that a link stands for.
    fn enter(&mut self, name: &OsStr, links: Links) -> Result<(), Errno> {
        let found = open(self.here(), name, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
        match kind(&found)? {
            SFlag::S_IFDIR => self.passed.push(found),
            SFlag::S_IFLNK => self.follow(&found, links)?,
            _ => return Err(Errno::ENOTDIR),
        }
        Ok(())
    }

    /// Opens the last name; none if it is a link, whose names are then still to go.
    fn last(&mut self, name: &OsStr, flags: OFlag, links: Links) -> Result<Option<OwnedFd>, Errno> {
        let stays = flags.contains(OFlag::O_NOFOLLOW);
        match open(self.here(), name, flags | OFlag::O_NOFOLLOW) {
            // A link itself can be opened by O_PATH alone.
            Ok(found) if stays || !flags.contains(OFlag::O_PATH) || kind(&found)? != SFlag::S_IFLNK => {
                Ok(Some(found))
            }
            Ok(link) => self.follow(&link, links).map(|()| None),
            Err(errno @ (Errno::ELOOP | Errno::ENOTDIR)) => {
                let link = open(self.here(), name, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
                if kind(&link)? != SFlag::S_IFLNK {
                    return Err(errno);
                }
                if stays {
                    return Err(Errno::ELOOP);
                }
                self.follow(&link, links).map(|()| None)
            }
            Err(errno) => Err(errno),
        }
    }

    fn follow(&mut self, link: &OwnedFd, links: Links) -> Result<(), Errno> {
        self.links += 1;
        if links == Links::Refused || self.links > MOST {
            return Err(Errno::ELOOP);
        }
        let target = readlinkat(link, OsStr::new(""))?;
        self.add(Path::new(&target))
    }
}

fn open(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlag) -> Result<OwnedFd, Errno> {
    loop {
        match openat(dir, name, flags | OFlag::O_CLOEXEC, Mode::empty()) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

fn kind(found: &OwnedFd) -> Result<SFlag, Errno> {
    Ok(SFlag::from_bits_truncate(fstat(found)?.st_mode) & SFlag::S_IFMT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_opens_what_is_beneath_and_nothing_else() {
        let dir = tempfile::TempDir::new().unwrap();
        let at = |name: &str| dir.path().join("root").join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(dir.path().join("outside"), "no").unwrap();
        fs::write(at("a/b/file"), "yes").unwrap();
        for (link, target) in [
            ("near", "a/b/file"),
            ("a/up", "../a/b"),
            ("a/out", "../../outside"),
            ("whole", "/etc/passwd"),
            ("one", "other"),
            ("other", "one"),
            ("folder", "a/b"),
            ("nowhere", "a/none"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let root: OwnedFd = fs::File::open(dir.path().join("root")).unwrap().into();
        let opened = |path: &str, flags: OFlag, links: Links| {
            let found = beneath(&root, Path::new(path), OFlag::O_RDONLY | flags, links)?;
            let stat = fstat(&found).unwrap();
            Ok((stat.st_ino, stat.st_size))
        };
        let inode = |path: &str| {
            let about = fs::symlink_metadata(at(path)).unwrap();
            use std::os::unix::fs::MetadataExt;
            Ok((about.ino(), about.len().try_into().unwrap()))
        };
        let (none, keep, path) = (OFlag::empty(), OFlag::O_NOFOLLOW, OFlag::O_PATH);
        for (given, flags, links, wanted) in [
            ("a/b/file", none, Links::Refused, inode("a/b/file")),
            ("a/b/../b/./file", none, Links::Followed, inode("a/b/file")),
            (".", none, Links::Refused, inode("")),
            ("a/..", none, Links::Followed, inode("")),
            ("near", none, Links::Followed, inode("a/b/file")),
            ("near", path, Links::Followed, inode("a/b/file")),
            ("near", path | keep, Links::Followed, inode("near")),
            ("near", keep, Links::Followed, Err(Errno::ELOOP)),
            ("near", none, Links::Refused, Err(Errno::ELOOP)),
            ("a/up/file", none, Links::Followed, inode("a/b/file")),
            ("a/up/file", none, Links::Refused, Err(Errno::ELOOP)),
            ("folder", OFlag::O_DIRECTORY, Links::Followed, inode("a/b")),
            ("folder", OFlag::O_DIRECTORY, Links::Refused, Err(Errno::ELOOP)),
            ("folder/file", none, Links::Followed, inode("a/b/file")),
            ("..", none, Links::Followed, Err(Errno::EXDEV)),
            ("a/../../outside", none, Links::Followed, Err(Errno::EXDEV)),
            ("a/out", none, Links::Followed, Err(Errno::EXDEV)),
            ("whole", none, Links::Followed, Err(Errno::EXDEV)),
            ("/etc/passwd", none, Links::Followed, Err(Errno::EXDEV)),
            ("one", none, Links::Followed, Err(Errno::ELOOP)),
            ("nowhere", none, Links::Followed, Err(Errno::ENOENT)),
            ("a/b/file/x", none, Links::Followed, Err(Errno::ENOTDIR)),
            ("a/b/file", OFlag::O_DIRECTORY, Links::Followed, Err(Errno::ENOTDIR)),
            ("none", none, Links::Followed, Err(Errno::ENOENT)),
            ("", none, Links::Followed, Err(Errno::ENOENT)),
        ] {
            assert_eq!(opened(given, flags, links), wanted, "{given} {flags:?} {links:?}");
        }
    }
}
