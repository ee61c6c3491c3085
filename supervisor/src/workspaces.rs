//! Directories that people attached as workspaces: kept open by their id until the host stops, given by
//! descriptor and never looked up by name.

use manifest::command::Answer;
use nix::sys::stat::{SFlag, fstat, stat};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

/// Directories that can be attached at once.
const MOST: usize = 256;

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
    /// another user, whose files would become the agent's to change.
    pub(crate) fn attach(
        &mut self,
        id: [u8; 16],
        directory: OwnedFd,
        there: Option<OwnedFd>,
        uid: u32,
    ) -> Answer {
        let Ok(about) = fstat(directory.as_fd()) else { return Answer::NotADirectory };
        if SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT != SFlag::S_IFDIR {
            return Answer::NotADirectory;
        }
        if about.st_uid != uid {
            return Answer::NotYours;
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

/// Whether it is another namespace than agentd's own, which would be kept for nothing.
fn is_elsewhere(there: &OwnedFd) -> bool {
    let own = stat("/proc/self/ns/mnt").map(|own| (own.st_dev, own.st_ino));
    fstat(there.as_fd()).map(|it| (it.st_dev, it.st_ino)) != own
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_a_directory_of_the_caller_is_kept() {
        let mut workspaces = Workspaces::default();
        let own = nix::unistd::geteuid().as_raw();
        let folder = std::env::temp_dir().join(format!("cordon-workspaces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let open = || OwnedFd::from(File::open(&folder).unwrap());
        assert_eq!(workspaces.attach([1; 16], open(), None, own + 1), Answer::NotYours);
        let file = OwnedFd::from(File::open("/proc/self/status").unwrap());
        assert_eq!(workspaces.attach([1; 16], file, None, own), Answer::NotADirectory);
        assert!(workspaces.get([1; 16]).is_none());
        let here = OwnedFd::from(File::open("/proc/self/ns/mnt").unwrap());
        assert_eq!(workspaces.attach([1; 16], open(), Some(here), own), Answer::Ok);
        assert!(workspaces.get([1; 16]).unwrap().there.is_none(), "agentd's own namespace is not kept");
        std::fs::remove_dir(&folder).unwrap();
    }
}
