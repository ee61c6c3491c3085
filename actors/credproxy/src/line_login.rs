//! The beginning of IMAP and SMTP: greeting, TLS, capabilities and login, until bytes pass. Nothing is sent before TLS but the
//! request for it, and what the other end says before TLS is forgotten.

use crate::secret::Secret;
use ::upstream::Bytewise;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::credproxy::{CredError, LineProtocol, Mechanism};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zeroize::Zeroizing;

/// Bytes of one line, at most.
const LINE: usize = 8 * 1024;
/// Lines of one answer, at most.
const LINES: usize = 64;

/// A conversation in lines.
pub(crate) struct Dialogue {
    protocol: LineProtocol,
    stream: Box<dyn Bytewise>,
    /// Bytes that were read and not looked at yet.
    buffer: Vec<u8>,
    /// The lines that the caller is given once bytes pass.
    seen: Vec<u8>,
}

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It was done.
    Done,
    /// It was refused.
    Refused,
    /// More of it is wanted.
    More,
}

impl Dialogue {
    /// A conversation over this stream, which speaks TLS already or will.
    pub(crate) fn new(protocol: LineProtocol, stream: Box<dyn Bytewise>) -> Self {
        Self { protocol, stream, buffer: Vec::new(), seen: Vec::new() }
    }

    /// Reads the greeting.
    pub(crate) async fn greeting(&mut self) -> Result<(), CredError> {
        match self.protocol {
            LineProtocol::Imap => {
                let line = self.line().await?;
                // A server that holds a client for logged in has another account than the secret's.
                if begins(&line, "* OK") { Ok(()) } else { Err(CredError::Upstream) }
            }
            LineProtocol::Smtp => self.smtp(220).await,
        }
    }

    /// Asks for TLS, and gives the stream back to begin it. Bytes that came before TLS are an error: somebody in between
    /// could have put them there.
    pub(crate) async fn begin_tls(mut self, name: &str) -> Result<Box<dyn Bytewise>, CredError> {
        match self.protocol {
            LineProtocol::Imap => {
                self.say(b"a1 STARTTLS\r\n").await?;
                self.imap_done("a1").await?;
            }
            LineProtocol::Smtp => {
                self.say(format!("EHLO {name}\r\n").as_bytes()).await?;
                self.smtp(250).await?;
                self.say(b"STARTTLS\r\n").await?;
                self.smtp(220).await?;
            }
        }
        if self.buffer.is_empty() { Ok(self.stream) } else { Err(CredError::Upstream) }
    }

    /// Reads what the server can do.
    pub(crate) async fn capabilities(&mut self, name: &str) -> Result<(), CredError> {
        self.seen.clear();
        match self.protocol {
            LineProtocol::Imap => {
                self.say(b"a2 CAPABILITY\r\n").await?;
                self.imap_done("a2").await
            }
            LineProtocol::Smtp => {
                self.say(format!("EHLO {name}\r\n").as_bytes()).await?;
                self.smtp(250).await
            }
        }
    }

    /// Logs in, if the server offers the mechanism.
    pub(crate) async fn login(
        &mut self,
        mechanism: Mechanism,
        user: &str,
        secret: &Secret,
    ) -> Result<(), CredError> {
        if !self.offers(mechanism) {
            return Err(CredError::Login);
        }
        let value = response(mechanism, user, secret);
        let name = mechanism.name();
        let command = match self.protocol {
            LineProtocol::Imap => format!("a3 AUTHENTICATE {name}\r\n"),
            LineProtocol::Smtp => format!("AUTH {name}\r\n"),
        };
        self.say(command.as_bytes()).await?;
        if self.answer().await? != Answer::More {
            return Err(CredError::Login);
        }
        self.say(&Zeroizing::new([value.as_bytes(), b"\r\n"].concat())).await?;
        match self.answer().await? {
            Answer::Done => Ok(()),
            Answer::Refused => Err(CredError::Login),
            Answer::More => {
                // The server says why it refuses once it has an empty line.
                self.say(b"\r\n").await?;
                let _ = self.answer().await;
                Err(CredError::Login)
            }
        }
    }

    /// The stream, and the bytes that its reader begins with.
    pub(crate) fn into_parts(self) -> (Box<dyn Bytewise>, Vec<u8>) {
        let Self { stream, buffer, mut seen, .. } = self;
        seen.extend(buffer);
        (stream, seen)
    }

    fn offers(&self, mechanism: Mechanism) -> bool {
        let text = String::from_utf8_lossy(&self.seen).to_ascii_uppercase();
        match self.protocol {
            LineProtocol::Imap => {
                let wanted = format!("AUTH={}", mechanism.name());
                text.split_ascii_whitespace().any(|word| word == wanted)
            }
            LineProtocol::Smtp => text
                .lines()
                .filter_map(|line| line.get(4..)?.strip_prefix("AUTH"))
                .flat_map(|offered| offered.split([' ', '=']))
                .any(|word| word == mechanism.name()),
        }
    }

    async fn answer(&mut self) -> Result<Answer, CredError> {
        match self.protocol {
            LineProtocol::Imap => self.imap("a3").await,
            LineProtocol::Smtp => Ok(match self.code().await? {
                235 => Answer::Done,
                334 => Answer::More,
                _ => Answer::Refused,
            }),
        }
    }

    async fn imap_done(&mut self, tag: &str) -> Result<(), CredError> {
        if self.imap(tag).await? == Answer::Done { Ok(()) } else { Err(CredError::Upstream) }
    }

    /// The answer behind this tag. Lines before it are kept for the caller.
    async fn imap(&mut self, tag: &str) -> Result<Answer, CredError> {
        for _ in 0..LINES {
            let line = self.line().await?;
            if line.first() == Some(&b'+') {
                return Ok(Answer::More);
            }
            let rest = line.strip_prefix(tag.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
            match rest {
                Some(rest) => return Ok(if begins(rest, "OK") { Answer::Done } else { Answer::Refused }),
                None if line.starts_with(b"* ") && !begins(&line, "* BYE") => self.note(&line),
                None => return Err(CredError::Upstream),
            }
        }
        Err(CredError::Upstream)
    }

    async fn smtp(&mut self, wanted: u16) -> Result<(), CredError> {
        if self.code().await? == wanted { Ok(()) } else { Err(CredError::Upstream) }
    }

    /// The code of an answer of SMTP, whose lines are kept for the caller.
    async fn code(&mut self) -> Result<u16, CredError> {
        for _ in 0..LINES {
            let line = self.line().await?;
            let digits = line.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let code = digits.and_then(|digits| digits.parse().ok()).ok_or(CredError::Upstream)?;
            self.note(&line);
            match line.get(3) {
                Some(b'-') => {}
                Some(b' ') | None => return Ok(code),
                Some(_) => return Err(CredError::Upstream),
            }
        }
        Err(CredError::Upstream)
    }

    fn note(&mut self, line: &[u8]) {
        self.seen.extend_from_slice(line);
        self.seen.extend_from_slice(b"\r\n");
    }

    /// The next line, without its end.
    async fn line(&mut self) -> Result<Vec<u8>, CredError> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let rest = self.buffer.split_off(end + 2);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.truncate(end);
                return Ok(line);
            }
            if self.buffer.len() > LINE {
                return Err(CredError::Upstream);
            }
            self.buffer.reserve(LINE / 4);
            let read = self.stream.read_buf(&mut self.buffer).await;
            if read.map_or(true, |length| length == 0) {
                return Err(CredError::Upstream);
            }
        }
    }

    async fn say(&mut self, bytes: &[u8]) -> Result<(), CredError> {
        self.stream.write_all(bytes).await.map_err(|_| CredError::Upstream)?;
        self.stream.flush().await.map_err(|_| CredError::Upstream)
    }
}

/// The one response of a mechanism, in base64.
fn response(mechanism: Mechanism, user: &str, secret: &Secret) -> Zeroizing<String> {
    let user = user.as_bytes();
    let parts: [&[u8]; 5] = match mechanism {
        Mechanism::Plain => [b"\0", user, b"\0", secret.reveal(), b""],
        Mechanism::XOauth2 => [b"user=", user, b"\x01auth=Bearer ", secret.reveal(), b"\x01\x01"],
    };
    let bytes = Zeroizing::new(parts.concat());
    Zeroizing::new(STANDARD.encode(bytes.as_slice()))
}

fn begins(line: &[u8], word: &str) -> bool {
    let (head, rest) = line.split_at_checked(word.len()).unwrap_or((line, b""));
    head.eq_ignore_ascii_case(word.as_bytes()) && matches!(rest.first(), None | Some(b' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;
    use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, duplex};
    use tokio::time::timeout;

    const USER: &str = "ann@a.test";
    /// The clock of these tests is paused, and goes on while everybody waits.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Parts of what servers say, in any order.
    const SAYS: &str =
        concat!("(\\* OK|\\+|a[23] OK|220[ -]|250[ -]|334 |AUTH=PLAIN|AUTH PLAIN|\r\n|\\PC)", "{0,12}");

    fn secret() -> Secret {
        Secret::new(Zeroizing::new(b"0123456789".to_vec())).unwrap()
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap().block_on(test)
    }

    /// A server that says these texts, each after a line of the client but the first, and gives the client's lines.
    async fn serve(stream: DuplexStream, says: &[&str]) -> Vec<String> {
        let (reader, mut writer) = tokio::io::split(stream);
        let (mut lines, mut heard) = (BufReader::new(reader).lines(), Vec::new());
        for (number, said) in says.iter().enumerate() {
            if number > 0 {
                let Ok(Some(line)) = lines.next_line().await else { break };
                heard.push(line);
            }
            if writer.write_all(said.as_bytes()).await.is_err() {
                break;
            }
        }
        heard
    }

    /// A login, and the client's lines; the stream speaks TLS already.
    fn login(
        protocol: LineProtocol,
        mechanism: Mechanism,
        says: &[&str],
    ) -> (Result<String, CredError>, Vec<String>) {
        run(async {
            let (ours, theirs) = duplex(4096);
            let client = async {
                let mut dialogue = Dialogue::new(protocol, Box::new(ours));
                dialogue.greeting().await?;
                dialogue.capabilities("host.test").await?;
                dialogue.login(mechanism, USER, &secret()).await?;
                Ok::<_, CredError>(String::from_utf8(dialogue.into_parts().1).unwrap())
            };
            let client = async { timeout(PATIENCE, client).await.unwrap_or(Err(CredError::Stalled)) };
            tokio::join!(client, serve(theirs, says))
        })
    }

    fn decoded(line: &str) -> String {
        String::from_utf8(STANDARD.decode(line).unwrap()).unwrap()
    }

    // Holds P4-42.
    #[test]
    fn imap_is_logged_in_to_with_the_mechanism_that_it_offers() {
        let capable = "* CAPABILITY IMAP4rev1 AUTH=PLAIN auth=xoauth2 IDLE\r\na2 OK done\r\n";
        let says = ["* OK ready\r\n", capable, "+ \r\n", "a3 OK in\r\n* 1 EXISTS\r\n"];
        let (got, heard) = login(LineProtocol::Imap, Mechanism::Plain, &says);
        assert_eq!(got.unwrap(), "* CAPABILITY IMAP4rev1 AUTH=PLAIN auth=xoauth2 IDLE\r\n* 1 EXISTS\r\n");
        assert_eq!(heard[..2], ["a2 CAPABILITY", "a3 AUTHENTICATE PLAIN"]);
        assert_eq!(decoded(&heard[2]), "\0ann@a.test\x000123456789");
        let (got, heard) = login(LineProtocol::Imap, Mechanism::XOauth2, &says);
        assert!(got.is_ok());
        assert_eq!(decoded(&heard[2]), "user=ann@a.test\x01auth=Bearer 0123456789\x01\x01");
    }

    // Holds P4-42.
    #[test]
    fn smtp_is_logged_in_to_with_the_mechanism_that_it_offers() {
        let says = [
            "220 ready\r\n",
            "250-a.test\r\n250-SIZE 1000\r\n250 AUTH LOGIN PLAIN\r\n",
            "334 \r\n",
            "235 in\r\n",
        ];
        let (got, heard) = login(LineProtocol::Smtp, Mechanism::Plain, &says);
        assert!(got.unwrap().contains("250-SIZE 1000\r\n"));
        assert_eq!(heard[..2], ["EHLO host.test", "AUTH PLAIN"]);
        assert_eq!(decoded(&heard[2]), "\0ann@a.test\x000123456789");
    }

    // Holds P4-42.
    #[test]
    fn a_secret_is_not_sent_to_a_server_that_does_not_offer_its_mechanism() {
        let cases: [(LineProtocol, &[&str]); 3] = [
            (LineProtocol::Imap, &["* OK x\r\n", "* CAPABILITY IMAP4rev1 AUTH=LOGIN\r\na2 OK x\r\n", ""]),
            (LineProtocol::Smtp, &["220 x\r\n", "250-a\r\n250 AUTH LOGIN\r\n", ""]),
            (LineProtocol::Smtp, &["220 x\r\n", "250 a PLAIN\r\n", ""]),
        ];
        for (protocol, says) in cases {
            let (got, heard) = login(protocol, Mechanism::Plain, says);
            assert_eq!((got, heard.len()), (Err(CredError::Login), 1));
        }
    }

    #[test]
    fn a_refused_login_and_a_broken_greeting_are_told_apart() {
        let capable = "* CAPABILITY AUTH=XOAUTH2 AUTH=PLAIN\r\na2 OK x\r\n";
        let refused = ["* OK x\r\n", capable, "+ \r\n", "+ eyJz\r\n", "a3 NO no\r\n"];
        let (got, heard) = login(LineProtocol::Imap, Mechanism::XOauth2, &refused);
        assert_eq!((got, heard.last().map(String::as_str)), (Err(CredError::Login), Some("")));
        for greeting in ["* PREAUTH x\r\n", "* BYE x\r\n", "220 x\r\n", "* OKAY\r\n"] {
            let (got, _) = login(LineProtocol::Imap, Mechanism::Plain, &[greeting]);
            assert_eq!(got, Err(CredError::Upstream), "{greeting}");
        }
    }

    // Holds P4-42.
    #[test]
    fn what_came_before_tls_is_an_error() {
        let ask = |protocol: LineProtocol, says: &[&str]| {
            run(async {
                let (ours, theirs) = duplex(4096);
                let client = async {
                    let mut dialogue = Dialogue::new(protocol, Box::new(ours));
                    dialogue.greeting().await?;
                    dialogue.begin_tls("host.test").await.map(drop)
                };
                tokio::join!(client, serve(theirs, says)).0
            })
        };
        assert_eq!(ask(LineProtocol::Imap, &["* OK x\r\n", "a1 OK go\r\n"]), Ok(()));
        let early = ask(LineProtocol::Imap, &["* OK x\r\n", "a1 OK go\r\na2 OK injected\r\n"]);
        assert_eq!(early, Err(CredError::Upstream));
        let smtp = |go: &'static str| ask(LineProtocol::Smtp, &["220 x\r\n", "250 STARTTLS\r\n", go]);
        assert_eq!(smtp("220 go\r\n"), Ok(()));
        assert_eq!(smtp("220 go\r\n250 injected\r\n"), Err(CredError::Upstream));
        assert_eq!(smtp("454 no\r\n"), Err(CredError::Upstream));
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_the_login_ends(
            texts in proptest::collection::vec(SAYS, 0..6),
            smtp: bool,
        ) {
            let says: Vec<&str> = texts.iter().map(String::as_str).collect();
            let protocol = if smtp { LineProtocol::Smtp } else { LineProtocol::Imap };
            let (_, heard) = login(protocol, Mechanism::Plain, &says);
            // The secret goes out after the command that it answers, and not before.
            let holds = |line: &String| STANDARD.decode(line).is_ok_and(|bytes| bytes.ends_with(b"0123456789"));
            prop_assert!(heard.iter().position(holds).is_none_or(|at| at == 2));
        }
    }
}
