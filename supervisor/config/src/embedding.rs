//! Second pass over `[memory] embedder`: a model that makes vectors, of a provider that is configured or built in.

use crate::problem::{Problems, listed, nearest, quoted};
use crate::providers::Outside;
use crate::view::View;

/// The embedder that needs no provider.
const OFFLINE: &str = "offline/hash-384";

/// Reads it.
#[must_use]
pub fn embedder(memory: &View<'_>, outside: &Outside, problems: &mut Problems) -> Option<String> {
    let named = memory.text("embedder")?;
    let providers = outside.model.providers.iter();
    let of_providers = providers.flat_map(|(provider, at)| {
        let embedding = at.models.iter().filter(|(_, model)| model.embeds);
        embedding.map(move |(model, _)| format!("{provider}/{model}"))
    });
    let mut known: Vec<String> = of_providers.collect();
    known.push(OFFLINE.to_owned());
    if known.contains(&named) {
        return Some(named);
    }
    let what = format!("there is no model {} that makes vectors{}", quoted(&named), nearest(&named, &known));
    let valid = listed(known.iter().map(String::as_str));
    problems.add(memory.line("embedder"), &memory.key("embedder"), what, valid);
    None
}
