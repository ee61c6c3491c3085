//! Second pass over `[curator]`: the background work, and its model.

use crate::asking::is_model;
use crate::problem::{Problems, listed, quoted};
use crate::view::View;
use ipc_proto::config::Curator;

/// Millionths in a thousandth.
const THOUSANDTH: u64 = 1000;

/// Reads it; `models` are all that can be named.
#[must_use]
pub fn resolve(file: &View<'_>, models: &[String], problems: &mut Problems) -> Curator {
    let view = file.table("curator");
    let model = view.text("model");
    if let Some(name) = model.as_ref().filter(|name| !is_model(name, models)) {
        let what = format!("there is no model {}", quoted(name));
        let valid = listed(models.iter().map(String::as_str));
        problems.add(view.line("model"), &view.key("model"), what, format!("`scripted/FILE`, {valid}"));
    }
    let likeness = |key| {
        let thousandths = view.millionths(key).unwrap_or_default() / THOUSANDTH;
        u16::try_from(thousandths).unwrap_or(u16::MAX)
    };
    let (conflict_low, conflict_high) = (likeness("conflict_low"), likeness("conflict_high"));
    if conflict_low > conflict_high {
        let what = "it is over `conflict_high`";
        problems.add(view.line("conflict_low"), &view.key("conflict_low"), what, "at most `conflict_high`");
    }
    Curator {
        compression_enabled: view.flag("compression_enabled"),
        model,
        max_tokens_per_compression: view.number("max_tokens_per_compression"),
        batch_size: u16::try_from(view.number("batch_size")).unwrap_or(1),
        batch_interval_ms: view.number("batch_interval_ms"),
        summaries: view.flag("summaries"),
        resolve_conflicts: view.flag("resolve_conflicts"),
        conflict_low,
        conflict_high,
        extract_entities: view.flag("extract_entities"),
        tokens_per_day: view.number("tokens_per_day"),
        attempts: view.number("attempts"),
        embedder: None,
    }
}
