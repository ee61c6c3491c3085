//! The installation of a package into the server's folder. No code of the package runs: npm runs no scripts, and pip takes wheels
//! alone.

use super::Environment;
use super::files::{self, NODE, PYTHON};
use super::program;
use ipc_proto::mcp::{FOLDER, INSTALL_SECONDS, Installed, Package, Registry, Trouble};
use ipc_proto::{List, Text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A folder of the installer's own, removed when it has ended: `/tmp` is in memory.
const SCRATCH: &str = "/server/.installing";
/// Bytes of a file that names a package's programs.
const NAMING: u64 = 1 << 20;

/// Installs a package, and finds its programs.
pub(super) async fn install(package: &Package, environment: &Environment) -> Result<Installed, Trouble> {
    fs::create_dir_all(SCRATCH).map_err(|cause| not_installed(&format!("{FOLDER}: {cause}")))?;
    let ran = run(package, environment).await;
    let removed = fs::remove_dir_all(SCRATCH);
    ran?;
    removed.map_err(|cause| not_installed(&format!("{SCRATCH}: {cause}")))?;
    let programs = match package.registry {
        Registry::Pypi => scripts_of(&package.name),
        Registry::Npm => programs_of(&package.name),
    };
    if programs.is_empty() {
        return Err(Trouble::NoProgram(Text::clip(&package.to_string())));
    }
    let files = files::hash()?;
    let programs = List::clip(programs.iter().map(|path| Text::clip(path)));
    Ok(Installed { tree: files.tree, files: files.count, programs })
}

async fn run(package: &Package, environment: &Environment) -> Result<(), Trouble> {
    let named = match package.registry {
        Registry::Pypi => format!("{}=={}", package.name, package.version),
        Registry::Npm => format!("{}@{}", package.name, package.version),
    };
    let mut words: Vec<&str> = match package.registry {
        Registry::Pypi => {
            let pip = "python3 -m pip install --quiet --no-input --disable-pip-version-check --no-cache-dir \
                       --no-compile --no-warn-script-location --only-binary :all: --target";
            pip.split_whitespace().chain([PYTHON]).collect()
        }
        Registry::Npm => {
            let npm = "npm install --ignore-scripts --no-audit --no-fund --no-update-notifier --prefix";
            npm.split_whitespace().chain([FOLDER]).collect()
        }
    };
    words.push(&named);
    let mut environment = environment.clone();
    environment.retain(|(name, _)| !["TMPDIR", "HOME"].contains(name));
    environment.extend(["TMPDIR", "HOME", "npm_config_cache"].map(|name| (name, SCRATCH.to_owned())));
    let mut command = program::command(&words, &environment).ok_or_else(|| not_installed(""))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).current_dir(FOLDER);
    let program = words.first().copied().unwrap_or_default();
    let child = command.spawn().map_err(|cause| not_installed(&format!("{program}: {cause}")))?;
    let (ended, complaints) = program::watch(child).map_err(|cause| not_installed(&cause.to_string()))?;
    let ended = tokio::time::timeout(Duration::from_secs(INSTALL_SECONDS.into()), ended).await;
    // The last of what it said comes a little later.
    tokio::time::sleep(Duration::from_millis(100)).await;
    match ended {
        Ok(Ok(Ok(status))) if status.success() => Ok(()),
        Ok(ended) if complaints.tail().is_empty() => Err(not_installed(&program::status(ended))),
        Ok(_) => Err(not_installed(&complaints.tail())),
        Err(_) => Err(not_installed(&format!("it took longer than {INSTALL_SECONDS} seconds"))),
    }
}

/// The programs that a Python package declares: the names under `[console_scripts]` of its entry points.
fn scripts_of(name: &str) -> Vec<String> {
    let same = |a: &str| a.replace(['-', '.'], "_").to_ascii_lowercase();
    let wanted = same(name);
    let folders = fs::read_dir(PYTHON).into_iter().flatten().flatten();
    let mut infos = folders.filter_map(|entry| {
        let folder = entry.file_name().into_string().ok()?;
        let package = folder.strip_suffix(".dist-info")?.split('-').next()?;
        (same(package) == wanted).then(|| entry.path().join("entry_points.txt"))
    });
    let Some(text) = infos.next().and_then(|path| read(&path)) else { return Vec::new() };
    let lines = text.lines().map(str::trim).skip_while(|line| *line != "[console_scripts]").skip(1);
    let names = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    names.filter_map(|(name, _)| there(format!("{PYTHON}/bin/{}", name.trim()))).collect()
}

/// The programs that a Node package declares.
fn programs_of(name: &str) -> Vec<String> {
    let Some(text) = read(&Path::new(NODE).join(name).join("package.json")) else { return Vec::new() };
    let Ok(Value::Object(package)) = serde_json::from_str(&text) else { return Vec::new() };
    let names: Vec<&str> = match package.get("bin") {
        Some(Value::String(_)) => name.rsplit('/').take(1).collect(),
        Some(Value::Object(programs)) => programs.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    names.into_iter().filter_map(|name| there(format!("{NODE}/.bin/{name}"))).collect()
}

/// The path, if it is a file's within its folder.
fn there(path: String) -> Option<String> {
    (!path.contains("..") && Path::new(&path).is_file()).then_some(path)
}

fn read(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    fs::File::open(path).ok()?.take(NAMING).read_to_string(&mut text).ok()?;
    Some(text)
}

fn not_installed(why: &str) -> Trouble {
    Trouble::NotInstalled(Text::clip(why))
}
