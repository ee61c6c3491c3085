//! What the tests share: a machine without accounts, and a text as a configuration.

use agentd_config::accounts::Accounts;
use agentd_config::plan::{Machine, Plan};
use agentd_config::{Source, read};
use std::path::Path;

/// A machine on which nothing stands against anything; agentd runs as root.
pub(crate) fn machine() -> Machine {
    Machine {
        owner: 1000,
        root: true,
        state_dir: "/var/lib/cordon".to_owned(),
        file: "/etc/cordon/cordon.toml".to_owned(),
        accounts: Accounts::default(),
    }
}

/// `text` as a file `f` in `folder`, checked.
pub(crate) fn check_in(folder: &Path, text: &[u8], machine: &Machine) -> Result<Plan, String> {
    let source = Source { name: "f".to_owned(), folder: folder.to_owned(), bytes: text.to_vec() };
    read(&source, machine).map_err(|report| report.to_string())
}

/// The same in a folder that does not matter.
pub(crate) fn check(text: &str) -> Result<Plan, String> {
    check_in(Path::new("/nonexistent"), text.as_bytes(), &machine())
}
