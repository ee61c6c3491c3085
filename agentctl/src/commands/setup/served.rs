//! The models of a server on this machine, asked over plain HTTP on the loopback. Servers elsewhere are reached by dialer alone,
//! and are not asked here.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The longest wait for the server.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer.
const ANSWER: u64 = 1024 * 1024;
/// Models that are listed.
const MODELS: usize = 50;
/// Bytes of a model's name.
const NAME: usize = 128;

/// The names of the models that the server at `at` has; empty if it is not on this machine or does not answer.
pub(super) fn models(at: &str, path: &str) -> Vec<String> {
    let Some(address) = loopback(at) else { return Vec::new() };
    asked(address, at, path).map(|body| names(&body)).unwrap_or_default()
}

/// The address of a server of this machine.
fn loopback(at: &str) -> Option<SocketAddr> {
    let (host, port) = at.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip = if host == "localhost" { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { host.parse().ok()? };
    ip.is_loopback().then_some(SocketAddr::new(ip, port.parse().ok()?))
}

fn asked(address: SocketAddr, at: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut server = TcpStream::connect_timeout(&address, PATIENCE)?;
    server.set_read_timeout(Some(PATIENCE))?;
    server.set_write_timeout(Some(PATIENCE))?;
    // A server answers this version in one piece and closes the connection.
    write!(server, "GET {path}/models HTTP/1.0\r\nhost: {at}\r\naccept: application/json\r\n\r\n")?;
    let mut answer = Vec::new();
    server.take(ANSWER).read_to_end(&mut answer)?;
    Ok(answer)
}

/// The names in an answer, in order; none if it is no list of models.
fn names(answer: &[u8]) -> Vec<String> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Vec::new() };
    let (head, body) = answer.split_at(end);
    let is_ok = head.split(|byte| *byte == b' ').nth(1).is_some_and(|status| status == b"200");
    let listed: Option<Value> = is_ok.then(|| serde_json::from_slice(body.trim_ascii()).ok()).flatten();
    let models = listed.as_ref().and_then(|listed| listed.get("data")?.as_array());
    let names = models.into_iter().flatten().filter_map(|model| model.get("id")?.as_str());
    let mut names: Vec<String> =
        names.filter(|name| (1..=NAME).contains(&name.len())).map(str::to_owned).take(MODELS).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_models_of_a_server_on_this_machine_are_listed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            let read = client.read(&mut asked).unwrap();
            let body = r#"{"object":"list","data":[{"id":"qwen3"},{"id":"llama3.3"},{"id":7},{"id":""}]}"#;
            write!(client, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{body}").unwrap();
            String::from_utf8_lossy(&asked[..read]).into_owned()
        });
        assert_eq!(models(&at, "/v1"), ["llama3.3", "qwen3"]);
        assert!(server.join().unwrap().starts_with("GET /v1/models HTTP/1.0\r\n"));
    }

    #[test]
    fn no_server_elsewhere_is_asked_and_no_other_answer_is_a_list() {
        assert_eq!(loopback("api.openai.com:443"), None);
        assert_eq!(loopback("10.0.0.1:80"), None);
        assert_eq!(loopback("[::1]:80").map(|at| at.port()), Some(80));
        for answer in
            ["", "HTTP/1.1 404 Not Found\r\n\r\n{\"data\":[{\"id\":\"m\"}]}", "HTTP/1.1 200 OK\r\n\r\n[1]"]
        {
            assert!(names(answer.as_bytes()).is_empty(), "{answer}");
        }
    }
}
