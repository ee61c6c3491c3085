//! Questions to persons: who may answer what, that one answer wins, that time is a no, and that what is approved is
//! used once, over restarts as well.

use super::world::World;
use super::{answer, approval, asking, decided, one, question, reply, said};
use crate::state::requests::{AnswerPort, AnswerRequest, NewStep};
use ipc_proto::approval::{
    PENDING, PENDING_OF_OWNERS, PENDING_PER_SESSION, PENDING_PER_USER, Question, Reply, State, USE_MS,
};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::ids::{CallId, TurnId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::{CallVerdict, EventName, MessageState, RouterError, Step};
use ipc_proto::{List, Name, Text};
use manifest::command::Ended;
use std::time::Duration;

/// A turn of Ann's that asks about call 1.
fn asked() -> (World, TurnId, Question) {
    let mut world = World::new();
    let turn = world.say("s", "do it").turn;
    let question = world.inquire(turn, 1);
    (world, turn, question)
}

fn ann(world: &mut World) -> Option<UserId> {
    Some(world.id(1001))
}

fn run(world: &mut World, turn: TurnId, number: u32, n: u8) -> Result<(), RouterError> {
    world.keep(turn, number, decided(n, CallVerdict::Run))
}

fn named(world: &mut World) -> Vec<(EventName, Option<String>)> {
    let events = world.act(|router| router.events.after(0));
    let about = |name| matches!(name, EventName::ApprovalRequested | EventName::ApprovalResponse);
    let events = events.into_vec().into_iter().filter(|event| about(event.name));
    events.map(|event| (event.name, event.detail.map(|it| it.to_string()))).collect()
}

// Holds P5-63.
#[test]
fn what_is_asked_waits_is_shown_and_once_answered_runs_once() {
    let (mut world, turn, question) = asked();
    let ann = ann(&mut world);
    assert_eq!(world.told(turn, question.id), None, "nobody has answered");
    let listed = world.act(|router| router.approvals(ann, false)).unwrap();
    assert_eq!((listed.len(), listed[0].state, listed[0].user.as_str()), (1, State::Pending, "ann"));
    let shown = world.act(|router| router.approval(ann, question.id)).unwrap();
    assert_eq!(*shown.question, question);
    let mut waiter = world.begin(|router, port| router.first_answer(turn, one(question.id), port));
    let info = world.answer(ann, &question, Reply::Once).unwrap();
    assert_eq!((info.state, info.answered_by.as_deref()), (State::Approved, Some("mia")));
    assert_eq!(
        waiter.try_recv().unwrap(),
        Ok(Some((question.id, State::Approved))),
        "whoever waits is told at once"
    );
    assert_eq!(run(&mut world, turn, 1, 1), Ok(()));
    assert_eq!(run(&mut world, turn, 1, 1), Ok(()), "the same step again is one step");
    assert_eq!(run(&mut world, turn, 2, 1), Err(RouterError::NotApproved));
    assert_eq!(world.told(turn, question.id), Some(Ok(State::Claimed)));
    assert!(world.act(|router| router.approvals(ann, false)).unwrap().is_empty());
    assert_eq!(world.act(|router| router.approvals(ann, true)).unwrap()[0].state, State::Claimed);
    let happened =
        [(EventName::ApprovalRequested, None), (EventName::ApprovalResponse, Some("approved".into()))];
    assert_eq!(named(&mut world), happened);
    let on_record = world.record.iter().find(|it| it.action == Action::ApprovalAnswered).unwrap();
    assert_eq!((on_record.hash, on_record.call), (Some(question.hash), Some(question.call)));
    assert_eq!(on_record.reason.as_deref(), Some("once, by mia"));
}

// Holds P7-93.
#[test]
fn one_call_waits_for_all_questions_of_a_turn_and_gets_the_first_answer() {
    let mut world = World::new();
    let turn = world.say("s", "do it").turn;
    world.keep(turn, 0, asking(1)).unwrap();
    let asked: Vec<Question> = (1..=3).map(|n| question(n, world.ms + 60_000)).collect();
    asked.iter().for_each(|question| world.act(|router| router.ask(turn, question)).unwrap());
    let ids = || List::clip(asked.iter().map(|question| question.id));
    let mut waiter = world.begin(|router, port| router.first_answer(turn, ids(), port));
    world.answer(None, &asked[1], Reply::Deny).unwrap();
    assert_eq!(waiter.try_recv().unwrap(), Ok(Some((asked[1].id, State::Denied))));
    let mut again = world.begin(|router, port| router.first_answer(turn, ids(), port));
    assert_eq!(again.try_recv().unwrap(), Ok(Some((asked[1].id, State::Denied))), "one that came before");
    let strange = List::clip([approval(9), asked[0].id]);
    let mut strange = world.begin(|router, port| router.first_answer(turn, strange, port));
    assert_eq!(strange.try_recv().unwrap(), Err(RouterError::NoApproval));
}

// Holds B-12.
#[test]
fn a_turn_that_waits_for_a_person_counts_again_once_answered() {
    let config = ipc_proto::config::Router { turns_at_once: 2, turns_per_user: 1, ..super::config() };
    let mut world = World::with(config);
    let ann = ann(&mut world);
    let turn = world.say("s", "do it").turn;
    let waits = world.say("t", "me too");
    assert_eq!(world.state(waits.message), MessageState::Queued, "one turn of hers is under way");
    let question = world.inquire(turn, 1);
    assert_eq!(world.state(waits.message), MessageState::Running, "that one waits for her");
    world.answer(ann, &question, Reply::Deny).unwrap();
    let third = world.say("u", "and me");
    assert_eq!(world.state(third.message), MessageState::Queued);
}

// Holds B-11.
#[test]
fn a_guest_s_share_of_the_queue_leaves_room_for_others() {
    let config = ipc_proto::config::Router { queue_per_user: 3, ..super::config() };
    let mut world = World::with(config);
    world.audit = false;
    let (ann, guy) = (world.id(1001), world.id(1002));
    let say =
        |world: &mut World, user, n: usize| world.submit(&said(user, &format!("s{n}"), &n.to_string(), "x"));
    let refused = (0..5).find_map(|n| say(&mut world, guy, n).err());
    assert!(matches!(refused, Some(RouterError::Busy { waiting: 3, .. })), "{refused:?}");
    assert!(say(&mut world, ann, 0).is_ok());
}

// Holds P5-62.
#[test]
fn of_many_answers_at_once_one_wins_is_recorded_and_takes_effect() {
    let (mut world, turn, question) = asked();
    let user = ann(&mut world);
    let (id, hash) = (question.id, question.hash);
    let answers = world.act(|router| {
        let give = |n: usize| {
            let (sender, receiver) = ractor::concurrency::oneshot();
            let reply = if n == 0 { Reply::Deny } else { Reply::Once };
            router.answer(AnswerRequest {
                user,
                by: Name::clip("mia"),
                id,
                hash,
                reply,
                form: Text::default(),
                port: AnswerPort::Person(sender.into()),
            });
            receiver
        };
        (0..16).map(give).collect::<Vec<_>>()
    });
    let said: Vec<_> = answers.into_iter().map(|mut it| it.try_recv().unwrap()).collect();
    assert_eq!(said.iter().filter(|it| it.is_ok()).count(), 1);
    assert!(said[1..].iter().all(|it| *it == Err(RouterError::NotPending(State::Denied))));
    assert_eq!(world.recorded(Action::ApprovalAnswered, turn), 1);
    assert_eq!(run(&mut world, turn, 1, 1), Err(RouterError::NotApproved));
}

// Holds P7-67.
#[test]
fn an_answer_repeated_by_its_person_is_accepted_and_another_is_not() {
    for (first, other) in [
        (Reply::Once, [Reply::Session, Reply::Deny]),
        (Reply::Session, [Reply::Once, Reply::Deny]),
        (Reply::Deny, [Reply::Once, Reply::Session]),
    ] {
        let (mut world, turn, question) = asked();
        let user = ann(&mut world);
        let taken = world.answer(user, &question, first).unwrap();
        world.restart();
        assert_eq!(world.answer(user, &question, first), Ok(taken), "the router died before it could say so");
        for reply in other {
            assert!(matches!(world.answer(user, &question, reply), Err(RouterError::NotPending(_))));
        }
        let (id, hash, by) = (question.id, question.hash, Name::clip("tom"));
        let somebody = world.ask(|router, port| {
            let port = AnswerPort::Person(port);
            router.answer(AnswerRequest { user, by, id, hash, reply: first, form: Text::default(), port });
        });
        assert!(matches!(somebody, Some(Err(RouterError::NotPending(_)))));
        let forged = Question { hash: [0; 32], ..question.clone() };
        assert!(matches!(world.answer(user, &forged, first), Err(RouterError::NotPending(_))));
        if first != Reply::Deny {
            run(&mut world, turn, 1, 1).unwrap();
            let info = world.answer(user, &question, first).unwrap();
            assert_eq!(info.state, State::Claimed, "as it is by now");
        }
        assert_eq!(world.recorded(Action::ApprovalAnswered, turn), 1);
    }
}

// Holds P5-60.
#[test]
fn an_answer_to_another_action_than_the_one_that_is_kept_changes_nothing() {
    let (mut world, turn, question) = asked();
    let other = Question { hash: super::question(2, 0).hash, ..question.clone() };
    let user = ann(&mut world);
    assert_eq!(world.answer(user, &other, Reply::Once), Err(RouterError::WrongHash));
    assert_eq!(world.told(turn, question.id), None);
    assert_eq!(world.recorded(Action::ApprovalAnswered, turn), 0);
    let forged = Question { id: approval(9), hash: [0; 32], ..question };
    assert_eq!(world.act(|router| router.ask(turn, &forged)), Err(RouterError::WrongHash));
}

// Holds P5-65.
#[test]
fn only_its_user_and_the_owner_see_and_answer_a_question() {
    let mut world = World::new();
    let (ann, guy) = (Some(world.id(1001)), Some(world.id(1002)));
    let first = world.say("s", "one").turn;
    let question = world.inquire(first, 1);
    let stranger = Some(UserId::random());
    for user in [guy, stranger] {
        assert_eq!(world.act(|router| router.approval(user, question.id)), Err(RouterError::NoApproval));
        assert_eq!(world.answer(user, &question, Reply::Deny), Err(RouterError::NoApproval));
        assert!(world.act(|router| router.approvals(user, true)).unwrap().is_empty());
        let call = question.call;
        assert_eq!(world.act(|router| router.call(user, call)), Err(RouterError::NoCall));
    }
    assert!(world.act(|router| router.call(ann, question.call)).is_ok());
    // A guest's own session may ask, and the guest may still not answer.
    let of_guest = world.submit(&said(guy.unwrap(), "g", "k", "two")).unwrap().turn;
    let theirs = world.inquire(of_guest, 2);
    assert_eq!(world.answer(guy, &theirs, Reply::Once), Err(RouterError::OwnerOnly));
    assert!(world.answer(None, &theirs, Reply::Once).is_ok());
    assert!(world.answer(None, &question, Reply::Once).is_ok());
}

// Holds P5-65.
#[test]
fn only_the_owner_answers_what_only_the_owner_may() {
    let mut world = World::new();
    let turn = world.say("s", "do it").turn;
    world.keep(turn, 0, asking(1)).unwrap();
    let question = Question { owner_only: true, ..question(1, world.ms + 1000) };
    world.act(|router| router.ask(turn, &question)).unwrap();
    let ann = ann(&mut world);
    assert_eq!(world.answer(ann, &question, Reply::Deny), Err(RouterError::OwnerOnly));
    assert_eq!(world.answer(None, &question, Reply::Deny).unwrap().state, State::Denied);
}

// Holds B-45, P5-64.
#[test]
fn time_is_a_no_with_the_router_there_gone_or_unable_to_record() {
    for (restart, audit) in [(false, true), (true, true), (false, false), (true, false)] {
        let (mut world, turn, question) = asked();
        let mut waiter = world.begin(|router, port| router.first_answer(turn, one(question.id), port));
        world.audit = audit;
        if restart {
            world.ms += 300_000;
            world.restart();
        }
        world.pass(if restart { 1000 } else { 300_500 });
        if !restart {
            assert_eq!(waiter.try_recv().unwrap(), Ok(Some((question.id, State::Expired))));
        }
        assert_eq!(world.told(turn, question.id), Some(Ok(State::Expired)));
        let user = ann(&mut world);
        let late = world.answer(user, &question, Reply::Once);
        assert_eq!(late, Err(RouterError::NotPending(State::Expired)));
        assert_eq!(run(&mut world, turn, 1, 1), Err(RouterError::NotApproved));
        assert!(world.act(|router| router.approvals(None, false)).unwrap().is_empty());
        world.audit = true;
        world.pass(2000);
        let on_record = |it: &&ipc_proto::audit::Event| it.action == Action::ApprovalAnswered;
        let ends: Vec<_> = world.record.iter().filter(on_record).map(|it| it.result).collect();
        assert_eq!(ends, [Result3::Blocked], "recorded once, as soon as it can be");
        assert_eq!(named(&mut world).last().unwrap().1.as_deref(), Some("expired"));
    }
}

// Holds B-46.
#[test]
fn an_approval_of_the_last_second_can_be_used_for_a_while() {
    for (wait, expected) in [(USE_MS - 1000, Ok(())), (USE_MS + 1000, Err(RouterError::NotApproved))] {
        let (mut world, turn, question) = asked();
        world.pass(299_500);
        world.answer(None, &question, Reply::Once).unwrap();
        world.pass(wait);
        assert_eq!(run(&mut world, turn, 1, 1), expected);
    }
}

// Holds P5-64.
#[test]
fn questions_and_answers_outlive_the_router_and_the_runner() {
    let (mut world, turn, question) = asked();
    world.restart();
    assert_eq!(world.act(|router| router.ask(turn, &question)), Ok(()), "the same question again is one");
    let changed = Question { preview: Text::clip("something else"), ..question.clone() };
    assert_eq!(world.act(|router| router.ask(turn, &changed)), Err(RouterError::BadStep));
    assert_eq!(world.act(|router| router.approvals(None, false)).unwrap().len(), 1);
    world.runner_ends(turn, Ended::Killed, 9);
    world.pass(2000);
    assert_eq!(world.runners, [turn], "the turn is taken up again and its question still waits");
    assert_eq!(world.told(turn, question.id), None);
    world.answer(None, &question, Reply::Once).unwrap();
    world.restart();
    assert_eq!(world.told(turn, question.id), Some(Ok(State::Approved)));
    assert_eq!(run(&mut world, turn, 1, 1), Ok(()));
    world.restart();
    assert_eq!(run(&mut world, turn, 2, 1), Err(RouterError::NotApproved), "used up over the restart");
    let steps = world.act(|router| router.take(turn, 1 << 20)).unwrap().steps;
    assert!(matches!(&steps[..], [Step::Reply { .. }, Step::Decided { verdict: CallVerdict::Run, .. }]));
}

// Holds P5-62, P6-28.
#[test]
fn an_answer_that_cannot_be_recorded_has_no_effect_and_can_be_given_again() {
    let (mut world, turn, question) = asked();
    world.audit = false;
    assert_eq!(world.answer(None, &question, Reply::Session), Err(RouterError::NotDurable));
    assert_eq!(world.told(turn, question.id), None);
    assert!(world.act(|router| router.grants(None)).unwrap().is_empty());
    world.audit = true;
    assert!(world.answer(None, &question, Reply::Once).is_ok());
}

// Holds P5-63.
#[test]
fn what_is_approved_runs_in_its_own_turn_and_for_its_own_call_alone() {
    let mut world = World::new();
    let (first, second) = (world.say("a", "one").turn, world.say("b", "two").turn);
    let question = world.inquire(first, 1);
    world.answer(None, &question, Reply::Once).unwrap();
    // Another turn names the same question in a step of its own.
    world.keep(second, 0, asking(1)).unwrap();
    assert_eq!(run(&mut world, second, 1, 1), Err(RouterError::NotApproved));
    assert_eq!(world.told(second, question.id), Some(Err(RouterError::NoApproval)));
    assert_eq!(
        run(&mut world, first, 1, 7),
        Err(RouterError::NotApproved),
        "nobody was asked about that call"
    );
    assert_eq!(run(&mut world, first, 1, 1), Ok(()));
}

#[test]
fn a_call_that_was_released_at_once_cannot_be_decided_again() {
    let mut world = World::new();
    let turn = world.say("s", "x").turn;
    world.keep(turn, 0, reply(1)).unwrap();
    for verdict in [CallVerdict::Run, CallVerdict::Refused(Text::clip("no"))] {
        assert_eq!(world.keep(turn, 1, decided(1, verdict)), Err(RouterError::NotApproved));
    }
    assert_eq!(world.keep(turn, 1, decided(1, CallVerdict::Asking(approval(1)))), Err(RouterError::BadStep));
}

#[test]
fn a_call_that_the_gate_refuses_in_the_end_takes_its_question_with_it() {
    let (mut world, turn, question) = asked();
    world.answer(None, &question, Reply::Once).unwrap();
    let refused = CallVerdict::Refused(Text::clip("the policy changed"));
    world.keep(turn, 1, decided(1, refused.clone())).unwrap();
    assert_eq!(world.told(turn, question.id), Some(Ok(State::Void)));
    let call = world.act(|router| router.call(None, question.call)).unwrap();
    assert_eq!((call.verdict, call.record), (refused, 101));
}

// Holds P5-66.
#[test]
fn when_a_turn_ends_what_it_asked_comes_to_nothing() {
    let ends: [fn(&mut World, TurnId); 3] = [
        |world, turn| assert!(world.finish(turn, answer("never mind")).unwrap().is_ok()),
        |world, turn| world.ask(|router, port| router.cancel(None, turn, port)).unwrap().unwrap(),
        |world, _| {
            world.ask(|router, port| router.end_session(None, &Text::clip("s"), port)).unwrap().unwrap()
        },
    ];
    for end in ends {
        let (mut world, turn, question) = asked();
        let mut waiter = world.begin(|router, port| router.first_answer(turn, one(question.id), port));
        end(&mut world, turn);
        assert_eq!(waiter.try_recv().unwrap(), Ok(Some((question.id, State::Void))));
        let late = world.answer(None, &question, Reply::Once);
        assert_eq!(late, Err(RouterError::NotPending(State::Void)));
        assert_eq!(named(&mut world).last().unwrap().1.as_deref(), Some("void"));
        world.restart();
        assert_eq!(world.act(|router| router.approval(None, question.id)).unwrap().info.state, State::Void);
    }
}

// Holds B-44.
#[test]
fn open_questions_are_bounded_in_a_session_for_a_user_and_in_all() {
    let users = ["own", "a", "b", "c", "d"];
    let role = |at| if at == 0 { UserRole::Owner } else { UserRole::User };
    let config = ipc_proto::config::Router {
        turns_at_once: 65,
        turns_per_user: 64,
        queue_total: 64,
        users: (0..5)
            .map(|at| super::user(users[at], &[2000 + u32::try_from(at).unwrap()], role(at)))
            .collect(),
        ..super::config()
    };
    let mut world = World::with(config);
    let mut id = 0u64;
    let mut fill = |world: &mut World, uid: u32, session: &str, most: usize| {
        let user = world.id(uid);
        let turn = world.submit(&super::said(user, session, &format!("{uid}/{session}"), "x")).unwrap().turn;
        (0..most).try_for_each(|_| {
            id += 1;
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&id.to_le_bytes());
            let unique = ipc_proto::ids::ApprovalId::from_bytes(bytes);
            let question = Question { id: unique, ..question(1, world.ms + 60_000) };
            world.act(|router| router.ask(turn, &question))
        })
    };
    let refused =
        |waiting: usize| Err(RouterError::TooManyApprovals { waiting: u32::try_from(waiting).unwrap() });
    assert_eq!(fill(&mut world, 2001, "1", PENDING_PER_SESSION + 1), refused(PENDING_PER_SESSION));
    assert_eq!(fill(&mut world, 2001, "2", PENDING_PER_SESSION), Ok(()));
    assert_eq!(fill(&mut world, 2001, "3", 1), refused(PENDING_PER_USER), "the rest is other users'");
    for uid in [2002, 2003] {
        assert_eq!(fill(&mut world, uid, "1", PENDING_PER_SESSION), Ok(()));
        assert_eq!(fill(&mut world, uid, "2", PENDING_PER_SESSION), Ok(()));
    }
    let rest = PENDING - PENDING_OF_OWNERS;
    assert_eq!(fill(&mut world, 2004, "1", PENDING_PER_SESSION), Ok(()));
    assert_eq!(fill(&mut world, 2004, "2", 1), refused(rest), "the last are the owners'");
    assert_eq!(fill(&mut world, 2000, "1", PENDING_OF_OWNERS), Ok(()));
    assert_eq!(fill(&mut world, 2000, "2", 1), refused(PENDING));
    world.pass(60_500);
    assert_eq!(fill(&mut world, 2004, "3", 1), Ok(()), "what has run out takes no place");
}

// Holds P5-66.
#[test]
fn the_time_that_a_person_takes_does_not_count_for_the_turn() {
    let (mut world, turn, question) = asked();
    let message = world.act(|router| router.messages(None, 1, false)).unwrap()[0].clone();
    assert_eq!(message.state, MessageState::WaitingApproval);
    // The agent's deadline is 120 s; agentd gets a later one.
    assert!(world.walls[0].1 >= Duration::from_secs(300 + 120), "{:?}", world.walls);
    world.pass(250_000);
    world.restart();
    assert_eq!(world.runners, [turn]);
    world.answer(None, &question, Reply::Once).unwrap();
    assert_eq!(world.walls.last(), Some(&(turn, Duration::from_secs(120))));
    assert_eq!(world.act(|router| router.messages(None, 1, false)).unwrap()[0].state, MessageState::Running);
    world.pass(100_000);
    assert_eq!(world.runners, [turn], "what was left is counted from the answer on");
    world.pass(60_000);
    assert_eq!(world.state(message.id), MessageState::Failed, "and then the clock runs out");
}

// Holds P5-42.
#[test]
fn a_plan_is_locked_once_and_given_back_with_the_turn() {
    let mut world = World::new();
    let turn = world.say("s", "x").turn;
    let plan = |tool| Step::Plan { tools: List::clip([Name::clip(tool)]) };
    world.keep(turn, 0, plan("read")).unwrap();
    assert_eq!(world.keep(turn, 0, plan("read")), Ok(()));
    assert_eq!(world.keep(turn, 1, plan("bash")), Err(RouterError::BadStep));
    world.restart();
    assert_eq!(world.act(|router| router.take(turn, 1 << 20)).unwrap().steps.to_vec(), [plan("read")]);
    world.finish(turn, answer("done")).unwrap().unwrap();
    let shown = world.act(|router| router.session(None, "s")).unwrap().transcript;
    assert_eq!(shown.len(), 2, "nobody was told of the plan");
}

// Holds P5-34.
#[test]
fn recalled_memory_is_stored_once_and_raises_the_session() {
    let mut world = World::new();
    let turn = world.say("s", "x").turn;
    let label = Label::of(Trust::Untrusted, Class::Internal, "web");
    let given = |text| Step::Recalled { text: Text::clip(text), label: label.clone() };
    let new = NewStep { number: 0, step: given("a row"), session: label.clone(), workspace: Label::bottom() };
    world.ask(|router, port| router.step(turn, new, port)).unwrap().unwrap();
    assert_eq!(world.keep(turn, 0, given("a row")), Ok(()));
    assert_eq!(world.keep(turn, 1, given("another")), Err(RouterError::BadStep));
    world.restart();
    let taken = world.act(|router| router.take(turn, 1 << 20)).unwrap();
    assert_eq!((taken.steps.to_vec(), taken.session_label.trust), (vec![given("a row")], Trust::Untrusted));
    world.finish(turn, answer("done")).unwrap().unwrap();
    let shown = world.act(|router| router.session(None, "s")).unwrap().transcript;
    assert_eq!(shown.len(), 2, "it stands in the conversation");
}

#[test]
fn a_call_is_found_by_its_id_with_what_it_came_to() {
    let (mut world, turn, question) = asked();
    let verdict = |world: &mut World| world.act(|router| router.call(None, question.call)).unwrap().verdict;
    assert_eq!(verdict(&mut world), CallVerdict::Asking(question.id));
    world.answer(None, &question, Reply::Once).unwrap();
    run(&mut world, turn, 1, 1).unwrap();
    assert_eq!(verdict(&mut world), CallVerdict::Run);
    let unknown = CallId::from_bytes([99; 16]);
    assert_eq!(world.act(|router| router.call(None, unknown)), Err(RouterError::NoCall));
}
