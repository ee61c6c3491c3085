//! Shared by the tests: a machine without accounts, and a text as a configuration.

use agentd_config::accounts::Accounts;
use agentd_config::keys;
use agentd_config::kind::{Kind, Preset};
use agentd_config::machine::Machine;
use agentd_config::plan::Plan;
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
        time_zone: "UTC".to_owned(),
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

/// An address of a mailbox.
pub(crate) const MAILBOX: &str = "a@b.c";

/// An account of WhatsApp with this number, and further keys.
pub(crate) fn whatsapp(number: &str, keys: &str) -> String {
    format!(
        "ingress.listen = '127.0.0.1:9'\nchannel.w = {{ platform = 'whatsapp', secret = 's', app_secret = 'a', \
         verify_secret = 'v', number = '{number}'{keys} }}"
    )
}

/// A mailbox of this address, with further keys.
pub(crate) fn mailbox(address: &str, keys: &str) -> String {
    format!(
        "channel.m = {{ platform = 'email', secret = 's', address = '{address}', imap = 'imaps://b.c:993', \
         smtp = 'smtps://b.c:465'{keys} }}"
    )
}

/// A value that is not the default, where the type alone says one.
pub(crate) fn another_value(key: &keys::Key) -> Option<String> {
    match (key.kind, key.preset) {
        _ if key.path.contains(|c: char| c.is_ascii_uppercase() || c == '[') => None,
        (Kind::Number { min, max }, Preset::Number(default)) => {
            let other = if default == min { max } else { min };
            Some(other.to_string())
        }
        (Kind::Flag, Preset::Flag(default)) => Some((!default).to_string()),
        (Kind::Word(words), Preset::Text(default)) => {
            words.iter().find(|word| **word != default).map(|word| format!("'{word}'"))
        }
        _ => None,
    }
}
