//! `agentctl cred login`: OAuth with PKCE. A person consents in a browser; the code comes back to a listener on loopback
//! that exists for this purpose only, and goes on to credproxy sealed. Credproxy exchanges it for tokens, so no token is
//! ever in this process.

use super::flags::Bound;
use super::store_for;
use super::vault::open;
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::secret_input;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use ipc_proto::control::ControlError;
use ipc_proto::credproxy::{CredError, Grant, LOGIN, Login, SECRET_BOUND};
use ipc_proto::dialer::DialError;
use ipc_proto::{Name, Text};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use zeroize::Zeroizing;

/// The time that a person has in the browser.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time that a browser has to send its request, and its bytes at most.
const REQUEST: (Duration, u64) = (Duration::from_secs(5), 16 * 1024);
/// Connections that are listened to at once.
const BROWSERS: usize = 32;
/// Where the browser is sent back to.
const CALLBACK: &str = "/callback";

/// The answer of a browser that a login waits for.
#[derive(Clone, Copy)]
pub(crate) struct Awaited<'a> {
    /// The state that it has.
    pub(crate) state: &'a str,
    /// The issuer that it may name (RFC 9207), where one is known.
    pub(crate) issuer: Option<&'a str>,
    /// It has to name it.
    pub(crate) names_issuer: bool,
}

/// The arguments of a login.
#[derive(clap::Args)]
#[command(
    override_usage = "agentctl cred login [OPTIONS] --authorize-url <URL> --token-url <URL>\n           \
    --client-id <ID> --host <HOST> <NAME>"
)]
pub(crate) struct Arguments {
    /// Its name
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// The URL where the person consents
    #[arg(long, value_name = "URL", value_parser = url)]
    authorize_url: String,
    /// The URL that issues tokens; `[credproxy] hosts` must name its host unless a service has it
    #[arg(long, value_name = "URL", value_parser = url)]
    token_url: String,
    /// The client id under which the service has registered this host
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// Read the client's secret from standard input or a prompt, if the service issued one
    #[arg(long)]
    client_secret: bool,
    /// A scope to ask for; may be given again
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// A host that the tokens may be sent to; may be given again
    #[arg(long = "host", value_name = "HOST", required = true, value_parser = super::flags::host)]
    hosts: Vec<Text<253>>,
    #[command(flatten)]
    bound: Bound,
}

/// Logs in, and stores the login.
pub(super) async fn login(app: &App, arguments: Arguments) -> Outcome {
    let Arguments { name, authorize_url, token_url, client_id, client_secret, scopes, hosts, bound } =
        arguments;
    let (binding, lease) = bound.whole(hosts)?;
    open(app).await?;
    let client_secret = client_secret.then(|| secret(&name)).transpose()?;
    let (listener, redirect_uri) = listen().await?;
    let (verifier, state) = (random()?, random()?);
    let scope = scopes.join(" ");
    let asked = Consent {
        client_id: &client_id,
        redirect_uri: &redirect_uri,
        scope: &scope,
        verifier: &verifier,
        state: &state,
        resource: "",
    };
    let url = asked.at(&authorize_url);
    app.out.hint(&format!("open this address in a browser on this machine, and consent there: {url}"));
    let awaited = Awaited { state: &state, issuer: None, names_issuer: false };
    let code = consented(&listener, awaited).await?;
    let grant = Grant::Code { code, verifier: verifier.to_string(), redirect_uri };
    let login = Login { token_url, client_id, client_secret, resource: None, grant };
    let value = value_of(&login)?;
    let stored = store_for(app, &name, &binding, lease, &value).await;
    if let Err(Failure::Control(ControlError::Cred(CredError::Dial(DialError::NotAllowed)))) = &stored {
        app.out.remark("the host of --token-url belongs into `[credproxy] hosts`; start the host again, and log in again");
    }
    stored?;
    let fields = json!({ "name": name, "hosts": binding.hosts });
    Ok(app.out.done(fields, &format!("{name} is logged in"))?)
}

/// A login as a value of a secret.
///
/// # Errors
/// [`Failure::Seal`].
pub(crate) fn value_of(login: &Login) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let json = serde_json::to_string(login).map(Zeroizing::new).map_err(|_| Failure::Seal)?;
    Ok(Zeroizing::new([LOGIN.as_bytes(), json.as_bytes()].concat()))
}

/// The client's secret, from standard input or a prompt.
pub(crate) fn secret(name: &Name) -> Result<String, Failure> {
    let value = secret_input::value(&format!("client secret of {name} (not shown): "), SECRET_BOUND / 4)?;
    String::from_utf8(value.to_vec())
        .map_err(|_| Failure::Usage("the client's secret is not text".to_owned()))
}

/// 32 random bytes as text: a verifier, or a state.
pub(crate) fn random() -> Result<Zeroizing<String>, Failure> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(bytes.as_mut_slice()).map_err(Failure::Random)?;
    Ok(Zeroizing::new(URL_SAFE_NO_PAD.encode(*bytes)))
}

/// An https address. credproxy decides if it may ask it for tokens.
fn url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?']));
    if host && !text.contains('#') && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("it is https://HOST/PATH, without a blank or a fragment".to_owned())
    }
}

/// A listener on loopback for the browser's answer, and the address that the browser is sent back to.
pub(crate) async fn listen() -> Result<(TcpListener, String), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(Failure::Runtime)?;
    let port = listener.local_addr().map_err(Failure::Runtime)?.port();
    Ok((listener, format!("http://127.0.0.1:{port}{CALLBACK}")))
}

/// The request for a person's consent, with PKCE (RFC 7636). What is empty is left out.
pub(crate) struct Consent<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) scope: &'a str,
    pub(crate) verifier: &'a str,
    pub(crate) state: &'a str,
    /// The server that the token is for (RFC 8707).
    pub(crate) resource: &'a str,
}

impl Consent<'_> {
    /// The address to consent at.
    pub(crate) fn at(&self, url: &str) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()));
        let pairs = [
            ("response_type", "code"),
            ("client_id", self.client_id),
            ("redirect_uri", self.redirect_uri),
            ("scope", self.scope),
            ("state", self.state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", self.resource),
        ];
        address(url, &pairs)
    }
}

/// An address with these parameters behind those it has; empty ones are left out.
fn address(url: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{}", query.finish())
}

/// Waits for the code that a browser brings.
pub(crate) async fn consented(listener: &TcpListener, awaited: Awaited<'_>) -> Result<String, Failure> {
    let code = timeout(PATIENCE, answered(listener, awaited)).await;
    code.map_err(|_| Failure::Login("nobody consented within five minutes".to_owned()))?
}

/// The code that a browser brings with this state. Browsers open connections ahead of need, so a silent one does not
/// delay another.
async fn answered(listener: &TcpListener, awaited: Awaited<'_>) -> Result<String, Failure> {
    let mut browsers = FuturesUnordered::new();
    loop {
        let answer = tokio::select! {
            accepted = listener.accept(), if browsers.len() < BROWSERS => {
                let (stream, _) = accepted.map_err(Failure::Runtime)?;
                browsers.push(receive(stream, awaited));
                continue;
            }
            Some(answer) = browsers.next() => answer,
        };
        if let Some(answer) = answer {
            return answer.map_err(refused);
        }
    }
}

/// The answer in an address that a browser was sent to on another machine, which a person pasted.
pub(crate) fn pasted(address: &str, redirect_uri: &str, awaited: Awaited<'_>) -> Result<String, Failure> {
    let query = address.trim().strip_prefix(redirect_uri).filter(|query| query.starts_with('?'));
    let answer = query.and_then(|query| read(&format!("GET {CALLBACK}{query} HTTP/1.1"), awaited));
    let other =
        || Failure::Login("this is not the address that the browser was sent to by this login".to_owned());
    answer.ok_or_else(other)?.map_err(refused)
}

fn refused(why: String) -> Failure {
    Failure::Login(format!("the service refused: {why}"))
}

/// The result that one connection brings. A request without the state is somebody else's and is refused.
async fn receive(mut stream: TcpStream, awaited: Awaited<'_>) -> Option<Result<String, String>> {
    let request = timeout(REQUEST.0, request(&mut stream)).await.ok()??;
    let answer = read(&request, awaited);
    let (status, words) = match &answer {
        None => ("400 Bad Request", "This is not the answer that agentctl waits for."),
        Some(Ok(_)) => (
            "200 OK",
            "The service agreed. The terminal shows if you are logged in; this page may be closed.",
        ),
        Some(Err(_)) => ("200 OK", "You are not logged in; this page may be closed."),
    };
    let length = words.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{words}"
    );
    // A browser that is gone has seen enough.
    let _ = timeout(REQUEST.0, stream.write_all(reply.as_bytes())).await;
    answer
}

/// The first line of a request.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 1024]);
    let mut stream = stream.take(REQUEST.1);
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut buffer).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(buffer.get(..length)?);
    }
    String::from_utf8(bytes).ok()?.lines().next().map(str::to_owned)
}

/// The code of a request, or the reason why it has none; `None` if the request is not of this login.
fn read(line: &str, awaited: Awaited<'_>) -> Option<Result<String, String>> {
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    let (path, query) = target.split_once('?')?;
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let of = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    if path != CALLBACK || of("state")? != awaited.state {
        return None;
    }
    if let Some(issuer) = awaited.issuer {
        match of("iss") {
            Some(named) if named != issuer => return Some(Err("the answer is of another issuer".to_owned())),
            None if awaited.names_issuer => return Some(Err("the answer names no issuer".to_owned())),
            _ => {}
        }
    }
    let shown = |why: String| why.chars().filter(|letter| !letter.is_control()).take(200).collect();
    match (of("code"), of("error")) {
        (Some(code), None) if !code.is_empty() => Some(Ok(code)),
        (_, why) => Some(Err(why.map_or_else(|| "it gave no code".to_owned(), shown))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited() -> Awaited<'static> {
        Awaited { state: "the-state", issuer: None, names_issuer: false }
    }

    // Holds P4-16.
    #[test]
    fn only_an_answer_with_the_state_of_this_login_is_taken() {
        let received = |line: &str| read(line, awaited());
        let code = |code: &str| Some(Ok(code.to_owned()));
        assert_eq!(received("GET /callback?code=a%2Fb&state=the-state HTTP/1.1"), code("a/b"));
        assert_eq!(received("GET /callback?state=the-state&code=c&scope=x HTTP/1.1"), code("c"));
        for other in [
            "GET /callback?code=c HTTP/1.1",
            "GET /callback?code=c&state=other HTTP/1.1",
            "GET /callback?code=c&state=the-state-2 HTTP/1.1",
            "GET /other?code=c&state=the-state HTTP/1.1",
            "POST /callback?code=c&state=the-state HTTP/1.1",
            "GET /favicon.ico HTTP/1.1",
            "",
        ] {
            assert_eq!(received(other), None, "{other}");
        }
        let refused = received("GET /callback?error=access_denied%0a&state=the-state HTTP/1.1");
        assert_eq!(refused, Some(Err("access_denied".to_owned())));
        assert!(received("GET /callback?state=the-state HTTP/1.1").is_some_and(|answer| answer.is_err()));
    }

    // Holds P4-16.
    #[test]
    fn an_answer_of_another_issuer_is_refused_and_a_pasted_one_is_read_alike() {
        let issuer = Awaited { issuer: Some("https://a.test"), ..awaited() };
        let ours = "http://127.0.0.1:9/callback";
        let pasted =
            |query: &str, awaited| pasted(&format!("{ours}?code=c&state=the-state{query}\n"), ours, awaited);
        assert_eq!(pasted("&iss=https%3A%2F%2Fa.test", issuer).unwrap(), "c");
        assert_eq!(pasted("", issuer).unwrap(), "c");
        for wrong in ["&iss=https://b.test", "&iss=https://a.test/", "&iss="] {
            assert!(pasted(wrong, issuer).is_err(), "{wrong}");
        }
        assert!(pasted("", Awaited { names_issuer: true, ..issuer }).is_err());
        for other in [
            "http://127.0.0.1:9/callback?code=c&state=other",
            "https://evil.test/?code=c&state=the-state",
            "",
        ] {
            assert!(super::pasted(other, ours, issuer).is_err(), "{other}");
        }
    }

    // Holds P4-16.
    #[tokio::test]
    async fn a_connection_that_says_nothing_holds_up_no_other() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test stands in for a browser")]
        let connect = || TcpStream::connect(address);
        let mut silent = connect().await.unwrap();
        let mut browser = connect().await.unwrap();
        browser.write_all(b"GET /callback?code=c&state=the-state HTTP/1.1\r\n\r\n").await.unwrap();
        let code = tokio::select! {
            biased;
            code = answered(&listener, awaited()) => code.unwrap(),
            _ = silent.read_u8() => panic!("the silent one was given up first"),
        };
        assert_eq!(code, "c");
    }

    #[test]
    fn an_address_is_one_that_a_browser_can_be_sent_to() {
        for good in ["https://a.test/authorize?x=1", "http://127.0.0.1:8080/token"] {
            assert!(url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a.test",
            "javascript:alert(1)",
            "https://",
            "https:///x",
            "https://a.test/#x",
            "https://a b/",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_keeps_its_own_parameters_and_escapes_those_behind_them() {
        let pairs = [("scope", "mail read"), ("state", ""), ("redirect_uri", "http://127.0.0.1:1/callback")];
        assert_eq!(
            address("https://a.test/o?x=1", &pairs),
            "https://a.test/o?x=1&scope=mail+read&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback"
        );
        assert!(address("https://a.test/o", &pairs).starts_with("https://a.test/o?scope="));
    }

    #[test]
    fn a_verifier_is_long_enough_and_never_the_same() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert!(one.len() == 43 && *one != *other);
    }
}
