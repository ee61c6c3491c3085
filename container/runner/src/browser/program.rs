//! The shell as a program: started with its two pipes, and killed with all that it started.

use super::{Options, flags};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Debian's program itself. The one in `/usr/bin` is a script that starts it.
pub const PROGRAM: &str = "/usr/lib/chromium/chromium-headless-shell";
/// Puts the pipes where the shell looks for them, at 3 and 4, and gives it no other stream.
const PIPES: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
/// The shell and everything in its process group.
pub(super) struct Program {
    child: Child,
}

/// Starts it: the program, the pipe to it, and the pipe from it.
pub(super) fn start(options: &Options<'_>) -> io::Result<(Program, Sender, Receiver)> {
    std::fs::create_dir_all(options.folder)?;
    let fonts = options.folder.join("fonts.conf");
    std::fs::write(&fonts, font_configuration(options.folder))?;
    let mut child = command(options.folder, &fonts).args(flags::words(options)).spawn()?;
    let streams = (child.stdin.take(), child.stdout.take());
    let program = Program { child };
    let (Some(input), Some(output)) = streams else { return Err(io::Error::other("it has no pipes")) };
    let input = Sender::from_owned_fd(OwnedFd::from(input))?;
    let output = Receiver::from_owned_fd(OwnedFd::from(output))?;
    Ok((program, input, output))
}

/// Fonts are those of the machine; their configuration in `/etc` and their cache in `/var` are not in the jail.
fn font_configuration(folder: &Path) -> String {
    let cache = folder.join("fonts");
    format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig><dir>/usr/share/fonts</dir>\
         <cachedir>{}</cachedir></fontconfig>\n",
        cache.display()
    )
}

fn command(folder: &Path, fonts: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the browser, in its jail")]
    let mut command = Command::new("/bin/sh");
    command.args(["-c", PIPES, "sh", PROGRAM]).env_clear();
    command
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("XDG_CACHE_HOME", folder);
    command.env("FONTCONFIG_FILE", fonts).env("LANG", "C.UTF-8");
    // No bus is looked for.
    command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:").env("DBUS_SYSTEM_BUS_ADDRESS", "disabled:");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    command
}

impl Program {
    /// The id of its first process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    /// Kills its group before the leader is reaped, so that the id is still its own.
    fn drop(&mut self) {
        if let Ok(leader) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
        }
        drop(self.child.wait());
    }
}
