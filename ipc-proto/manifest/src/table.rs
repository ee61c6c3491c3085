//! The table of privilege, downhill: a callee stands above its callers. A row has what it names and nothing else.

use crate::command::{Kind, ListenerKind};
use crate::process::Process::{
    AgentRunner, Audit, BrowserRunner, Control, Credproxy, Curator, Dialer, Discord, Egress, Email, Embedder,
    Gate, Gateway, Ingress, Matrix, McpRunner, Memory, Model, NetRunner, Router, Runner, Scanner, Scheduler,
    Signal, Slack, Telegram, Web, Webhook, Whatsapp,
};
use crate::row::{
    ACTOR, Access, Inherited, Limits, MODEL_FILES, NOTHING, Network, Open, Place, Row, own, system, to,
};
use crate::syscalls::{
    ACCEPT, BASE, DATABASE, DIAL, DIALLED, FILES, FLUSH, HTTP, LENGTH, LINKS, LIST, MODES, NODELAY, OPEN,
    PASS, PEER, READ, RECORD, REPLACE,
};
use crate::{channels, jails};

/// Every process's row, in order of start.
pub const TABLE: &[Row] = &[
    Row {
        process: Audit,
        does: "appends to the record and proves it; the signing key is here and nowhere else",
        user: "cordon-audit",
        opens: &[own("the record")],
        syscalls: &[&BASE, &LINKS, &OPEN, &LENGTH, &READ, &LIST, &FILES, &REPLACE, &RECORD, &FLUSH],
        config: &["log", "audit"],
        commands: &[Kind::Record],
        serves: &[
            to(
                &[Credproxy, Memory, Router, Scheduler, Gate, Curator, Control],
                "an act is on the record before it has an effect",
                &["append"],
            ),
            to(&[Gate, Control], "how large the record is, and whether it holds", &["stats"]),
            to(
                &[Control],
                "the operators' surface",
                &["tail", "verify", "prove", "consistency", "checkpoint", "query", "digest", "rotate_key"],
            ),
        ],
        ..NOTHING
    },
    Row {
        process: Dialer,
        does: "connects to an address it has checked, and passes the connection; sees no content, holds no secret",
        user: "cordon-dialer",
        opens: &[
            system("/etc/resolv.conf", "which name servers to ask"),
            system("/etc/hosts", "names this machine gives itself"),
            system(
                "/proc/self/net/fib_trie",
                "addresses and networks of this machine, which are not outside",
            ),
            system("/proc/self/net/ipv6_route", "the same of IPv6"),
        ],
        network: Network::Client,
        syscalls: &[&BASE, &LINKS, &DIAL, &PASS],
        config: &["log", "dialer", "web", "egress"],
        optional: true,
        serves: &[to(
            &[Credproxy, Web, Egress],
            "connections for requests, with a secret or without",
            &["dial"],
        )],
        ..NOTHING
    },
    Row {
        process: Credproxy,
        does: "keeps secrets sealed, and puts one into a request to the host it is bound to",
        user: "cordon-credproxy",
        opens: &[own("the vault and its key file")],
        shows: Some("public.key"),
        syscalls: &[&BASE, &LINKS, &DIALLED, &HTTP, &OPEN, &LENGTH, &READ, &FILES, &REPLACE, &MODES],
        limits: Limits { files: 1024, ..ACTOR },
        config: &["log", "credproxy", "service"],
        commands: &[Kind::Locked],
        inherits: &[Inherited::KeyPage, Inherited::Credential],
        optional: true,
        serves: &[
            to(&[Web, Model, Gate], "requests, with the secrets of the hosts they go to", &["request"]),
            to(
                &[Web, Model, Gate, Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook],
                "the replies to a caller's own requests",
                &["next", "close"],
            ),
            to(
                channels::CHANNELS,
                "an account's requests to its platform",
                &["channel_request", "open_stream", "push", "pull", "close_stream"],
            ),
            to(
                &[Router, Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook],
                "proofs of who sent something, each by a secret that is the caller's for this",
                &["verify"],
            ),
            to(&[Webhook], "the signature by which a receiver knows a hook of this host", &["sign"]),
            to(&[Scanner], "the host's own secrets are known when text holds them", &["fingerprints"]),
            to(
                &[Control],
                "the operators' surface",
                &[
                    "set", "list", "remove", "narrow", "revoke", "vault", "unlock", "passphrase", "rotate",
                    "export", "try_out",
                ],
            ),
        ],
        ..NOTHING
    },
    Row {
        process: Scanner,
        does: "finds injections, secrets, personal data and canaries in text; keeps nothing",
        user: "cordon-scanner",
        syscalls: &[&BASE, &LINKS],
        config: &["log", "scanner"],
        serves: &[
            to(&[Memory, Router, Gate], "text is judged before it is kept, shown or sent", &["scan"]),
            to(&[Gate], "known secrets are cut out of text", &["hold_back"]),
        ],
        ..NOTHING
    },
    Row {
        process: Memory,
        does: "the one memory store",
        user: "cordon-memory",
        opens: &[own("the memory database")],
        syscalls: &[&BASE, &LINKS, &OPEN, &LENGTH, &FILES, &DATABASE],
        config: &["log", "memory"],
        optional: true,
        serves: &[
            to(
                &[Gate, Control],
                "agents', clients' and people's memories",
                &[
                    "read", "raw", "list", "find", "timeline", "history", "sessions", "block", "stats",
                    "unread", "write", "revise", "remove", "restore",
                ],
            ),
            to(
                &[Control],
                "a person's own acts, which no agent and no client may do",
                &["capture", "judge", "unremove", "accept", "forget", "restore_session", "mute", "reindex"],
            ),
            to(&[Control], "the operators' surface", &["sound"]),
            to(&[Curator], "background work on what is kept", &["waiting", "settle"]),
        ],
        ..NOTHING
    },
    Row {
        process: Web,
        does: "fetches and searches the public web over dialled connections; holds no secret",
        user: "cordon-web",
        syscalls: &[&BASE, &LINKS, &HTTP],
        config: &["log", "web"],
        optional: true,
        serves: &[to(&[Gate], "the web tools of a turn", &["fetch", "search"])],
        ..NOTHING
    },
    Row {
        process: Egress,
        does: "makes the requests that jails send out, over dialled connections; holds no secret",
        user: "cordon-egress",
        syscalls: &[&BASE, &LINKS, &HTTP],
        limits: Limits { files: 1024, ..ACTOR },
        config: &["log", "egress"],
        optional: true,
        serves: &[to(
            &[Gate],
            "the requests of a jail, each decided on before",
            &["request", "next", "tunnel", "send", "close"],
        )],
        ..NOTHING
    },
    Row {
        process: Model,
        does: "model adapters; parses what providers answer, with neither key nor network",
        user: "cordon-model",
        opens: &[own("scripted replies and the spend ledger")],
        syscalls: &[&BASE, &LINKS, &OPEN, &LENGTH, &READ, &LIST, &FILES, &DATABASE],
        config: &["log", "model"],
        serves: &[to(
            &[Gate],
            "completions, vectors and what they cost",
            &["start", "next", "cancel", "models", "embed", "count", "usage", "budgets"],
        )],
        ..NOTHING
    },
    Row {
        process: Router,
        does: "users, sessions, the durable inbox, transcript and outbox; asks agentd for runners",
        user: "cordon-router",
        opens: &[own("the queue database")],
        syscalls: &[&BASE, &LINKS, &OPEN, &FILES, &DATABASE],
        config: &["log", "router", "user", "agent", "engine", "channel"],
        commands: &[Kind::Launch, Kind::Kill, Kind::Remove, Kind::Forget, Kind::SetDeadline],
        launches: &[Runner, AgentRunner, NetRunner],
        serves: &[
            to(
                &[Gate],
                "a turn, from its claim to its end",
                &[
                    "take", "step", "emit", "finish", "postpone", "ask", "first_answer", "claim", "typed",
                    "steering", "labels", "inbox", "send_file", "delegate",
                ],
            ),
            to(&[Gate], "an engine's state of a session", &["engine_state", "keep_engine_state"]),
            to(&[Gate, Gateway], "who holds a key", &["holder"]),
            to(&[Gate, Control], "the events of a turn, and the tree of its tasks", &["follow", "tree"]),
            to(
                &[Scheduler],
                "messages of jobs, each once, and what became of them",
                &["check_fire", "fire", "fired"],
            ),
            to(&[Control], "a directory is used only by the user that control saw attach it", &["attach"]),
            to(
                &[Gateway],
                "clients of the API",
                &["api_submit", "api_steer", "api_follow", "api_waits", "api_events", "api_queue"],
            ),
            to(
                &[Control],
                "the operators' surface",
                &[
                    "create_key", "keys", "revoke_key", "approvals", "approval", "answer", "grants",
                    "revoke", "call", "identify", "submit", "steer", "cancel", "type_in", "sessions",
                    "session", "end_session", "messages", "message", "recall", "requeue", "pause", "stop",
                    "queue", "trace", "users", "add_user", "edit_user", "remove_user", "agents",
                    "workspaces", "remove_workspace", "events", "channels", "channel", "pause_channel",
                    "set_group", "pairings", "approve_pairing", "refuse_pairing", "create_link", "link_user",
                    "unlink_user", "check_channel", "test_channel", "deliveries", "resend",
                ],
            ),
            to(
                channels::CHANNELS,
                "messages in and answers out, each for an account of the caller's own platform",
                &[
                    "channel_open", "channel_wants", "channel_file", "channel_accept", "channel_claim",
                    "channel_plan", "channel_take", "channel_done", "channel_turns", "channel_may_show",
                    "channel_preview", "channel_follow", "channel_press", "channel_report",
                    "channel_checked", "channel_invited",
                ],
            ),
        ],
        ..NOTHING
    },
    Row {
        process: Ingress,
        does: "takes hooks from outside and keeps each until its channel has read it; calls nobody, and knows no secret",
        user: "cordon-ingress",
        syscalls: &[&BASE, &LINKS, &ACCEPT, &NODELAY, &HTTP],
        limits: Limits { files: 512, ..ACTOR },
        config: &["log", "ingress"],
        inherits: &[Inherited::Listener(ListenerKind::Tcp)],
        optional: true,
        serves: &[to(&[Whatsapp, Webhook], "the hooks of its own accounts", &["next", "answer"])],
        ..NOTHING
    },
    channels::TELEGRAM,
    channels::DISCORD,
    channels::SLACK,
    channels::MATRIX,
    channels::EMAIL,
    channels::SIGNAL,
    channels::WHATSAPP,
    channels::WEBHOOK,
    Row {
        process: Scheduler,
        does: "submits the messages of jobs at their times, each once; it runs only where it is configured",
        user: "cordon-scheduler",
        opens: &[own("the jobs and their fires")],
        syscalls: &[&BASE, &LINKS, &OPEN, &FILES, &DATABASE],
        config: &["log", "scheduler"],
        optional: true,
        serves: &[
            to(
                &[Control],
                "the jobs of people, each their own",
                &["jobs", "job", "add", "change", "history"],
            ),
            to(
                &[Gate],
                "the jobs that agents propose, added once a person approved them",
                &["check_proposed", "add_proposed", "proposed", "remove_proposed"],
            ),
        ],
        ..NOTHING
    },
    Row {
        process: Embedder,
        does: "makes vectors of texts by a model of this machine; it runs only where a model is configured",
        user: "cordon-embedder",
        opens: &[Open::named(MODEL_FILES, "the model's form, words and numbers")],
        syscalls: &[&BASE, &LINKS, &LENGTH],
        limits: Limits { memory_mib: 640, ..ACTOR },
        config: &["log", "embedder"],
        optional: true,
        serves: &[
            to(&[Gate, Curator], "vectors of questions and of what is kept", &["embed"]),
            to(&[Control], "the operators' surface", &["sound"]),
        ],
        ..NOTHING
    },
    Row {
        process: Gate,
        does: "the reference monitor: the only process a runner can reach, and the only one that model serves",
        user: "cordon-gate",
        opens: &[own("the owner's policies, and the approved tools of servers")],
        syscalls: &[&BASE, &LINKS, &OPEN, &FILES, &REPLACE],
        config: &[
            "log", "gate", "agent", "engine", "web", "egress", "policy", "tool", "service", "mcp", "gateway",
        ],
        commands: &[Kind::Launch, Kind::Kill, Kind::Remove],
        launches: &[McpRunner, BrowserRunner],
        serves: &[
            to(
                &[Runner, NetRunner],
                "a turn of an agent",
                &["start_completion", "poll_completion", "effect", "result", "progress"],
            ),
            to(
                &[Runner, AgentRunner, NetRunner],
                "the work of a jail, its output and its end",
                &["work", "inbox", "output", "finish"],
            ),
            to(
                &[AgentRunner],
                "a program's model calls",
                &["run_models", "run_ask", "run_pull", "run_end", "run_count", "run_input"],
            ),
            to(
                &[McpRunner, BrowserRunner],
                "the bridge to a server or to a browser",
                &["server_terms", "server_report", "server_next", "server_reply"],
            ),
            to(
                &[AgentRunner, NetRunner, McpRunner, BrowserRunner],
                "a jail's way out",
                &["net_request", "net_next", "net_tunnel", "net_send", "net_close"],
            ),
            to(&[AgentRunner], "a coding agent's turn", &["engine", "steering", "save_engine_state"]),
            to(&[Gateway], "clients of the API", &["away", "relay", "relay_embed", "relay_count"]),
            to(
                &[Gateway],
                "the memory of a client's user",
                &[
                    "memory_read", "memory_raw", "memory_list", "memory_find", "memory_timeline",
                    "memory_history", "memory_sessions", "memory_block", "memory_unread", "memory_write",
                    "memory_revise", "memory_remove", "memory_restore",
                ],
            ),
            to(&[Curator, Gateway], "answers that come in parts", &["relayed", "relay_end"]),
            to(&[Gateway, Control], "the models there are", &["models"]),
            to(
                &[Curator],
                "background work",
                &["background", "background_embed", "next_rerank", "finish_rerank"],
            ),
            to(
                &[Control],
                "the operators' surface",
                &[
                    "find", "recall", "try_model", "usage", "budgets", "policies", "set_policy",
                    "remove_policy", "mcp_servers", "mcp_server", "mcp_approve", "mcp_install", "mcp_forget",
                    "mcp_login_terms", "mcp_register", "mcp_ask",
                ],
            ),
        ],
        ..NOTHING
    },
    Row {
        process: Curator,
        does: "the queue of background model work; reads strangers' texts with a model and has no tool",
        user: "cordon-curator",
        opens: &[own("the queue of background work")],
        syscalls: &[&BASE, &LINKS, &OPEN, &FILES, &DATABASE],
        config: &["log", "curator"],
        optional: true,
        serves: &[to(
            &[Control],
            "the operators' surface",
            &["jobs", "job", "ask", "edit", "requeue", "remove", "pause", "abort", "run"],
        )],
        ..NOTHING
    },
    Row {
        process: Gateway,
        does: "serves the API to HTTP clients; what each may do is router's and the gate's to say",
        user: "cordon-gateway",
        syscalls: &[&BASE, &LINKS, &ACCEPT, &PEER, &NODELAY, &HTTP],
        limits: Limits { files: 1024, ..ACTOR },
        config: &["log", "gateway"],
        inherits: &[Inherited::Listener(ListenerKind::Unix), Inherited::Listener(ListenerKind::Tcp)],
        optional: true,
        ..NOTHING
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
        syscalls: &[&BASE, &LINKS, &ACCEPT, &PEER, &PASS, &OPEN, &LENGTH],
        config: &["log", "control"],
        commands: &[
            Kind::Recorded,
            Kind::Attach,
            Kind::Restart,
            Kind::Hold,
            Kind::Release,
            Kind::Shutdown,
            Kind::Freeze,
            Kind::Thaw,
            Kind::Probe,
        ],
        inherits: &[Inherited::Listener(ListenerKind::Unix)],
        ..NOTHING
    },
    jails::RUNNER,
    jails::AGENT,
    jails::NET,
    jails::MCP,
    jails::BROWSER,
];
