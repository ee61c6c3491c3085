//! A session with scripted answers of a server.

use super::*;
use crate::line::scripted::{Scripted, Step, run};
use Step::{Closes, Hears, Quiet, Says};

const CAPABLE: Step = Says(b"* CAPABILITY IMAP4rev1 IDLE\r\n* CAPABILITY IMAP4rev1 IDLE\r\nx1 OK\r\n");

async fn begin(script: &Scripted) -> Session<&Scripted> {
    Session::begin(script).await.unwrap()
}

#[test]
fn a_mailbox_is_selected_and_its_messages_listed() {
    run(async {
        let script = Scripted::new(vec![
            CAPABLE,
            Says(b"* 2 EXISTS\r\n* OK [UIDVALIDITY 5] x\r\n* OK [UIDNEXT 9] x\r\nx2 OK [READ-WRITE] x\r\n"),
            Hears("x3 UID FETCH 8:* (UID RFC822.SIZE INTERNALDATE)\r\n"),
            Says(b"* 1 FETCH (UID 7 RFC822.SIZE 3 INTERNALDATE \"1-Jan-2026 00:00:00 +0000\")\r\n"),
            Says(b"* 2 FETCH (FLAGS ())\r\n* 2 FETCH (UID 8 RFC822.SIZE 3 INTERNALDATE \"x\")\r\nx3 OK\r\n"),
        ]);
        let mut session = begin(&script).await;
        let mailbox = session.select(b"INBOX", false).await.unwrap();
        assert_eq!(mailbox, Some(Mailbox { validity: 5, next: Some(9), exists: 2 }));
        let mut uids = Vec::new();
        session.list(8, |one| uids.push(one.uid)).await.unwrap();
        assert_eq!(uids, [8], "the last message before the range is none of it");
    });
}

#[test]
fn idle_ends_before_a_command_and_is_issued_again_in_time() {
    run(async {
        let idle = || Hears("IDLE\r\n");
        let mut steps = vec![CAPABLE, idle(), Says(b"+ idling\r\n* 1 EXISTS\r\n")];
        steps.extend((0..59).map(|_| Quiet));
        steps.extend([Hears("DONE\r\n"), Says(b"x2 OK\r\n"), idle(), Says(b"+ idling\r\n")]);
        let script = Scripted::new(steps);
        let mut session = begin(&script).await;
        assert!(session.wait().await.unwrap(), "a message came");
        assert!(session.wait().await.unwrap(), "until the messages are listed");
        session.news = false;
        for _ in 0..60 {
            tokio::time::advance(Duration::from_secs(25)).await;
            assert!(!session.wait().await.unwrap());
        }
        // The last of these waits has ended it, and the next one begins it again.
        assert!(!session.wait().await.unwrap());
        assert_eq!(script.heard().matches("IDLE\r\n").count(), 2);
    });
}

#[test]
fn a_server_that_says_nothing_or_too_much_ends_the_session() {
    run(async {
        let silent = Scripted::new(vec![CAPABLE, Quiet, Quiet, Quiet]);
        assert_eq!(begin(&silent).await.search("ALL").await, Err(Fault::Silent));
        let closed = Scripted::new(vec![CAPABLE, Says(b"* BYE\r\n")]);
        assert_eq!(begin(&closed).await.search("ALL").await, Err(Fault::Line(LineFault::Closed)));
        let lost = Scripted::new(vec![CAPABLE, Closes]);
        assert_eq!(begin(&lost).await.search("ALL").await, Err(Fault::Line(LineFault::Lost)));
        let refused = Scripted::new(vec![CAPABLE, Says(b"x2 NO no\r\n")]);
        assert_eq!(begin(&refused).await.search("ALL").await, Err(Fault::Refused("search")));
    });
}

#[test]
fn a_message_is_appended_behind_the_servers_word() {
    run(async {
        let script = Scripted::new(vec![
            CAPABLE,
            Hears("x2 APPEND \"Se\\\"nt\" (\\Seen) {4}\r\n"),
            Says(b"+ go\r\n"),
            Hears("mail\r\n"),
            Says(b"x2 OK\r\n"),
            Says(b"x3 NO [TRYCREATE] x\r\n"),
        ]);
        let mut session = begin(&script).await;
        assert!(session.append(b"Se\"nt", b"mail").await.unwrap());
        assert!(!session.append(b"None", b"mail").await.unwrap());
        assert_eq!(quoted(b"a\r\nb"), None);
    });
}
