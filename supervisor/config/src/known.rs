//! The built-in providers and their models: context, output, abilities and prices. Data alone; the owner's file overrides all of
//! it, and can add models that are not here.
//!
//! Windows and prices are those that the providers published for their own APIs, standard tier, in November 2026 (OpenAI:
//! developers.openai.com/api/docs/pricing; Anthropic: platform.claude.com/docs, models and pricing; Ollama: ollama.com/library).
//! Providers change them without notice: the provider's own page is authoritative.

use ipc_proto::config::{Prices, ProviderKind, ProviderModel};

/// A built-in provider.
#[derive(Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its protocol, unless the file sets one.
    pub kind: ProviderKind,
    /// Its address.
    pub base_url: &'static str,
    /// Its models.
    pub models: &'static [(&'static str, ProviderModel)],
}

/// The built-in providers.
pub const PROVIDERS: [Builtin; 3] = [
    Builtin {
        name: "openai",
        kind: ProviderKind::Openai,
        base_url: "https://api.openai.com/v1",
        models: OPENAI,
    },
    Builtin {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        models: ANTHROPIC,
    },
    Builtin {
        name: "ollama",
        kind: ProviderKind::Ollama,
        base_url: "http://127.0.0.1:11434",
        models: OLLAMA,
    },
];

/// The built-in provider of this name with this protocol; OpenAI has two protocols at one address.
#[must_use]
pub fn find(name: &str, kind: Option<ProviderKind>) -> Option<&'static Builtin> {
    let same = |at: &Builtin| {
        let either = at.kind == ProviderKind::Openai && kind == Some(ProviderKind::Responses);
        either || kind.is_none_or(|kind| kind == at.kind)
    };
    PROVIDERS.iter().find(|at| at.name == name && same(at))
}

/// Prices of a million tokens in thousandths of a US dollar: input, read from the cache, written to the cache, output.
const fn usd(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Prices {
    Prices {
        input: input * 1000,
        output: output * 1000,
        cache_read: cache_read * 1000,
        cache_write: cache_write * 1000,
    }
}

const fn model(context: u32, output: u32, prices: Prices) -> ProviderModel {
    ProviderModel {
        context,
        output,
        tools: true,
        vision: true,
        embeds: false,
        sampling: true,
        forced: true,
        prices: Some(prices),
        long: None,
    }
}

/// A model that refuses temperature and the like.
const fn reasons(context: u32, output: u32, prices: Prices) -> ProviderModel {
    ProviderModel { sampling: false, ..model(context, output, prices) }
}

/// A model that also refuses to be forced to call a tool.
const fn willing(context: u32, output: u32, prices: Prices) -> ProviderModel {
    ProviderModel { forced: false, ..reasons(context, output, prices) }
}

/// A model that costs more once a request is long.
const fn over(long: u32, prices: Prices, model: ProviderModel) -> ProviderModel {
    ProviderModel { long: Some((long, prices)), ..model }
}

const fn embeds(context: u32, input: u64) -> ProviderModel {
    let model = model(context, 0, usd(input, input, input, 0));
    ProviderModel { tools: false, vision: false, embeds: true, ..model }
}

/// A model of this machine, which costs nothing.
const fn local(context: u32, tools: bool, vision: bool) -> ProviderModel {
    ProviderModel { tools, vision, ..model(context, 16_384, usd(0, 0, 0, 0)) }
}

/// Input tokens from which on OpenAI's larger models cost more.
const LONG: u32 = 272_000;

const OPENAI: &[(&str, ProviderModel)] = &[
    ("gpt-6-astra", reasons(1_050_000, 128_000, usd(10_000, 1000, 12_500, 50_000))),
    (
        "gpt-6-sol",
        over(LONG, usd(4000, 400, 5000, 15_000), reasons(1_050_000, 128_000, usd(2000, 200, 2500, 10_000))),
    ),
    ("gpt-6-luna", over(LONG, usd(200, 20, 250, 750), reasons(1_050_000, 128_000, usd(100, 10, 125, 500)))),
    (
        "gpt-5.6-sol",
        over(LONG, usd(8000, 800, 10_000, 30_000), reasons(1_050_000, 128_000, usd(4000, 400, 5000, 20_000))),
    ),
    (
        "gpt-5.6-terra",
        over(LONG, usd(4000, 400, 5000, 18_000), reasons(1_050_000, 128_000, usd(2000, 200, 2500, 12_000))),
    ),
    (
        "gpt-5.6-luna",
        over(LONG, usd(400, 40, 500, 1800), reasons(1_050_000, 128_000, usd(200, 20, 250, 1200))),
    ),
    (
        "gpt-5.5",
        over(
            LONG,
            usd(10_000, 1000, 10_000, 45_000),
            reasons(1_050_000, 128_000, usd(5000, 500, 5000, 30_000)),
        ),
    ),
    (
        "gpt-5.4",
        over(LONG, usd(5000, 500, 5000, 22_500), reasons(1_050_000, 128_000, usd(2500, 250, 2500, 15_000))),
    ),
    ("gpt-5.4-mini", reasons(400_000, 128_000, usd(750, 75, 750, 4500))),
    ("gpt-5.4-nano", reasons(400_000, 128_000, usd(200, 20, 200, 1250))),
    ("gpt-5.2", reasons(400_000, 128_000, usd(1750, 175, 1750, 14_000))),
    ("gpt-5.1", reasons(400_000, 128_000, usd(1250, 125, 1250, 10_000))),
    ("gpt-5", reasons(400_000, 128_000, usd(1250, 125, 1250, 10_000))),
    ("gpt-5-mini", reasons(400_000, 128_000, usd(250, 25, 250, 2000))),
    ("gpt-5-nano", reasons(400_000, 128_000, usd(50, 5, 50, 400))),
    ("o3", reasons(200_000, 100_000, usd(2000, 500, 2000, 8000))),
    ("o4-mini", reasons(200_000, 100_000, usd(1100, 275, 1100, 4400))),
    ("gpt-4.1", model(1_047_576, 32_768, usd(2000, 500, 2000, 8000))),
    ("gpt-4.1-mini", model(1_047_576, 32_768, usd(400, 100, 400, 1600))),
    ("gpt-4.1-nano", model(1_047_576, 32_768, usd(100, 25, 100, 400))),
    ("gpt-4o", model(128_000, 16_384, usd(2500, 1250, 2500, 10_000))),
    ("gpt-4o-mini", model(128_000, 16_384, usd(150, 75, 150, 600))),
    ("text-embedding-3-small", embeds(8191, 20)),
    ("text-embedding-3-large", embeds(8191, 130)),
];

const ANTHROPIC: &[(&str, ProviderModel)] = &[
    ("claude-fable-5-1", willing(1_000_000, 128_000, usd(10_000, 250, 12_500, 50_000))),
    ("claude-fable-5", reasons(1_000_000, 128_000, usd(10_000, 1000, 12_500, 50_000))),
    ("claude-opus-5-5", willing(1_000_000, 128_000, usd(4000, 200, 5000, 20_000))),
    ("claude-opus-5", reasons(1_000_000, 128_000, usd(5000, 500, 6250, 25_000))),
    ("claude-opus-4-8", reasons(1_000_000, 128_000, usd(5000, 500, 6250, 25_000))),
    ("claude-opus-4-7", reasons(1_000_000, 128_000, usd(5000, 500, 6250, 25_000))),
    ("claude-opus-4-6", model(1_000_000, 128_000, usd(5000, 500, 6250, 25_000))),
    ("claude-opus-4-5", model(200_000, 64_000, usd(5000, 500, 6250, 25_000))),
    ("claude-opus-4-1", model(200_000, 32_000, usd(15_000, 1500, 18_750, 75_000))),
    ("claude-sonnet-5-5", willing(1_000_000, 128_000, usd(2000, 100, 2500, 10_000))),
    ("claude-sonnet-5", reasons(1_000_000, 128_000, usd(2000, 200, 2500, 10_000))),
    ("claude-sonnet-4-6", model(1_000_000, 64_000, usd(3000, 300, 3750, 15_000))),
    ("claude-sonnet-4-5", model(200_000, 64_000, usd(3000, 300, 3750, 15_000))),
    (
        "claude-haiku-5-5",
        over(100_000, usd(500, 50, 625, 2500), willing(1_000_000, 128_000, usd(100, 10, 125, 500))),
    ),
    ("claude-haiku-4-5", model(200_000, 64_000, usd(1000, 100, 1250, 5000))),
];

const OLLAMA: &[(&str, ProviderModel)] = &[
    ("llama3.3", local(131_072, true, false)),
    ("llama3.2", local(131_072, true, false)),
    ("llama3.2-vision", local(131_072, false, true)),
    ("llama3.1", local(131_072, true, false)),
    ("qwen3", local(40_960, true, false)),
    ("qwen3-coder", local(262_144, true, false)),
    ("qwen3-vl", local(262_144, true, true)),
    ("qwen2.5", local(32_768, true, false)),
    ("qwen2.5-coder", local(32_768, true, false)),
    ("gpt-oss:20b", local(131_072, true, false)),
    ("gpt-oss:120b", local(131_072, true, false)),
    ("mistral", local(32_768, true, false)),
    ("mistral-small3.2", local(131_072, true, true)),
    ("devstral", local(131_072, true, false)),
    ("gemma3", local(131_072, false, true)),
    ("phi4", local(16_384, false, false)),
    ("phi4-mini", local(131_072, true, false)),
    ("deepseek-r1", local(131_072, true, false)),
    ("granite4", local(131_072, true, false)),
    ("nomic-embed-text", embeds(2048, 0)),
    ("mxbai-embed-large", embeds(512, 0)),
    ("bge-m3", embeds(8192, 0)),
    ("all-minilm", embeds(512, 0)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::MODEL_PART;
    use crate::hosts::BaseUrl;
    use std::collections::BTreeSet;

    #[test]
    fn every_known_model_is_valid_in_a_file_and_has_plausible_prices() {
        for provider in &PROVIDERS {
            assert!(BaseUrl::parse(provider.base_url).is_some());
            let names: BTreeSet<_> = provider.models.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), provider.models.len(), "{}: each stands once", provider.name);
            for (name, model) in provider.models {
                assert!((MODEL_PART.holds)(name), "{name}");
                assert!(model.output <= model.context && (model.output > 0) != model.embeds, "{name}");
                let prices = model.prices.unwrap();
                assert!(prices.cache_read <= prices.input && prices.input <= prices.cache_write, "{name}");
                assert!(model.embeds || prices.input <= prices.output, "{name}");
                if let Some((over, long)) = model.long {
                    assert!(over < model.context, "{name}");
                    assert!(long.input >= prices.input && long.output >= prices.output, "{name}");
                }
            }
        }
    }

    #[test]
    fn a_provider_is_known_by_its_name_and_by_how_it_is_spoken_to() {
        let kind = |name, kind| find(name, kind).map(|at| at.kind);
        assert_eq!(kind("anthropic", None), Some(ProviderKind::Anthropic));
        assert_eq!(kind("openai", Some(ProviderKind::Responses)), Some(ProviderKind::Openai));
        assert_eq!(kind("anthropic", Some(ProviderKind::Openai)), None);
        assert_eq!(kind("corp", None), None);
    }

    #[test]
    fn a_long_request_costs_what_long_ones_do() {
        let (_, haiku) = ANTHROPIC.iter().find(|(name, _)| *name == "claude-haiku-5-5").unwrap();
        let long = haiku.long.map(|(over, prices)| (over, prices.input));
        assert_eq!((haiku.prices.unwrap().input, long), (100_000, Some((100_000, 500_000))));
    }
}
