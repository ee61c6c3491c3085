//! A platform that takes ids of its clients, and invites: Matrix.

use super::channels::with;
use super::world::World;
use super::{answer, config, user};
use crate::channels::admission::tests::{inbound, rules};
use crate::state::channels::Claim;
use ipc_proto::audit::Action;
use ipc_proto::channel::{
    Admitted, Batch, Body, ChannelError, Claim as Given, DeliveryState, Outcome, Piece, Platform, Work,
};
use ipc_proto::config::{self as conf, ChannelRules, DmPolicy, UserRole};
use ipc_proto::ids::TurnId;
use ipc_proto::{List, Name, Text};
use manifest::Process;

fn world(dm: DmPolicy) -> World {
    let mut config = config();
    let identities = vec!["matrix:main:@ann:test".into()];
    config.users.push(conf::User { identities, ..user("mia", &[1003], UserRole::Owner) });
    config.channels.insert("main".into(), ChannelRules { platform: Platform::Matrix, ..rules(dm) });
    World::with(config)
}

fn write(world: &mut World, key: &str) -> TurnId {
    let batch = Batch { messages: List::clip([inbound(key, "@ann:test", "hello")]), cursor: Text::clip(key) };
    let fates = world.act(|router| router.channel_accept(Process::Matrix, "main", &batch)).unwrap();
    match fates[..] {
        [Admitted::Accepted { turn, .. }] => turn,
        ref other => panic!("{other:?}"),
    }
}

/// The pieces that this life of the process is given, with every answer planned into one.
fn claim(world: &mut World, life: u64) -> Vec<Given> {
    for _ in 0..2 {
        let mut waiting = world.begin(|router, port| {
            router.channel_claim(Process::Matrix, "main", Claim { life, holding: Vec::new(), port });
        });
        let works = waiting.try_recv().map(|work| work.unwrap().to_vec()).unwrap_or_default();
        let mut given = Vec::new();
        for work in works {
            match work {
                Work::Check(_) | Work::Find(_) => panic!("Matrix takes a piece's id"),
                Work::Send(due) => given.push(
                    world
                        .act(|router| router.channel_take(Process::Matrix, "main", life, due.piece, None))
                        .unwrap(),
                ),
                Work::Plan(answer) => {
                    let piece = Piece { body: Body::Text(Text::clip(&answer.text)), markup: Text::default() };
                    let pieces = List::clip([piece]);
                    world
                        .act(|router| router.channel_plan(Process::Matrix, "main", answer.delivery, &pieces))
                        .unwrap();
                }
            }
        }
        if !given.is_empty() {
            return given;
        }
    }
    Vec::new()
}

// Holds P11-10.
#[test]
fn a_piece_that_a_dead_process_held_is_given_out_again_under_its_id() {
    let mut world = world(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1");
    world.finish(turn, answer("hi")).unwrap().unwrap();
    let first = claim(&mut world, 1);
    world.restart();
    let again = claim(&mut world, 2);
    assert_eq!((first[0].piece, &first[0].content), (again[0].piece, &again[0].content));
    assert_eq!(again[0].attempt, 1, "it may have been sent");
    let outcome = Outcome::Sent { id: Text::clip("$1") };
    world.act(|router| router.channel_done(Process::Matrix, "main", again[0].piece, &outcome)).unwrap();
    let states = world.act(|router| router.deliveries(None, None, false)).unwrap();
    assert_eq!(states.iter().map(|info| info.state).collect::<Vec<_>>(), [DeliveryState::Sent]);
    assert!(claim(&mut world, 3).is_empty());
}

fn invited(world: &mut World, sender: &str) -> Result<bool, ChannelError> {
    let sender: Text<128> = Text::clip(sender);
    world.act(|router| router.channel_invited(Process::Matrix, "main", &sender))
}

// Holds P11-22.
#[test]
fn a_strangers_invitation_is_declined_and_on_the_record_once() {
    let mut world = world(DmPolicy::OwnerOnly);
    assert_eq!(invited(&mut world, "@ann:test"), Ok(true));
    for _ in 0..2 {
        assert_eq!(invited(&mut world, "@eve:evil"), Ok(false));
    }
    let dropped = world.record.iter().filter(|event| event.action == Action::SenderDropped);
    assert_eq!(dropped.count(), 1);
    let telegram = world.act(|router| router.channel_invited(Process::Telegram, "main", "@ann:test"));
    assert_eq!(telegram, Err(ChannelError::NoChannel), "another platform's process");
}

// Holds P11-22.
#[test]
fn anybody_may_invite_while_a_links_code_waits_and_no_longer() {
    let mut world = world(DmPolicy::OwnerOnly);
    let by = Name::clip("mia");
    world.ask(|router, port| router.create_link(&by, "mia", port)).unwrap().unwrap();
    assert_eq!(invited(&mut world, "@mia:elsewhere"), Ok(true));
    world.ms += 600_001;
    assert_eq!(invited(&mut world, "@mia:elsewhere"), Ok(false));
}

#[test]
fn every_platform_is_asked_with_its_own_mark_of_commands() {
    let mut telegram = with(DmPolicy::OwnerOnly);
    super::channels::accept(&mut telegram, vec![inbound("k", "7", "!help")], "1");
    assert!(telegram.act(|router| router.deliveries(None, None, false)).unwrap().len() == 1);
    assert_eq!((Platform::Telegram.command_mark(), Platform::Matrix.command_mark()), ('/', '!'));
}
