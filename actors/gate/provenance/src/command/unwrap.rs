//! Programs that run other programs, and where in their arguments these stand.

use super::{TOLD, Word, git};

/// The command that a program runs in turn.
pub(super) enum Inner {
    /// A program with its arguments.
    Words(Vec<Word>),
    /// A command line.
    Script(String),
    /// A variable that is set for the program.
    Sets(Word),
    /// Something that is only known when it runs.
    Unread,
}

impl Inner {
    /// A word that is a command line.
    pub(super) fn script(word: &Word) -> Self {
        if word.open { Self::Unread } else { Self::Script(word.text.clone()) }
    }

    /// Words that are put together to one.
    pub(super) fn joined(words: &[Word]) -> Self {
        if words.iter().any(|word| word.open) {
            return Self::Unread;
        }
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        Self::Script(texts.join(" "))
    }
}

/// A wrapper: its name, its options that take a value, and how many words stand before the program.
type Wrapper = (&'static str, &'static [&'static str], usize);

const WRAPPERS: &[Wrapper] = &[
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
            "-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--arg-file", "--delimiter", "--max-args",
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
    ("bundle", &[], 1),
    ("chronic", &[], 0),
    ("direnv", &[], 2),
    ("fakeroot", &[], 0),
    ("npx", &["-p", "--package"], 0),
    ("pipx", &["--spec"], 1),
    ("poetry", &[], 1),
    ("rlwrap", &[], 0),
    ("setarch", &[], 1),
    ("systemd-run", &["-u", "-p", "-E"], 0),
    ("unbuffer", &[], 0),
    ("uvx", &["--from", "--with"], 0),
    ("valgrind", &[], 0),
];

const SHELLS: [&str; 13] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "pwsh", "yash"];

/// The last step of a program's path.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether it is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&base(program))
}

/// The commands that a program runs in turn, from its arguments and its input.
pub(super) fn unwrap(program: &str, arguments: &[Word], body: Option<&str>) -> Vec<Inner> {
    let name = base(program);
    if is_shell(name) || matches!(name, "su" | "script") {
        return shell(arguments, body.filter(|_| is_shell(name)));
    }
    match name {
        "eval" => return vec![Inner::joined(arguments)],
        "git" => return git::inside(arguments),
        "trap" => {
            return arguments.iter().find(|word| word.text != "--").map(Inner::script).into_iter().collect();
        }
        "find" | "fd" => return executed(arguments),
        _ => {}
    }
    let Some((_, valued, before)) = WRAPPERS.iter().find(|(wrapper, _, _)| *wrapper == name) else {
        return Vec::new();
    };
    wrapped(name, arguments, valued, *before)
}

/// `-c SCRIPT`, also among other letters; else its input, where that is written out.
fn shell(arguments: &[Word], body: Option<&str>) -> Vec<Inner> {
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
                .map_or(Inner::Unread, Inner::script),
        ],
        None => body.map(|text| Inner::Script(text.to_owned())).into_iter().collect(),
    }
}

/// `-exec PROGRAM … ;`, with what is found in place of `{}`.
fn executed(arguments: &[Word]) -> Vec<Inner> {
    let marks = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let starts = arguments.iter().enumerate().filter(|(_, word)| marks.contains(&word.text.as_str()));
    let mut tails = starts.filter_map(|(at, _)| arguments.get(at + 1..));
    let programs = tails.by_ref().take(TOLD).map(|tail| {
        let end = tail.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(tail.len());
        Inner::Words(filled(tail.get(..end).unwrap_or_default(), "{}"))
    });
    let mut all: Vec<Inner> = programs.collect();
    all.extend(tails.next().map(|_| Inner::Unread));
    all
}

/// Words with a place that is filled in when they run; a word that is such a place may become anything.
fn filled(words: &[Word], place: &str) -> Vec<Word> {
    let fill = |word: &Word| match word.text.find(place) {
        Some(at) if !word.open || at < word.open_from => {
            Word { open: true, open_from: at, text: word.text.replace(place, ""), ..word.clone() }
        }
        _ => word.clone(),
    };
    words.iter().map(fill).collect()
}

/// The command that `xargs` runs: the words that it reads stand behind its own, or in the place that `-I` names.
fn with_input(options: &[Word], words: &[Word]) -> Vec<Word> {
    let texts = options.iter().map(|word| word.text.as_str());
    let mut before = "";
    for text in texts {
        let place = match before {
            "-I" => Some(text),
            _ => text
                .strip_prefix("--replace=")
                .or_else(|| text.strip_prefix("-I"))
                .filter(|place| !place.is_empty()),
        };
        if let Some(place) = place {
            return filled(words, place);
        }
        if matches!(text, "-i" | "--replace") {
            return filled(words, "{}");
        }
        before = text;
    }
    words.iter().cloned().chain([Word { open: true, ..Word::default() }]).collect()
}

fn wrapped(name: &str, arguments: &[Word], valued: &[&str], before: usize) -> Vec<Inner> {
    let mut rest = arguments;
    let mut before = before;
    let mut found = Vec::new();
    while let Some((word, tail)) = rest.split_first() {
        let text = word.text.as_str();
        if word.open && (word.open_from == 0 || text.starts_with('-')) && name != "watch" {
            // Where its own words end is only known when it runs.
            found.extend([Inner::Unread, Inner::Words(tail.to_vec())]);
            return found;
        }
        let line = match name {
            "env" => text.strip_prefix("--split-string=").or_else(|| text.strip_prefix("-S")),
            _ => None,
        };
        if let Some(line) = line {
            let more = if line.is_empty() {
                tail.first().map_or(Inner::Unread, Inner::script)
            } else {
                Inner::script(&Word { text: line.to_owned(), ..word.clone() })
            };
            found.push(more);
            return found;
        }
        if name == "flock" && text == "-c" {
            return vec![tail.first().map_or(Inner::Unread, Inner::script)];
        }
        let option = text.starts_with('-') && text.len() > 1;
        if option || word.is_assignment() {
            found.extend((!option).then(|| Inner::Sets(word.clone())));
            rest = if valued.contains(&text) { tail.get(1..).unwrap_or_default() } else { tail };
        } else if before > 0 {
            before -= 1;
            rest = tail;
        } else {
            break;
        }
    }
    // `watch` and `parallel` give one word to a shell.
    found.extend(match rest {
        [one] if matches!(name, "watch" | "parallel") => Some(Inner::script(one)),
        [] => None,
        words if name == "xargs" => {
            let options = arguments.get(..arguments.len() - words.len()).unwrap_or_default();
            Some(Inner::Words(with_input(options, words)))
        }
        words => Some(Inner::Words(words.to_vec())),
    });
    found
}
