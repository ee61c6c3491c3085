//! The outbox of a platform over any order of claims, outcomes and deaths: no piece takes effect twice, and the pieces of a
//! conversation take effect in order.

use super::answer;
use super::channels::{claim, done, plan, with, write};
use super::world::World;
use ipc_proto::Text;
use ipc_proto::channel::{Outcome, PieceId, Work};
use ipc_proto::config::DmPolicy;
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
