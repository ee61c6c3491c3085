//! Reading: an inbox, and a mailbox of copies.

use super::tls::Stream;
use super::{PASSWORD, Shared, locked};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::time::{SystemTime, UNIX_EPOCH};

/// A session.
struct Session<'a> {
    shared: &'a Shared,
    stream: Stream,
    /// True while the mailbox of copies is selected.
    copies: bool,
    /// The UIDVALIDITY that it began with.
    validity: u32,
    /// How many mails of the inbox the client was told of.
    told: usize,
}

pub(super) fn serve(shared: &Shared, stream: Stream) {
    let validity = locked(shared).validity;
    let mut session = Session { shared, stream, copies: false, validity, told: 0 };
    let _ = session.dialogue();
}

impl Session<'_> {
    fn dialogue(&mut self) -> Option<()> {
        self.stream.say("* OK ready\r\n")?;
        loop {
            let line = self.stream.line()?;
            let (tag, command) = line.split_once(' ')?;
            let answer = self.answer(tag, command)?;
            self.stream.say(&answer)?;
        }
    }

    fn answer(&mut self, tag: &str, command: &str) -> Option<String> {
        let word = command.split(' ').next()?;
        let said = match word {
            "CAPABILITY" => "* CAPABILITY IMAP4rev1 IDLE AUTH=PLAIN\r\n".to_owned(),
            "AUTHENTICATE" => {
                self.stream.say("+ \r\n")?;
                let given = STANDARD.decode(self.stream.line()?).ok()?;
                if !given.ends_with(PASSWORD.as_bytes()) {
                    return Some(format!("{tag} NO no\r\n"));
                }
                String::new()
            }
            "LIST" => "* LIST () \"/\" INBOX\r\n* LIST (\\Sent) \"/\" \"Sent Mail\"\r\n".to_owned(),
            "SELECT" | "EXAMINE" => {
                self.copies = command.ends_with("\"Sent Mail\"");
                let next = self.mails().last().map_or(1, |(uid, _)| uid + 1);
                let (validity, count) = (self.validity, self.mails().len());
                self.told = if self.copies { self.told } else { count };
                format!("* {count} EXISTS\r\n* OK [UIDVALIDITY {validity}] x\r\n* OK [UIDNEXT {next}] x\r\n")
            }
            "UID" => self.by_uid(command)?,
            "IDLE" => self.idle()?,
            "APPEND" => {
                let length = command.rsplit_once('{')?.1.strip_suffix('}')?.parse().ok()?;
                self.stream.say("+ go\r\n")?;
                let mail = self.stream.exactly(length)?;
                self.stream.line()?;
                locked(self.shared).copies.push(mail);
                String::new()
            }
            _ => return Some(format!("{tag} BAD what\r\n")),
        };
        Some(format!("{said}{tag} OK done\r\n"))
    }

    fn mails(&self) -> Vec<(u32, String)> {
        let state = locked(self.shared);
        if !self.copies {
            return state.inbox.clone();
        }
        (1..).zip(state.copies.iter().cloned()).collect()
    }

    fn by_uid(&self, command: &str) -> Option<String> {
        let mut words = command.splitn(4, ' ').skip(1);
        let (kind, which, rest) = (words.next()?, words.next()?, words.next().unwrap_or_default());
        if kind == "SEARCH" {
            let wanted = rest.split("Message-ID \"").nth(1).and_then(|rest| rest.split('"').next());
            let wanted = wanted.or_else(|| command.split("Message-ID \"").nth(1)?.split('"').next());
            let holds = |mail: &str| wanted.is_none_or(|wanted| header(mail).contains(wanted));
            let found: Vec<String> =
                self.mails().iter().filter(|(_, mail)| holds(mail)).map(|(uid, _)| uid.to_string()).collect();
            return Some(format!("* SEARCH {}\r\n", found.join(" ")));
        }
        let (from, all) = match which.strip_suffix(":*") {
            Some(from) => (from.parse::<u32>().ok()?, true),
            None => (which.parse().ok()?, false),
        };
        let mut said = String::new();
        for (number, (uid, mail)) in (1..).zip(self.mails()) {
            if uid != from && !(all && uid > from) {
                continue;
            }
            let facts = format!("UID {uid} RFC822.SIZE {} INTERNALDATE \"{}\"", mail.len(), today());
            let body = if rest.contains("HEADER.FIELDS") {
                format!(" BODY[HEADER.FIELDS (X)] {{{}}}\r\n{}", header(&mail).len(), header(&mail))
            } else if let Some((from, piece)) = piece(rest, &mail) {
                format!(" BODY[]<{from}> {{{}}}\r\n{piece}", piece.len())
            } else {
                String::new()
            };
            said.push_str(&format!("* {number} FETCH ({facts}{body})\r\n"));
        }
        Some(said)
    }

    /// Holds `IDLE` until its end, and says what came since the client was last told. A session of another UIDVALIDITY is over.
    fn idle(&mut self) -> Option<String> {
        self.stream.say("+ idling\r\n")?;
        locked(self.shared).watched = true;
        let (shared, validity, told) = (self.shared, self.validity, &mut self.told);
        let line = self.stream.until("\r\n", || {
            let state = locked(shared);
            if state.validity != validity {
                return Some("* BYE\r\n".to_owned());
            }
            let count = state.inbox.len();
            (std::mem::replace(told, count) != count).then(|| format!("* {count} EXISTS\r\n"))
        });
        (line? == "DONE").then(String::new)
    }
}

/// The part of a mail that a command asks for, and where it begins.
fn piece<'a>(command: &str, mail: &'a str) -> Option<(usize, &'a str)> {
    let (from, length) = command.split("BODY.PEEK[]<").nth(1)?.split('>').next()?.split_once('.')?;
    let (from, length): (usize, usize) = (from.parse().ok()?, length.parse().ok()?);
    Some((from, mail.get(from.min(mail.len())..(from + length).min(mail.len()))?))
}

fn header(mail: &str) -> &str {
    mail.split_inclusive("\r\n\r\n").next().unwrap_or_default()
}

/// The date as IMAP writes it: that of the last midnight is near enough.
fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let (mut year, mut day) = (1970, days);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    for (length, name) in lengths.into_iter().zip(names) {
        if day < length {
            return format!("{:2}-{name}-{year} 23:59:59 +0000", day + 1);
        }
        day -= length;
    }
    String::new()
}
