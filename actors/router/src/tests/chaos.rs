//! Random lives: messages, answers, deaths of runners, of peers and of the router itself, in any order. Then peace,
//! and every accepted message has come to exactly one end, on the record and in the store.

use super::crash::laws_hold;
use super::world::World;
use super::{answer, question, reply, result, said, web};
use crate::message_state;
use crate::state::requests::NewStep;
use ipc_proto::approval::{Question, Reply, State};
use ipc_proto::audit::Action;
use ipc_proto::ids::{ApprovalId, MessageId, TurnId};
use ipc_proto::label::Label;
use ipc_proto::router::{MessageState, RouterError, TurnEvent};
use ipc_proto::scanner::Judgement;
use manifest::command::Ended;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The promises that a chaotic world has made.
#[derive(Default)]
struct Promises {
    accepted: BTreeMap<u32, (MessageId, TurnId)>,
    /// Steps that were acknowledged to the gate.
    steps: HashMap<TurnId, u32>,
    answered: HashMap<TurnId, String>,
    asked: BTreeMap<u8, Question>,
    /// Answers that were acknowledged.
    settled: HashMap<ApprovalId, State>,
    recalled: BTreeSet<MessageId>,
    /// Taken back, or stopped, after so many launches: there are no more.
    ended: BTreeMap<TurnId, usize>,
    /// Dead letters, and what stands in their place.
    requeued: BTreeMap<MessageId, (MessageId, TurnId)>,
}

impl Promises {
    /// A message that was accepted, wherever it is by now.
    fn any(&self, pick: usize) -> Option<(MessageId, TurnId)> {
        let all = self.accepted.values().chain(self.requeued.values());
        all.clone().nth(pick % all.count().max(1)).copied()
    }
}

fn play(world: &mut World, promises: &mut Promises, kind: u8, pick: usize) {
    let running: Vec<TurnId> = world.runners.clone();
    let turn = running.get(pick % running.len().max(1)).copied();
    match (kind, turn) {
        (0..=3, _) => submit(world, promises, u32::try_from(pick % 40).unwrap()),
        (4, Some(turn)) => step(world, promises, turn),
        (5 | 6, Some(turn)) => {
            if world.finish(turn, answer("reply")) == Some(Ok(())) {
                promises.answered.insert(turn, "reply".into());
            }
        }
        (7, Some(turn)) => world.runner_ends(turn, Ended::Killed, 9),
        (8, _) => {
            if let Some((_, turn)) = promises.any(pick) {
                world.ask(|router, port| router.cancel(None, turn, port));
            }
        }
        (9, _) => world.restart(),
        (10, Some(turn)) => {
            world.runners.retain(|it| *it != turn);
            world.restart();
        }
        (11, _) => world.audit = !pick.is_multiple_of(3),
        (12, _) => world.scanner = [None, Some(Judgement::Pass), Some(Judgement::Block)][pick % 3],
        (13, _) => {
            world.effects_left = Some(pick % 4);
            world.pass(1000);
            world.effects_left = None;
            world.restart();
        }
        (14, Some(turn)) => {
            world.ask(|router, port| router.follow(None, turn, 0, 64, port));
        }
        (15, _) if pick.is_multiple_of(4) => {
            let name = ipc_proto::Text::clip(&format!("s{}", pick % 3));
            world.ask(|router, port| router.end_session(None, &name, port));
        }
        (16, Some(turn)) => ask_one(world, promises, turn, pick),
        (17, _) => answer_one(world, promises, pick),
        (18, _) => {
            let Some((message, turn)) = promises.any(pick) else { return };
            if let Some(Ok(_)) = world.recall(None, message) {
                promises.recalled.insert(message);
                promises.ended.insert(turn, launches(world, turn));
            }
        }
        (19, _) => requeue(world, promises, pick),
        (20, _) => {
            let session = (!pick.is_multiple_of(5)).then(|| format!("s{}", pick % 3));
            drop(world.pause(None, session.as_deref(), pick.is_multiple_of(2)));
        }
        (21, _) => stop(world, promises, pick),
        (22, _) => world.full = !pick.is_multiple_of(3),
        _ => world.pass(500),
    }
}

fn ask_one(world: &mut World, promises: &mut Promises, turn: TurnId, pick: usize) {
    let n = u8::try_from(pick % 200).unwrap();
    let question = question(n, world.ms + u64::try_from(pick).unwrap() * 100);
    match world.act(|router| router.ask(turn, &question)) {
        Ok(()) => drop(promises.asked.insert(n, question)),
        // Another turn's, or this one's with another end.
        Err(RouterError::BadStep | RouterError::NoTurn | RouterError::TooManyApprovals { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

fn requeue(world: &mut World, promises: &mut Promises, pick: usize) {
    let dead = world.act(|router| router.messages(None, 256, true)).unwrap();
    let known = promises.requeued.keys().copied();
    let all: Vec<MessageId> = dead.iter().map(|info| info.id).chain(known).collect();
    let Some(message) = all.get(pick % all.len().max(1)).copied() else { return };
    match world.requeue(None, message, None) {
        Some(Ok(accepted)) => {
            let now = (accepted.message, accepted.turn);
            let known = promises.requeued.insert(message, now);
            assert!(known.is_none_or(|it| it == now), "one dead letter, one successor");
        }
        None | Some(Err(RouterError::Busy { .. } | RouterError::SessionOver | RouterError::NotDurable)) => {}
        Some(Err(other)) => panic!("{other}"),
    }
}

fn stop(world: &mut World, promises: &mut Promises, pick: usize) {
    let session = (!pick.is_multiple_of(7)).then(|| format!("s{}", pick % 3));
    let live = world.act(|router| router.messages(None, 256, false)).unwrap();
    let meant = |name: &str| session.as_deref().is_none_or(|it| it == name);
    if let Some(Ok(_)) = world.stop(None, session.as_deref()) {
        let ended = live.iter().filter(|info| meant(&info.session) && !message_state::over(info.state));
        for info in ended {
            promises.ended.insert(info.turn, launches(world, info.turn));
        }
    }
}

fn launches(world: &World, turn: TurnId) -> usize {
    world.launched.iter().filter(|it| it.turn == turn).count()
}

fn answer_one(world: &mut World, promises: &mut Promises, pick: usize) {
    let Some(question) = promises.asked.values().nth(pick % promises.asked.len().max(1)).cloned() else {
        return;
    };
    let reply = [Reply::Once, Reply::Session, Reply::Deny][pick % 3];
    match world.answer(None, &question, reply) {
        Ok(info) => {
            // The same answer again is taken again; what it has come to may be more by now.
            let no = info.state == State::Denied;
            let before = promises.settled.entry(question.id).or_insert(info.state);
            assert_eq!(no, *before == State::Denied, "one answer wins");
            assert_eq!(no, reply == Reply::Deny);
        }
        Err(RouterError::NotPending(_) | RouterError::NotDurable) => {}
        Err(other) => panic!("{other}"),
    }
}

fn submit(world: &mut World, promises: &mut Promises, n: u32) {
    let ann = world.id(1001);
    match world.submit(&said(ann, &format!("s{}", n % 3), &n.to_string(), "hello")) {
        Ok(accepted) => {
            let now = (accepted.message, accepted.turn);
            let known = promises.accepted.insert(n, now);
            assert!(known.is_none_or(|it| it == now), "one key, one message");
        }
        Err(RouterError::Busy { .. } | RouterError::SessionOver) => {}
        Err(other) => panic!("{other}"),
    }
}

fn step(world: &mut World, promises: &mut Promises, turn: TurnId) {
    let number = promises.steps.get(&turn).copied().unwrap_or(0);
    let n = u8::try_from(number / 2).unwrap();
    let (step, label) =
        if number.is_multiple_of(2) { (reply(n), Label::bottom()) } else { (result(n, "found"), web()) };
    let new = NewStep { number, step, session: label.clone(), workspace: label };
    if world.ask(|router, port| router.step(turn, new, port)) == Some(Ok(())) {
        promises.steps.insert(turn, number + 1);
    }
}

/// Peace: every peer is back, and every running turn is answered.
fn settle(world: &mut World) {
    world.audit = true;
    world.scanner = Some(Judgement::Pass);
    world.full = false;
    for session in [None, Some("s0"), Some("s1"), Some("s2")] {
        drop(world.pause(None, session, false));
    }
    for _ in 0..200 {
        world.pass(2000);
        for turn in world.runners.clone() {
            world.finish(turn, answer("reply"));
        }
        let all = world.act(|router| router.messages(None, 256, false)).unwrap();
        if all.iter().all(|info| message_state::over(info.state)) {
            return;
        }
    }
    panic!("something never comes to its end");
}

/// How often a follower of a turn gets its end.
fn ends_seen(world: &mut World, turn: TurnId) -> usize {
    let (mut from, mut ends) = (0, 0);
    loop {
        let piece = world.ask(|router, port| router.follow(None, turn, from, 64, port)).unwrap().unwrap();
        ends += piece.events.iter().filter(|event| matches!(event, TurnEvent::Done(_))).count();
        from = piece.next;
        if piece.over {
            return ends;
        }
    }
}

proptest! {
    // Holds P7-10.
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn each_message_comes_to_one_end_whatever_crashes(
        moves in prop::collection::vec((0u8..24, 0usize..1000), 1..80),
    ) {
        let mut world = World::new();
        let mut promises = Promises::default();
        for (kind, pick) in moves {
            play(&mut world, &mut promises, kind, pick);
            let mut once = world.runners.clone();
            once.sort();
            once.dedup();
            prop_assert_eq!(once.len(), world.runners.len(), "a turn has two runners");
        }
        settle(&mut world);
        for (message, turn) in promises.accepted.values().chain(promises.requeued.values()) {
            let trace = world.trace(*message);
            let later = [MessageState::Delivered, MessageState::Requeued];
            let ends = trace.iter().filter(|it| message_state::over(**it) && !later.contains(*it)).count();
            prop_assert_eq!(ends, 1, "{:?}", trace);
            prop_assert_eq!(world.ends_on_record(*turn).len(), 1, "one end on the record: {:?}", trace);
            prop_assert!(world.recorded(Action::MessageAccepted, *turn) >= 1);
            let started = world.recorded(Action::TurnStarted, *turn);
            prop_assert!(started >= launches(&world, *turn), "no launch without its record");
            prop_assert_eq!(ends_seen(&mut world, *turn), 1, "a follower sees one end");
        }
        for (turn, before) in &promises.ended {
            prop_assert_eq!(launches(&world, *turn), *before, "what was ended came back");
        }
        for message in &promises.recalled {
            prop_assert_eq!(world.state(*message), MessageState::Recalled);
        }
        for (turn, steps) in &promises.steps {
            let kept = world.act(|router| {
                let head = router.store.message_of(*turn).unwrap().unwrap();
                router.store.step_count(head.seq).unwrap()
            });
            prop_assert!(kept >= *steps, "a step that was promised is kept");
        }
        for (id, state) in &promises.settled {
            let now = world.act(|router| router.approval(None, *id)).unwrap().info.state;
            // An approval that nobody used ends by itself or with its turn; a no stays a no.
            let ended = matches!(now, State::Void | State::Expired | State::Claimed);
            let kept = now == *state || (*state == State::Approved && ended);
            prop_assert!(kept, "{:?} {:?}", now, state);
        }
        for (turn, text) in &promises.answered {
            let finished = world.act(|router| {
                let head = router.store.message_of(*turn).unwrap().unwrap();
                router.store.finished(head.seq).unwrap().unwrap()
            });
            prop_assert_eq!(finished.text.as_str(), text);
        }
        let file = world.folder.path().join("queue.db");
        let folder = world.into_folder();
        laws_hold(&file);
        drop(folder);
    }
}
