//! Keys and clients of the API: who presents what, how far it reaches, and that it ends when it is taken back.

use super::world::World;
use super::{answer, config, said, user};
use crate::state::requests::NewKey;
use ipc_proto::api::{Caller, Holder, KEYS, KEYS_PER_USER, KeyInfo, KeyScope, Presented};
use ipc_proto::audit::Action;
use ipc_proto::config::UserRole;
use ipc_proto::content::Content;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::router::{Accepted, PayingKey, RouterError, Steer, Submission, Task};
use ipc_proto::{List, Name, Text};

const ROOT: Caller = Caller::Peer(0);

/// The client that presents key `n`.
const fn client(n: u8) -> Caller {
    Caller::Key(Presented([n; 32]))
}

fn scope(agents: &[&str]) -> KeyScope {
    KeyScope { agents: List::clip(agents.iter().map(|agent| Name::clip(agent))), ..KeyScope::default() }
}

fn create_as(
    world: &mut World,
    user: UserId,
    name: &str,
    scope: KeyScope,
    n: u8,
) -> Result<KeyInfo, RouterError> {
    let presented = Presented([n; 32]);
    let wanted = NewKey { user, by: Name::clip("mia"), name: Name::clip(name), scope, presented };
    world.ask(|router, port| router.create_key(wanted, port)).unwrap()
}

/// Ann's key `n`.
fn create(world: &mut World, name: &str, n: u8) -> KeyInfo {
    let ann = world.id(1001);
    create_as(world, ann, name, KeyScope::default(), n).unwrap()
}

fn revoke(world: &mut World, user: Option<UserId>, name: &str) -> Result<(), RouterError> {
    let (by, name) = (Name::clip("mia"), Name::clip(name));
    world.ask(|router, port| router.revoke_key(user, &by, &name, port)).unwrap()
}

fn holder(world: &mut World, caller: Caller) -> Result<Holder, RouterError> {
    world.act(|router| router.holder(caller))
}

/// A message of a client, which names a wrong user.
fn words(session: &str, key: &str) -> Submission {
    said(UserId::from_bytes([9; 16]), session, key, "hello")
}

fn submit(world: &mut World, caller: Caller, said: Submission) -> Result<Accepted, RouterError> {
    world.ask(|router, port| router.api_submit(caller, said, port)).unwrap()
}

fn after_exit(world: &mut World, caller: Caller, turn: TurnId) -> bool {
    let followed = world.begin(|router, port| router.api_follow(caller, turn, (0, 64), port)).try_recv();
    followed.is_ok_and(|followed| followed.is_ok())
}

fn refusals(world: &World) -> usize {
    world.record.iter().filter(|event| event.action == Action::ApiRefused).count()
}

// Holds P7-82.
#[test]
fn a_clients_key_for_a_message_stands_for_that_message_alone() {
    let mut world = World::new();
    create(&mut world, "bar", 1);
    let first = submit(&mut world, client(1), words("s", "k")).unwrap();
    let steer = |world: &mut World, text: &str| {
        let steer =
            Steer { session: Text::clip("s"), text: Text::clip(text), urgent: false, key: Text::clip("k") };
        world.act(|router| router.api_steer(client(1), steer)).map(|_| ())
    };
    for round in ["before", "after the scanner has looked at it", "after a restart"] {
        let again = submit(&mut world, client(1), words("s", "k")).unwrap();
        assert_eq!((again.message, again.turn), (first.message, first.turn), "{round}");
        let other = Submission { content: Content::text(Text::clip("other")), ..words("s", "k") };
        assert_eq!(submit(&mut world, client(1), other), Err(RouterError::KeyReused), "{round}");
        let elsewhere = submit(&mut world, client(1), words("s2", "k"));
        assert_eq!(elsewhere, Err(RouterError::KeyReused), "{round}");
        assert_eq!(steer(&mut world, "hello"), Err(RouterError::KeyReused), "{round}");
        let longer = submit(&mut world, client(1), words("s", &format!("k-{round}"))).unwrap();
        assert_ne!(longer.turn, first.turn, "another word that begins so is another message");
        match round {
            "before" => drop(world.act(|router| router.take(first.turn, 1 << 20))),
            _ => world.restart(),
        }
    }
}

// Holds P3-09.
#[test]
fn a_key_works_over_restarts_until_it_is_revoked() {
    let mut world = World::new();
    assert_eq!(holder(&mut world, client(1)), Err(RouterError::NoKey));
    let made = create(&mut world, "bar", 1);
    for _ in 0..2 {
        let found = holder(&mut world, client(1)).unwrap();
        assert_eq!((found.key, found.name.as_str(), found.user_name.as_str()), (Some(made.id), "bar", "ann"));
        assert_eq!(found.agents.iter().map(Name::as_str).collect::<Vec<_>>(), ["default", "other"]);
        world.restart();
    }
    assert_eq!(holder(&mut world, client(2)), Err(RouterError::NoKey));
    assert_eq!(revoke(&mut world, None, "bar"), Ok(()));
    assert_eq!(revoke(&mut world, None, "bar"), Ok(()), "twice is once");
    for _ in 0..2 {
        assert_eq!(holder(&mut world, client(1)), Err(RouterError::NoKey));
        world.restart();
    }
    let actions: Vec<Action> = world.record.iter().map(|event| event.action).collect();
    let of = |action| actions.iter().filter(|it| **it == action).count();
    assert_eq!((of(Action::KeyCreated), of(Action::KeyRevoked), of(Action::ApiRefused)), (1, 1, 4));
    assert_eq!(revoke(&mut world, None, "none"), Err(RouterError::NoKey));
}

// Holds P3-09.
#[test]
fn a_key_that_has_ended_and_one_whose_user_is_gone_open_nothing() {
    let mut world = World::new();
    let ann = world.id(1001);
    let ends = KeyScope { expires_ms: Some(world.ms + 1000), ..KeyScope::default() };
    create_as(&mut world, ann, "short", ends.clone(), 1).unwrap();
    assert!(holder(&mut world, client(1)).is_ok());
    world.pass(1000);
    assert_eq!(holder(&mut world, client(1)), Err(RouterError::NoKey));
    assert_eq!(create_as(&mut world, ann, "late", ends, 2), Err(RouterError::BadKey));
    create(&mut world, "long", 3);
    world.config.users.retain(|user| user.name != "ann");
    world.restart();
    assert_eq!(holder(&mut world, client(3)), Err(RouterError::NoKey));
}

// Holds P3-11.
#[test]
fn the_same_key_twice_is_one_and_no_other_has_its_name_or_its_value() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let made = create(&mut world, "bar", 1);
    assert_eq!(create(&mut world, "bar", 1).id, made.id);
    for (user, name, n) in [(ann, "bar", 2), (guy, "bar", 1), (guy, "bar", 2), (guy, "other", 1)] {
        let made = create_as(&mut world, user, name, KeyScope::default(), n);
        assert_eq!(made, Err(RouterError::KeyExists), "{name} {n}");
    }
    revoke(&mut world, Some(ann), "bar").unwrap();
    let again = create_as(&mut world, ann, "bar", KeyScope::default(), 1);
    assert_eq!(again, Err(RouterError::KeyExists), "what was revoked stays so");
    assert_ne!(create(&mut world, "bar", 2).id, made.id);
    for name in ["", "peer", "a b", "a:b", &"x".repeat(49)] {
        let made = create_as(&mut world, ann, name, KeyScope::default(), 9);
        assert_eq!(made, Err(RouterError::BadKey), "{name}");
    }
    let made = create_as(&mut world, ann, "x", scope(&["none"]), 9);
    assert_eq!(made, Err(RouterError::NoAgent(Text::clip("default, other"))));
    assert_eq!(
        create_as(&mut world, UserId::random(), "x", KeyScope::default(), 9),
        Err(RouterError::NoUser)
    );
}

// Holds P3-11.
#[test]
fn a_user_sees_and_revokes_their_own_keys_alone() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    create(&mut world, "bar", 1);
    create_as(&mut world, guy, "baz", KeyScope::default(), 2).unwrap();
    let names = |world: &mut World, user| {
        let keys = world.act(|router| router.list_keys(user));
        keys.iter().map(|key| key.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut world, Some(ann)), ["bar"]);
    assert_eq!(names(&mut world, None).len(), 2);
    assert_eq!(revoke(&mut world, Some(ann), "baz"), Err(RouterError::NoKey));
    assert!(holder(&mut world, client(2)).is_ok());
}

// Holds B-25.
#[test]
fn keys_are_bounded_and_the_oldest_revoked_one_gives_way() {
    let mut world = World::new();
    let (own, ann) = (world.id(1000), world.id(1001));
    let name = |n: usize| format!("k{n}");
    let one = |world: &mut World, user: UserId, n: usize| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&n.to_le_bytes());
        let wanted = NewKey {
            user,
            by: Name::clip("mia"),
            name: Name::clip(&name(n)),
            scope: KeyScope::default(),
            presented: Presented(bytes),
        };
        world.ask(|router, port| router.create_key(wanted, port)).unwrap().map(drop)
    };
    let refused = |keys: usize| Err(RouterError::TooManyKeys { keys: u32::try_from(keys).unwrap() });
    for n in 0..KEYS {
        let user = if n < KEYS_PER_USER { ann } else { own };
        assert_eq!(one(&mut world, user, n), Ok(()));
        let full = if n + 1 == KEYS_PER_USER { refused(KEYS_PER_USER) } else { continue };
        assert_eq!(one(&mut world, ann, KEYS), full, "the rest is other users'");
    }
    assert_eq!(one(&mut world, own, KEYS), refused(KEYS));
    let guy = world.id(1002);
    assert_eq!(one(&mut world, guy, KEYS), refused(KEYS));
    for n in [7, 3] {
        revoke(&mut world, None, &name(n)).unwrap();
        world.pass(500);
    }
    assert_eq!(one(&mut world, guy, KEYS), refused(KEYS - 2), "the last are the owners'");
    assert_eq!(one(&mut world, own, KEYS), Ok(()));
    world.restart();
    let keys = world.act(|router| router.list_keys(None));
    let revoked: Vec<&str> =
        keys.iter().filter(|key| key.revoked_ms.is_some()).map(|key| key.name.as_str()).collect();
    assert_eq!((keys.len(), revoked), (KEYS, vec!["k3"]));
}

#[test]
fn the_last_use_is_kept_to_the_minute_and_written_once_a_minute() {
    let mut world = World::new();
    create(&mut world, "bar", 1);
    let used = |world: &mut World| world.act(|router| router.list_keys(None))[0].used_ms;
    assert_eq!(used(&mut world), 0);
    holder(&mut world, client(1)).unwrap();
    let minute = world.ms - world.ms % 60_000;
    world.pass(500);
    world.restart();
    assert_eq!(used(&mut world), minute);
    world.pass(60_000);
    holder(&mut world, client(1)).unwrap();
    assert_eq!(used(&mut world), minute + 60_000);
}

// Holds P3-09.
#[test]
fn a_uid_is_whom_the_kernel_names_and_a_guest_reaches_no_model() {
    let mut world = World::new();
    let who = |world: &mut World, uid| holder(world, Caller::Peer(uid)).map(|it| it.user_name.to_string());
    assert_eq!(who(&mut world, 0).as_deref(), Ok("owner"));
    assert_eq!(who(&mut world, 1001).as_deref(), Ok("ann"));
    assert_eq!(who(&mut world, 4242), Err(RouterError::NoKey));
    assert_eq!(who(&mut world, 65_534), Err(RouterError::NoKey));
    let guest = holder(&mut world, Caller::Peer(1002)).unwrap();
    assert!(!guest.may_use("offline/reader") && guest.agents.len() == 2);
    assert!(holder(&mut world, Caller::Peer(1001)).unwrap().may_use("offline/reader"));
}

// Holds B-26.
#[test]
fn records_of_wrong_keys_are_bounded_and_hide_no_other_refusal() {
    let mut world = World::new();
    for n in 0..200 {
        assert_eq!(holder(&mut world, client(n)), Err(RouterError::NoKey));
    }
    let flood = refusals(&world);
    assert!((5..=30).contains(&flood), "{flood}");
    assert_eq!(holder(&mut world, Caller::Peer(4242)), Err(RouterError::NoKey));
    assert_eq!(refusals(&world), flood + 1);
    world.pass(60_000);
    assert_eq!(holder(&mut world, client(1)), Err(RouterError::NoKey));
    assert_eq!(refusals(&world), flood + 2);
    assert_eq!(holder(&mut world, Caller::Peer(u32::MAX)), Err(RouterError::NoKey));
    assert_eq!(refusals(&world), flood + 2, "no process has this uid: gateway asks so whether router serves");
}

// Holds P3-10.
#[test]
fn a_clients_message_has_its_keys_user_and_a_session_of_its_own() {
    let mut world = World::new();
    create(&mut world, "bar", 1);
    let mut said = words("s", "k");
    said.workspace = Some(ipc_proto::ids::WorkspaceId::random());
    let accepted = submit(&mut world, client(1), said).unwrap();
    let ann = world.id(1001);
    let session = world.act(|router| router.session(Some(ann), "api:bar:s")).unwrap();
    assert_eq!((session.info.id, session.info.agent.as_str()), (accepted.session, "default"));
    let again = submit(&mut world, client(1), words("api:bar:s", "k2")).unwrap();
    assert_eq!(again.session, accepted.session);
    assert_eq!(submit(&mut world, client(1), words("s", "k")).unwrap().message, accepted.message);

    create(&mut world, "baz", 2);
    let other = submit(&mut world, client(2), words("s", "k")).unwrap();
    assert!(other.session != accepted.session && other.message != accepted.message);
    let stolen = submit(&mut world, client(2), words("api:bar:s", "k3")).unwrap();
    assert!(stolen.session != accepted.session, "it is one of its own of that name");
}

// Holds B-57.
#[test]
fn a_turn_is_paid_by_its_key_even_after_restarts_and_revocation() {
    let mut world = World::new();
    let ann = world.id(1001);
    let bound = KeyScope { day_micros: Some(7), ..KeyScope::default() };
    let made = create_as(&mut world, ann, "bar", bound, 1).unwrap();
    let turn = submit(&mut world, client(1), words("s", "k")).unwrap().turn;
    let by_uid = submit(&mut world, Caller::Peer(1001), words("t", "k")).unwrap().turn;
    let paying = |world: &mut World, turn| world.act(|router| router.take(turn, 1 << 20)).unwrap().key;
    let expected = Some(PayingKey { id: made.id, day_micros: Some(7) });
    assert_eq!(paying(&mut world, turn), expected);
    assert_eq!(paying(&mut world, by_uid), None);
    world.restart();
    revoke(&mut world, None, "bar").unwrap();
    assert_eq!(paying(&mut world, turn), expected);
}

// Holds P3-10.
#[test]
fn a_client_reaches_the_agents_of_its_key_for_answers_only() {
    let mut world = World::new();
    let ann = world.id(1001);
    create_as(&mut world, ann, "one", scope(&["other"]), 1).unwrap();
    create(&mut world, "all", 2);
    let with = |agent: &str| Submission { agent: Some(Name::clip(agent)), ..words("s", agent) };
    let outside = Err(RouterError::NotInScope(Text::clip("other")));
    assert_eq!(submit(&mut world, client(1), words("s", "k")), outside);
    assert_eq!(submit(&mut world, client(1), with("default")), outside);
    assert_eq!(refusals(&world), 2);
    assert!(submit(&mut world, client(1), with("other")).is_ok());
    let unknown = Err(RouterError::NoAgent(Text::clip("default, other")));
    assert_eq!(submit(&mut world, client(2), with("none")), unknown);
    let bad = [
        Submission { task: Task::Command { argv: List::default() }, ..words("s", "k") },
        words("", "k"),
        words("s", ""),
        words(&"s".repeat(125), "k"),
        words("s", &"k".repeat(250)),
    ];
    for said in bad {
        assert_eq!(submit(&mut world, client(2), said), Err(RouterError::BadMessage));
    }
    assert_eq!(submit(&mut world, client(9), words("s", "k")), Err(RouterError::NoKey));
}

// Holds P3-10.
#[test]
fn a_client_follows_the_turns_of_its_own_sessions_alone() {
    let mut world = World::new();
    create(&mut world, "bar", 1);
    create(&mut world, "baz", 2);
    let turn = submit(&mut world, client(1), words("s", "k")).unwrap().turn;
    let hers = world.say("chat", "hello").turn;
    assert!(after_exit(&mut world, client(1), turn));
    for (caller, turn) in [(client(1), hers), (client(2), turn), (Caller::Peer(1001), turn), (ROOT, turn)] {
        assert!(!after_exit(&mut world, caller, turn), "{caller:?}");
    }
    revoke(&mut world, None, "bar").unwrap();
    assert!(!after_exit(&mut world, client(1), turn), "a revoked key sees nothing any more");
}

// Holds P3-10.
#[test]
fn a_client_sees_its_own_events_and_the_owner_by_uid_all() {
    let mut world = World::new();
    create(&mut world, "bar", 1);
    let owner = world.act(|router| router.identify(0)).unwrap().id;
    create_as(&mut world, owner, "root", KeyScope::default(), 3).unwrap();
    let turn = submit(&mut world, client(1), words("s", "k")).unwrap();
    let hers = world.say("chat", "hello");
    let seen = |world: &mut World, caller| {
        let events = world.act(|router| router.api_events(caller, router.events.after(0))).unwrap();
        let of = |session| events.iter().any(|event| event.session == Some(session));
        (of(turn.session), of(hers.session))
    };
    for (caller, expected) in [
        (client(1), (true, false)),
        (client(3), (false, false)),
        (Caller::Peer(1001), (false, false)),
        (ROOT, (true, true)),
    ] {
        assert_eq!(seen(&mut world, caller), expected, "{caller:?}");
    }
    world.finish(turn.turn, answer("hi")).unwrap().unwrap();
}

#[test]
fn queue_counts_are_the_hosts_for_the_owner_and_a_users_own_else() {
    let mut users = config().users;
    users.push(user("bob", &[1003], UserRole::User));
    let mut world = World::with(ipc_proto::config::Router { users, ..config() });
    world.say("chat", "hello");
    world.pause(None, Some("chat"), true).unwrap().unwrap();
    let running = |world: &mut World, caller| {
        let queue = world.act(|router| router.api_queue(caller)).unwrap();
        assert!(queue.paused_sessions.is_empty());
        queue.running
    };
    assert_eq!(running(&mut world, ROOT), 1);
    assert_eq!(running(&mut world, Caller::Peer(1001)), 1);
    assert_eq!(running(&mut world, Caller::Peer(1003)), 0);
}
