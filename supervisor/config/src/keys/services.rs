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
        means: "How it is spoken to. `openai`: chat completions, which most servers speak. `responses`: OpenAI's responses. \
                `anthropic`: Anthropic's messages. `ollama`: Ollama's own chat. `none`: as if this provider were not \
                written here. The providers called `openai`, `anthropic` and `ollama` are spoken to in their own way \
                unless this says otherwise, and their address and models are known.",
    },
    Key {
        path: "provider.NAME.base_url",
        kind: Kind::Text(&BASE_URL),
        preset: Preset::Nothing,
        seen_by: &[Model, Dialer],
        means: "Where the server is; required unless the kind is `none` or the provider is one that is known by its name. \
                Dialer hears the host and port alone.",
    },
    Key {
        path: "provider.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Model, Credproxy],
        means: "The name of the secret that holds the key; left out for a server without keys. The secret itself \
                never stands in this file.",
    },
    Key {
        path: "provider.NAME.models.MODEL.context",
        kind: Kind::Number { min: 256, max: 10_000_000 },
        preset: Preset::Number(128_000),
        seen_by: &[Model],
        means: "Tokens the model can take in. A table for each model that may be used, even if it is empty; what a table \
                leaves out of a model that is known keeps what is known of it.",
    },
    Key {
        path: "provider.NAME.models.MODEL.output",
        kind: Kind::Number { min: 256, max: 200_000 },
        preset: Preset::Number(4096),
        seen_by: &[Model],
        means: "Tokens the model can give out.",
    },
    Key {
        path: "provider.NAME.models.MODEL.tools",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Model],
        means: "Whether it can ask for tools; one that cannot is told of none.",
    },
    Key {
        path: "provider.NAME.models.MODEL.vision",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Model],
        means: "Whether it can see images; to one that cannot none are sent.",
    },
    Key {
        path: "provider.NAME.models.MODEL.embeds",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Model],
        means: "It makes vectors of texts rather than answers.",
    },
    Key {
        path: "provider.NAME.models.MODEL.sampling",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Model],
        means: "Whether it takes a temperature, a nucleus and texts to stop at. Many reasoning models refuse them: then none \
                is sent, and answers are ended here.",
    },
    Key {
        path: "provider.NAME.models.MODEL.forced",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Model],
        means: "Whether it can be made to ask for a tool; one that refuses that is left to see fit.",
    },
    Key {
        path: "provider.NAME.models.MODEL.input_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars for a million tokens that are read. Without a price nobody knows what the model costs, unless it is \
                in the built-in table; a server on this machine costs nothing.",
    },
    Key {
        path: "provider.NAME.models.MODEL.output_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars for a million tokens that are written; needed with `input_usd`.",
    },
    Key {
        path: "provider.NAME.models.MODEL.cache_read_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The same of those read from the provider's cache; as `input_usd` where it is left out.",
    },
    Key {
        path: "provider.NAME.models.MODEL.cache_write_usd",
        kind: PRICE,
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The same of those put into the provider's cache; as `input_usd` where it is left out.",
    },
    Key {
        path: "credproxy.provider",
        kind: Kind::Word(&["vault", "none"]),
        preset: Preset::Text("vault"),
        seen_by: &[Agentd],
        means: "`vault`: secrets are kept sealed. `none`: neither credproxy nor dialer is started, so \
                nothing of the host has a network; only the offline and scripted models are left.",
    },
    Key {
        path: "credproxy.key",
        kind: Kind::Word(&["file", "passphrase", "systemd"]),
        preset: Preset::Text("file"),
        seen_by: &[Credproxy],
        means: "What opens the vault. `file`: `vault.key` beside it. `passphrase`: what a person types; the host begins \
                with a locked vault, and `agentctl cred unlock` opens it. `systemd`: the credential `cordon-vault` of \
                the unit. A vault that is there is opened as it was made, until `agentctl cred passphrase` or \
                `agentctl cred rotate` makes it what stands here.",
    },
    Key {
        path: "credproxy.plain_http",
        kind: Kind::List { of: &Kind::Text(&LOOPBACK), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Credproxy, Dialer],
        means: "Servers on this machine that may be asked over plain HTTP.",
    },
    Key {
        path: "credproxy.hosts",
        kind: Kind::List { of: &Kind::Text(&HOST_PORT), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Dialer],
        means: "Hosts that credproxy may reach besides the providers'.",
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
        means: "Most rows that one user may have, with those that no longer hold; the next write is refused.",
    },
    Key {
        path: "memory.max_episodic",
        kind: Kind::Number { min: 1, max: 10_000_000 },
        preset: Preset::Number(10_000),
        seen_by: &[Memory],
        means: "Most episodic rows that one user may have; the oldest goes for the next.",
    },
    Key {
        path: "memory.max_semantic",
        kind: Kind::Number { min: 1, max: 1_000_000 },
        preset: Preset::Number(1000),
        seen_by: &[Memory],
        means: "Most facts, preferences and instructions that one user may have; the next is refused.",
    },
    Key {
        path: "memory.episodic_days",
        kind: Kind::Number { min: 0, max: 36_500 },
        preset: Preset::Number(90),
        seen_by: &[Memory],
        means: "Days after which an episodic row is forgotten that does not say when itself; 0 is never.",
    },
    Key {
        path: "memory.retention_days",
        kind: Kind::Number { min: 0, max: 36_500 },
        preset: Preset::Number(90),
        seen_by: &[Memory],
        means: "Days after which observations are forgotten, and rows that were superseded or removed; 0 is never. Notes, \
                facts and summaries stay.",
    },
    Key {
        path: "memory.max_mib",
        kind: Kind::Number { min: 16, max: 4000 },
        preset: Preset::Number(500),
        seen_by: &[Memory],
        means: "MiB that the database may take: rows that were superseded or removed go first, then the oldest \
                observations; if nothing is left that may go, the next write is refused.",
    },
    Key {
        path: "memory.max_owner_mib",
        kind: Kind::Number { min: 1, max: 4000 },
        preset: Preset::Number(250),
        seen_by: &[Memory],
        means: "MiB of it that the rows of one user may take, indexes apart: what of theirs was superseded or removed goes \
                first, then their oldest observations; then their next write is refused. With several users, max_mib divided by \
                their number leaves each a share that no other can take.",
    },
    Key {
        path: "memory.ignored_tools",
        kind: Kind::List { of: &Kind::Text(&NAME), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Memory],
        means: "Tools of coding agents whose outputs are not taken down by a hook.",
    },
    Key {
        path: "memory.min_output_length",
        kind: Kind::Number { min: 0, max: 50_000 },
        preset: Preset::Number(50),
        seen_by: &[Memory],
        means: "Characters of a tool's output below which a hook takes nothing down.",
    },
    Key {
        path: "memory.max_index_entries",
        kind: Kind::Number { min: 1, max: 100 },
        preset: Preset::Number(50),
        seen_by: &[Memory],
        means: "Most memories in the index of what is put before a model: of an agent's turn, of a hook and of `agentctl memory \
                context` alike.",
    },
    Key {
        path: "memory.sensitive_patterns",
        kind: Kind::List { of: &Kind::Text(&PATTERN), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Memory],
        means: "What is never kept: whatever matches one of these becomes `[REDACTED]` before it is scanned and stored.",
    },
    Key {
        path: "memory.embedder",
        kind: Kind::Text(&EMBEDDER),
        preset: Preset::Nothing,
        seen_by: &[Memory, Gate, Curator, Control],
        means: "The model that makes vectors of what is kept and looked for, and so has a search go by meaning as well as by words, such as \
                `openai/text-embedding-3-small` or `ollama/all-minilm`. Texts go to it as their labels allow. `local` is \
                the model of `[embedder]`, for which no text leaves the host. Left out, the manners `meaning`, `fused` and \
                `weighted` compare spelling alone. Another one makes every vector anew, in the background.",
    },
    Key {
        path: "memory.rerank",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Gate, Control],
        means: "Whether the model of `[curator]` puts the first of what a search found into order, in whatever way it was \
                asked: by agents, MCP clients and `agentctl memory search`. What it reads goes to it as the labels of the rows \
                allow. Where it fails, the order stays as it was and the answer says so.",
    },
    Key {
        path: "memory.rerank_top",
        kind: Kind::Number { min: 2, max: 20 },
        preset: Preset::Number(20),
        seen_by: &[Gate, Control],
        means: "So many of the first are put into order by a model.",
    },
    Key {
        path: "memory.rerank_seconds",
        kind: Kind::Number { min: 1, max: 15 },
        preset: Preset::Number(8),
        seen_by: &[Gate, Control],
        means: "Seconds after which an answer does without the order of a model.",
    },
    Key {
        path: "embedder.folder",
        kind: Kind::Text(&PATH),
        preset: Preset::Nothing,
        seen_by: &[Agentd, Embedder, Memory, Gate, Curator, Control],
        means: "A folder with a sentence model of the kind of MiniLM: `config.json` of a BERT, `tokenizer.json` or `vocab.txt`, \
                and `model.safetensors`. With it the process `embedder` is started; `[memory] embedder = \"local\"` has it be \
                used. In mode `system` everybody must be able to read these files, and they must not lie below `/tmp`. \
                A folder with other files makes every vector anew.",
    },
    Key {
        path: "embedder.idle_seconds",
        kind: Kind::Number { min: 1, max: 86_400 },
        preset: Preset::Number(600),
        seen_by: &[Embedder],
        means: "Seconds without a text after which the model is let go of; the next text loads it again.",
    },
    Key {
        path: "router.queue_per_session",
        kind: Kind::Number { min: 1, max: 1024 },
        preset: Preset::Number(32),
        seen_by: &[Router],
        means: "Messages that may wait in one session; the next is refused before it is accepted.",
    },
    Key {
        path: "router.queue_per_user",
        kind: Kind::Number { min: 1, max: 65_536 },
        preset: Preset::Number(1024),
        seen_by: &[Router],
        means: "Messages of one user that may wait; the owner has no share. At most `queue_total`.",
    },
    Key {
        path: "router.queue_total",
        kind: Kind::Number { min: 1, max: 65_536 },
        preset: Preset::Number(4096),
        seen_by: &[Router],
        means: "Messages that may wait in all; at least `queue_per_session`.",
    },
    Key {
        path: "router.turns_at_once",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(8),
        seen_by: &[Router],
        means: "Turns that may run at once; at most `host.runner_slots`. One place is left for the owner, and a turn that waits for a person holds none.",
    },
    Key {
        path: "router.turns_per_user",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(4),
        seen_by: &[Router],
        means: "Turns of one user that may run at once; the owner has no share. At most `turns_at_once`.",
    },
];
