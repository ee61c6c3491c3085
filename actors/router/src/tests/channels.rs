//! Messages by a platform and answers to it, over lives of router and of the platform's process.

use super::taking::{Work, claim};
use super::world::{Answer, World};
use super::{answer, config, said, user};
use crate::channels::admission::tests::{inbound, rules};
use crate::state::channels::Claim;
use crate::store::Scope;
use ipc_proto::audit::Action;
use ipc_proto::channel::{
    self, Admitted, Answer as Planned, Batch, Body, ChannelError, Claim as Given, DeliveryState, DropReason,
    Inbound, LinkCode, Outcome, PairingState, Piece, PieceId, Press, WorkBatch,
};
use ipc_proto::config::{self as conf, DmPolicy, UserRole};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{End, Finished, MessageState, RouterError, UserInfo};
use ipc_proto::{List, Name, Text};
use manifest::Process;

const IDENTITY: &str = "telegram:main:7";

pub(super) fn with(dm: DmPolicy) -> World {
    let mut config = config();
    config
        .users
        .push(conf::User { identities: vec![IDENTITY.into()], ..user("mia", &[1003], UserRole::Owner) });
    config.channels.insert("main".into(), rules(dm));
    World::with(config)
}

fn batch(messages: Vec<Inbound>, cursor: &str) -> Batch {
    Batch { messages: List::clip(messages), cursor: Text::clip(cursor) }
}

pub(super) fn accept(world: &mut World, messages: Vec<Inbound>, cursor: &str) -> Vec<Admitted> {
    let batch = batch(messages, cursor);
    world.act(|router| router.channel_accept(Process::Telegram, "main", &batch)).unwrap().to_vec()
}

/// The owner writes; returns the turn.
pub(super) fn write(world: &mut World, key: &str, text: &str) -> TurnId {
    match accept(world, vec![inbound(key, "7", text)], key)[..] {
        [Admitted::Accepted { turn, .. }] => turn,
        ref other => panic!("{other:?}"),
    }
}

pub(super) fn begin(
    world: &mut World,
    life: u64,
    holding: &[PieceId],
) -> Answer<Result<WorkBatch, ChannelError>> {
    let holding = holding.to_vec();
    world.begin(|router, port| {
        router.channel_claim(Process::Telegram, "main", Claim { life, holding, port });
    })
}

fn link_for(world: &mut World, user: &str) -> LinkCode {
    let by = Name::clip("mia");
    world.ask(|router, port| router.create_link(&by, user, port)).unwrap().unwrap()
}

/// The process plans an answer: one piece for each word.
pub(super) fn plan(world: &mut World, answer: &Planned) {
    let pieces = List::clip(answer.text.split(' ').map(piece));
    let stored = world.act(|router| router.channel_plan(Process::Telegram, "main", answer.delivery, &pieces));
    assert_eq!(stored, Ok(()));
}

fn piece(text: &str) -> Piece {
    Piece { body: Body::Text(Text::clip(text)), markup: Text::default() }
}

/// The process plans every answer, each into one piece for each word, and gives the pieces that it is given then.
fn plan_and_claim(world: &mut World, life: u64) -> Vec<Given> {
    loop {
        let works = claim(world, life, &[]);
        let mut given = Vec::new();
        let mut planned = false;
        for work in works {
            match work {
                Work::Send(claim) | Work::Find(claim) => given.push(claim),
                Work::Plan(answer) => {
                    plan(world, &answer);
                    planned = true;
                }
                Work::Check(_) => panic!("no look was asked for"),
            }
        }
        if !given.is_empty() || !planned {
            return given;
        }
    }
}

pub(super) fn done(world: &mut World, piece: PieceId, outcome: &Outcome) -> Result<(), ChannelError> {
    world.act(|router| router.channel_done(Process::Telegram, "main", piece, outcome))
}

fn sent(id: &str) -> Outcome {
    Outcome::Sent { id: Text::clip(id) }
}

fn text(given: &Given) -> &str {
    match &given.content.body {
        Body::Text(text) => text.as_str(),
        Body::File { .. } => panic!("a file"),
    }
}

fn states(world: &mut World) -> Vec<DeliveryState> {
    let found = world.act(|router| router.deliveries(None, None, false)).unwrap();
    found.iter().map(|info| info.state).collect()
}

// Holds P11-07.
#[test]
fn a_message_with_a_key_that_was_accepted_is_one_over_lives_and_users() {
    let mut world = with(DmPolicy::Pairing);
    let first = accept(&mut world, vec![inbound("k1", "7", "hello"), inbound("k2", "7", "again")], "2");
    assert!(first.iter().all(|fate| matches!(fate, Admitted::Accepted { .. })), "{first:?}");
    world.restart();
    // The identity is another user's by now: what came stays what it was.
    world.config.users.retain(|user| user.name != "mia");
    world.restart();
    let again = accept(&mut world, vec![inbound("k1", "7", "hello"), inbound("k2", "7", "again")], "2");
    for (first, again) in first.iter().zip(&again) {
        let (Admitted::Accepted { message, .. }, Admitted::Repeated { message: same, .. }) = (first, again)
        else {
            panic!("{first:?} {again:?}")
        };
        assert_eq!(message, same);
    }
    let opened = world.act(|router| router.open_channel(Process::Telegram, "main")).unwrap();
    assert_eq!(opened.cursor, Some(Text::clip("2")));
}

// Holds P11-07.
#[test]
fn a_batch_that_cannot_be_stored_leaves_nothing_of_it() {
    let mut world = with(DmPolicy::Open);
    let failing = batch(vec![inbound("k1", "7", "hello"), inbound("k2", "9", "guest")], "2");
    let users = world.act(|router| router.people.ids().len());
    let second_fails = "CREATE TRIGGER second BEFORE INSERT ON inbound WHEN new.key = 'k2'
                        BEGIN SELECT RAISE(ABORT, 'no'); END";
    world.act(|router| router.store.raw().execute_batch(second_fails)).unwrap();
    let refused = world.act(|router| router.channel_accept(Process::Telegram, "main", &failing));
    assert_eq!(refused, Err(ChannelError::NotDurable));
    assert_eq!(world.act(|router| router.people.ids().len()), users);
    assert!(world.act(|router| router.messages(None, 10, false)).unwrap().is_empty());
    let opened = world.act(|router| router.open_channel(Process::Telegram, "main")).unwrap();
    assert_eq!(opened.cursor, None);
}

// Holds P7-55.
#[test]
fn a_stop_ends_the_messages_before_it_in_its_own_batch() {
    let mut world = with(DmPolicy::OwnerOnly);
    let texts = [("k1", "hello"), ("k2", "/stop"), ("k3", "go on")];
    accept(&mut world, texts.map(|(key, text)| inbound(key, "7", text)).into(), "1");
    let listed = world.act(|router| router.messages(None, 10, false)).unwrap();
    let states: Vec<MessageState> = listed.iter().map(|message| message.state).collect();
    assert_eq!((states.len(), states[1]), (2, MessageState::Cancelled), "{states:?}");
    assert_ne!(states[0], MessageState::Cancelled);
}

// Holds P7-55.
#[test]
fn a_stop_holds_although_its_batch_cannot_be_stored() {
    let mut world = with(DmPolicy::OwnerOnly);
    write(&mut world, "k1", "hello");
    let failing = batch(vec![inbound("k2", "7", "/stop"), inbound("k3", "7", "more")], "2");
    let third_fails = "CREATE TRIGGER third BEFORE INSERT ON inbound WHEN new.key = 'k3'
                       BEGIN SELECT RAISE(ABORT, 'no'); END";
    world.act(|router| router.store.raw().execute_batch(third_fails)).unwrap();
    let refused = world.act(|router| router.channel_accept(Process::Telegram, "main", &failing));
    assert_eq!(refused, Err(ChannelError::NotDurable));
    let listed = world.act(|router| router.messages(None, 10, false)).unwrap();
    assert_eq!((listed.len(), listed[0].state), (1, MessageState::Cancelled));
}

// Holds P11-08.
#[test]
fn a_process_reaches_the_accounts_of_its_own_platform_alone() {
    let mut world = with(DmPolicy::OwnerOnly);
    let empty = batch(vec![], "1");
    for (caller, account) in
        [(Process::Gateway, "main"), (Process::Telegram, "other"), (Process::Gate, "main")]
    {
        let refused = world.act(|router| router.channel_accept(caller, account, &empty));
        assert_eq!(refused, Err(ChannelError::NoChannel), "{caller:?} {account}");
    }
    let control = world.say("s", "by control");
    let follow = world.act(|router| router.channel_may_follow(Process::Telegram, "main", control.turn));
    assert_eq!(follow, Err(ChannelError::NoTurn), "no turn of another channel");
    let turn = write(&mut world, "k", "mine");
    assert_eq!(world.act(|router| router.channel_may_follow(Process::Telegram, "main", turn)), Ok(()));
}

// Holds P11-09.
#[test]
fn an_answer_goes_out_piece_by_piece_and_is_delivered_with_the_last() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1", "hello");
    world.finish(turn, answer("good morning")).unwrap().unwrap();
    let message = world.act(|router| router.messages(None, 1, false)).unwrap()[0].id;
    let first = plan_and_claim(&mut world, 1);
    assert_eq!(first.iter().map(text).collect::<Vec<_>>(), ["good"]);
    assert_eq!((first[0].reply_to.as_deref(), first[0].attempt), (Some("k1"), 0));
    assert!(claim(&mut world, 1, &[first[0].piece]).is_empty(), "the second waits for the first");
    assert_eq!(done(&mut world, first[0].piece, &sent("m1")), Ok(()));
    assert_eq!(done(&mut world, first[0].piece, &sent("m1")), Ok(()), "a repeated outcome is one");
    assert_eq!(world.state(message), MessageState::Answered);
    let second = plan_and_claim(&mut world, 1);
    assert_eq!(second.iter().map(text).collect::<Vec<_>>(), ["morning"]);
    assert_eq!(done(&mut world, second[0].piece, &sent("m2")), Ok(()));
    assert_eq!(
        (world.state(message), states(&mut world)),
        (MessageState::Delivered, vec![DeliveryState::Sent])
    );
    assert_eq!(done(&mut world, second[0].piece, &Outcome::Unknown), Err(ChannelError::NoDelivery));
}

// Holds P11-09.
#[test]
fn a_claim_waits_for_work_and_gets_it_when_the_answer_is_durable() {
    let mut world = with(DmPolicy::OwnerOnly);
    let mut waiting = begin(&mut world, 1, &[]);
    assert!(waiting.try_recv().is_err());
    let turn = write(&mut world, "k1", "hello");
    world.finish(turn, answer("hi")).unwrap().unwrap();
    let work = waiting.try_recv().unwrap().unwrap();
    assert!(matches!(&work[..], [channel::Work::Plan(answer)] if answer.text.as_str() == "hi"), "{work:?}");
}

// Holds P11-10.
#[test]
fn a_piece_that_a_dead_process_held_is_unknown_and_is_not_sent_again() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1", "hello");
    world.finish(turn, answer("one two")).unwrap().unwrap();
    let message = world.act(|router| router.messages(None, 1, false)).unwrap()[0].id;
    let given = plan_and_claim(&mut world, 1);
    assert_eq!(given.len(), 1);
    world.restart();
    assert!(claim(&mut world, 1, &[given[0].piece]).is_empty(), "router's own death changes nothing");
    assert!(claim(&mut world, 2, &[]).is_empty());
    assert_eq!(states(&mut world), [DeliveryState::Unknown]);
    world.pass(60_000);
    assert!(claim(&mut world, 2, &[]).is_empty());
    // The next answer of the conversation says so, and a person has it sent again.
    let turn = write(&mut world, "k2", "well?");
    world.finish(turn, answer("three")).unwrap().unwrap();
    let next = plan_and_claim(&mut world, 2);
    assert_eq!(text(&next[0]), "My");
    done(&mut world, next[0].piece, &Outcome::Refused { why: Text::clip("too long"), finally: true })
        .unwrap();
    let by = Name::clip("mia");
    let again = world.ask(|router, port| router.resend(None, &by, message, port)).unwrap();
    assert_eq!(again, Ok(2));
    let twice = world.ask(|router, port| router.resend(None, &by, message, port)).unwrap();
    assert_eq!(twice, Ok(0), "asked twice is once");
    let resent = plan_and_claim(&mut world, 2);
    assert_eq!(resent.iter().map(text).collect::<Vec<_>>(), ["one"]);
}

// Holds P11-10.
#[test]
fn a_piece_that_never_reached_its_living_process_is_given_out_again() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1", "hello");
    world.finish(turn, answer("one")).unwrap().unwrap();
    let lost = plan_and_claim(&mut world, 1);
    let again = plan_and_claim(&mut world, 1);
    assert_eq!((lost[0].piece, again[0].piece), (again[0].piece, lost[0].piece));
    assert_eq!(again[0].attempt, 0);
    done(&mut world, again[0].piece, &Outcome::Unsent { after_ms: 5000 }).unwrap();
    assert!(plan_and_claim(&mut world, 1).is_empty(), "not before its time");
    world.pass(5000);
    assert_eq!(plan_and_claim(&mut world, 1)[0].attempt, 1);
}

// Holds P11-11, B-182.
#[test]
fn conversations_do_not_delay_each_other_and_a_day_old_answer_expires() {
    let mut world = with(DmPolicy::Open);
    let turns: Vec<TurnId> = ["7", "8"]
        .into_iter()
        .map(|sender| match accept(&mut world, vec![inbound(sender, sender, "hello")], sender)[..] {
            [Admitted::Accepted { turn, .. }] => turn,
            ref other => panic!("{other:?}"),
        })
        .collect();
    for turn in turns {
        world.finish(turn, answer("hi")).unwrap().unwrap();
    }
    let given = plan_and_claim(&mut world, 1);
    assert_eq!(given.len(), 2);
    done(&mut world, given[0].piece, &Outcome::Unsent { after_ms: 3_600_000 }).unwrap();
    done(&mut world, given[1].piece, &sent("m")).unwrap();
    assert_eq!(states(&mut world), [DeliveryState::Sent, DeliveryState::Ready]);
    world.ms += 86_400_001;
    assert!(claim(&mut world, 1, &[]).is_empty());
    assert_eq!(states(&mut world), [DeliveryState::Sent, DeliveryState::Expired]);
}

// Holds P11-03.
#[test]
fn a_stranger_is_paired_by_a_code_and_the_text_is_not_kept() {
    let mut world = with(DmPolicy::Pairing);
    assert_eq!(accept(&mut world, vec![inbound("k1", "9", "my secret plan")], "1"), [Admitted::Pairing]);
    let works = claim(&mut world, 1, &[]);
    let [Work::Plan(notice)] = &works[..] else { panic!("{works:?}") };
    let code = notice.text.split("hour: ").nth(1).and_then(|rest| rest.get(..8)).unwrap().to_owned();
    assert!(!notice.text.contains("secret plan"));
    assert_eq!(accept(&mut world, vec![inbound("k2", "9", "hello?")], "2"), [Admitted::Pairing]);
    assert_eq!(claim(&mut world, 1, &[]).len(), 1, "one reply within the hour");
    let (by, bob) = (Name::clip("mia"), Name::clip("bob"));
    let approve = |world: &mut World, code: &str| -> Result<UserInfo, ChannelError> {
        world
            .ask(|router, port| router.approve_pairing(&by, code, (bob.clone(), UserRole::User), port))
            .unwrap()
    };
    assert_eq!(approve(&mut world, "22222222"), Err(ChannelError::NoPairing));
    let paired = approve(&mut world, &code.to_lowercase()).unwrap();
    assert_eq!((paired.role, paired.identities.len()), (UserRole::User, 1));
    assert_eq!(approve(&mut world, &code), Err(ChannelError::NoPairing), "a code is used once");
    let all = world.act(|router| router.pairings()).unwrap();
    assert_eq!(all.iter().map(|it| it.state).collect::<Vec<_>>(), [PairingState::Approved]);
    world.restart();
    let fates = accept(&mut world, vec![inbound("k3", "9", "now?")], "3");
    assert!(matches!(fates[..], [Admitted::Accepted { .. }]), "{fates:?}");
    let asked = world.record.iter().filter(|event| event.action == Action::PairingChanged).count();
    assert_eq!(asked, 2);
}

// Holds P11-03, B-181.
#[test]
fn three_pairings_wait_and_a_code_ends_after_an_hour() {
    let mut world = with(DmPolicy::Pairing);
    for sender in ["11", "12", "13", "14"] {
        accept(&mut world, vec![inbound(sender, sender, "hi")], sender);
    }
    assert_eq!(world.act(|router| router.pairings()).unwrap().len(), 3);
    world.ms += 3_600_001;
    let all = world.act(|router| router.pairings()).unwrap();
    assert!(all.iter().all(|it| it.state == PairingState::Expired));
    accept(&mut world, vec![inbound("k", "14", "hi")], "k");
    assert_eq!(world.act(|router| router.pairings()).unwrap().len(), 4);
}

// Holds B-181.
#[test]
fn the_oldest_pairing_gives_way_to_a_fourth_after_ten_minutes() {
    let mut world = with(DmPolicy::Pairing);
    let ask = |world: &mut World, sender: &str, key: &str| {
        accept(world, vec![inbound(key, sender, "hi")], key);
        let all = world.act(|router| router.pairings()).unwrap().into_vec();
        let mut waiting: Vec<String> = all
            .iter()
            .filter(|it| it.state == PairingState::Pending)
            .filter_map(|it| it.identity.rsplit(':').next().map(str::to_owned))
            .collect();
        waiting.sort();
        waiting.join(" ")
    };
    for sender in ["11", "12", "13"] {
        ask(&mut world, sender, sender);
        world.ms += 1000;
    }
    assert_eq!(ask(&mut world, "14", "a"), "11 12 13");
    world.ms += 597_000;
    assert_eq!(ask(&mut world, "14", "b"), "12 13 14");
    assert_eq!(ask(&mut world, "12", "c"), "12 13 14", "one that waits takes no other's place");
    assert_eq!(ask(&mut world, "11", "d"), "12 13 14", "the next is not old enough yet");
    world.ms += 2_000;
    assert_eq!(ask(&mut world, "11", "e"), "11 13 14", "one that gave way may ask again");
}

// Holds P11-12.
#[test]
fn a_link_makes_an_identity_a_users_and_wrong_codes_are_their_senders() {
    let mut world = with(DmPolicy::OwnerOnly);
    let link = link_for(&mut world, "ann");
    let said = format!("/link {}", link.code);
    assert_eq!(accept(&mut world, vec![inbound("k1", "9", &said)], "1"), [Admitted::Command]);
    let ann = world.act(|router| router.identify(1001)).unwrap();
    assert_eq!(ann.identities.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["telegram:main:9"]);
    assert_eq!(
        accept(&mut world, vec![inbound("k1", "9", &said)], "1"),
        [Admitted::Command],
        "a replay is once"
    );
    let link = link_for(&mut world, "mia");
    for number in 0..5 {
        let key = format!("w{number}");
        accept(&mut world, vec![inbound(&key, "10", "/link nonsense")], &key);
    }
    let said = format!("/link {}", link.code);
    let fates = accept(&mut world, vec![inbound("k2", "10", &said)], "2");
    assert_eq!(fates, [Admitted::Dropped(DropReason::TooMany)], "its sender was wrong five times");
    let mia = world.act(|router| router.identify(1003)).unwrap();
    assert_eq!(mia.identities.iter().map(|id| id.as_str()).collect::<Vec<_>>(), [IDENTITY]);
    accept(&mut world, vec![inbound("k3", "11", &said)], "3");
    let mia = world.act(|router| router.identify(1003)).unwrap();
    assert_eq!(mia.identities.len(), 2, "the code holds for whoever has it");
}

#[test]
fn an_identity_is_added_to_a_user_who_exists_and_to_no_second_one() {
    let mut world = with(DmPolicy::OwnerOnly);
    let by = Name::clip("mia");
    let mut change = |user: &str, identity: &str, add: bool| {
        let identity = Text::clip(identity);
        world.ask(|router, port| router.change_identity(&by, user, (identity, add), port)).unwrap()
    };
    assert!(change("ann", "telegram:main:9", true).is_ok());
    assert!(change("ann", "telegram:main:9", true).is_ok(), "twice is once");
    assert_eq!(change("guy", "telegram:main:9", true), Err(ChannelError::BadIdentity));
    for malformed in ["telegram:main", "icq:main:9", "telegram::9", "telegram:main:", ""] {
        assert_eq!(change("guy", malformed, true), Err(ChannelError::BadIdentity), "{malformed}");
    }
    assert_eq!(change("mia", IDENTITY, false), Err(ChannelError::BadIdentity), "the configuration has it");
    assert!(change("ann", "telegram:main:9", false).is_ok_and(|ann| ann.identities.is_empty()));
    assert_eq!(change("nobody", "telegram:main:9", true), Err(ChannelError::NoUser));
}

#[test]
fn commands_need_no_model_and_a_new_conversation_has_a_new_session() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1", "hello");
    assert_eq!(accept(&mut world, vec![inbound("k2", "7", "/stop")], "2"), [Admitted::Command]);
    let stopped = world.act(|router| router.messages(None, 1, false)).unwrap();
    assert_eq!((stopped[0].turn, stopped[0].state), (turn, MessageState::Cancelled));
    assert_eq!(accept(&mut world, vec![inbound("k3", "7", "/new")], "3"), [Admitted::Command]);
    write(&mut world, "k4", "again");
    let sessions = world.act(|router| router.sessions(None)).unwrap();
    let mut names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["telegram:main", "telegram:main#2"]);
}

#[test]
fn a_full_queue_and_a_paused_account_take_nothing_and_say_so_once() {
    let mut world = with(DmPolicy::OwnerOnly);
    let many = (0..10).map(|n| inbound(&format!("k{n}"), "7", "hello")).collect();
    let fates = accept(&mut world, many, "1");
    let busy = fates.iter().filter(|fate| **fate == Admitted::Dropped(DropReason::Busy)).count();
    assert_eq!((busy > 0, busy < 10), (true, true), "{fates:?}");
    let notices = claim(&mut world, 1, &[]).len();
    assert_eq!(notices, 1);
    let by = Name::clip("mia");
    world.ask(|router, port| router.pause_channel(&by, "main", true, port)).unwrap().unwrap();
    let empty = batch(vec![], "2");
    let refused = world.act(|router| router.channel_accept(Process::Telegram, "main", &empty));
    assert_eq!(refused, Err(ChannelError::Paused));
    assert!(claim(&mut world, 1, &[]).is_empty());
}

// Holds B-11.
#[test]
fn the_owner_writes_by_a_channel_while_others_fill_the_queue() {
    let mut world = with(DmPolicy::OwnerOnly);
    world.act(|router| router.store_pause(Scope::All, true)).unwrap();
    let ann = world.id(1001);
    let full = (0..64).find_map(|n| world.submit(&said(ann, &format!("s{n}"), &format!("k{n}"), "x")).err());
    assert!(matches!(full, Some(RouterError::Busy { .. })), "{full:?}");
    let fates = accept(&mut world, vec![inbound("k1", "7", "hello")], "1");
    assert!(matches!(fates[0], Admitted::Accepted { .. }), "{fates:?}");
}

#[test]
fn a_dead_letter_that_is_queued_again_is_answered_where_it_came_from() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1", "hello");
    let failed = Finished { end: End::Failed(Text::clip("no model")), ..answer("") };
    world.finish(turn, failed).unwrap().unwrap();
    let message = world.act(|router| router.messages(None, 1, false)).unwrap()[0].id;
    let given = plan_and_claim(&mut world, 1);
    assert_eq!(text(&given[0]), "I");
    done(&mut world, given[0].piece, &Outcome::Refused { why: Text::clip("gone"), finally: true }).unwrap();
    let again = world.requeue(None, message, None).unwrap().unwrap();
    world.finish(again.turn, answer("better")).unwrap().unwrap();
    let given = plan_and_claim(&mut world, 1);
    assert_eq!((text(&given[0]), given[0].conversation.id.as_str()), ("better", "7"));
}

// Holds P11-19.
#[test]
fn a_button_has_an_answer_sent_again_once_and_for_its_own_sender_alone() {
    let mut world = with(DmPolicy::Open);
    let turn = write(&mut world, "k1", "hello");
    world.finish(turn, answer("one")).unwrap().unwrap();
    assert_eq!(plan_and_claim(&mut world, 1).len(), 1);
    assert!(claim(&mut world, 2, &[]).is_empty());
    let turn = write(&mut world, "k2", "well?");
    world.finish(turn, answer("two")).unwrap().unwrap();
    let button = loop {
        let given = plan_and_claim(&mut world, 2);
        done(&mut world, given[0].piece, &sent("m")).unwrap();
        if let [button] = &given[0].buttons[..] {
            break button.clone();
        }
    };
    let press = |world: &mut World, sender: &str, nonce: [u8; 16]| {
        let from = inbound("x", sender, "");
        let conversation = inbound("x", "7", "").conversation;
        let press = Press { conversation, message: Text::clip("m"), sender: from.sender, nonce };
        let answer = world.ask(|router, port| router.channel_press(Process::Telegram, "main", &press, port));
        answer.unwrap().map(|answer| answer.done)
    };
    assert_eq!(press(&mut world, "8", button.nonce), Ok(false), "somebody else presses");
    assert_eq!(press(&mut world, "7", [0; 16]), Ok(false), "no button of this host");
    world.audit = false;
    assert_eq!(press(&mut world, "7", button.nonce), Err(ChannelError::NotDurable));
    world.audit = true;
    assert_eq!(press(&mut world, "7", button.nonce), Ok(true), "it was not used up");
    assert_eq!(press(&mut world, "7", button.nonce), Ok(false), "a second time");
    let again = plan_and_claim(&mut world, 2);
    assert_eq!(again.iter().map(text).collect::<Vec<_>>(), ["one"]);
}
