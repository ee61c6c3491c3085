//! Agents in an editor, by `agentctl acp`: raw lines, and in `official` the protocol's own client.

mod official;

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use tempfile::TempDir;
use tests::{Host, Setup, call, script};

/// Every command asks.
const SUPERVISED: &str =
    "[policy]\nautonomy = \"supervised\"\n[agent.planned]\nmodel = \"scripted/planned\"\n";

/// An editor that runs `agentctl acp`.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// All that came beside the answers.
    seen: Vec<Value>,
}

impl Editor {
    /// Nothing is said yet.
    fn run(host: &Host, words: &[&str]) -> Self {
        let mut command = host.command(&[&["acp"], words].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, asked: 0, seen: Vec::new() }
    }

    /// Greeted.
    fn start(host: &Host, words: &[&str]) -> Self {
        let mut editor = Self::run(host, words);
        let greeted = editor.ask("initialize", &json!({ "protocolVersion": 1 }));
        assert_eq!(greeted["result"]["protocolVersion"], 1, "{greeted}");
        editor
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.bytes(format!("{message}\n").as_bytes());
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        self.asked
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The next message.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it ended");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// The first message that is so; what comes before it is kept.
    fn until(&mut self, so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if so(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    fn answer_to(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message["method"].is_null())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    fn open(&mut self, cwd: &Path) -> Value {
        self.ask("session/new", &json!({ "cwd": cwd, "mcpServers": [] }))
    }

    /// A new session; gives its id.
    fn session(&mut self, cwd: &Path) -> String {
        let opened = self.open(cwd);
        assert!(opened["error"].is_null(), "{opened}");
        opened["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt; gives the id of the request.
    fn say(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))
    }

    /// The text of the answers so far.
    fn heard(&self) -> String {
        let chunks = self.seen.iter().map(|message| &message["params"]["update"]);
        let chunks = chunks.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Ends its input; gives all that it still says.
    fn end(&mut self) -> String {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "the harbour office opens at nine").unwrap();
    folder
}

/// Allows what an editor is asked, once.
fn allow(editor: &mut Editor, asked: &Value) {
    let outcome = json!({ "outcome": "selected", "optionId": "allow" });
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "outcome": outcome } }));
}

fn is_question(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}

// Holds P13-01, B-250.
#[test]
fn hostile_lines_are_answered_and_hurt_nothing() {
    let (host, folder) = (Host::start(), folder());
    let mut editor = Editor::run(&host, &[]);
    let early = editor.open(folder.path());
    assert_eq!(early["error"]["code"], -32600, "{early}");
    for (line, code) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\n"[..], -32700),
        (b"\xff\xfe\n", -32700),
        (b"[]\n", -32600),
        (b"\"text\"\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"initialize\"}\n", -32600),
    ] {
        editor.bytes(line);
        let answer = editor.next();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{answer}");
    }
    editor.bytes(b"\n \r\n");
    editor.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    editor.notify("session/cancel", &json!({ "sessionId": "none" }));
    editor.notify("no/such", &json!([]));
    let mut long = vec![b'x'; (8 << 20) + 1];
    long.push(b'\n');
    editor.bytes(&long);
    assert_eq!(editor.next()["error"]["code"], -32600);
    // A message within the bound may come in any pieces.
    let hello = format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": "h", "method": "initialize",
        "params": { "protocolVersion": 7, "pad": "p".repeat(7 << 20) } })
    );
    for piece in hello.as_bytes().chunks(1 << 20) {
        editor.bytes(piece);
    }
    let greeted = editor.next();
    assert_eq!(
        (&greeted["id"], &greeted["result"]["protocolVersion"]),
        (&json!("h"), &json!(1)),
        "{greeted}"
    );
    let session = editor.session(folder.path());
    let id = editor.say(&session, "read notes.txt");
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "end_turn");
    assert!(editor.heard().contains("harbour office"), "{}", editor.heard());
    // Half a line at the end is one as well.
    editor.bytes(b"{\"jsonrpc\"");
    let rest = editor.end();
    assert!(rest.contains("-32700") && rest.lines().count() == 1, "{rest}");
}

// Holds P13-01.
#[test]
fn a_request_that_cannot_be_answered_gets_its_error() {
    let (host, folder) = (Host::start(), folder());
    let mut editor = Editor::start(&host, &[]);
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("authenticate", json!({ "methodId": "x" }), -32601),
        ("session/new", json!({}), -32602),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] }), -32602),
        ("session/new", json!({ "cwd": "/no/such", "mcpServers": [] }), -32602),
        ("session/prompt", json!({ "sessionId": "none", "prompt": [] }), -32002),
        ("session/load", json!({ "sessionId": "none", "cwd": folder.path(), "mcpServers": [] }), -32002),
        ("session/close", json!({ "sessionId": "none" }), -32002),
        ("session/set_config_option", json!({ "sessionId": "none", "configId": "a", "value": "b" }), -32002),
    ] {
        let answer = editor.ask(method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
}

// Holds P13-02, B-251.
#[test]
fn a_seventeenth_session_is_refused_until_one_is_closed() {
    let (host, folder) = (Host::start(), folder());
    let mut editor = Editor::start(&host, &[]);
    let sessions: Vec<String> = (0..16).map(|_| editor.session(folder.path())).collect();
    let refused = editor.open(folder.path());
    assert!(refused["error"]["message"].as_str().unwrap().contains("16 sessions"), "{refused}");
    let closed = editor.ask("session/close", &json!({ "sessionId": sessions[3] }));
    assert!(closed["error"].is_null(), "{closed}");
    let _ = editor.session(folder.path());
    let gone = editor.ask("session/prompt", &json!({ "sessionId": sessions[3], "prompt": [] }));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
}

// Holds P13-03.
#[test]
fn a_question_is_asked_once_with_the_exact_action() {
    let (host, folder) = (Setup::default().config(SUPERVISED).start(), folder());
    let mut editor = Editor::start(&host, &[]);
    let session = editor.session(folder.path());
    let id = editor.say(&session, "run: cat notes.txt");
    let asked = editor.until(is_question);
    let approval = host.approval(&host.question());
    let tool = &asked["params"]["toolCall"];
    let action: Value = serde_json::from_str(approval["action"].as_str().unwrap()).unwrap();
    assert_eq!((&tool["rawInput"], &action["irreversible"]), (&action, &json!(false)), "{asked}");
    let shown = tool["content"][0]["content"]["text"].as_str().unwrap();
    assert!(shown.contains("cat notes.txt") && shown.contains("sha256"), "{shown}");
    let kinds: Vec<&Value> =
        asked["params"]["options"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "reject_once"]);
    allow(&mut editor, &asked);
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "end_turn");
    assert!(editor.heard().contains("harbour office"), "{}", editor.heard());
    // A second answer to the same request, and one that nobody asked for, change nothing.
    allow(&mut editor, &asked);
    let id = editor.say(&session, "run: cat notes.txt");
    let again = editor.until(is_question);
    let other = json!({ "outcome": { "outcome": "selected", "optionId": "allow_always" } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": again["id"], "result": other }));
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(host.recorded("approval_answered").len(), 2);
    assert!(editor.seen.iter().any(|it| it["params"]["update"]["status"] == "failed"), "{:?}", editor.seen);
}

// Holds P13-03.
#[test]
fn an_editor_that_allows_everything_lets_nothing_irreversible_run() {
    let (host, folder) = (Setup::default().config(SUPERVISED).start(), folder());
    let commands = [
        "rm -rf .",
        "rm notes.txt",
        "$TOOL notes.txt",
        "sh clean.sh",
        "python3 -c 'import os; os.remove(0)'",
    ];
    let bash = |command: &&str| call("bash", &json!({ "command": command }));
    let mild = call("bash", &json!({ "command": "echo done >> made.txt" }));
    let calls: Vec<Value> = std::iter::once(mild).chain(commands.iter().map(bash)).collect();
    host.script("planned", &script(&calls));
    let mut editor = Editor::start(&host, &["--agent", "planned"]);
    let session = editor.session(folder.path());
    let id = editor.say(&session, "tidy up");
    let asked = editor.until(is_question);
    allow(&mut editor, &asked);
    for _ in commands {
        // Nothing is asked: the person is told the command, and answers by it.
        let told = editor
            .until(|it| it["params"]["update"]["content"]["text"].to_string().contains("agentctl approvals"));
        let question = host.question();
        assert!(told.to_string().contains(&question), "{told}");
        host.deny(&question);
    }
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "end_turn");
    assert!(!editor.seen.iter().any(is_question), "{:?}", editor.seen);
    assert!(folder.path().join("notes.txt").exists() && folder.path().join("made.txt").exists());
}

// Holds P13-04.
#[test]
fn a_cancel_during_a_question_ends_the_turn_and_no_answer_counts() {
    let (host, folder) = (Setup::default().config(SUPERVISED).start(), folder());
    let mut editor = Editor::start(&host, &[]);
    let session = editor.session(folder.path());
    let id = editor.say(&session, "run: touch made.txt");
    let asked = editor.until(is_question);
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "cancelled");
    let withdrawn = editor.seen.iter().find(|it| it["method"] == "$/cancel_request");
    assert_eq!(withdrawn.map(|it| &it["params"]["requestId"]), Some(&asked["id"]), "{:?}", editor.seen);
    allow(&mut editor, &asked);
    // A prompt and its cancel in one write: the cancel is not lost.
    let id = editor.asked + 1;
    editor.asked = id;
    let prompt =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "run: touch made.txt" }] });
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": prompt });
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    editor.bytes(format!("{request}\n{cancel}\n").as_bytes());
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "cancelled");
    assert!(!folder.path().join("made.txt").exists());
}

// Holds P13-02.
#[test]
fn one_turn_at_a_time_and_sessions_beside_each_other() {
    let (host, folder) = (Setup::default().config(SUPERVISED).start(), folder());
    let mut editor = Editor::start(&host, &[]);
    let [one, two] = [0, 1].map(|_| editor.session(folder.path()));
    let first = editor.say(&one, "run: cat notes.txt");
    let asked = editor.until(is_question);
    let busy = editor.say(&one, "read notes.txt");
    assert!(editor.answer_to(busy)["error"]["message"].to_string().contains("under way"));
    let beside = editor.say(&two, "read notes.txt");
    assert_eq!(editor.answer_to(beside)["result"]["stopReason"], "end_turn");
    // The terminal answers; the editor's question is withdrawn.
    host.deny(&host.question());
    let withdrawn = editor.until(|it| it["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert_eq!(editor.answer_to(first)["result"]["stopReason"], "end_turn");
}

// Holds P13-04.
#[test]
fn a_turn_goes_on_without_its_editor_and_is_shown_when_it_is_loaded() {
    let (host, folder) = (Setup::default().config(SUPERVISED).start(), folder());
    let mut editor = Editor::start(&host, &[]);
    let session = editor.session(folder.path());
    let _ = editor.say(&session, "run: cat notes.txt");
    let _ = editor.until(is_question);
    let rest = editor.end();
    assert!(rest.contains("-32800"), "{rest}");
    host.approve(&host.question());
    host.wait_for("the turn ends", || {
        host.json(&["message", "list"])["messages"][0]["state"] == "delivered"
            || host.json(&["message", "list"])["messages"][0]["state"] == "answered"
    });
    let mut editor = Editor::start(&host, &[]);
    let wanted = |cwd: &Path| json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let loaded = editor.ask("session/load", &wanted(folder.path()));
    assert!(loaded["error"].is_null(), "{loaded}");
    let shown = json!(editor.seen).to_string();
    assert!(shown.contains("user_message_chunk") && shown.contains("harbour office"), "{shown}");
    let elsewhere = tempfile::tempdir().unwrap();
    let refused = editor.ask("session/load", &wanted(elsewhere.path()));
    assert!(refused["error"]["message"].to_string().contains("another directory"), "{refused}");
}

// Holds P13-01.
#[test]
fn an_editor_goes_on_where_router_and_control_restart() {
    let (mut host, folders) = (Host::start(), [folder(), folder()]);
    let mut editor = Editor::start(&host, &[]);
    let [old, new] = [0, 1].map(|number: usize| editor.session(folders[number].path()));
    let id = editor.say(&old, "read notes.txt");
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "end_turn");
    for process in ["router", "control"] {
        host.kill_and_wait(process);
    }
    host.wait_ready();
    for session in [&old, &new] {
        let id = editor.say(session, "read notes.txt");
        let ended = editor.answer_to(id);
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    }
    assert_eq!(editor.heard().matches("harbour office").count(), 3, "{}", editor.heard());
}

// Holds P13-02.
#[test]
fn an_editors_own_mcp_servers_are_refused_with_the_command_that_adds_them() {
    let (host, folder) = (Host::start(), folder());
    let servers = json!([{ "name": "time", "command": "/bin/true", "args": [], "env": [] }]);
    let wanted = json!({ "cwd": folder.path(), "mcpServers": servers });
    let refused = Editor::start(&host, &[]).ask("session/new", &wanted);
    let why = refused["error"]["message"].to_string();
    assert!(why.contains("agentctl mcp add") && why.contains("time"), "{refused}");
    let opened = Editor::start(&host, &["--ignore-servers"]).ask("session/new", &wanted);
    assert!(opened["result"]["sessionId"].is_string(), "{opened}");
}
