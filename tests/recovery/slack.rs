//! kill -9 at every step of a message that comes by Slack and of its answer: the message is taken in once, and its answer is sent
//! once.

use tests::slack::{self, Failing, Slack};
use tests::{Host, Setup};

/// Every step. The first two are passed by the first position already, before the channel is up.
const POINTS: [&str; 5] = [
    "router:router.channel.stored",
    "router:router.channel.committed",
    "router:router.plan.committed",
    "router:router.piece.sending",
    "router:router.piece.settled",
];

/// Waits until the only answer on Slack is sent, and finds it there once.
fn answered_once(host: &Host, slack: &Slack, case: &str) {
    host.wait_for(&format!("{case}: the answer is sent"), || host.delivery_is("slack:main", "sent"));
    assert_eq!(slack.sent(&slack::direct(slack::ANN)).len(), 1, "{case}");
    let listed = host.json(&["message", "list"]);
    assert_eq!(listed["messages"].as_array().map(Vec::len), Some(1), "{case}: {listed}");
    host.wait_for(&format!("{case}: every envelope is acknowledged"), || slack.pending() == 0);
}

// Holds P11-70, P11-72.
#[test]
fn a_death_of_slacks_process_loses_nothing_and_doubles_nothing() {
    // While the answer is on its way: before and after it had its effect.
    for failing in [Failing::StallBefore, Failing::StallAfter] {
        let slack = Slack::start();
        let host = slack.host(Setup::default(), "streaming = \"off\"\n");
        host.answers(&["the answer"]);
        slack.fail("chat.postMessage", failing);
        slack.direct(slack::ANN, "hello");
        host.wait_for("the answer is on its way", || slack.stalled() > 0);
        host.kill_and_wait("channel@slack");
        answered_once(&host, &slack, &format!("{failing:?}"));
    }
    // While the message is taken in, and while what it needs is gone.
    for process in ["channel@slack", "credproxy", "router"] {
        let slack = Slack::start();
        let host = slack.host(Setup::default(), "streaming = \"off\"\n");
        host.answers(&["the answer"]);
        let pid = host.pid(process);
        slack.direct(slack::ANN, "hello");
        tests::kill(pid);
        answered_once(&host, &slack, process);
    }
}

// Holds P11-07, P11-10.
#[test]
fn a_death_of_router_at_any_step_doubles_nothing_on_slack() {
    for point in POINTS {
        let slack = Slack::start();
        let setup = Setup::default().arguments(&["--fault", point]);
        let host = slack.host(setup, "streaming = \"off\"\n");
        host.answers(&["the answer"]);
        slack.direct(slack::ANN, "hello");
        answered_once(&host, &slack, point);
    }
}
