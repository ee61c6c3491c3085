//! Second pass over `[host]`: the mode, and the ids of the host's processes in mode `system`.

use crate::accounts::{Accounts, Ids, nobody};
use crate::machine::Machine;
use crate::problem::Problems;
use crate::view::View;
use manifest::command::Mode;
use manifest::settings::{FIRST_SLOT, ID_RANGE, PROCESSES, ordinary};

/// `[host]`, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The configured mode.
    pub mode: Option<Mode>,
    /// The first of the host's own ids.
    pub base: u32,
    /// Runner slots.
    pub slots: u16,
    /// MiB that are kept free on the state directory's disk.
    pub disk_reserve: u32,
    /// Inodes that are kept free there.
    pub inode_reserve: u32,
    /// Runners that are launched ahead of need.
    pub warm: u16,
    /// True if the processes' users are installed.
    pub installed: bool,
    /// True if processes run under ids of their own.
    pub own_ids: bool,
    /// Uid and gid of each process.
    pub ids: Ids,
    /// The time zone that agents are told the time in, by its IANA name.
    pub time_zone: String,
}

impl Host {
    /// Reads it.
    #[must_use]
    pub fn resolve(file: &View<'_>, machine: &Machine, problems: &mut Problems) -> Self {
        let (view, accounts) = (file.table("host"), &machine.accounts);
        let mode = match view.word("mode").as_str() {
            "system" => Some(Mode::System),
            "user" => Some(Mode::User),
            "flat" => Some(Mode::Flat),
            _ => None,
        };
        let base = view.number("uid_base");
        // In the other modes every process has its caller's uid, and the ids in use do not matter.
        let own_ids = mode == Some(Mode::System) || mode.is_none() && machine.root;
        let nobody = nobody(base).map(|id| format!("id {id} is the id of `nobody`"));
        let against = nobody.or_else(|| accounts.against(base).filter(|_| own_ids));
        if let Some(what) = against.filter(|_| !view.wrong("uid_base")) {
            let what = format!("the ids from {base} on are not free: {what}");
            problems.add(view.line("uid_base"), &view.key("uid_base"), what, free(accounts));
        }
        let installed = accounts.installed().filter(|_| own_ids);
        let ids = installed.unwrap_or_else(|| numbered(base));
        if let Some(what) = installed.and_then(|ids| shared(&ids)) {
            let valid = "a uid of its own for each `cordon-*` user, and not root's";
            problems.add(view.line("uid_base"), &view.key(""), what, valid);
        }
        let slots = u16::try_from(view.number("runner_slots")).unwrap_or(1);
        let disk_reserve = view.number("disk_reserve");
        let inode_reserve = view.number("inode_reserve");
        let warm = u16::try_from(view.number("warm_runners")).unwrap_or(0);
        Self {
            mode,
            base,
            slots,
            disk_reserve,
            inode_reserve,
            warm,
            installed: installed.is_some(),
            own_ids,
            ids,
            time_zone: view.text("time_zone").unwrap_or_else(|| machine.time_zone.clone()),
        }
    }

    /// Uid and gid of the first runner slot.
    #[must_use]
    pub const fn slot_base(&self) -> u32 {
        self.base.saturating_add(FIRST_SLOT)
    }

    /// Returns true if `uid` is one of the host's own processes.
    #[must_use]
    pub fn owns(&self, uid: u32) -> bool {
        let range = self.base..self.base.saturating_add(ID_RANGE);
        self.own_ids && (range.contains(&uid) || self.ids.iter().any(|(own, _)| *own == uid))
    }
}

fn free(accounts: &Accounts) -> String {
    match accounts.free_base() {
        Some(base) => format!("a number from which {ID_RANGE} ids are free, such as {base}"),
        None => "none on this machine, so another `host.mode`".to_owned(),
    }
}

fn numbered(base: u32) -> Ids {
    let mut ids = [(base, base); PROCESSES];
    for (slot, row) in ids.iter_mut().zip(manifest::TABLE) {
        let id = base.saturating_add(row.process.id().into());
        *slot = (id, id);
    }
    ids
}

fn shared(ids: &Ids) -> Option<String> {
    for (n, (row, (uid, gid))) in manifest::TABLE.iter().zip(ids).enumerate() {
        let user = row.user;
        if !ordinary(*uid) || !ordinary(*gid) {
            return Some(format!("the installed user {user} has uid {uid} and gid {gid}"));
        }
        let other = manifest::TABLE.iter().zip(ids).take(n).find(|(_, (other, _))| other == uid);
        if let Some((other, _)) = other {
            return Some(format!("the installed users {} and {user} both have uid {uid}", other.user));
        }
    }
    None
}
