//! The outbox of a platform over any order of claims, outcomes and deaths: no piece takes effect twice, and the pieces of a
//! conversation take effect in order.

use super::channels::{done, plan, with, write};
use super::world::World;
use super::{answer, config, taking, user};
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
    /// The piece that it was told of, and has not taken.
    told: Option<PieceId>,
    /// The piece that it took, and true once it was sent.
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
            (1, None) => self.claim(),
            (8, None) => self.take(),
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
                (self.told, self.held, self.life) = (None, None, self.life + 1);
            }
            (7, _) => self.world.restart(),
            _ => {}
        }
    }

    fn settle(&mut self, piece: PieceId, outcome: &Outcome) {
        assert_eq!(done(&mut self.world, piece, outcome), Ok(()));
        self.held = None;
    }

    fn claim(&mut self) {
        let holding: Vec<PieceId> = self.told.into_iter().collect();
        for work in taking::told(&mut self.world, self.life, &holding) {
            match work {
                Work::Plan(answer) => plan(&mut self.world, &answer),
                Work::Send(due) => {
                    assert!(!self.effects.contains(&due.piece), "{:?} a second time", due.piece);
                    assert!(!self.unknown.contains(&due.piece), "{:?} is unknown", due.piece);
                    self.told = Some(due.piece);
                }
                Work::Check(_) => panic!("no look was asked for"),
                Work::Find(given) => panic!("{:?}: this platform finds nothing", given.piece),
            }
        }
    }

    fn take(&mut self) {
        if let Some(piece) = self.told.take() {
            taking::take(&mut self.world, self.life, piece, None).unwrap();
            self.held = Some((piece, false));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Holds P11-09, P11-10, P11-11.
    #[test]
    fn no_piece_takes_effect_twice_whoever_dies(actions in prop::collection::vec(0_u8..9, 1..140)) {
        let mut sender = Sender {
            world: with(DmPolicy::OwnerOnly),
            life: 1,
            told: None,
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
        [0, 1, 1, 8, 2, 3].into_iter().for_each(|action| sender.act(action));
        prop_assert!(!sender.effects.is_empty());
    }
}

/// The work that Discord's process is told of; every answer is planned into one piece.
fn told(world: &mut World, life: u64, holding: &[PieceId]) -> Vec<Work> {
    let holding = holding.to_vec();
    let mut given = world.begin(|router, port| {
        router.channel_claim(Process::Discord, "main", Claim { life, holding, port });
    });
    let works = given.try_recv().map(|work| work.unwrap().to_vec()).unwrap_or_default();
    if let [Work::Plan(planned)] = &works[..] {
        let piece = Piece { body: Body::Text(Text::clip("one")), markup: Text::default() };
        let pieces = List::clip([piece]);
        world.act(|router| router.channel_plan(Process::Discord, "main", planned.delivery, &pieces)).unwrap();
    }
    works
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
    drop(told(&mut world, 1, &[]));
    let [Work::Send(due)] = &told(&mut world, 1, &[])[..] else { panic!("it is sent once") };
    let take = |router: &mut crate::state::RouterState| {
        router.channel_take(Process::Discord, "main", 1, due.piece, None)
    };
    let given = world.act(take).unwrap();
    for life in [2, 2, 3] {
        let [Work::Find(found)] = &told(&mut world, life, &[])[..] else {
            panic!("{life}: it is looked for until it has an outcome")
        };
        assert_eq!(*found, given);
    }
    assert!(told(&mut world, 3, &[given.piece]).is_empty());
    let found = Outcome::Sent { id: Text::clip("m") };
    world.act(|router| router.channel_done(Process::Discord, "main", given.piece, &found)).unwrap();
    let states = world.act(|router| router.deliveries(None, None, false)).unwrap();
    assert_eq!(states[0].state, DeliveryState::Sent);
}
