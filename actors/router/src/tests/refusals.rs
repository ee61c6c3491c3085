//! Requests that are refused: each with its error, and without a trace.

use super::world::World;
use super::{answer, config, said, user};
use crate::state::attachments::UNUSED;
use crate::store::Scope;
use ipc_proto::config::UserRole;
use ipc_proto::content::{Content, TEXT_BOUND};
use ipc_proto::ids::{TurnId, UserId, WorkspaceId};
use ipc_proto::label::Trust;
use ipc_proto::router::{MessageState, RouterError, Submission};
use ipc_proto::{Name, Text, config as conf};
use manifest::command::{Room, attached_id};

/// The id of a directory that this uid owns.
fn directory_of(uid: u32) -> WorkspaceId {
    WorkspaceId::from_bytes(attached_id(7, uid, 9))
}

fn counted(world: &mut World) -> (usize, usize) {
    let messages = world.act(|router| router.messages(None, 256, false)).unwrap().len();
    (messages, world.act(|router| router.sessions(None)).unwrap().len())
}

// Holds B-10.
#[test]
fn a_malformed_message_is_refused_with_the_reason_without_a_trace() {
    let mut world = World::new();
    let ann = world.id(1001);
    let good = said(ann, "s", "k", "hello");
    let refused = |submission: Submission, error: RouterError| (submission, error);
    let text = |text: &str| Content::text(Text::clip(text));
    let cases = [
        refused(Submission { content: Content::default(), ..good.clone() }, RouterError::BadMessage),
        refused(Submission { key: Text::default(), ..good.clone() }, RouterError::BadMessage),
        refused(Submission { session: Text::default(), ..good.clone() }, RouterError::BadMessage),
        refused(Submission { user: UserId::random(), ..good.clone() }, RouterError::NoUser),
        refused(
            Submission { agent: Some(Name::clip("nobody")), ..good.clone() },
            RouterError::NoAgent(Text::clip("default, other")),
        ),
        refused(
            Submission {
                content: Content {
                    parts: ipc_proto::List::clip([
                        ipc_proto::content::Part::Text(Text::clip(&"x".repeat(TEXT_BOUND))),
                        ipc_proto::content::Part::Text(Text::clip("x")),
                    ]),
                    ..text("")
                },
                ..good.clone()
            },
            RouterError::BadMessage,
        ),
    ];
    for (submission, error) in cases {
        assert_eq!(world.submit(&submission), Err(error));
    }
    assert_eq!(counted(&mut world), (0, 0));
    assert!(world.record.is_empty());
    let largest = Submission { content: text(&"x".repeat(TEXT_BOUND)), ..good };
    assert!(world.submit(&largest).is_ok());
}

// Holds B-11.
#[test]
fn a_full_lane_and_a_full_queue_say_busy_and_nothing_that_waits_is_lost() {
    let config = conf::Router { owner_uid: 1001, users: vec![], queue_total: 8, ..config() };
    let mut world = World::with(config);
    let ann = world.id(1001);
    let texts: Vec<String> = (0..6).map(|n| n.to_string()).collect();
    let first: Vec<_> = texts.iter().map(|text| world.say("s", text)).collect();
    let busy = world.submit(&said(ann, "s", "one more", "x"));
    assert_eq!(busy, Err(RouterError::Busy { waiting: 5, retry_s: 25 }));
    assert_eq!(world.submit(&said(ann, "s", "s/0", "0")), Ok(first[0]), "a known message is not turned away");
    world.say("t", "runs");
    for text in ["a", "b", "c"] {
        world.say("t", text);
    }
    let busy = world.submit(&said(ann, "u", "k", "x"));
    assert_eq!(busy, Err(RouterError::Busy { waiting: 8, retry_s: 13 }));
    assert_eq!(counted(&mut world), (10, 2), "a refused message makes no session either");
    for accepted in first {
        assert_eq!(world.finish(accepted.turn, answer("done")), Some(Ok(())));
    }
    assert!(world.submit(&said(ann, "u", "k", "x")).is_ok());
}

// Holds B-11, P7-93.
#[test]
fn users_who_fill_the_queue_leave_room_for_another_user_and_for_owners() {
    let users = ["a", "b", "c", "d"];
    let uid = |at: usize| 2000 + u32::try_from(at).unwrap();
    let users = (0..4).map(|at| user(users[at], &[uid(at)], UserRole::User)).collect();
    let mut world = World::with(conf::Router { users, queue_per_session: 64, queue_total: 64, ..config() });
    let own = world.id(1000);
    world.act(|router| router.store_pause(Scope::All, true)).unwrap();
    let fill = |world: &mut World, user: UserId| {
        (0..64).take_while(|n| world.submit(&said(user, "s", &n.to_string(), "x")).is_ok()).count()
    };
    let ids: Vec<UserId> = (0..4).map(|at| world.id(uid(at))).collect();
    let had: Vec<usize> = ids.iter().map(|user| fill(&mut world, *user)).collect();
    assert_eq!(had, [28, 14, 7, 4], "each finds as much room as is left for others");
    assert_eq!(fill(&mut world, own), 11, "an owner has all that is left");
}

#[test]
fn a_session_keeps_its_agent_and_workspace() {
    let mut world = World::new();
    let ann = world.id(1001);
    world.submit(&Submission { agent: Some(Name::clip("other")), ..said(ann, "s", "1", "x") }).unwrap();
    assert!(world.submit(&said(ann, "s", "2", "x")).is_ok(), "an old session keeps its own");
    let agent = Submission { agent: Some(Name::clip("default")), ..said(ann, "s", "3", "x") };
    assert_eq!(world.submit(&agent), Err(RouterError::Taken));
    let nobody = Submission { agent: Some(Name::clip("nope")), ..said(ann, "s", "3", "x") };
    assert_eq!(world.submit(&nobody), Err(RouterError::NoAgent(Text::clip("default, other"))));
    let workspace = Submission { workspace: Some(WorkspaceId::random()), ..said(ann, "s", "4", "x") };
    assert_eq!(world.submit(&workspace), Err(RouterError::Taken));
}

#[test]
fn an_attached_workspace_is_its_users_alone_and_says_so_at_launch() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let id = directory_of(1001);
    let attached = Some(id);
    world.act(|router| router.attach(ann, id)).unwrap();
    world.submit(&Submission { workspace: attached, ..said(ann, "s", "1", "x") }).unwrap();
    world.submit(&Submission { workspace: attached, ..said(ann, "t", "2", "x") }).unwrap();
    let theirs = Submission { workspace: attached, ..said(guy, "s", "1", "x") };
    assert_eq!(world.submit(&theirs), Err(RouterError::NoWorkspace));
    let taken = world.act(|router| router.attach(guy, id));
    assert_eq!(taken, Err(RouterError::NoWorkspace), "nobody attaches what is another's");
    assert!(
        world
            .launched
            .iter()
            .all(|it| it.attached && Some(it.workspace) == attached && it.wall_ms == 120_000)
    );
    let listed = world.act(|router| router.workspaces(Some(ann))).unwrap();
    assert!(
        listed[0].attached && listed[0].label.trust == Trust::Untrusted,
        "its files may be from anywhere"
    );
    world.submit(&said(guy, "own", "2", "x")).unwrap();
    let ann_turns: Vec<TurnId> = world.launched.iter().map(|it| it.turn).collect();
    for turn in ann_turns {
        world.finish(turn, answer("done"));
    }
    assert!(
        world.launched.last().is_some_and(|it| !it.attached),
        "without one a session has a folder of its own"
    );
}

#[test]
fn a_removed_agent_fails_waiting_messages_and_accepts_none() {
    let mut world = World::new();
    world.audit = false;
    let ann = world.id(1001);
    let accepted =
        world.submit(&Submission { agent: Some(Name::clip("other")), ..said(ann, "s", "1", "x") }).unwrap();
    world.audit = true;
    world.config.agents.remove("other");
    world.restart();
    assert_eq!(world.state(accepted.message), MessageState::Failed);
    assert_eq!(world.submit(&said(ann, "s", "2", "x")), Err(RouterError::NoAgent(Text::clip("default"))));
}

// Holds P9-05.
#[test]
fn a_low_disk_pauses_acceptance_and_starts_until_there_is_room() {
    let mut world = World::new();
    let ann = world.id(1001);
    let (running, waiting) = (world.say("s", "one"), world.say("s", "two"));
    let room = Room { low: true, free_mib: 12, kept_mib: 64 };
    world.act(|router| router.set_disk_room(room));
    let refused = Err(RouterError::NoRoom { free_mib: 12, kept_mib: 64 });
    assert_eq!(world.submit(&said(ann, "s", "k", "hello")), refused);
    assert_eq!(world.submit(&said(ann, "s", "s/two", "two")), Ok(waiting), "what is known was accepted");
    assert_eq!(counted(&mut world), (2, 1));
    assert_eq!(world.finish(running.turn, answer("done")), Some(Ok(())), "what runs comes to its end");
    world.pass(5000);
    assert_eq!((world.state(waiting.message), world.launched.len()), (MessageState::Queued, 1));
    world.act(|router| router.set_disk_room(Room { low: false, ..room }));
    assert_eq!(world.state(waiting.message), MessageState::Running);
    assert!(world.submit(&said(ann, "s", "k", "hello")).is_ok());
}

// Holds P8-06.
#[test]
fn a_full_disk_refuses_the_message_before_it_is_acknowledged_and_heals() {
    let mut world = World::new();
    let ann = world.id(1001);
    world.say("s", "before");
    let limit = |world: &mut World, more: u32| {
        world.act(|router| {
            let db = router.store.raw();
            let have: u32 = db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
            db.pragma_update(None, "max_page_count", have + more).unwrap();
        });
    };
    limit(&mut world, 0);
    let large = said(ann, "t", "k", &"x".repeat(100_000));
    assert_eq!(world.submit(&large), Err(RouterError::NotDurable));
    assert_eq!(counted(&mut world), (1, 1), "not even its session is there");
    let running = world.launched[0].turn;
    let much = answer(&"y".repeat(200_000));
    assert_eq!(world.finish(running, much.clone()), Some(Err(RouterError::NotDurable)));
    limit(&mut world, 1000);
    world.pass(1500);
    assert_eq!(
        world.finish(running, much),
        Some(Ok(())),
        "the end was kept in mind and stored when it could be"
    );
    assert!(world.submit(&large).is_ok());
    world.restart();
    assert_eq!(counted(&mut world), (2, 2));
}

#[test]
fn a_database_that_is_not_one_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queue.db");
    std::fs::write(&file, "not a database, and long enough to be looked at as one".repeat(20)).unwrap();
    let now = crate::state::moment::Moment::now();
    assert!(crate::state::RouterState::open(&file, config(), now).is_err());
    let none = conf::Router { users: vec![], ..config() };
    assert!(
        crate::state::RouterState::open(&folder.path().join("no/such/folder/queue.db"), none, now).is_err()
    );
}

// Holds P1-40.
#[test]
fn a_directory_that_control_did_not_see_attached_is_nobodys_workspace() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let id = directory_of(1001);
    let named = |user, key| Submission { workspace: Some(id), ..said(user, "s", key, "x") };
    assert_eq!(world.submit(&named(guy, "1")), Err(RouterError::NoWorkspace), "an id alone proves nothing");
    world.act(|router| router.attach(ann, id)).unwrap();
    assert_eq!(world.submit(&named(guy, "1")), Err(RouterError::NoWorkspace), "another attached it");
    world.submit(&named(ann, "1")).unwrap();
}

// Holds P1-40.
#[test]
fn a_directory_is_a_workspace_only_of_the_user_whose_uid_owns_it() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let taken = world.act(|router| router.attach(guy, directory_of(1001)));
    assert_eq!(taken, Err(RouterError::NoWorkspace), "whatever control says");
    assert_eq!(world.let_go, [directory_of(1001)], "and agentd keeps no directory for it");
    world.act(|router| router.attach(ann, directory_of(1001))).unwrap();
    let said = Submission { workspace: Some(directory_of(1001)), ..said(ann, "s", "1", "x") };
    world.submit(&said).unwrap();
}

// Holds B-168.
#[test]
fn a_directory_in_which_nothing_is_asked_for_is_closed_after_an_hour() {
    let mut world = World::new();
    let ann = world.id(1001);
    let [used, unused] = [directory_of(1001), WorkspaceId::from_bytes(attached_id(7, 1001, 10))];
    for id in [used, unused] {
        world.act(|router| router.attach(ann, id)).unwrap();
    }
    world.submit(&Submission { workspace: Some(used), ..said(ann, "s", "1", "x") }).unwrap();
    world.pass(1);
    assert!(world.let_go.is_empty());
    world.pass(u64::try_from(UNUSED.as_millis()).unwrap());
    assert_eq!(world.let_go, [unused]);
}

// Holds B-168.
#[test]
fn a_directory_is_closed_with_the_last_session_that_works_in_it() {
    let mut world = World::new();
    let ann = world.id(1001);
    let id = directory_of(1001);
    world.act(|router| router.attach(ann, id)).unwrap();
    for session in ["s", "t"] {
        let submission = Submission { workspace: Some(id), ..said(ann, session, session, "x") };
        world.submit(&submission).unwrap();
    }
    for (session, closed) in [("s", 0), ("t", 1)] {
        world.ask(|router, port| router.end_session(Some(ann), &Text::clip(session), port)).unwrap().unwrap();
        assert_eq!(world.let_go.len(), closed, "{session}");
    }
    assert_eq!(world.let_go, [id]);
}
