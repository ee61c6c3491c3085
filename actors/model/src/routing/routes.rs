//! The models that may answer a request. A model that is named as `provider/model` is strict: nobody else answers. A
//! task stands for its chain. Pure data of `[model]`.

use ipc_proto::config::Asking;
use ipc_proto::model::{ModelError, ModelInfo, ModelName, TASKS};
use std::collections::BTreeMap;

/// The task whose chain the others have that have none.
const DEFAULT: &str = "default";
/// The model that answers in the end where that is asked for.
const LAST: &str = "offline/reader";

/// The chains of all tasks.
#[derive(Debug)]
pub(crate) struct Routes {
    chains: BTreeMap<String, Vec<ModelName>>,
    last: Option<ModelName>,
}

/// The models that may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// In order; never empty.
    pub(crate) models: Vec<ModelName>,
    /// The model that answers once all of those have failed.
    pub(crate) last: Option<ModelName>,
}

impl Routes {
    /// The chains as they are configured; a task without one has that of `default`.
    pub(crate) fn new(asking: &Asking) -> Self {
        let own = |task: &str| asking.route.get(task).or_else(|| asking.route.get(DEFAULT));
        let named = |names: &Vec<String>| names.iter().map(|name| ModelName::clip(name)).collect::<Vec<_>>();
        let chains = TASKS.into_iter().filter_map(|task| Some((task.to_owned(), named(own(task)?))));
        let last = asking.offline_fallback.then(|| ModelName::clip(LAST));
        Self { chains: chains.filter(|(_, chain)| !chain.is_empty()).collect(), last }
    }

    /// The chain of models for this name.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`] for a task that has no chain.
    pub(crate) fn chain(&self, name: &ModelName) -> Result<Chain, ModelError> {
        if name.contains('/') {
            return Ok(Chain { models: vec![name.clone()], last: None });
        }
        let models = self.chains.get(name.as_str()).cloned().ok_or(ModelError::UnknownModel)?;
        Ok(Chain { last: self.last.clone().filter(|last| !models.contains(last)), models })
    }

    /// The properties of each task: those that all models of its chain share, at the price of the first.
    pub(crate) fn listed<'a>(&'a self, models: &'a [ModelInfo]) -> impl Iterator<Item = ModelInfo> + 'a {
        self.chains.iter().filter_map(move |(task, chain)| {
            let mut known = chain.iter().filter_map(|name| models.iter().find(|info| info.name == *name));
            let first = ModelInfo { name: ModelName::clip(task), ..known.next()?.clone() };
            Some(known.fold(first, |sum, info| ModelInfo {
                context: sum.context.min(info.context),
                output: sum.output.min(info.output),
                tools: sum.tools && info.tools,
                vision: sum.vision && info.vision,
                priced: sum.priced && info.priced,
                ..sum
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(route: &[(&str, &[&str])], offline_fallback: bool) -> Routes {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let route = route.iter().map(|(task, chain)| ((*task).to_owned(), owned(chain))).collect();
        Routes::new(&Asking { route, offline_fallback, ..Asking::default() })
    }

    fn models(names: &[&str]) -> Vec<ModelName> {
        names.iter().map(|name| ModelName::clip(name)).collect()
    }

    #[test]
    fn a_named_model_is_alone_and_a_task_is_its_chain_or_the_default_one() {
        let routes = routes(&[("default", &["a/b", "c/d"]), ("fast", &["e/f", LAST])], true);
        let chain =
            |name: &str| routes.chain(&ModelName::clip(name)).map(|it| (it.models, it.last.is_some()));
        assert_eq!(chain("x/y/z"), Ok((models(&["x/y/z"]), false)));
        assert_eq!(chain("default"), Ok((models(&["a/b", "c/d"]), true)));
        assert_eq!(chain("coding"), Ok((models(&["a/b", "c/d"]), true)));
        assert_eq!(chain("fast"), Ok((models(&["e/f", LAST]), false)));
        assert_eq!(chain("slow"), Err(ModelError::UnknownModel));
        let none = self::routes(&[], true);
        assert_eq!(none.chain(&ModelName::clip("default")), Err(ModelError::UnknownModel));
    }

    #[test]
    fn a_task_is_listed_with_what_all_of_its_models_can_do() {
        let info = |name: &str, context, vision| ModelInfo {
            name: ModelName::clip(name),
            context,
            output: 10,
            tools: true,
            vision,
            embeds: false,
            priced: true,
            input_micros: context.into(),
            output_micros: 1,
        };
        let known = [info("a/b", 100, true), info("c/d", 50, false)];
        let routes = routes(&[("fast", &["a/b", "c/d", "e/f"]), ("coding", &["e/f"])], false);
        let listed: Vec<_> = routes.listed(&known).collect();
        assert_eq!(listed, [ModelInfo { input_micros: 100, ..info("fast", 50, false) }]);
    }
}
