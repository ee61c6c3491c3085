//! The keys of `[provider.NAME]`, `[credproxy]`, `[memory]` and `[router]`. It holds no logic.

use super::Key;
use crate::forms::{BASE_URL, EMBEDDER, HOST_PORT, LOOPBACK, NAME, PATH, PATTERN, SECRET};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Control, Credproxy, Curator, Dialer, Embedder, Gate, Memory, Model, Router};
use manifest::settings;

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
        path: "memory.provider",
        kind: Kind::Word(&["sqlite", "none"]),
        preset: Preset::Text("sqlite"),
        seen_by: &[Agentd],
        means: "`sqlite`: one database. `none`: the memory process is not started, and no agent has `memory_*` tools.",
    },
    Key {
        path: "memory.max_rows",
        kind: Kind::Number { min: 1, max: 10_000_000 },
        preset: Preset::Number(100_000),
        seen_by: &[Memory],
        means: "The most rows of one user, including superseded ones; the next write is refused.",
    },
    Key {
        path: "memory.max_episodic",
        kind: Kind::Number { min: 1, max: 10_000_000 },
        preset: Preset::Number(10_000),
        seen_by: &[Memory],
        means: "The most episodic rows of one user; the next one replaces the oldest.",
    },
    Key {
        path: "memory.max_semantic",
        kind: Kind::Number { min: 1, max: 1_000_000 },
        preset: Preset::Number(1000),
        seen_by: &[Memory],
        means: "The most facts, preferences and instructions of one user; the next is refused.",
    },
    Key {
        path: "memory.episodic_days",
        kind: Kind::Number { min: 0, max: 36_500 },
        preset: Preset::Number(90),
        seen_by: &[Memory],
        means: "Days after which an episodic row without an expiry of its own is forgotten; 0 is never.",
    },
    Key {
        path: "memory.retention_days",
        kind: Kind::Number { min: 0, max: 36_500 },
        preset: Preset::Number(90),
        seen_by: &[Memory],
        means: "Days after which observations, and superseded and removed rows, are forgotten; 0 is never. Notes, facts \
                and summaries stay.",
    },
    Key {
        path: "memory.max_mib",
        kind: Kind::Number { min: 16, max: 4000 },
        preset: Preset::Number(500),
        seen_by: &[Memory],
        means: "The largest size of the database, MiB. To stay below it, superseded and removed rows are deleted first, \
                then the oldest observations; if nothing is left to delete, the next write is refused.",
    },
    Key {
        path: "memory.max_owner_mib",
        kind: Kind::Number { min: 1, max: 4000 },
        preset: Preset::Number(250),
        seen_by: &[Memory],
        means: "The largest size of one user's rows in the database without indexes, MiB. To stay below it, the user's \
                superseded and removed rows are deleted first, then the oldest observations; then the user's next write \
                is refused. With several users, max_mib divided by their number leaves each a share that no other can \
                take.",
    },
    Key {
        path: "memory.ignored_tools",
        kind: Kind::List { of: &Kind::Text(&NAME), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Memory],
        means: "Tools of coding agents whose outputs hooks do not capture.",
    },
    Key {
        path: "memory.min_output_length",
        kind: Kind::Number { min: 0, max: 50_000 },
        preset: Preset::Number(50),
        seen_by: &[Memory],
        means: "The shortest output of a tool that hooks capture, characters.",
    },
    Key {
        path: "memory.max_index_entries",
        kind: Kind::Number { min: 1, max: 100 },
        preset: Preset::Number(50),
        seen_by: &[Memory],
        means: "The most memories in the index that a model gets: in an agent's turn, from a hook and from `agentctl \
                memory context`.",
    },
    Key {
        path: "memory.sensitive_patterns",
        kind: Kind::List { of: &Kind::Text(&PATTERN), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Memory],
        means: "Patterns of text that is never stored: each match becomes `[REDACTED]` before the text is scanned and \
                stored.",
    },
    Key {
        path: "memory.embedder",
        kind: Kind::Text(&EMBEDDER),
        preset: Preset::Nothing,
        seen_by: &[Memory, Gate, Curator, Control],
        means: "The model that makes vectors of memories and queries, such as `openai/text-embedding-3-small` or \
                `ollama/all-minilm`, so that searches compare meaning as well as words. It gets texts only as their \
                labels allow. `local` is the model of `[embedder]`, with which no text leaves the host. Without one, \
                the search modes `meaning`, `fused` and `weighted` compare spelling alone. After a change of the model \
                all vectors are made anew, in the background.",
    },
    Key {
        path: "memory.rerank",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Gate, Control],
        means: "If true, the model of `[curator]` orders the first results of every search: by agents, MCP clients and \
                `agentctl memory search`. It gets results only as their labels allow. If it fails, the order is \
                unchanged and the answer says so.",
    },
    Key {
        path: "memory.rerank_top",
        kind: Kind::Number { min: 2, max: 20 },
        preset: Preset::Number(20),
        seen_by: &[Gate, Control],
        means: "The number of results that the model orders.",
    },
    Key {
        path: "memory.rerank_seconds",
        kind: Kind::Number { min: 1, max: 15 },
        preset: Preset::Number(8),
        seen_by: &[Gate, Control],
        means: "Seconds after which a search answers without the model's order.",
    },
    Key {
        path: "embedder.folder",
        kind: Kind::Text(&PATH),
        preset: Preset::Nothing,
        seen_by: &[Agentd, Embedder, Memory, Gate, Curator, Control],
        means: "A folder with a sentence model like MiniLM: `config.json` of a BERT, `tokenizer.json` or `vocab.txt`, \
                and `model.safetensors`. With it the process `embedder` is started; `[memory] embedder = \"local\"` \
                uses it. In mode `system` every user must be able to read these files, and they must not lie below \
                `/tmp`. After a change of the files all vectors are made anew.",
    },
    Key {
        path: "embedder.idle_seconds",
        kind: Kind::Number { min: 1, max: 86_400 },
        preset: Preset::Number(600),
        seen_by: &[Embedder],
        means: "Seconds without a request after which the model is unloaded; the next request loads it again.",
    },
    Key {
        path: "router.queue_per_session",
        kind: Kind::Number { min: 1, max: 1024 },
        preset: Preset::Number(32),
        seen_by: &[Router],
        means: "The most waiting messages of one session; the next is refused before it is accepted.",
    },
    Key {
        path: "router.queue_per_user",
        kind: Kind::Number { min: 1, max: 65_536 },
        preset: Preset::Number(1024),
        seen_by: &[Router],
        means: "The most waiting messages of one user; the owner has no such limit. At most `queue_total`.",
    },
    Key {
        path: "router.queue_total",
        kind: Kind::Number { min: 1, max: 65_536 },
        preset: Preset::Number(4096),
        seen_by: &[Router],
        means: "The most waiting messages of all users; at least `queue_per_session`.",
    },
    Key {
        path: "router.turns_at_once",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(8),
        seen_by: &[Router],
        means: "The most turns that run at once; at most `host.runner_slots`. One of them is reserved for the owner. A \
                turn that waits for a person does not count if `host.runner_slots` leaves a slot for its runner.",
    },
    Key {
        path: "router.turns_per_user",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(4),
        seen_by: &[Router],
        means: "The most turns of one user that run at once; the owner has no such limit. At most `turns_at_once`.",
    },
];
