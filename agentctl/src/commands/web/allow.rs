//! `agentctl web allow HOST`: adds a host to `[web] allow` of the configuration, with every other line as its owner wrote it. The
//! program that knows every key checks the result before it takes its name.

use crate::app::{App, Outcome};
use crate::commands::config;
use crate::commands::setup::place;
use serde_json::json;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// The arguments of `web allow`.
#[derive(clap::Args)]
pub(crate) struct Allow {
    /// The host, or a pattern such as *.example.com
    #[arg(value_name = "HOST")]
    host: String,
    /// Change this configuration file; by default the one that the host read
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Adds the host.
pub(crate) async fn allow(app: &App, allow: Allow) -> Outcome {
    let config = config::file(app, allow.config).await;
    let changed = place::change(&config, |text| with_host(text, &allow.host))?;
    let restart = place::restart();
    let sentence = match &changed {
        Some(_) => format!("{} allows {} once the host restarts: {restart}", config.display(), allow.host),
        None => format!("{} allows {} already", config.display(), allow.host),
    };
    let (is_changed, backup) = (changed.is_some(), changed.and_then(|changed| changed.backup));
    let fields = json!({
        "host": allow.host, "config": config.to_string_lossy(), "changed": is_changed,
        "backup": backup.as_deref().map(Path::to_string_lossy), "restart": restart,
    });
    Ok(app.out.done(fields, &sentence)?)
}

/// The configuration with this host in the list.
fn with_host(text: &str, host: &str) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| format!("it is not valid TOML: {}", error.message()))?;
    let web = document.entry("web").or_insert(Item::Table(Table::new()));
    let web = web.as_table_like_mut().ok_or("web is there and is no table; nothing was changed")?;
    let list = web.entry("allow").or_insert(Item::Value(Value::Array(Array::new())));
    let list = list.as_array_mut().ok_or("web.allow is there and is no list; nothing was changed")?;
    if !list.iter().any(|item| item.as_str() == Some(host)) {
        list.push(host);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P5-69.
    #[test]
    fn a_host_is_added_once_and_every_other_line_stays() {
        let own = "# Mine.\n[web]\nmode = \"allowlist\" # strict\nallow = [\"a.example\"] # one\n";
        let new = with_host(own, "b.example").unwrap();
        assert!(new.contains("allow = [\"a.example\", \"b.example\"] # one"), "{new}");
        assert!(new.contains("# Mine.") && new.contains("mode = \"allowlist\" # strict"), "{new}");
        assert_eq!(with_host(&new, "b.example").unwrap(), new, "the same twice is once");
        assert_eq!(with_host("", "a.example").unwrap(), "[web]\nallow = [\"a.example\"]\n");
        for wrong in ["[web", "web = 1\n", "[web]\nallow = 1\n"] {
            assert!(with_host(wrong, "a.example").is_err(), "{wrong}");
        }
    }
}
