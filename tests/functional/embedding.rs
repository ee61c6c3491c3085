//! The model of this machine: it makes the vectors that memory keeps and those of questions, and says why where it cannot.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tests::{Host, Setup, programs, write_model};

const LOCAL: &str = "[memory]\nembedder = \"local\"\n[curator]\nbatch_interval_ms = 200\n";

fn embedded(host: &Host) -> Value {
    host.json(&["memory", "stats"])["embedded"].clone()
}

/// A folder with a model, where a process with an id of its own finds it.
fn folder(seed: u64) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("cordon-model-").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    write_model(folder.path(), seed);
    folder
}

fn configured(folder: &Path) -> String {
    format!("{LOCAL}[embedder]\nfolder = \"{}\"\nidle_seconds = 1\n", folder.display())
}

// Holds P5-16.
#[test]
fn rows_and_questions_are_embedded_by_the_local_model() {
    let folder = folder(7);
    let host = Setup::default().config(&configured(folder.path())).start();
    for text in ["the ferry leaves at noon", "Ida bought a cello"] {
        let _ = host.json(&["memory", "add", text]);
    }
    host.wait_for("every row has a vector", || embedded(&host) == 2);
    let stats = host.json(&["memory", "stats"]);
    assert!(stats["embedder"].as_str().is_some_and(|name| name.starts_with("local:")), "{stats}");
    for by in ["meaning", "fused", "weighted"] {
        let found = host.json(&["memory", "search", "the ferry leaves at noon", "--by", by, "--explain"]);
        assert_eq!(found["hits"][0]["content"], "the ferry leaves at noon", "{found}");
        assert_eq!(found["hits"][0]["why"]["by_meaning"], 1, "{found}");
        assert_eq!(found["hits"][0]["why"]["likeness"], 1000, "the same text is as alike as can be: {found}");
    }
    host.wait_for("the model is let go of", || host.log().contains("the model is let go of"));
    let again = host.json(&["memory", "search", "Ida bought a cello", "--by", "meaning"]);
    assert_eq!(again["hits"][0]["content"], "Ida bought a cello", "{again}");
}

#[test]
fn without_a_model_there_is_no_such_process() {
    let host = Host::start();
    let status = host.json(&["status"]);
    let names = status["processes"].as_array().unwrap().iter().map(|process| &process["name"]);
    assert!(names.into_iter().all(|name| name != "embedder"), "{status}");
}

#[test]
fn a_killed_embedder_is_waited_for_and_every_row_gets_its_vector() {
    let folder = folder(7);
    let host = Setup::default().config(&configured(folder.path())).start();
    host.kill_and_wait("embedder");
    let _ = host.json(&["memory", "add", "the ferry leaves at noon"]);
    host.wait_for("the row has a vector", || embedded(&host) == 1);
}

// Holds P5-18.
#[test]
fn another_model_makes_every_vector_anew() {
    let (one, other) = (folder(7), folder(8));
    let state = tempfile::Builder::new().prefix("cordon-state-").tempdir().unwrap();
    fs::set_permissions(state.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut names = Vec::new();
    for folder in [&one, &other] {
        let mut host = Setup::default().config(&configured(folder.path())).state(state.path()).start();
        let _ = host.json(&["memory", "add", &format!("row {}", names.len())]);
        host.wait_for("every row has a vector", || embedded(&host) == names.len() + 1);
        names.push(host.json(&["memory", "stats"])["embedder"].clone());
        assert_eq!(host.stop(), Some(0));
    }
    assert_ne!(names[0], names[1]);
}

// Holds P5-17, P5-21, P7-23.
#[test]
fn changed_model_files_are_reported_and_no_other_method_takes_over() {
    let folder = folder(7);
    let host = Setup::default().config(&configured(folder.path())).start();
    let _ = host.json(&["memory", "add", "the ferry leaves at noon"]);
    host.wait_for("the row has a vector", || embedded(&host) == 1);
    host.wait_for("the model is let go of", || host.log().contains("the model is let go of"));
    let file = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, &bytes).unwrap();
    let failed = host.ask(&["memory", "search", "ferry", "--by", "fused"]);
    assert_eq!(failed["error"]["type"], "embedder", "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("have changed; put them back"), "{failed}");
    let found = host.json(&["memory", "search", "ferry"]);
    assert_eq!(found["hits"][0]["content"], "the ferry leaves at noon", "{found}");
    assert!(found["notes"][0].as_str().unwrap().contains("by words alone"), "{found}");
    let reason = || host.json(&["status"])["host"]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason().contains("embedder: the files of the model"), "{}", reason());
    // The host notices a repaired model by itself.
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    host.wait_for("the model is loaded again", || reason().is_empty());
    let found = host.json(&["memory", "search", "ferry", "--by", "fused"]);
    assert_eq!(found["hits"][0]["content"], "the ferry leaves at noon", "{found}");
}

/// Runs `agentd check` with this configuration.
#[expect(clippy::disallowed_methods, reason = "a test runs the program as a person would")]
fn checked(config: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cordon.toml");
    fs::write(&file, config).unwrap();
    let mut command = Command::new(programs().join("agentd"));
    command.arg("check").arg("--config").arg(&file).arg("--state-dir").arg(dir.path().join("state"));
    command.output().unwrap()
}

// Holds P5-17.
#[test]
fn a_model_that_cannot_be_used_is_named_before_a_host_starts() {
    type Harm = fn(&Path);
    let cases: &[(Harm, &str)] = &[
        (|at| fs::remove_dir_all(at).unwrap(), "config.json cannot be read"),
        (|at| fs::remove_file(at.join("vocab.txt")).unwrap(), "vocab.txt cannot be read"),
        (|at| fs::write(at.join("config.json"), r#"{"model_type": "gpt2"}"#).unwrap(), "of the kind gpt2"),
        (
            |at| {
                let file = fs::File::options().write(true).open(at.join("model.safetensors")).unwrap();
                file.set_len(file.metadata().unwrap().len() - 4).unwrap();
            },
            "it was cut or added to",
        ),
        (
            |at| fs::write(at.join("model.safetensors"), [0xff; 64]).unwrap(),
            "its header is longer than the file",
        ),
    ];
    for (harm, why) in cases {
        let folder = folder(7);
        let config = configured(folder.path());
        harm(folder.path());
        let output = checked(&config);
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(said.contains("embedder.folder") && said.contains(why), "{said}, and not {why}");
        if folder.path().exists() {
            continue;
        }
        fs::create_dir(folder.path()).unwrap();
    }
    let output = checked(LOCAL);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("there is no model of this machine"), "{said}");
}

const TALK: &str = r#"{"op":"add","id":"t1","session":"s","time":"2031-05-08T10:00:00Z","speaker":"Ida","text":"I bought a cello yesterday."}
{"op":"add","id":"t2","session":"s","time":"2031-05-08T10:00:00Z","speaker":"Ruben","text":"the ferry was late"}
{"op":"ask","id":"q","question":"the ferry was late","evidence":["t2"]}
"#;

/// Runs `agentctl memory eval` where there is no host, with a model.
#[expect(clippy::disallowed_methods, reason = "a test runs the command as a person would")]
fn measured(lines: &str, folder: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(programs().join("agentctl"));
    command.args(["--socket", "/nowhere", "memory", "eval", "--embedder"]).arg(folder).args(options);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    // A program that ends at a malformed line reads no further.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn finding_by_the_model_of_a_folder_is_measured_without_a_host() {
    let folder = folder(7);
    for by in [&["--by", "meaning"][..], &[]] {
        let output = measured(TALK, folder.path(), &[by, &["--limit", "5", "--json"]].concat());
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["id"], &lines[0]["results"][0]), (&"q".into(), &"t2".into()), "{text}");
        assert_eq!(lines[1]["figures"]["mrr"], 1.0, "{text}");
    }
    // The turn that is asked for has its vector also where a mark stands before it.
    let mut turns: Vec<&str> = TALK.lines().collect();
    turns.swap(0, 1);
    let output = measured(
        &format!("\u{feff}{}", turns.join("\n")),
        folder.path(),
        &["--by", "meaning", "--limit", "1"],
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("[\"t2\"]"), "{output:?}");
    let output = measured(&format!("{TALK}{{\"op\":\"add\"}}\n"), folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 4"), "{output:?}");
}

#[test]
fn a_measurement_by_a_model_of_no_use_prints_no_figures() {
    let folder = folder(7);
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let output = measured(TALK, folder.path(), &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("model.safetensors cannot be read"),
        "{output:?}"
    );
}
