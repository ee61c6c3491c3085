//! The actor that owns the desk. Whatever is asked of it is done in the order it came, one thing at a time; what
//! it hands out as errands is done elsewhere. It never waits for a peer.

use crate::desk::{Desk, Moment};
use crate::errands::Errand;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, rpc::CallResult};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Where an answer goes.
pub(crate) type Port<T> = RpcReplyPort<T>;

/// How often the desk looks at what is due. What is due is a matter of seconds.
const TICK: Duration = Duration::from_millis(500);

/// What the actor takes: something to be done at the desk.
pub(crate) enum Task {
    /// This.
    Do(Box<dyn FnOnce(&mut Desk) + Send>),
    /// Whatever is due.
    Tick,
}

/// The actor.
struct Keeper;

impl Actor for Keeper {
    type Msg = Task;
    type State = (Desk, UnboundedSender<Errand>);
    type Arguments = Self::State;

    async fn pre_start(
        &self,
        myself: ActorRef<Task>,
        arguments: Self::State,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_interval(TICK, || Task::Tick));
        Ok(arguments)
    }

    async fn handle(
        &self,
        _: ActorRef<Task>,
        task: Task,
        (desk, errands): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        desk.at(Moment::now());
        match task {
            Task::Do(work) => work(desk),
            Task::Tick => desk.tick(),
        }
        if desk.is_behind {
            // The answer is written before the desk goes on, and whoever reads it has the processor first; nothing else is
            // asked of the desk in between.
            tokio::task::yield_now().await;
            std::thread::yield_now();
            desk.drive();
        }
        for errand in desk.errands.drain(..) {
            // It ends only with the process.
            drop(errands.send(errand));
        }
        Ok(())
    }
}

/// The way to the desk.
#[derive(Clone)]
pub(crate) struct Queue(ActorRef<Task>);

impl Queue {
    /// Starts the actor; `None` if it could not be, which no state of the host leads to.
    pub(crate) async fn start(desk: Desk, errands: UnboundedSender<Errand>) -> Option<Self> {
        let (queue, _) = Actor::spawn(None, Keeper, (desk, errands)).await.ok()?;
        Some(Self(queue))
    }

    /// Has something done.
    pub(crate) fn tell(&self, work: impl FnOnce(&mut Desk) + Send + 'static) {
        drop(self.0.cast(Task::Do(Box::new(work))));
    }

    /// Has something done that answers at once.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce(&mut Desk) -> T + Send + 'static,
    ) -> Option<T> {
        self.await_answer(wait, move |desk, port| drop(port.send(work(desk)))).await
    }

    /// Has something done that answers when it can; `None` if that took longer than `wait`.
    pub(crate) async fn await_answer<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce(&mut Desk, Port<T>) + Send + 'static,
    ) -> Option<T> {
        let task = |port| Task::Do(Box::new(move |desk: &mut Desk| work(desk, port)));
        match self.0.call(task, Some(wait)).await {
            Ok(CallResult::Success(answer)) => Some(answer),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{config, said};
    use ipc_proto::router::RouterError;
    use tokio::sync::mpsc::unbounded_channel;

    async fn queue() -> (tempfile::TempDir, Queue, tokio::sync::mpsc::UnboundedReceiver<Errand>) {
        let folder = tempfile::tempdir().unwrap();
        let desk = Desk::open(&folder.path().join("queue.db"), config(), Moment::now()).unwrap();
        let (errands, out) = unbounded_channel();
        (folder, Queue::start(desk, errands).await.unwrap(), out)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_asked_is_done_in_order_and_its_errands_go_out() {
        let (_folder, queue, mut out) = queue().await;
        let long = Duration::from_secs(20);
        let ann = queue.ask(long, |desk| desk.identify(1001)).await.unwrap().unwrap().id;
        let accepted = queue.ask(long, move |desk| desk.submit(&said(ann, "s", "k", "hello"))).await.unwrap();
        assert!(
            matches!(out.recv().await, Some(Errand::Record(event, _)) if event.turn == Some(accepted.unwrap().turn))
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn whoever_waits_longer_than_they_can_is_let_go_and_nothing_else_is_held_up() {
        let (_folder, queue, mut out) = queue().await;
        let short = Duration::from_millis(20);
        assert!(queue.await_answer(short, |desk, port| desk.watch(0, port)).await.is_none());
        let person = crate::tests::bob();
        let added = queue.await_answer(short, |desk, port| desk.add_user(person, port)).await;
        assert_eq!(added, None::<Result<_, RouterError>>, "audit has not answered");
        let Some(Errand::Record(_, then)) = out.recv().await else { panic!("nothing to record") };
        queue.tell(move |desk| then(desk, true));
        let users = queue.ask(Duration::from_secs(20), |desk| desk.users().len()).await;
        assert_eq!(users, Some(4), "what was begun is done although nobody waits for it");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_due_is_done_without_being_asked() {
        let (_folder, queue, mut out) = queue().await;
        let long = Duration::from_secs(20);
        let ann = queue.ask(long, |desk| desk.identify(1001)).await.unwrap().unwrap().id;
        queue.ask(long, move |desk| desk.submit(&said(ann, "s", "k", "hello"))).await.unwrap().unwrap();
        for _ in 0..2 {
            let Some(Errand::Record(_, then)) = out.recv().await else { panic!("nothing to record") };
            queue.tell(move |desk| then(desk, false));
        }
    }
}
