//! Tests of routing, over models that fail in every way and a real ledger.

mod money;

use super::*;
use crate::breaker::State;
use crate::ledger::{Opened, Reservation};
use crate::streams::Streams;
use ipc_proto::config::Prices;
use ipc_proto::credproxy::CredError;
use ipc_proto::ids::UserId;
use ipc_proto::model::{Finish, GroupBy, Payer, Per, StreamId, Usage};
use ipc_proto::{Name, Text};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use tempfile::TempDir;
use tokio::task::LocalSet;

/// One attempt as a model plays it.
type Play = Vec<Does>;

#[derive(Clone, Debug)]
enum Does {
    Says(&'static str),
    Waits(u64),
    Fails(ModelError),
    Ends,
}

use Does::{Ends, Fails, Says, Waits};

const DOWN: ModelError = ModelError::Server { status: 503 };

#[derive(Default)]
struct Script {
    plays: HashMap<&'static str, VecDeque<Play>>,
    asked: Vec<(String, u64)>,
    let_go: u32,
}

/// Models that follow a script, and repeat its last step.
#[derive(Clone)]
struct Models {
    script: Rc<RefCell<Script>>,
    begun: Instant,
}

impl Models {
    fn next_play(&self, model: &str) -> Option<Play> {
        let mut script = self.script.borrow_mut();
        let plays = script.plays.get_mut(model)?;
        if plays.len() > 1 { plays.pop_front() } else { plays.front().cloned() }
    }

    /// The models that were asked, and after how many seconds.
    fn asked(&self) -> Vec<(String, u64)> {
        self.script.borrow().asked.clone()
    }

    fn names(&self) -> Vec<String> {
        self.asked().into_iter().map(|(name, _)| name).collect()
    }
}

impl Answers for Models {
    type Plan = (String, Play);

    fn plan(&self, request: &Request) -> Result<Self::Plan, ModelError> {
        let play = self.next_play(&request.model).ok_or(ModelError::UnknownModel)?;
        Ok((request.model.to_string(), play))
    }

    fn is_here(plan: &Self::Plan) -> bool {
        plan.0.starts_with("offline/")
    }

    fn worth(&self, request: &Request) -> Worth {
        let each = if request.model.starts_with("offline/") { 0 } else { 1_000_000 };
        Worth {
            tariff: Some(dollars(each, each)),
            input: 10,
            least: 2,
            beyond: 0,
            output: request.max_output,
        }
    }

    async fn answer(&self, (model, play): Self::Plan, outlet: Outlet, stop: Stop) {
        let after = self.begun.elapsed().as_secs();
        self.script.borrow_mut().asked.push((model, after));
        let playing = async {
            for does in play {
                match does {
                    Says(text) => outlet.give(Piece::Text(Text::clip(text))).await,
                    Waits(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                    Fails(error) => return outlet.give(Piece::Failed(error)).await,
                    Ends => {
                        outlet.give(Piece::Usage(Usage { input: 10, output: 5, ..Usage::default() })).await;
                        outlet.give(Piece::Done(Finish::Stop)).await;
                    }
                }
            }
        };
        tokio::select! { biased; _ = stop => {}, () = playing => {} }
        // As an exchange with a provider lets its connection go.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.script.borrow_mut().let_go += 1;
    }

    fn worth_of_texts(&self, _: &Embedding) -> Worth {
        Worth { tariff: Some(dollars(1_000_000, 0)), input: 10, least: 2, beyond: 0, output: 0 }
    }

    async fn embed(&self, request: &Embedding) -> Result<Embedded, ModelError> {
        let after = self.begun.elapsed().as_secs();
        self.script.borrow_mut().asked.push((request.model.to_string(), after));
        match self.next_play(&request.model).unwrap_or_default().as_slice() {
            [Fails(error), ..] => Err(*error),
            [Waits(seconds), then @ ..] => {
                tokio::time::sleep(Duration::from_secs(*seconds)).await;
                Err(if let [Fails(error)] = then { *error } else { ModelError::Truncated })
            }
            _ => {
                let usage = Usage { input: 7, ..Usage::default() };
                Ok(Embedded { vectors: List::default(), usage, over: None })
            }
        }
    }
}

fn dollars(input: u64, output: u64) -> Tariff {
    Prices { input, output, ..Prices::default() }.into()
}

/// A dispatcher over such models.
struct World {
    models: Models,
    dispatcher: Rc<Dispatcher<Models>>,
    streams: Streams,
    running: Rc<Cell<u64>>,
    _folder: TempDir,
}

const DEFAULT_CHAIN: &[&str] = &["a/1", "b/2"];

impl World {
    fn new(plays: &[(&'static str, &[Play])]) -> Self {
        Self::with(plays, DEFAULT_CHAIN, |_| {}, Budget::default())
    }

    fn with(
        plays: &[(&'static str, &[Play])],
        chain: &[&str],
        change: impl FnOnce(&mut Asking),
        budget: Budget,
    ) -> Self {
        let plays = plays.iter().map(|(name, plays)| (*name, plays.iter().cloned().collect())).collect();
        let script = Rc::new(RefCell::new(Script { plays, ..Script::default() }));
        let models = Models { script, begun: Instant::now() };
        let folder = tempfile::tempdir().unwrap();
        let chain = chain.iter().map(|name| (*name).to_owned()).collect();
        let mut asking = Asking { route: [("default".to_owned(), chain)].into(), ..Asking::default() };
        change(&mut asking);
        let ledger = Opened::open(folder.path(), budget.clone()).unwrap().start();
        let dispatcher = Rc::new(Dispatcher::new(models.clone(), ledger, asking, &budget));
        let running = Rc::new(Cell::new(0));
        Self { models, dispatcher, streams: Streams::new(Rc::clone(&running)), running, _folder: folder }
    }

    async fn start(&self, model: &str) -> Result<StreamId, ModelError> {
        let begun = Rc::clone(&self.dispatcher).begin(request(model)).await?;
        let id = self.streams.start(|outlet, stop| begun.run(outlet, stop))?;
        // It begins when it is first pulled.
        self.streams.next(id, 0).await?;
        Ok(id)
    }

    /// Everything that the answer gave.
    async fn ask(&self, model: &str) -> Vec<Piece> {
        let id = self.start(model).await.unwrap();
        let mut pieces = Vec::new();
        while !matches!(pieces.last(), Some(Piece::Done(_) | Piece::Failed(_))) {
            pieces.extend(self.streams.next(id, 64).await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        pieces
    }

    async fn cost(&self) -> Vec<(String, u64)> {
        let rows = self.dispatcher.ledger().used(GroupBy::Model, 0).await.unwrap();
        rows.iter().map(|row| (row.group.to_string(), row.cost_micros)).collect()
    }
}

fn request(model: &str) -> Request {
    let payer = Payer { agent: Some(Name::clip("helper")), ..Payer::of(UserId::from_bytes([1; 16])) };
    Request { max_output: 90, ..Request::new(ModelName::clip(model), List::default(), payer) }
}

fn run(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// The text given, with an `!` and the names for each change of model.
fn told(pieces: &[Piece]) -> Vec<String> {
    let word = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.to_string()),
        Piece::Failover { from, why, to } => {
            let code = why.to_string();
            Some(format!("!{from} {} {to}", code.split(':').next().unwrap_or_default()))
        }
        Piece::OverBudget { per } => Some(format!("over the budget per {per}")),
        Piece::Failed(error) => Some(error.to_string().split(':').next().unwrap_or_default().to_owned()),
        _ => None,
    };
    pieces.iter().filter_map(word).collect()
}

fn well(text: &'static str) -> Play {
    vec![Says(text), Ends]
}

// Holds B-61, P8-35.
#[test]
fn a_named_model_is_asked_again_after_growing_waits_and_never_replaced() {
    run(async {
        let fails = vec![Fails(DOWN)];
        let world =
            World::new(&[("a/1", &[fails.clone(), fails.clone(), well("hi")]), ("b/2", &[well("no")])]);
        assert_eq!(told(&world.ask("a/1").await), ["hi"], "what was not said need not be told");
        let asked = world.models.asked();
        assert_eq!(asked.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a/1"; 3]);
        assert!(asked[1].1 >= 1 && (3..=4).contains(&asked[2].1), "{asked:?}");
        let world = World::new(&[("a/1", &[fails]), ("b/2", &[well("no")])]);
        assert_eq!(told(&world.ask("a/1").await), ["LLM_SERVER_ERROR"]);
        assert_eq!(world.models.names(), ["a/1"; 4], "three retries");
        assert!(world.cost().await.is_empty(), "a provider that refused was paid nothing");
    });
}

// Holds B-161.
#[test]
fn a_short_answer_is_one_pull() {
    run(async {
        let world = World::new(&[("a/1", &[well("hi")])]);
        let id = world.start("a/1").await.unwrap();
        let pieces = world.streams.next(id, 64).await.unwrap();
        assert!(matches!(&pieces[..], [Piece::Text(_), Piece::Usage(_), Piece::Done(_)]), "{pieces:?}");
    });
}

// Holds P8-35.
#[test]
fn a_task_asks_the_next_model_at_once_and_says_so() {
    run(async {
        let world = World::new(&[("a/1", &[vec![Fails(DOWN)]]), ("b/2", &[well("hi")])]);
        assert_eq!(told(&world.ask("default").await), ["!a/1 LLM_SERVER_ERROR b/2", "hi"]);
        assert_eq!(world.models.asked().last().unwrap().1, 0, "nobody waited");
        assert_eq!(told(&world.ask("fast").await), ["!a/1 LLM_UNAVAILABLE b/2", "hi"]);
        assert_eq!(world.models.names(), ["a/1", "b/2", "b/2"], "it cools down");
        tokio::time::sleep(Duration::from_secs(31)).await;
        world.ask("default").await;
        assert_eq!(world.models.names()[3], "a/1");
        assert_eq!(world.cost().await, [("b/2".to_owned(), 45)]);
    });
}

// Holds B-61.
#[test]
fn each_failure_does_what_its_class_says() {
    let table: [(ModelError, &[&str], &[&str]); 6] = [
        (ModelError::Auth, &["LLM_AUTH_ERROR"], &["!a/1 LLM_AUTH_ERROR b/2", "hi"]),
        (ModelError::UnknownModel, &["LLM_UNKNOWN_MODEL"], &["!a/1 LLM_UNKNOWN_MODEL b/2", "hi"]),
        (
            ModelError::TooLong { context: 1 },
            &["LLM_CONTEXT_TOO_LONG"],
            &["!a/1 LLM_CONTEXT_TOO_LONG b/2", "hi"],
        ),
        (ModelError::Rejected { status: 400 }, &["LLM_REQUEST_ERROR"], &["!a/1 LLM_REQUEST_ERROR b/2", "hi"]),
        (ModelError::Credentials(CredError::NoSecret), &["LLM_ERROR"], &["!a/1 LLM_ERROR b/2", "hi"]),
        (ModelError::Ledger, &["LLM_ERROR"], &["LLM_ERROR"]),
    ];
    for (error, named, task) in table {
        run(async {
            let plays: &[(&str, &[Play])] = &[("a/1", &[vec![Fails(error)]]), ("b/2", &[well("hi")])];
            let world = World::new(plays);
            assert_eq!(told(&world.ask("a/1").await), named, "{error}");
            assert_eq!(world.models.names(), ["a/1"], "{error} is not asked again");
            assert_eq!(told(&World::new(plays).ask("default").await), task, "{error}");
        });
    }
}

// Holds P8-35.
#[test]
fn what_was_said_before_a_failure_is_void_and_that_is_told() {
    run(async {
        let cut = vec![Says("so far"), Fails(ModelError::Truncated)];
        let world = World::new(&[("a/1", &[cut.clone(), well("whole")]), ("b/2", &[well("other")])]);
        let again = "!a/1 LLM_TRUNCATED a/1";
        assert_eq!(told(&world.ask("a/1").await), ["so far", again, "whole"]);
        assert_eq!(world.cost().await, [("a/1".to_owned(), 10 + 2 + 15)], "what was said was paid for");
        let world = World::new(&[("a/1", &[cut]), ("b/2", &[well("other")])]);
        assert_eq!(told(&world.ask("default").await), ["so far", "!a/1 LLM_TRUNCATED b/2", "other"]);
    });
}

// Holds B-61.
#[test]
fn a_providers_wait_holds_for_the_one_request() {
    run(async {
        let limited = |retry_after_s| vec![Fails(ModelError::RateLimited { retry_after_s })];
        let world = World::new(&[("a/1", &[limited(40), well("late"), well("soon")])]);
        let id = world.start("a/1").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(told(&world.ask("a/1").await), ["late"], "another request is not held up");
        assert_eq!(world.models.asked()[1].1, 1);
        while world.streams.next(id, 8).await.unwrap().is_empty() {}
        assert_eq!(world.models.asked()[2].1, 40);
        // Longer than the longest wait: reported at once.
        let world = World::new(&[("a/1", &[limited(121)])]);
        let before = Instant::now();
        assert_eq!(told(&world.ask("a/1").await), ["LLM_RATE_LIMITED"]);
        assert!(before.elapsed().as_secs() < 2);
    });
}

// Holds B-62.
#[test]
fn silence_is_waited_for_so_long_and_no_longer() {
    run(async {
        let slow = vec![Waits(119), Says("a"), Waits(119), Says("b"), Waits(119), Ends];
        let world = World::new(&[("a/1", &[slow]), ("b/2", &[well("hi")])]);
        assert_eq!(told(&world.ask("a/1").await), ["a", "b"]);
        let world = World::new(&[("a/1", &[vec![Waits(121), Ends]]), ("b/2", &[well("hi")])]);
        assert_eq!(told(&world.ask("a/1").await), ["LLM_TIMEOUT"]);
        assert_eq!(world.models.names(), ["a/1"], "its time was up");
        assert_eq!(world.cost().await, [("a/1".to_owned(), 10)], "it may have read the request");
        assert_eq!(told(&world.ask("default").await)[0], "!a/1 LLM_UNAVAILABLE b/2");
        let world = World::new(&[("offline/x", &[vec![Waits(600), Says("hi"), Ends]])]);
        assert_eq!(told(&world.ask("offline/x").await), ["hi"], "a script may wait as long as it says");
    });
}

// Holds B-63.
#[test]
fn five_failures_in_a_row_keep_everybody_away_for_half_a_minute() {
    run(async {
        let world = World::new(&[("a/1", &[vec![Fails(DOWN)]])]);
        world.ask("a/1").await;
        assert_eq!(told(&world.ask("a/1").await), ["LLM_SERVER_ERROR"]);
        assert_eq!(world.models.names().len(), 5);
        let refused = world.start("a/1").await.err();
        assert!(matches!(refused, Some(ModelError::CoolingDown { again_s: 29..=30 })), "{refused:?}");
        tokio::time::sleep(Duration::from_secs(31)).await;
        world.models.script.borrow_mut().plays.insert("a/1", [well("back")].into());
        assert_eq!(told(&world.ask("a/1").await), ["back"]);
        assert_eq!(told(&world.ask("a/1").await), ["back"]);
    });
}

// Holds P8-35.
#[test]
fn the_offline_model_is_the_last_resort_of_a_task_where_that_is_asked_for() {
    run(async {
        let plays: &[(&str, &[Play])] =
            &[("a/1", &[vec![Fails(ModelError::Auth)]]), ("offline/reader", &[well("found")])];
        let fallback = |asking: &mut Asking| asking.offline_fallback = true;
        let world = World::with(plays, &["a/1"], fallback, Budget::default());
        assert_eq!(told(&world.ask("default").await), ["!a/1 LLM_AUTH_ERROR offline/reader", "found"]);
        assert_eq!(told(&world.ask("a/1").await), ["LLM_AUTH_ERROR"], "a named model is never replaced");
        let world = World::with(plays, &["a/1"], |_| {}, Budget::default());
        assert_eq!(told(&world.ask("default").await), ["LLM_AUTH_ERROR"]);
    });
}

// Holds P8-36.
#[test]
fn a_cancelled_answer_releases_everything_at_every_stage() {
    let stages: [(&[Play], u64); 4] = [
        (&[vec![Waits(100), Ends]], 10),
        (&[vec![Says("a"), Waits(100), Ends]], 10),
        (&[vec![Fails(DOWN)]], 2),
        (&[vec![Says("a"), Fails(DOWN)], vec![Waits(100)]], 3),
    ];
    for (plays, after) in stages {
        run(async {
            let budget = Budget { day: Some(1000), ..Budget::default() };
            let world = World::with(&[("a/1", plays)], DEFAULT_CHAIN, |_| {}, budget);
            let id = world.start("a/1").await.unwrap();
            tokio::time::sleep(Duration::from_secs(after)).await;
            world.streams.cancel(id);
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(world.running.get(), 0, "{plays:?}");
            let let_go = world.models.script.borrow().let_go;
            assert_eq!(usize::try_from(let_go).unwrap(), world.models.names().len(), "{plays:?}");
            let budgets = world.dispatcher.ledger().budgets().await.unwrap();
            assert_eq!(budgets[0].reserved_micros, 0, "{plays:?}");
        });
    }
}

#[test]
fn an_answer_that_is_not_taken_holds_the_model_up() {
    run(async {
        let world = World::new(&[("a/1", &[vec![Says("x"); 500]])]);
        let id = world.start("a/1").await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(world.running.get(), 1);
        let first = world.streams.next(id, 64).await.unwrap();
        assert_eq!(first.len(), 64);
        world.streams.cancel(id);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.models.script.borrow().let_go, 1);
    });
}

#[test]
fn options_that_a_request_leaves_open_are_the_configured_ones() {
    run(async {
        let options = |asking: &mut Asking| {
            (asking.temperature, asking.stop) = (Some(700), vec!["END".to_owned()]);
        };
        let world = World::with(&[("a/1", &[well("hi")])], DEFAULT_CHAIN, options, Budget::default());
        let open = Request { max_output: 0, ..request("a/1") };
        let begun = Rc::clone(&world.dispatcher).begin(open).await.unwrap();
        let filled = &begun.request;
        assert_eq!((filled.max_output, filled.temperature, filled.stop.len()), (4096, Some(700), 1));
        let own = Request { temperature: Some(0), ..request("a/1") };
        let begun = Rc::clone(&world.dispatcher).begin(own).await.unwrap();
        assert_eq!((begun.request.max_output, begun.request.temperature), (90, Some(0)));
    });
}

fn texts(model: &str) -> Embedding {
    let payer = request(model).payer;
    Embedding { model: ModelName::clip(model), texts: List::default(), dimensions: None, payer }
}

// Holds P7-77.
#[test]
fn an_unfinished_embedding_may_cost_and_a_refused_one_does_not() {
    run(async {
        for (error, micros) in [
            (ModelError::Truncated, Some(10)),
            (ModelError::InvalidJson, Some(10)),
            (ModelError::Auth, None),
            (ModelError::Credentials(CredError::NoSecret), None),
        ] {
            let once = |asking: &mut Asking| asking.retries = 0;
            let plays: &[(&str, &[Play])] = &[("a/1", &[vec![Fails(error)]])];
            let world = World::with(plays, &[], once, Budget::default());
            assert_eq!(world.dispatcher.embed(texts("a/1"), None).await.err(), Some(error));
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(world.cost().await.first().map(|row| row.1), micros, "{error}");
        }
        let world = World::new(&[("a/1", &[vec![Waits(60)]])]);
        let given_up =
            tokio::time::timeout(Duration::from_secs(1), world.dispatcher.embed(texts("a/1"), None));
        assert!(given_up.await.is_err());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.cost().await, [("a/1".to_owned(), 10)]);
    });
}

#[test]
fn an_embedding_is_asked_again_and_never_of_another_model() {
    run(async {
        let fails = vec![Fails(DOWN)];
        let world = World::new(&[("a/1", &[fails.clone(), fails, vec![]])]);
        let texts = texts("a/1");
        assert_eq!(world.dispatcher.embed(texts.clone(), None).await.map(|it| it.usage.input), Ok(7));
        assert_eq!(world.models.names(), ["a/1"; 3]);
        assert_eq!(world.cost().await, [("a/1".to_owned(), 7)]);
        let task = Embedding { model: ModelName::clip("default"), ..texts };
        assert_eq!(world.dispatcher.embed(task, None).await.err(), Some(ModelError::UnknownModel));
    });
}

// Holds P5-20.
#[test]
fn a_caller_with_a_short_patience_learns_the_failure() {
    run(async {
        let world = World::new(&[("a/1", &[vec![Fails(DOWN)], vec![Fails(DOWN)], vec![Fails(DOWN)]])]);
        let begun = Instant::now();
        let patience = Duration::from_millis(2500);
        assert_eq!(world.dispatcher.embed(texts("a/1"), Some(patience)).await.err(), Some(DOWN));
        assert!(begun.elapsed() < patience, "they still wait for it");
        assert!(world.models.names().len() < 3, "a further attempt would have come too late");
        let world = World::new(&[("a/1", &[vec![Waits(60)]])]);
        for _ in 0..5 {
            let silent = world.dispatcher.embed(texts("a/1"), Some(patience)).await;
            assert_eq!(silent.err(), Some(ModelError::Timeout));
        }
        let state = || world.dispatcher.breaker.borrow().state(&ModelName::clip("a/1"), Instant::now());
        assert_eq!(state(), State::Ready, "who did not wait says nothing of it to others");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(world.cost().await, [("a/1".to_owned(), 50)], "it may have read each of them");
        assert_eq!(world.dispatcher.embed(texts("a/1"), None).await.err(), Some(ModelError::Truncated));
        assert_ne!(state(), State::Ready);
    });
}

// Holds P5-20.
#[test]
fn the_last_failure_is_reported_when_time_runs_out() {
    run(async {
        // The first breaks off after two seconds. The next is asked at once, or a second later and half at most.
        let lost = ModelError::Credentials(CredError::NoReply);
        let world = World::new(&[("a/1", &[vec![Waits(2)], vec![Waits(60)]])]);
        let told = world.dispatcher.embed(texts("a/1"), Some(Duration::from_secs(4))).await;
        assert_eq!(told.err(), Some(ModelError::Truncated));
        assert_eq!(world.models.names().len(), 2, "it was asked again");
        let world = World::new(&[("a/1", &[vec![Waits(2), Fails(lost)], vec![Waits(60)]])]);
        let told = world.dispatcher.embed(texts("a/1"), Some(Duration::from_millis(2500))).await;
        assert_eq!(told.err(), Some(lost));
        assert_eq!(world.models.names().len(), 2, "it was asked again");
    });
}

#[test]
fn a_task_without_models_is_unknown_and_a_count_knows_its_names() {
    run(async {
        let world = World::with(&[("a/1", &[well("hi")])], &[], |_| {}, Budget::default());
        assert_eq!(world.start("default").await, Err(ModelError::UnknownModel));
        assert_eq!(world.dispatcher.count(request("fast")), Err(ModelError::UnknownModel));
        assert_eq!(world.dispatcher.count(request("a/1")), Ok(10));
        assert_eq!(world.start("none/x").await, Err(ModelError::UnknownModel));
    });
}

// Holds B-64.
#[test]
fn a_request_that_does_not_fit_beside_those_that_are_kept_is_made_once() {
    run(async {
        let plays: &[(&str, &[Play])] = &[("a/1", &[vec![Fails(DOWN)], well("hi")]), ("b/2", &[well("no")])];
        let world = World::new(plays);
        let mut long = request("default");
        long.messages = List::clip([ipc_proto::model::Message::text(ipc_proto::model::Role::User, "hello")]);
        world.dispatcher.replayable.set(replay_memory::BOUND - 4);
        let begun = Rc::clone(&world.dispatcher).begin(long.clone()).await.unwrap();
        let id = world.streams.start(|outlet, stop| begun.run(outlet, stop)).unwrap();
        let pieces = world.streams.next(id, 8).await.unwrap();
        assert_eq!(told(&pieces), ["LLM_SERVER_ERROR"]);
        assert_eq!(world.models.names(), ["a/1"], "what is not there cannot be asked of anybody else");
        world.dispatcher.replayable.set(0);
        let begun = Rc::clone(&world.dispatcher).begin(long).await.unwrap();
        let id = world.streams.start(|outlet, stop| begun.run(outlet, stop)).unwrap();
        world.streams.next(id, 0).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(told(&world.streams.next(id, 8).await.unwrap()).last().map(String::as_str), Some("no"));
        assert_eq!(world.dispatcher.replayable.get(), 0, "it is let go with its answer");
    });
}

#[test]
fn a_request_that_nobody_runs_gives_its_money_back() {
    run(async {
        let budget = Budget { day: Some(1000), ..Budget::default() };
        let world = World::with(&[("a/1", &[well("hi")])], DEFAULT_CHAIN, |_| {}, budget);
        let begun = Rc::clone(&world.dispatcher).begin(request("a/1")).await.unwrap();
        let held: Option<&Reservation> = begun.first.as_ref().map(|attempt| &attempt.reservation);
        assert!(held.is_some());
        // Ten tokens to read, which a provider may count as forty and a thousand, and ninety to write, and a quarter.
        assert_eq!(world.dispatcher.ledger().budgets().await.unwrap()[0].reserved_micros, 1040 + 112);
        drop(begun);
        assert_eq!(world.dispatcher.ledger().budgets().await.unwrap()[0].reserved_micros, 0);
    });
}
