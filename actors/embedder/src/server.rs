//! The process: the model's files, opened before the seal, and the one method. The model is loaded when the first text
//! comes and unloaded when none has come for a while. A model that cannot be used is reported with the reason, and is
//! tried again ever more seldom.

use crate::machine;
use crate::model::{Fault, Model};
use ipc_proto::config;
use ipc_proto::embedder::{Embedder, EmbedderError, FRAME_BOUND, LOCAL};
use ipc_proto::memory::{RAW_BOUND, Vector};
use ipc_proto::{Blob, Name, Text};
use kit::{Edge, Host, OpenFault, Place};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tarpc::context::Context;
use weights::Folder;

/// How often it is looked whether the model is still in use.
const LOOK: Duration = Duration::from_millis(500);

/// How long a model is left alone that could not be loaded: at first, and at most.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

/// The process.
pub(crate) struct Process {
    state: Rc<State>,
}

/// The state of the model.
enum ModelState {
    /// Not loaded.
    Nothing,
    /// Loaded.
    Model(Box<Model>),
    /// The model was unusable when it was tried last.
    Unusable(Broken),
}

/// A model that could not be loaded.
struct Broken {
    error: EmbedderError,
    /// How often it was tried.
    tries: u32,
    /// When it is tried again.
    again: Instant,
}

/// The pause before a model that failed to load is tried again.
fn pause(tries: u32) -> Duration {
    FIRST.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(LONGEST)
}

/// The model and its files.
struct State {
    config: config::Embedder,
    folder: Folder,
    model_state: RefCell<ModelState>,
    /// When a text came last.
    used: Cell<Instant>,
}

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Embedder;
    type Config = config::Embedder;
    type Opened = (config::Embedder, Folder);

    fn open(config: config::Embedder, _: &Place) -> Result<Self::Opened, OpenFault> {
        machine::ask().map_err(|fault| OpenFault::new("the numerical libraries", fault))?;
        let folder = Folder::open(Path::new(&config.folder));
        let folder = folder.map_err(|unusable| OpenFault::new("[embedder] folder", unusable))?;
        Ok((config, folder))
    }

    async fn start((config, folder): Self::Opened, _: Host) -> Self {
        let (model_state, used) = (RefCell::new(ModelState::Nothing), Cell::new(Instant::now()));
        let state = Rc::new(State { config, folder, model_state, used });
        drop(tokio::task::spawn_local(look_after(Rc::clone(&state))));
        Self { state }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Serving(Rc::clone(&self.state)).serve()).await;
    }
}

/// Unloads the model when it has not been used for a while, and retries one that could not be loaded.
async fn look_after(state: Rc<State>) {
    let idle = Duration::from_secs(state.config.idle_seconds.into());
    loop {
        tokio::time::sleep(LOOK).await;
        let mut model_state = state.model_state.borrow_mut();
        if matches!(*model_state, ModelState::Model(_)) && state.used.get().elapsed() >= idle {
            *model_state = ModelState::Nothing;
            tracing::info!("the model is let go of");
        }
        drop(model_state);
        state.try_again();
    }
}

#[derive(Clone)]
struct Serving(Rc<State>);

impl Embedder for Serving {
    async fn embed(self, _: Context, by: Name, text: Text<RAW_BOUND>) -> Result<Vector, EmbedderError> {
        let vector = self.0.embed(by, &text);
        // Many texts that wait must not keep the process from saying that it is alive.
        tokio::task::yield_now().await;
        vector
    }

    async fn sound(self, _: Context) -> Result<(), EmbedderError> {
        match &*self.0.model_state.borrow() {
            ModelState::Unusable(broken) => Err(broken.error.clone()),
            ModelState::Nothing | ModelState::Model(_) => Ok(()),
        }
    }
}

impl State {
    fn embed(&self, by: Name, text: &str) -> Result<Vector, EmbedderError> {
        if by.as_str() != self.config.name {
            return Err(EmbedderError::OtherModel);
        }
        let mut model_state = self.model_state.borrow_mut();
        if matches!(*model_state, ModelState::Nothing) {
            *model_state = self.load(0);
        }
        let values = match &*model_state {
            ModelState::Model(model) => model.vector(text).map_err(|fault| refusal(&fault)),
            ModelState::Unusable(broken) => Err(broken.error.clone()),
            ModelState::Nothing => Err(EmbedderError::Nothing),
        };
        // Loading takes a while as well, and counts as use.
        self.used.set(Instant::now());
        let bytes: Vec<u8> = values?.iter().flat_map(|value| value.to_le_bytes()).collect();
        Ok(Vector { by, values: Blob::new(bytes).map_err(|_| EmbedderError::Nothing)? })
    }

    /// Loads a model anew that could not be, where it is time to.
    fn try_again(&self) {
        let mut model_state = self.model_state.borrow_mut();
        if let ModelState::Unusable(broken) = &*model_state
            && Instant::now() >= broken.again
        {
            let tries = broken.tries;
            *model_state = self.load(tries);
            self.used.set(Instant::now());
        }
    }

    /// Loads the model, after it failed this often.
    fn load(&self, tries: u32) -> ModelState {
        let began = Instant::now();
        let loaded = Model::load(&self.folder).map_err(|fault| refusal(&fault)).and_then(|model| {
            let same = self.config.name.strip_prefix(LOCAL) == Some(&model.hash);
            if same { Ok(model) } else { Err(EmbedderError::Changed) }
        });
        match loaded {
            Ok(model) => {
                let ms = began.elapsed().as_millis();
                tracing::info!(name = %self.config.name, ms, "the model is loaded");
                ModelState::Model(Box::new(model))
            }
            Err(error) => {
                let tries = tries.saturating_add(1);
                let pause = pause(tries);
                tracing::error!(%error, again_s = pause.as_secs(), "no vectors are made");
                ModelState::Unusable(Broken { error, tries, again: Instant::now() + pause })
            }
        }
    }
}

fn refusal(fault: &Fault) -> EmbedderError {
    match fault {
        Fault::Nothing => EmbedderError::Nothing,
        fault => EmbedderError::Unusable(Text::clip(&fault.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P7-23.
    #[test]
    fn a_broken_model_is_retried_ever_more_seldom() {
        let pauses: Vec<u64> = (1..=8).map(|tries| pause(tries).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(pause(u32::MAX), LONGEST);
    }
}
