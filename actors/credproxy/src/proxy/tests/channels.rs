//! Requests of a channel's account, and what stands on the record about them.

use super::*;
use ipc_proto::config::ChannelReach;
use ipc_proto::credproxy::{Proof, Verdict};

const MAIN: &str = "main";

/// An account of a channel with the secret `key`.
pub(super) fn accounts() -> Accounts {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Accounts::new(&[ChannelReach {
        process: Process::Telegram.name().to_owned(),
        account: "main".to_owned(),
        secrets: own(&["key"]),
        hosts: own(&["plain.test:80", "tls.test:443"]),
        polls: own(&["/bot__cordon_secret__/getUpdates"]),
    }])
    .unwrap()
}

async fn ask(lab: &Lab, account: &str, request: Request) -> Result<Head, CredError> {
    let account = (Process::Telegram, Name::clip(account));
    lab.proxy.channel_request(account, &lab.replies, request).await
}

fn of_bot(method: &str) -> Request {
    let url = format!("http://plain.test/bot{PLACEHOLDER}/{method}");
    let secret = Placement { secret: text("key"), at: At::Segment };
    Request { verb: Verb::Post, secret: Some(secret), ..get(&url) }
}

async fn lab() -> (Lab, Server) {
    let (lab, server) = Lab::with(persistent("{}")).await;
    let binding = Binding { at: List::clip([At::Segment]), ..hosts(&["plain.test"]) };
    lab.bind("key", binding, VALUE).await.unwrap();
    lab.fake.log.take();
    (lab, server)
}

// Holds P4-37.
#[test]
fn an_account_asks_its_own_hosts_with_its_own_secret_or_with_none() {
    run(async {
        let (lab, server) = lab().await;
        assert_eq!(ask(&lab, MAIN, get("http://plain.test/hello")).await.unwrap().status, 200);
        assert_eq!(lab.log(), ["dial plain.test:80"]);
        drop(request_of(&server));
        assert_eq!(ask(&lab, MAIN, of_bot("sendMessage")).await.unwrap().status, 200);
        assert!(request_of(&server).starts_with("POST /botsk-live%2F0123456789%2Babc%3D%3D/sendMessage "));
        lab.fake.log.take();
        let elsewhere = get("https://other.test/");
        let mut others = of_bot("sendMessage");
        others.secret.as_mut().unwrap().secret = text("search");
        for (account, request) in [(MAIN, elsewhere), (MAIN, others), ("work", of_bot("sendMessage"))] {
            assert_eq!(ask(&lab, account, request).await, Err(CredError::NotBound), "{account}");
        }
        assert_eq!(lab.log().len(), 3);
        assert!(lab.log().iter().all(|line| line.starts_with("SecretMisdirected Blocked")));
    });
}

#[test]
fn a_send_does_not_wait_for_dialer_and_was_not_sent() {
    run(async {
        let (lab, _server) = lab().await;
        lab.fake.away.set(true);
        let refused = ask(&lab, MAIN, of_bot("sendMessage")).await.unwrap_err();
        assert!(refused.never_left(), "{refused}");
        assert!(lab.log().is_empty(), "nor is its secret used: {:?}", lab.log());
        assert_eq!(ask(&lab, MAIN, of_bot("getUpdates")).await.unwrap().status, 200, "a poll waits");
    });
}

// Holds P4-39.
#[test]
fn sends_are_recorded_one_by_one_and_polls_once_a_minute() {
    run(async {
        let (lab, _server) = lab().await;
        for _ in 0..3 {
            let head = ask(&lab, MAIN, of_bot("getUpdates?timeout=50")).await.unwrap();
            assert_eq!(lab.body(&head).await.unwrap(), b"{}");
        }
        let used = |line: &&String| line.starts_with("SecretUsed");
        let recorded = || lab.fake.log.take().iter().filter(used).count();
        assert_eq!(recorded(), 1);
        for _ in 0..3 {
            ask(&lab, MAIN, of_bot("sendMessage")).await.unwrap();
        }
        assert_eq!(recorded(), 3);
    });
}

// Holds P4-39.
#[test]
fn a_poll_that_cannot_be_recorded_is_not_sent() {
    run(async {
        let (lab, _server) = lab().await;
        lab.fake.refuses.set(true);
        for _ in 0..2 {
            assert_eq!(ask(&lab, MAIN, of_bot("getUpdates")).await, Err(CredError::NotRecorded));
        }
        assert_eq!(lab.log(), ["SecretUsed Success key"; 2]);
    });
}

// Holds P4-33.
#[test]
fn a_request_that_never_left_is_told_from_one_whose_fate_is_unknown() {
    run(async {
        let (lab, server) = Lab::with(vec![Step::Send(b"HTTP/1.1 ".to_vec())]).await;
        let cut = lab.request(with_key("http://plain.test/")).await.unwrap_err();
        assert!(!cut.never_left(), "{cut}");
        drop(request_of(&server));
        lab.fake.upstream.set(None);
        let refused = lab.request(with_key("http://plain.test/")).await.unwrap_err();
        assert!(refused.never_left(), "{refused}");
    });
}

// Holds P4-38.
#[test]
fn a_proof_is_compared_with_a_secret_of_the_account_alone() {
    run(async {
        let (lab, _server) = lab().await;
        let ask = async |caller: Process, secret: &str, given: &str| {
            let (account, proof) = (Name::clip(MAIN), (Name::clip(secret), Proof::Equal));
            lab.proxy.verify((caller, &account), proof, b"", given.as_bytes()).await
        };
        assert_eq!(ask(Process::Telegram, "key", VALUE).await, Ok(Verdict::Holds));
        assert_eq!(ask(Process::Telegram, "key", "sk-live/").await, Ok(Verdict::Differs));
        assert_eq!(ask(Process::Telegram, "search", VALUE).await, Err(CredError::NotBound));
        assert_eq!(ask(Process::Web, "key", VALUE).await, Err(CredError::NotBound));
        lab.proxy.revoke(text("key")).await.unwrap();
        assert_eq!(ask(Process::Telegram, "key", VALUE).await, Err(CredError::Revoked));
    });
}
