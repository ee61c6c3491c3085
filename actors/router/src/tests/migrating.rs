//! Databases of every released version: they are opened, copied first, and everything in them goes on from where it
//! was.

use super::crash::laws_hold;
use super::world::World;
use super::{answer, config};
use ipc_proto::api::{Caller, Presented};
use ipc_proto::approval::Reply;
use ipc_proto::ids::{CallId, MessageId, TurnId};
use ipc_proto::model::Role;
use ipc_proto::router::MessageState::{Accepted, Answered, Failed, Queued, Running};
use ipc_proto::router::{CallVerdict, Effect};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

/// Migrates an older database with this program.
const KNOWN: u32 = manifest::schemas::DATABASES[1].version;
/// By version.
const FIXTURES: [&str; 8] = [
    include_str!("fixtures/v1.sql"),
    include_str!("fixtures/v2.sql"),
    include_str!("fixtures/v3.sql"),
    include_str!("fixtures/v4.sql"),
    include_str!("fixtures/v5.sql"),
    include_str!("fixtures/v6.sql"),
    include_str!("fixtures/v7.sql"),
    include_str!("fixtures/v8.sql"),
];

fn message(n: u8) -> MessageId {
    MessageId::from_bytes([0x10 + n; 16])
}

fn turn(n: u8) -> TurnId {
    TurnId::from_bytes([0x20 + n; 16])
}

/// A router of this program over a database of an earlier one, its runners gone.
fn found(fixture: &str) -> World {
    let folder = tempfile::tempdir().unwrap();
    Connection::open(folder.path().join("queue.db")).unwrap().execute_batch(fixture).unwrap();
    World::over(folder, config())
}

// Holds P7-70.
#[test]
fn what_every_released_version_kept_goes_on_from_where_it_was() {
    assert_eq!(FIXTURES.len(), usize::try_from(KNOWN).unwrap(), "a version without its fixture");
    for fixture in FIXTURES {
        let mut world = found(fixture);
        let ann = world.id(1001);
        assert_eq!(world.act(|router| router.messages(Some(ann), 10, false)).unwrap().len(), 4);
        let shown = world.act(|router| router.session(Some(ann), "s")).unwrap().transcript;
        let roles: Vec<Role> = shown.iter().take(4).map(|it| it.message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
        assert_eq!(shown[3].message.text.as_str(), "hi");
        let first = world.act(|router| router.message(None, message(1))).unwrap();
        assert_eq!((first.calls[0].effect, first.text.as_str()), (Effect::Done, "hello\n[image: image/png]"));
        assert_eq!(world.trace(message(3)), [Accepted, Queued, Running, Queued, Running]);
        assert_eq!(world.state(message(4)), Queued);
        assert_eq!(world.act(|router| router.take(turn(3), 1 << 20)).unwrap().steps.len(), 1);
        assert_eq!(world.finish(turn(3), answer("done")), Some(Ok(())));
        assert_eq!((world.state(message(3)), world.state(message(4))), (Answered, Running));
        assert_eq!(world.act(|router| router.messages(None, 10, true)).unwrap()[0].state, Failed);
        assert!(world.requeue(None, message(2), None).unwrap().is_ok());
        let folder = world.into_folder();
        laws_hold(&folder.path().join("queue.db"));
    }
}

#[test]
fn a_question_that_an_earlier_version_kept_is_answered_and_used() {
    FIXTURES[1..].iter().for_each(|fixture| is_answered_and_used(fixture));
}

fn is_answered_and_used(fixture: &str) {
    let mut world = found(fixture);
    let listed = world.act(|router| router.approvals(None, false)).unwrap();
    let question = world.act(|router| router.approval(None, listed[0].id)).unwrap().question;
    let call = |world: &mut World| {
        let view = world.act(|router| router.message(None, message(3))).unwrap();
        (view.calls[0].id, view.calls[0].effect)
    };
    assert_eq!(call(&mut world), (CallId::from_bytes([0x33; 16]), Effect::Asking));
    world.answer(None, &question, Reply::Once).unwrap();
    assert_eq!(world.keep(turn(3), 1, super::decided(0x33, CallVerdict::Run)), Ok(()));
    assert_eq!(call(&mut world).1, Effect::Running);
    assert_eq!(world.act(|router| router.grants(None)).unwrap().len(), 1);
}

// Holds P7-70.
#[test]
fn beside_a_database_of_an_earlier_version_stands_a_copy_of_it_as_it_was() {
    for (version, fixture) in (1..KNOWN).zip(FIXTURES) {
        let world = found(fixture);
        let copy = world.folder.path().join(format!("queue.db.v{version}"));
        let copy = Connection::open(copy).unwrap();
        let found: u32 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        let states = "SELECT group_concat(state, ' ') FROM (SELECT state FROM messages ORDER BY seq)";
        let states: String = copy.query_row(states, [], |row| row.get(0)).unwrap();
        assert_eq!((found, states.as_str()), (version, "delivered failed running accepted"));
    }
}

#[test]
fn keys_of_an_earlier_version_work_and_its_revoked_ones_do_not() {
    let mut world = found(FIXTURES[3]);
    let presented = Presented(Sha256::digest(b"cdn_a-key-of-version-4").into());
    let holder = world.act(|router| router.holder(Caller::Key(presented))).unwrap();
    assert_eq!((holder.name.as_str(), holder.user_name.as_str()), ("bar", "ann"));
    assert!(holder.may_use("openai/gpt") && !holder.may_use("other/gpt"));
    assert_eq!(holder.scope.day_micros, Some(5_000_000));
    let listed = world.act(|router| router.list_keys(None));
    let listed: Vec<_> = listed.iter().map(|key| (key.name.as_str(), key.revoked_ms)).collect();
    assert_eq!(listed, [("bar", None), ("old", Some(4500))]);
}

#[test]
fn a_message_is_paid_by_its_own_key_and_an_older_one_has_none() {
    for (fixture, bound) in [(FIXTURES[3], None), (FIXTURES[4], Some(5_000_000))] {
        let mut world = found(fixture);
        let taken = world.act(|router| router.take(turn(3), 1 << 20)).unwrap();
        assert_eq!(taken.key.and_then(|key| key.day_micros), bound);
    }
}
