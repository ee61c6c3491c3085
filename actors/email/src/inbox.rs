//! The inbox: mail behind the cursor, a few messages at a time. Nothing of it is changed at the server, and a mail is fetched whole
//! only if its sender is known.

use crate::cursor::{Position, arrival};
use crate::imap::{Fault, Fetched, Mailbox, PIECE, Session};
use crate::line::Line;
use crate::mail::{Origin, Own, Read, read};
use channel::Polled;
use ipc_proto::Text;
use std::collections::VecDeque;

/// Bytes of a mail, at most; a larger one is left out.
const MAIL: u64 = 25 * 1024 * 1024;
/// Messages of one poll, whose texts fit into one call of router.
const BATCH: usize = 16;
/// Messages that are listed at once.
const LISTED: usize = 512;

/// An inbox.
pub(crate) struct Inbox<L> {
    session: Session<L>,
    mailbox: Mailbox,
    /// Messages behind the cursor, ascending.
    listed: VecDeque<Fetched>,
    /// True if there may be more of them.
    unlisted: bool,
}

/// The means by which an inbox is read.
pub(crate) struct Reading<'a> {
    /// The own mailbox.
    pub(crate) own: &'a Own,
    /// The time, unix seconds.
    pub(crate) now: i64,
    /// A message that could not be fetched again and again, and is left out.
    pub(crate) skip: Option<u32>,
    /// Takes each mail and its UID: what an answer needs of it, and its files.
    pub(crate) keep: &'a dyn Fn(&mut Read, u32),
    /// Takes the UID that is fetched.
    pub(crate) trying: &'a dyn Fn(u32),
}

impl<L: Line> Inbox<L> {
    /// Selects the inbox.
    ///
    /// # Errors
    /// [`Fault`]: the session is over.
    pub(crate) async fn open(line: L) -> Result<Self, Fault> {
        let mut session = Session::begin(line).await?;
        let mailbox = session.select(b"INBOX", false).await?.ok_or(Fault::Refused("open the inbox"))?;
        if mailbox.validity == 0 {
            return Err(Fault::Malformed);
        }
        Ok(Self { session, mailbox, listed: VecDeque::new(), unlisted: true })
    }

    /// The mail behind the cursor; waits for it for most of a minute, if `held` is true and there is none.
    ///
    /// # Errors
    /// [`Fault`]: the session is over.
    pub(crate) async fn poll(
        &mut self,
        cursor: Option<&str>,
        held: bool,
        reading: &Reading<'_>,
    ) -> Result<Polled, Fault> {
        let before = cursor.and_then(Position::parse);
        let Some(position) = before.filter(|position| position.validity == self.mailbox.validity) else {
            let position = self.begin(before, reading.now).await?;
            return Ok(Polled { cursor: Some(Text::clip(&position.to_string())), ..Polled::default() });
        };
        if let Some(polled) = self.batch(position, reading).await? {
            return Ok(polled);
        }
        for _ in 0..2 {
            if held && self.session.wait().await? {
                return Ok(self.batch(position, reading).await?.unwrap_or_default());
            }
        }
        Ok(Polled::default())
    }

    /// The position to begin at. What was in the mailbox before its first position is old. After a change of UIDVALIDITY every UID is
    /// another, so mail that arrived since the day before the last is looked at again; its keys say what was taken in.
    async fn begin(&mut self, before: Option<Position>, now: i64) -> Result<Position, Fault> {
        let Mailbox { validity, next, exists } = self.mailbox;
        let last = match next {
            Some(next) => next.saturating_sub(1),
            None if exists == 0 => 0,
            None => self.session.search("ALL").await?.last().copied().unwrap_or_default(),
        };
        let Some(before) = before else { return Ok(Position { validity, uid: last, arrival: now }) };
        let found = self.session.search(&format!("SINCE {}", before.since())).await?;
        let uid = found.first().map_or(last, |first| first.saturating_sub(1));
        Ok(Position { validity, uid, arrival: before.arrival })
    }

    /// The next messages; none if there are none.
    async fn batch(
        &mut self,
        mut position: Position,
        reading: &Reading<'_>,
    ) -> Result<Option<Polled>, Fault> {
        self.listed.retain(|one| one.uid > position.uid);
        if self.listed.is_empty() && (self.unlisted || self.session.has_news()) {
            self.list(position).await?;
        }
        if self.listed.is_empty() {
            return Ok(None);
        }
        let (mut polled, mut bytes) = (Polled::default(), 0);
        for (at, one) in self.listed.iter().take(BATCH).enumerate() {
            let arrived = arrival(&one.date).unwrap_or(reading.now);
            let fits = one.size <= MAIL && reading.skip != Some(one.uid);
            bytes += if fits { one.size } else { 0 };
            if at > 0 && bytes > MAIL {
                break;
            }
            if !position.is_long_past(arrived) {
                (reading.trying)(one.uid);
                let fetched = match fits {
                    true => self.session.mail(one, &self.mailbox, reading.own, arrived).await?,
                    false => Some(None),
                };
                match fetched {
                    // It was deleted in the meantime.
                    None => {}
                    Some(None) => polled.malformed += 1,
                    Some(Some(mut read)) => {
                        (reading.keep)(&mut read, one.uid);
                        let files = 0..read.inbound.attachments.len();
                        polled.take(read.inbound, files.map(|number| format!("{}/{number}", one.uid)));
                    }
                }
            }
            position = position.behind(one.uid, arrived, reading.now);
        }
        polled.cursor = Some(Text::clip(&position.to_string()));
        Ok(Some(polled))
    }

    async fn list(&mut self, position: Position) -> Result<(), Fault> {
        let from = position.uid.saturating_add(1);
        let mut listed = VecDeque::new();
        let mut more = false;
        self.session
            .list(from, |one| {
                more |= listed.len() >= LISTED;
                if !more && one.uid > position.uid {
                    listed.push_back(one);
                }
            })
            .await?;
        listed.make_contiguous().sort_unstable_by_key(|one| one.uid);
        (self.listed, self.unlisted) = (listed, more);
        Ok(())
    }
}

impl<L: Line> Session<L> {
    /// A mail: none if it is gone, and none within if it cannot be read or is larger than the server said it might be.
    async fn mail(
        &mut self,
        listed: &Fetched,
        mailbox: &Mailbox,
        own: &Own,
        arrived: i64,
    ) -> Result<Option<Option<Read>>, Fault> {
        let place = format!("{}.{}", mailbox.validity, listed.uid);
        let sent_ms = u64::try_from(arrived).unwrap_or_default().saturating_mul(1000);
        let (mut mail, mut offset) = (Vec::new(), 0);
        loop {
            let Some(piece) = self.piece(listed.uid, offset).await? else { return Ok(None) };
            mail.extend_from_slice(&piece);
            let whole = u32::try_from(piece.len()).is_ok_and(|length| length < PIECE);
            if u64::try_from(mail.len()).is_ok_and(|length| length > MAIL) {
                return Ok(Some(None));
            }
            if whole || offset == 0 {
                let read = read(&mail, own, &place, sent_ms);
                if whole || read.as_ref().is_none_or(|read| !read.known) {
                    let has_files = |read: &Read| whole && !read.inbound.attachments.is_empty();
                    let files = if read.as_ref().is_some_and(has_files) { mail } else { Vec::new() };
                    return Ok(Some(read.map(|read| Read { mail: files, ..read })));
                }
            }
            offset += PIECE;
        }
    }

    /// Everything that an answer needs of the mail with this id: a message id, or a place in this mailbox.
    pub(crate) async fn origin(&mut self, message: &str) -> Result<Option<Origin>, Fault> {
        let Some(mailbox) = self.select(b"INBOX", true).await? else { return Ok(None) };
        let uid = match message.split_once('.') {
            _ if message.starts_with('<') => crate::sent::with_id(self, message).await?.last().copied(),
            Some((validity, uid)) if validity.parse() == Ok(mailbox.validity) => uid.parse().ok(),
            _ => None,
        };
        let Some(uid) = uid else { return Ok(None) };
        Ok(self.fields(uid, Origin::FIELDS).await?.map(|block| Origin::of(&block)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::scripted::{Scripted, Step, run};
    use Step::{Hears, Says};

    const BEGINS: [Step; 2] = [
        Says(b"* CAPABILITY IMAP4rev1 IDLE\r\nx1 OK\r\n"),
        Says(b"* 3 EXISTS\r\n* OK [UIDVALIDITY 5] x\r\n* OK [UIDNEXT 9] x\r\nx2 OK x\r\n"),
    ];
    /// 2026-01-02, noon.
    const NOW: i64 = 1_767_355_200;

    fn polled(cursor: Option<&str>, then: Vec<Step>) -> Result<Polled, Fault> {
        let script = Scripted::new(BEGINS.into_iter().chain(then).collect());
        let own = Own { address: "agent@own.test".to_owned(), authserv: Some("mx.own.test".to_owned()) };
        run(async {
            let mut inbox = Inbox::open(&script).await?;
            let reading = Reading { own: &own, now: NOW, skip: None, keep: &|_, _| {}, trying: &|_| {} };
            inbox.poll(cursor, false, &reading).await
        })
    }

    fn cursor(polled: Result<Polled, Fault>) -> String {
        polled.unwrap().cursor.unwrap().into_string()
    }

    #[test]
    fn what_was_there_before_the_account_is_old() {
        assert_eq!(cursor(polled(None, vec![])), format!("5:8:{NOW}"));
    }

    // Holds P11-95.
    #[test]
    fn another_uidvalidity_begins_at_the_day_before_the_last_mail() {
        let then = vec![Hears("x3 UID SEARCH SINCE 31-Dec-2025\r\n"), Says(b"* SEARCH 4 3\r\nx3 OK\r\n")];
        let last = NOW - 86_400;
        assert_eq!(cursor(polled(Some(&format!("4:70:{last}")), then)), format!("5:2:{last}"));
        let none = vec![Says(b"* SEARCH\r\nx3 OK\r\n")];
        assert_eq!(cursor(polled(Some(&format!("4:70:{last}")), none)), format!("5:8:{last}"));
    }

    #[test]
    fn mail_that_is_too_large_gone_or_moved_here_is_passed_over() {
        let then = vec![
            Says(b"* 1 FETCH (UID 6 RFC822.SIZE 99999999 INTERNALDATE \"02-Jan-2026 11:00:00 +0000\")\r\n"),
            Says(b"* 2 FETCH (UID 7 RFC822.SIZE 9 INTERNALDATE \"02-Jan-2026 11:00:00 +0000\")\r\n"),
            Says(b"* 3 FETCH (UID 8 RFC822.SIZE 9 INTERNALDATE \"02-Jan-2020 11:00:00 +0000\")\r\nx3 OK\r\n"),
            Hears("x4 UID FETCH 7 (UID BODY.PEEK[]<0.262144>)\r\n"),
            Says(b"x4 OK\r\n"),
        ];
        let got = polled(Some(&format!("5:5:{NOW}")), then).unwrap();
        assert_eq!((got.messages.len(), got.malformed), (0, 1));
        assert_eq!(got.cursor.unwrap().as_str(), format!("5:8:{NOW}"));
    }

    #[test]
    fn mail_that_comes_while_other_mail_is_fetched_is_listed_next() {
        let script = Scripted::new(
            BEGINS
                .into_iter()
                .chain([
                    Says(b"* 1 FETCH (UID 6 RFC822.SIZE 9 INTERNALDATE \"02-Jan-2026 11:00:00 +0000\")\r\nx3 OK\r\n"),
                    Says(b"* 4 EXISTS\r\nx4 OK\r\n"),
                    Hears("x5 UID FETCH 7:* (UID RFC822.SIZE INTERNALDATE)\r\n"),
                    Says(b"* 2 FETCH (UID 7 RFC822.SIZE 9 INTERNALDATE \"02-Jan-2026 11:00:00 +0000\")\r\nx5 OK\r\n"),
                    Says(b"x6 OK\r\n"),
                ])
                .collect(),
        );
        let own = Own { address: "agent@own.test".to_owned(), authserv: None };
        run(async {
            let mut inbox = Inbox::open(&script).await.unwrap();
            let reading = Reading { own: &own, now: NOW, skip: None, keep: &|_, _| {}, trying: &|_| {} };
            for (before, behind) in [(5, 6), (6, 7)] {
                let polled = inbox.poll(Some(&format!("5:{before}:{NOW}")), true, &reading).await;
                assert_eq!(cursor(polled), format!("5:{behind}:{NOW}"));
            }
        });
    }

    #[test]
    fn a_server_that_gives_more_than_was_asked_for_is_not_believed() {
        let then = vec![
            Says(b"* 1 FETCH (UID 6 RFC822.SIZE 9 INTERNALDATE \"02-Jan-2026 11:00:00 +0000\")\r\nx3 OK\r\n"),
            Says(b"* 1 FETCH (UID 6 BODY[]<0> {9999999}\r\n"),
        ];
        assert_eq!(polled(Some(&format!("5:5:{NOW}")), then).unwrap_err(), Fault::Malformed);
    }
}
