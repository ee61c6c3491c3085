//! Agents with many tools of servers find them by words, and agents read resources of servers.

use super::{approve, command, host, outcome};
use serde_json::{Value, json};
use tests::{Host, Setup, call, script, text};

/// Has the agent make these calls one after the other, each once it has the result of the one before; the verdicts, and the turn's end.
fn verdicts(host: &Host, session: &str, calls: &[(&str, Value)]) -> (Vec<String>, Value) {
    let calls: Vec<Value> = calls.iter().map(|(tool, args)| call(tool, args)).collect();
    host.script("finder", &script(&calls));
    let ended = host.ask(&["chat", "--session", session, "-m", "go on"]);
    (ended["calls"].as_array().unwrap().iter().map(|call| text(call, "verdict")).collect(), ended)
}

/// A host with a server of 60 approved tools, and a scripted model.
fn finder() -> Host {
    let host = Setup::default()
        .config(&format!(
            "[agent.default]\nmodel = \"scripted/finder\"\nprofile = \"power-user\"\n\
             [mcp.own]\ncommand = {}\nagents = [\"default\"]\n",
            command(60)
        ))
        .start();
    approve(&host, &[]);
    host
}

// Holds P1-63.
#[test]
fn of_many_tools_an_agent_calls_those_that_it_has_found() {
    let host = finder();
    let own = |number: u8| (format!("own__many{number}"), json!({"text": "x"}));
    let ((seventh, args), (eighth, _)) = (own(7), own(8));
    let (said, ended) = verdicts(&host, "s", &[(&seventh, args.clone())]);
    assert!(said == ["refused"] && ended.to_string().contains("use tool_find"), "{ended}\n{}", host.log());
    let find = json!({"words": "harbour many7", "limit": 1});
    let calls = [("tool_find", find), (seventh.as_str(), args.clone()), (eighth.as_str(), args)];
    let (said, ended) = verdicts(&host, "t", &calls);
    assert_eq!(said, ["run", "run", "refused"], "{ended}\n{}", host.log());
}

// Holds P7-99.
#[test]
fn what_was_found_stays_so_in_the_attempt_after_a_killed_gate() {
    let host = finder();
    let calls = [
        call("tool_find", &json!({"words": "many7", "limit": 1})),
        call("bash", &json!({"command": "sleep 3"})),
        call("own__many7", &json!({"text": "x"})),
    ];
    host.script("finder", &script(&calls));
    let turn = host.say("s", "go on");
    host.wait_for("the command runs", || host.recorded("tool_decided").len() >= 2);
    host.kill_and_wait("gate");
    // The command's output is untrusted, so a person is asked: a tool that is not listed would be refused.
    host.approve(&host.question());
    let ended = turn.ended();
    let last = &ended["calls"].as_array().unwrap().last().cloned().unwrap_or_default();
    assert!(last["tool"] == "own__many7" && last["verdict"] == "run", "{ended}\n{}", host.log());
}

// Holds P1-64.
#[test]
fn an_agent_reads_a_resource_of_a_server_whose_tools_it_has() {
    let host = host("", "[mcp.none]\ncommand = [\"false\"]\n");
    let read = |session: &str, args: Value| {
        outcome(&host.ask(&[
            "chat",
            "--session",
            session,
            "-m",
            &format!("echo: please !!CALL mcp_read {args}!!"),
        ]))
    };
    let (verdict, _) = read("a", json!({"server": "own", "uri": "memo://one"}));
    assert_eq!(verdict, "refused", "nothing of the server is approved");
    approve(&host, &["echo"]);
    let (verdict, reply) = read("b", json!({"server": "own"}));
    assert!(verdict == "run" && reply.contains("memo://one"), "{reply}\n{}", host.log());
    let (_, reply) = read("c", json!({"server": "own", "uri": "memo://one"}));
    assert!(
        reply.contains("the memo's text") && reply.contains("mcp:own"),
        "a stranger's text says whose it is: {reply}"
    );
    let shown = host.json(&["session", "show", "c"]).to_string();
    assert!(shown.contains("mcp:own") && shown.contains("untrusted"), "{shown}");
    let (_, reply) = read("d", json!({"server": "none"}));
    assert!(reply.contains("there are: own"), "{reply}");
}
