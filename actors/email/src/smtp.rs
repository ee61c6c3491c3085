//! One mail by SMTP (RFC 5321), over a line that is logged in. Until the dot at its end was sent the server has no mail; from then on
//! its answer alone says if it has.

use crate::line::{Line, LineFault};

/// Bytes of one line of the server, at most.
const LINE: usize = 4096;
/// Lines of one answer, and answers before the login's, at most.
const LINES: usize = 128;
/// Silences of 25 seconds after which a command has no answer, and after which the end of a mail has none.
const SILENCES: (u32, u32) = (3, 12);

/// The outcome of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// The server has it.
    Accepted,
    /// The server does not have it, by its answer of this code, and may take it later.
    Later(u16),
    /// The server refuses it for good, by its answer of this code.
    Refused(u16),
    /// The line was lost before the server could have it.
    Unsent,
    /// The line was lost after it was sent.
    Unknown,
}

impl Sending {
    /// The meaning of an answer that is not the wanted one.
    const fn answered(code: u16) -> Self {
        match code {
            500..600 => Self::Refused(code),
            _ => Self::Later(code),
        }
    }
}

struct Dialogue<L> {
    line: L,
    buffer: Vec<u8>,
}

/// Sends a mail, whose lines end in CRLF, from one address to one.
pub(crate) async fn send<L: Line>(line: L, (from, to): (&str, &str), mail: &[u8]) -> Sending {
    let mut dialogue = Dialogue { line, buffer: Vec::new() };
    if let Err(sending) = dialogue.prepare(from, to).await {
        return sending;
    }
    if dialogue.line.send(&stuffed(mail)).await.is_err() {
        return Sending::Unsent;
    }
    if dialogue.line.send(b".\r\n").await.is_err() {
        return Sending::Unknown;
    }
    let sending = match dialogue.answer(SILENCES.1).await {
        Ok(250) => Sending::Accepted,
        Ok(code @ 400..600) => Sending::answered(code),
        Ok(_) | Err(_) => Sending::Unknown,
    };
    // The mail is sent or not: how the server takes leave does not matter.
    let _ = dialogue.line.send(b"QUIT\r\n").await;
    sending
}

impl<L: Line> Dialogue<L> {
    /// Everything before the mail itself.
    async fn prepare(&mut self, from: &str, to: &str) -> Result<(), Sending> {
        // The line begins with what credproxy heard: abilities, and the answers to the login.
        let mut heard = 0;
        while self.answer(SILENCES.0).await.map_err(|_| Sending::Unsent)? != 235 {
            heard += 1;
            if heard > LINES {
                return Err(Sending::Unsent);
            }
        }
        self.command(&format!("MAIL FROM:<{from}>\r\n"), &[250]).await?;
        self.command(&format!("RCPT TO:<{to}>\r\n"), &[250, 251]).await?;
        self.command("DATA\r\n", &[354]).await
    }

    async fn command(&mut self, command: &str, wanted: &[u16]) -> Result<(), Sending> {
        self.line.send(command.as_bytes()).await.map_err(|_| Sending::Unsent)?;
        let code = self.answer(SILENCES.0).await.map_err(|_| Sending::Unsent)?;
        if wanted.contains(&code) { Ok(()) } else { Err(Sending::answered(code)) }
    }

    /// The code of the next answer.
    async fn answer(&mut self, silences: u32) -> Result<u16, LineFault> {
        for _ in 0..LINES {
            let line = self.line(silences).await?;
            let digits = line.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let code = digits.and_then(|digits| digits.parse().ok()).ok_or(LineFault::Lost)?;
            match line.get(3) {
                Some(b'-') => {}
                Some(b' ') | None => return Ok(code),
                Some(_) => return Err(LineFault::Lost),
            }
        }
        Err(LineFault::Lost)
    }

    async fn line(&mut self, silences: u32) -> Result<Vec<u8>, LineFault> {
        let mut silent = 0;
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let rest = self.buffer.split_off(end + 2);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.truncate(end);
                return Ok(line);
            }
            if self.buffer.len() > LINE {
                return Err(LineFault::Lost);
            }
            match self.line.next().await? {
                Some(bytes) => self.buffer.extend(bytes),
                None if silent + 1 >= silences => return Err(LineFault::Lost),
                None => silent += 1,
            }
        }
    }
}

/// A mail with a dot before each dot that begins a line, so that none of its lines ends it.
fn stuffed(mail: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(mail.len() + 64);
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        if line.first() == Some(&b'.') {
            out.push(b'.');
        }
        out.extend_from_slice(line);
    }
    if !out.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::scripted::{Scripted, Step, run};
    use Step::{Closes, Hears, Quiet, Says};

    const LOGGED_IN: Step = Says(b"250-own.test\r\n250 AUTH PLAIN\r\n334 \r\n235 in\r\n");
    const TAKEN: Step = Says(b"250 ok\r\n");

    fn sent(steps: Vec<Step>) -> (Sending, String) {
        let script = Scripted::new(steps);
        let sending = run(send(&script, ("agent@own.test", "ann@a.test"), b"a: b\r\n\r\n.\r\n..x\r\n"));
        (sending, script.heard())
    }

    fn until_dot(then: Vec<Step>) -> Vec<Step> {
        let mut steps = vec![LOGGED_IN, TAKEN, TAKEN, Says(b"354 go\r\n")];
        steps.extend(then);
        steps
    }

    // Holds P11-93.
    #[test]
    fn a_mail_is_sent_with_its_dots_doubled() {
        let (sending, heard) =
            sent(until_dot(vec![Hears("..\r\n...x\r\n.\r\n"), Says(b"250 2.0.0 queued\r\n")]));
        assert_eq!(sending, Sending::Accepted);
        assert!(
            heard.starts_with("MAIL FROM:<agent@own.test>\r\nRCPT TO:<ann@a.test>\r\nDATA\r\n"),
            "{heard}"
        );
        assert!(heard.ends_with("\r\n.\r\nQUIT\r\n"));
    }

    // Holds P11-93.
    #[test]
    fn a_line_that_is_lost_behind_the_dot_leaves_the_outcome_unknown() {
        for lost in [
            vec![Hears(".\r\n"), Closes],
            vec![Says(b"25")],
            vec![Says(b"so what\r\n")],
            (0..12).map(|_| Quiet).collect(),
        ] {
            assert_eq!(sent(until_dot(lost)).0, Sending::Unknown);
        }
    }

    // Holds P11-93.
    #[test]
    fn before_the_dot_nothing_is_sent_and_an_answer_is_definite() {
        let cases = [
            (vec![Closes], Sending::Unsent),
            (vec![LOGGED_IN, Closes], Sending::Unsent),
            (vec![LOGGED_IN, TAKEN, TAKEN, Says(b"354 go\r\n"), Closes], Sending::Unsent),
            (vec![LOGGED_IN, Says(b"421 busy\r\n")], Sending::Later(421)),
            (vec![LOGGED_IN, TAKEN, Says(b"450 grey\r\n")], Sending::Later(450)),
            (vec![LOGGED_IN, TAKEN, Says(b"550-no\r\n550 such user\r\n")], Sending::Refused(550)),
            (until_dot(vec![Hears(".\r\n"), Says(b"452 full\r\n")]), Sending::Later(452)),
            (until_dot(vec![Hears(".\r\n"), Says(b"554 spam\r\n")]), Sending::Refused(554)),
        ];
        for (steps, expected) in cases {
            assert_eq!(sent(steps).0, expected);
        }
    }
}
