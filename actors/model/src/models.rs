//! The models there are, their properties, and the plan for a request to one: those of this process answer at once, a
//! provider's request is made up for credproxy. It reads scripts in its own folder and nothing else.

use crate::answer::{Reply, Step};
use crate::{offline, scripted};
use dialect::Ask;
use dialect::embedding::{self, LEXICAL};
pub(crate) use ipc_proto::config::ProviderModel as Known;
use ipc_proto::config::{Prices, Provider};
use ipc_proto::model::{
    BUILT_IN, Embedded, Embedding, ModelError, ModelInfo, ModelName, OFFLINE, Purpose, Request, SCRIPTED,
};
use ipc_proto::{List, Text};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The properties of this process's own models: those of the larger providers' models, for nothing.
const OWN: Known = Known {
    context: 200_000,
    output: 64_000,
    tools: true,
    vision: false,
    embeds: false,
    sampling: true,
    forced: true,
    prices: Some(Prices { input: 0, output: 0, cache_read: 0, cache_write: 0 }),
    long: None,
};
/// The same of the one that embeds: a text is at most 32768 bytes.
const HASH: Known = Known { context: 8192, output: 0, tools: false, embeds: true, ..OWN };

/// Every model of this host.
pub(crate) struct Catalogue {
    scripts: PathBuf,
    providers: BTreeMap<String, Provider>,
    patience: Option<Duration>,
}

/// How a request is answered.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// By these steps.
    Here(Vec<Step>),
    /// By a provider.
    Upstream(Box<Ask>),
}

/// How texts get their vectors.
#[derive(Clone, Debug)]
pub(crate) enum EmbedAsk {
    /// These are they.
    Here(Embedded),
    /// By a provider.
    Upstream(Box<embedding::EmbedAsk>),
}

impl Catalogue {
    /// The models of this process, the scripts of this folder, and those of the configured providers.
    pub(crate) const fn new(scripts: PathBuf, providers: BTreeMap<String, Provider>) -> Self {
        Self { scripts, providers, patience: None }
    }

    /// The same, whose providers may be silent this long.
    pub(crate) fn within(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// The plan for a request.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`], and whatever keeps the request from being written.
    pub(crate) fn plan(&self, request: &Request) -> Result<Plan, ModelError> {
        let (provider, model) = request.model.split_once('/').ok_or(ModelError::UnknownModel)?;
        // The models of this process would ignore images.
        if !request.images.is_empty() && BUILT_IN.contains(&provider) {
            return Err(ModelError::NoVision);
        }
        let here = |reply: Reply| Ok(Plan::Here(reply.steps(request)));
        match (provider, model) {
            (OFFLINE, offline::READER) => here(match request.purpose {
                Purpose::Plan => offline::plan::of_reader(request),
                Purpose::Answer => offline::reader::answer(request),
            }),
            (OFFLINE, offline::HIJACKABLE) => here(match request.purpose {
                Purpose::Plan => offline::plan::of_hijackable(request),
                Purpose::Answer => offline::hijackable::answer(request),
            }),
            (SCRIPTED, file) => scripted::answer(&self.scripts, file, request).map(Plan::Here),
            _ => {
                let (at, known) = self.configured(provider, model).ok_or(ModelError::UnknownModel)?;
                let mut ask = dialect::ask(at, model, known, request)?;
                ask.patience = self.patience.unwrap_or(ask.patience);
                Ok(Plan::Upstream(Box::new(ask)))
            }
        }
    }

    /// How the texts of a request get their vectors.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`] for none that embeds, and whatever keeps the request from being written.
    pub(crate) fn embed(&self, request: &Embedding) -> Result<EmbedAsk, ModelError> {
        let (provider, model) = request.model.split_once('/').ok_or(ModelError::UnknownModel)?;
        if (provider, model) == (OFFLINE, LEXICAL) {
            return embedding::lexical(request).map(EmbedAsk::Here);
        }
        let (at, known) = self.configured(provider, model).ok_or(ModelError::UnknownModel)?;
        embedding::ask(at, model, known, request).map(Box::new).map(EmbedAsk::Upstream)
    }

    /// The properties of a model; nothing if there is none. A script's are not known before it is asked.
    pub(crate) fn known(&self, name: &ModelName) -> Option<Known> {
        match name.split_once('/')? {
            (OFFLINE, offline::READER | offline::HIJACKABLE) | (SCRIPTED, _) => Some(OWN),
            (OFFLINE, LEXICAL) => Some(HASH),
            (provider, model) => self.configured(provider, model).map(|(_, known)| known),
        }
    }

    /// Every model, in order of name within its provider; the default first.
    pub(crate) fn list(&self) -> List<ModelInfo, 256> {
        let own = [(offline::READER, OWN), (offline::HIJACKABLE, OWN), (LEXICAL, HASH)];
        let own = own.into_iter().map(|(model, known)| info(OFFLINE, model, known));
        let configured = self.providers.iter().flat_map(|(provider, at)| {
            at.models.iter().map(move |(model, known)| info(provider, model, *known))
        });
        let scripts = scripted::files(&self.scripts);
        let scripts = scripts.iter().map(|file| info(SCRIPTED, file, OWN));
        List::clip(own.chain(configured).chain(scripts).flatten())
    }

    fn configured(&self, provider: &str, model: &str) -> Option<(&Provider, Known)> {
        let at = self.providers.get(provider)?;
        at.models.get(model).map(|known| (at, *known))
    }
}

/// A name over the bound cannot be asked for, so it is not listed.
fn info(provider: &str, model: &str, known: Known) -> Option<ModelInfo> {
    let name: ModelName = Text::new(format!("{provider}/{model}")).ok()?;
    let prices = known.prices.unwrap_or_default();
    Some(ModelInfo {
        name,
        context: known.context,
        output: known.output,
        tools: known.tools,
        vision: known.vision,
        embeds: known.embeds,
        priced: known.prices.is_some(),
        input_micros: prices.input,
        output_micros: prices.output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::testing::{payer, request};
    use ipc_proto::config::ProviderKind;
    use ipc_proto::model::Image;

    fn catalogue(scripts: PathBuf) -> Catalogue {
        let paid = Prices { input: 3, output: 15, ..Prices::default() };
        let known = Known { context: 8000, output: 500, prices: None, ..OWN };
        let models = [
            ("gpt/x".to_owned(), known),
            ("paid".to_owned(), Known { prices: Some(paid), ..known }),
            ("vectors".to_owned(), Known { embeds: true, ..known }),
        ];
        let base_url = "https://api.example/v1".to_owned();
        let provider = Provider { kind: ProviderKind::Openai, base_url, secret: None, models: models.into() };
        Catalogue::new(scripts, [("example".to_owned(), provider)].into())
    }

    fn plan(catalogue: &Catalogue, model: &str) -> Result<Plan, ModelError> {
        let mut request = request(&[("user", "echo: x")], &[]);
        request.model = Text::clip(model);
        catalogue.plan(&request)
    }

    fn embed(catalogue: &Catalogue, model: &str) -> Result<EmbedAsk, ModelError> {
        let texts = List::clip([Text::clip("some words")]);
        let request = Embedding { model: Text::clip(model), texts, dimensions: None, payer: payer() };
        catalogue.embed(&request)
    }

    // Holds P3-41.
    #[test]
    fn a_model_of_this_process_is_shown_no_image_rather_than_pass_over_it() {
        let catalogue = catalogue(PathBuf::new());
        for model in ["offline/reader", "offline/hijackable", "scripted/demo.jsonl"] {
            let mut request = request(&[("user", "what is this?")], &[]);
            let (media, bytes) = (Text::clip("image/png"), ipc_proto::Blob::new([1]).unwrap());
            request.images = List::clip([Image { message: 0, media, bytes }]);
            request.model = Text::clip(model);
            assert_eq!(catalogue.plan(&request).unwrap_err(), ModelError::NoVision, "{model}");
        }
    }

    #[test]
    fn every_listed_model_can_be_asked_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("demo.jsonl"), r#"{"pieces":[{"text":"hi"}]}"#).unwrap();
        let catalogue = catalogue(folder.path().to_owned());
        let listed = catalogue.list();
        let names: Vec<&str> = listed.iter().map(|model| model.name.as_str()).collect();
        let expected = [
            "offline/reader",
            "offline/hijackable",
            "offline/hash-384",
            "example/gpt/x",
            "example/paid",
            "example/vectors",
            "scripted/demo.jsonl",
        ];
        assert_eq!(names, expected);
        for model in &listed {
            let (answers, embeds) = (plan(&catalogue, &model.name), embed(&catalogue, &model.name));
            assert_eq!((answers.is_ok(), embeds.is_ok()), (!model.embeds, model.embeds), "{}", model.name);
            let known = catalogue.known(&model.name).unwrap();
            assert_eq!((known.context, known.embeds), (model.context, model.embeds), "{}", model.name);
        }
        for wrong in
            ["", "offline", "offline/", "offline/x", "example/gpt", "nope/gpt/x", "scripted/none", "/"]
        {
            assert_eq!(plan(&catalogue, wrong).unwrap_err(), ModelError::UnknownModel, "{wrong}");
            assert_eq!(embed(&catalogue, wrong).unwrap_err(), ModelError::UnknownModel, "{wrong}");
        }
    }

    #[test]
    fn a_price_that_nobody_knows_is_told_from_one_of_nothing() {
        let catalogue = catalogue(PathBuf::new());
        let told: Vec<_> = catalogue
            .list()
            .iter()
            .map(|model| (model.priced, model.input_micros, model.output_micros))
            .collect();
        let free = (true, 0, 0);
        assert_eq!(told, [free, free, free, (false, 0, 0), (true, 3, 15), (false, 0, 0)]);
        let prices = |name: &str| catalogue.known(&Text::clip(name)).and_then(|known| known.prices);
        assert_eq!(prices("scripted/any"), Some(Prices::default()));
        assert_eq!(prices("example/gpt/x"), None);
        assert_eq!(catalogue.known(&Text::clip("example/none")), None);
    }

    #[test]
    fn vectors_of_words_are_made_here_and_those_of_a_provider_are_asked_for() {
        let catalogue = catalogue(PathBuf::new());
        match embed(&catalogue, "offline/hash-384").unwrap() {
            EmbedAsk::Here(embedded) => assert_eq!(embedded.vectors[0].len(), 384),
            other => panic!("{other:?}"),
        }
        match embed(&catalogue, "example/vectors").unwrap() {
            EmbedAsk::Upstream(ask) => {
                assert_eq!(ask.http.url.as_str(), "https://api.example/v1/embeddings");
            }
            other => panic!("{other:?}"),
        }
    }
}
