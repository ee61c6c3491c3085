//! Grants: what a person allows for the rest of a session, how far it reaches, and that it can be taken back.

use super::world::World;
use super::{answer, asking, question};
use ipc_proto::approval::{GRANTS, Question, Reply};
use ipc_proto::audit::Action;
use ipc_proto::ids::{ApprovalId, TurnId};
use ipc_proto::router::RouterError;
use ipc_proto::{Name, Text};

/// The next turn of a session asks about call `n`, and is approved for the session.
fn granted(world: &mut World, session: &str, n: u8) -> Result<TurnId, RouterError> {
    let turn = world.say(session, &format!("do {n}")).turn;
    let question = world.inquire(turn, n);
    let said = world.answer(None, &question, Reply::Session);
    said.map(|_| turn)
}

fn scopes(world: &mut World, turn: TurnId) -> Vec<[u8; 32]> {
    let turn = world.act(|router| router.take(turn, 1 << 20)).unwrap();
    turn.grants.iter().map(|grant| grant.scope).collect()
}

fn revoke(world: &mut World, id: ApprovalId) -> Result<(), RouterError> {
    let by = Name::clip("mia");
    world.ask(|router, port| router.revoke(None, &by, id, port)).unwrap()
}

/// `sh -c 'true'` approved for the session covers its own tool and arguments; `sh -c 'touch canary'` has another
/// scope, and what the gate is given of grants does not name it.
// Holds P5-67.
#[test]
fn inc_07_a_grant_covers_the_approved_command_and_no_other_of_its_shell() {
    let mut world = World::new();
    let turn = granted(&mut world, "s", 1).unwrap();
    let touch = question(2, 0).scope;
    assert_eq!(scopes(&mut world, turn), [question(1, 0).scope]);
    assert!(!scopes(&mut world, turn).contains(&touch));
    world.restart();
    assert_eq!(scopes(&mut world, turn), [question(1, 0).scope], "it outlives the router as it was");
}

// Holds P5-67.
#[test]
fn a_grant_holds_in_its_own_session_until_that_ends_or_it_is_taken_back() {
    let mut world = World::new();
    let turn = granted(&mut world, "a", 1).unwrap();
    let other = world.say("b", "x").turn;
    assert_eq!(scopes(&mut world, other), [[0; 32]; 0]);
    world.finish(turn, answer("done")).unwrap().unwrap();
    let next = world.say("a", "again").turn;
    assert_eq!(scopes(&mut world, next), [[1; 32]]);
    let held = world.act(|router| router.grants(None)).unwrap();
    assert_eq!((held.len(), held[0].given_by.as_str(), held[0].tool.as_str()), (1, "mia", "bash"));
    assert_eq!(revoke(&mut world, held[0].id), Ok(()));
    assert_eq!(scopes(&mut world, next), [[0; 32]; 0]);
    assert_eq!(revoke(&mut world, held[0].id), Ok(()), "twice is once");
    assert_eq!(world.record.iter().filter(|it| it.action == Action::GrantChanged).count(), 2);
    assert_eq!(revoke(&mut world, ApprovalId::random()), Err(RouterError::NoApproval));

    world.finish(next, answer("done")).unwrap().unwrap();
    world.finish(other, answer("done")).unwrap().unwrap();
    granted(&mut world, "b", 2).unwrap();
    world.ask(|router, port| router.end_session(None, &Text::clip("b"), port)).unwrap().unwrap();
    assert!(world.act(|router| router.grants(None)).unwrap().is_empty());
}

#[test]
fn a_grant_is_seen_and_taken_back_by_its_user_and_the_owner_alone() {
    let mut world = World::new();
    let (ann, guy) = (Some(world.id(1001)), Some(world.id(1002)));
    granted(&mut world, "s", 1).unwrap();
    let id = world.act(|router| router.grants(ann)).unwrap()[0].id;
    assert!(world.act(|router| router.grants(guy)).unwrap().is_empty());
    let by = Name::clip("guy");
    let said = world.ask(|router, port| router.revoke(guy, &by, id, port)).unwrap();
    assert_eq!(said, Err(RouterError::NoApproval));
    assert_eq!(world.act(|router| router.grants(ann)).unwrap().len(), 1);
}

// Holds P5-68.
#[test]
fn a_grant_that_the_policy_forbids_leaves_the_question_open() {
    let mut world = World::new();
    let turn = world.say("s", "do it").turn;
    world.keep(turn, 0, asking(1)).unwrap();
    let question = Question { grantable: false, ..question(1, world.ms + 1000) };
    world.act(|router| router.ask(turn, &question)).unwrap();
    assert_eq!(world.answer(None, &question, Reply::Session), Err(RouterError::NotGrantable));
    assert_eq!(world.told(turn, question.id), None);
    assert!(world.record.iter().all(|it| it.action != Action::GrantChanged));
}

// Holds B-47.
#[test]
fn a_session_has_only_so_many_grants_and_the_same_scope_counts_once() {
    let mut world = World::new();
    let one = |world: &mut World, n: usize, scope: usize| {
        let turn = world.say("s", &n.to_string()).turn;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&n.to_le_bytes());
        let id = ApprovalId::from_bytes(bytes);
        let mut wide = [0; 32];
        wide[..8].copy_from_slice(&scope.to_le_bytes());
        let question = Question { id, scope: wide, ..question(1, world.ms + 1000) };
        world.act(|router| router.ask(turn, &question)).unwrap();
        let said = world.answer(None, &question, Reply::Session).map(drop);
        world.finish(turn, answer("done")).unwrap().unwrap();
        said
    };
    for n in 0..GRANTS {
        assert_eq!(one(&mut world, n, n), Ok(()));
    }
    assert_eq!(one(&mut world, GRANTS, GRANTS), Err(RouterError::NotGrantable));
    assert_eq!(one(&mut world, GRANTS + 1, 0), Ok(()));
    assert_eq!(world.act(|router| router.grants(None)).unwrap().len(), GRANTS);
}
