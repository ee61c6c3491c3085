//! The keys of `[provider.NAME]` and `[credproxy]`. It holds no logic.

use super::Key;
use crate::forms::{BASE_URL, HOST_PORT, LOOPBACK, PRIVATE_HOST, SECRET};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Credproxy, Dialer, Model};

/// A price of a million tokens.
const PRICE: Kind = Kind::Decimal { max: 10_000 };

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "provider.NAME.kind",
        kind: Kind::Word(&["openai", "responses", "anthropic", "ollama", "none"]),
        preset: Preset::Text("openai"),
        seen_by: &[Model],
        means: "The protocol of the provider. `openai`: chat completions, which most servers support. `responses`: \
                OpenAI's responses. `anthropic`: Anthropic's messages. `ollama`: Ollama's own chat. `none`: the \
                provider is disabled. For the providers named `openai`, `anthropic` and `ollama` the default is their \
                own protocol, and their address and models are built in.",
    },
    Key {
        path: "provider.NAME.base_url",
        kind: Kind::Text(&BASE_URL),
        preset: Preset::Nothing,
        seen_by: &[Model, Dialer],
        means: "The address of the server; required unless the kind is `none` or the provider is built in. Dialer gets \
                only the host and port.",
    },
    Key {
        path: "provider.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Model, Credproxy],
        means: "The name of the secret that holds the API key; left out for a server without keys. The secret itself \
                never stands in this file.",
    },
    Key {
        path: "provider.NAME.models.MODEL.context",
        kind: Kind::Number { min: 256, max: 10_000_000 },
        preset: Preset::Number(128_000),
        seen_by: &[Model],
        means: "The size of the model's context in tokens. Each model that is used needs a table, even an empty one; \
                for a built-in model, keys that are left out keep their built-in values.",
    },
    Key {
        path: "provider.NAME.models.MODEL.output",
        kind: Kind::Number { min: 256, max: 200_000 },
        preset: Preset::Number(4096),
        seen_by: &[Model],
        means: "The most tokens that the model can generate.",
    },
    Key {
        path: "provider.NAME.models.MODEL.tools",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Model],
        means: "True if the model can call tools; otherwise it is offered none.",
    },
    Key {
        path: "provider.NAME.models.MODEL.vision",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Model],
        means: "True if the model accepts images; otherwise none are sent.",
    },
    Key {
        path: "provider.NAME.models.MODEL.embeds",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Model],
        means: "True if the model makes vectors of texts and no answers.",
    },
    Key {
        path: "provider.NAME.models.MODEL.sampling",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Model],
        means: "True if the model accepts temperature, top_p and stop texts. Many reasoning models refuse them: with \
                false none are sent, and the host itself ends answers at stop texts.",
    },
    Key {
        path: "provider.NAME.models.MODEL.forced",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Model],
        means: "True if the model can be forced to call a tool; otherwise it is left free to choose.",
    },
    Key {
        path: "provider.NAME.models.MODEL.input_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars for a million input tokens. Without a price the cost of the model is unknown, unless it is \
                built in; a server on this machine costs nothing.",
    },
    Key {
        path: "provider.NAME.models.MODEL.output_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars for a million output tokens; required with `input_usd`.",
    },
    Key {
        path: "provider.NAME.models.MODEL.cache_read_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars for a million tokens read from the provider's cache; the default is `input_usd`.",
    },
    Key {
        path: "provider.NAME.models.MODEL.cache_write_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars for a million tokens written to the provider's cache; the default is `input_usd`.",
    },
    Key {
        path: "credproxy.provider",
        kind: Kind::Word(&["vault", "none"]),
        preset: Preset::Text("vault"),
        seen_by: &[Agentd],
        means: "`vault`: secrets are kept sealed. `none`: neither credproxy nor dialer is started, so no process has a \
                network; only the offline and scripted models are left.",
    },
    Key {
        path: "credproxy.key",
        kind: Kind::Word(&["file", "passphrase", "systemd"]),
        preset: Preset::Text("file"),
        seen_by: &[Credproxy],
        means: "The key of the vault. `file`: `vault.key` beside it. `passphrase`: the host starts with a locked vault, \
                and a person opens it with `agentctl cred unlock`. `systemd`: the credential `cordon-vault` of the \
                unit. An existing vault keeps its key until `agentctl cred passphrase` or `agentctl cred rotate` \
                changes it to this one.",
    },
    Key {
        path: "credproxy.plain_http",
        kind: Kind::List { of: &Kind::Text(&LOOPBACK), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Credproxy, Dialer],
        means: "Servers on this machine that are reached over plain HTTP.",
    },
    Key {
        path: "credproxy.hosts",
        kind: Kind::List { of: &Kind::Text(&HOST_PORT), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Dialer],
        means: "Hosts that credproxy may reach besides those of the providers.",
    },
    Key {
        path: "credproxy.private_hosts",
        kind: Kind::List { of: &Kind::Text(&PRIVATE_HOST), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Dialer],
        means: "Hosts of this machine, of a network that it is attached to or of a private network that credproxy may reach \
                although they are not public. They are reached over TLS alone.",
    },
];
