//! `gate --offline policy …`: the policy commands that need no host. `agentctl policy` executes this, so that the live gate's own
//! code decides. It reads the named policy files and standard input, and never touches the host's state.

mod print;

use policy::offline::{LINE, Question, Simulation, explain, files};
use policy::{Engine, Invalid};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status for arguments that make no sense.
const USAGE: u8 = 64;

const USE: &str = "usage: gate --offline policy simulate [--policy FILE]...
       gate --offline policy check FILE... [--json]
       gate --offline policy show [NAME] [--json]
       gate --offline policy explain CALL [--policy FILE]... [--json]";

/// The reason for which a command failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{USE}")]
    Usage,
    #[error("{}: {cause}", path.display())]
    File { path: PathBuf, cause: std::io::Error },
    #[error("{}: larger than {} bytes", path.display(), ipc_proto::gate::POLICY_BOUND)]
    TooLarge { path: PathBuf },
    #[error("{}:{}: {}", path.display(), invalid.line, invalid.message)]
    Policy { path: PathBuf, invalid: Invalid },
    #[error("{0}")]
    BuiltIn(String),
    #[error("no such policy file; there are: {0}")]
    NoPolicy(String),
    #[error("not a call: {0}")]
    Call(String),
    #[error("input or output failed: {0}")]
    Stream(#[from] std::io::Error),
}

impl Failure {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::File { .. } => "file",
            Self::TooLarge { .. } => "too_long",
            Self::Policy { .. } => "policy",
            Self::BuiltIn(_) => "program",
            Self::NoPolicy(_) => "no_policy",
            Self::Call(_) => "call",
            Self::Stream(_) => "output",
        }
    }

    fn document(&self) -> Value {
        let mut error = json!({"type": self.kind(), "message": self.to_string()});
        if let (Self::Policy { path, invalid }, Some(fields)) = (self, error.as_object_mut()) {
            fields.insert("file".to_owned(), path.display().to_string().into());
            fields.insert("line".to_owned(), invalid.line.into());
        }
        json!({"ok": false, "error": error})
    }
}

/// The parsed arguments.
struct Arguments {
    json: bool,
    policies: Vec<PathBuf>,
    rest: Vec<String>,
}

/// Runs one command.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> ExitCode {
    let arguments = Arguments::read(arguments);
    let as_json = arguments.as_ref().is_ok_and(|arguments| arguments.json);
    let outcome = arguments.and_then(|arguments| command(&arguments));
    let failure = match outcome {
        Ok(exit) => return exit,
        Err(failure) => failure,
    };
    if as_json {
        drop(writeln!(std::io::stdout(), "{}", failure.document()));
    } else {
        drop(writeln!(std::io::stderr(), "{failure}"));
    }
    if matches!(failure, Failure::Usage) { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}

impl Arguments {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut read = Self { json: false, policies: Vec::new(), rest: Vec::new() };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => read.json = true,
                "--policy" => read.policies.push(arguments.next().ok_or(Failure::Usage)?.into()),
                "--" => read.rest.extend(arguments.by_ref()),
                _ => read.rest.push(argument),
            }
        }
        Ok(read)
    }
}

fn command(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let rest: Vec<&str> = arguments.rest.iter().map(String::as_str).collect();
    match rest.as_slice() {
        ["policy", "simulate"] => simulated(&arguments.policies),
        ["policy", "check", paths @ ..] if !paths.is_empty() => {
            check(&paths.iter().map(PathBuf::from).collect::<Vec<_>>(), arguments.json)
        }
        ["policy", "show"] => show(None, arguments.json),
        ["policy", "show", name] => show(Some(name), arguments.json),
        ["policy", "explain", call] => explained(call, &arguments.policies, arguments.json),
        _ => Err(Failure::Usage),
    }
}

/// The built-in policies and these files.
fn engine(paths: &[PathBuf]) -> Result<Engine, Failure> {
    let texts =
        paths.iter().map(|path| Ok((name(path), text(path)?))).collect::<Result<Vec<_>, Failure>>()?;
    let own: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Engine::with(&own).map_err(|invalid| {
        let path = paths.iter().find(|path| name(path) == invalid.name);
        match path {
            Some(path) => Failure::Policy { path: path.clone(), invalid },
            None => Failure::BuiltIn(invalid.to_string()),
        }
    })
}

/// A policy file's name, without its ending.
fn name(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

fn text(path: &Path) -> Result<String, Failure> {
    let fault = |cause| Failure::File { path: path.to_owned(), cause };
    let bound = u64::try_from(ipc_proto::gate::POLICY_BOUND).unwrap_or(u64::MAX);
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(fault)?;
    file.take(bound.saturating_add(1)).read_to_string(&mut text).map_err(fault)?;
    if text.len() > ipc_proto::gate::POLICY_BOUND {
        return Err(Failure::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

fn simulated(policies: &[PathBuf]) -> Result<ExitCode, Failure> {
    let engine = engine(policies)?;
    let mut simulation = Simulation::new(&engine).map_err(|error| Failure::BuiltIn(error.to_string()))?;
    let (from, to) = (std::io::stdin().lock(), std::io::stdout().lock());
    let sound = kit::answer_lines(LINE, from, to, |line| simulation.line(line))?;
    Ok(ExitCode::from(u8::from(!sound)))
}

/// Each file is checked with the built-in ones, then all together: ids may clash only among them.
fn check(paths: &[PathBuf], as_json: bool) -> Result<ExitCode, Failure> {
    for path in paths {
        engine(std::slice::from_ref(path))?;
    }
    let engine = engine(paths)?;
    let own: Vec<_> = engine.files().iter().filter(|file| !file.built_in).collect();
    let mut out = std::io::stdout();
    if as_json {
        let files: Vec<_> =
            own.iter().map(|file| json!({"name": file.name, "policies": file.policies})).collect();
        writeln!(out, "{}", json!({"ok": true, "version": engine.version(), "files": files}))?;
    } else {
        for file in own {
            writeln!(out, "{}: {} policies, valid", file.name, file.policies)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let engine = engine(&[])?;
    let mut out = std::io::stdout();
    let known = || engine.files().iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = name.map(|name| {
        let file = engine.files().iter().find(|file| file.name == name);
        file.ok_or_else(|| Failure::NoPolicy(known()))
    });
    match found.transpose()? {
        None if as_json => writeln!(out, "{}", files(&engine))?,
        None => print::list(&mut out, &engine)?,
        Some(file) if as_json => {
            let document = json!({
                "ok": true, "name": file.name, "built_in": file.built_in, "policies": file.policies,
                "text": file.text,
            });
            writeln!(out, "{document}")?;
        }
        Some(file) => out.write_all(file.text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn explained(call: &str, policies: &[PathBuf], as_json: bool) -> Result<ExitCode, Failure> {
    let engine = engine(policies)?;
    let question: Question = serde_json::from_str(call).map_err(|error| Failure::Call(error.to_string()))?;
    let answer = explain(&engine, question).map_err(Failure::Call)?;
    let mut out = std::io::stdout();
    if as_json {
        let mut document = answer;
        if let Some(fields) = document.as_object_mut() {
            fields.insert("ok".to_owned(), true.into());
        }
        writeln!(out, "{document}")?;
    } else {
        print::explanation(&mut out, &answer)?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_policy_file_is_refused_with_its_line_and_cedars_message() {
        let folder = std::env::temp_dir().join(format!("cordon-policy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("own.cedar");
        std::fs::write(&path, "permit (principal, action, resource)\nwhen { context.nonsense };\n").unwrap();
        let failure = engine(std::slice::from_ref(&path)).err().map(|failure| failure.to_string());
        std::fs::remove_dir_all(&folder).unwrap();
        let failure = failure.unwrap();
        assert!(failure.starts_with(&format!("{}:2: ", path.display())), "{failure}");
        assert!(failure.contains("nonsense"), "{failure}");
    }

    #[test]
    fn words_after_two_dashes_are_never_flags() {
        let arguments = |line: &str| Arguments::read(line.split(' ').map(str::to_owned)).unwrap();
        let read = arguments("policy check --json a -- --json");
        assert!(read.json);
        assert_eq!(read.rest, ["policy", "check", "a", "--json"]);
        assert!(Arguments::read(["--policy".to_owned()].into_iter()).is_err());
    }
}
