//! The outbox of a platform over any order of claims, outcomes and deaths: no piece takes effect twice, and the pieces of a
//! conversation take effect in order.

use super::channels::{claim, done, plan, with, write};
use super::world::World;
use super::{answer, config, user};
use crate::channels::admission::tests::{inbound, rules};
use crate::state::channels::Claim;
use ipc_proto::channel::{Admitted, Batch, Body, DeliveryState, Outcome, Piece, PieceId, Platform, Work};
use ipc_proto::config::{self as conf, DmPolicy};
use ipc_proto::{List, Text};
use manifest::Process;
use proptest::prelude::*;

/// The platform's process, which has at most one piece in its hands.
struct Sender {
    world: World,
    life: u64,
    /// The piece that it holds, and true once it was sent.
    held: Option<(PieceId, bool)>,
    /// The pieces that took effect, in order.
    effects: Vec<PieceId>,
    /// Pieces whose outcome is unknown: they are never given out again.
    unknown: Vec<PieceId>,
    written: u8,
}

impl Sender {
    fn act(&mut self, action: u8) {
        match (action, self.held) {
            (0, _) if self.written < 20 => {
                self.written += 1;
                let turn = write(&mut self.world, &format!("k{}", self.written), "hello");
                self.world.finish(turn, answer("a b c")).unwrap().unwrap();
            }
            (1, None) => self.take(),
            (2, Some((piece, false))) => {
                assert!(
                    self.effects.last().is_none_or(|last| *last < piece),
                    "{piece:?} after {:?}",
                    self.effects
                );
                self.effects.push(piece);
                self.held = Some((piece, true));
            }
            (3, Some((piece, true))) => self.settle(piece, &Outcome::Sent { id: Text::clip("m") }),
            (4, Some((piece, false))) => self.settle(piece, &Outcome::Unsent { after_ms: 0 }),
            (5, Some((piece, _))) => {
                self.unknown.push(piece);
                self.settle(piece, &Outcome::Unknown);
            }
            (6, held) => {
                self.unknown.extend(held.map(|(piece, _)| piece));
                (self.held, self.life) = (None, self.life + 1);
            }
            (7, _) => self.world.restart(),
            _ => {}
        }
    }

    fn settle(&mut self, piece: PieceId, outcome: &Outcome) {
        assert_eq!(done(&mut self.world, piece, outcome), Ok(()));
        self.held = None;
    }

    fn take(&mut self) {
        for work in claim(&mut self.world, self.life, &[]) {
            match work {
                Work::Plan(answer) => plan(&mut self.world, &answer),
                Work::Send(given) => {
                    assert!(!self.effects.contains(&given.piece), "{:?} a second time", given.piece);
                    assert!(!self.unknown.contains(&given.piece), "{:?} is unknown", given.piece);
                    self.held = Some((given.piece, false));
                }
                Work::Check(_) => panic!("no look was asked for"),
                Work::Find(given) => panic!("{:?}: this platform finds nothing", given.piece),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Holds P11-09, P11-10, P11-11.
    #[test]
    fn no_piece_takes_effect_twice_whoever_dies(actions in prop::collection::vec(0_u8..8, 1..120)) {
        let mut sender = Sender {
            world: with(DmPolicy::OwnerOnly),
            life: 1,
            held: None,
            effects: Vec::new(),
            unknown: Vec::new(),
            written: 0,
        };
        for action in actions {
            sender.act(action);
        }
        // A process that lives on sends the rest.
        sender.act(6);
        [0, 1, 1, 2, 3].into_iter().for_each(|action| sender.act(action));
        prop_assert!(!sender.effects.is_empty());
    }
}

// Holds P11-10.
#[test]
fn a_piece_that_may_have_been_sent_is_looked_for_where_that_can_be() {
    let mut config = config();
    let identity = "discord:main:7".into();
    config
        .users
        .push(conf::User { identities: vec![identity], ..user("mia", &[1003], conf::UserRole::Owner) });
    let rules = conf::ChannelRules { platform: Platform::Discord, ..rules(DmPolicy::OwnerOnly) };
    config.channels.insert("main".into(), rules);
    let mut world = World::with(config);
    let batch = Batch { messages: List::clip([inbound("k1", "7", "hello")]), cursor: Text::clip("c") };
    let accepted = world.act(|router| router.channel_accept(Process::Discord, "main", &batch)).unwrap();
    let Some(Admitted::Accepted { turn, .. }) = accepted.first() else { panic!("{accepted:?}") };
    world.finish(*turn, answer("one")).unwrap().unwrap();
    let mut claim = |life: u64, holding: &[PieceId]| {
        let holding = holding.to_vec();
        let mut given = world.begin(|router, port| {
            router.channel_claim(Process::Discord, "main", Claim { life, holding, port });
        });
        let works = given.try_recv().map(|work| work.unwrap().to_vec()).unwrap_or_default();
        if let [Work::Plan(planned)] = &works[..] {
            let piece = Piece { body: Body::Text(Text::clip("one")), markup: Text::default() };
            let pieces = List::clip([piece]);
            world
                .act(|router| router.channel_plan(Process::Discord, "main", planned.delivery, &pieces))
                .unwrap();
        }
        works
    };
    drop(claim(1, &[]));
    let [Work::Send(given)] = &claim(1, &[])[..] else { panic!("it is sent once") };
    for life in [2, 2, 3] {
        let [Work::Find(found)] = &claim(life, &[])[..] else {
            panic!("{life}: it is looked for until it has an outcome")
        };
        assert_eq!(found, given);
    }
    assert!(claim(3, &[given.piece]).is_empty());
    let found = Outcome::Sent { id: Text::clip("m") };
    world.act(|router| router.channel_done(Process::Discord, "main", given.piece, &found)).unwrap();
    let states = world.act(|router| router.deliveries(None, None, false)).unwrap();
    assert_eq!(states[0].state, DeliveryState::Sent);
}
