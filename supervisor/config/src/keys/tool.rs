//! The keys of `[tool.TOOL]`: a declaration that replaces the tool's own. Names, enums and defaults are those of
//! `ipc_proto::capability`; a test compares them. It holds no logic.

use super::Key;
use crate::forms::{ARGUMENT, HOST_GLOB, PATH_GLOB, PATTERN, VARIABLE};
use crate::kind::{Kind, Preset};
use manifest::Process::{self, Gate};

/// The most entries of one list.
const MANY: usize = 64;
/// The most arguments: as many as an explanation names.
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

/// A list for which leaving it out and leaving it empty differ.
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
        "The effect of the tool. A table of a tool replaces the tool's whole built-in declaration: keys that are left \
         out have the defaults given here.",
    ),
    list(
        "tool.TOOL.relevant_args",
        &Kind::Text(&ARGUMENT),
        ARGUMENTS,
        "The arguments that decide if a call does harm: recipients, addresses, paths, amounts, commands.",
    ),
    list(
        "tool.TOOL.record_args",
        &Kind::Text(&ARGUMENT),
        ARGUMENTS,
        "Those of `relevant_args` that your own records may vouch for, as read by tools with `labels.owner_records`.",
    ),
    Key {
        path: "tool.TOOL.irreversible",
        kind: Kind::Flag,
        preset: Preset::Nothing,
        seen_by: SEEN,
        means: "True if the effect cannot be undone; the default is true for `send`, `pay` and `delete`.",
    },
    word(
        "tool.TOOL.approval.level",
        &["auto", "ask", "always"],
        "auto",
        "`auto`: a call needs an approval if policy says so. `ask`: it needs one unless a grant of the session covers \
         it. `always`: it needs one each time.",
    ),
    list(
        "tool.TOOL.approval.danger_patterns",
        &Kind::Text(&PATTERN),
        MANY,
        "A call with a match of one of these in an argument needs an approval each time.",
    ),
    flag(
        "tool.TOOL.approval.trust_after_approval",
        false,
        "If true, one approval may cover the rest of the session, for the same relevant arguments.",
    ),
    list(
        "tool.TOOL.approval.ask_for_methods",
        &Kind::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
        6,
        "HTTP methods that need an approval.",
    ),
    word(
        "tool.TOOL.data.sensitivity",
        &["none", "low", "medium", "high", "secret"],
        "medium",
        "The sensitivity of the data that the tool touches.",
    ),
    flag("tool.TOOL.data.can_read_secrets", false, "If true, the tool may get secret data."),
    flag("tool.TOOL.data.can_leak_data", false, "True if the tool can send its input out of the host."),
    flag("tool.TOOL.data.sanitize_output", true, "If true, secrets are removed from the output."),
    word(
        "tool.TOOL.network.access",
        &["none", "limited", "full"],
        "none",
        "`limited`: the hosts of `allowed_hosts`. `full`: all public hosts that `[web]` allows.",
    ),
    maybe(
        "tool.TOOL.network.allowed_hosts",
        &Kind::Text(&HOST_GLOB),
        "Hosts that the tool may reach; the default is any that the other keys allow.",
    ),
    list(
        "tool.TOOL.network.blocked_hosts",
        &Kind::Text(&HOST_GLOB),
        MANY,
        "Hosts that the tool may not reach.",
    ),
    list(
        "tool.TOOL.network.blocked_ports",
        &Kind::Number { min: 1, max: 65_535 },
        MANY,
        "Ports that the tool may not reach.",
    ),
    flag("tool.TOOL.network.block_private_ips", true, "Private addresses are refused."),
    flag("tool.TOOL.network.block_metadata", true, "Metadata services of clouds are refused."),
    flag(
        "tool.TOOL.network.require_approval_for_unknown_hosts",
        false,
        "If true, a host that no list and no trusted text names needs an approval.",
    ),
    word(
        "tool.TOOL.execution.sandbox",
        &["none", "process", "container"],
        "process",
        "The place where the tool runs. The host's own jail is at least as strong as any of these.",
    ),
    word(
        "tool.TOOL.execution.network_mode",
        &["none", "proxy", "host"],
        "none",
        "The network of its sandbox. A tool in the jail has none in any case.",
    ),
    number(
        "tool.TOOL.execution.timeout",
        (1, 3_600_000),
        60_000,
        "Milliseconds after which the tool is stopped.",
    ),
    number(
        "tool.TOOL.execution.max_output_size",
        (1, 1_048_576),
        1_000_000,
        "The most bytes of output that are kept.",
    ),
    maybe(
        "tool.TOOL.execution.allowed_paths",
        &Kind::Text(&PATH_GLOB),
        "Paths that a call may name; the default is any in the workspace.",
    ),
    list(
        "tool.TOOL.execution.blocked_paths",
        &Kind::Text(&PATH_GLOB),
        MANY,
        "Paths that a call may not name.",
    ),
    word(
        "tool.TOOL.execution.env",
        &["inherit", "clean", "explicit"],
        "clean",
        "The environment of the tool: `explicit` has the variables of `allowed_env_vars`.",
    ),
    list(
        "tool.TOOL.execution.allowed_env_vars",
        &Kind::Text(&VARIABLE),
        MANY,
        "Variables of an explicit environment.",
    ),
    flag("tool.TOOL.audit.log_args", true, "If true, a digest of the arguments is put on the record."),
    flag("tool.TOOL.audit.log_output", false, "If true, a digest of the output is put on the record."),
    flag(
        "tool.TOOL.audit.use_shared_secret_detector",
        true,
        "If true, arguments and output pass the scanner before anything of them is written.",
    ),
    list(
        "tool.TOOL.audit.alert_on",
        &Kind::Word(&["blocked", "error", "success", "asked"]),
        4,
        "Outcomes that raise an alert.",
    ),
    word(
        "tool.TOOL.labels.output_trust",
        &["system", "user", "verified", "untrusted"],
        "untrusted",
        "The trust in the tool's output.",
    ),
    word(
        "tool.TOOL.labels.output_data_class",
        &["public", "internal", "sensitive", "secret"],
        "internal",
        "The confidentiality of the tool's output.",
    ),
    flag(
        "tool.TOOL.labels.accepts_untrusted",
        true,
        "If true, the tool may be called after the session has read untrusted content.",
    ),
    flag(
        "tool.TOOL.labels.owner_records",
        false,
        "If true, the output is your own records: it vouches for the `record_args` of other tools, and for nothing \
         else.",
    ),
];
