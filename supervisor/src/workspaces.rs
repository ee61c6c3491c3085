//! Directories that users attached as workspaces: open under their id until no session works in them, passed by descriptor and
//! never looked up by name.

use confine::Ids;
use manifest::command::{Answer, Mode};
use nix::sys::stat::{fstat, stat};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Directories that are attached at once, and those of one uid.
const MOST: usize = 512;
const MOST_OF_ONE: usize = 32;

/// A directory, and the mount namespace that it was opened in where that is not agentd's own: as a service, agentd has
/// one in which people's folders do not show, and a directory can be mounted from its own alone.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) directory: OwnedFd,
    pub(crate) namespace: Option<OwnedFd>,
    /// The uid that attached it, which owns it.
    pub(crate) uid: u32,
}

/// A workspace on its way into a jail.
#[derive(Debug)]
pub(crate) struct Space {
    /// A detached mount of it; in mode flat the directory itself.
    pub(crate) mount: OwnedFd,
    /// The owner of the directory.
    pub(crate) owner: Ids,
}

impl Space {
    /// The workspace in a directory of the host's own, which answers at once.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn of(mode: Mode, directory: BorrowedFd<'_>) -> io::Result<Self> {
        let about = fstat(directory)?;
        let owner = Ids { uid: about.st_uid, gid: about.st_gid };
        let mount = match mode {
            Mode::Flat => directory.try_clone_to_owned()?,
            Mode::System | Mode::User => confine::copied(directory)?,
        };
        Ok(Self { mount, owner })
    }
}

/// The attached directories.
#[derive(Debug, Default)]
pub(crate) struct Workspaces(HashMap<[u8; 16], Attached>);

impl Workspaces {
    /// Stores a directory, which was found fit for its uid, under its id. Each uid has a share.
    pub(crate) fn attach(&mut self, id: [u8; 16], attached: Attached) -> Answer {
        let of_one = self.0.values().filter(|stored| stored.uid == attached.uid).count();
        if !self.0.contains_key(&id) && (of_one >= MOST_OF_ONE || self.0.len() >= MOST) {
            return Answer::Full;
        }
        let namespace = attached.namespace.filter(is_elsewhere);
        self.0.insert(id, Attached { namespace, ..attached });
        Answer::Ok
    }

    /// Closes a directory that no session works in any more.
    pub(crate) fn forget(&mut self, id: [u8; 16]) {
        self.0.remove(&id);
    }

    /// The directory of this id. No call is made on it here, since it may not answer.
    pub(crate) fn get(&self, id: [u8; 16]) -> Option<&Attached> {
        self.0.get(&id)
    }
}

/// Returns true for another namespace than agentd's own, which need not be stored.
fn is_elsewhere(namespace: &OwnedFd) -> bool {
    let own = stat("/proc/self/ns/mnt").map(|own| (own.st_dev, own.st_ino));
    fstat(namespace.as_fd()).map(|it| (it.st_dev, it.st_ino)) != own
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn attached(uid: u32, namespace: Option<OwnedFd>) -> Attached {
        Attached { directory: OwnedFd::from(File::open("/tmp").unwrap()), namespace, uid }
    }

    // Holds B-168.
    #[test]
    fn each_uid_has_a_share_and_a_detached_directory_gives_it_back() {
        let mut workspaces = Workspaces::default();
        let id = |uid: u32, n: u32| (u128::from(uid) << 64 | u128::from(n)).to_le_bytes();
        let share = u32::try_from(MOST_OF_ONE).unwrap();
        for n in 0..share {
            assert_eq!(workspaces.attach(id(7, n), attached(7, None)), Answer::Ok);
        }
        assert_eq!(workspaces.attach(id(7, share), attached(7, None)), Answer::Full);
        assert_eq!(workspaces.attach(id(7, 0), attached(7, None)), Answer::Ok, "an attached one is renewed");
        assert_eq!(
            workspaces.attach(id(8, 0), attached(8, None)),
            Answer::Ok,
            "another uid has a share of its own"
        );
        workspaces.forget(id(7, 3));
        assert_eq!(workspaces.attach(id(7, share), attached(7, None)), Answer::Ok);
    }

    #[test]
    fn agentds_own_mount_namespace_is_not_stored_beside_a_directory() {
        let mut workspaces = Workspaces::default();
        let here = OwnedFd::from(File::open("/proc/self/ns/mnt").unwrap());
        assert_eq!(workspaces.attach([1; 16], attached(7, Some(here))), Answer::Ok);
        assert!(workspaces.get([1; 16]).unwrap().namespace.is_none());
        assert!(workspaces.get([2; 16]).is_none());
    }
}
