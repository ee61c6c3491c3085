//! Programs that run text which stands among their arguments, or whatever an option of theirs names. That text is in a
//! language that is not read here.

use super::git::is_option;
use super::sed;
use super::split::Word;
use super::unwrap::{base, is_shell};
use super::{Inputs, Sign};

/// Names; letters and long names of the options that run something; letters of the options that take a value.
type Row = (&'static [&'static str], &'static str, &'static [&'static str], &'static str);

/// Programs that take the options of their own before a file to run, and pass the rest on to that.
const INTERPRETERS: &[Row] = &[
    (&["python", "pypy"], "c", &[], "WXm"),
    (&["perl"], "eE", &[], "I"),
    (&["ruby", "irb"], "er", &["--require"], "IC"),
    (
        &["node", "nodejs", "bun", "tsx"],
        "epr",
        &["--eval", "--print", "--require", "--import", "--loader", "--preload"],
        "C",
    ),
    (&["deno"], "", &["--preload"], ""),
    (&["php"], "rBRE", &["--run", "--process-code"], "dczft"),
    (&["lua", "luajit", "texlua"], "el", &[], ""),
    (
        &[
            "Rscript", "julia", "elixir", "racket", "groovy", "scala", "swipl", "guile", "ghc", "osascript",
            "tclsh", "sbcl", "erl", "jshell",
        ],
        "eEgc",
        &["--eval", "--print", "--load", "-eval", "--execute"],
        "",
    ),
];
/// Programs of which an option names something to run.
const GIVEN: &[Row] = &[
    (
        &["tar", "bsdtar", "gtar"],
        "IF",
        &[
            "--use-compress-program",
            "--to-command",
            "--checkpoint-action",
            "--rmt-command",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
        "",
    ),
    (&["rsync"], "e", &["--rsh", "--rsync-path"], ""),
    (&["ssh", "scp", "sftp"], "oFSJ", &[], ""),
    (&["zip"], "T", &["--unzip-command"], ""),
    (&["man"], "PH", &["--pager", "--html"], ""),
    (
        &["vi", "vim", "nvim", "view", "ex", "emacs", "emacsclient"],
        "cSuefl",
        &["--cmd", "--eval", "--load", "--funcall"],
        "",
    ),
    (&["gdb", "lldb"], "xos", &["--eval-command", "--init-eval-command", "--command", "--init-command"], ""),
    (&["sort"], "", &["--compress-program"], ""),
    (&["split"], "", &["--filter"], ""),
    (&["rg"], "", &["--pre", "--hostname-bin"], ""),
    (&["bat", "delta"], "", &["--pager"], ""),
    (&["cargo"], "", &["--config"], ""),
    (&["make", "gmake"], "E", &["--eval"], ""),
    (&["cmake"], "P", &[], ""),
    (
        &["apt", "apt-get", "apt-cache", "dpkg"],
        "oc",
        &["--option", "--config-file", "--pre-invoke", "--post-invoke"],
        "",
    ),
    (&["npm", "pnpm", "yarn"], "c", &["--call", "--script-shell"], ""),
    (&["sqlite3"], "c", &["--cmd", "-cmd", "-init"], ""),
    (&["wget"], "", &["--use-askpass"], ""),
    (&["nmap"], "", &["--script"], ""),
    (&["bash", "sh", "dash", "zsh", "ksh", "fish"], "C", &["--rcfile", "--init-file", "--init-command"], ""),
];
/// Programs that run whatever they are told, by a text or a file that is not read here; a builtin that reads one into the
/// shell itself changes what the words behind it mean.
const ALWAYS: &[&str] = &[
    ".", "source", "bind", "complete", "compgen", "fc", "tmux", "screen", "dtach", "expect", "entr",
    "watchexec", "parallel", "ed", "red", "m4",
];
/// Programs whose options decide if they do harm.
const CAREFUL: &[&str] = &["rm", "chmod", "install", "find", "fd", "tar", "rsync", "zip"];

/// Returns whether a program with these arguments may run what does not stand there.
pub(super) fn of(program: &str, arguments: &[Word], inputs: &Inputs<'_>) -> Option<Sign> {
    let name = base(program);
    let hidden = ALWAYS.contains(&name)
        // The loader runs the program that it is given.
        || name.starts_with("ld-linux")
        || name.starts_with("ld.so")
        || counts(name, arguments)
        || option(name, arguments)
        || interprets(name, arguments, inputs)
        || (CAREFUL.contains(&name) && arguments.iter().any(Word::may_be_option))
        || awk(name, arguments)
        || (matches!(name, "sed" | "gsed") && !sed::is_plain(arguments));
    hidden.then_some(Sign::Unread)
}

/// Where the shell compares numbers, a name is read as a sum, and that may run something.
fn counts(name: &str, arguments: &[Word]) -> bool {
    const SIGNS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    name == "[["
        && arguments.iter().any(|word| word.open)
        && arguments.iter().any(|word| SIGNS.contains(&word.text.as_str()))
}

/// A name without a version: `python3.12` is Python.
fn unversioned(name: &str) -> &str {
    name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.')
}

fn row<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    rows.iter().find(|(names, ..)| names.contains(&name) || names.contains(&unversioned(name)))
}

fn option(name: &str, arguments: &[Word]) -> bool {
    let Some((_, letters, long, _)) = row(GIVEN, name) else { return false };
    let first = arguments.first().map_or("", |word| word.text.as_str());
    // `tar xIf` needs no dash; `vim +!ls` has another sign.
    let bare = name.ends_with("tar") && first.contains(['I', 'F']) && !first.contains(['/', '.']);
    let plus = |word: &Word| word.text.starts_with('+') && letters.starts_with("cS");
    let set = |word: &Word| word.text.starts_with("SHELL=") && name.ends_with("make");
    let runs = |word: &Word| is_option(&word.text, letters, long) || plus(word) || set(word);
    bare || arguments.iter().any(runs)
}

/// An interpreter that is given its program as text: in its options, in its input, or by a name that is only known later.
fn interprets(name: &str, arguments: &[Word], inputs: &Inputs<'_>) -> bool {
    let shell = is_shell(name);
    let found = row(INTERPRETERS, name);
    if !shell && found.is_none() {
        return false;
    }
    let (letters, long, valued) =
        found.map_or(("", [].as_slice(), "oO"), |(_, letters, long, valued)| (*letters, *long, *valued));
    let mut before = "";
    for word in arguments {
        let text = word.text.as_str();
        // The word behind an option may be its value, or else the file that is run.
        let value = before.starts_with('-')
            && (before.starts_with("--") && !before.contains('=')
                || before.ends_with(|char| valued.contains(char)));
        if word.open && word.open_from == 0 {
            return true;
        }
        if text.starts_with('-') && text.len() > 1 {
            if is_option(text, letters, long) {
                return true;
            }
        } else if text == "-" {
            return true;
        } else if !value {
            return matches!(text, "eval" | "repl") && matches!(name, "deno");
        } else if before.ends_with('m') && !shell {
            return false;
        }
        before = text;
    }
    // No file: it reads its input. What is written out for a shell is looked at elsewhere.
    !inputs.upstream.is_empty() || (!shell && inputs.body.is_some())
}

/// The program text of awk can run others, and says so in one of few ways.
fn awk(name: &str, arguments: &[Word]) -> bool {
    const RUN: [&str; 4] = ["system", "|", "getline", "@load"];
    if !matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "original-awk") {
        return false;
    }
    let runs = |word: &Word| word.open || RUN.iter().any(|sign| word.text.contains(sign));
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !text.starts_with('-') || text == "-" {
            return runs(word);
        }
        if word.may_be_option() || is_option(text, "eliDE", &["--source", "--load", "--include", "--exec"]) {
            return true;
        }
        match text {
            "-v" | "-F" | "--assign" | "--field-separator" => drop(words.next()),
            // A file is its program, whatever stands behind.
            "-f" | "--file" => return words.next().is_none_or(|file| file.open),
            _ => {}
        }
    }
    false
}
