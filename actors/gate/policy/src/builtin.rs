//! The capabilities of the built-in tools, after the seed's table of defaults. Two things differ, since the seed's sandbox is the
//! person's machine and ours is a jail without network that is discarded after each turn: `write` and `bash` do not ask by
//! themselves, and the data that a jail's tool touches cannot leave by it. A command that is dangerous even there still asks.

use crate::browser;
use ipc_proto::capability::{
    Access, Approval, Audit, Capability, Data, Effect, Execution, Labels, Level, Network, Sandbox,
    Sensitivity,
};
use ipc_proto::label::{Class, Trust};

/// Ports that speak something else than HTTP: the seed's two lists together.
const PORTS: &[u16] = &[22, 23, 25, 445, 3306, 3389, 5432, 6379, 27017];

/// The arguments of a memory that a later session reads.
const REMEMBERED: &[&str] = &["content", "title", "key", "files", "project", "tags"];

const READ_DANGER: &[&str] = &[
    r"/etc/passwd",
    r"\bshadow\b",
    r"\.ssh\b",
    r"\.gnupg\b",
    r"\.aws\b",
    r"\.env$",
    r"\bcredentials\b",
    r"\bid_(rsa|dsa|ecdsa|ed25519)\b",
];
const WRITE_DANGER: &[&str] = &[
    r"(^|/)\.(bash|zsh|k|c)?(rc|_profile|_login|_logout|profile|shrc)$",
    r"\bcrontab\b",
    r"\.ssh\b",
    r"\bauthorized_keys\b",
    r"(^|/)\.git/hooks/",
];
const BASH_DANGER: &[&str] = &[
    r"\brm\s+(-\w*\s+)*-\w*r",
    r"\brm\s+(-\S+\s+)*--recursive\b",
    r"\bsudo\b",
    r"\bchmod\s+(-\w+\s+)*0?777\b",
    r"\bmkfs\b",
    r"\bdd\s+([^;|&]*\s)?if=",
    r">\s*/dev/(sd|hd|vd|nvme|mem|kmem|port)",
    r"\b(curl|wget)\b[^;&]*\|\s*(ba|z|da|k)?sh\b",
    r"\beval\b",
    r"\bbase64\s+(-d|-D|--decode)\b",
];

/// Every built-in tool with its capability.
pub(crate) fn capabilities() -> Vec<(&'static str, Capability)> {
    let mut all = vec![
        ("read", file(Effect::Read, READ_DANGER, 10_000, 1_000_000)),
        ("write", file(Effect::Write, WRITE_DANGER, 10_000, 10_000_000)),
        ("edit", file(Effect::Write, WRITE_DANGER, 10_000, 10_000_000)),
        ("glob", file(Effect::Read, &[], 10_000, 1_000_000)),
        ("grep", file(Effect::Read, READ_DANGER, 30_000, 1_000_000)),
        ("bash", bash()),
        ("memory_query", searching()),
        ("memory_timeline", memory(Effect::Read, &[])),
        ("memory_read", memory(Effect::Read, &[])),
        ("memory_list", memory(Effect::Read, &[])),
        ("memory_write", memory(Effect::Write, REMEMBERED)),
        ("memory_revise", memory(Effect::Write, &["content", "title", "tags"])),
        ("memory_delete", memory(Effect::Delete, &["id"])),
        ("web_fetch", fetch()),
        ("web_search", search()),
        ("http_call", call()),
        ("oauth_call", call()),
        ("send_file", sending()),
        ("tool_find", memory(Effect::Read, &[])),
        ("delegate", memory(Effect::Read, &[])),
        ("collect", memory(Effect::Read, &[])),
        ("network", way_out()),
    ];
    all.extend(browser::capabilities());
    all.extend([
        ("scheduler_add_cron", adding(&["cron", "prompt"])),
        ("scheduler_run_at", adding(&["at", "prompt"])),
        ("scheduler_remove", memory(Effect::Delete, &["job"])),
        ("scheduler_list", memory(Effect::Read, &[])),
    ]);
    all
}

/// A person approves each job, by a policy that no declaration lifts.
fn adding(relevant: &[&str]) -> Capability {
    Capability {
        execution: Execution { timeout: 35_000, ..Execution::default() },
        ..memory(Effect::Write, relevant)
    }
}

/// To the very conversation that the answer goes to, and to nobody else. The path is judged as a file's of the jail is.
fn sending() -> Capability {
    let read = file(Effect::Send, READ_DANGER, 60_000, 4096);
    Capability {
        data: Data { can_read_secrets: false, ..Data::default() },
        network: Network { access: Access::Limited, ..Network::default() },
        execution: Execution { sandbox: Sandbox::default(), ..read.execution },
        audit: Audit { alert_on: texts(&["blocked"]), ..Audit::default() },
        irreversible: Some(false),
        ..read
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Runs in the jail. A file has its workspace's label, so the tool itself adds nothing to it.
fn jailed(effect: Effect, relevant: &[&str], danger: &[&str]) -> Capability {
    Capability {
        approval: Approval {
            danger_patterns: texts(danger),
            trust_after_approval: true,
            ..Approval::default()
        },
        data: Data { sensitivity: Sensitivity::Low, can_read_secrets: true, ..Data::default() },
        execution: Execution { sandbox: Sandbox::Container, ..Execution::default() },
        labels: Labels { output_trust: Trust::System, output_data_class: Class::Public, ..Labels::default() },
        effect,
        relevant_args: texts(relevant),
        ..Capability::default()
    }
}

fn file(effect: Effect, danger: &[&str], timeout: u32, max_output_size: u32) -> Capability {
    let mut capability = jailed(effect, &["path"], danger);
    let execution = &mut capability.execution;
    execution.timeout = timeout;
    execution.max_output_size = max_output_size;
    execution.allowed_paths =
        Some(texts(&["$WORKSPACE", "$WORKSPACE/**", "/skills", "/skills/**", "/tmp", "/tmp/**"]));
    execution.blocked_paths = texts(&[
        "**/.ssh/id_*",
        "**/.gnupg/**",
        "**/.aws/credentials",
        "/etc/**",
        "/usr/**",
        "/bin/**",
        "/sbin/**",
    ]);
    capability
}

/// Never remembered. A program may print anything, so its output is untrusted.
fn bash() -> Capability {
    let mut capability = jailed(Effect::Write, &["command", "cwd"], BASH_DANGER);
    capability.approval.trust_after_approval = false;
    capability.execution.timeout = 120_000;
    capability.execution.max_output_size = 1_000_000;
    capability.labels.output_trust = Trust::Untrusted;
    capability
}

/// A search in which a model may have a part: one makes a vector of the question, one puts the answers into order.
fn searching() -> Capability {
    let memory = memory(Effect::Read, &[]);
    Capability { execution: Execution { timeout: 40_000, ..memory.execution }, ..memory }
}

/// In the host. A row comes back with the label it was stored with.
fn memory(effect: Effect, relevant: &[&str]) -> Capability {
    Capability {
        data: Data { sensitivity: Sensitivity::Low, ..Data::default() },
        execution: Execution { timeout: 15_000, ..Execution::default() },
        labels: Labels { output_trust: Trust::System, output_data_class: Class::Public, ..Labels::default() },
        effect,
        relevant_args: texts(relevant),
        ..Capability::default()
    }
}

/// GET and HEAD by itself, where label and profile let it; flow rule 2 asks for hosts that nobody named.
fn fetch() -> Capability {
    Capability {
        approval: Approval {
            ask_for_methods: texts(&["POST", "PUT", "PATCH", "DELETE"]),
            trust_after_approval: true,
            ..Approval::default()
        },
        data: Data { can_leak_data: true, ..Data::default() },
        network: Network { access: Access::Full, blocked_ports: PORTS.to_vec(), ..Network::default() },
        execution: Execution { timeout: 30_000, ..Execution::default() },
        audit: Audit { alert_on: texts(&["blocked"]), ..Audit::default() },
        effect: Effect::Read,
        relevant_args: texts(&["url", "method", "headers", "body"]),
        ..Capability::default()
    }
}

/// The requests of a jail's program to one host; no model can call it. A host that is on no list of the agent's asks.
fn way_out() -> Capability {
    let fetch = fetch();
    Capability {
        approval: Approval { trust_after_approval: true, ..Approval::default() },
        network: Network {
            require_approval_for_unknown_hosts: true,
            blocked_ports: Vec::new(),
            ..fetch.network
        },
        relevant_args: texts(&["url", "method"]),
        ..fetch
    }
}

/// The query goes to the configured provider and to nobody else.
fn search() -> Capability {
    Capability {
        approval: Approval { level: Level::Auto, trust_after_approval: true, ..Approval::default() },
        data: Data { can_leak_data: true, ..Data::default() },
        network: Network { access: Access::Limited, ..Network::default() },
        execution: Execution { timeout: 30_000, ..Execution::default() },
        effect: Effect::Read,
        ..Capability::default()
    }
}

/// To a service that the owner configured, with a secret of theirs: reading goes where label and profile let it, all
/// else asks each time.
fn call() -> Capability {
    Capability {
        approval: Approval {
            ask_for_methods: texts(&["POST", "PUT", "PATCH", "DELETE"]),
            trust_after_approval: true,
            ..Approval::default()
        },
        data: Data { can_leak_data: true, ..Data::default() },
        network: Network { access: Access::Limited, ..Network::default() },
        execution: Execution { timeout: 30_000, ..Execution::default() },
        audit: Audit { alert_on: texts(&["blocked"]), ..Audit::default() },
        effect: Effect::Read,
        relevant_args: texts(&["method", "path", "query", "body"]),
        ..Capability::default()
    }
}
