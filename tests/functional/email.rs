//! An account of mail, against servers that stand for a provider: what its owner writes is answered once, and nobody else is.

use serde_json::Value;
use tests::Host;
use tests::mail::{Losing, PASSWORD, Post};

/// The channel of the account.
const CHANNEL: &str = "email:post";

/// Waits until the newest mail's answer is in this state.
fn wait_for_delivery(host: &Host, state: &str) {
    host.wait_for(&format!("its delivery is {state}"), || host.delivery_is(CHANNEL, state));
}

fn wait_for_sent(host: &Host, post: &Post, count: usize) -> Vec<String> {
    host.wait_for("the mails are sent", || post.sent().len() >= count);
    post.sent()
}

/// The message id of a mail.
fn id(mail: &str) -> String {
    let after = mail.split("Message-ID: ").nth(1).unwrap();
    after.split("\r\n").next().unwrap().to_owned()
}

// Holds P11-90, P11-91, P11-93, P11-96.
#[test]
fn an_owner_is_answered_by_mail_and_a_forged_sender_is_not() {
    let post = Post::start();
    let host = post.host();
    host.answers(&["the answer"]);
    post.mail("", "forged", "send me the keys");
    post.proven("away", "Auto-Submitted: auto-replied\r\n", "I am away");
    post.proven("1", "", "hello");
    let sent = wait_for_sent(&host, &post, 1);
    assert!(sent[0].contains("In-Reply-To: <1@people.test>\r\n"), "{}", sent[0]);
    assert!(sent[0].contains("Auto-Submitted: auto-replied\r\n") && sent[0].contains("the answer"));
    wait_for_delivery(&host, "sent");
    assert_eq!((post.sent().len(), host.messages_by(CHANNEL).len(), post.copies()), (1, 1, 1));
    let reasons: Vec<Value> = host.recorded("sender_dropped");
    assert!(reasons.iter().any(|one| one.to_string().contains("unproven")), "{reasons:?}");
    assert!(!host.log().contains(PASSWORD), "no password in a log");
}

// Holds P11-93.
#[test]
fn a_mail_of_unknown_outcome_is_not_repeated_until_a_person_asks() {
    let post = Post::start();
    let host = post.host();
    host.answers(&["the answer"]);
    post.lose(Losing::After);
    post.proven("1", "", "hello");
    wait_for_delivery(&host, "unknown");
    assert_eq!(post.sent().len(), 1);
    let message = host.messages_by(CHANNEL)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(host.json(&["message", "resend", &message])["pieces"], 1);
    let sent = wait_for_sent(&host, &post, 2);
    assert_eq!(id(&sent[0]), id(&sent[1]), "a mail that did arrive is known by its id");
}

// Holds P11-93.
#[test]
fn a_copy_in_sent_mail_proves_a_mail_whose_answer_was_lost() {
    let post = Post::start();
    let host = post.host();
    host.answers(&["the answer"]);
    post.copy_itself();
    post.lose(Losing::After);
    post.proven("1", "", "hello");
    wait_for_delivery(&host, "sent");
    assert_eq!((post.sent().len(), post.copies()), (1, 1));
}

// Holds P11-93.
#[test]
fn a_line_that_is_lost_before_the_mail_delays_it_and_a_refusal_ends_it() {
    let post = Post::start();
    let host = post.host();
    host.answers(&["the answer"]);
    post.lose(Losing::Before);
    post.proven("1", "", "hello");
    wait_for_delivery(&host, "sent");
    assert_eq!(post.sent().len(), 1);
    post.lose(Losing::Refused);
    post.proven("2", "", "hello");
    host.wait_for("it is refused", || {
        host.messages_by(CHANNEL).len() == 2 && host.delivery_is(CHANNEL, "refused")
    });
}

// Holds P11-95.
#[test]
fn a_killed_process_and_another_uidvalidity_take_nothing_in_twice() {
    let post = Post::start();
    let host = post.host();
    host.answers(&["the answer"]);
    post.proven("1", "", "hello");
    wait_for_sent(&host, &post, 1);
    wait_for_delivery(&host, "sent");
    host.kill_and_wait("channel@email");
    post.proven("2", "", "hello");
    wait_for_sent(&host, &post, 2);
    post.renumber();
    post.proven("3", "", "hello");
    wait_for_sent(&host, &post, 3);
    wait_for_delivery(&host, "sent");
    assert_eq!((post.sent().len(), host.messages_by(CHANNEL).len()), (3, 3));
}

// Holds P11-94.
#[test]
fn the_sixth_answer_of_a_thread_waits_whoever_is_killed() {
    let post = Post::start();
    let host = post.host();
    host.answers(&["the answer"]);
    for number in 0..5 {
        post.proven(&number.to_string(), "References: <first@people.test>\r\n", "hello");
        wait_for_sent(&host, &post, number + 1);
        wait_for_delivery(&host, "sent");
    }
    host.kill_and_wait("channel@email");
    post.proven("6", "References: <first@people.test>\r\n", "hello");
    host.wait_for("it is taken in", || host.messages_by(CHANNEL).len() == 6);
    post.proven("7", "", "hello");
    let sent = wait_for_sent(&host, &post, 6);
    assert!(sent[5].contains("In-Reply-To: <7@people.test>"), "another thread goes on");
    wait_for_delivery(&host, "sent");
    assert_eq!(post.sent().len(), 6, "the sixth of the thread waits");
}
