//! The `glob` tool. Lists names beneath a root; must never read a file's content or follow a link.

use super::context::Context;
use super::fault::ToolFault;
use super::outcome::Outcome;
use super::output;
use super::tool::{Checked, Tool};
use super::walk::{Kind, Walk};
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use std::path::Path;
use toolset::jail_tools::MAX_PATHS;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawArgs {
    pattern: String,
    path: Option<String>,
}

#[derive(Debug)]
pub(super) struct Args {
    matcher: GlobMatcher,
    path: Option<String>,
}

impl Tool for Args {
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault> {
        run(self, context)
    }
}

impl Checked for Args {
    type Raw = RawArgs;

    fn check(raw: Self::Raw) -> Result<Self, String> {
        Ok(Self { matcher: compile("pattern", &raw.pattern)?, path: raw.path })
    }
}

/// A pattern in which `*` stays within a folder.
pub(super) fn compile(field: &str, pattern: &str) -> Result<GlobMatcher, String> {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") || pattern.is_empty() {
        return Err(format!(
            "`{field}`: is matched against paths below `path`; give the folder there, not here"
        ));
    }
    let built = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|cause| format!("`{field}`: is not a pattern: {}", cause.kind()))
}

fn run(args: &Args, context: &Context) -> Result<Outcome, ToolFault> {
    let place = context.locate_or_workspace(args.path.as_deref())?;
    let mut walk = Walk::new(context, &place)?;
    let prefix = prefix(&place.shown);
    let mut paths: Vec<String> = Vec::new();
    let mut more = false;
    for found in walk.by_ref() {
        if !args.matcher.is_match(&found.rel) {
            continue;
        }
        if paths.len() == MAX_PATHS {
            more = true;
            break;
        }
        let end = if found.kind == Kind::Folder { "/" } else { "" };
        paths.push(format!("{prefix}{}{end}", output::shown(&found.rel)));
    }
    if context.abort.is_set() {
        return Err(ToolFault::Aborted);
    }
    let mut output = if paths.is_empty() {
        "no path fits (.git and what a .gitignore names are left out)".to_owned()
    } else {
        paths.join("\n")
    };
    if more {
        output.push_str(&format!("\n[... cut: more than {MAX_PATHS} paths fit; use a narrower pattern ...]"));
    }
    output.push_str(&ending(&walk));
    Ok(Outcome::done(output)
        .with("paths", u64::try_from(paths.len()).unwrap_or(u64::MAX))
        .with("truncated", more || walk.cut.is_some()))
}

/// The prefix for a path found below `shown`, so that it can be given to another tool.
pub(super) fn prefix(shown: &str) -> String {
    match Path::new(shown) {
        path if path == Path::new(".") => String::new(),
        _ => format!("{}/", shown.trim_end_matches('/')),
    }
}

/// The closing line for a walk that did not see everything.
pub(super) fn ending(walk: &Walk<'_>) -> String {
    let cut = walk.cut.as_ref().map(|why| format!("\n[... incomplete: {why} ...]"));
    let unread = (walk.unread > 0).then(|| format!("\n[{} folders could not be read]", walk.unread));
    [cut, unread].into_iter().flatten().collect()
}
