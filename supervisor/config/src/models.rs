//! Second pass over `[provider.NAME.models.MODEL]`: the properties of each model of a provider; the file overrides built-in values.

use crate::known::Builtin;
use crate::problem::Problems;
use crate::view::View;
use ipc_proto::config::{Prices, ProviderModel};
use std::collections::BTreeMap;

/// The keys of prices for a provider's cache.
const CACHED: [&str; 2] = ["cache_read_usd", "cache_write_usd"];

/// The models of a provider: those in the file, and the built-in ones of a built-in provider. A model on this machine is free unless
/// the file says otherwise.
#[must_use]
pub fn resolve(
    provider: &View<'_>,
    builtin: Option<&Builtin>,
    local: bool,
    problems: &mut Problems,
) -> BTreeMap<String, ProviderModel> {
    let models = provider.table("models");
    let known = builtin.map_or(&[][..], |builtin| builtin.models);
    let mut found: BTreeMap<String, ProviderModel> =
        known.iter().map(|(name, model)| ((*name).to_owned(), *model)).collect();
    for name in models.names() {
        let view = models.named("MODEL", name);
        let model = model(&view, found.get(name).copied(), local, problems);
        found.insert(name.to_owned(), model);
    }
    if found.is_empty() && !provider.wrong("models") {
        let valid = format!("a table `[{}.MODEL]` for each model that may be used", models.key(""));
        problems.add(provider.line("models"), &models.key(""), "no model is named", valid);
    }
    found
}

fn model(
    view: &View<'_>,
    known: Option<ProviderModel>,
    local: bool,
    problems: &mut Problems,
) -> ProviderModel {
    let number = |key: &str, of: fn(&ProviderModel) -> u32| match &known {
        Some(model) if view.given(key).is_none() => of(model),
        _ => view.number(key),
    };
    let flag = |key: &str, of: fn(&ProviderModel) -> bool| match &known {
        Some(model) if view.given(key).is_none() => of(model),
        _ => view.flag(key),
    };
    let embeds = flag("embeds", |model| model.embeds);
    let written = prices(view, embeds, problems);
    let free = local.then(Prices::default);
    let mut model = ProviderModel {
        context: number("context", |model| model.context),
        output: number("output", |model| model.output),
        tools: flag("tools", |model| model.tools),
        vision: flag("vision", |model| model.vision),
        embeds,
        sampling: flag("sampling", |model| model.sampling),
        forced: flag("forced", |model| model.forced),
        prices: written.or(known.and_then(|model| model.prices)).or(free),
        long: known.and_then(|model| model.long).filter(|_| written.is_none()),
    };
    if model.embeds {
        // It returns vectors, which have no tokens.
        model.output = 0;
    } else if model.output > model.context {
        let key = if view.given("output").is_some() { "output" } else { "context" };
        let what = format!("an output of {} does not fit the context of {}", model.output, model.context);
        problems.add(view.line(key), &view.key(key), what, "`output` at most `context`");
    }
    model
}

/// The prices in the file, if there are any. Without a price for the cache its tokens cost as much as others.
fn prices(view: &View<'_>, embeds: bool, problems: &mut Problems) -> Option<Prices> {
    let (input, output) = (view.millionths("input_usd"), view.millionths("output_usd"));
    let [cache_read, cache_write] = CACHED.map(|key| view.millionths(key));
    match (input, output.or(embeds.then_some(0))) {
        (Some(input), Some(output)) => Some(Prices {
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write: cache_write.unwrap_or(input),
        }),
        _ => {
            let alone = ["input_usd", "output_usd"].into_iter().chain(CACHED);
            if let Some(key) = alone.into_iter().find(|key| view.given(key).is_some()) {
                let what = "the prices of input and output belong together";
                problems.add(view.line(key), &view.key(key), what, "`input_usd` and `output_usd`");
            }
            None
        }
    }
}
