//! A session with an IMAP server: one command at a time, and `IDLE` between them.

use super::response::{Fetched, Reader, Response};
use crate::line::{Line, LineFault};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes of a message that are fetched at once.
pub(crate) const PIECE: u32 = 256 * 1024;
/// Silences of 25 seconds after which a command has no answer.
const SILENCES: u32 = 3;
/// The time after which `IDLE` is issued again.
const IDLE: Duration = Duration::from_secs(25 * 60);
/// The time between two questions for news to a server without `IDLE`.
const ASK: Duration = Duration::from_secs(60);

/// The reason for which a session is over, or a command was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// The line is over.
    #[error(transparent)]
    Line(#[from] LineFault),
    /// The server does not answer.
    #[error("the mail server does not answer")]
    Silent,
    /// It said something that is no response, or is over a bound.
    #[error("the mail server says what is no IMAP, or is too long")]
    Malformed,
    /// It refused the command.
    #[error("the mail server refuses to {0}")]
    Refused(&'static str),
}

/// A mailbox as it was when it was selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mailbox {
    /// Its UIDVALIDITY.
    pub(crate) validity: u32,
    /// Its UIDNEXT, if the server said it.
    pub(crate) next: Option<u32>,
    /// Messages in it.
    pub(crate) exists: u32,
}

/// A session.
pub(crate) struct Session<L> {
    line: L,
    reader: Reader,
    tags: u32,
    can_idle: bool,
    /// The tag of the `IDLE` under way, and since when it is.
    idle: Option<(String, Instant)>,
    asked: Instant,
    /// Messages in the mailbox by what the server said last.
    exists: u32,
    /// True if the server said so since the messages were listed.
    news: bool,
}

impl<L: Line> Session<L> {
    /// A session over a line that is logged in.
    pub(crate) async fn begin(line: L) -> Result<Self, Fault> {
        let (reader, asked) = (Reader::default(), Instant::now());
        let mut session =
            Self { line, reader, tags: 0, can_idle: false, idle: None, asked, exists: 0, news: false };
        let mut idles = false;
        session
            .done("say what it can do", "CAPABILITY", |response| {
                if let Response::Capable(abilities) = response {
                    idles |= abilities.iter().any(|one| one == "IDLE");
                }
            })
            .await?;
        session.can_idle = idles;
        Ok(session)
    }

    /// Selects a mailbox; to read alone, if `examine` is true. Returns none if the server refuses it.
    pub(crate) async fn select(&mut self, name: &[u8], examine: bool) -> Result<Option<Mailbox>, Fault> {
        let mut command = if examine { b"EXAMINE ".to_vec() } else { b"SELECT ".to_vec() };
        command.extend(quoted(name).ok_or(Fault::Malformed)?);
        let mut mailbox = Mailbox::default();
        let (ok, _) = self
            .command(&command, |response| {
                let Response::Status { code } = response else { return };
                match code.split_once(' ') {
                    Some(("UIDVALIDITY", number)) => mailbox.validity = number.parse().unwrap_or_default(),
                    Some(("UIDNEXT", number)) => mailbox.next = number.parse().ok(),
                    _ => {}
                }
            })
            .await?;
        mailbox.exists = self.exists;
        Ok(ok.then_some(mailbox))
    }

    /// Returns true if the server spoke of messages since they were listed.
    pub(crate) const fn has_news(&self) -> bool {
        self.news
    }

    /// Size and arrival of every message from this UID on, as `each` takes them.
    pub(crate) async fn list(&mut self, from: u32, mut each: impl FnMut(Fetched)) -> Result<(), Fault> {
        self.news = false;
        let command = format!("UID FETCH {from}:* (UID RFC822.SIZE INTERNALDATE)");
        self.done("list the messages", &command, |response| {
            // The server gives its last message even if that is before the range.
            if let Response::Fetched(fetched) = response
                && fetched.uid >= from
                && !fetched.date.is_empty()
            {
                each(fetched);
            }
        })
        .await
    }

    /// The UIDs that a search finds, ascending.
    pub(crate) async fn search(&mut self, criteria: &str) -> Result<Vec<u32>, Fault> {
        let mut all = Vec::new();
        self.done("search", &format!("UID SEARCH {criteria}"), |response| {
            if let Response::Found(found) = response {
                all = found;
            }
        })
        .await?;
        Ok(all)
    }

    /// Bytes of a message from this offset on, at most [`PIECE`]; none if it is gone.
    pub(crate) async fn piece(&mut self, uid: u32, offset: u32) -> Result<Option<Vec<u8>>, Fault> {
        let command = format!("UID FETCH {uid} (UID BODY.PEEK[]<{offset}.{PIECE}>)");
        let body = self.body(uid, &command).await?;
        // A server that gives more than it was asked for lies about the rest as well.
        let fits =
            body.as_ref().is_none_or(|body| body.len() <= usize::try_from(PIECE).unwrap_or(usize::MAX));
        if fits { Ok(body) } else { Err(Fault::Malformed) }
    }

    /// These fields of a message's header.
    pub(crate) async fn fields(&mut self, uid: u32, fields: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.body(uid, &format!("UID FETCH {uid} (UID BODY.PEEK[HEADER.FIELDS ({fields})])")).await
    }

    /// The arrival of a message and these fields of its header.
    pub(crate) async fn dated_fields(
        &mut self,
        uid: u32,
        fields: &str,
    ) -> Result<Option<(String, Vec<u8>)>, Fault> {
        let command = format!("UID FETCH {uid} (UID INTERNALDATE BODY.PEEK[HEADER.FIELDS ({fields})])");
        let fetched = self.fetch(uid, &command).await?;
        Ok(fetched.and_then(|fetched| Some((fetched.date, fetched.body?))))
    }

    async fn body(&mut self, uid: u32, command: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.fetch(uid, command).await?.and_then(|fetched| fetched.body))
    }

    async fn fetch(&mut self, uid: u32, command: &str) -> Result<Option<Fetched>, Fault> {
        let mut found = None;
        self.done("give a message", command, |response| {
            if let Response::Fetched(fetched) = response
                && fetched.uid == uid
                && fetched.body.is_some()
            {
                found = Some(fetched);
            }
        })
        .await?;
        Ok(found)
    }

    /// The mailbox with this attribute, `\sent` such as.
    pub(crate) async fn mailbox_with(&mut self, attribute: &str) -> Result<Option<Vec<u8>>, Fault> {
        let mut found = None;
        self.done("list the mailboxes", "LIST \"\" \"*\"", |response| {
            if let Response::Mailbox { attributes, name } = response
                && attributes.iter().any(|one| one == attribute)
            {
                found.get_or_insert(name);
            }
        })
        .await?;
        Ok(found)
    }

    /// Makes a mailbox. One that is there already is no failure.
    pub(crate) async fn create(&mut self, name: &[u8]) -> Result<(), Fault> {
        let mut command = b"CREATE ".to_vec();
        command.extend(quoted(name).ok_or(Fault::Malformed)?);
        self.command(&command, |_| {}).await.map(drop)
    }

    /// Puts a message into a mailbox, as read. Returns false if the server refuses it.
    pub(crate) async fn append(&mut self, mailbox: &[u8], message: &[u8]) -> Result<bool, Fault> {
        let mut command = b"APPEND ".to_vec();
        command.extend(quoted(mailbox).ok_or(Fault::Malformed)?);
        command.extend(format!(" (\\Seen) {{{}}}", message.len()).bytes());
        let tag = self.say(&command).await?;
        loop {
            match self.response().await? {
                Response::More => break,
                Response::Done { tag: of, .. } if of == tag => return Ok(false),
                _ => {}
            }
        }
        self.line.send(&[message, b"\r\n"].concat()).await?;
        self.finish(&tag, |_| {}).await.map(|(ok, _)| ok)
    }

    /// Waits for news until the server says something or 25 seconds are over. Returns true if there may be some.
    pub(crate) async fn wait(&mut self) -> Result<bool, Fault> {
        if self.news {
            return Ok(true);
        }
        if !self.can_idle {
            return self.ask().await;
        }
        match &self.idle {
            Some((_, since)) if since.elapsed() >= IDLE => self.leave_idle().await?,
            Some(_) => {}
            None => {
                let tag = self.say(b"IDLE").await?;
                self.idle = Some((tag, Instant::now()));
            }
        }
        if self.idle.is_some()
            && let Some(bytes) = self.line.next().await?
        {
            self.reader.push(&bytes);
            while let Some(response) = self.reader.next().map_err(|_| Fault::Malformed)? {
                self.note(&response)?;
                let Some((tag, _)) = &self.idle else { continue };
                if matches!(&response, Response::Done { tag: of, .. } if of == tag) {
                    // The server does not idle after all.
                    (self.idle, self.can_idle) = (None, false);
                }
            }
        }
        Ok(self.news)
    }

    async fn ask(&mut self) -> Result<bool, Fault> {
        tokio::time::sleep(ASK.saturating_sub(self.asked.elapsed()).min(Duration::from_secs(25))).await;
        if self.asked.elapsed() >= ASK {
            self.asked = Instant::now();
            self.done("answer", "NOOP", |_| {}).await?;
        }
        Ok(self.news)
    }

    async fn leave_idle(&mut self) -> Result<(), Fault> {
        let Some((tag, _)) = self.idle.take() else { return Ok(()) };
        self.line.send(b"DONE\r\n").await?;
        self.finish(&tag, |_| {}).await.map(drop)
    }

    /// Gives a command that must be done.
    async fn done(
        &mut self,
        what: &'static str,
        command: &str,
        each: impl FnMut(Response),
    ) -> Result<(), Fault> {
        match self.command(command.as_bytes(), each).await? {
            (true, _) => Ok(()),
            (false, _) => Err(Fault::Refused(what)),
        }
    }

    /// Gives a command. Returns true and the code of the answer if it was done.
    async fn command(&mut self, command: &[u8], each: impl FnMut(Response)) -> Result<(bool, String), Fault> {
        self.leave_idle().await?;
        let tag = self.say(command).await?;
        self.finish(&tag, each).await
    }

    async fn say(&mut self, command: &[u8]) -> Result<String, Fault> {
        self.tags = self.tags.wrapping_add(1);
        let tag = format!("x{}", self.tags);
        self.line.send(&[tag.as_bytes(), b" ", command, b"\r\n"].concat()).await?;
        Ok(tag)
    }

    /// Reads to the end of the command with this tag.
    async fn finish(&mut self, tag: &str, mut each: impl FnMut(Response)) -> Result<(bool, String), Fault> {
        loop {
            match self.response().await? {
                Response::Done { tag: of, ok, code } if of == tag => return Ok((ok, code)),
                response => each(response),
            }
        }
    }

    async fn response(&mut self) -> Result<Response, Fault> {
        let mut silences = 0;
        loop {
            if let Some(response) = self.reader.next().map_err(|_| Fault::Malformed)? {
                self.note(&response)?;
                return Ok(response);
            }
            match self.line.next().await? {
                Some(bytes) => {
                    silences = 0;
                    self.reader.push(&bytes);
                }
                None if silences + 1 >= SILENCES => return Err(Fault::Silent),
                None => silences += 1,
            }
        }
    }

    fn note(&mut self, response: &Response) -> Result<(), Fault> {
        match response {
            Response::Exists(count) => (self.exists, self.news) = (*count, true),
            Response::Bye => return Err(LineFault::Closed.into()),
            _ => {}
        }
        Ok(())
    }
}

/// A text in quotes; none if it cannot be quoted.
pub(crate) fn quoted(text: &[u8]) -> Option<Vec<u8>> {
    if !text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        return None;
    }
    let mut quoted = vec![b'"'];
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    Some(quoted)
}

#[cfg(test)]
#[path = "session/tests.rs"]
mod tests;
