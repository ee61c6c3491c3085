//! Logging in at a server elsewhere: a real flow of OAuth against an authorization server, and ones that are hostile.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tests::{Host, Setup};

/// An address of this machine that no program takes for its own jail's.
const ADDRESS: &str = "127.0.0.2";

/// The server and its authorization server, which end with the test.
struct World {
    child: Child,
    resource: u16,
    authority: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "the servers that somebody logs in at")]
    fn start(mode: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("functional");
        let mut command = Command::new("python3");
        command.arg(folder.join("oauth.py")).args([ADDRESS, mode]).arg(folder.join("server.py"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ports = lines.next().unwrap().unwrap();
        let (resource, authority) = ports.split_once(' ').unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { resource: resource.parse().unwrap(), authority: authority.parse().unwrap(), child, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn config(&self) -> String {
        let (one, other) = (format!("{ADDRESS}:{}", self.resource), format!("{ADDRESS}:{}", self.authority));
        format!(
            "[agent.default]\nmodel = \"offline/hijackable\"\nprofile = \"power-user\"\n\
             [web]\nprivate_hosts = [\"{one}\", \"{other}\"]\n[egress]\nprivate_hosts = [\"{one}\"]\n\
             [credproxy]\nplain_http = [\"{one}\", \"{other}\"]\n\
             [mcp.own]\nurl = \"http://{one}/mcp\"\nagents = [\"default\"]\n"
        )
    }
}

/// A browser: follows redirects to their end, and gives the last answer.
fn browse(url: &str) -> String {
    let mut url = url.to_owned();
    loop {
        let rest = url.strip_prefix("http://").unwrap();
        let (at, path) = rest.split_once('/').unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test stands in for a browser")]
        let mut stream = TcpStream::connect(at).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        match answer.lines().find_map(|line| line.strip_prefix("location: ")) {
            Some(location) => url = location.to_owned(),
            None => return answer,
        }
    }
}

/// Begins a login; the command, and the address to consent at.
fn begin(host: &Host) -> (Child, String) {
    let mut command = host.command(&["--json", "mcp", "login", "own", "--yes"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut hint = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut hint).unwrap();
    let url = hint.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(url.starts_with("http"), "{hint}\n{}", host.log());
    (child, url)
}

/// The host with the token endpoint in its configuration, as the first `mcp login` writes it.
fn configured(world: &World, state: &Path) -> Host {
    let mut host = Setup::default().config(&world.config()).state(state).start();
    let doctor = host.ctl(&["mcp", "doctor", "own"]);
    let said = String::from_utf8_lossy(&doctor.stderr).into_owned();
    assert!(said.contains("agentctl mcp login own"), "{said}\n{:?}", world.asked());
    let first = host.json(&["mcp", "login", "own", "--yes"]);
    assert_eq!(first["logged_in"], false, "{first}");
    let text = fs::read_to_string(host.dir().join("cordon.toml")).unwrap();
    assert!(text.contains(&format!("token_url = \"http://{ADDRESS}:{}/token\"", world.authority)), "{text}");
    host.stop();
    Setup::default().config(&text).state(state).start()
}

// Holds P4-45.
#[test]
fn a_login_at_a_server_gives_its_token_to_that_server_alone() {
    let (world, state) = (World::start("ok"), tempfile::tempdir().unwrap());
    let host = configured(&world, &state.path().join("state"));
    let doctor = host.ctl(&["mcp", "doctor", "own"]);
    let said = String::from_utf8_lossy(&doctor.stderr).into_owned();
    assert!(said.contains("agentctl mcp login own"), "without a token: {said}\n{}", host.log());
    let (child, url) = begin(&host);
    assert!(browse(&url).contains("The service agreed"), "{:?}", world.asked());
    let output = child.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["logged_in"], true, "{said}\n{}\n{:?}", host.log(), world.asked());
    let secrets = host.json(&["cred", "list"]);
    let own = format!("{ADDRESS}:{}", world.resource);
    assert_eq!(
        (&secrets["secrets"][0]["name"], &secrets["secrets"][0]["hosts"]),
        (&json!("mcp.own"), &json!([own]))
    );
    // A server that failed is tried again after a while.
    host.wait_for("the server answers", || host.ctl(&["mcp", "doctor", "own"]).status.success());
    let _ = host.json(&["mcp", "approve", "own", "echo", "--yes"]);
    let order = "echo: please !!CALL own__echo {\"text\":\"a word\"}!!";
    let ended = host.ask(&["chat", "--session", "s", "-m", order]);
    let reply = ended["reply"].as_str().unwrap_or_default();
    assert!(reply.contains("a word"), "{ended}\n{}\n{:?}", host.log(), world.asked());
    let asked = world.asked();
    let count = |line: &str| asked.iter().filter(|it| *it == line).count();
    assert_eq!((count("token authorization_code"), count("token refresh_token")), (1, 1), "{asked:?}");
    let everything = format!("{secrets} {ended} {} {}", host.log(), String::from_utf8_lossy(&output.stderr));
    assert!(!everything.contains("access-") && !everything.contains("refresh-"), "{everything}");
    let forgotten = host.ctl(&["mcp", "login", "own", "--forget"]);
    assert!(forgotten.status.success());
    assert!(host.json(&["cred", "list"])["secrets"].as_array().unwrap().is_empty());
}

// Holds P4-45.
#[test]
fn an_answer_of_another_issuer_or_without_the_state_logs_nobody_in() {
    for (mode, why) in [("iss", "of another issuer"), ("state", "")] {
        let (world, state) = (World::start(mode), tempfile::tempdir().unwrap());
        let host = configured(&world, &state.path().join("state"));
        let (mut child, url) = begin(&host);
        let answer = browse(&url);
        if mode == "state" {
            assert!(answer.contains("400"), "{answer}");
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!output.status.success() && said.contains(why), "{mode}: {said}");
        assert!(host.json(&["cred", "list"])["secrets"].as_array().unwrap().is_empty());
        assert!(!world.asked().iter().any(|line| line.starts_with("token")), "{:?}", world.asked());
    }
}

// Holds P4-46.
#[test]
fn the_challenge_of_a_server_leads_to_its_metadata() {
    let (world, state) = (World::start("challenge"), tempfile::tempdir().unwrap());
    let _host = configured(&world, &state.path().join("state"));
    let asked = world.asked();
    let places: Vec<&String> = asked.iter().filter(|line| line.starts_with("resource ")).collect();
    assert!(
        !places.is_empty() && places.iter().all(|line| line.ends_with("/published/metadata")),
        "{asked:?}"
    );
}

// Holds P4-46.
#[test]
fn metadata_that_lead_elsewhere_are_refused_before_anything_is_opened() {
    for (mode, why) in [
        ("redirect", "a redirect to another origin"),
        ("astray", "the server's challenge leads to another origin"),
        ("private", "is refused"),
        ("resource", "they are of another server"),
        ("issuer", "the issuer is another"),
        ("shell", "characters that no address needs"),
        ("inside", "are refused"),
        ("plain", "PKCE"),
    ] {
        let world = World::start(mode);
        let host = Setup::default().config(&world.config()).start();
        let output = host.ctl(&["mcp", "login", "own", "--yes"]);
        let said = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!output.status.success() && said.contains(why), "{mode}: {said}");
        let asked = world.asked();
        assert!(
            !asked.iter().any(|line| line.contains("/register") || line.contains("/elsewhere")),
            "{asked:?}"
        );
        let text = fs::read_to_string(host.dir().join("cordon.toml")).unwrap();
        assert!(!text.contains("token_url"), "{mode}: {text}");
    }
}
