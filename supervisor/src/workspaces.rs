//! Directories that people attached as workspaces: kept open by their id until the host stops, given by
//! descriptor and never looked up by name.

use manifest::command::Answer;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstat, stat};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Directories that can be attached at once.
const MOST: usize = 256;
/// Directories above one that are looked at.
const DEEP: usize = 4096;

/// A directory, and the mount namespace that it was opened in where that is not agentd's own: as a service, agentd has
/// one in which people's folders do not show, and a directory can be mounted from its own alone.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) directory: OwnedFd,
    pub(crate) there: Option<OwnedFd>,
}

/// The attached directories.
#[derive(Debug, Default)]
pub(crate) struct Workspaces(HashMap<[u8; 16], Attached>);

impl Workspaces {
    /// Keeps `directory` under `id` if it is one and `uid` owns it. Root may attach anything but a directory of
    /// another user, whose files would become the agent's to change. Nobody may attach the host's own `state`, nor what is in it
    /// or above it: in mode user its files are the caller's, and a root's agent could move them.
    pub(crate) fn attach(
        &mut self,
        id: [u8; 16],
        directory: OwnedFd,
        there: Option<OwnedFd>,
        uid: u32,
        state: &Path,
    ) -> Answer {
        let Ok(about) = fstat(directory.as_fd()) else { return Answer::NotADirectory };
        if SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT != SFlag::S_IFDIR {
            return Answer::NotADirectory;
        }
        if about.st_uid != uid {
            return Answer::NotYours;
        }
        if is_hosts(&directory, state) {
            return Answer::Hosts;
        }
        if self.0.len() >= MOST && !self.0.contains_key(&id) {
            return Answer::Full;
        }
        self.0.insert(id, Attached { directory, there: there.filter(is_elsewhere) });
        Answer::Ok
    }

    /// The directory of this id.
    pub(crate) fn get(&self, id: [u8; 16]) -> Option<Attached> {
        let kept = self.0.get(&id)?;
        let there = kept.there.as_ref().map(OwnedFd::try_clone).transpose().ok()?;
        Some(Attached { directory: kept.directory.try_clone().ok()?, there })
    }
}

/// Returns whether a directory is the host's own, in it, or has it somewhere in it.
fn is_hosts(directory: &OwnedFd, state: &Path) -> bool {
    let Ok(own) = File::open(state).map(OwnedFd::from) else { return true };
    let (own, theirs) = (upward(&own), upward(directory));
    let within = own.first().is_some_and(|state| theirs.contains(state));
    within || theirs.first().is_none_or(|directory| own.contains(directory))
}

/// What the kernel knows a directory by, and then all that are above it.
fn upward(directory: &OwnedFd) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut next = directory.try_clone().ok();
    while let Some(here) = next.filter(|_| found.len() < DEEP) {
        let Ok(about) = fstat(here.as_fd()) else { break };
        let this = (about.st_dev, about.st_ino);
        // The topmost is above itself.
        if found.last() == Some(&this) {
            break;
        }
        found.push(this);
        let up = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        next = openat(here.as_fd(), "..", up, Mode::empty()).ok();
    }
    found
}

/// Returns whether it is another namespace than agentd's own, which would be kept for nothing.
fn is_elsewhere(there: &OwnedFd) -> bool {
    let own = stat("/proc/self/ns/mnt").map(|own| (own.st_dev, own.st_ino));
    fstat(there.as_fd()).map(|it| (it.st_dev, it.st_ino)) != own
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P8-31.
    #[test]
    fn only_a_directory_of_the_caller_that_has_nothing_of_the_hosts_is_kept() {
        let mut workspaces = Workspaces::default();
        let own = nix::unistd::geteuid().as_raw();
        let folder = tempfile::tempdir().unwrap();
        let [work, state] = ["work", "state"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(state.join("audit")).unwrap();
        let open = |path: &Path| OwnedFd::from(File::open(path).unwrap());
        let mut attach = |directory, there, uid| workspaces.attach([1; 16], directory, there, uid, &state);
        assert_eq!(attach(open(&work), None, own + 1), Answer::NotYours);
        assert_eq!(attach(open(Path::new("/proc/self/status")), None, own), Answer::NotADirectory);
        for hosts in [folder.path(), &state, &state.join("audit")] {
            assert_eq!(attach(open(hosts), None, own), Answer::Hosts, "{}", hosts.display());
        }
        let here = open(Path::new("/proc/self/ns/mnt"));
        assert_eq!(attach(open(&work), Some(here), own), Answer::Ok);
        assert!(workspaces.get([1; 16]).unwrap().there.is_none(), "agentd's own namespace is not kept");
        assert!(workspaces.get([2; 16]).is_none());
    }
}
