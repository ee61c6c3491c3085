//! A crash between any two statements, and one after any effect: what was acknowledged is there, whole, and comes
//! to one end; what was not, never was.

use super::world::World;
use super::{answer, approval, asking, decided, question, reply, result, said, web};
use crate::message_state;
use crate::state::RouterState;
use crate::state::live::Phase;
use crate::state::moment::Moment;
use crate::state::requests::NewStep;
use crate::store::{BETWEEN, Store};
use ipc_proto::approval::{Reply, State};
use ipc_proto::ids::{MessageId, TurnId};
use ipc_proto::label::Label;
use ipc_proto::router::{CallVerdict, MessageState};
use manifest::command::Ended;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Queries that find nothing in a sound queue, and the law that a row would break.
const NEVER: [(&str, &str); 10] = [
    (
        "no session is there in half",
        "SELECT count(*) FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM messages WHERE session = s.id)
         OR NOT EXISTS (SELECT 1 FROM workspaces WHERE id = s.workspace)",
    ),
    (
        "a message is counted in its session with its first step",
        "SELECT count(*) FROM sessions s WHERE s.messages !=
         (SELECT count(*) FROM messages WHERE session = s.id AND state != 'accepted')",
    ),
    (
        "a message's first row of its states comes with its first step",
        "SELECT count(*) FROM messages WHERE (state = 'accepted') =
         EXISTS (SELECT 1 FROM states WHERE message = seq AND number = 0 AND state = 'accepted')",
    ),
    (
        "one key is one message",
        "SELECT count(*) FROM (SELECT 1 FROM messages GROUP BY user, channel, key HAVING count(*) > 1)",
    ),
    (
        "a turn and its questions end together",
        "SELECT count(*) FROM approvals a JOIN messages m ON m.turn = a.turn
         WHERE a.state IN ('pending', 'approved') AND m.state NOT IN ('accepted', 'queued', 'running')",
    ),
    (
        "a claim and its step are one change",
        "SELECT count(*) FROM approvals a WHERE a.state = 'claimed' AND NOT EXISTS (
         SELECT 1 FROM steps s WHERE s.message = a.message AND s.step LIKE '{\"Decided\"%\"Run\"%')",
    ),
    (
        "what was decided and its end are one change",
        "SELECT count(*) FROM ends e JOIN messages m ON m.seq = e.message
         WHERE m.state NOT IN ('accepted', 'queued', 'running')",
    ),
    (
        "a dead letter becomes one that was requeued with its successor",
        "SELECT count(*) FROM messages WHERE (state = 'requeued') != (successor IS NOT NULL)",
    ),
    (
        "a dead letter and its successor know each other",
        "SELECT count(*) FROM messages o LEFT JOIN messages n ON n.predecessor = o.id
         WHERE o.successor IS NOT n.id",
    ),
    (
        "steps have no gaps",
        "SELECT count(*) FROM (SELECT message, max(number) + 1 AS m, count(*) AS c FROM steps GROUP BY message)
         WHERE m != c",
    ),
];

/// Checks the laws of a queue after a crash: no state is impossible, and nothing is there in half.
pub(crate) fn laws_hold(file: &Path) {
    let store = Store::open(file).unwrap();
    let db = store.raw();
    for info in store.messages(None, 1000, false, 0).unwrap() {
        let head = store.message(info.id).unwrap().unwrap();
        let passed = store.trace(head.seq).unwrap();
        let trace = super::states(&passed);
        assert_eq!(trace.first(), Some(&MessageState::Accepted));
        assert_eq!(trace.last(), Some(&head.state));
        assert!(trace.windows(2).all(|pair| message_state::find(pair[0], pair[1]).is_some()), "{trace:?}");
        let later = [MessageState::Delivered, MessageState::Requeued];
        let ends = trace.iter().filter(|it| message_state::over(**it) && !later.contains(*it)).count();
        let finished = store.finished(head.seq).unwrap();
        assert_eq!(ends, usize::from(message_state::over(head.state)), "one end each");
        assert_eq!(
            finished.is_some(),
            message_state::over(head.state),
            "an end and its outbox row are one change"
        );
        assert!(
            finished
                .is_none_or(|it| message_state::of_end(&it.end) == head.state || later.contains(&head.state))
        );
        // A launch that the host refused is no attempt: the number goes back with the message.
        let refused = passed
            .windows(2)
            .filter(|pair| pair[0].state == MessageState::Running && pair[1].attempt < pair[0].attempt);
        let launched = trace.iter().filter(|it| **it == MessageState::Running).count();
        assert_eq!(usize::try_from(head.attempts).unwrap(), launched - refused.count());
        assert_eq!(store.message_label(head.seq).unwrap().is_some(), trace.contains(&MessageState::Queued));
        store.content(head.seq).unwrap();
        let session = store.session(head.session).unwrap();
        let steps = store.steps(head.seq).unwrap();
        assert!(steps.iter().all(|kept| kept.label.within(&session.label)), "labels never fall");
        assert!(steps.windows(2).all(|pair| pair[0].label.within(&pair[1].label)));
        let workspace = store.workspace(session.workspace).unwrap().unwrap();
        let raised = steps.iter().any(|kept| matches!(kept.step, ipc_proto::router::Step::Result { .. }));
        assert!(!raised || web().within(&workspace.label), "a step and the label it raises are one change");
    }
    for (what, sql) in NEVER {
        let found: u32 = db.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(found, 0, "{what}");
    }
}

fn keep(world: &mut World, turn: TurnId, number: u32, step: ipc_proto::router::Step, label: Label) -> bool {
    let new = NewStep { number, step, workspace: label.clone(), session: label };
    world.ask(|router, port| router.step(turn, new, port)) == Some(Ok(()))
}

/// The acknowledgements that the world has got.
#[derive(Clone, Default)]
struct Promised {
    accepted: Vec<MessageId>,
    steps: usize,
    approved: bool,
    answered: bool,
    /// Ended by a person: they do not come back.
    ended: Vec<MessageId>,
}

/// One life with a retry, steps, a label that rises, a delivery, a cancelled message and a session that ends.
fn life(world: &mut World, promised: &mut impl FnMut(&mut dyn FnMut(&mut Promised))) {
    let ann = world.id(1001);
    let first = world.submit(&said(ann, "s", "1", "question")).unwrap();
    promised(&mut |it| it.accepted.push(first.message));
    let second = world.submit(&said(ann, "s", "2", "never mind")).unwrap();
    promised(&mut |it| it.accepted.push(second.message));
    assert!(keep(world, first.turn, 0, reply(1), Label::bottom()));
    promised(&mut |it| it.steps = 1);
    world.runner_ends(first.turn, Ended::Killed, 9);
    world.pass(1000);
    assert!(keep(world, first.turn, 1, result(1, "found"), web()));
    promised(&mut |it| it.steps = 2);
    assert_eq!(world.keep(first.turn, 2, asking(3)), Ok(()));
    let question = question(3, world.ms + 300_000);
    world.act(|router| router.ask(first.turn, &question)).unwrap();
    promised(&mut |it| it.steps = 3);
    world.answer(None, &question, Reply::Session).unwrap();
    promised(&mut |it| it.approved = true);
    assert_eq!(world.keep(first.turn, 3, decided(3, CallVerdict::Run)), Ok(()));
    promised(&mut |it| it.steps = 4);
    world.ask(|router, port| router.cancel(None, second.turn, port)).unwrap().unwrap();
    world.finish(first.turn, answer("reply")).unwrap().unwrap();
    promised(&mut |it| it.answered = true);
    world.ask(|router, port| router.follow(None, first.turn, 0, 64, port)).unwrap().unwrap();
    world.ask(|router, port| router.end_session(None, &ipc_proto::Text::clip("s"), port)).unwrap().unwrap();
    let dead = world.poison("t");
    promised(&mut |it| it.accepted.push(dead.message));
    let again = world.requeue(None, dead.message, None).unwrap().unwrap();
    promised(&mut |it| it.accepted.push(again.message));
    world.pause(None, Some("t"), true).unwrap().unwrap();
    let back = world.say("t", "no, wait");
    promised(&mut |it| it.accepted.push(back.message));
    world.recall(None, back.message).unwrap().unwrap();
    promised(&mut |it| it.ended.push(back.message));
    world.stop(None, None).unwrap().unwrap();
    promised(&mut |it| it.ended.push(again.message));
    world.pause(None, Some("t"), false).unwrap().unwrap();
}

fn copy_queue(from: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    for name in ["queue.db", "queue.db-wal"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    to.join("queue.db")
}

// Holds P7-09.
#[test]
fn a_crash_between_any_two_statements_breaks_no_promise() {
    let mut world = World::new();
    let snapshots = tempfile::tempdir().unwrap();
    let promised = Rc::new(RefCell::new(Promised::default()));
    let taken = Rc::new(RefCell::new(Vec::<(PathBuf, Promised)>::new()));
    let (from, to) = (world.folder.path().to_owned(), snapshots.path().to_owned());
    let (told, kept) = (Rc::clone(&promised), Rc::clone(&taken));
    BETWEEN.set(Some(Box::new(move || {
        let mut kept = kept.borrow_mut();
        let file = copy_queue(&from, &to.join(kept.len().to_string()));
        kept.push((file, told.borrow().clone()));
    })));
    life(&mut world, &mut |change| change(&mut promised.borrow_mut()));
    BETWEEN.set(None);
    let taken = taken.borrow();
    assert!(taken.len() > 50, "only {} places", taken.len());
    for (file, promised) in taken.iter() {
        let mut opened = RouterState::open(file, world.config.clone(), Moment::now()).unwrap();
        for id in &promised.ended {
            let head = opened.store.message(*id).unwrap().unwrap();
            let ends = opened.live(head.seq).is_none_or(|live| matches!(live.phase, Phase::Ending(_)));
            assert!(ends, "what a person has ended does not go on");
        }
        drop(opened);
        laws_hold(file);
        let store = Store::open(file).unwrap();
        for id in &promised.accepted {
            let head = store.message(*id).unwrap().expect("an acknowledged message is there");
            if *id == promised.accepted[0] {
                assert!(store.steps(head.seq).unwrap().len() >= promised.steps);
                assert!(!promised.answered || message_state::over(head.state));
                let asked = store.asked(approval(3)).unwrap();
                assert!(promised.steps < 3 || asked.is_some(), "a question that was promised is kept");
                let state = asked.map(|it| it.state_at(0));
                let used = promised.steps < 4 || state == Some(State::Claimed);
                assert!(
                    used && (!promised.approved || matches!(state, Some(State::Approved | State::Claimed)))
                );
            }
        }
    }
}

// Holds P7-09.
#[test]
fn a_crash_after_any_effect_leads_to_one_answer_and_one_runner() {
    let mut places = 0;
    for left in 0.. {
        let mut world = World::new();
        let ann = world.id(1001);
        world.effects_left = Some(left);
        let accepted = world.submit(&said(ann, "s", "1", "question")).unwrap();
        let all = world.effects_left != Some(0);
        world.effects_left = None;
        world.restart();
        world.pass(3000);
        assert_eq!(world.runners, [accepted.turn], "after {left} effects");
        assert!(world.launched.len() <= 2);
        let again = world.submit(&said(ann, "s", "1", "question")).unwrap();
        assert_eq!(again.message, accepted.message);
        // The gate's end is under way when the router dies again; the gate says it once more.
        world.effects_left = Some(0);
        assert_eq!(world.finish(accepted.turn, answer("reply")), None);
        world.effects_left = None;
        world.restart();
        assert_eq!(world.finish(accepted.turn, answer("reply")), Some(Ok(())));
        assert_eq!(world.state(accepted.message), MessageState::Answered);
        let folder = world.into_folder();
        laws_hold(&folder.path().join("queue.db"));
        places += 1;
        if all {
            break;
        }
    }
    assert!(places >= 4, "only {places} places");
}
