//! `agentctl sandbox run`: any command in a runner's jail.

use tests::Host;

fn run(host: &Host, script: &str) -> (Option<i32>, String, String) {
    let output = host.ctl(&["sandbox", "run", "--", "sh", "-c", script]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn output_and_exit_status_are_the_commands_own() {
    let host = Host::start();
    assert_eq!(run(&host, "echo out; echo err >&2; exit 7"), (Some(7), "out\n".into(), "err\n".into()));
    assert_eq!(host.ctl(&["sandbox", "run", "--", "/no/such/program"]).status.code(), Some(125));
}

#[test]
fn sh_git_python3_and_node_found_on_the_host_work_inside() {
    let host = Host::start();
    let scripts = [
        ("sh", "echo ok"),
        (
            "git",
            "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l && echo ok",
        ),
        (
            "python3",
            "/usr/bin/python3 -c 'import json, subprocess, threading; t = threading.Thread(target=print); t.start(); t.join(); print(\"ok\")'",
        ),
        ("node", "node -e 'setTimeout(() => console.log(\"ok\"), 10)'"),
    ];
    for (program, script) in scripts {
        let there = ["/usr/bin", "/bin", "/usr/local/bin"]
            .iter()
            .any(|folder| std::path::Path::new(folder).join(program).exists());
        if there {
            let (code, out, err) = run(&host, script);
            assert!(code == Some(0) && out.contains("ok"), "{program}: {code:?} {out} {err}");
        }
    }
}

#[test]
fn a_file_is_put_into_a_workspace_and_given_out_again() {
    let host = Host::start();
    let file = host.dir().join("note.txt");
    std::fs::write(&file, "forty-two\n").unwrap();
    let _ = host.json(&["workspace", "put", "s", "deep/note.txt", file.to_str().unwrap()]);
    assert!(host.chat("s", "read deep/note.txt").contains("forty-two"));
    assert_eq!(host.ctl(&["workspace", "get", "s", "deep/note.txt"]).stdout, b"forty-two\n");
}
