//! Sessions, workspaces and users as their people and the owner see and end them.

use super::world::World;
use super::{answer, said};
use crate::state::requests::UserEdit;
use crate::store::{Origin, Person};
use ipc_proto::audit::Action;
use ipc_proto::config::UserRole;
use ipc_proto::ids::{MessageId, UserId, WorkspaceId};
use ipc_proto::model::Role;
use ipc_proto::router::MessageState::{Accepted, Cancelled, Queued, Running};
use ipc_proto::router::{EventName, RouterError};
use ipc_proto::{List, Name, Text};

/// A user who is to be added.
pub(crate) fn bob() -> Person {
    Person {
        id: UserId::random(),
        name: Name::clip("bob"),
        role: UserRole::Guest,
        uids: List::clip([2000]),
        identities: List::clip([Text::clip("telegram:1")]),
        origin: Origin::Added,
    }
}

#[test]
fn a_session_is_listed_shown_and_found_by_its_person_and_by_the_owner() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let accepted = world.say("work", "question");
    world.finish(accepted.turn, answer("reply"));
    world.ms += 1000;
    world.submit(&said(guy, "play", "k", "hello")).unwrap();
    let names = |world: &mut World, user| {
        world
            .act(|router| router.sessions(user))
            .unwrap()
            .iter()
            .map(|it| it.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&mut world, None), ["play", "work"]);
    assert_eq!(names(&mut world, Some(ann)), ["work"]);
    let view = world.act(|router| router.session(Some(ann), "work")).unwrap();
    assert_eq!(
        (view.info.messages, view.info.status.as_str(), view.info.user.as_str()),
        (1, "active", "ann")
    );
    let told: Vec<_> = view.transcript.iter().map(|it| (it.message.role, it.message.text.as_str())).collect();
    assert_eq!(told, [(Role::User, "question"), (Role::Assistant, "reply")]);
    assert!(world.act(|router| router.session(None, "play")).is_ok());
    let refused = world.act(|router| router.session(Some(ann), "play")).unwrap_err();
    assert_eq!(refused, RouterError::NoSession(Text::clip("work")));
}

#[test]
fn a_session_name_of_several_users_means_an_owners_or_is_ambiguous() {
    let mut world = World::new();
    let (owner, ann, guy) = (world.id(0), world.id(1001), world.id(1002));
    for user in [ann, guy] {
        world.submit(&said(user, "main", "k", "x")).unwrap();
    }
    let refused = world.act(|router| router.session(None, "main")).unwrap_err();
    assert!(matches!(refused, RouterError::NoSession(names) if names.contains("main (ann)")));
    world.submit(&said(owner, "main", "k", "x")).unwrap();
    assert_eq!(world.act(|router| router.session(None, "main")).unwrap().info.user.as_str(), "owner");
}

#[test]
fn ending_a_session_cancels_what_runs_and_waits_and_takes_no_more() {
    let mut world = World::new();
    let ann = world.id(1001);
    let (running, waiting) = (world.say("s", "one"), world.say("s", "two"));
    let end =
        |world: &mut World| world.ask(|router, port| router.end_session(Some(ann), &Text::clip("s"), port));
    assert_eq!(end(&mut world), Some(Ok(())));
    assert_eq!(world.trace(running.message), [Accepted, Queued, Running, Cancelled]);
    assert_eq!(world.trace(waiting.message), [Accepted, Queued, Cancelled]);
    assert_eq!((world.killed.clone(), world.launched.len()), (vec![running.turn], 1));
    assert!(
        world
            .record
            .iter()
            .any(|it| it.action == Action::SessionEnded && it.session == Some(running.session))
    );
    assert_eq!(end(&mut world), Some(Ok(())), "twice is once");
    assert_eq!(world.submit(&said(ann, "s", "k", "x")), Err(RouterError::SessionOver));
    let told = world.act(|router| router.events.after(0));
    let ended = told.iter().find(|it| it.name == EventName::SessionEnded).unwrap();
    assert_eq!(ended.detail.as_deref(), Some("user_ended"));
}

// Holds P6-28.
#[test]
fn a_session_that_could_not_be_recorded_as_ended_has_not_ended() {
    let mut world = World::new();
    world.say("s", "one");
    world.audit = false;
    let end = world.ask(|router, port| router.end_session(None, &Text::clip("s"), port));
    assert_eq!(end, Some(Err(RouterError::NotDurable)));
    assert_eq!(world.act(|router| router.sessions(None)).unwrap()[0].status.as_str(), "active");
}

#[test]
fn a_workspace_is_removed_by_its_user_when_no_session_works_in_it() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    world.say("s", "one");
    let listed = world.act(|router| router.workspaces(Some(ann))).unwrap();
    let id = listed[0].id;
    assert_eq!((listed.len(), listed[0].session.as_str(), listed[0].attached), (1, "s", false));
    let remove = |world: &mut World, user, id| {
        world.ask(|router, port| router.remove_workspace(user, id, port)).unwrap()
    };
    assert_eq!(remove(&mut world, Some(ann), id), Err(RouterError::InUse));
    world.ask(|router, port| router.end_session(None, &Text::clip("s"), port));
    assert_eq!(remove(&mut world, Some(guy), id), Err(RouterError::NoWorkspace));
    assert_eq!(remove(&mut world, None, WorkspaceId::random()), Err(RouterError::NoWorkspace));
    assert_eq!(remove(&mut world, Some(ann), id), Ok(()));
    assert_eq!(remove(&mut world, Some(ann), id), Ok(()), "twice is once");
    assert!(world.act(|router| router.workspaces(None)).unwrap().is_empty());
    assert_eq!(world.record.iter().filter(|it| it.action == Action::WorkspaceRemoved).count(), 1);
}

#[test]
fn a_users_messages_and_traces_are_not_shown_to_another() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let accepted = world.say("s", "one");
    let listed = world.act(|router| router.messages(Some(ann), 10, false)).unwrap();
    assert_eq!((listed[0].id, listed[0].bytes, listed[0].attempts), (accepted.message, 3, 1));
    assert!(world.act(|router| router.messages(Some(guy), 10, false)).unwrap().is_empty());
    assert!(world.act(|router| router.trace(Some(ann), accepted.message)).is_ok());
    for (user, id) in [(Some(guy), accepted.message), (None, MessageId::random())] {
        assert_eq!(world.act(|router| router.trace(user, id)), Err(RouterError::NoMessage));
    }
}

#[test]
fn a_user_is_added_once_and_removed_with_the_messages_that_wait() {
    let mut world = World::new();
    let added = world.ask(|router, port| router.add_user(bob(), port)).unwrap().unwrap();
    assert_eq!(
        world.ask(|router, port| router.add_user(bob(), port)).unwrap().unwrap(),
        added,
        "twice is once"
    );
    world.restart();
    assert_eq!(world.act(|router| router.identify(2000)), Ok(added.clone()));
    let accepted = world.submit(&said(added.id, "s", "k", "x")).unwrap();
    let remove = |world: &mut World, name| {
        world.ask(|router, port| router.remove_user(&Name::clip(name), port)).unwrap()
    };
    assert_eq!(remove(&mut world, "bob"), Ok(()));
    assert_eq!(remove(&mut world, "bob"), Ok(()));
    assert_eq!(world.trace(accepted.message), [Accepted, Queued, Running, Cancelled]);
    assert_eq!(world.act(|router| router.identify(2000)), Err(RouterError::NoUser));
    assert_eq!(world.submit(&said(added.id, "s", "l", "x")), Err(RouterError::NoUser));
    assert_eq!(world.act(|router| router.sessions(None)).unwrap().len(), 1, "sessions stay for the record");
    let again = world.ask(|router, port| router.add_user(bob(), port)).unwrap().unwrap();
    assert_ne!(again.id, added.id, "a name that comes back is somebody else");
    let actions: Vec<_> = world.record.iter().map(|it| it.action).collect();
    assert_eq!(actions.iter().filter(|it| **it == Action::UserAdded).count(), 2);
    assert_eq!(actions.iter().filter(|it| **it == Action::UserRemoved).count(), 1);
}

// Holds P3-46.
#[test]
fn an_added_user_gets_another_role_and_uids_and_stays_the_same_user() {
    let mut world = World::new();
    let added = world.ask(|router, port| router.add_user(bob(), port)).unwrap().unwrap();
    let edit = |world: &mut World, name: &str, role: Option<UserRole>, uids: Option<&[u32]>| {
        let uids = uids.map(|uids| List::clip(uids.iter().copied()));
        let edit = UserEdit { name: Name::clip(name), role, uids };
        world.ask(|router, port| router.edit_user(edit, port)).unwrap()
    };
    let changed = edit(&mut world, "bob", Some(UserRole::User), Some(&[2000, 2001])).unwrap();
    assert_eq!((changed.id, changed.role, &changed.uids[..]), (added.id, UserRole::User, &[2000, 2001][..]));
    assert_eq!(edit(&mut world, "bob", None, None).unwrap(), changed, "what is not given stays");
    let many: Vec<u32> = (0..16).map(|n| 4_000_000_000 + n).collect();
    edit(&mut world, "bob", None, Some(&many)).unwrap();
    edit(&mut world, "bob", None, Some(&[2000, 2001])).unwrap();
    let reasons: Vec<String> = world
        .record
        .iter()
        .filter(|event| event.action == Action::UserAdded)
        .filter_map(|event| event.reason.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!(reasons[..2], ["added as guest, uid 2000", "changed as user, uid 2000 2001"]);
    let on_record = |uid: &u32| reasons.iter().any(|reason| reason.contains(&uid.to_string()));
    assert!(many.iter().all(on_record), "{reasons:?}");
    world.restart();
    assert_eq!(world.act(|router| router.identify(2001)), Ok(changed));
    edit(&mut world, "bob", None, Some(&[2001])).unwrap();
    assert_eq!(world.act(|router| router.identify(2000)), Err(RouterError::NoUser));
    for (name, uids, error) in [
        ("ann", None, RouterError::UserExists),
        ("nobody", None, RouterError::NoUser),
        ("bob", Some(&[1001][..]), RouterError::BadUser),
        ("bob", Some(&[0][..]), RouterError::BadUser),
    ] {
        assert_eq!(edit(&mut world, name, Some(UserRole::Owner), uids), Err(error), "{name}");
    }
    assert_eq!(world.act(|router| router.identify(2001)).unwrap().role, UserRole::User);
}

#[test]
fn a_user_who_cannot_be_is_refused() {
    let mut world = World::new();
    let mut cases = vec![
        (Person { name: Name::clip("ann"), ..bob() }, RouterError::UserExists),
        (Person { name: Name::clip("owner"), ..bob() }, RouterError::UserExists),
        (Person { name: Name::default(), ..bob() }, RouterError::BadUser),
        (Person { name: Name::clip("a\u{1b}[0m"), ..bob() }, RouterError::BadUser),
        (Person { name: Name::clip("\u{ff41}\u{ff4e}\u{ff4e}"), ..bob() }, RouterError::BadUser),
        (Person { name: Name::clip("2000"), ..bob() }, RouterError::BadUser),
    ];
    for uid in [0, 1000, 1001, 65534, u32::MAX] {
        cases.push((Person { uids: List::clip([uid]), ..bob() }, RouterError::BadUser));
    }
    for (person, error) in cases {
        assert_eq!(world.ask(|router, port| router.add_user(person, port)), Some(Err(error)));
    }
    world.ask(|router, port| router.add_user(bob(), port));
    let same_identity = Person { name: Name::clip("rob"), uids: List::clip([2001]), ..bob() };
    assert_eq!(
        world.ask(|router, port| router.add_user(same_identity, port)),
        Some(Err(RouterError::BadUser))
    );
    for (name, error) in [("ann", RouterError::UserExists), ("nobody", RouterError::NoUser)] {
        let removed = world.ask(|router, port| router.remove_user(&Name::clip(name), port));
        assert_eq!(removed, Some(Err(error)));
    }
}

#[test]
fn agents_and_users_are_listed_as_configured() {
    let mut world = World::new();
    let agents = world.act(|router| router.agents());
    let names: Vec<_> = agents.iter().map(|it| (it.name.as_str(), it.limits)).collect();
    assert_eq!(
        names,
        [("default", (50, 3, 120, 60, 4096, 100, 3)), ("other", (50, 3, 120, 60, 4096, 100, 3))]
    );
    let users = world.act(|router| router.users());
    let names: Vec<_> = users.iter().map(|it| (it.name.as_str(), it.configured)).collect();
    assert_eq!(names, [("ann", true), ("guy", true), ("owner", true)]);
}

// Holds P1-07.
#[test]
fn agentd_gets_a_removed_workspace_at_once_and_after_a_restart() {
    let mut world = World::new();
    let ann = world.id(1001);
    let first = world.say("s", "hello");
    world.finish(first.turn, answer("hi"));
    world.ask(|router, port| router.end_session(Some(ann), &Text::clip("s"), port));
    let id = world.act(|router| router.workspaces(Some(ann))).unwrap()[0].id;
    assert!(world.removed.is_empty());
    assert_eq!(world.ask(|router, port| router.remove_workspace(Some(ann), id, port)), Some(Ok(())));
    assert_eq!(world.removed, [id]);
    world.restart();
    assert_eq!(world.removed, [id, id], "who died after it was forgotten may not have said so");
}

// Holds P1-07.
#[test]
fn agentd_gets_all_removed_workspaces_again_a_few_at_a_time() {
    let mut world = World::new();
    let ann = world.id(1001);
    let mut ids = Vec::new();
    for number in 0..20 {
        let first = world.say(&format!("s{number}"), "hello");
        world.finish(first.turn, answer("hi"));
        let session = Text::clip(&format!("s{number}"));
        world.ask(|router, port| router.end_session(Some(ann), &session, port));
        let id = world.act(|router| router.workspaces(Some(ann))).unwrap()[0].id;
        assert_eq!(world.ask(|router, port| router.remove_workspace(Some(ann), id, port)), Some(Ok(())));
        ids.push(id);
    }
    assert_eq!(world.removed, ids);
    ids.sort_by_key(|id| id.bytes());
    world.restart();
    assert_eq!(world.removed[20..], ids[..16]);
    for (said, after) in [(36, &ids[..16]), (40, &ids[16..]), (56, &ids[..16])] {
        assert_eq!(world.removed.len(), said);
        assert_eq!(&world.removed[said - after.len()..], after);
        world.pass(9 * 60_000);
        assert_eq!(world.removed.len(), said, "not so soon");
        world.pass(70_000);
    }
}
