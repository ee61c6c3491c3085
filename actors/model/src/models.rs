//! Which models there are, and what is to be done for a request to one: those of this process answer at once, a
//! provider's request is made up for credproxy. It reads scripts in its own folder and nothing else.

use crate::answer::Step;
use crate::openai::{self, Ask};
use crate::{offline, scripted};
use ipc_proto::config::Provider;
use ipc_proto::model::{ModelError, ModelInfo, ModelName, Purpose, Request};
use ipc_proto::{List, Text};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Tokens that a model of this process takes in: what the larger providers' models do.
const CONTEXT: u32 = 200_000;
/// Tokens that a model of this process gives out.
const OUTPUT: u32 = 64_000;

/// Every model of this host.
pub(crate) struct Catalogue {
    scripts: PathBuf,
    providers: BTreeMap<String, Provider>,
}

/// How a request is answered.
#[derive(Debug)]
pub(crate) enum Plan {
    /// By these steps.
    Here(Vec<Step>),
    /// By a provider.
    Upstream(Ask),
}

impl Catalogue {
    /// The models of this process, the scripts of this folder, and those of the configured providers.
    pub(crate) const fn new(scripts: PathBuf, providers: BTreeMap<String, Provider>) -> Self {
        Self { scripts, providers }
    }

    /// What is to be done for a request.
    pub(crate) fn plan(&self, request: &Request) -> Result<Plan, ModelError> {
        let (provider, model) = request.model.split_once('/').ok_or(ModelError::UnknownModel)?;
        let here = |reply: crate::answer::Reply| Ok(Plan::Here(reply.steps(request)));
        match (provider, model) {
            (offline::PROVIDER, offline::READER) => here(match request.purpose {
                Purpose::Plan => offline::plan::of_reader(request),
                Purpose::Answer => offline::reader::answer(request),
            }),
            (offline::PROVIDER, offline::HIJACKABLE) => here(match request.purpose {
                Purpose::Plan => offline::plan::of_hijackable(request),
                Purpose::Answer => offline::hijackable::answer(request),
            }),
            (scripted::PROVIDER, file) => scripted::answer(&self.scripts, file, request).map(Plan::Here),
            _ => {
                let at = self.providers.get(provider).ok_or(ModelError::UnknownModel)?;
                let known = at.models.get(model).ok_or(ModelError::UnknownModel)?;
                openai::ask(at, model, *known, request).map(Plan::Upstream)
            }
        }
    }

    /// Every model, in order of name within its provider; the default first.
    pub(crate) fn list(&self) -> List<ModelInfo, 256> {
        let offline = [offline::READER, offline::HIJACKABLE]
            .map(|model| info(offline::PROVIDER, model, CONTEXT, OUTPUT));
        let configured = self.providers.iter().flat_map(|(provider, at)| {
            at.models.iter().map(move |(model, known)| info(provider, model, known.context, known.output))
        });
        let scripts = scripted::files(&self.scripts);
        let scripts = scripts.iter().map(|file| info(scripted::PROVIDER, file, CONTEXT, OUTPUT));
        List::clip(offline.into_iter().chain(configured).chain(scripts).flatten())
    }
}

/// A name over the bound cannot be asked for, so it is not listed.
fn info(provider: &str, model: &str, context: u32, output: u32) -> Option<ModelInfo> {
    let name: ModelName = Text::new(format!("{provider}/{model}")).ok()?;
    Some(ModelInfo { name, context, output, tools: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::testing::request;
    use ipc_proto::config::ProviderModel;

    fn catalogue(scripts: PathBuf) -> Catalogue {
        let models = [("gpt/x".to_owned(), ProviderModel { context: 8000, output: 500 })];
        let provider =
            Provider { base_url: "https://api.example/v1".to_owned(), secret: None, models: models.into() };
        Catalogue::new(scripts, [("example".to_owned(), provider)].into())
    }

    fn plan(catalogue: &Catalogue, model: &str) -> Result<Plan, ModelError> {
        let mut request = request(&[("user", "echo: x")], &[]);
        request.model = Text::clip(model);
        catalogue.plan(&request)
    }

    #[test]
    fn every_listed_model_can_be_asked_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("demo.jsonl"), r#"{"pieces":[{"text":"hi"}]}"#).unwrap();
        let catalogue = catalogue(folder.path().to_owned());
        let names: Vec<_> = catalogue.list().into_iter().map(|model| model.name.into_string()).collect();
        let expected = ["offline/reader", "offline/hijackable", "example/gpt/x", "scripted/demo.jsonl"];
        assert_eq!(names, expected);
        for name in names {
            assert!(plan(&catalogue, &name).is_ok(), "{name}");
        }
        for wrong in
            ["", "offline", "offline/", "offline/x", "example/gpt", "nope/gpt/x", "scripted/none", "/"]
        {
            assert_eq!(plan(&catalogue, wrong).unwrap_err(), ModelError::UnknownModel, "{wrong}");
        }
    }
}
