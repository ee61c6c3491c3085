//! The dangers of a command, each in a fixed phrase.

use super::split::Simple;
use super::unwrap::{base, is_shell};
use super::{Inputs, Word, git, modes};
use crate::path::is_protected;

const DOWNLOADERS: [&str; 12] =
    ["curl", "wget", "fetch", "aria2c", "lynx", "links", "http", "https", "httpie", "ftp", "scp", "nc"];
const DECODERS: [&str; 12] = [
    "base64", "base32", "basenc", "xxd", "openssl", "uudecode", "gunzip", "zcat", "gzip", "rev", "tr",
    "printf",
];
const INTERPRETERS: [&str; 11] =
    ["python", "python2", "python3", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "bun"];
const DEVICES: [&str; 9] = [
    "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/random",
    "/dev/urandom", "/dev/full",
];

/// The danger of one program with its arguments.
pub(super) fn of(program: &str, arguments: &[Word], inputs: &Inputs<'_>) -> Option<&'static str> {
    let name = base(program);
    let text: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    fed(name, &text, inputs)
        .or_else(|| always(name))
        .or_else(|| with_arguments(name, &text))
        .or_else(|| opens_a_file(name, arguments))
        .or_else(|| (writes(name) && text.iter().any(|word| is_settings(word))).then_some(git::SETS))
        .or_else(|| text.iter().any(|word| names_protected(word)).then_some("it names a protected file"))
}

/// Programs that are dangerous with any arguments.
fn always(name: &str) -> Option<&'static str> {
    Some(match name {
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => "it asks for another user's rights",
        "eval" => "it runs text that it puts together",
        "fdisk" | "sfdisk" | "parted" | "wipefs" | "mkswap" | "blkdiscard" => "it formats a disk",
        name if name == "mkfs" || name.starts_with("mkfs.") => "it formats a disk",
        "shred" => "it destroys a file beyond repair",
        "shutdown" | "reboot" | "halt" | "poweroff" | "init" | "telinit" => "it stops the machine",
        "crontab" | "at" | "batch" | "systemctl" | "launchctl" | "update-rc.d" => "it sets what runs later",
        "mount" | "umount" | "insmod" | "modprobe" | "rmmod" | "chroot" | "nsenter" | "unshare"
        | "docker" | "podman" | "kubectl" | "setcap" | "iptables" | "nft" => {
            "it reaches for the system under it"
        }
        "useradd" | "usermod" | "passwd" | "chpasswd" | "visudo" => "it changes who may use the machine",
        _ => return None,
    })
}

fn with_arguments(name: &str, text: &[&str]) -> Option<&'static str> {
    let flag = |letters: &[char], long: &[&str]| {
        text.iter().any(|word| match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => {
                long.iter().any(|name| word.len() > 4 && name.starts_with(word))
            }
            Some(rest) => rest.contains(letters),
            None => false,
        })
    };
    let hit = match name {
        "rm" => flag(&['r', 'R'], &["--recursive"]).then_some("it deletes whole folders"),
        "find" | "fd" => text.contains(&"-delete").then_some("it deletes whole folders"),
        "git" => {
            (text.contains(&"clean") && flag(&['f'], &["--force"])).then_some("it deletes whole folders")
        }
        "dd" => text
            .iter()
            .any(|word| word.starts_with("if=") || word.starts_with("of="))
            .then_some("it copies raw data"),
        "base64" | "base32" | "basenc" => {
            flag(&['d', 'D'], &["--decode"]).then_some("it decodes hidden text")
        }
        "xxd" => flag(&['r'], &["-revert"]).then_some("it decodes hidden text"),
        "nc" | "ncat" | "netcat" | "socat" => (flag(&['e', 'c'], &["--exec", "--sh-exec"])
            || text.iter().any(|word| word.to_lowercase().contains("exec:")))
        .then_some("it gives a program to the network"),
        "kill" => text.contains(&"-1").then_some("it ends every process"),
        _ => None,
    };
    hit.or_else(|| text.iter().any(|word| is_device(word)).then_some("it names a device"))
}

/// Everybody may write, or the file runs with its owner's rights.
fn opens_a_file(name: &str, arguments: &[Word]) -> Option<&'static str> {
    let opens = match name {
        "chmod" => arguments.iter().any(|word| modes::opens(&word.text)),
        "install" | "mkdir" | "mkfifo" | "mknod" => modes::by_option(arguments).any(modes::opens),
        _ => false,
    };
    opens.then_some("it opens a file to everybody")
}

/// The danger of input from elsewhere that is run.
fn fed(name: &str, text: &[&str], inputs: &Inputs<'_>) -> Option<&'static str> {
    let shell = is_shell(name) || matches!(name, "source" | "." | "eval");
    let interpreter = INTERPRETERS.contains(&name)
        || INTERPRETERS.iter().any(|known| {
            name.strip_prefix(known)
                .is_some_and(|rest| rest.chars().all(|char| char.is_ascii_digit() || char == '.'))
        });
    if !shell && !interpreter {
        return None;
    }
    let from =
        |programs: &[String], list: &[&str]| programs.iter().any(|program| list.contains(&base(program)));
    let piped =
        !inputs.upstream.is_empty() && !text.iter().any(|word| !word.starts_with('-') || word.contains('c'));
    if from(inputs.fetched, &DOWNLOADERS) || (piped && from(inputs.upstream, &DOWNLOADERS)) {
        return Some("it runs what it downloads");
    }
    if from(inputs.fetched, &DECODERS) || (piped && from(inputs.upstream, &DECODERS)) {
        return Some("it runs what it decodes");
    }
    (shell && piped).then_some("it pipes text into a shell")
}

/// The danger of the files that a command reads from and writes to.
pub(super) fn in_files(simple: &Simple) -> Option<&'static str> {
    let mut files = simple.files.iter().map(|word| word.text.as_str());
    files.find_map(|file| {
        let device = is_device(file).then_some("it names a device");
        device
            .or_else(|| names_protected(file).then_some("it names a protected file"))
            .or_else(|| is_settings(file).then_some(git::SETS))
    })
}

/// Programs that write to a file among their arguments.
fn writes(name: &str) -> bool {
    matches!(name, "cp" | "mv" | "ln" | "tee" | "install" | "dd" | "sed" | "truncate" | "rsync" | "patch")
}

/// A file in which git is told what to run.
fn is_settings(file: &str) -> bool {
    let path = file.split_once('=').map_or(file, |(_, path)| path).to_lowercase();
    path.ends_with(".git/config") || path.ends_with(".git/config.worktree") || path.ends_with(".gitconfig")
}

/// A device, or the shell's own names for a connection.
fn is_device(word: &str) -> bool {
    let path = word.split_once('=').map_or(word, |(_, path)| path);
    path.starts_with("/dev/") && !DEVICES.contains(&path) && !path.starts_with("/dev/fd/")
}

/// A protected name, also as the value of an option, or a file that says who may use the machine.
fn names_protected(word: &str) -> bool {
    let path = word.split_once('=').map_or(word, |(_, path)| path).trim_start_matches('@');
    let system = ["/etc/passwd", "/etc/shadow", "/proc/", "/sys/", "/etc/cron", "/etc/ld.so"];
    (path.contains(['/', '.']) || path.starts_with("id_")) && is_protected(path)
        || system.iter().any(|place| path.starts_with(place))
}
