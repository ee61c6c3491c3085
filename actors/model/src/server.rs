//! `model` as kit runs it, and what it answers the gate. Handlers translate; the work is in the modules beside it.

use crate::answer::Step;
use crate::models::{Catalogue, Plan};
use crate::openai::{self, Credproxy};
use crate::streams::{Outlet, Stop, Streams};
use ipc_proto::List;
use ipc_proto::credproxy::CredproxyClient;
use ipc_proto::model::{self, Model, ModelError, ModelInfo, Piece, Request, StreamId};
use kit::{Edge, Host, OpenFault, Place};
use std::cell::Cell;
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Models {
    catalogue: Rc<Catalogue>,
    credproxy: Credproxy,
    running: Rc<Cell<u64>>,
}

impl kit::Actor for Models {
    const PROCESS: manifest::Process = manifest::Process::Model;
    type Config = ipc_proto::config::Model;
    type Opened = Catalogue;

    fn open(config: Self::Config, place: &Place) -> Result<Catalogue, OpenFault> {
        let scripts = place.own().join("scripts");
        std::fs::create_dir_all(&scripts).map_err(|cause| OpenFault::new("the folder of scripts", cause))?;
        Ok(Catalogue::new(scripts, config.providers))
    }

    async fn start(opened: Catalogue, host: Host) -> Self {
        let credproxy = Credproxy::new(host.link::<CredproxyClient>());
        Self { catalogue: Rc::new(opened), credproxy, running: Rc::default() }
    }

    async fn serve(&self, edge: Edge) {
        let server = ModelServer {
            catalogue: Rc::clone(&self.catalogue),
            credproxy: self.credproxy.clone(),
            streams: Rc::new(Streams::new(Rc::clone(&self.running))),
        };
        edge.serve(model::FRAME_BOUND, server.serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.running.get()
    }
}

/// What serves one edge: the streams are this caller's own.
#[derive(Clone)]
struct ModelServer {
    catalogue: Rc<Catalogue>,
    credproxy: Credproxy,
    streams: Rc<Streams>,
}

impl Model for ModelServer {
    async fn start(self, _: Context, request: Request) -> Result<StreamId, ModelError> {
        kit::fault_point!("model.start.taken");
        match self.catalogue.plan(&request)? {
            Plan::Here(steps) => self.streams.start(|outlet, stop| play(steps, outlet, stop)),
            Plan::Upstream(ask) => {
                let credproxy = self.credproxy;
                self.streams.start(|outlet, stop| openai::converse(credproxy, ask, outlet, stop))
            }
        }
    }

    async fn next(self, _: Context, stream: StreamId, credit: u16) -> Result<List<Piece, 64>, ModelError> {
        let pieces = self.streams.next(stream, credit).await;
        kit::fault_point!("model.next.given");
        pieces
    }

    async fn cancel(self, _: Context, stream: StreamId) {
        self.streams.cancel(stream);
    }

    async fn models(self, _: Context) -> List<ModelInfo, 256> {
        self.catalogue.list()
    }
}

/// Plays the answer of a model that runs here.
async fn play(steps: Vec<Step>, outlet: Outlet, stop: Stop) {
    let playing = async {
        for step in steps {
            match step {
                Step::Give(piece) => outlet.give(piece).await,
                Step::Wait(time) => tokio::time::sleep(time).await,
            }
        }
    };
    tokio::select! { biased; _ = stop => {}, () = playing => {} }
}
