//! Steps of the wall clock: what it ends is over for good, and what goes by the other clock does not hear of it.

use super::world::World;
use super::{answer, decided};
use ipc_proto::approval::{Reply, State};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::router::MessageState::{Accepted, Answered, Queued, Running};
use ipc_proto::router::{CallVerdict, RouterError};

const HOUR: i64 = 3_600_000;

// Holds P7-62.
#[test]
fn an_expired_question_stays_expired_over_clock_steps_and_crashes() {
    for (audit, restart) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut world = World::new();
        let turn = world.say("s", "do it").turn;
        let question = world.inquire(turn, 1);
        world.audit = audit;
        world.off = HOUR;
        let listed = world.act(|router| router.approvals(None, false)).unwrap();
        assert!(listed.is_empty(), "it is shown as over");
        for off in [0, -HOUR / 4] {
            world.off = off;
            if restart {
                world.restart();
            }
            assert_eq!(world.told(turn, question.id), Some(Ok(State::Expired)), "{off}");
            let late = world.answer(None, &question, Reply::Once);
            assert_eq!(late, Err(RouterError::NotPending(State::Expired)));
            let step = world.keep(turn, 1, decided(1, CallVerdict::Run));
            assert_eq!(step, Err(RouterError::NotApproved));
            assert!(world.act(|router| router.approvals(None, false)).unwrap().is_empty());
        }
        world.audit = true;
        world.pass(3000);
        let ends = world.record.iter().filter(|event| event.action == Action::ApprovalAnswered);
        assert_eq!(
            ends.map(|event| event.result).collect::<Vec<_>>(),
            [Result3::Blocked],
            "on the record once"
        );
    }
}

// Holds P7-62.
#[test]
fn an_expired_approval_is_never_used_though_the_clock_goes_back() {
    let mut world = World::new();
    let turn = world.say("s", "do it").turn;
    let question = world.inquire(turn, 1);
    world.answer(None, &question, Reply::Once).unwrap();
    world.off = HOUR;
    world.pass(500);
    world.off = 0;
    assert_eq!(world.keep(turn, 1, decided(1, CallVerdict::Run)), Err(RouterError::NotApproved));
    assert_eq!(world.told(turn, question.id), Some(Ok(State::Expired)));
}

// Holds P7-62.
#[test]
fn no_step_costs_a_turn_its_lease_or_its_time_or_starts_it_again() {
    let mut world = World::new();
    let accepted = world.say("s", "one");
    for off in [30 * 24 * HOUR, -HOUR / 4, 0] {
        world.off = off;
        world.pass(10_000);
    }
    assert_eq!((world.launched.len(), world.killed.len()), (1, 0));
    world.restart();
    assert_eq!(world.finish(accepted.turn, answer("done")), Some(Ok(())));
    assert_eq!(world.trace(accepted.message), [Accepted, Queued, Running, Answered]);
    assert_eq!(world.launched.len(), 1);
}
