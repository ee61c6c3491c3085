//! The unit of a vendor's program, by systemctl.

use super::vendor::Vendor;
use crate::failure::tunnel::TunnelFault;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The folders in which systemd looks for a program.
const FOLDERS: [&str; 4] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];

/// The state of the unit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// systemd's `ActiveState`.
    pub(super) active: String,
    /// Its `SubState`.
    pub(super) sub: String,
    /// The line by which the program says how it is: the address, or why there is none.
    pub(super) status: String,
    /// Since when it is active, in unix ms; 0 if it is not.
    pub(super) since_ms: u64,
}

fn systemctl(words: &[&str]) -> Result<Output, TunnelFault> {
    #[expect(clippy::disallowed_methods, reason = "the machine's service manager, outside the host")]
    let mut command = Command::new("systemctl");
    command.args(words).stdin(Stdio::null()).output().map_err(TunnelFault::Systemctl)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().trim().to_owned()
}

/// Returns true if systemd runs this machine.
pub(super) fn is_there() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// The first program of the vendor that the unit would not find.
pub(super) fn missing(vendor: Vendor) -> Option<&'static str> {
    let there = |name: &str| FOLDERS.iter().any(|folder| Path::new(folder).join(name).is_file());
    vendor.programs().iter().copied().find(|name| !there(name))
}

/// Looks at the unit.
///
/// # Errors
/// systemctl cannot be run.
pub(super) fn look(vendor: Vendor) -> Result<Unit, TunnelFault> {
    let facts = "ActiveState,SubState,StatusText,ActiveEnterTimestamp";
    let output = systemctl(&["show", "--timestamp=unix", "--property", facts, &vendor.unit()])?;
    Ok(parsed(&String::from_utf8_lossy(&output.stdout)))
}

fn parsed(text: &str) -> Unit {
    let mut unit = Unit::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match name {
            "ActiveState" => value.clone_into(&mut unit.active),
            "SubState" => value.clone_into(&mut unit.sub),
            "StatusText" => value.clone_into(&mut unit.status),
            "ActiveEnterTimestamp" => {
                let seconds = value.strip_prefix('@').and_then(|it| it.parse::<u64>().ok());
                unit.since_ms = seconds.unwrap_or(0).saturating_mul(1000);
            }
            _ => {}
        }
    }
    unit
}

/// Starts the unit, now and with the machine, and waits until its program has said the address.
///
/// # Errors
/// It did not start, and is stopped again.
pub(super) fn start(vendor: Vendor) -> Result<(), TunnelFault> {
    let unit = vendor.unit();
    let output = systemctl(&["enable", "--now", "--quiet", &unit])?;
    if output.status.success() {
        return Ok(());
    }
    let heard = look(vendor)?.status;
    let why = if heard.is_empty() { said(&output) } else { heard };
    stop(vendor)?;
    Err(TunnelFault::NotUp { unit, why })
}

/// Stops the unit, now and for the next start of the machine.
///
/// # Errors
/// It did not stop.
pub(super) fn stop(vendor: Vendor) -> Result<(), TunnelFault> {
    let unit = vendor.unit();
    let output = systemctl(&["disable", "--now", "--quiet", &unit])?;
    if !output.status.success() {
        return Err(TunnelFault::NotDown { unit, why: said(&output) });
    }
    // A unit that did not fail has nothing to forget.
    systemctl(&["reset-failed", "--quiet", &unit]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_read_from_what_systemctl_shows() {
        let text = "ActiveState=active\nSubState=running\nStatusText=https://a.ngrok.app/?a=b\n\
            ActiveEnterTimestamp=@1700000000\n";
        let unit = parsed(text);
        assert_eq!((unit.active.as_str(), unit.sub.as_str()), ("active", "running"));
        assert_eq!((unit.status.as_str(), unit.since_ms), ("https://a.ngrok.app/?a=b", 1_700_000_000_000));
        assert_eq!(parsed("ActiveEnterTimestamp=\nnonsense\n"), Unit::default());
    }
}
