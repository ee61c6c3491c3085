//! Adds the table of a channel to a configuration, or takes it out, with every other line as its owner wrote it. Pure: text in,
//! text out. agentd-config, which alone knows every key, checks the result.

use crate::commands::setup::edit::{EditFault, add, folder, set, table};
use toml_edit::{DocumentMut, Item, TableLike};

/// The table of a channel.
pub(super) struct Written<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its platform.
    pub(super) platform: &'a str,
    /// Its other keys, with their values.
    pub(super) keys: &'a [(&'a str, &'a str)],
    /// `host:port` of a server that is asked over plain HTTP.
    pub(super) plain: Option<&'a str>,
}

fn parsed(text: &str) -> Result<DocumentMut, EditFault> {
    text.parse().map_err(|error: toml_edit::TomlError| EditFault::Syntax(error.message().to_owned()))
}

/// Returns the configuration with this channel. One of another platform is not replaced.
pub(super) fn with(text: &str, channel: &Written<'_>) -> Result<String, EditFault> {
    let mut document = parsed(text)?;
    let root: &mut dyn TableLike = document.as_table_mut();
    let own = table(folder(root, "channel")?, channel.name, "channel.NAME")?;
    if let Some(there) = own.get("platform").and_then(Item::as_str).filter(|there| *there != channel.platform)
    {
        let (name, platform) = (channel.name.to_owned(), channel.platform.to_owned());
        return Err(EditFault::OtherPlatform { name, there: there.to_owned(), platform });
    }
    set(own, "platform", channel.platform);
    drop(own.remove("base_url"));
    for (key, value) in channel.keys {
        set(own, key, value);
    }
    if let Some(at) = channel.plain {
        add(table(root, "credproxy", "credproxy")?, at)?;
    }
    Ok(document.to_string())
}

/// Returns the configuration without this channel.
pub(super) fn without(text: &str, name: &str) -> Result<String, EditFault> {
    let mut document = parsed(text)?;
    if let Some(channels) = document.as_table_mut().get_mut("channel").and_then(Item::as_table_like_mut) {
        channels.remove(name);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: Written<'_> =
        Written { name: "main", platform: "telegram", keys: &[("secret", "telegram-main")], plain: None };

    #[test]
    fn a_channel_is_added_once_and_other_lines_stay() {
        let own = "# Mine.\n[log]\nlevel = \"debug\" # for now\n";
        let new = with(own, &MAIN).unwrap();
        assert!(new.starts_with(own), "{new}");
        assert!(
            new.contains("[channel.main]\nplatform = \"telegram\"\nsecret = \"telegram-main\"\n"),
            "{new}"
        );
        assert_eq!(with(&new, &MAIN).unwrap(), new);
        assert_eq!(without(&new, "main").unwrap().trim_end(), own.trim_end());
    }

    #[test]
    fn a_server_of_this_machine_is_listed_for_plain_http() {
        let keys = [("secret", "telegram-main"), ("base_url", "http://127.0.0.1:1"), ("dm", "pairing")];
        let local = Written { keys: &keys, plain: Some("127.0.0.1:1"), ..MAIN };
        let new = with("", &local).unwrap();
        assert!(new.contains("dm = \"pairing\"") && new.contains("plain_http = [\"127.0.0.1:1\"]"), "{new}");
        assert!(with("channel = 1\n", &MAIN).is_err());
    }

    #[test]
    fn a_channel_of_another_platform_is_not_replaced() {
        let telegram = with("", &MAIN).unwrap();
        let fault = with(&telegram, &Written { platform: "discord", ..MAIN }).unwrap_err().to_string();
        assert!(fault.contains("channel.main is there, for telegram"), "{fault}");
        assert!(fault.contains("agentctl channel add discord discord"), "{fault}");
    }
}
