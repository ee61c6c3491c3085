//! Adds the table of a server to a configuration, or takes it out, with every other line as its owner wrote it. Pure: text in, text
//! out. agentd-config, which alone knows every key, checks the result.

use crate::commands::setup::edit::{EditFault, folder, set, table};
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

/// The table of a server.
pub(super) struct Written<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its texts, by key.
    pub(super) texts: &'a [(&'a str, &'a str)],
    /// Its lists, by key.
    pub(super) lists: &'a [(&'a str, &'a [String])],
    /// It is shown the workspace.
    pub(super) workspace: bool,
}

/// The keys of the ways to a server, of which one has one.
const WAYS: [&str; 5] = ["package", "command", "url", "service", "token_url"];

fn parsed(text: &str) -> Result<DocumentMut, EditFault> {
    text.parse().map_err(|error: toml_edit::TomlError| EditFault::Syntax(error.message().to_owned()))
}

/// Returns the configuration with this server. Another way to a server of this name is replaced.
pub(super) fn with(text: &str, server: &Written<'_>) -> Result<String, EditFault> {
    let mut document = parsed(text)?;
    let root: &mut dyn TableLike = document.as_table_mut();
    let own = table(folder(root, "mcp")?, server.name, "mcp.NAME")?;
    let stays = |key: &str| {
        let lists = server.lists.iter().any(|(name, values)| *name == key && !values.is_empty());
        lists || server.texts.iter().any(|(name, _)| *name == key)
    };
    for key in WAYS.into_iter().filter(|key| !stays(key)) {
        drop(own.remove(key));
    }
    for (key, value) in server.texts {
        set(own, key, value);
    }
    for (key, values) in server.lists.iter().filter(|(_, values)| !values.is_empty()) {
        let values: Array = values.iter().map(String::as_str).collect();
        drop(own.insert(key, Item::Value(Value::Array(values))));
    }
    if server.workspace {
        drop(own.insert("workspace", Item::Value(Value::from(true))));
    }
    Ok(document.to_string())
}

/// Returns the configuration in which this server's tokens come from this address.
pub(super) fn with_token_url(text: &str, name: &str, url: &str) -> Result<String, EditFault> {
    let mut document = parsed(text)?;
    let root: &mut dyn TableLike = document.as_table_mut();
    set(table(folder(root, "mcp")?, name, "mcp.NAME")?, "token_url", url);
    Ok(document.to_string())
}

/// Returns the configuration without this server.
pub(super) fn without(text: &str, name: &str) -> Result<String, EditFault> {
    let mut document = parsed(text)?;
    if let Some(servers) = document.as_table_mut().get_mut("mcp").and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_added_once_and_other_lines_stay() {
        let own = "# Mine.\n[log]\nlevel = \"debug\" # for now\n";
        let agents = ["default".to_owned()];
        let texts = [("package", "pypi:mcp-server-time==1.0")];
        let time = Written { name: "time", texts: &texts, lists: &[("agents", &agents)], workspace: false };
        let new = with(own, &time).unwrap();
        assert!(new.starts_with(own), "{new}");
        let table = "[mcp.time]\npackage = \"pypi:mcp-server-time==1.0\"\nagents = [\"default\"]\n";
        assert!(new.contains(table), "{new}");
        assert_eq!(with(&new, &time).unwrap(), new);
        let other = Written { texts: &[("url", "https://example.com/mcp")], ..time };
        let other = with(&new, &other).unwrap();
        assert!(other.contains("url = ") && !other.contains("package"), "{other}");
        let logged_in = with_token_url(&other, "time", "https://a.example/token").unwrap();
        assert!(logged_in.contains("token_url = \"https://a.example/token\""), "{logged_in}");
        assert_eq!(without(&new, "time").unwrap().trim_end(), own.trim_end());
    }
}
