//! The installation: the programs, the users they run as, and agentd's own check before a start.

use super::files::writable;
use super::{Row, Scene, Status};
use crate::{sibling, text};
use manifest::TABLE;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Output;

/// Mistakes of a configuration that are shown here; `agentctl config check` shows all.
const MISTAKES: usize = 5;
/// The row of the configuration: its message may name what a person wrote.
pub(super) const CONFIGURATION: &str = "configuration.valid";
/// The supervisor's program, and the end of its message about a refused configuration.
const AGENTD: &str = "agentd";
const REFUSED: &str = "the configuration was refused";

/// The rows of agentd's own check.
pub(super) fn checked(scene: &Scene) -> Vec<Row> {
    let state = [OsStr::new("--state-dir"), scene.state.as_os_str()];
    let config = scene.config.iter().flat_map(|file| [OsStr::new("--config"), file.as_os_str()]);
    let words: Vec<&OsStr> = std::iter::once(OsStr::new("check")).chain(state).chain(config).collect();
    match sibling::run(AGENTD, &words) {
        Ok(output) => judged(&CheckOutput::new(&output)),
        Err(failure) => vec![Row::new(CONFIGURATION, "agentd check", Status::Fail, failure.to_string())],
    }
}

/// The output of `agentd check`, and its result.
pub(super) struct CheckOutput {
    pub(super) well: bool,
    pub(super) lines: String,
    pub(super) complaints: String,
}

impl CheckOutput {
    fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Self { well: output.status.success(), lines: text(&output.stdout), complaints: text(&output.stderr) }
    }

    /// The lines that begin with this word.
    fn lines_of(&self, word: &str) -> Vec<&str> {
        let lines = self.lines.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(first, _)| *first == word).map(|(_, rest)| rest.trim()).collect()
    }
}

pub(super) fn judged(output: &CheckOutput) -> Vec<Row> {
    let of_config = output.complaints.contains(REFUSED);
    let mistakes: Vec<&str> =
        output.complaints.lines().filter(|line| !line.starts_with("agentd: ")).collect();
    let shown = mistakes.iter().take(MISTAKES).copied().collect::<Vec<_>>().join("; ");
    let config = if of_config {
        Row::new(CONFIGURATION, "configuration", Status::Fail, shown)
    } else {
        Row::new(CONFIGURATION, "configuration", Status::Pass, "agentd takes it")
    };
    let row = |id, name, word: &str, well: &dyn Fn(&str) -> bool| {
        let lines = output.lines_of(word);
        let wrong: Vec<&str> = lines.iter().copied().filter(|line| !output.well && !well(line)).collect();
        if wrong.is_empty() {
            let all = lines.join("; ");
            let message = if all.is_empty() { "nothing of it is there yet".to_owned() } else { all };
            return Row::new(id, name, Status::Pass, message);
        }
        Row::new(id, name, Status::Fail, wrong.join("; "))
    };
    let fits = |line: &str| !line.contains("newer one wrote it") && !line.ends_with("no database");
    let mut rows = vec![
        config,
        row("kernel.layers", "layers of the mode", "kernel", &|line| line.starts_with("every layer")),
        row("state.databases", "databases", "database", &fits),
        row("state.record", "record", "record", &|line| {
            line.ends_with(" holds") || line.starts_with("there is none")
        }),
    ];
    if !output.well && rows.iter().all(|row| row.status == Status::Pass) {
        // Another fault that would stop a start, in agentd's own message.
        let last =
            output.complaints.lines().last().or(output.lines.lines().last()).unwrap_or("agentd check fails");
        rows.push(Row::new("state.fit", "state", Status::Fail, last.trim_start_matches("agentd: ")));
    }
    rows
}

/// The rows of programs and users.
pub(super) fn rows(scene: &Scene) -> Vec<Row> {
    vec![installed(scene), version(scene), users(scene)]
}

/// The programs of a host, by the names of their files.
fn names() -> impl Iterator<Item = &'static str> {
    let actors = TABLE.iter().map(|row| row.process.name()).filter(|name| !name.contains('@'));
    [AGENTD, "agentd-config"].into_iter().chain(actors)
}

fn installed(scene: &Scene) -> Row {
    let mut wrong = Vec::new();
    let mut found = 0_usize;
    for name in names() {
        let Some(path) = sibling::find(name) else {
            wrong.push(format!("{name} is not there"));
            continue;
        };
        found += 1;
        wrong.extend(writable(&path, scene.uid));
        wrong.extend(path.parent().and_then(|folder| writable(folder, scene.uid)));
    }
    wrong.dedup();
    if wrong.is_empty() {
        let message = format!("{found}, which only their owner can change");
        return Row::new("programs.installed", "programs", Status::Pass, message);
    }
    let message = format!("{}; install them again", wrong.join("; "));
    Row::new("programs.installed", "programs", Status::Fail, message)
}

fn version(scene: &Scene) -> Row {
    let own = env!("CARGO_PKG_VERSION");
    let of = |status, message: String| Row::new("programs.version", "version", status, message);
    let version = sibling::run(AGENTD, &[OsStr::new("--version")]);
    let version =
        version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if version != format!("agentd {own}") {
        return of(
            Status::Fail,
            format!("agentctl is {own}, and beside it is {version}; install all of one version"),
        );
    }
    match scene.host.as_ref().map(|host| host.version.to_string()) {
        Some(running) if running != own => {
            of(Status::Warn, format!("{running} runs and {own} is installed; restart the host"))
        }
        _ => of(Status::Pass, own.to_owned()),
    }
}

fn users(scene: &Scene) -> Row {
    let of = |status, message: String| Row::new("users.installed", "users of the processes", status, message);
    if !scene.has_own_uids() {
        return of(Status::Pass, "every process runs as this host's user".to_owned());
    }
    let mut uids: BTreeMap<u32, &str> = BTreeMap::new();
    let (mut missing, mut shared) = (Vec::new(), Vec::new());
    for row in TABLE {
        match nix::unistd::User::from_name(row.user).ok().flatten() {
            None => missing.push(row.user),
            Some(user) => {
                shared.extend(uids.insert(user.uid.as_raw(), row.user).map(|other| (other, row.user)))
            }
        }
    }
    if let Some((one, other)) = shared.first().filter(|(one, other)| one != other) {
        return of(Status::Fail, format!("{one} and {other} have one uid; give each its own"));
    }
    if missing.is_empty() {
        return of(
            Status::Pass,
            format!("{}, each with a uid of its own", text::count(uids.len(), "user", "users")),
        );
    }
    let rest = "agentd numbers all of them from host.uid_base on";
    let words =
        if missing.len() == TABLE.len() { "none are installed".to_owned() } else { missing.join(", ") };
    of(Status::Warn, format!("missing: {words}; {rest}; systemd-sysusers makes them"))
}
