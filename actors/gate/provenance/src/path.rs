//! Where a path leads, read on its text alone: which file it turns out to be is for the jail, which opens beneath the
//! workspace and follows nothing out of it. Refused is whatever another reader might take for a way out: a step
//! upward, a backslash, an escape, a character that looks like or folds into a dot or a slash.

use crate::text::is_invisible;
use unicode_normalization::UnicodeNormalization;

/// The target of a path, and the verdict on naming it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// It stays in the workspace and names nothing that is protected.
    pub allowed: bool,
    /// The path as an absolute one, `/workspace` or `/workspace/…`; empty where it does not stay there.
    pub canonical: String,
    /// The reason, in a fixed phrase.
    pub reason: &'static str,
}

/// The workspace, as the jail has it.
const ROOT: &str = "/workspace";
/// Bytes of a path, as the kernel bounds it.
const BOUND: usize = 4096;
/// Places of the system, where a path that is outside the workspace is told apart.
const SYSTEM: [&str; 12] =
    ["proc", "sys", "dev", "etc", "root", "boot", "var", "run", "usr", "bin", "sbin", "lib"];
/// Names, in small letters, of files and folders that hold keys, or that run by themselves.
const PROTECTED: [&str; 38] = [
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials",
    ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".htpasswd", ".password-store", ".vault-token", ".env",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", "credentials", "credentials.json",
    "shadow", "gshadow", "sudoers", "docker.sock", "containerd.sock", "podman.sock", ".bashrc",
    ".bash_profile", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".bash_history", "crontab",
];
/// The same for a folder and a name in it.
const PROTECTED_PAIRS: [(&str, &str); 4] =
    [(".config", "gcloud"), (".config", "gh"), (".git", "hooks"), (".config", "autostart")];

/// Judges a path; one that does not begin with a slash begins in the workspace.
#[must_use]
pub fn verdict(path: &str) -> Path {
    let judged = well_formed(path).and_then(|()| inside(path));
    match judged {
        Err(reason) => Path { allowed: false, canonical: String::new(), reason },
        Ok(canonical) if is_protected(path) => Path { allowed: false, canonical, reason: "a protected name" },
        Ok(canonical) => Path { allowed: true, canonical, reason: "in the workspace" },
    }
}

fn well_formed(path: &str) -> Result<(), &'static str> {
    let lower = path.to_ascii_lowercase();
    let rules: [(bool, &str); 11] = [
        (path.trim().is_empty(), "no path"),
        (path.len() > BOUND, "longer than a path may be"),
        (path.contains('\0'), "a NUL byte"),
        (path.contains(char::is_control), "a control character"),
        (path.contains(is_invisible), "an invisible character"),
        (path.contains('\\'), "a backslash"),
        (path.contains(is_lookalike), "a character that is read as a dot or a slash"),
        (is_escaped(&lower), "an escaped character"),
        (path.starts_with("//"), "a network path"),
        (has_scheme(path), "a drive letter or a scheme"),
        (path.split('/').any(is_upward), "a step upward"),
    ];
    rules.iter().find(|(hit, _)| *hit).map_or(Ok(()), |(_, reason)| Err(*reason))
}

/// `..`, also with what some readers cut off: blanks, and parameters behind a semicolon.
fn is_upward(step: &str) -> bool {
    step.split(';').next().unwrap_or_default().trim() == ".."
}

/// Characters beyond ASCII that fold into a mark with a meaning in paths, or look like one.
fn is_lookalike(char: char) -> bool {
    let marks = |char: char| matches!(char, '.' | '/' | '\\' | ':' | '%' | '~');
    let looks = matches!(
        char,
        '\u{2044}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{29f5}'
            | '\u{29f8}'
            | '\u{29f9}'
            | '\u{2571}'
            | '\u{2572}'
            | '\u{3002}'
            | '\u{a4f8}'
            | '\u{0701}'
            | '\u{0702}'
            | '\u{2236}'
            | '\u{a789}'
            | '\u{10101}'
    );
    looks || (!char.is_ascii() && std::iter::once(char).nfkc().any(|c| marks(c) || c == '\u{2044}'))
}

/// Per cent, hexadecimal and entity escapes, in small letters. `%%` is what a double escape leaves in the middle.
fn is_escaped(path: &str) -> bool {
    let hex = |text: &str, count: usize| {
        text.len() >= count && text.bytes().take(count).all(|byte| byte.is_ascii_hexdigit())
    };
    let percent = path.match_indices('%').filter_map(|(at, _)| path.get(at + 1..)).any(|rest| {
        hex(rest, 2) || rest.starts_with('%') || rest.strip_prefix('u').is_some_and(|rest| hex(rest, 4))
    });
    let written = ["0x2e", "0x2f", "0x5c", "&#", "&period;", "&sol;", "&bsol;", "&apos;", "&quot;"];
    percent || written.iter().any(|escape| path.contains(escape))
}

/// `C:…`, `file:/…`, `name:/…`.
fn has_scheme(path: &str) -> bool {
    let Some((scheme, rest)) = path.split_once(':') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let word = scheme.starts_with(|char: char| char.is_ascii_alphabetic()) && scheme.bytes().all(plain);
    word && (scheme.len() == 1 || rest.starts_with('/'))
}

fn inside(path: &str) -> Result<String, &'static str> {
    let mut steps = path.split('/').filter(|step| !step.is_empty() && *step != ".").peekable();
    if path.starts_with('/') {
        match steps.next() {
            Some("workspace") => {}
            Some(place) if SYSTEM.contains(&place) => return Err("a place of the system"),
            _ => return Err("outside the workspace"),
        }
    }
    Ok(steps.fold(ROOT.to_owned(), |path, step| path + "/" + step))
}

/// Returns whether a step of a path has a protected name. A file system may not tell capitals apart, so neither does this.
pub(crate) fn is_protected(path: &str) -> bool {
    let lower = path.to_lowercase();
    let steps: Vec<&str> = lower.split('/').filter(|step| !step.is_empty()).collect();
    let named = |step: &&str| PROTECTED.contains(step) || (step.starts_with(".env.") && !is_sample(step));
    let pair = |two: &[&str]| {
        PROTECTED_PAIRS.iter().any(|(folder, name)| two.first() == Some(folder) && two.get(1) == Some(name))
    };
    steps.iter().any(named) || steps.windows(2).any(pair)
}

/// `.env.example` and its like hold no values.
fn is_sample(name: &str) -> bool {
    name.ends_with(".example") || name.ends_with(".sample") || name.ends_with(".template")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_in_the_workspace_has_one_form() {
        for (path, canonical) in [
            ("./a.txt", "/workspace/a.txt"),
            ("dir/./b.txt", "/workspace/dir/b.txt"),
            ("/workspace//dir/b.txt/", "/workspace/dir/b.txt"),
            ("/workspace", "/workspace"),
            (".", "/workspace"),
            ("...", "/workspace/..."),
            ("..a", "/workspace/..a"),
            ("a..b", "/workspace/a..b"),
            ("~", "/workspace/~"),
            ("$HOME", "/workspace/$HOME"),
            ("file with space", "/workspace/file with space"),
            ("50%.txt", "/workspace/50%.txt"),
            ("ab:c", "/workspace/ab:c"),
            (".env.example", "/workspace/.env.example"),
        ] {
            let verdict = verdict(path);
            assert_eq!((verdict.canonical.as_str(), verdict.allowed), (canonical, true), "{path}");
        }
    }

    #[test]
    fn a_way_out_is_refused_however_it_is_written() {
        for (path, reason) in [
            ("", "no path"),
            ("../x", "a step upward"),
            ("a/../../x", "a step upward"),
            ("a/..;/x", "a step upward"),
            ("a/.. /x", "a step upward"),
            ("/etc/passwd", "a place of the system"),
            ("/proc/self/fd/3", "a place of the system"),
            ("/home/x", "outside the workspace"),
            ("/workspaces/x", "outside the workspace"),
            ("a\0b", "a NUL byte"),
            ("a\nb", "a control character"),
            ("a\u{200b}b", "an invisible character"),
            ("..\\x", "a backslash"),
            ("%2e%2e/x", "an escaped character"),
            ("%252e%252e/x", "an escaped character"),
            ("%%32%65/x", "an escaped character"),
            ("%c0%ae/x", "an escaped character"),
            ("%uff0e%uff0e/x", "an escaped character"),
            ("0x2e0x2e0x2fx", "an escaped character"),
            ("\u{ff0e}\u{ff0e}/x", "a character that is read as a dot or a slash"),
            ("..\u{2215}etc", "a character that is read as a dot or a slash"),
            ("\u{2025}/x", "a character that is read as a dot or a slash"),
            ("//server/share", "a network path"),
            ("C:/x", "a drive letter or a scheme"),
            ("file:///etc/passwd", "a drive letter or a scheme"),
            ("magic:/proc/self/cwd", "a drive letter or a scheme"),
        ] {
            let verdict = verdict(path);
            assert_eq!((verdict.reason, verdict.allowed), (reason, false), "{path:?}");
            assert!(verdict.canonical.is_empty());
        }
    }

    #[test]
    fn a_protected_name_is_refused_at_any_depth_and_in_any_capitals() {
        for path in [
            ".ssh/config",
            "a/.SSH/x",
            ".env",
            ".env.local",
            "x/id_rsa",
            "a/credentials",
            ".git/hooks/pre-commit",
            "docker.sock",
        ] {
            assert_eq!(verdict(path).reason, "a protected name", "{path}");
        }
        for path in
            ["ssh/config", "environment", "my_id_rsa_notes", "credentials.md", ".git/config", "hooks/x"]
        {
            assert!(verdict(path).allowed, "{path}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_allowed_stays_in_the_workspace_and_is_its_own_form(path in "[./a\\\\%~2e\u{ff0e}\u{2215} ;:w]{0,24}") {
            let first = verdict(&path);
            if first.allowed {
                prop_assert!(first.canonical == ROOT || first.canonical.starts_with("/workspace/"));
                prop_assert!(!first.canonical.split('/').any(|step| step == ".."));
                prop_assert_eq!(&verdict(&first.canonical).canonical, &first.canonical);
            } else {
                prop_assert!(first.canonical.is_empty() || first.reason == "a protected name");
            }
        }
    }
}
