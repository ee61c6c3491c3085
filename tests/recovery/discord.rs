//! kill -9 at every step of a message that comes by Discord and of its answer: the message is taken in once, and its answer is sent
//! once.

use tests::discord::{Discord, Failing, direct};
use tests::{Host, Setup, discord};

/// Every step. The first two are passed by the first position already, before the channel is up.
const POINTS: [&str; 5] = [
    "router:router.channel.stored",
    "router:router.channel.committed",
    "router:router.plan.committed",
    "router:router.piece.sending",
    "router:router.piece.settled",
];
/// Without signs of what is under way.
const QUIET: &str = "streaming = \"off\"\ntyping = false\n";

fn wait_until_sent(host: &Host, point: &str) {
    host.wait_for(&format!("{point}: the answer is sent"), || host.delivery_is("discord:main", "sent"));
}

/// One message was taken in, and one answer sent.
fn is_once(host: &Host, sent: usize, point: &str) {
    assert_eq!(sent, 1, "{point}");
    let listed = host.json(&["message", "list"]);
    assert_eq!(listed["messages"].as_array().map(Vec::len), Some(1), "{point}: {listed}");
}

// Holds P11-07, P11-10.
#[test]
fn a_death_at_any_step_of_discord_doubles_nothing() {
    for point in POINTS {
        let discord = Discord::start();
        let host = discord.host(Setup::default().arguments(&["--fault", point]), QUIET);
        host.answers(&["the answer"]);
        discord.direct(discord::ANN, "hello");
        wait_until_sent(&host, point);
        assert_eq!(host.process("router")["restarts"], 1, "{point} was never reached");
        is_once(&host, discord.sent(direct(discord::ANN)).len(), point);
    }
}

// Holds P11-10, P11-36.
#[test]
fn a_death_with_an_answer_under_way_is_looked_up_on_discord() {
    for held in [Failing::HoldAfter, Failing::HoldBefore] {
        for dies in ["channel@discord", "credproxy"] {
            let point = format!("{held:?}, {dies}");
            let discord = Discord::start();
            let host = discord.host(Setup::default(), QUIET);
            host.answers(&["the answer"]);
            discord.fail("POST messages", held);
            discord.direct(discord::ANN, "hello");
            let asked = || {
                discord.calls().iter().any(|(call, _)| call.starts_with("POST") && call.ends_with("messages"))
            };
            host.wait_for(&format!("{point}: the answer is under way"), asked);
            host.kill_and_wait(dies);
            wait_until_sent(&host, &point);
            is_once(&host, discord.sent(direct(discord::ANN)).len(), &point);
        }
    }
}
