//! Router's own work for channels: groups that move, codes of six digits, looks and test lines, usage.

use super::channels::{accept, done, plan, with, write};
use super::taking::{Work, claim};
use super::world::World;
use super::{answer, asking};
use crate::channels::admission::tests::inbound;
use ipc_proto::approval::State;
use ipc_proto::audit::Action;
use ipc_proto::channel::{
    Admitted, ChannelError, Conversation, ConversationKind, DropReason, Finding, Inbound, Outcome,
};
use ipc_proto::config::{ChannelApprovals, DmPolicy, UserRole};
use ipc_proto::model::Usage;
use ipc_proto::router::Finished;
use ipc_proto::{List, Name, Text};
use manifest::Process;

fn in_group(key: &str, group: &str, text: &str) -> Inbound {
    let mut message = inbound(key, "7", text);
    message.conversation =
        Conversation { id: Text::clip(group), thread: None, kind: ConversationKind::Group };
    message.mentions = true;
    message
}

fn moved(key: &str, from: &str, to: &str) -> Inbound {
    Inbound { moved_from: Some(Text::clip(from)), parts: List::default(), ..in_group(key, to, "") }
}

// Holds P11-46.
#[test]
fn a_group_that_became_another_keeps_admission_session_and_principal() {
    let mut world = with(DmPolicy::OwnerOnly);
    assert!(matches!(
        accept(&mut world, vec![in_group("k1", "-100", "hello")], "1")[..],
        [Admitted::Accepted { .. }]
    ));
    let batch =
        vec![moved("k2", "-100", "-1009"), moved("k3", "-100", "-1009"), in_group("k4", "-1009", "again")];
    let fates = accept(&mut world, batch, "2");
    assert!(
        matches!(fates[..], [Admitted::Command, Admitted::Command, Admitted::Accepted { .. }]),
        "{fates:?}"
    );
    world.restart();
    assert!(matches!(
        accept(&mut world, vec![in_group("k5", "-1009", "more")], "3")[..],
        [Admitted::Accepted { .. }]
    ));
    let listed = world.act(|router| router.messages(None, 10, false)).unwrap();
    let whose: Vec<(&str, &str)> = listed.iter().map(|it| (it.user.as_str(), it.session.as_str())).collect();
    assert!(whose.len() == 3 && whose.iter().all(|it| *it == whose[0]), "{whose:?}");
    let moves = world.record.iter().filter(|event| event.action == Action::ChannelChanged).count();
    assert_eq!(moves, 1);
}

// Holds P11-46.
#[test]
fn nothing_of_a_group_that_is_not_admitted_moves() {
    let mut world = with(DmPolicy::OwnerOnly);
    let fates = accept(&mut world, vec![moved("k1", "-5", "-6"), in_group("k2", "-6", "hello")], "1");
    assert_eq!(fates, [Admitted::Dropped(DropReason::NotListed); 2]);
    // A rule that an operator gave moves as well, and is taken back under the new id.
    let by = Name::clip("mia");
    let rule = ipc_proto::channel::GroupRule { members: true, require_mention: false };
    let set = |world: &mut World, group: &str, rule| {
        let group = Text::clip(group);
        world.ask(|router, port| router.set_group(&by, "main", (group, rule), port)).unwrap().unwrap();
    };
    set(&mut world, "-7", Some(rule));
    let fates = accept(&mut world, vec![moved("k3", "-7", "-8"), in_group("k4", "-8", "hello")], "2");
    assert!(matches!(fates[..], [Admitted::Command, Admitted::Accepted { .. }]), "{fates:?}");
    set(&mut world, "-8", None);
    assert_eq!(
        accept(&mut world, vec![in_group("k5", "-8", "x")], "3"),
        [Admitted::Dropped(DropReason::NotListed)]
    );
}

// Holds P11-46.
#[test]
fn an_answer_to_a_group_that_moved_goes_to_where_it_is_now() {
    let mut world = with(DmPolicy::OwnerOnly);
    let [Admitted::Accepted { turn, .. }] =
        accept(&mut world, vec![in_group("k1", "-100", "hello")], "1")[..]
    else {
        panic!("not accepted")
    };
    accept(&mut world, vec![moved("k2", "-100", "-1009")], "2");
    world.finish(turn, answer("hi")).unwrap().unwrap();
    let works = claim(&mut world, 1, &[]);
    assert!(matches!(&works[..], [Work::Plan(it)] if it.conversation.id.as_str() == "-1009"), "{works:?}");
}

/// A question of a direct message, with a code of six digits needed; gives its world and the code to write.
fn asked() -> (World, ipc_proto::ids::TurnId, ipc_proto::approval::Question, String) {
    let mut world = with(DmPolicy::Pairing);
    let rules = world.config.channels.get_mut("main").unwrap();
    (rules.approve, rules.approve_code) = (ChannelApprovals::Own, Some("telegram-main-totp".to_owned()));
    world.restart();
    let turn = write(&mut world, "k1", "do it");
    world.keep(turn, 0, asking(1)).unwrap();
    let question = super::question(1, world.ms + 300_000);
    world.act(|router| router.ask(turn, &question)).unwrap();
    let works = claim(&mut world, 1, &[]);
    let [Work::Plan(shown)] = &works[..] else { panic!("{works:?}") };
    let code = shown.text.split("/approve ").nth(1).unwrap().chars().take(8).collect();
    (world, turn, question, code)
}

// Holds P11-41.
#[test]
fn a_yes_counts_with_the_right_digits_alone() {
    let (mut world, turn, question, code) = asked();
    world.digits = Some("123456");
    let state = |world: &mut World, key: &str, text: &str| {
        accept(world, vec![inbound(key, "7", text)], key);
        world.told(turn, question.id).map(Result::unwrap)
    };
    assert_eq!(state(&mut world, "a", &format!("/approve {code}")), None);
    assert_eq!(state(&mut world, "b", &format!("/approve {code} 654321")), None);
    world.digits = None;
    assert_eq!(state(&mut world, "c", &format!("/approve {code} 123456")), None, "credproxy is away");
    world.digits = Some("123456");
    assert_eq!(state(&mut world, "d", &format!("/approve {code} 123 456")), Some(State::Approved));
}

// Holds P11-41.
#[test]
fn a_no_needs_no_digits_and_somebody_elses_digits_count_for_nothing() {
    let (mut world, turn, question, code) = asked();
    world.digits = Some("123456");
    accept(&mut world, vec![inbound("a", "9", &format!("/approve {code} 123456"))], "a");
    assert_eq!(world.told(turn, question.id).map(Result::unwrap), None);
    accept(&mut world, vec![inbound("b", "7", &format!("/deny {code}"))], "b");
    assert_eq!(world.told(turn, question.id).map(Result::unwrap), Some(State::Denied));
}

// Holds P11-44.
#[test]
fn a_look_at_an_account_is_asked_of_its_process_once() {
    let mut world = with(DmPolicy::OwnerOnly);
    let mut waiting = world.begin(|router, port| router.check_channel("main", port));
    let works = claim(&mut world, 1, &[]);
    let [Work::Check(number)] = works[..] else { panic!("{works:?}") };
    assert!(claim(&mut world, 1, &[]).is_empty(), "asked once");
    let finding = Finding { id: Name::clip("token"), well: true, said: Text::clip("it is accepted") };
    let give = |world: &mut World, number, caller| {
        let findings = List::clip([finding.clone()]);
        world.act(|router| router.channel_checked(caller, "main", number, findings))
    };
    assert_eq!(give(&mut world, number, Process::Gateway), Err(ChannelError::NoChannel));
    assert_eq!(give(&mut world, number + 1, Process::Telegram), Ok(()));
    assert!(waiting.try_recv().is_err(), "another look's findings");
    assert_eq!(give(&mut world, number, Process::Telegram), Ok(()));
    assert_eq!(waiting.try_recv().unwrap().unwrap().to_vec(), [finding]);
}

// Holds P11-43.
#[test]
fn a_test_line_reaches_admitted_conversations_alone_and_is_on_the_record() {
    let mut world = with(DmPolicy::Allowlist);
    let by = Name::clip("mia");
    let test = |world: &mut World, to: &str| {
        let to = Text::clip(to);
        world.ask(|router, port| router.test_channel(&by, "main", &to, port)).unwrap()
    };
    for stranger in ["9", "-5", ""] {
        assert_eq!(test(&mut world, stranger), Err(ChannelError::NotAdmitted), "{stranger}");
    }
    world.audit = false;
    assert_eq!(test(&mut world, "7"), Err(ChannelError::NotDurable));
    world.audit = true;
    let id = test(&mut world, "7").unwrap();
    assert!(test(&mut world, "-100").is_ok(), "a group of the configuration");
    let works = claim(&mut world, 1, &[]);
    let [Work::Plan(line), Work::Plan(_)] = &works[..] else { panic!("{works:?}") };
    assert_eq!((line.delivery, line.turn, line.conversation.id.as_str()), (id, None, "7"));
    assert!(line.text.starts_with("A test of the host, by mia"));
}

// Holds P11-42.
#[test]
fn usage_is_of_the_day_and_of_the_person_who_asks() {
    let mut world = with(DmPolicy::OwnerOnly);
    for key in ["k1", "k2"] {
        let turn = write(&mut world, key, "hello");
        let usage = Usage { input: 100, output: 7, cost_micros: 1_500_000, ..Usage::default() };
        world.finish(turn, Finished { usage, ..answer("hi") }).unwrap().unwrap();
        deliver(&mut world);
    }
    let said = |world: &mut World, key: &str| {
        accept(world, vec![inbound(key, "7", "/usage")], key);
        deliver(world)
    };
    assert_eq!(
        said(&mut world, "k3"),
        "Today (UTC): 2 turns, 200 tokens read, 14 tokens written, 3.0000 USD."
    );
    let ann = world.id(1001);
    let mia = world.id(1003);
    let day = world.ms / 86_400_000;
    assert_eq!(world.act(|router| router.store.spent(ann, day)).unwrap().answers, 0);
    assert_eq!(world.act(|router| router.store.spent(mia, day)).unwrap().answers, 2);
    world.ms += 86_400_000;
    assert!(said(&mut world, "k4").contains(" 0 turns"));
}

/// The process sends the next answer; gives its text.
fn deliver(world: &mut World) -> String {
    let works = claim(world, 1, &[]);
    let [Work::Plan(shown)] = &works[..] else { panic!("{works:?}") };
    let text = shown.text.to_string();
    plan(world, shown);
    while let [Work::Send(given)] = &claim(world, 1, &[])[..] {
        done(world, given.piece, &Outcome::Sent { id: Text::clip("m") }).unwrap();
    }
    text
}

// Holds P11-40.
#[test]
fn a_loop_is_paused_with_one_alert_and_one_notice() {
    let mut world = with(DmPolicy::OwnerOnly);
    for number in 0..6 {
        let turn = write(&mut world, &format!("k{number}"), "and again");
        world.finish(turn, answer("again")).unwrap().unwrap();
        deliver(&mut world);
    }
    let dropped = [Admitted::Dropped(DropReason::Loop)];
    assert_eq!(accept(&mut world, vec![inbound("l1", "7", "and again")], "l1"), dropped);
    assert!(deliver(&mut world).contains("I pause here for 5 minutes"));
    assert_eq!(accept(&mut world, vec![inbound("l2", "7", "and again")], "l2"), dropped);
    assert!(claim(&mut world, 1, &[]).is_empty(), "said once");
    assert_eq!(accept(&mut world, vec![inbound("l3", "7", "/stop")], "l3"), [Admitted::Command]);
    let alerts = world.record.iter().filter(|event| event.action == Action::Alert).count();
    assert_eq!(alerts, 1);
    deliver(&mut world);
    world.pass(300_000);
    let fates = accept(&mut world, vec![inbound("l4", "7", "hello")], "l4");
    assert!(matches!(fates[..], [Admitted::Accepted { .. }]), "{fates:?}");
}

// Holds P11-42.
#[test]
fn a_user_gets_a_code_for_another_account_and_an_owner_does_not() {
    let mut world = with(DmPolicy::Pairing);
    let by = Name::clip("mia");
    let identity = Text::clip("telegram:main:9");
    world.ask(|router, port| router.change_identity(&by, "ann", (identity, true), port)).unwrap().unwrap();
    assert_eq!(world.act(|router| router.people.by_name("ann").map(|it| it.role)), Some(UserRole::User));
    accept(&mut world, vec![inbound("k1", "9", "/link")], "1");
    let said = deliver(&mut world);
    let code = said.split("/link ").nth(1).unwrap().trim_end_matches('`').to_owned();
    accept(&mut world, vec![inbound("k2", "10", &format!("/link {code}"))], "2");
    let ann = world.act(|router| router.identify(1001)).unwrap();
    assert_eq!(ann.identities.len(), 2);
    deliver(&mut world);
    accept(&mut world, vec![inbound("k3", "7", "/link")], "3");
    assert!(deliver(&mut world).contains("agentctl user link"));
}
