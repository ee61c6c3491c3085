//! Connections that are kept: what they serve again, and when they are closed.

use super::*;

// Holds P4-14.
#[test]
fn a_connection_serves_the_next_request_of_its_secret_and_no_other() {
    run(async {
        let (lab, server) = Lab::with(persistent("hello")).await;
        lab.set("other", &["plain.test"], "another-value-1").await.unwrap();
        lab.fake.log.take();
        let other = Request {
            secret: Some(Placement::header("other", "Authorization", "")),
            ..get("http://plain.test/")
        };
        let dialled = || lab.log().iter().filter(|line| line.starts_with("dial")).count();
        for (request, connections) in [
            (with_key("http://plain.test/"), 1),
            (with_key("http://plain.test/again"), 1),
            (other.clone(), 2),
            (get("http://plain.test/"), 3),
            (with_key("http://plain.test/"), 3),
            (other, 3),
        ] {
            let head = lab.request(request).await.unwrap();
            assert_eq!(lab.body(&head).await.unwrap(), b"hello");
            assert_eq!(dialled(), connections);
        }
        assert_eq!(lab.proxy.pool.len(), 3);
        let sent: Vec<String> = (0..6).map(|_| request_of(&server)).collect();
        assert!(sent[1].contains("/again") && sent[1].contains(VALUE));
    });
}

// Holds P4-14.
#[test]
fn a_connection_whose_reply_was_not_read_to_its_end_is_not_used_again() {
    run(async {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it.";
        let (lab, server) = Lab::with(vec![Step::Send(reply.into()), Step::UntilGone]).await;
        let head = lab.request(with_key("http://plain.test/")).await.unwrap();
        assert_eq!(&*lab.next(&head, 100).await.unwrap().bytes, b"half of it.");
        lab.replies.close(head.reply);
        assert_eq!(lab.proxy.pool.len(), 0);
        request_of(&server);
        gone(&server).await;
    });
}

#[test]
fn a_request_takes_another_connection_if_the_server_closed_one() {
    run(async {
        let (lab, server) = Lab::with(whole("hello")).await;
        for _ in 0..3 {
            let head = lab.request(with_key("http://plain.test/")).await.unwrap();
            assert_eq!(lab.body(&head).await.unwrap(), b"hello");
            request_of(&server);
            // The server closes once it has answered.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(lab.log().iter().filter(|line| line.starts_with("dial")).count(), 3);
    });
}

// Holds P4-14.
#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_takes_is_closed() {
    let pool = Pool::default();
    let local = tokio::task::LocalSet::new();
    let purpose = Purpose { secret: None, target: "a.test:443".parse().unwrap(), tls: true };
    local
        .run_until(async {
            let (ours, mut theirs) = tokio::io::duplex(64);
            let conversation = ::upstream::Conversation::begin(Box::new(ours)).await.unwrap();
            pool.lease(purpose.clone(), conversation).give_back();
            assert_eq!(pool.len(), 1);
            let mut byte = [0];
            let read = tokio::io::AsyncReadExt::read(&mut theirs, &mut byte).await;
            assert_eq!((read.unwrap(), pool.len()), (0, 0));
        })
        .await;
    assert!(pool.take(&purpose).is_none());
}
