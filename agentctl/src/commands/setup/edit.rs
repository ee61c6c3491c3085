//! Adds a provider and its model to a configuration, with every other line as its owner wrote it. Pure: text in, text out.
//! agentd-config, which alone knows every key, checks the result.

use super::provider::{self, Provider};
use ipc_proto::model::ModelName;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

/// Why a configuration cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditFault {
    #[error("it is not valid TOML: {0}")]
    Syntax(String),
    #[error("{0} is there and is not what it should be; nothing was changed")]
    Kind(&'static str),
    #[error(
        "provider.{name} is there, at {there}; nothing was changed: --name gives this one another name, and `--name {name}` moves that one"
    )]
    Taken {
        /// The name that both would have.
        name: String,
        /// The address of the provider that has it.
        there: String,
    },
    #[error(
        "channel.{name} is there, for {there}; nothing was changed: give this one a name of its own, as in `agentctl channel add {platform} {platform}`"
    )]
    OtherPlatform {
        /// The name that both would have.
        name: String,
        /// The platform of the channel that has it.
        there: String,
        /// The platform of the new one.
        platform: String,
    },
}

/// Returns the configuration with this provider, and with this model for the agent `default`. With `declared` the model
/// gets a table of its own, which a model needs that is not built in.
pub(super) fn edited(
    text: &str,
    provider: &Provider,
    model: &ModelName,
    declared: bool,
) -> Result<String, EditFault> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| EditFault::Syntax(error.message().to_owned()))?;
    let root: &mut dyn TableLike = document.as_table_mut();
    let providers = folder(root, "provider")?;
    // A known provider has its address even if none is written.
    let known = provider::address_of(&provider.name).filter(|_| providers.contains_key(&provider.name));
    let own = table(providers, &provider.name, "provider.NAME")?;
    let written = own.get("base_url").and_then(Item::as_str).map(str::to_owned);
    let is_written = written.is_some();
    let other = written.or_else(|| known.map(str::to_owned));
    let other = other.filter(|there| there.trim_end_matches('/') != provider.url);
    if let Some(there) = other.clone().filter(|_| !provider.is_named) {
        return Err(EditFault::Taken { name: provider.name.clone(), there });
    }
    if provider.base_url.is_some() || is_written {
        set(own, "base_url", &provider.url);
    }
    match provider.kind {
        Some(kind) => set(own, "kind", kind),
        // The other provider's wire form does not apply to this one.
        None if other.is_some() => drop(own.remove("kind")),
        None => {}
    }
    if let Some((secret, _)) = provider.secret() {
        set(own, "secret", &secret);
    }
    if declared {
        let part = model.split_once('/').map_or("", |(_, part)| part);
        table(folder(own, "models")?, part, "provider.NAME.models")?;
    }
    if provider.plain {
        add(table(root, "credproxy", "credproxy")?, &provider.at)?;
    }
    let agent = table(folder(root, "agent")?, "default", "agent.default")?;
    set(agent, "model", model);
    Ok(document.to_string())
}

/// A table without a head of its own, which only holds others.
pub(crate) fn folder<'a>(
    parent: &'a mut dyn TableLike,
    name: &'static str,
) -> Result<&'a mut dyn TableLike, EditFault> {
    if !parent.contains_key(name) {
        let mut fresh = Table::new();
        fresh.set_implicit(true);
        parent.insert(name, Item::Table(fresh));
    }
    parent.get_mut(name).and_then(Item::as_table_like_mut).ok_or(EditFault::Kind(name))
}

pub(crate) fn table<'a>(
    parent: &'a mut dyn TableLike,
    name: &str,
    what: &'static str,
) -> Result<&'a mut dyn TableLike, EditFault> {
    if !parent.contains_key(name) {
        parent.insert(name, Item::Table(Table::new()));
    }
    parent.get_mut(name).and_then(Item::as_table_like_mut).ok_or(EditFault::Kind(what))
}

/// Sets a text; the comments before and after the old value stay.
pub(crate) fn set(table: &mut dyn TableLike, name: &str, text: &str) {
    let mut fresh = Value::from(text);
    match table.get_mut(name) {
        Some(item) => {
            if let Some(old) = item.as_value() {
                *fresh.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(fresh);
        }
        None => drop(table.insert(name, Item::Value(fresh))),
    }
}

/// Adds a server of this machine to those that may be asked over plain HTTP.
pub(crate) fn add(credproxy: &mut dyn TableLike, at: &str) -> Result<(), EditFault> {
    const KEY: &str = "plain_http";
    if !credproxy.contains_key(KEY) {
        credproxy.insert(KEY, Item::Value(Value::Array(Array::new())));
    }
    let list = credproxy.get_mut(KEY).and_then(Item::as_array_mut);
    let list = list.ok_or(EditFault::Kind("credproxy.plain_http"))?;
    if !list.iter().any(|item| item.as_str() == Some(at)) {
        list.push(at);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, provider: &str, model: &str, declared: bool) -> Result<String, EditFault> {
        let provider = Provider::named(provider, None).unwrap();
        let model = ModelName::clip(&format!("{}/{model}", provider.name));
        edited(text, &provider, &model, declared)
    }

    #[test]
    fn an_empty_configuration_gets_what_it_needs_and_nothing_else() {
        assert_eq!(
            changed("", "openai", "gpt-5-mini", false).unwrap(),
            "[provider.openai]\nsecret = \"openai\"\n\n[agent.default]\nmodel = \"openai/gpt-5-mini\"\n"
        );
        let local = changed("", "http://127.0.0.1:8080/v1", "small", true).unwrap();
        for line in
            ["[provider.local]", "base_url = \"http://127.0.0.1:8080/v1\"", "[provider.local.models.small]"]
        {
            assert!(local.lines().any(|it| it == line), "{line} in {local}");
        }
        assert!(local.contains("plain_http = [\"127.0.0.1:8080\"]"), "{local}");
    }

    // Holds P8-26.
    #[test]
    fn what_its_owner_wrote_stays_with_every_comment() {
        let own = "# Mine.\n[log]\nlevel = \"debug\" # for now\n\n[agent.default]\n# reads\nmodel = \"offline/reader\" # old\n\
                   tools = []\n\n[credproxy]\nplain_http = [\"localhost:1\"] # one\n";
        let local = "http://127.0.0.1:11434/v1";
        let new = changed(own, local, "qwen3", true).unwrap();
        for line in ["# Mine.", "level = \"debug\" # for now", "# reads", "tools = []"] {
            assert!(new.lines().any(|it| it == line), "{line} in {new}");
        }
        assert!(new.contains("model = \"local/qwen3\" # old"), "{new}");
        assert!(new.contains("plain_http = [\"localhost:1\", \"127.0.0.1:11434\"] # one"), "{new}");
        assert_eq!(changed(&new, local, "qwen3", true).unwrap(), new, "the same twice is once");
    }

    #[test]
    fn tables_that_are_written_inline_are_changed_where_they_are() {
        let new =
            changed("agent = { default = { model = 'offline/reader' } }\n", "openai", "m", false).unwrap();
        assert!(new.contains("agent = { default = { model = \"openai/m\" } }"), "{new}");
    }

    // Holds P8-26.
    #[test]
    fn a_derived_provider_name_replaces_no_other_and_a_given_one_does() {
        let there = changed("", "http://127.0.0.1:8080/v1", "small", true).unwrap();
        let other = changed(&there, "http://127.0.0.1:9090/v1", "small", true);
        let Err(EditFault::Taken { name, there: at }) = &other else { panic!("{other:?}") };
        assert_eq!((name.as_str(), at.as_str()), ("local", "http://127.0.0.1:8080/v1"));
        let model = ModelName::clip("local/small");
        let moved = Provider::named("http://127.0.0.1:9090/v1", Some("local")).unwrap();
        let moved = edited(&there, &moved, &model, true).unwrap();
        assert!(moved.contains("http://127.0.0.1:9090/v1") && !moved.contains("8080/v1"), "{moved}");
        // The same address with a slash at its end is the same place.
        let same = "[provider.groq]\nbase_url = \"https://api.groq.com/openai/v1/\"\n";
        assert!(changed(same, "https://api.groq.com/openai/v1", "m", true).is_ok());
        let known = changed("", "openai", "m", false).unwrap();
        assert!(changed(&known, "openai", "m", false).is_ok());
        let elsewhere = changed(&known, "https://eu.api.openai.com/v1", "m", false);
        assert!(matches!(elsewhere, Err(EditFault::Taken { .. })), "it is where its name says");
        let other = "[provider.mine]\nkind = \"anthropic\"\nbase_url = \"https://a.test\"\n";
        let moved = Provider::named("https://b.test/v1", Some("mine")).unwrap();
        let moved = edited(other, &moved, &ModelName::clip("mine/m"), false).unwrap();
        assert!(!moved.contains("anthropic"), "it is asked as what it is: {moved}");
        let proxied = "[provider.openai]\nbase_url = \"https://proxy.test/v1\"\n";
        assert!(matches!(changed(proxied, "openai", "m", false), Err(EditFault::Taken { .. })));
    }

    #[test]
    fn what_is_no_toml_or_of_another_kind_is_left_alone() {
        assert!(matches!(changed("[agent", "openai", "m", false), Err(EditFault::Syntax(_))));
        for wrong in ["agent = 1\n", "provider = 'x'\n", "agent.default = []\n"] {
            assert!(matches!(changed(wrong, "openai", "m", false), Err(EditFault::Kind(_))), "{wrong}");
        }
        assert!(changed("credproxy = { plain_http = 1 }\n", "http://127.0.0.1:1/v1", "m", false).is_err());
    }

    proptest::proptest! {
        #[test]
        fn whatever_stands_there_is_changed_to_toml_or_refused(text in "[ -~\n]{0,200}") {
            if let Ok(new) = changed(&text, "openai", "m", true) {
                proptest::prop_assert!(new.parse::<DocumentMut>().is_ok(), "{new}");
            }
        }
    }
}
