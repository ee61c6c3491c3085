//! The environment variables that programs usually take keys from, as data. They are read once, on request; each value is
//! bound to its provider's host, in the header that the provider reads.

use ipc_proto::credproxy::{At, Binding, Exported, Lease};
use ipc_proto::{List, Name, Text};
use std::ffi::OsString;

/// A variable: its name, the secret's name, the host, the header, and what stands before the value there.
type Usual = (&'static str, &'static str, &'static str, &'static str, &'static str);

const BEARER: (&str, &str) = ("authorization", "Bearer ");

/// Each provider's own documentation of its API names the variable and the header.
const USUAL: &[Usual] = &[
    bearer("OPENAI_API_KEY", "openai", "api.openai.com"),
    ("ANTHROPIC_API_KEY", "anthropic", "api.anthropic.com", "x-api-key", ""),
    ("GEMINI_API_KEY", "gemini", "generativelanguage.googleapis.com", "x-goog-api-key", ""),
    bearer("OPENROUTER_API_KEY", "openrouter", "openrouter.ai"),
    bearer("MISTRAL_API_KEY", "mistral", "api.mistral.ai"),
    bearer("GROQ_API_KEY", "groq", "api.groq.com"),
    bearer("DEEPSEEK_API_KEY", "deepseek", "api.deepseek.com"),
    bearer("XAI_API_KEY", "xai", "api.x.ai"),
    bearer("TOGETHER_API_KEY", "together", "api.together.xyz"),
    bearer("FIREWORKS_API_KEY", "fireworks", "api.fireworks.ai"),
    bearer("PERPLEXITY_API_KEY", "perplexity", "api.perplexity.ai"),
    bearer("CO_API_KEY", "cohere", "api.cohere.com"),
    ("BRAVE_API_KEY", "brave", "api.search.brave.com", "x-subscription-token", ""),
    bearer("TAVILY_API_KEY", "tavily", "api.tavily.com"),
    bearer("GITHUB_TOKEN", "github", "api.github.com"),
];

const fn bearer(variable: &'static str, secret: &'static str, host: &'static str) -> Usual {
    (variable, secret, host, BEARER.0, BEARER.1)
}

/// The secrets that are there.
pub(super) fn found(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Exported<String>> {
    let usual = USUAL.iter().filter_map(|(name, secret, host, header, prefix)| {
        let value = variable(name)?.into_string().ok().filter(|value| !value.is_empty())?;
        let at = At::Header { name: Name::clip(header), prefix: Text::clip(prefix) };
        let binding = Binding {
            hosts: List::clip([Text::clip(&format!("{host}:443"))]),
            at: List::clip([at]),
            ..Binding::default()
        };
        Some(Exported { name: Name::clip(secret), binding, lease: Lease::default(), value })
    });
    usual.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_variable_that_is_set_is_one_secret_for_its_own_host() {
        let found = found(|name| match name {
            "OPENAI_API_KEY" => Some("sk-one".into()),
            "ANTHROPIC_API_KEY" => Some("sk-two".into()),
            "GROQ_API_KEY" => Some(OsString::new()),
            _ => None,
        });
        let shown: Vec<_> = found
            .iter()
            .map(|it| (it.name.as_str(), it.binding.hosts[0].as_str(), it.value.as_str()))
            .collect();
        let wanted =
            [("openai", "api.openai.com:443", "sk-one"), ("anthropic", "api.anthropic.com:443", "sk-two")];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn no_variable_and_no_secret_is_named_twice_and_nothing_is_cut() {
        let names: BTreeSet<_> = USUAL.iter().map(|usual| usual.0).collect();
        let secrets: BTreeSet<_> = USUAL.iter().map(|usual| usual.1).collect();
        assert_eq!((names.len(), secrets.len()), (USUAL.len(), USUAL.len()));
        for secret in found(|_| Some("0123456789".into())) {
            let binding = &secret.binding;
            assert_eq!((binding.hosts.len(), binding.at.len()), (1, 1), "{}", secret.name);
            assert!(binding.hosts[0].ends_with(":443"), "{}", secret.name);
        }
    }
}
