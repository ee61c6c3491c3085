//! Pieces that wait in their process: they are sent when they are taken, and not before.

use super::answer;
use super::channels::{begin, done, plan, with, write};
use super::world::World;
use ipc_proto::Text;
use ipc_proto::channel::{self, Answer, ChannelError, Claim, DeliveryState, Outcome, PieceId};
use ipc_proto::config::DmPolicy;
use ipc_proto::ids::TurnId;
use manifest::Process;

/// The work of a process that can send at once: it takes every piece that is due.
#[derive(Debug)]
pub(super) enum Work {
    Plan(Answer),
    Send(Claim),
    Find(Claim),
    Check(u64),
}

/// The work that the process is told of.
pub(super) fn told(world: &mut World, life: u64, holding: &[PieceId]) -> Vec<channel::Work> {
    begin(world, life, holding).try_recv().map(|work| work.unwrap().to_vec()).unwrap_or_default()
}

pub(super) fn take(
    world: &mut World,
    life: u64,
    piece: PieceId,
    preview: Option<&str>,
) -> Result<Claim, ChannelError> {
    let preview = preview.map(Text::clip);
    world.act(|router| router.channel_take(Process::Telegram, "main", life, piece, preview))
}

pub(super) fn claim(world: &mut World, life: u64, holding: &[PieceId]) -> Vec<Work> {
    let works = told(world, life, holding).into_iter();
    let taken = works.map(|work| match work {
        channel::Work::Plan(answer) => Work::Plan(answer),
        channel::Work::Send(due) => Work::Send(take(world, life, due.piece, None).unwrap()),
        channel::Work::Find(claim) => Work::Find(claim),
        channel::Work::Check(number) => Work::Check(number),
    });
    taken.collect()
}

/// The piece of the answer to a message, which its process is told of.
fn due(world: &mut World, key: &str) -> PieceId {
    let turn = write(world, key, "hello");
    world.finish(turn, answer(key)).unwrap().unwrap();
    let works = told(world, 1, &[]);
    let [channel::Work::Plan(answer)] = &works[..] else { panic!("{works:?}") };
    plan(world, answer);
    let works = told(world, 1, &[]);
    let [channel::Work::Send(due)] = &works[..] else { panic!("{works:?}") };
    due.piece
}

fn states(world: &mut World) -> Vec<DeliveryState> {
    let listed = world.act(|router| router.deliveries(None, None, false)).unwrap();
    listed.iter().map(|info| info.state).collect()
}

fn sent() -> Outcome {
    Outcome::Sent { id: Text::clip("m") }
}

// Holds P11-09, P11-10.
#[test]
fn a_piece_that_waited_in_a_process_that_died_was_not_sent() {
    let mut world = with(DmPolicy::OwnerOnly);
    let piece = due(&mut world, "k1");
    assert_eq!(states(&mut world), [DeliveryState::Ready], "told of, and not taken");
    assert!(told(&mut world, 1, &[piece]).is_empty(), "told once");
    world.restart();
    assert_eq!(take(&mut world, 1, piece, None).unwrap().piece, piece, "router's death changes nothing");
    assert_eq!(states(&mut world), [DeliveryState::Sending]);
    // The same of one that waits while its process dies.
    assert_eq!(done(&mut world, piece, &sent()), Ok(()));
    let second = due(&mut world, "k2");
    let works = told(&mut world, 2, &[]);
    assert!(matches!(&works[..], [channel::Work::Send(due)] if due.piece == second), "{works:?}");
    assert!(take(&mut world, 2, second, None).is_ok());
    assert_eq!(states(&mut world), [DeliveryState::Sending, DeliveryState::Sent]);
}

// Holds P11-10.
#[test]
fn a_piece_is_taken_by_one_life_and_only_while_it_is_due() {
    let mut world = with(DmPolicy::OwnerOnly);
    let piece = due(&mut world, "k1");
    assert!(take(&mut world, 2, piece, None).is_ok());
    assert!(take(&mut world, 2, piece, None).is_ok(), "asked again, since the answer was lost");
    assert_eq!(take(&mut world, 1, piece, None).err(), Some(ChannelError::NoDelivery), "an earlier life");
    assert_eq!(done(&mut world, piece, &Outcome::Unsent { after_ms: 60_000 }), Ok(()));
    assert_eq!(take(&mut world, 2, piece, None).err(), Some(ChannelError::NoDelivery), "not before its time");
    world.pass(86_400_001);
    assert!(told(&mut world, 2, &[]).is_empty());
    assert_eq!(take(&mut world, 2, piece, None).err(), Some(ChannelError::NoDelivery), "it has expired");
}

#[test]
fn a_call_that_waits_is_told_again_of_a_piece_that_was_not_sent() {
    let mut world = with(DmPolicy::OwnerOnly);
    let piece = due(&mut world, "k1");
    assert!(take(&mut world, 1, piece, None).is_ok());
    let mut waiting = begin(&mut world, 1, &[piece]);
    assert_eq!(done(&mut world, piece, &Outcome::Unsent { after_ms: 0 }), Ok(()));
    let works = waiting.try_recv().unwrap().unwrap();
    assert!(matches!(&works[..], [channel::Work::Send(due)] if due.piece == piece), "{works:?}");
}

// Holds P11-10.
#[test]
fn an_answer_in_the_place_of_its_preview_is_edited_again_after_a_death() {
    let mut world = with(DmPolicy::OwnerOnly);
    let piece = due(&mut world, "k1");
    assert_eq!(take(&mut world, 1, piece, Some("55")).unwrap().edits.as_deref(), Some("55"));
    for life in [2, 3] {
        let works = told(&mut world, life, &[]);
        let [channel::Work::Find(found)] = &works[..] else { panic!("{works:?}") };
        assert_eq!((found.piece, found.edits.as_deref()), (piece, Some("55")));
    }
    assert_eq!(done(&mut world, piece, &sent()), Ok(()));
    assert_eq!(states(&mut world), [DeliveryState::Sent]);
}

// Holds P11-10.
#[test]
fn an_answer_that_waits_takes_the_place_of_a_preview_that_is_told_late() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k1", "hello");
    world.finish(turn, answer("hi")).unwrap().unwrap();
    let preview = |world: &mut World, id| {
        let id = Text::clip(id);
        world.act(|router| router.channel_preview(Process::Telegram, "main", turn, &id))
    };
    assert_eq!(preview(&mut world, "55"), Ok(()));
    let works = claim(&mut world, 1, &[]);
    let [Work::Plan(planned)] = &works[..] else { panic!("{works:?}") };
    plan(&mut world, planned);
    let works = claim(&mut world, 2, &[]);
    let [Work::Send(given)] = &works[..] else { panic!("{works:?}") };
    assert_eq!(given.edits.as_deref(), Some("55"));
    assert_eq!(preview(&mut world, "56"), Ok(()), "no place of what is being sent");
    assert_eq!(take(&mut world, 2, given.piece, None).unwrap().edits.as_deref(), Some("55"));
}

fn may_preview(world: &mut World, turn: TurnId) -> Result<bool, ChannelError> {
    world.act(|router| router.channel_may_show(Process::Telegram, "main", turn))
}

#[test]
fn no_preview_is_sent_before_an_earlier_answer_that_waits() {
    let mut world = with(DmPolicy::OwnerOnly);
    let first = due(&mut world, "k1");
    let turn = write(&mut world, "k2", "and now?");
    assert_eq!(may_preview(&mut world, turn), Ok(false), "it waits in its process");
    assert!(take(&mut world, 1, first, None).is_ok());
    assert_eq!(done(&mut world, first, &Outcome::Unsent { after_ms: 1000 }), Ok(()));
    assert_eq!(may_preview(&mut world, turn), Ok(false), "it waits for its time");
    world.pass(1000);
    assert!(take(&mut world, 1, first, None).is_ok());
    assert_eq!(may_preview(&mut world, turn), Ok(false), "it is being sent");
    assert_eq!(done(&mut world, first, &sent()), Ok(()));
    assert_eq!(may_preview(&mut world, turn), Ok(true));
    let other = world.say("s", "by control").turn;
    assert_eq!(may_preview(&mut world, other), Err(ChannelError::NoTurn), "no turn of another channel");
}
