//! Directories that people attached as workspaces: kept open by their id until the host stops, given by
//! descriptor and never looked up by name.

use manifest::command::Answer;
use nix::sys::stat::{SFlag, fstat};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

/// Directories that can be attached at once.
const MOST: usize = 256;

/// The attached directories.
#[derive(Debug, Default)]
pub(crate) struct Workspaces(HashMap<[u8; 16], OwnedFd>);

impl Workspaces {
    /// Keeps `directory` under `id` if it is one and `uid` owns it. Root may attach anything but a directory of
    /// another user, whose files would become the agent's to change.
    pub(crate) fn attach(&mut self, id: [u8; 16], directory: OwnedFd, uid: u32) -> Answer {
        let Ok(stat) = fstat(directory.as_fd()) else { return Answer::NotADirectory };
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFDIR {
            return Answer::NotADirectory;
        }
        if stat.st_uid != uid {
            return Answer::NotYours;
        }
        if self.0.len() >= MOST && !self.0.contains_key(&id) {
            return Answer::Full;
        }
        self.0.insert(id, directory);
        Answer::Ok
    }

    /// The directory of this id.
    pub(crate) fn get(&self, id: [u8; 16]) -> Option<OwnedFd> {
        self.0.get(&id)?.try_clone().ok()
    }
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
        assert_eq!(workspaces.attach([1; 16], open(), own + 1), Answer::NotYours);
        let file = OwnedFd::from(File::open("/proc/self/status").unwrap());
        assert_eq!(workspaces.attach([1; 16], file, own), Answer::NotADirectory);
        assert!(workspaces.get([1; 16]).is_none());
        assert_eq!(workspaces.attach([1; 16], open(), own), Answer::Ok);
        assert!(workspaces.get([1; 16]).is_some());
        std::fs::remove_dir(&folder).unwrap();
    }
}
