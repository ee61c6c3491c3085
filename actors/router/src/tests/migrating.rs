//! Databases of every version: they are opened, and everything in them goes on from where it was. A made-up further step leaves a
//! copy with which the version before it continues.

use super::crash::laws_hold;
use super::world::World;
use super::{answer, config};
use crate::store::{STEPS, Store};
use ipc_proto::api::{Caller, Presented};
use ipc_proto::approval::Reply;
use ipc_proto::ids::{CallId, MessageId, TurnId};
use ipc_proto::model::Role;
use ipc_proto::router::MessageState::{Accepted, Answered, Failed, Queued, Running};
use ipc_proto::router::{CallVerdict, Effect};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const KNOWN: u32 = manifest::schemas::DATABASES[1].version;
/// By version.
const FIXTURES: [&str; 1] = [include_str!("fixtures/v1.sql")];
/// A step as a later version might have it.
const FURTHER: &str =
    "ALTER TABLE sessions ADD COLUMN seen_ms INTEGER; UPDATE sessions SET seen_ms = used_ms;";

fn message(n: u8) -> MessageId {
    MessageId::from_bytes([0x10 + n; 16])
}

fn turn(n: u8) -> TurnId {
    TurnId::from_bytes([0x20 + n; 16])
}

/// A folder with a database of this fixture.
fn folder(fixture: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    Connection::open(folder.path().join("queue.db")).unwrap().execute_batch(fixture).unwrap();
    folder
}

/// A router over a database of this fixture, its runners gone.
fn found(fixture: &str) -> World {
    World::over(folder(fixture), config())
}

// Holds P7-70.
#[test]
fn a_database_of_every_version_goes_on_from_where_it_was() {
    assert_eq!((FIXTURES.len(), STEPS.len()), (usize::try_from(KNOWN).unwrap(), FIXTURES.len()));
    FIXTURES.into_iter().for_each(|fixture| goes_on(found(fixture)));
}

/// Every message, call and state of the fixtures is there, and the turns go on.
fn goes_on(mut world: World) {
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

#[test]
fn a_stored_question_of_every_version_is_answered_and_used() {
    FIXTURES.into_iter().for_each(is_answered_and_used);
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
fn a_further_version_leaves_a_copy_that_this_one_goes_on_with() {
    for fixture in FIXTURES {
        let folder = folder(fixture);
        let (file, copy) = (folder.path().join("queue.db"), folder.path().join(format!("queue.db.v{KNOWN}")));
        let steps: Vec<&str> = STEPS.iter().copied().chain([FURTHER]).collect();
        let mut db = Connection::open(&file).unwrap();
        migration::migrate(&mut db, &file, &steps).unwrap();
        let seen: i64 = db.query_row("SELECT seen_ms FROM sessions", [], |row| row.get(0)).unwrap();
        drop(db);
        assert_eq!(seen, 5000);
        assert!(Store::open(&file).is_err(), "a newer one is not guessed at");
        for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            drop(std::fs::remove_file(folder.path().join(name)));
        }
        std::fs::rename(copy, file).unwrap();
        goes_on(World::over(folder, config()));
    }
}

#[test]
fn stored_keys_work_and_revoked_ones_do_not() {
    let mut world = found(FIXTURES[0]);
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
fn a_message_is_paid_by_the_key_that_it_came_with() {
    let mut world = found(FIXTURES[0]);
    let taken = world.act(|router| router.take(turn(3), 1 << 20)).unwrap();
    assert_eq!(taken.key.and_then(|key| key.day_micros), Some(5_000_000));
}
