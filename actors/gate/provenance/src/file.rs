//! Paths. `a`, `./a` and `/workspace/a` are one file, whether or not a slash ends it. Capitals stand. A path with a
//! step upward is vouched for by its own text alone.

/// Where the workspace stands in the jail.
const ROOT: &str = "/workspace/";

/// The one form of a path, or nothing if the text has none.
pub(crate) fn file(text: &str) -> Option<String> {
    let text = text.trim();
    let odd = |char: char| char.is_control() || char.is_whitespace() || matches!(char, '\\' | ':' | '%');
    if text.is_empty() || text.contains(odd) || text.starts_with("//") {
        return None;
    }
    let inside = text.strip_prefix(ROOT).unwrap_or(text);
    let rooted = if inside.starts_with('/') { "/" } else { "" };
    let steps: Vec<&str> = inside.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    let upward = steps.iter().any(|step| step.chars().all(|char| char == '.'));
    (!upward && !steps.is_empty()).then(|| format!("{rooted}{}", steps.join("/")))
}

/// Every token of a text that can be a path.
pub(crate) fn files(text: &str) -> Vec<String> {
    text.split(|char: char| {
        char.is_whitespace() || matches!(char, '"' | '`' | '(' | ')' | '<' | '>' | '[' | ']' | ';')
    })
    .map(|token| token.trim_matches(['\'', '*']).trim_end_matches(['.', ',', ':', '!', '?', '\'']))
    .filter(|token| token.contains(['/', '.']))
    .filter_map(file)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_named_in_three_ways() {
        for path in ["src/a.rs", "./src/a.rs", "/workspace/src/a.rs", "src//./a.rs", "src/a.rs/"] {
            assert_eq!(file(path).as_deref(), Some("src/a.rs"), "{path}");
        }
        assert_eq!(files("read './src/a.rs', then /etc/hosts."), ["src/a.rs", "/etc/hosts"]);
    }

    #[test]
    fn a_step_upward_or_an_odd_character_is_no_normal_path() {
        for path in ["", "/", "..", "a/../b", "a/.../b", "a\\b", "a%2fb", "//server/x", "C:/x", "a b"] {
            assert_eq!(file(path), None, "{path}");
        }
        assert_ne!(file("/a"), file("a"));
        assert_ne!(file("A"), file("a"));
    }
}
