//! `model` as kit runs it, and its interface for the gate. Handlers translate; the work is in the modules beside it.

use crate::answer::Step;
use crate::exchange::{self, Credproxy};
use crate::ledger::{self, Tariff};
use crate::models::{Catalogue, Plan};
use crate::routing::{Answers, Dispatcher, Worth};
use crate::streams::{Outlet, Stop, Streams};
use ipc_proto::List;
use ipc_proto::config::{Asking, Budget};
use ipc_proto::credproxy::CredproxyClient;
use ipc_proto::model::{
    self, BudgetInfo, Embedded, Embedding, GroupBy, Model, ModelError, ModelInfo, Piece, Request, StreamId,
    UsageRow,
};
use kit::{Edge, Host, OpenFault, Place};
use manifest::command::Gauge;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tarpc::context::Context;

/// The process.
pub(crate) struct Models {
    catalogue: Rc<Catalogue>,
    dispatcher: Rc<Dispatcher<Answering>>,
    running: Rc<Cell<u64>>,
}

/// The resources that were opened before the seal.
pub(crate) struct Opened {
    catalogue: Catalogue,
    ledger: ledger::Opened,
    asking: Asking,
    budget: Budget,
}

impl kit::Actor for Models {
    const PROCESS: manifest::Process = manifest::Process::Model;
    type Config = ipc_proto::config::Model;
    type Opened = Opened;

    fn open(config: Self::Config, place: &Place) -> Result<Opened, OpenFault> {
        let scripts = place.own().join("scripts");
        std::fs::create_dir_all(&scripts).map_err(|cause| OpenFault::new("the folder of scripts", cause))?;
        let ledger = ledger::Opened::open(&place.own(), config.budget.clone());
        let patience = Duration::from_secs(u64::from(config.asking.timeout_s));
        Ok(Opened {
            catalogue: Catalogue::new(scripts, config.providers).within(patience),
            ledger: ledger.map_err(|cause| OpenFault::new("the ledger", cause))?,
            asking: config.asking,
            budget: config.budget,
        })
    }

    async fn start(opened: Opened, host: Host) -> Self {
        let Opened { catalogue, ledger, asking, budget } = opened;
        let catalogue = Rc::new(catalogue);
        let credproxy = Credproxy::new(host.link::<CredproxyClient>());
        let answering = Answering { catalogue: Rc::clone(&catalogue), credproxy };
        let dispatcher = Rc::new(Dispatcher::new(answering, ledger.start(), asking, &budget));
        Self { catalogue, dispatcher, running: Rc::default() }
    }

    async fn serve(&self, edge: Edge) {
        let server = ModelServer {
            catalogue: Rc::clone(&self.catalogue),
            dispatcher: Rc::clone(&self.dispatcher),
            streams: Rc::new(Streams::new(Rc::clone(&self.running))),
        };
        edge.serve(model::FRAME_BOUND, server.serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.running.get()
    }

    fn gauges(&self) -> Vec<(Gauge, u64)> {
        vec![(Gauge::Spent, self.dispatcher.ledger().spent())]
    }
}

/// Every model there is: those that run here, and those behind credproxy.
struct Answering {
    catalogue: Rc<Catalogue>,
    credproxy: Credproxy,
}

impl Answers for Answering {
    type Plan = Plan;

    fn plan(&self, request: &Request) -> Result<Plan, ModelError> {
        self.catalogue.plan(request)
    }

    fn is_here(plan: &Plan) -> bool {
        matches!(plan, Plan::Here(_))
    }

    fn worth(&self, request: &Request) -> Worth {
        let known = self.catalogue.known(&request.model);
        let most = known.map_or(0, |known| known.output);
        let measure = dialect::count::measure(request);
        Worth {
            tariff: known.as_ref().and_then(Tariff::of),
            input: measure.tokens,
            least: measure.least,
            beyond: measure.beyond,
            output: if request.max_output == 0 { most } else { request.max_output.min(most) },
        }
    }

    async fn answer(&self, plan: Plan, outlet: Outlet, stop: Stop) {
        match plan {
            Plan::Here(steps) => play(steps, outlet, stop).await,
            Plan::Upstream(ask) => exchange::converse(self.credproxy.clone(), *ask, outlet, stop).await,
        }
    }

    fn worth_of_texts(&self, request: &Embedding) -> Worth {
        let tariff = self.catalogue.known(&request.model).as_ref().and_then(Tariff::of);
        let (input, least) = (dialect::embedding::tokens(request), dialect::embedding::least(request));
        Worth { tariff, input, least, ..Worth::default() }
    }

    async fn embed(&self, request: &Embedding) -> Result<Embedded, ModelError> {
        let ask = self.catalogue.embed(request)?;
        exchange::embed(self.credproxy.clone(), ask).await
    }
}

/// The server of one edge: the streams are this caller's own.
#[derive(Clone)]
struct ModelServer {
    catalogue: Rc<Catalogue>,
    dispatcher: Rc<Dispatcher<Answering>>,
    streams: Rc<Streams>,
}

impl Model for ModelServer {
    async fn start(self, _: Context, request: Request) -> Result<StreamId, ModelError> {
        kit::fault_point!("model.start.taken");
        let begun = self.dispatcher.begin(request).await?;
        self.streams.start(|outlet, stop| begun.run(outlet, stop))
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
        self.dispatcher.listed(&self.catalogue.list())
    }

    async fn embed(
        self,
        _: Context,
        request: Embedding,
        patience_ms: Option<u32>,
    ) -> Result<Embedded, ModelError> {
        self.dispatcher.embed(request, patience_ms.map(|ms| Duration::from_millis(ms.into()))).await
    }

    async fn count(self, _: Context, request: Request) -> Result<u32, ModelError> {
        self.dispatcher.count(request)
    }

    async fn usage(self, _: Context, by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, ModelError> {
        self.dispatcher.ledger().used(by, since_ms).await
    }

    async fn budgets(self, _: Context) -> Result<List<BudgetInfo, 64>, ModelError> {
        self.dispatcher.ledger().budgets().await
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
