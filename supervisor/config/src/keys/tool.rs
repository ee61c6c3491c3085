//! The keys of `[tool.TOOL]`: what may be declared of a tool, in place of what it declares itself. Names, enums and
//! defaults are those of `ipc_proto::capability`; a test holds them to it. It holds no logic.

use super::Key;
use crate::forms::{ARGUMENT, HOST_GLOB, PATH_GLOB, PATTERN, VARIABLE};
use crate::kind::{Kind, Preset};
use manifest::Process::{self, Gate};

/// Most entries of one list.
const MANY: usize = 64;
/// Most arguments: as many as an explanation names.
const ARGUMENTS: usize = 32;
const SEEN: &[Process] = &[Gate];

const fn flag(path: &'static str, preset: bool, means: &'static str) -> Key {
    Key { path, kind: Kind::Flag, preset: Preset::Flag(preset), seen_by: SEEN, means }
}

const fn word(
    path: &'static str,
    words: &'static [&'static str],
    preset: &'static str,
    means: &'static str,
) -> Key {
    Key { path, kind: Kind::Word(words), preset: Preset::Text(preset), seen_by: SEEN, means }
}

const fn list(path: &'static str, of: &'static Kind, max: usize, means: &'static str) -> Key {
    Key { path, kind: Kind::List { of, max }, preset: Preset::List(&[]), seen_by: SEEN, means }
}

/// A list that means something else when it is left out than when it is empty.
const fn maybe(path: &'static str, of: &'static Kind, means: &'static str) -> Key {
    Key { path, kind: Kind::List { of, max: MANY }, preset: Preset::Nothing, seen_by: SEEN, means }
}

const fn number(path: &'static str, (min, max): (u32, u32), preset: u32, means: &'static str) -> Key {
    Key { path, kind: Kind::Number { min, max }, preset: Preset::Number(preset), seen_by: SEEN, means }
}

/// The keys.
pub(super) const KEYS: &[Key] = &[
    word(
        "tool.TOOL.effect",
        &["read", "write", "send", "pay", "delete"],
        "write",
        "What the tool does to the world. A table of a tool stands in place of everything that the tool declares \
         itself: what is left out of it has the default that stands here.",
    ),
    list(
        "tool.TOOL.relevant_args",
        &Kind::Text(&ARGUMENT),
        ARGUMENTS,
        "The arguments that decide whether a call does harm: recipients, addresses, paths, amounts, commands.",
    ),
    list(
        "tool.TOOL.record_args",
        &Kind::Text(&ARGUMENT),
        ARGUMENTS,
        "Of those, the ones that your own records may vouch for, as tools with `labels.owner_records` read them.",
    ),
    Key {
        path: "tool.TOOL.irreversible",
        kind: Kind::Flag,
        preset: Preset::Nothing,
        seen_by: SEEN,
        means: "Whether what it does cannot be taken back; left out, it is so of `send`, `pay` and `delete`.",
    },
    word(
        "tool.TOOL.approval.level",
        &["auto", "ask", "always"],
        "auto",
        "`auto`: it asks when policy says. `ask`: it asks unless a grant of the session covers the call. `always`: \
         it asks each time.",
    ),
    list(
        "tool.TOOL.approval.danger_patterns",
        &Kind::Text(&PATTERN),
        MANY,
        "A call asks, each time, if one of these is found in an argument.",
    ),
    flag(
        "tool.TOOL.approval.trust_after_approval",
        false,
        "One approval may be given for the rest of the session, for the same relevant arguments.",
    ),
    list(
        "tool.TOOL.approval.ask_for_methods",
        &Kind::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
        6,
        "HTTP methods that ask.",
    ),
    word(
        "tool.TOOL.data.sensitivity",
        &["none", "low", "medium", "high", "secret"],
        "medium",
        "How delicate what it touches is.",
    ),
    flag("tool.TOOL.data.can_read_secrets", false, "It may be given secret data."),
    flag("tool.TOOL.data.can_leak_data", false, "What it is given can leave the host through it."),
    flag("tool.TOOL.data.sanitize_output", true, "Secrets are cut out of its output."),
    word(
        "tool.TOOL.network.access",
        &["none", "limited", "full"],
        "none",
        "`limited`: the hosts of `allowed_hosts`. `full`: all public hosts that `[web]` allows.",
    ),
    maybe(
        "tool.TOOL.network.allowed_hosts",
        &Kind::Text(&HOST_GLOB),
        "Hosts that it may reach; left out, any that the rest allows.",
    ),
    list("tool.TOOL.network.blocked_hosts", &Kind::Text(&HOST_GLOB), MANY, "Hosts that it may not reach."),
    list(
        "tool.TOOL.network.blocked_ports",
        &Kind::Number { min: 1, max: 65_535 },
        MANY,
        "Ports that it may not reach.",
    ),
    flag("tool.TOOL.network.block_private_ips", true, "Private addresses are refused."),
    flag("tool.TOOL.network.block_metadata", true, "Metadata services of clouds are refused."),
    flag(
        "tool.TOOL.network.require_approval_for_unknown_hosts",
        false,
        "A host that no list and no trusted text names asks.",
    ),
    word(
        "tool.TOOL.execution.sandbox",
        &["none", "process", "container"],
        "process",
        "Where it runs. The host's own jail is at least as strong as any of these.",
    ),
    word(
        "tool.TOOL.execution.network_mode",
        &["none", "proxy", "host"],
        "none",
        "The network of its sandbox. A tool in the jail has none, whatever stands here.",
    ),
    number("tool.TOOL.execution.timeout", (1, 3_600_000), 60_000, "Milliseconds after which it is stopped."),
    number(
        "tool.TOOL.execution.max_output_size",
        (1, 1_048_576),
        1_000_000,
        "Bytes of its output that are kept.",
    ),
    maybe(
        "tool.TOOL.execution.allowed_paths",
        &Kind::Text(&PATH_GLOB),
        "Paths that it may name; left out, any in the workspace.",
    ),
    list("tool.TOOL.execution.blocked_paths", &Kind::Text(&PATH_GLOB), MANY, "Paths that it may not name."),
    word(
        "tool.TOOL.execution.env",
        &["inherit", "clean", "explicit"],
        "clean",
        "What environment it gets: `explicit` is the variables of `allowed_env_vars`.",
    ),
    list(
        "tool.TOOL.execution.allowed_env_vars",
        &Kind::Text(&VARIABLE),
        MANY,
        "Variables of an explicit environment.",
    ),
    flag("tool.TOOL.audit.log_args", true, "A digest of its arguments is put on the record."),
    flag("tool.TOOL.audit.log_output", false, "A digest of its output is put on the record."),
    flag(
        "tool.TOOL.audit.use_shared_secret_detector",
        true,
        "Its arguments and output pass the scanner before anything of them is written.",
    ),
    list(
        "tool.TOOL.audit.alert_on",
        &Kind::Word(&["blocked", "error", "success", "asked"]),
        4,
        "Outcomes that are an alert.",
    ),
    word(
        "tool.TOOL.labels.output_trust",
        &["system", "user", "verified", "untrusted"],
        "untrusted",
        "How far its output is trusted.",
    ),
    word(
        "tool.TOOL.labels.output_data_class",
        &["public", "internal", "sensitive", "secret"],
        "internal",
        "How confidential its output is.",
    ),
    flag(
        "tool.TOOL.labels.accepts_untrusted",
        true,
        "It may be called once the session has read untrusted content.",
    ),
    flag(
        "tool.TOOL.labels.owner_records",
        false,
        "Its output is your own records: it vouches for the `record_args` of other tools, and for nothing else.",
    ),
];
