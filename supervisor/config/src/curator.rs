//! Second pass over `[curator]`: the background work, and its model.

use crate::asking::is_model;
use crate::problem::{Problems, listed, quoted};
use crate::view::View;
use ipc_proto::config::Curator;

/// Reads it; `models` are all that can be named.
#[must_use]
pub fn resolve(file: &View<'_>, models: &[String], problems: &mut Problems) -> Curator {
    let view = file.table("curator");
    let curator: Curator = view.section(problems);
    if let Some(name) = curator.model.as_ref().filter(|name| !is_model(name, models)) {
        let what = format!("there is no model {}", quoted(name));
        let valid = listed(models.iter().map(String::as_str));
        problems.add(view.line("model"), &view.key("model"), what, format!("`scripted/FILE`, {valid}"));
    }
    if curator.conflict_low > curator.conflict_high {
        let what = "it is over `conflict_high`";
        problems.add(view.line("conflict_low"), &view.key("conflict_low"), what, "at most `conflict_high`");
    }
    curator
}
