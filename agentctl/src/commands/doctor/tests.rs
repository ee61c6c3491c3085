//! The doctor's judgements, row by row, of texts and folders like those of real machines.

use super::machine::{Switches, landlock, namespaces, seccomp};
use super::programs::{CheckOutput, judged};
use super::reach::{Listener, listeners, loopback};
use super::repair::Wanted;
use super::resources::{Mount, find_mount, mount};
use super::service::{Unit, judge};
use super::{Row, Scene, Status, degraded, files};
use crate::host;
use ipc_proto::Text;
use ipc_proto::control::HostStatus;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const MOUNTS: &str = "\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 21 0:25 / /run rw,nosuid,nodev shared:6 - tmpfs tmpfs rw,size=1m
31 21 254:1 / /var/lib ro,relatime - ext4 /dev/vdb rw
32 31 254:2 / /var/lib/cordon rw,noexec - xfs /dev/vdc rw
33 21 0:30 / /mnt/a\\040b rw - nfs4 server:/ rw
";

#[test]
fn the_mount_that_holds_a_path_is_the_nearest_above_it() {
    for (path, kind) in [
        ("/home/ada", "ext4"),
        ("/run/cordon", "tmpfs"),
        ("/runs", "ext4"),
        ("/var/lib/cordon/audit", "xfs"),
        ("/mnt/a b/c", "nfs4"),
    ] {
        assert_eq!(find_mount(MOUNTS, Path::new(path)).unwrap().kind, kind, "{path}");
    }
    assert_eq!(find_mount("", Path::new("/")), None);
}

#[test]
fn an_unproven_jail_fails_and_a_degraded_host_is_a_warning() {
    let host = |self_check: &str, reason: &str, state: &str| HostStatus {
        self_check: Text::clip(self_check),
        reason: Text::clip(reason),
        ..host::tests::host("gate", state, 1)
    };
    for (check, reason, state, status, part) in [
        ("passed in 9 ms", "", "ready", Status::Pass, "no fault"),
        ("pending", "vault locked", "ready", Status::Warn, "vault locked"),
        ("passed in 9 ms", "", "waiting", Status::Warn, "not ready: gate"),
        ("failed: shadow in the jail of runner", "", "ready", Status::Fail, "self-check failed: shadow"),
    ] {
        let row = degraded(&host(check, reason, state));
        assert!(
            row.status == status && row.message.contains(part),
            "{check} {reason} {state}: {}",
            row.message
        );
    }
}

#[test]
fn a_volatile_or_read_only_disk_is_reported() {
    let at = |kind: &str, options: &[&str]| {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        mount(Path::new("/s"), Some(Mount { kind: kind.to_owned(), options })).status
    };
    assert_eq!(at("ext4", &["rw", "relatime"]), Status::Pass);
    assert_eq!(at("ext4", &["ro"]), Status::Fail);
    for (kind, option) in [("tmpfs", "rw"), ("overlay", "rw"), ("fuse.sshfs", "rw"), ("ext4", "noexec")] {
        assert_eq!(at(kind, &[option]), Status::Warn, "{kind} {option}");
    }
    assert_eq!(mount(Path::new("/s"), None).status, Status::Warn);
}

// Holds P2-27.
#[test]
fn a_kernel_that_lacks_a_layer_is_named_with_its_remedy() {
    let of = |actions: Option<&str>| seccomp(&actions.map(str::to_owned)).status;
    assert_eq!(of(Some("kill_process kill_thread trap errno user_notif trace log allow")), Status::Pass);
    assert_eq!(of(Some("kill_process errno log")), Status::Warn);
    assert_eq!(of(Some("trap errno user_notif log")), Status::Fail);
    assert_eq!(of(None), Status::Fail);
    let of = |modules: Option<&str>| landlock(&modules.map(str::to_owned));
    assert_eq!(of(Some("lockdown,capability,landlock,yama")).status, Status::Pass);
    assert_eq!(of(Some("capability,yama")).status, Status::Fail);
    assert!(of(Some("capability")).message.contains("lsm=landlock"));
    assert_eq!(of(None).status, Status::Pass);
}

#[test]
fn user_namespaces_are_off_root_s_alone_hollow_or_there() {
    let of = |most, unprivileged, apparmor| namespaces(&Switches { most, unprivileged, apparmor });
    assert_eq!(of(Some(9), None, None).status, Status::Pass);
    assert_eq!(of(Some(9), Some(1), Some(0)).status, Status::Pass);
    for (most, unprivileged, apparmor, status, remedy) in [
        (Some(0), None, None, Status::Fail, "user.max_user_namespaces"),
        (None, None, None, Status::Fail, "flat"),
        (Some(9), Some(0), None, Status::Warn, "kernel.unprivileged_userns_clone"),
        (Some(9), Some(1), Some(1), Status::Warn, "kernel.apparmor_restrict_unprivileged_userns"),
    ] {
        let row = of(most, unprivileged, apparmor);
        assert!(row.status == status && row.message.contains(remedy), "{}", row.message);
    }
}

#[test]
fn listeners_are_distinguished_from_connections() {
    let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  998  0 4711 1 0 100 0 0 10 0\n\
        1: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000 00000000  998  0 4712 1 0 100 0 0 10 0\n\
        2: short 0A\n";
    let one = Listener { at: "0100007F:1F90".to_owned(), uid: 998, inode: "socket:[4711]".to_owned() };
    assert_eq!(listeners(text), [one]);
}

// Holds P3-12.
#[test]
fn only_the_two_addresses_of_this_machine_alone_are_gateways() {
    assert_eq!(loopback("0100007F:1F90").as_deref(), Some("127.0.0.1:8080"));
    assert_eq!(loopback("00000000000000000000000001000000:1F90").as_deref(), Some("[::1]:8080"));
    for other in
        ["00000000:1F90", "0200007F:1F90", "00000000000000000000000000000000:1F90", "0100007F", "x:y"]
    {
        assert_eq!(loopback(other), None, "{other}");
    }
}

fn unit(text: &str, added: &str, enabled: bool) -> Unit {
    let added =
        if added.is_empty() { vec![] } else { vec![(PathBuf::from("/etc/x.conf"), added.to_owned())] };
    Unit { path: "/lib/cordon.service".into(), text: text.to_owned(), added, enabled }
}

fn status(rows: &[Row], id: &str) -> Option<Status> {
    rows.iter().find(|row| row.id == id).map(|row| row.status)
}

#[test]
fn a_unit_is_compared_with_the_one_that_this_version_ships() {
    let shipped = "[Service]\nWatchdogSec=30s\n";
    let rows = judge(Some(&unit(shipped, "", true)), shipped, true);
    assert!(rows.len() == 5 && rows.iter().all(|row| row.status == Status::Pass), "{rows:?}");
    for (unit, id, expected) in [
        (unit("[Service]\nWatchdogSec=9\n", "", true), "unit.current", Status::Warn),
        (unit(shipped, "", false), "unit.enabled", Status::Warn),
        (unit(shipped, "[Service]\nWatchdogSec=0\n", true), "unit.watchdog", Status::Warn),
        (unit(shipped, "[Service]\nRestrictNamespaces=yes\n", true), "unit.drop-ins", Status::Fail),
        (unit(shipped, "[Service]\nRestrictNamespaces=no\nNice=5\n", true), "unit.drop-ins", Status::Pass),
    ] {
        assert_eq!(status(&judge(Some(&unit), shipped, true), id), Some(expected), "{id}");
    }
    for (systemd, expected) in [(true, Status::Warn), (false, Status::Pass)] {
        assert_eq!(status(&judge(None, shipped, systemd), "unit.installed"), Some(expected));
    }
}

// Holds P2-27.
#[test]
fn agentd_s_own_check_becomes_rows_and_none_of_its_faults_is_lost() {
    let well = "(defaults): ok\nkernel     every layer of mode system is there\n\
        database   /s/memory.db: version 1, as this program has it\nrecord     the record of cordon/1 holds";
    let of = |well: bool, lines: &str, complaints: &str| {
        judged(&CheckOutput { well, lines: lines.to_owned(), complaints: complaints.to_owned() })
    };
    assert!(of(true, well, "").iter().all(|row| row.status == Status::Pass));
    let newer = "database   /s/queue.db: version 9, and this program knows 3: a newer one wrote it";
    for (lines, complaints, id) in [
        (
            well,
            "c.toml:1: x: unknown key\nagentd: the configuration was refused; nothing was started",
            "configuration.valid",
        ),
        ("kernel     mode system: layer uids: agentd must be started as root", "", "kernel.layers"),
        (newer, "", "state.databases"),
        ("record     edited: entry 3 is not what was signed", "", "state.record"),
        (well, "agentd: cannot read /s/memory/memory.db: Permission denied", "state.fit"),
    ] {
        assert_eq!(status(&of(false, lines, complaints), id), Some(Status::Fail), "{id}");
    }
}

// Holds P2-27.
#[test]
fn a_folders_mode_is_repaired_and_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let wanted = Wanted { path: path.clone(), mode: 0o700, owner: None };
    assert_eq!(wanted.fault().unwrap(), None, "what is not there yet is no fault");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    assert!(wanted.fault().unwrap().unwrap().contains("0755 instead of 0700"));
    assert!(wanted.repair().unwrap().contains("0700"));
    assert_eq!(wanted.fault().unwrap(), None);
    let target = folder.path().join("elsewhere");
    fs::create_dir(&target).unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o755)).unwrap();
    symlink(&target, folder.path().join("link")).unwrap();
    let link = Wanted { path: folder.path().join("link"), mode: 0o700, owner: None };
    assert!(link.fault().unwrap().is_some() && link.repair().is_err());
    assert_eq!(target.metadata().unwrap().mode() & 0o777, 0o755);
}

#[test]
fn files_that_others_can_write_are_found_except_in_a_sticky_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (path, uid) = (folder.path(), nix::unistd::geteuid().as_raw());
    for (mode, writable) in [(0o755, false), (0o775, true), (0o757, true), (0o1777, false)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(files::writable(path, uid).is_some(), writable, "{mode:o}");
    }
}

// Holds P7-90.
#[test]
fn nothing_is_repaired_below_a_foreign_folder() {
    for (mode, names, status, left, logs) in [
        (0o1777, &["audit/", "lock"][..], Status::Fail, 0o1777, 0o755),
        (0o700, &["audit/"], Status::Pass, 0o700, 0o755),
        (0o700, &["lock", "memory/"], Status::Pass, 0o700, 0o755),
        (0o700, &["audit/", "lock", "notes.txt"], Status::Pass, 0o700, 0o700),
        (0o700, &["audit/", "lock"], Status::Pass, 0o711, 0o700),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_owned();
        for name in ["logs/"].iter().chain(names) {
            if name.ends_with('/') {
                fs::create_dir(state.join(name)).unwrap();
            } else {
                fs::write(state.join(name), "").unwrap();
            }
        }
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&state.join("logs"), 0o755);
        set(&state, mode);
        let scene = Scene {
            uid: nix::unistd::geteuid().as_raw(),
            state: state.clone(),
            config: None,
            socket: PathBuf::new(),
            host: None,
            installed: BTreeMap::new(),
            refused: false,
            fix: true,
        };
        let rows = files::rows(&scene);
        assert!(rows[0].id == "permissions.state" && rows.len() == 5, "{rows:?}");
        let now = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        assert_eq!(
            (rows[0].status, now(&state), now(&state.join("logs"))),
            (status, left, logs),
            "{mode:o} {names:?}: {rows:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_of_the_kernel_is_read_without_panic(text: String) {
        let _ = (listeners(&text), find_mount(&text, Path::new("/a")), seccomp(&Some(text)));
    }
}
