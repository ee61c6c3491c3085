//! The keys of `[memory]` and `[embedder]` that no section of one process holds. It holds no logic.

use super::Key;
use crate::forms::{EMBEDDER, PATH};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Control, Curator, Embedder, Gate, Memory};

/// The key that switches memory off.
pub(super) const PROVIDER: &[Key] = &[Key {
    path: "memory.provider",
    kind: Kind::Word(&["sqlite", "none"]),
    preset: Preset::Text("sqlite"),
    seen_by: &[Agentd],
    means: "`sqlite`: one database. `none`: the memory process is not started, and no agent has `memory_*` tools.",
}];

/// The key of the model that makes vectors.
pub(super) const MODEL: &[Key] = &[Key {
    path: "memory.embedder",
    kind: Kind::Text(&EMBEDDER),
    preset: Preset::Nothing,
    seen_by: &[Memory, Gate, Curator, Control],
    means: "The model that makes vectors of memories and queries, such as `openai/text-embedding-3-small` or \
                `ollama/all-minilm`, so that searches compare meaning as well as words. It gets texts only as their \
                labels allow. `local` is the model of `[embedder]`, with which no text leaves the host. Without one, \
                the search modes `meaning`, `fused` and `weighted` compare spelling alone. After a change of the model \
                all vectors are made anew, in the background.",
}];

/// The key of the model of this machine.
pub(super) const FOLDER: &[Key] = &[Key {
    path: "embedder.folder",
    kind: Kind::Text(&PATH),
    preset: Preset::Nothing,
    seen_by: &[Agentd, Embedder, Memory, Gate, Curator, Control],
    means: "A folder with a sentence model like MiniLM: `config.json` of a BERT, `tokenizer.json` or `vocab.txt`, \
                and `model.safetensors`. With it the process `embedder` is started; `[memory] embedder = \"local\"` \
                uses it. In mode `system` every user must be able to read these files, and they must not lie below \
                `/tmp`. After a change of the files all vectors are made anew.",
}];
