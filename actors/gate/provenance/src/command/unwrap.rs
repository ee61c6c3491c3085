//! Programs that run other programs, and where in their arguments these stand.

use super::Word;

/// What a program runs in turn.
pub(super) enum Inner<'a> {
    /// A program with its arguments.
    Words(&'a [Word]),
    /// A command line.
    Script(String),
    /// Something that is only known when it runs.
    Unread,
}

/// A wrapper: its name, its options that take a value, and how many words stand before the program.
type Wrapper = (&'static str, &'static [&'static str], usize);

const WRAPPERS: [Wrapper; 32] = [
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D", "-R", "-T"], 0),
    ("doas", &["-u", "-C"], 0),
    ("pkexec", &["--user"], 0),
    ("runuser", &["-u", "-g"], 0),
    ("setpriv", &[], 0),
    ("env", &["-u", "--unset", "-C", "--chdir"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("time", &["-f", "-o"], 0),
    ("nice", &["-n"], 0),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("chrt", &[], 1),
    ("taskset", &[], 1),
    ("prlimit", &[], 0),
    ("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    (
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-E",
            "-s",
            "-a",
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
        ],
        0,
    ),
    ("parallel", &["-j", "--jobs", "-I", "-a"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("busybox", &[], 0),
    ("toybox", &[], 0),
    ("chroot", &[], 1),
    ("unshare", &[], 0),
    ("nsenter", &["-t", "-S", "-G"], 0),
    ("flock", &["-w", "-E"], 1),
    ("watch", &["-n", "-q"], 0),
    ("strace", &["-e", "-o", "-p", "-s", "-u"], 0),
    ("ltrace", &["-e", "-o", "-p", "-s", "-u"], 0),
    ("faketime", &[], 1),
    ("firejail", &[], 0),
];

const SHELLS: [&str; 13] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "pwsh", "yash"];

/// The last step of a program's path.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether it is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&base(program))
}

/// What a program runs in turn, given its arguments and its input.
pub(super) fn unwrap<'a>(program: &str, arguments: &'a [Word], body: Option<&str>) -> Vec<Inner<'a>> {
    let name = base(program);
    if is_shell(name) || matches!(name, "su" | "script") {
        return shell(arguments, body.filter(|_| is_shell(name)));
    }
    match name {
        "eval" => return vec![joined(arguments)],
        "trap" => return arguments.first().map(script).into_iter().collect(),
        "find" | "fd" => return executed(arguments),
        _ => {}
    }
    let Some((_, valued, before)) = WRAPPERS.iter().find(|(wrapper, _, _)| *wrapper == name) else {
        return Vec::new();
    };
    wrapped(name, arguments, valued, *before)
}

/// `-c SCRIPT`, also among other letters; else its input, where that is written out.
fn shell<'a>(arguments: &'a [Word], body: Option<&str>) -> Vec<Inner<'a>> {
    let flag = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        word.text == "--command" || letters.is_some_and(|letters| letters.contains('c'))
    };
    match arguments.iter().position(flag) {
        Some(at) => vec![
            arguments
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .find(|word| !word.text.starts_with('-'))
                .map_or(Inner::Unread, script),
        ],
        None => body.map(|text| Inner::Script(text.to_owned())).into_iter().collect(),
    }
}

fn script<'a>(word: &Word) -> Inner<'a> {
    if word.open { Inner::Unread } else { Inner::Script(word.text.clone()) }
}

fn joined<'a>(arguments: &[Word]) -> Inner<'a> {
    if arguments.iter().any(|word| word.open) {
        return Inner::Unread;
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    Inner::Script(texts.join(" "))
}

/// `-exec PROGRAM … ;`
fn executed(arguments: &[Word]) -> Vec<Inner<'_>> {
    let marks = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let starts = arguments.iter().enumerate().filter(|(_, word)| marks.contains(&word.text.as_str()));
    starts
        .filter_map(|(at, _)| arguments.get(at + 1..))
        .map(|tail| {
            let end =
                tail.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(tail.len());
            Inner::Words(tail.get(..end).unwrap_or_default())
        })
        .collect()
}

fn wrapped<'a>(name: &str, arguments: &'a [Word], valued: &[&str], before: usize) -> Vec<Inner<'a>> {
    let mut rest = arguments;
    let mut before = before;
    while let Some((word, tail)) = rest.split_first() {
        let text = word.text.as_str();
        let line = match name {
            "env" => text.strip_prefix("--split-string=").or_else(|| text.strip_prefix("-S")),
            _ => None,
        };
        if let Some(line) = line {
            let more = if line.is_empty() {
                tail.first().map_or(Inner::Unread, script)
            } else {
                script(&Word { text: line.to_owned(), ..word.clone() })
            };
            return vec![more];
        }
        if name == "flock" && text == "-c" {
            return vec![tail.first().map_or(Inner::Unread, script)];
        }
        let option = text.starts_with('-') && text.len() > 1;
        if option || word.is_assignment() {
            rest = if valued.contains(&text) { tail.get(1..).unwrap_or_default() } else { tail };
        } else if before > 0 {
            before -= 1;
            rest = tail;
        } else {
            break;
        }
    }
    // `watch` and `parallel` give one word to a shell.
    match rest {
        [one] if matches!(name, "watch" | "parallel") => vec![script(one)],
        [] => Vec::new(),
        words => vec![Inner::Words(words)],
    }
}
