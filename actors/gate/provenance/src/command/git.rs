//! The programs that `git` runs besides itself: the settings that name one, and the options and subcommands that take one.

use super::Sign;
use super::split::Word;
use super::unwrap::Inner;

/// The phrase for a setting that gives `git` a program to run later.
pub(super) const SETS: &str = "it sets what git runs";
/// Settings that name a program or a folder of programs, as section and last part; `*` for any.
const RUNS: &[(&str, &str)] = &[
    ("alias", "*"),
    ("browser", "*"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "hookspath"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("core", "worktree"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "*"),
    ("filter", "*"),
    ("gpg", "defaultkeycommand"),
    ("gpg", "program"),
    ("guitool", "*"),
    ("hook", "*"),
    ("imap", "tunnel"),
    ("include", "path"),
    ("includeif", "path"),
    ("init", "templatedir"),
    ("interactive", "difffilter"),
    ("man", "*"),
    ("merge", "driver"),
    ("mergetool", "*"),
    ("pager", "*"),
    ("protocol", "*"),
    ("remote", "proxy"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("remote", "vcs"),
    ("safe", "directory"),
    ("sendemail", "*"),
    ("sequence", "editor"),
    ("submodule", "update"),
    ("tar", "command"),
    ("trailer", "*"),
    ("uploadpack", "packobjectshook"),
    ("web", "browser"),
];
/// Options before the subcommand that take a value.
const VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];
/// Options that name a program, a folder of programs, or a setting, by subcommand.
const OPTIONS: &[(&str, &str, &[&str])] = &[
    ("archive", "", &["--exec"]),
    ("clone", "uc", &["--upload-pack", "--config", "--template"]),
    ("difftool", "x", &["--extcmd"]),
    ("fetch", "", &["--upload-pack"]),
    ("grep", "O", &["--open-files-in-pager"]),
    ("init", "", &["--template"]),
    ("ls-remote", "", &["--upload-pack", "--exec"]),
    ("pull", "", &["--upload-pack"]),
    ("push", "", &["--receive-pack", "--exec"]),
];
/// Subcommands that only run a program or take settings from elsewhere.
const RUNNERS: &[&str] = &[
    "cvsserver", "daemon", "difftool", "filter-branch", "for-each-repo", "gui", "hook", "http-backend",
    "instaweb", "mergetool", "send-email", "shell", "var", "web--browse",
];
/// The subcommands that git has. Another is an alias or a program of somebody's.
const KNOWN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "filter-branch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "index-pack",
    "init",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-tree",
    "mktag",
    "mktree",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// A call of git, taken apart.
struct Call<'a> {
    /// Settings of `-c`.
    settings: Vec<&'a Word>,
    /// Something before the subcommand is only known when it runs, or changes where git takes its parts from.
    hidden: bool,
    subcommand: Option<&'a Word>,
    rest: &'a [Word],
}

fn call(arguments: &[Word]) -> Call<'_> {
    let mut call = Call { settings: Vec::new(), hidden: false, subcommand: None, rest: arguments };
    while let Some((word, rest)) = call.rest.split_first() {
        call.rest = rest;
        call.hidden |= word.open;
        let text = word.text.as_str();
        if !text.starts_with('-') {
            call.subcommand = Some(word);
            break;
        }
        let elsewhere = ["--exec-path=", "--config-env", "--git-dir", "--work-tree"];
        call.hidden |= elsewhere.iter().any(|head| text.starts_with(head));
        if let Some((value, rest)) = rest.split_first().filter(|_| VALUED.contains(&text)) {
            call.settings.extend((text == "-c").then_some(value));
            call.hidden |= value.open && text != "-C";
            call.rest = rest;
        } else if text.starts_with("-c") {
            call.settings.push(word);
        }
    }
    call
}

/// The sign in a call of git, if there is one.
pub(super) fn of(arguments: &[Word]) -> Option<Sign> {
    let call = call(arguments);
    let key = |word: &Word| word.text.trim_start_matches("-c").split('=').next().is_some_and(names_a_program);
    if call.settings.into_iter().any(key) {
        return Some(Sign::Danger(SETS));
    }
    let name = call.subcommand.map_or("", |word| word.text.as_str());
    if name == "config" {
        return setting(call.rest).or_else(|| call.hidden.then_some(Sign::Unread));
    }
    let stranger = call.subcommand.is_some() && !KNOWN.contains(&name);
    let given = OPTIONS.iter().filter(|(of, _, _)| *of == name);
    let given = given.map(|(_, letters, long)| (*letters, *long)).any(|(letters, long)| {
        call.rest.iter().any(|word| word.may_be_option() || is_option(&word.text, letters, long))
    });
    (call.hidden || stranger || given || RUNNERS.contains(&name)).then_some(Sign::Unread)
}

/// Programs that stand among the arguments of a call of git.
pub(super) fn inside(arguments: &[Word]) -> Vec<Inner> {
    let call = call(arguments);
    let script = |word: Option<&Word>| word.map_or(Inner::Unread, Inner::script);
    let behind = |names: &[&str]| {
        let at = call.rest.iter().position(|word| names.contains(&word.text.as_str()));
        at.and_then(|at| call.rest.get(at + 1..))
    };
    match call.subcommand.map_or("", |word| word.text.as_str()) {
        "rebase" => {
            let glued = call.rest.iter().filter_map(|word| {
                let text = word.text.strip_prefix("--exec=").or_else(|| word.text.strip_prefix("-x"))?;
                (!text.is_empty()).then(|| Inner::script(&Word { text: text.to_owned(), ..word.clone() }))
            });
            behind(&["-x", "--exec"]).map(|rest| script(rest.first())).into_iter().chain(glued).collect()
        }
        "submodule" => match behind(&["foreach"]) {
            Some(rest) => {
                let words: Vec<Word> =
                    rest.iter().skip_while(|word| word.text.starts_with('-')).cloned().collect();
                vec![Inner::joined(&words)]
            }
            None => Vec::new(),
        },
        "bisect" => behind(&["run"]).map(|rest| Inner::Words(rest.to_vec())).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The sign in a call of `git config`.
fn setting(words: &[Word]) -> Option<Sign> {
    let renames = |word: &Word| {
        matches!(word.text.as_str(), "--rename-section" | "rename-section" | "--edit" | "-e" | "edit")
    };
    // Whatever stands behind such a name is its value; by itself it is only shown.
    let mut rest = words.iter().skip_while(|word| word.text.starts_with('-') || !names_a_program(&word.text));
    let sets = rest.next().is_some() && rest.any(|word| !word.text.starts_with('-') || word.open);
    let reads = words.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "--get" | "--get-all" | "--get-regexp" | "--unset" | "--unset-all" | "-l" | "--list"
        )
    });
    let hides = |word: &Word| word.open && (word.may_be_option() || !word.text.contains('.'));
    let first = words.iter().find(|word| !word.text.starts_with('-'));
    let unread = words.iter().any(renames) || first.is_some_and(hides);
    if sets && !reads { Some(Sign::Danger(SETS)) } else { (unread && !reads).then_some(Sign::Unread) }
}

/// Returns whether a setting names a program.
fn names_a_program(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let Some((section, _)) = key.split_once('.') else { return false };
    let name = key.rsplit('.').next().unwrap_or_default();
    RUNS.iter().any(|(of, last)| *of == section && (*last == "*" || *last == name))
}

/// Returns whether a word is one of these options: a letter among others, or a long one, whole, cut short or with a value.
pub(super) fn is_option(text: &str, letters: &str, long: &[&str]) -> bool {
    let Some(rest) = text.strip_prefix('-') else { return false };
    let name = text.split('=').next().unwrap_or_default();
    if rest.starts_with('-') {
        return name.len() > 3 && long.iter().any(|one| one.starts_with(name));
    }
    rest.contains(|char| letters.contains(char)) || long.contains(&name)
}
