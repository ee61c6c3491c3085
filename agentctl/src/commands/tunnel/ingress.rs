//! The configuration as the tunnel needs it: where hooks are taken, and the channels that take them.

use crate::failure::Failure;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use toml_edit::{DocumentMut, Item, TableLike};

/// Platforms that send hooks.
const HOOKED: [&str; 2] = ["whatsapp", "webhook"];

/// The parts of a configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ingress {
    /// `[ingress] listen`.
    pub(super) listen: Option<SocketAddr>,
    /// The channels that take hooks, sorted.
    pub(super) channels: Vec<String>,
}

/// Reads a configuration; without a file there is nothing in it.
///
/// # Errors
/// It cannot be read, or is no TOML.
pub(super) fn read(path: &Path) -> Result<Ingress, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ingress::default()),
        Err(cause) => return Err(Failure::File { path: path.to_owned(), cause }),
    };
    parsed(&text).map_err(|why| Failure::Configuration(format!("{}: {why}", path.display())))
}

fn parsed(text: &str) -> Result<Ingress, String> {
    let document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let table = |name| document.get(name).and_then(Item::as_table_like);
    let word = |table: &dyn TableLike, key| table.get(key).and_then(Item::as_str).map(str::to_owned);
    let listen = table("ingress").and_then(|it| word(it, "listen")).and_then(|at| at.parse().ok());
    let all = table("channel").into_iter().flat_map(TableLike::iter);
    let hooked = all.filter(|(_, channel)| {
        let platform = channel.as_table_like().and_then(|it| word(it, "platform"));
        platform.is_some_and(|it| HOOKED.contains(&it.as_str()))
    });
    let mut channels: Vec<String> = hooked.map(|(name, _)| name.to_owned()).collect();
    channels.sort();
    Ok(Ingress { listen, channels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_those_of_the_channels_that_take_them() {
        let text = "[ingress]\nlisten = \"127.0.0.1:8787\"\n[channel.wa]\nplatform = \"whatsapp\"\n\
            [channel.main]\nplatform = \"telegram\"\n[channel.in]\nplatform = \"webhook\"\n";
        let found = parsed(text).unwrap();
        assert_eq!(found.listen, Some(([127, 0, 0, 1], 8787).into()));
        assert_eq!(found.channels, ["in", "wa"]);
        assert_eq!(parsed("").unwrap(), Ingress::default());
        assert_eq!(parsed("ingress = 1\n[ingres]\nlisten = 2\n").unwrap(), Ingress::default());
        assert!(parsed("[").is_err());
    }
}
