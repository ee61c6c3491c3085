//! Variables that decide which code a program runs, and the ways to set them.

use super::split::Word;
use super::{CHANGES, Sign};

/// Variables of the shell, the loader, and the programs that developers have.
const DECIDING: &[&str] = &[
    "BASH_ENV",
    "BROWSER",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_HOME",
    "CLASSPATH",
    "EDITOR",
    "ENV",
    "FPATH",
    "GCONV_PATH",
    "GEM_PATH",
    "GOFLAGS",
    "GUILE_LOAD_PATH",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JULIA_LOAD_PATH",
    "LESSCLOSE",
    "LESSOPEN",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MAVEN_OPTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RSYNC_RSH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SHELL",
    "SHELLOPTS",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "VISUAL",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];
/// The same by how their names begin.
const DECIDING_HEADS: &[&str] = &["BASH_FUNC_", "CARGO_TARGET_", "DYLD_", "GIT_", "LD_"];
/// Beginnings of names that decide nothing.
const HARMLESS_HEADS: &[&str] = &["CARGO_TARGET_DIR", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_OPTIONAL_LOCKS"];
/// Names of programs that show text, which a variable for one may be set to.
const SHOWS: &[&str] = &["PAGER", "MANPAGER", "GIT_PAGER"];
/// Builtins that set the variables among their arguments.
const DECLARING: &[&str] = &["export", "declare", "typeset", "readonly", "local"];
/// Builtins that set the variables that they are given the names of.
const FILLING: &[&str] = &["read", "mapfile", "readarray", "getopts", "let"];

/// Returns whether `NAME=…` sets a variable that decides which code runs.
pub(super) fn decides(word: &Word) -> bool {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let name = name.trim_end_matches('+');
    let shows = SHOWS.contains(&name) && !word.open && matches!(value, "" | "cat" | "less" | "more");
    let harmless = shows || HARMLESS_HEADS.iter().any(|head| name.starts_with(head));
    !harmless && (DECIDING.contains(&name) || DECIDING_HEADS.iter().any(|head| name.starts_with(head)))
}

/// The sign in the assignments before a program.
pub(super) fn before(assigned: &[Word], program: Option<&Word>) -> Option<Sign> {
    // `IFS= read -r line` splits what is read, and nothing else.
    let reads = program.is_some_and(|word| FILLING.contains(&word.text.as_str()));
    let bad = |word: &&Word| decides(word) && !(reads && word.text.starts_with("IFS="));
    assigned.iter().find(bad).map(|_| Sign::Danger(CHANGES))
}

/// The sign in a builtin of the shell, or in another way by which the shell runs something under another name.
pub(super) fn set_by(name: &str, arguments: &[Word]) -> Option<Sign> {
    let flag = |letters: &[char]| {
        arguments.iter().any(|word| word.text.strip_prefix('-').is_some_and(|rest| rest.contains(letters)))
    };
    let named = |words: &[Word]| {
        let bad = words.iter().any(|word| !word.text.starts_with('-') && decides(word));
        let unread = words.iter().any(|word| word.open && word.open_from <= name_ends(&word.text));
        if bad { Some(Sign::Danger(CHANGES)) } else { unread.then_some(Sign::Unread) }
    };
    match name {
        // Without a value it only passes on what was set before; by another name it sets what cannot be seen.
        name if DECLARING.contains(&name) => {
            let (set, rest): (Vec<Word>, Vec<Word>) =
                arguments.iter().cloned().partition(|word| word.text.contains('='));
            let hides = (name != "export" && flag(&['n'])) || rest.iter().any(|word| word.open);
            named(&set).or_else(|| hides.then_some(Sign::Unread))
        }
        "mapfile" | "readarray" if flag(&['C']) => Some(Sign::Unread),
        name if FILLING.contains(&name) => named(arguments),
        "printf" if flag(&['v']) => named(arguments.get(1..2).unwrap_or_default()),
        "hash" if flag(&['p']) => Some(Sign::Danger(CHANGES)),
        "enable" if flag(&['f']) => Some(Sign::Danger(CHANGES)),
        "alias" => arguments.iter().any(|word| word.open || word.text.contains('=')).then_some(Sign::Unread),
        _ => None,
    }
}

/// Where the name ends in a word that sets it.
fn name_ends(text: &str) -> usize {
    text.find('=').unwrap_or(text.len())
}
