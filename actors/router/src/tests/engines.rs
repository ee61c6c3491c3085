//! Turns that an engine answers: where they run, what a session is labelled with before, and what an engine is given to go
//! on with.

use super::world::World;
use super::{answer, config, said};
use ipc_proto::engine::{Engine, Format, Input, SavedState, Token};
use ipc_proto::ids::TurnId;
use ipc_proto::label::Trust;
use ipc_proto::router::{Profile, RouterError, Run, Submission, Task};
use ipc_proto::{Blob, List, Name, Text};
use manifest::Process;

fn world() -> World {
    asked_by(Input::Text)
}

/// The engine is asked in this form.
fn asked_by(input: Input) -> World {
    let mut config = config();
    config.turns_at_once = 9;
    config.turns_per_user = 8;
    let engine = Engine {
        name: Name::clip("codex"),
        command: List::clip([Text::clip("codex")]),
        resume: List::default(),
        format: Format::Codex,
        input,
        profile: Profile::Codex,
        keeps: List::default(),
        idle_seconds: 60,
    };
    config.agents.get_mut("default").unwrap().engine = Some(engine);
    World::with(config)
}

fn keep(world: &mut World, turn: TurnId, state: &[u8]) {
    let (token, state) = (Token::clip("thread-1"), Blob::new(state).unwrap());
    world.act(|router| router.store_engine_state(turn, &Name::clip("codex"), token, state)).unwrap();
}

fn kept(world: &mut World, turn: TurnId, engine: &str) -> Option<SavedState> {
    world.act(|router| router.engine_state(turn, &Name::clip(engine))).unwrap()
}

// Holds P1-29.
#[test]
fn an_engines_session_is_untrusted_before_its_first_output() {
    let mut world = world();
    let accepted = world.say("s", "hello");
    let launch = world.launched[0];
    assert_eq!((launch.runner, launch.wall_ms, launch.cpu_ms), (Process::AgentRunner, 3_600_000, 3_600_000));
    let turn = world.act(|router| router.take(accepted.turn, 1000)).unwrap();
    assert_eq!(turn.session_label.trust, Trust::Untrusted);
    assert!(turn.workspace_label.trust == Trust::Untrusted, "it may leave anything there");
    assert!(turn.session_label.sources.iter().any(|source| source.as_str() == "engine:codex"));
}

// Holds P1-56.
#[test]
fn commands_of_an_agent_with_a_way_out_run_in_a_jail_of_their_own_row() {
    let mut config = config();
    (config.turns_at_once, config.turns_per_user) = (9, 8);
    config.agents.get_mut("default").unwrap().network = Some(config::Network::default());
    let mut world = World::with(config);
    let _ = world.say("chat", "hello");
    let ann = world.id(1001);
    for (session, task) in [
        ("command", Task::Command { argv: List::clip([Text::clip("ls")]) }),
        ("put", Task::Put { path: Text::clip("a"), bytes: Blob::new(vec![1]).unwrap() }),
    ] {
        world.submit(&Submission { task, ..said(ann, session, session, "x") }).unwrap();
    }
    let launched: Vec<(Process, u64)> = world.launched.iter().map(|it| (it.runner, it.wall_ms)).collect();
    let net = (Process::NetRunner, 120_000);
    assert_eq!(launched, [net, net, (Process::Runner, 120_000)]);
}

// Holds P1-30.
#[test]
fn an_engines_state_belongs_to_one_session_and_ends_with_it() {
    let mut world = world();
    let first = world.say("s", "one");
    assert_eq!(kept(&mut world, first.turn, "codex"), None);
    keep(&mut world, first.turn, b"state");
    world.finish(first.turn, answer("1"));
    let (second, other) = (world.say("s", "two"), world.say("t", "two"));
    let found = kept(&mut world, second.turn, "codex").unwrap();
    assert_eq!((found.token.as_str(), &*found.state, found.missed), ("thread-1", b"state".as_slice(), 0));
    assert_eq!(kept(&mut world, other.turn, "codex"), None, "a session's is no other's");
    assert_eq!(kept(&mut world, second.turn, "opencode"), None, "nor an engine's");
    world.restart();
    assert!(kept(&mut world, second.turn, "codex").is_some());
    world.finish(second.turn, answer("2"));
    assert_eq!(
        world.act(|router| router.engine_state(second.turn, &Name::clip("codex"))),
        Err(RouterError::NoTurn)
    );
    let ann = world.id(1001);
    assert_eq!(world.ask(|router, port| router.end_session(Some(ann), &Text::clip("s"), port)), Some(Ok(())));
    let rows = world.act(|router| {
        let sql = "SELECT count(*) FROM engine_states";
        router.store.raw().query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap()
    });
    assert_eq!(rows, 0);
}

// Holds B-82.
#[test]
fn an_empty_engine_state_removes_the_stored_one() {
    let mut world = world();
    let first = world.say("s", "one");
    keep(&mut world, first.turn, b"state");
    world.finish(first.turn, answer("1"));
    let second = world.say("s", "two");
    keep(&mut world, second.turn, b"");
    world.finish(second.turn, answer("2"));
    let third = world.say("s", "three");
    assert_eq!(kept(&mut world, third.turn, "codex"), None);
}

#[test]
fn what_was_said_since_an_engine_answered_last_is_counted() {
    let mut world = world();
    let first = world.say("s", "one");
    keep(&mut world, first.turn, b"state");
    world.finish(first.turn, answer("1"));
    let second = world.say("s", "two");
    world.finish(second.turn, answer("2"));
    let third = world.say("s", "three");
    let history = world.act(|router| router.take(third.turn, 1000)).unwrap().history.len();
    assert_eq!((kept(&mut world, third.turn, "codex").unwrap().missed, history), (2, 4));
}

#[test]
fn only_an_engine_that_reads_lines_can_be_steered() {
    let mut world = world();
    let _ = world.say("s", "one");
    let refused = world.steer("s", "in red", false).unwrap_err();
    assert_eq!(refused, RouterError::NotSteered(Name::clip("codex")));
    assert!(refused.to_string().starts_with("this engine cannot be steered: codex"), "{refused}");
    let mut world = asked_by(Input::StreamJson);
    let first = world.say("s", "one");
    assert_eq!(world.steer("s", "in red", false).unwrap().into, first.turn);
    assert_eq!(world.act(|router| router.steering_messages(first.turn)).unwrap().len(), 1);
}

// Holds B-75.
#[test]
fn engines_and_programs_of_a_user_share_one_bound() {
    let mut world = world();
    let ann = world.id(1001);
    let run = |key: &str| {
        let run =
            Run { argv: List::default(), profile: Profile::Plain, terminal: None, allow: List::default() };
        Submission { task: Task::Run(run), ..said(ann, key, key, "") }
    };
    world.submit(&run("r1")).unwrap();
    world.submit(&run("r2")).unwrap();
    let first = world.say("s", "one");
    world.say("s", "two");
    world.say("t", "one");
    let full = RouterError::TooManyRuns { most: 4 };
    assert_eq!(world.submit(&run("r3")), Err(full.clone()));
    assert_eq!(world.submit(&said(ann, "u", "u", "one")), Err(full.clone()), "nor one more engine");
    assert!(
        world.submit(&said(ann, "s", "s3", "three")).is_ok(),
        "a session's next message needs no other jail"
    );
    let other = Submission { agent: Some(Name::clip("other")), ..said(ann, "o", "o", "hello") };
    assert!(world.submit(&other).is_ok(), "the host's own loop is none of these");
    world.finish(first.turn, answer("1"));
    assert_eq!(world.submit(&run("r3")), Err(full), "its session goes on");
}
