//! The vault's key and the life of a secret, as their owner sees them: a host that waits for a passphrase, bindings that
//! only narrow, secrets that end, and the way from one vault to another.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tests::{Host, Person, Setup, Upstream};

const PASSPHRASE: &str = "correct horse battery";
const ANOTHER: &str = "a second passphrase";
/// Looks like nothing that a scanner knows by its form.
const KEY: &str = "vaulted-Wq7ZtVx2Kc9LmRb4HsYd-value";

fn config(upstream: &Upstream, more: &str) -> String {
    format!("[credproxy]\nplain_http = [\"127.0.0.1:{}\"]\n{more}", upstream.port)
}

fn host_of(upstream: &Upstream) -> String {
    format!("127.0.0.1:{}", upstream.port)
}

fn keep(host: &Host, upstream: &Upstream, words: &[&str]) {
    host.keep("key", KEY, &[&["--host", &host_of(upstream)], words].concat());
}

fn tested(host: &Host, upstream: &Upstream, path: &str) -> Value {
    host.ask(&["cred", "test", "key", &upstream.url(path)])
}

fn failure(value: &Value) -> &str {
    value["error"]["type"].as_str().unwrap_or_default()
}

/// A host whose vault is under a passphrase, as soon as it says that it waits.
fn waiting(config: &str, state: &Path) -> Host {
    let host = Setup::default().config(config).state(state).launch();
    host.wait_for("it waits for the passphrase", || {
        host.try_status().is_some_and(|status| {
            let (state, reason) = (&status["host"]["state"], &status["host"]["reason"]);
            state == "degraded" && reason.as_str().is_some_and(|it| it.contains("vault: locked"))
        })
    });
    host
}

fn is_ready(host: &Host) {
    host.wait_for("it is ready", || {
        host.try_status().is_some_and(|status| status["host"]["state"] == "ready")
    });
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

// Holds B-96, P4-24.
#[test]
fn a_passphrase_vault_is_locked_after_a_host_start_not_after_credproxys() {
    let (upstream, folder) = (Upstream::start("hello"), folder());
    let config = config(&upstream, "key = \"passphrase\"\n");
    let state = folder.path().join("state");
    let mut host = waiting(&config, &state);
    assert_eq!(failure(&host.ask(&["cred", "list"])), "locked");
    assert_eq!(failure(&host.ask_with(&["cred", "unlock"], "short\n")), "bad_passphrase");
    let made = host.ask_with(&["cred", "unlock"], PASSPHRASE);
    assert_eq!((&made["ok"], &made["made"]), (&json!(true), &json!(true)), "{made}\n{}", host.log());
    is_ready(&host);
    keep(&host, &upstream, &[]);
    assert!(!state.join("credproxy/vault.key").exists());
    host.kill_and_wait("credproxy");
    assert_eq!(tested(&host, &upstream, "/")["status"], 200, "{}", host.log());
    keep(&host, &upstream, &[]);
    assert_eq!(host.stop(), Some(0));

    let host = waiting(&config, &state);
    assert_eq!(failure(&tested(&host, &upstream, "/")), "locked");
    let vault = fs::read(state.join("credproxy/vault")).unwrap();
    assert_eq!(failure(&host.ask_with(&["cred", "unlock"], ANOTHER)), "wrong_passphrase");
    assert_eq!(fs::read(state.join("credproxy/vault")).unwrap(), vault);
    assert_eq!(host.recorded("vault_unlock_failed").len(), 1);
    assert_eq!(host.ask_with(&["cred", "unlock"], PASSPHRASE)["ok"], true);
    is_ready(&host);
    assert_eq!(tested(&host, &upstream, "/")["status"], 200);
    assert_eq!(host.recorded("vault_unlocked").len(), 2, "once in each life of the host");
    let heard = upstream.heard();
    assert!(
        heard.iter().all(|request| request.contains(&format!("authorization: Bearer {KEY}"))),
        "{heard:?}"
    );
}

#[test]
fn a_passphrase_is_changed_with_the_old_one_and_only_the_new_one_opens() {
    let (upstream, folder) = (Upstream::start("hello"), folder());
    let config = config(&upstream, "key = \"passphrase\"\n");
    let state = folder.path().join("state");
    let mut host = waiting(&config, &state);
    assert_eq!(host.ask_with(&["cred", "passphrase"], PASSPHRASE)["made"], true);
    keep(&host, &upstream, &[]);
    let wrong = host.ask_with(&["cred", "passphrase"], &format!("{ANOTHER}\n{ANOTHER}\n"));
    assert_eq!(failure(&wrong), "wrong_passphrase");
    let changed = host.ask_with(&["cred", "passphrase"], &format!("{PASSPHRASE}\n{ANOTHER}\n"));
    assert_eq!(changed["ok"], true, "{changed}");
    host.kill_and_wait("credproxy");
    assert_eq!(tested(&host, &upstream, "/")["status"], 200);
    assert_eq!(host.stop(), Some(0));
    let host = waiting(&config, &state);
    assert_eq!(failure(&host.ask_with(&["cred", "unlock"], PASSPHRASE)), "wrong_passphrase");
    assert_eq!(host.ask_with(&["cred", "unlock"], ANOTHER)["ok"], true);
    assert_eq!(tested(&host, &upstream, "/")["status"], 200);
}

#[test]
fn a_credential_of_the_unit_opens_the_vault() {
    let (upstream, folder) = (Upstream::start("hello"), folder());
    let config = config(&upstream, "key = \"systemd\"\n");
    let (state, credentials) = (folder.path().join("state"), folder.path().join("credentials"));
    fs::create_dir(&credentials).unwrap();
    fs::write(credentials.join("cordon-vault"), "0f".repeat(32)).unwrap();
    fs::set_permissions(
        credentials.join("cordon-vault"),
        std::os::unix::fs::PermissionsExt::from_mode(0o400),
    )
    .unwrap();
    let start = || {
        let setup = Setup::default().config(&config).state(&state);
        setup.environment("CREDENTIALS_DIRECTORY", &credentials).start()
    };
    let mut host = start();
    keep(&host, &upstream, &[]);
    host.kill_and_wait("credproxy");
    assert_eq!(tested(&host, &upstream, "/")["status"], 200);
    assert!(!state.join("credproxy/vault.key").exists());
    assert_eq!(host.stop(), Some(0));
    let mut host = start();
    assert_eq!(tested(&host, &upstream, "/")["status"], 200);
    assert_eq!(host.stop(), Some(0));
    let mut without = Setup::default().config(&config).state(&state).launch();
    assert_ne!(without.wait(), Some(0));
    assert!(without.log().contains("cordon-vault"), "{}", without.log());
}

// Holds P4-21.
#[test]
fn a_secret_is_for_what_it_is_bound_to_is_narrowed_ends_and_is_revoked() {
    let upstream = Upstream::start("hello");
    let host = Setup::default().config(&config(&upstream, "")).start();
    keep(&host, &upstream, &["--verb", "GET", "--path", "/mail", "--header", "x-key=Token ", "--uses", "3"]);
    assert_eq!(tested(&host, &upstream, "/mail/3")["status"], 200, "{}", host.log());
    assert!(upstream.heard()[0].contains(&format!("x-key: Token {KEY}")), "{:?}", upstream.heard());
    assert_eq!(failure(&tested(&host, &upstream, "/contacts")), "not_bound");
    assert_eq!(host.recorded("secret_misdirected").len(), 1);
    host.wait_for("the alert is on the record", || {
        host.recorded("alert").iter().any(|alert| alert["subject"] == "secret misdirected: key")
    });
    let shown = host.json(&["cred", "show", "key"]);
    assert_eq!((&shown["secret"]["uses_left"], &shown["secret"]["paths"]), (&json!(2), &json!(["/mail"])));
    assert!(!shown.to_string().contains(KEY));
    assert_eq!(failure(&host.ask(&["cred", "bind", "key", "--path", "/"])), "widens");
    assert_eq!(host.ask(&["cred", "bind", "key", "--path", "/mail/3"])["ok"], true);
    assert_eq!(host.json(&["cred", "show", "key"])["secret"]["uses_left"], 2, "what is left stays");
    assert_eq!(host.ask(&["cred", "bind", "key", "--uses", "1"])["ok"], true);
    assert_eq!(failure(&tested(&host, &upstream, "/mail/4")), "not_bound");
    assert_eq!(tested(&host, &upstream, "/mail/3")["status"], 200);
    assert_eq!(failure(&tested(&host, &upstream, "/mail/3")), "spent");
    keep(&host, &upstream, &[]);
    assert_eq!(host.ask(&["cred", "revoke", "key"])["ok"], true);
    host.kill_and_wait("credproxy");
    assert_eq!(failure(&tested(&host, &upstream, "/")), "revoked");
    assert_eq!(failure(&host.ask(&["cred", "show", "nobody"])), "no_secret");
    assert_eq!(upstream.heard().len(), 2, "what was refused was never sent");
}

// Holds P4-26.
#[test]
fn secrets_move_to_another_vault_in_a_sealed_file_unseen_by_control() {
    let (upstream, folder) = (Upstream::start("hello"), folder());
    let one = Setup::default().config(&config(&upstream, "")).start();
    keep(&one, &upstream, &["--verb", "GET"]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("passphrase"), "of the file\n").unwrap();
    fs::write(at("wrong"), format!("{}\n", "0".repeat(64))).unwrap();
    let sealed = ["--passphrase-file", &at("passphrase")];
    let export = |key: &str| {
        let key = ["--key-file", key];
        one.ask(&[&["cred", "export", &at("export")][..], &sealed, &key].concat())
    };
    assert_eq!(failure(&export(&at("wrong"))), "wrong_passphrase");
    let key = one.state().join("credproxy/vault.key");
    let made = export(key.to_str().unwrap());
    assert_eq!((&made["ok"], &made["secrets"]), (&json!(true), &json!(1)), "{made}");
    let file = fs::read(at("export")).unwrap();
    assert!(file.starts_with(b"age-encryption.org/v1"));
    assert!(!file.windows(KEY.len()).any(|run| run == KEY.as_bytes()));
    assert_eq!((one.recorded("secret_exported").len(), one.recorded("vault_unlock_failed").len()), (1, 1));

    let other = Setup::default().config(&config(&upstream, "")).start();
    let import =
        |words: &[&str]| other.ask(&[&["cred", "import", &at("export")][..], &sealed, words].concat());
    assert_eq!(import(&[])["stored"], json!(["key"]));
    assert_eq!(tested(&other, &upstream, "/")["status"], 200, "{}", other.log());
    assert!(upstream.heard()[0].contains(KEY));
    assert_eq!(import(&[])["left"], json!(["key"]));
    assert_eq!(import(&["--replace"])["stored"], json!(["key"]));
    let shown = other.json(&["cred", "show", "key"]);
    assert_eq!(shown["secret"]["verbs"], json!(["GET"]), "it is bound as it was");
}

// Holds P4-26.
#[test]
fn an_export_without_a_target_is_refused_before_anything_is_exported() {
    let host = Host::start();
    let taken = host.dir().join("taken");
    fs::write(&taken, "mine").unwrap();
    for place in [taken.clone(), host.dir().join("no/folder")] {
        let refused = host.ask_with(&["cred", "export", place.to_str().unwrap()], "of the file\n");
        assert_eq!(failure(&refused), "file", "{refused}");
    }
    assert!(host.recorded("secret_exported").is_empty());
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
}

// Holds P4-16.
#[test]
fn a_login_to_a_locked_vault_sends_nobody_to_a_browser() {
    let (upstream, folder) = (Upstream::start("unused"), folder());
    let host = waiting(&config(&upstream, "key = \"passphrase\"\n"), &folder.path().join("state"));
    let (page, at) = (upstream.url("/"), host_of(&upstream));
    let words = ["cred", "login", "cal", "--host", &at, "--client-id", "me", "--authorize-url", &page];
    let output = host.ctl(&[&words[..], &["--token-url", &page]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the vault is locked"), "{said}");
    assert!(!said.contains("browser"), "{said}");
}

// Holds P4-19.
#[test]
fn a_prompt_that_a_signal_ends_leaves_the_terminal_as_it_was() {
    let host = Host::start();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut person = Person::with(host.command(&["cred", "set", "key", "--host", "a.example.com"]));
        person.sees("value of key (not shown): ");
        assert!(!person.is_echoed());
        kill(Pid::from_raw(person.pid()), signal).unwrap();
        assert!(!person.ended().success());
        assert!(person.is_echoed(), "{signal}");
    }
    assert_eq!(host.json(&["cred", "list"])["secrets"], json!([]));
}

// Holds P4-20.
#[test]
fn a_key_that_cannot_be_stored_is_named_and_keeps_no_other_from_it() {
    let host = Host::start();
    let mut command = host.command(&["cred", "import", "--env", "--json"]);
    let keys =
        [("OPENAI_API_KEY", "short"), ("ANTHROPIC_API_KEY", KEY), ("GITHUB_TOKEN", "two\nlines-of-it")];
    let output = command.env_clear().envs(keys).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((failure(&value), output.status.code()), ("bad_value", Some(1)), "{value}");
    assert_eq!((&value["stored"], &value["refused"]), (&json!(["anthropic"]), &json!(["openai", "github"])));
    let said = value["error"]["message"].as_str().unwrap();
    assert!(said.contains("openai is not stored") && !said.contains("lines-of-it"), "{said}");
}

// Holds P4-20.
#[test]
fn keys_of_the_environment_are_imported_on_request_each_for_its_provider() {
    let host = Host::start();
    let mut command = host.command(&["cred", "import", "--env", "--json"]);
    let output = command.env_clear().env("ANTHROPIC_API_KEY", KEY).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["stored"], json!(["anthropic"]), "{value}");
    let shown = host.json(&["cred", "show", "anthropic"]);
    assert_eq!(shown["secret"]["hosts"], json!(["api.anthropic.com:443"]));
    assert_eq!(shown["secret"]["at"], json!([{ "header": { "name": "x-api-key", "prefix": "" } }]));
}
