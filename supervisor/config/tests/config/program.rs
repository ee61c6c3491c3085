//! The program itself, as agentd and people execute it.

use manifest::settings::decode;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[expect(clippy::disallowed_methods, reason = "the test executes the program under test")]
fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentd-config"));
    command.args(words).env_clear().stdin(Stdio::null()).output().unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

#[test]
fn it_writes_a_document_that_agentd_can_read_and_says_nothing() {
    let output = run(&["--owner", "1234", "--state-dir", "/srv/cordon"]);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), [].as_slice()));
    let (_, sections) = decode(&output.stdout).unwrap();
    let part = |process| String::from_utf8(sections.get(process).unwrap().to_vec()).unwrap();
    assert!(part(manifest::Process::Router).contains("\"owner_uid\":1234"));
    assert!(part(manifest::Process::Control).contains("\"state_dir\":\"/srv/cordon\""));
}

#[test]
fn a_bad_file_gives_78_a_report_and_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cordon.toml");
    std::fs::write(&path, "[host]\nmode = 'x'\n[memory]\nmax_rows = 0\n").unwrap();
    let path = path.to_str().unwrap();
    for task in [["--config", path].as_slice(), &["--config", path, "--check"]] {
        let output = run(task);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(78), [].as_slice()));
        let report = format!(
            "{path}:2: host.mode: \"x\" is unknown; valid: auto, system, user, flat\n\
             {path}:4: memory.max_rows: 0 is out of range; valid: a whole number from 1 to 10000000\n"
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), report);
    }
}

#[test]
fn a_file_that_cannot_be_used_gives_78() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let missing = format!("{path}/none.toml");
    for (file, what) in [
        (path, "it is not a regular file"),
        (&missing, "it cannot be read: No such file or directory (os error 2)"),
    ] {
        let output = run(&["--config", file]);
        let report = format!("{file}:1: file: {what}; valid: a readable file of at most 1048576 bytes\n");
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(78), report));
    }
}

#[test]
fn a_wrong_command_line_gives_64_and_the_usage() {
    let output = run(&["--frobnicate"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(64), [].as_slice()));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("usage: agentd-config "));
}

#[test]
fn the_file_that_is_shipped_is_right_and_short() {
    let path = repository().join("deploy/cordon.toml");
    let output = run(&["--config", path.to_str().unwrap(), "--check"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(&format!("{}: ok\nmode ", path.display())));
    assert!(text("deploy/cordon.toml").lines().count() <= 25);
}

#[test]
fn the_reference_and_the_man_page_are_what_the_table_of_keys_says() {
    for (file, flag) in [
        ("docs/reference/configuration.md", "--print-reference"),
        ("deploy/man/cordon.toml.5", "--print-man"),
    ] {
        let printed = String::from_utf8(run(&[flag]).stdout).unwrap();
        for key in agentd_config::keys::all() {
            let name = key.path.rsplit('.').next().unwrap();
            assert!(
                printed.contains(name)
                    && printed.contains(
                        &key.preset.toml().replace('-', if flag.ends_with("man") { "\\-" } else { "-" })
                    ),
                "{}",
                key.path
            );
        }
        assert!(
            text(file).contains(&printed),
            "{file} is out of date: put what `agentd-config {flag}` prints into it"
        );
    }
}

#[test]
fn every_example_in_the_documents_is_right() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("prompts")).unwrap();
    std::fs::write(folder.path().join("prompts/librarian.md"), "You keep the library.\n").unwrap();
    let page = text("docs/reference/configuration.md");
    let examples: Vec<_> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let man = text("deploy/man/cordon.toml.5").replace("\\-", "-").replace("\\&", "");
    let of_man = man.split(".EX\n").skip(1).map(|rest| rest.split(".EE").next().unwrap());
    let examples: Vec<_> = examples.into_iter().chain(of_man).collect();
    assert!(examples.len() >= 4);
    for example in examples {
        let path = folder.path().join("cordon.toml");
        std::fs::write(&path, example).unwrap();
        let output = run(&["--config", path.to_str().unwrap(), "--check"]);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{example}");
    }
}
