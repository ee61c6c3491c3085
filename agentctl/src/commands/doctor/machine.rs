//! Features of this machine's kernel, read from `/proc` and `/sys`. agentd itself decides in `kernel.layers` if they are
//! enough for the mode; these rows say what there is, so that a person knows what to change.

use super::{Row, Status};
use nix::sys::utsname::uname;
use std::fs;
use std::path::Path;

/// The first kernel with everything that mode system uses on Debian 12.
const LEAST: (u32, u32) = (6, 1);
/// Answers of seccomp that the profiles use.
const ACTIONS: [&str; 4] = ["kill_process", "errno", "user_notif", "log"];

/// The rows of the kernel.
pub(super) fn rows() -> Vec<Row> {
    let release = uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default();
    vec![
        version(&release),
        seccomp(&read("/proc/sys/kernel/seccomp/actions_avail")),
        landlock(&read("/sys/kernel/security/lsm")),
        namespaces(&Switches::read()),
        hidden_memory(Path::new("/sys/module/secretmem/parameters/enable")),
    ]
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn version(release: &str) -> Row {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let (status, why) = if found >= LEAST {
        (Status::Pass, String::new())
    } else {
        (Status::Warn, format!("; {}.{} and later are what Cordon is tried on", LEAST.0, LEAST.1))
    };
    Row::new("kernel.version", "kernel", status, format!("{release}{why}"))
}

pub(super) fn seccomp(actions: &Option<String>) -> Row {
    let of = |status, message: String| Row::new("kernel.seccomp", "seccomp", status, message);
    let Some(actions) = actions else {
        return of(Status::Fail, "this kernel has none; use one with CONFIG_SECCOMP_FILTER".to_owned());
    };
    let missing: Vec<&str> =
        ACTIONS.into_iter().filter(|action| !actions.split_whitespace().any(|it| it == *action)).collect();
    if missing.is_empty() {
        return of(Status::Pass, "with notification".to_owned());
    }
    let needed = missing.iter().any(|action| matches!(*action, "kill_process" | "errno"));
    let status = if needed { Status::Fail } else { Status::Warn };
    of(status, format!("this kernel cannot answer with {}; use a newer one", missing.join(", ")))
}

pub(super) fn landlock(modules: &Option<String>) -> Row {
    let (status, message) = match modules {
        None => (Status::Pass, "securityfs is not mounted; see kernel.layers"),
        Some(modules) if modules.split(',').any(|module| module == "landlock") => (Status::Pass, "it is on"),
        Some(_) => (
            Status::Fail,
            "it is off; boot with lsm=landlock added to the modules that /sys/kernel/security/lsm names",
        ),
    };
    Row::new("kernel.landlock", "landlock", status, message)
}

/// Settings that can switch user namespaces off.
#[derive(Default)]
pub(super) struct Switches {
    pub(super) most: Option<u64>,
    pub(super) unprivileged: Option<u64>,
    pub(super) apparmor: Option<u64>,
}

impl Switches {
    fn read() -> Self {
        let number = |path: &str| read(path)?.parse().ok();
        Self {
            most: number("/proc/sys/user/max_user_namespaces"),
            unprivileged: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        }
    }
}

pub(super) fn namespaces(switches: &Switches) -> Row {
    let (status, message) = match switches {
        Switches { most: None | Some(0), .. } => (
            Status::Fail,
            "off: set user.max_user_namespaces, or ask for [host] mode = \"flat\" and give up what it gives up",
        ),
        Switches { unprivileged: Some(0), .. } => {
            (Status::Warn, "root's alone: mode user needs kernel.unprivileged_userns_clone = 1")
        }
        Switches { apparmor: Some(1), .. } => (
            Status::Warn,
            "hollow for ordinary users: mode user needs kernel.apparmor_restrict_unprivileged_userns = 0",
        ),
        Switches { .. } => (Status::Pass, "for everybody"),
    };
    Row::new("kernel.namespaces", "user namespaces", status, message)
}

fn hidden_memory(switch: &Path) -> Row {
    // Only root may read its state; its presence shows that the kernel has it.
    let off = fs::read_to_string(switch).is_ok_and(|text| text.trim() == "N");
    let (status, message) = match (switch.exists(), off) {
        (true, false) => (Status::Pass, "there is memory that the kernel itself does not map"),
        (true, true) => (Status::Warn, "memfd_secret is off: boot with secretmem.enable=1"),
        (false, _) if !Path::new("/sys/module").exists() => {
            (Status::Warn, "what this kernel has cannot be seen here")
        }
        (false, _) => (Status::Warn, "this kernel has no memfd_secret; keys stay in ordinary locked memory"),
    };
    Row::new("kernel.memfd_secret", "hidden memory", status, message)
}
