//! Providers that are known by name: their addresses, and the headers of their keys.

/// A provider that agentd-config knows by its name, with its address, its models and their prices.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) base_url: &'static str,
    /// The header of its key; `None` if it needs none.
    pub(super) header: Option<(&'static str, &'static str)>,
    pub(super) model: Option<&'static str>,
}

/// The header of a key as the OpenAI API has it.
pub(super) const BEARER: Option<(&str, &str)> = Some(("authorization", "Bearer "));

/// Providers that need no address in the configuration.
pub(super) const KNOWN: [Known; 3] = [
    Known {
        name: "openai",
        kind: "openai",
        base_url: "https://api.openai.com/v1",
        header: BEARER,
        model: Some("gpt-6-sol"),
    },
    Known {
        name: "anthropic",
        kind: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        header: Some(("x-api-key", "")),
        model: Some("claude-sonnet-5-5"),
    },
    Known { name: "ollama", kind: "ollama", base_url: "http://127.0.0.1:11434", header: None, model: None },
];

/// Other providers and servers with the OpenAI API, each with its address. A server of this machine needs no key.
pub(super) const COMPATIBLE: [(&str, &str); 21] = [
    ("cerebras", "https://api.cerebras.ai/v1"),
    ("cohere", "https://api.cohere.ai/compatibility/v1"),
    ("deepinfra", "https://api.deepinfra.com/v1/openai"),
    ("deepseek", "https://api.deepseek.com/v1"),
    ("fireworks", "https://api.fireworks.ai/inference/v1"),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ("groq", "https://api.groq.com/openai/v1"),
    ("huggingface", "https://router.huggingface.co/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("mistral", "https://api.mistral.ai/v1"),
    ("moonshot", "https://api.moonshot.ai/v1"),
    ("nebius", "https://api.studio.nebius.com/v1"),
    ("nvidia", "https://integrate.api.nvidia.com/v1"),
    ("openrouter", "https://openrouter.ai/api/v1"),
    ("perplexity", "https://api.perplexity.ai"),
    ("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
    ("sambanova", "https://api.sambanova.ai/v1"),
    ("together", "https://api.together.xyz/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
    ("xai", "https://api.x.ai/v1"),
];

/// The address of a provider of [`COMPATIBLE`].
pub(super) fn compatible(name: &str) -> Option<&'static str> {
    COMPATIBLE.iter().find(|(known, _)| *known == name).map(|(_, url)| *url)
}

/// Every known name, in order.
pub(super) fn names() -> Vec<&'static str> {
    KNOWN.iter().map(|known| known.name).chain(COMPATIBLE.iter().map(|(name, _)| *name)).collect()
}

/// The known name that is nearest to a mistyped one: one or two letters apart.
pub(super) fn nearest(typed: &str) -> Option<&'static str> {
    let near = names().into_iter().map(|name| (strsim::levenshtein(typed, name), name));
    near.filter(|(apart, name)| *apart <= 2 && *apart < name.len()).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_providers_are_known_by_name_each_at_an_address_of_its_own() {
        let names = names();
        assert!(names.len() >= 20, "{names:?}");
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        for (name, url) in COMPATIBLE {
            let local = url.starts_with("http://127.0.0.1:");
            assert!((local || url.starts_with("https://")) && !url.ends_with('/'), "{name} {url}");
        }
    }

    #[test]
    fn a_mistyped_name_has_a_nearest_one_and_another_word_has_none() {
        for (typed, near) in [
            ("opnai", Some("openai")),
            ("antropic", Some("anthropic")),
            ("olama", Some("ollama")),
            ("weather", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed), near, "{typed}");
        }
    }
}
