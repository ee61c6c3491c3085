//! The table itself: the whole security architecture in three screens. Downhill order: callee above caller.

use crate::process::Process::{
    self, Agentd, Audit, Control, Credproxy, Dialer, Gate, Memory, Model, Router, Runner, Scanner, Web,
};
use crate::row::{Access, Allow, Backoff, Limits, Network, Open, Place, Row};
use crate::syscalls::{ACCEPT, BASE, DIAL, FILES, LINKS, PASS, PROGRAMS};

/// Every process's row, in order of start.
pub const TABLE: &[Row] = &[
    Row {
        process: Audit,
        does: "appends to the record and proves it; the signing key is here and nowhere else",
        user: "cordon-audit",
        opens: &[own("the record")],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "audit"],
        serves: &[
            allow("append", &[Credproxy, Memory, Router, Gate, Control]),
            allow("tail", &[Control]),
            allow("verify", &[Control]),
            allow("prove", &[Control]),
            allow("consistency", &[Control]),
            allow("checkpoint", &[Control]),
            allow("stats", &[Control]),
            allow("query", &[Control]),
            allow("digest", &[Control]),
            allow("rotate_key", &[Control]),
        ],
    },
    Row {
        process: Dialer,
        does: "connects to an address it has checked, and passes the connection; sees no content, holds no secret",
        user: "cordon-dialer",
        opens: &[
            system("/etc/resolv.conf", "which name servers to ask"),
            system("/etc/hosts", "names this machine gives itself"),
        ],
        shows: None,
        network: Network::Client,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &DIAL, &PASS],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "dialer", "web"],
        serves: &[allow("dial", &[Credproxy, Web])],
    },
    Row {
        process: Credproxy,
        does: "keeps secrets sealed, and puts one into a request to the host it is bound to",
        user: "cordon-credproxy",
        opens: &[own("the vault and its key file")],
        shows: Some("public.key"),
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "credproxy"],
        serves: &[
            allow("request", &[Web, Model]),
            allow("next", &[Web, Model]),
            allow("close", &[Web, Model]),
            allow("set", &[Control]),
            allow("list", &[Control]),
            allow("remove", &[Control]),
            allow("fingerprints", &[Scanner]),
        ],
    },
    Row {
        process: Scanner,
        does: "finds injections, secrets, personal data and canaries in text; keeps nothing",
        user: "cordon-scanner",
        opens: &[],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "scanner"],
        serves: &[allow("scan", &[Memory, Router, Gate]), allow("hold_back", &[Gate])],
    },
    Row {
        process: Memory,
        does: "the one memory store",
        user: "cordon-memory",
        opens: &[own("the memory database")],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "memory"],
        serves: &[
            allow("write", &[Gate, Control]),
            allow("query", &[Gate, Control]),
            allow("read", &[Gate, Control]),
            allow("list", &[Gate, Control]),
            allow("delete", &[Gate, Control]),
        ],
    },
    Row {
        process: Web,
        does: "fetches and searches the public web over dialled connections; holds no secret",
        user: "cordon-web",
        opens: &[],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "web"],
        serves: &[allow("fetch", &[Gate]), allow("search", &[Gate])],
    },
    Row {
        process: Model,
        does: "model adapters; parses what providers answer, with neither key nor network",
        user: "cordon-model",
        opens: &[own("scripted replies and the spend ledger")],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "model"],
        serves: &[
            allow("start", &[Gate]),
            allow("next", &[Gate]),
            allow("cancel", &[Gate]),
            allow("models", &[Gate]),
        ],
    },
    Row {
        process: Router,
        does: "users, sessions, the durable inbox, transcript and outbox; asks agentd for runners",
        user: "cordon-router",
        opens: &[own("the queue database")],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "router", "user", "agent"],
        serves: &[
            allow("take", &[Gate]),
            allow("step", &[Gate]),
            allow("emit", &[Gate]),
            allow("finish", &[Gate]),
            allow("ask", &[Gate]),
            allow("answer_of", &[Gate]),
            allow("approvals", &[Control]),
            allow("approval", &[Control]),
            allow("answer", &[Control]),
            allow("grants", &[Control]),
            allow("revoke", &[Control]),
            allow("call", &[Control]),
            allow("identify", &[Control]),
            allow("submit", &[Control]),
            allow("follow", &[Control]),
            allow("cancel", &[Control]),
            allow("sessions", &[Control]),
            allow("session", &[Control]),
            allow("end_session", &[Control]),
            allow("messages", &[Control]),
            allow("trace", &[Control]),
            allow("users", &[Control]),
            allow("add_user", &[Control]),
            allow("remove_user", &[Control]),
            allow("agents", &[Control]),
            allow("workspaces", &[Control]),
            allow("remove_workspace", &[Control]),
            allow("events", &[Control]),
        ],
    },
    Row {
        process: Gate,
        does: "the reference monitor: the only process a runner can reach, and the only one that model serves",
        user: "cordon-gate",
        opens: &[own("the owner's policies")],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "gate", "agent", "web", "policy", "tool"],
        serves: &[
            allow("models", &[Control]),
            allow("policies", &[Control]),
            allow("set_policy", &[Control]),
            allow("remove_policy", &[Control]),
            allow("work", &[Runner]),
            allow("think", &[Runner]),
            allow("hear", &[Runner]),
            allow("effect", &[Runner]),
            allow("result", &[Runner]),
            allow("progress", &[Runner]),
            allow("output", &[Runner]),
            allow("finish", &[Runner]),
        ],
    },
    Row {
        process: Control,
        does: "serves agentctl: who asks is known from the kernel, what they may ask from their role",
        user: "cordon-control",
        opens: &[Open {
            place: Place::State("logs"),
            access: Access::Read,
            why: "`agentctl logs` shows what processes said",
        }],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &ACCEPT, &PASS, &FILES],
        limits: ACTOR,
        restart: BACKOFF,
        config: &["log", "control"],
        serves: &[],
    },
    Row {
        process: Runner,
        does: "one agent turn in a throw-away jail",
        user: "cordon-runner",
        opens: &[],
        shows: None,
        network: Network::None,
        capabilities: &[],
        syscalls: &[&BASE, &LINKS, &PROGRAMS],
        limits: Limits { memory_mib: 512, files: 1024, processes: 128, file_mib: 512 },
        restart: BACKOFF,
        config: &[],
        serves: &[],
    },
];

/// Who may be asked by hand: `agentctl restart`, `hold`, `release`. The supervisor is not restarted by itself.
#[must_use]
pub const fn is_actor(process: Process) -> bool {
    !matches!(process, Agentd | Runner)
}

/// An actor's limits: measured idle use is 2 to 6 MiB; the rest is room for one full frame per peer.
const ACTOR: Limits = Limits { memory_mib: 256, files: 256, processes: 0, file_mib: 4096 };

/// First restart at once, then 100 ms doubling to 10 s; held after ten ends in a row within 10 s of a start.
const BACKOFF: Backoff = Backoff { first_ms: 100, max_ms: 10_000, hold_after: 10, quiet_ms: 10_000 };

const fn allow(method: &'static str, callers: &'static [Process]) -> Allow {
    Allow { method, callers }
}

const fn own(why: &'static str) -> Open {
    Open { place: Place::Own, access: Access::Write, why }
}

const fn system(path: &'static str, why: &'static str) -> Open {
    Open { place: Place::System(path), access: Access::Read, why }
}
