//! Providers and models that are known by name, and what a file says over what is known of them.

use crate::common::check;
use ipc_proto::config;

#[test]
fn a_provider_that_is_known_by_name_needs_its_secret_and_nothing_else() {
    let plan = check(
        "[provider.anthropic]\nsecret = 'anthropic'\n[agent.default]\nmodel = 'anthropic/claude-opus-5-5'",
    )
    .unwrap();
    let at = &plan.outside.model.providers["anthropic"];
    assert_eq!(
        (at.kind, at.base_url.as_str()),
        (config::ProviderKind::Anthropic, "https://api.anthropic.com/v1")
    );
    let opus = at.models["claude-opus-5-5"];
    assert_eq!((opus.context, opus.vision, opus.forced), (1_000_000, true, false));
    assert_eq!(opus.prices.map(|prices| (prices.input, prices.output)), Some((4_000_000, 20_000_000)));
    assert_eq!(plan.outside.dialer.credproxy_hosts, ["api.anthropic.com:443"]);

    let plan = check("[provider.ollama]").unwrap();
    let at = &plan.outside.model.providers["ollama"];
    assert_eq!((at.kind, at.base_url.as_str()), (config::ProviderKind::Ollama, "http://127.0.0.1:11434"));
    assert_eq!(plan.outside.proxy.plain_http, ["127.0.0.1:11434"], "its name is asking for it");
    assert_eq!(plan.outside.dialer.loopback_hosts, ["127.0.0.1:11434"]);

    let kind = |text: &str| check(text).unwrap().outside.model.providers["openai"].kind;
    assert_eq!(kind("[provider.openai]\nsecret='k'"), config::ProviderKind::Openai);
    assert_eq!(kind("[provider.openai]\nsecret='k'\nkind='responses'"), config::ProviderKind::Responses);
}

#[test]
fn what_is_written_of_a_model_stands_over_what_is_known_of_it() {
    let plan = check(
        "[provider.openai]
        secret = 'k'
        [provider.openai.models.'gpt-6-sol']
        output = 4096
        input_usd = 1.5
        output_usd = 9
        cache_read_usd = 0.125
        [provider.openai.models.mine]
        [provider.openai.models.vectors]
        embeds = true
        input_usd = 0.02",
    )
    .unwrap();
    let models = &plan.outside.model.providers["openai"].models;
    let sol = models["gpt-6-sol"];
    assert_eq!((sol.context, sol.output, sol.sampling, sol.long), (1_050_000, 4096, false, None));
    let prices =
        config::Prices { input: 1_500_000, output: 9_000_000, cache_read: 125_000, cache_write: 1_500_000 };
    assert_eq!(sol.prices, Some(prices));
    assert_eq!((models["mine"].context, models["mine"].prices), (128_000, None));
    assert_eq!((models["vectors"].output, models["vectors"].prices.unwrap().input), (0, 20_000));
    assert!(models.contains_key("gpt-5.5"), "the others are still there");
    let names = &plan.outside.names;
    assert!(names.iter().any(|name| name == "openai/mine"));
    assert!(
        !names.iter().any(|name| name.contains("vectors") || name.contains("embedding")),
        "none of them answers"
    );
}
