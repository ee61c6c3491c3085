//! Fetches from end to end over real connections to a server of the test's own: what is followed, what is refused, and
//! that a hostile server costs no more than its bounds.

use super::*;
use crate::testing::{Answer, Lab, Server, html, redirect, reply, run};
use base64::Engine as _;
use ipc_proto::Blob;
use ipc_proto::config::WebSearch;
use ipc_proto::credproxy::Header;
use ipc_proto::web::{Method, Mode};

const HOSTS: &[&str] = &["a.example.org:80", "b.example.org:80", "a.example.org:8080", "localhost:8888"];

fn lab(handler: impl Fn(&str) -> Answer + Send + Sync + 'static) -> (Lab, Server) {
    let server = Server::start(None, handler);
    (Lab::new(&server, HOSTS, &WebSearch::default(), ""), server)
}

fn get(url: &str) -> Fetch {
    Fetch {
        url: Text::new(url).unwrap(),
        method: Method::Get,
        headers: List::default(),
        body: None,
        max_bytes: 65536,
        timeout_ms: 10_000,
        rule: Rule { mode: Mode::Unrestricted, ..Rule::default() },
        same_origin: false,
    }
}

fn fetch(lab: &Lab, url: &str) -> Result<Page, WebError> {
    run(lab.web.fetch(get(url)))
}

fn header(name: &str, value: &str) -> Header {
    Header { name: Text::new(name).unwrap(), value: Text::new(value).unwrap() }
}

#[test]
fn a_page_comes_as_readable_text_with_where_it_came_from() {
    let (lab, server) = lab(|_| html("<title>T</title><p>Words <a href=/x>here</a><script>no</script>"));
    let page = fetch(&lab, "HTTP://A.example.org/page?q#part").unwrap();
    assert_eq!(page.text.as_str(), "T\n\nWords [here](http://a.example.org/x)");
    assert_eq!((page.status, page.url.as_str()), (200, "http://a.example.org/page?q"));
    assert_eq!((page.media_type.as_str(), page.cut, page.redirects), ("text/html", false, 0));
    assert_eq!(server.asked(), ["GET /page?q HTTP/1.1"]);
    assert!(server.seen.lock().unwrap()[0].contains("host: a.example.org\r\n"));
}

#[test]
fn other_text_comes_as_it_is_and_bytes_by_name_and_length() {
    let (lab, _server) = lab(|path| match path {
        "/json" => reply("200 OK", "Content-Type: application/json\r\n", "{\"a\": \"<b>\"}"),
        "/png" => reply("200 OK", "Content-Type: image/png\r\n", "\u{1}\u{2}PNG"),
        "/empty" => reply("204 No Content", "", ""),
        _ => reply("404 Not Found", "Content-Type: text/plain\r\n", "nothing here"),
    });
    let of = |path: &str| fetch(&lab, &format!("http://a.example.org{path}")).unwrap();
    assert_eq!(of("/json").text.as_str(), "{\"a\": \"<b>\"}");
    assert_eq!(of("/png").text.as_str(), "[image/png, 5 bytes, not text]");
    assert_eq!((of("/empty").status, of("/empty").text.as_str()), (204, ""));
    assert_eq!((of("/else").status, of("/else").text.as_str()), (404, "nothing here"));
}

// Holds P4-09.
#[test]
fn redirects_are_followed_each_over_a_connection_of_its_own() {
    let (lab, server) = lab(|path| match path {
        "/1" => redirect(301, "next"),
        "/next" => redirect(302, "http://b.example.org/3?x=1"),
        "/3?x=1" => redirect(308, "//a.example.org:8080/end"),
        _ => html("end"),
    });
    let page = fetch(&lab, "http://a.example.org/1").unwrap();
    assert_eq!((page.url.as_str(), page.redirects), ("http://a.example.org:8080/end", 3));
    let dialled = ["a.example.org:80", "a.example.org:80", "b.example.org:80", "a.example.org:8080"];
    assert_eq!(lab.dialled(), dialled);
    assert_eq!(server.asked().len(), 4);
}

// Holds B-100.
#[test]
fn five_redirects_are_followed_and_six_are_not() {
    let (lab, server) = lab(|path| match path.trim_start_matches('/').parse::<u32>() {
        Ok(left) if left > 0 => redirect(302, &format!("/{}", left - 1)),
        _ => html("end"),
    });
    assert_eq!(fetch(&lab, "http://a.example.org/5").unwrap().redirects, 5);
    assert_eq!(fetch(&lab, "http://a.example.org/6"), Err(WebError::Redirects));
    assert_eq!(server.asked().len(), 6 + 6);
}

// Holds P4-09.
#[test]
fn a_redirect_to_a_refused_place_is_refused_before_anything_is_dialled() {
    let refused = [
        ("http://127.0.0.1/", Unfit::NotPublic),
        ("http://169.254.169.254/latest/meta-data/", Unfit::NotPublic),
        ("//169.254.169.254/latest", Unfit::NotPublic),
        ("http://[::1]/", Unfit::NotPublic),
        ("http://[::ffff:127.0.0.1]/", Unfit::NotPublic),
        ("http://2130706433/", Unfit::Host),
        ("http://0x7f.1/", Unfit::Host),
        ("http://localhost/", Unfit::LocalName),
        ("http://metadata.google.internal/", Unfit::LocalName),
        ("file:///etc/passwd", Unfit::Scheme),
        ("gopher://127.0.0.1:6379/_INFO", Unfit::Scheme),
        ("javascript:alert(1)", Unfit::Scheme),
        ("\\\\127.0.0.1\\x", Unfit::Character),
        ("http://a.example.org@evil.test/", Unfit::UserPart),
        ("http:evil.test", Unfit::NoHost),
        ("http://blocked.test/", Unfit::Blocked),
        ("http://a.example.org:25/", Unfit::BlockedPort),
    ];
    for status in [301, 302, 303, 307, 308] {
        for (location, unfit) in refused {
            let (lab, _server) = lab(move |_| redirect(status, location));
            let mut ask = get("http://a.example.org/");
            ask.rule.block = List::new(vec![Text::new("blocked.test").unwrap()]).unwrap();
            ask.rule.blocked_ports = List::new(vec![25]).unwrap();
            assert_eq!(run(lab.web.fetch(ask)), Err(super::refused(unfit)), "{status} {location}");
            assert_eq!(lab.dialled(), ["a.example.org:80"], "{location}");
        }
    }
}

#[test]
fn a_redirect_off_the_allow_list_is_refused_like_a_first_address() {
    let (lab, server) = lab(|_| redirect(302, "http://b.example.org/"));
    let mut ask = get("http://a.example.org/");
    ask.rule.mode = Mode::Allowlist;
    ask.rule.allow = List::new(vec![Text::new("a.example.org").unwrap()]).unwrap();
    assert_eq!(run(lab.web.fetch(ask)), Err(refused(Unfit::NotListed)));
    assert_eq!(server.asked().len(), 1);
}

/// Dialer resolves a name once for each connection, so an answer that changes between two is judged anew: the second
/// connection to the same name is refused where the name has turned inwards meanwhile.
// Holds P4-09.
#[test]
fn a_name_that_turns_inwards_between_two_steps_is_not_connected_to() {
    let (lab, server) = lab(|_| redirect(302, "http://b.example.org/secret"));
    lab.fake.hosts.borrow_mut().remove(&"b.example.org:80".parse().unwrap());
    assert_eq!(fetch(&lab, "http://a.example.org/"), Err(WebError::Dial(DialError::NotPublic)));
    assert_eq!(server.asked(), ["GET / HTTP/1.1"]);
}

// Holds P4-10.
#[test]
fn headers_and_body_of_the_caller_do_not_cross_to_another_origin() {
    let (lab, server) = lab(|path| match path {
        "/same" => redirect(303, "/after"),
        "/other" => redirect(303, "http://b.example.org/after"),
        _ => html("ok"),
    });
    for path in ["/same", "/other"] {
        let mut ask = get(&format!("http://a.example.org{path}"));
        ask.method = Method::Post;
        ask.headers =
            List::new(vec![header("Accept-Language", "xx"), header("Content-Type", "text/csv")]).unwrap();
        ask.body = Some(Blob::new(*b"carried").unwrap());
        assert_eq!(run(lab.web.fetch(ask)).unwrap().redirects, 1);
    }
    let seen = server.seen.lock().unwrap();
    let marks = |head: &String| ["accept-language: xx", "text/csv", "POST"].map(|mark| head.contains(mark));
    let marked: Vec<_> = seen.iter().map(marks).collect();
    assert_eq!(marked, [[true, true, true], [true, false, false], [true, true, true], [false, false, false]]);
}

#[test]
fn a_redirect_that_would_repeat_a_change_is_the_answer() {
    let (lab, server) = lab(|_| redirect(307, "http://b.example.org/"));
    let ask = Fetch { method: Method::Delete, ..get("http://a.example.org/x") };
    assert_eq!(run(lab.web.fetch(ask)).unwrap().status, 307);
    assert_eq!(server.asked(), ["DELETE /x HTTP/1.1"]);
}

#[test]
fn a_head_has_no_body_whatever_length_it_announces() {
    let (lab, _server) = lab(|_| Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n".to_vec()));
    let page = run(lab.web.fetch(Fetch { method: Method::Head, ..get("http://a.example.org/") })).unwrap();
    assert_eq!((page.text.as_str(), page.cut), ("", false));
}

// Holds P4-08.
#[test]
fn a_private_host_needs_the_own_configuration_not_the_callers_word() {
    let (lab, server) = lab(|_| html("inside"));
    assert_eq!(fetch(&lab, "http://localhost:8888/").unwrap().text.as_str(), "inside");
    let mut ask = get("http://127.0.0.1:9/");
    ask.rule.private = List::new(vec![Text::new("127.0.0.1:9").unwrap()]).unwrap();
    assert_eq!(run(lab.web.fetch(ask)), Err(refused(Unfit::NotPublic)));
    assert_eq!(server.asked().len(), 1);
}

// Holds B-99.
#[test]
fn a_body_without_an_end_is_cut_at_the_bound() {
    let endless = || Answer::Endless("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", vec![b'x'; 4096]);
    let (lab, _server) = lab(move |_| endless());
    let page = run(lab.web.fetch(Fetch { max_bytes: 10_000, ..get("http://a.example.org/") })).unwrap();
    assert_eq!((page.text.len(), page.cut), (10_000, true));
}

#[test]
fn a_server_that_breaks_the_protocol_is_an_error_and_not_a_page() {
    let broken: [(&str, &[u8]); 8] = [
        ("short", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort"),
        ("two lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
        ("absurd length", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nxx"),
        ("negative length", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nxx"),
        ("bad chunk", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n0\r\n\r\n"),
        ("upgrade", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        ("no HTTP", b"SSH-2.0-OpenSSH_9\r\n"),
        ("nothing", b""),
    ];
    for (what, bytes) in broken {
        let (lab, _server) = lab(move |_| Answer::Bytes(bytes.to_vec()));
        assert_eq!(fetch(&lab, "http://a.example.org/"), Err(WebError::Upstream), "{what}");
    }
}

#[test]
fn a_compressed_page_is_refused_and_called_so() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx";
    let (lab, _server) = lab(move |_| Answer::Bytes(page.to_vec()));
    assert_eq!(fetch(&lab, "http://a.example.org/"), Err(WebError::Compressed));
}

// Holds B-101.
#[test]
fn a_flood_of_headers_is_refused() {
    let (long, many) = (format!("x: {}\r\n", "y".repeat(8000)).into_bytes(), b"x: y\r\n".to_vec());
    for again in [long, many] {
        let (lab, _server) = lab(move |_| Answer::Endless("HTTP/1.1 200 OK\r\n", again.clone()));
        assert_eq!(fetch(&lab, "http://a.example.org/"), Err(WebError::Upstream));
    }
    let early = b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec();
    let (lab, _server) = lab(move |_| Answer::Endless("", early.clone()));
    let fault = run(lab.web.fetch(Fetch { timeout_ms: 500, ..get("http://a.example.org/") })).unwrap_err();
    assert!(matches!(fault, WebError::TimedOut | WebError::Upstream), "{fault}");
}

// Holds B-99.
#[test]
fn the_time_is_for_all_of_it_however_slowly_it_comes() {
    let drip = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nand so it goes on and on and on and on and on and on";
    let (lab, _server) = lab(move |path| if path == "/drip" { Answer::Drip(drip) } else { Answer::Nothing });
    for path in ["/drip", "/nothing"] {
        let ask = Fetch { timeout_ms: 300, ..get(&format!("http://a.example.org{path}")) };
        assert_eq!(run(lab.web.fetch(ask)), Err(WebError::TimedOut), "{path}");
    }
}

// Holds B-98.
#[test]
fn fields_out_of_their_bounds_are_named() {
    let (lab, server) = lab(|_| html("x"));
    let base = || get("http://a.example.org/");
    let cases = [
        (Fetch { timeout_ms: 0, ..base() }, "timeout_ms"),
        (Fetch { timeout_ms: FETCH_MAX_MS + 1, ..base() }, "timeout_ms"),
        (Fetch { max_bytes: 0, ..base() }, "max_bytes"),
        (Fetch { max_bytes: 1024 * 1024 + 1, ..base() }, "max_bytes"),
        (Fetch { body: Some(Blob::new(*b"x").unwrap()), ..base() }, "body"),
        (Fetch { headers: List::new(vec![header("Cookie", "a=b")]).unwrap(), ..base() }, "headers"),
    ];
    for (ask, field) in cases {
        assert_eq!(run(lab.web.fetch(ask)), Err(out_of_bounds(field)), "{field}");
    }
    assert!(server.asked().is_empty());
}

// Holds B-102.
#[test]
fn fetches_beyond_the_slots_are_refused_and_a_slot_comes_back() {
    let (lab, _server) = lab(|path| if path == "/hold" { Answer::Nothing } else { html("x") });
    let hold = || lab.web.fetch(Fetch { timeout_ms: 300, ..get("http://a.example.org/hold") });
    let (one, two, three) = run(async { tokio::join!(hold(), hold(), hold()) });
    assert_eq!(
        [one, two, three].map(Result::unwrap_err),
        [WebError::TimedOut, WebError::TimedOut, WebError::Busy]
    );
    assert!(fetch(&lab, "http://a.example.org/").is_ok());
}

fn pem(der: &[u8]) -> String {
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
}

/// A server over TLS for these names, and the certificate that proves it, as PEM.
fn over_tls(names: &[&str], handler: impl Fn(&str) -> Answer + Send + Sync + 'static) -> (Server, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let issued = rcgen::generate_simple_self_signed(names).unwrap();
    let chain = vec![issued.cert.der().to_vec().into()];
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key.into()).unwrap();
    (Server::start(Some(Arc::new(config)), handler), pem(issued.cert.der()))
}

// Holds P4-07.
#[test]
fn over_tls_the_name_that_was_judged_is_the_name_that_is_proved() {
    let (server, root) = over_tls(&["a.example.org"], |_| html("over TLS"));
    let hosts = ["a.example.org:443", "b.example.org:443"];
    let lab = Lab::new(&server, &hosts, &WebSearch::default(), &root);
    assert_eq!(fetch(&lab, "https://a.example.org/").unwrap().text.as_str(), "over TLS");
    assert_eq!(fetch(&lab, "https://b.example.org/"), Err(WebError::Tls));
    let stranger = Lab::new(&server, &hosts, &WebSearch::default(), "");
    assert_eq!(fetch(&stranger, "https://a.example.org/"), Err(WebError::Tls));
}

// Holds P4-09.
#[test]
fn a_redirect_from_https_to_http_is_refused_before_anything_is_dialled() {
    let (server, root) = over_tls(&["a.example.org", "b.example.org"], |path| match path {
        "/same" => redirect(302, "http://a.example.org/end"),
        "/other" => redirect(308, "http://b.example.org:8080/end"),
        "/tls" => redirect(301, "https://b.example.org/end"),
        _ => html("the end"),
    });
    let hosts = ["a.example.org:443", "b.example.org:443", "a.example.org:80", "b.example.org:8080"];
    for (path, to) in [("same", "http://a.example.org"), ("other", "http://b.example.org:8080")] {
        let lab = Lab::new(&server, &hosts, &WebSearch::default(), &root);
        let fault = fetch(&lab, &format!("https://a.example.org/{path}")).unwrap_err();
        let from = Text::new("https://a.example.org").unwrap();
        assert_eq!(fault, WebError::Downgrade { from, to: Text::new(to).unwrap() });
        assert_eq!(lab.dialled(), ["a.example.org:443"], "{path}");
    }
    let lab = Lab::new(&server, &hosts, &WebSearch::default(), &root);
    assert_eq!(fetch(&lab, "https://a.example.org/tls").unwrap().text.as_str(), "the end");
}
