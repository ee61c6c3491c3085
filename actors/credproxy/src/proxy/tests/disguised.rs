//! Replies in which an upstream sends the secret back in disguise, or where nobody looks.

use super::*;

/// The text with `between` behind every `every` characters of it.
fn spaced(text: &str, every: usize, between: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(every).map(String::from_iter).collect::<Vec<_>>().join(between)
}

// Holds P4-29.
#[test]
fn a_secret_sent_back_in_disguise_is_cut_out_of_the_reply() {
    run(async {
        let base64 =
            base64::engine::general_purpose::STANDARD.encode(format!("the key is {VALUE}, is it not?"));
        let disguises = [
            spaced(&base64, 16, "\r\n"),
            spaced(&base64, 16, "\\n"),
            spaced(VALUE, 1, "\n"),
            spaced(VALUE, 1, " "),
            VALUE.to_uppercase(),
            VALUE.chars().rev().collect(),
            spaced(&VALUE.bytes().map(|byte| format!("{byte:02X}")).collect::<String>(), 2, " "),
        ];
        for disguise in disguises {
            let reply =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n<{disguise}>", disguise.len() + 2);
            let (lab, _server) = Lab::with(vec![Step::Drip(reply.into())]).await;
            let head = lab.request(with_key("http://plain.test/")).await.unwrap();
            let body = String::from_utf8(lab.body(&head).await.unwrap()).unwrap();
            assert!(
                body.starts_with('<') && body.ends_with('>') && body.contains("[REDACTED]"),
                "{disguise}: {body}"
            );
            // Base64 of a longer text keeps the characters of the rest.
            assert!(body.len() + VALUE.len() <= "<[REDACTED]>".len() + disguise.len(), "{disguise}: {body}");
            assert_eq!(lab.log().last().unwrap(), "SecretRedacted Success ");
        }
    });
}

// Holds P4-29.
#[test]
fn a_reply_full_of_white_space_is_not_held_back_for_ever() {
    run(async {
        let first = VALUE.chars().next().unwrap();
        let body = format!("{first}{}", " ".repeat(10_000));
        let steps = vec![Step::Send(format!("HTTP/1.1 200 OK\r\n\r\n{body}").into()), Step::UntilGone];
        let (lab, _server) = Lab::with(steps).await;
        let head = lab.request(with_key("http://plain.test/")).await.unwrap();
        let mut read = Vec::new();
        while read.len() < body.len() {
            read.extend_from_slice(&lab.next(&head, 65_536).await.unwrap().bytes);
        }
        assert_eq!(read, body.as_bytes());
    });
}

// Holds P4-29.
#[test]
fn a_secret_in_the_trailers_of_a_reply_reaches_nobody() {
    run(async {
        let reply = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Key\r\n\r\n\
             2\r\nok\r\n0\r\nX-Key: {VALUE}\r\n\r\n"
        );
        let (lab, _server) = Lab::with(vec![Step::Send(reply.into())]).await;
        let head = lab.request(with_key("http://plain.test/")).await.unwrap();
        assert_eq!(lab.body(&head).await.unwrap(), b"ok");
        assert!(head.headers.is_empty());
    });
}
