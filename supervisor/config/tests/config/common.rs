//! Shared by the tests: a machine without accounts, and a text as a configuration.

use agentd_config::accounts::Accounts;
use agentd_config::plan::{Machine, Plan};
use agentd_config::{Source, read};
use std::path::Path;

/// A machine without accounts; agentd runs as root.
pub(crate) fn machine() -> Machine {
    Machine {
        owner: 1000,
        root: true,
        state_dir: "/var/lib/cordon".to_owned(),
        file: "/etc/cordon/cordon.toml".to_owned(),
        accounts: Accounts::default(),
    }
}

/// Checks `text` as a file `f` in `folder`.
pub(crate) fn check_in(folder: &Path, text: &[u8], machine: &Machine) -> Result<Plan, String> {
    let source = Source { name: "f".to_owned(), folder: folder.to_owned(), bytes: text.to_vec() };
    read(&source, machine).map_err(|report| report.to_string())
}

/// Checks `text` in a folder that does not exist.
pub(crate) fn check(text: &str) -> Result<Plan, String> {
    check_in(Path::new("/nonexistent"), text.as_bytes(), &machine())
}

/// Checks each text's whole report, without the file's name.
pub(crate) fn all(cases: &[(&str, &str)]) {
    for (text, report) in cases {
        let report_lines = check(text).expect_err(text);
        let report_lines: Vec<_> =
            report_lines.lines().map(|line| line.strip_prefix("f:").unwrap()).collect();
        assert_eq!(report_lines.join("\n"), *report, "{text}");
    }
}
