//! The REST API.

use super::objects::{blank, bot, user};
use super::upgrade::hold;
use super::{ANN, BOT, CHANNEL, Failing, SentMessage, Shared, State, THREAD, TOKEN, direct, limits};
use crate::http::{self, Request};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The time for which a mark is known.
const MARKED: Duration = Duration::from_secs(60);
/// The time in which a press is to be noticed.
const IN_TIME: Duration = Duration::from_secs(3);

/// A reply: the status and its document.
type Reply = (u16, Value);

fn refusal(status: u16, code: u64, message: &str) -> Reply {
    (status, json!({ "message": message, "code": code }))
}

/// Writes a reply; one of status 204 has no body.
fn reply(stream: &TcpStream, status: u16, headers: &str, document: &Value) {
    if status == 204 {
        http::reply(stream, status, "text/html", headers, b"");
    } else {
        http::document(stream, status, headers, document);
    }
}

pub(super) fn serve(shared: &Shared, stream: &TcpStream) {
    let Some(request) = Request::read(stream) else { return };
    if shared.given.answers(stream, &request.path) {
        return;
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let Some(path) = path.strip_prefix("/api/v10/") else {
        return reply(stream, 404, "", &refusal(404, 0, "404: Not Found").1);
    };
    let parts: Vec<&str> = path.split('/').collect();
    if let Some((status, document)) = stranger(shared, &request, &parts) {
        return reply(stream, status, "", &document);
    }
    let (body, file) = body(&request);
    let name = format!(
        "{} {}",
        request.method,
        parts.iter().rev().find(|part| part.parse::<u64>().is_err()).unwrap_or(&"")
    );
    let failing = {
        let mut state = shared.state();
        state.calls.push((format!("{} {path}", request.method), body.clone()));
        let at = state.failing.iter().position(|(wanted, _)| *wanted == name);
        at.and_then(|at| state.failing.remove(at)).map(|(_, failing)| failing)
    };
    let admitted = {
        let channel = parts.get(1).and_then(|id| id.parse().ok()).unwrap_or(0);
        shared.state().rates.admit(&name, channel)
    };
    let headers = match admitted {
        Ok(headers) => headers,
        Err((after, global)) => return too_many(stream, after, global),
    };
    let done = || answer(shared, (&request.method, &parts, query), &body, file.as_ref());
    let (status, document) = match failing {
        None => done(),
        Some(Failing::DropBefore) => return,
        Some(Failing::DropAfter) => return drop(done()),
        Some(Failing::ErrorBefore) => refusal(500, 0, "500: Internal Server Error"),
        Some(Failing::ErrorAfter) => {
            drop(done());
            refusal(502, 0, "502: Bad Gateway")
        }
        Some(Failing::HoldBefore) => return hold(stream),
        Some(Failing::HoldAfter) => {
            drop(done());
            return hold(stream);
        }
        Some(Failing::TooMany(after)) => return too_many(stream, after, false),
    };
    reply(stream, status, &headers, &document);
    shared.changed.notify_all();
}

fn too_many(stream: &TcpStream, after: f64, global: bool) {
    let scope = if global {
        "X-RateLimit-Global: true\r\nX-RateLimit-Scope: global\r\n"
    } else {
        "X-RateLimit-Scope: user\r\n"
    };
    let headers = format!("Retry-After: {}\r\n{scope}", after.ceil());
    let body = json!({ "message": "You are being rate limited.", "retry_after": after, "global": global });
    reply(stream, 429, &headers, &body);
}

/// The refusal of a request by somebody else. Presses are answered by their token alone.
fn stranger(shared: &Shared, request: &Request, parts: &[&str]) -> Option<Reply> {
    if matches!(parts.first(), Some(&("interactions" | "webhooks"))) {
        return None;
    }
    let agent = request.headers.get("user-agent").map_or("", String::as_str);
    if !agent.starts_with("DiscordBot (") {
        return Some(refusal(403, 40_333, "internal network error"));
    }
    let known = request.headers.get("authorization") == Some(&format!("Bot {TOKEN}"));
    (!known || shared.state().revoked).then(|| refusal(401, 0, "401: Unauthorized"))
}

/// The body: JSON, or that of a form, with the name and the length of its file.
fn body(request: &Request) -> (Value, Option<(String, usize)>) {
    if !request.headers.get("content-type").is_some_and(|kind| kind.starts_with("multipart/form-data")) {
        return (serde_json::from_slice(&request.body).unwrap_or(Value::Null), None);
    }
    let text = String::from_utf8_lossy(&request.body);
    let boundary = text.lines().next().unwrap_or_default().to_owned();
    let field = |name: &str| {
        let (_, rest) = text.split_once(&format!("name=\"{name}\""))?;
        let (head, rest) = rest.split_once("\r\n\r\n")?;
        let (value, _) = rest.split_once(&format!("\r\n{boundary}"))?;
        Some((head.to_owned(), value.to_owned()))
    };
    let document = field("payload_json").and_then(|(_, value)| serde_json::from_str(&value).ok());
    let file = field("files[0]").map(|(head, _)| {
        let name =
            head.split("filename=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        (name.to_owned(), length_of_file(&request.body, &boundary))
    });
    (document.unwrap_or(Value::Null), file)
}

/// The bytes of the last field of a form, which is its file.
fn length_of_file(body: &[u8], boundary: &str) -> usize {
    let find = |wanted: &[u8], from: usize| {
        body[from..].windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
    };
    let field = find(b"name=\"files[0]\"", 0).unwrap_or(0);
    let begin = find(b"\r\n\r\n", field).map_or(field, |at| at + 4);
    find(format!("\r\n{boundary}").as_bytes(), begin).unwrap_or(begin) - begin
}

type Asked<'a> = (&'a str, &'a [&'a str], &'a str);

fn answer(
    shared: &Shared,
    (method, parts, query): Asked<'_>,
    body: &Value,
    file: Option<&(String, usize)>,
) -> Reply {
    let mut state = shared.state();
    let id = |text: &str| text.parse::<u64>().unwrap_or(0);
    match (method, parts) {
        ("GET", ["users", "@me"]) => (200, bot()),
        ("GET", ["applications", "@me"]) => {
            let flags = if state.unread { 0 } else { 1_u64 << 19 };
            (200, json!({ "id": BOT.to_string(), "name": "cordon", "flags": flags }))
        }
        ("GET", ["oauth2", "applications", "@me"]) => {
            let id = BOT.to_string();
            let more = json!({ "bot_public": false, "bot_require_code_grant": false, "owner": user(ANN) });
            let mut application =
                json!({ "id": id, "name": "cordon", "description": "", "icon": null, "verify_key": "0" });
            for (key, value) in more.as_object().into_iter().flatten() {
                application[key] = value.clone();
            }
            (200, application)
        }
        ("POST", ["users", "@me", "channels"]) => {
            let person = body["recipient_id"].as_str().map_or(0, id);
            let channel = direct(person).to_string();
            (200, json!({ "id": channel, "type": 1, "last_message_id": null, "recipients": [user(person)] }))
        }
        ("GET", ["gateway", "bot"]) => {
            let limit = json!({ "total": 1000, "remaining": 990, "reset_after": 1000, "max_concurrency": 1 });
            let url = format!("ws://127.0.0.1:{}", shared.port);
            (200, json!({ "url": url, "shards": 1, "session_start_limit": limit }))
        }
        ("GET", ["channels", channel]) => self::channel(id(channel)),
        ("GET", ["channels", channel, "messages"]) => history(&state, id(channel), query),
        ("POST", ["channels", channel, "messages"]) => send(&mut state, id(channel), body, file),
        ("PATCH", ["channels", channel, "messages", message]) => {
            edit(&mut state, id(channel), id(message), body)
        }
        ("POST", ["channels", _, "typing"]) => (204, Value::Null),
        ("POST", ["interactions", press, token, "callback"]) => {
            let (status, document) = notice(&mut state, token, body);
            let described = json!({ "interaction": { "id": press, "type": 3 } });
            if status == 204 && query.contains("with_response") {
                (200, described)
            } else {
                (status, document)
            }
        }
        ("POST", ["webhooks", _, token]) => aside(&mut state, token, body),
        _ => refusal(404, 0, "404: Not Found"),
    }
}

fn channel(id: u64) -> Reply {
    match id {
        CHANNEL => (200, json!({ "id": id.to_string(), "type": 0, "guild_id": "77", "parent_id": "70" })),
        THREAD => (
            200,
            json!({ "id": id.to_string(), "type": 11, "guild_id": "77", "parent_id": CHANNEL.to_string() }),
        ),
        9000.. => (200, json!({ "id": id.to_string(), "type": 1 })),
        _ => refusal(404, 10_003, "Unknown Channel"),
    }
}

/// A page of the history, newest first. It has no marks, as the real one has none.
fn history(state: &State, channel: u64, query: &str) -> Reply {
    let number = |name: &str| {
        let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
        found.and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let limit = usize::try_from(number("limit").unwrap_or(50)).unwrap_or(usize::MAX);
    if !(1..=100).contains(&limit) {
        return refusal(400, 50_035, "limit: must be between 1 and 100");
    }
    let id = |message: &Value| message["id"].as_str().and_then(|id| id.parse::<u64>().ok()).unwrap_or(0);
    let of = channel.to_string();
    let own = state.messages.iter().filter(|message| message["channel_id"] == of.as_str());
    let mut found: Vec<Value> = match (number("after"), number("before")) {
        (Some(after), _) => own.filter(|message| id(message) > after).take(limit).cloned().collect(),
        (None, before) => {
            let older: Vec<&Value> =
                own.filter(|message| before.is_none_or(|before| id(message) < before)).collect();
            older.iter().rev().take(limit).rev().map(|message| (*message).clone()).collect()
        }
    };
    found.reverse();
    for message in &mut found {
        for key in ["nonce", "guild_id", "channel_type"] {
            message.as_object_mut().and_then(|message| message.remove(key));
        }
    }
    (200, Value::Array(found))
}

fn send(state: &mut State, channel: u64, body: &Value, file: Option<&(String, usize)>) -> Reply {
    if self::channel(channel).0 != 200 {
        return refusal(404, 10_003, "Unknown Channel");
    }
    if let Err(why) = limits::message(body, file.is_some()) {
        return refusal(400, 50_035, why);
    }
    let mark = body["nonce"].as_str().unwrap_or_default().to_owned();
    let known = state.marks.get(&mark).filter(|(_, at)| at.elapsed() < MARKED).map(|(id, _)| *id);
    if let Some(id) = known.filter(|_| body["enforce_nonce"] == true) {
        let found = state.messages.iter().find(|message| message["id"].as_str() == Some(&*id.to_string()));
        return (200, found.cloned().unwrap_or_default());
    }
    let id = state.fresh();
    let mut message = blank(id, channel, BOT);
    for key in ["content", "nonce", "flags", "components", "message_reference"] {
        if let Some(value) = body.get(key) {
            message[key] = value.clone();
        }
    }
    if let Some((name, bytes)) = file {
        let url = "https://cdn.invalid/x";
        message["attachments"] =
            json!([{ "id": "1", "filename": name, "size": bytes, "url": url, "proxy_url": url }]);
    }
    if channel < 9000 {
        message["guild_id"] = json!("77");
    }
    let mut sent = body.clone();
    if let Some((name, bytes)) = file {
        sent["file"] = json!({ "name": name, "bytes": bytes });
    }
    state.sent.push(SentMessage { id, channel, body: sent, edits: 0 });
    state.marks.insert(mark, (id, Instant::now()));
    state.post(message.clone());
    (200, message)
}

fn edit(state: &mut State, channel: u64, id: u64, body: &Value) -> Reply {
    if let Err(why) = limits::message(body, false) {
        return refusal(400, 50_035, why);
    }
    let found = state.sent.iter_mut().find(|message| message.channel == channel && message.id == id);
    let Some(sent) = found else { return refusal(404, 10_008, "Unknown Message") };
    for (key, value) in body.as_object().into_iter().flatten() {
        sent.body[key] = value.clone();
    }
    sent.edits += 1;
    let found = state.messages.iter_mut().find(|message| message["id"].as_str() == Some(&*id.to_string()));
    let Some(message) = found else { return refusal(404, 10_008, "Unknown Message") };
    message["content"] = body["content"].clone();
    (200, message.clone())
}

fn notice(state: &mut State, token: &str, body: &Value) -> Reply {
    match state.presses.get_mut(token) {
        Some(press) if !press.noticed && press.at.elapsed() < IN_TIME && body["type"] == 6 => {
            press.noticed = true;
            (204, Value::Null)
        }
        _ => refusal(404, 10_062, "Unknown interaction"),
    }
}

fn aside(state: &mut State, token: &str, body: &Value) -> Reply {
    match state.presses.get_mut(token) {
        Some(press) if press.noticed => {
            press.asides.push(body["content"].as_str().unwrap_or_default().to_owned());
            let mut shown = blank(1, direct(ANN), BOT);
            shown["content"] = body["content"].clone();
            (200, shown)
        }
        _ => refusal(404, 10_015, "Unknown Webhook"),
    }
}
