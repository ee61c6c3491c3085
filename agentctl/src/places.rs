//! The folders of Cordon by default: the system's, and the user's by the XDG variables.

use std::path::PathBuf;

/// The state directory of the system's host.
pub(crate) const SYSTEM_STATE: &str = "/var/lib/cordon";

/// The folder that an environment variable names; `None` where it is not set or empty.
pub(crate) fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `cordon` in the folder that the variable names, else in this one below the home folder.
pub(crate) fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    let folder = named(variable).or_else(|| Some(named("HOME")?.join(below_home)))?;
    Some(folder.join("cordon"))
}

/// `cordon` in the user's state folder.
pub(crate) fn user_state() -> Option<PathBuf> {
    of_user("XDG_STATE_HOME", ".local/state")
}
