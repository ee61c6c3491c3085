//! Submission: one mail after a login.

use super::tls::Stream;
use super::{Losing, PASSWORD, Shared, locked};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(super) fn serve(shared: &Shared, mut stream: Stream) {
    let _ = dialogue(shared, &mut stream);
}

fn dialogue(shared: &Shared, stream: &mut Stream) -> Option<()> {
    stream.say("220 mx.own.test ESMTP\r\n")?;
    loop {
        let line = stream.line()?;
        let answer = match line.split([' ', ':']).next()? {
            "EHLO" => "250-mx.own.test\r\n250 AUTH PLAIN\r\n",
            "AUTH" => {
                stream.say("334 \r\n")?;
                let given = STANDARD.decode(stream.line()?).ok()?;
                if given.ends_with(PASSWORD.as_bytes()) { "235 in\r\n" } else { "535 no\r\n" }
            }
            "MAIL" | "RCPT" => "250 ok\r\n",
            "DATA" => {
                let losing = locked(shared).losing.pop_front();
                if losing == Some(Losing::Before) {
                    return None;
                }
                stream.say("354 go\r\n")?;
                let mail = stream.until("\r\n.\r\n", || None)?.replace("\r\n..", "\r\n.");
                if losing == Some(Losing::Refused) {
                    stream.say("554 spam\r\n")?;
                    continue;
                }
                let mut state = locked(shared);
                if state.copies_itself {
                    state.copies.push(mail.clone());
                }
                state.sent.push(mail);
                drop(state);
                if losing == Some(Losing::After) {
                    return None;
                }
                "250 queued\r\n"
            }
            "QUIT" => return stream.say("221 bye\r\n"),
            _ => "500 what\r\n",
        };
        stream.say(answer)?;
    }
}
