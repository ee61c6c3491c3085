//! Imports that must never be: section 9 of the design, read from `cargo metadata` as the packages are resolved for
//! this machine. A rule names packages, so a new crate that no rule knows fails until it has one.

use crate::source;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

type Names = BTreeSet<String>;

/// Our crates and which of our crates each may import, for its tests as well. An actor without a rule may import [`ACTOR`].
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("manifest", &[]),
    ("toolset", &[]),
    ("bus", &[]),
    ("ipc-proto", &["bus", "manifest"]),
    ("address", &["ipc-proto"]),
    ("memory-tools", &["ipc-proto"]),
    ("provenance", &["address", "ipc-proto"]),
    ("policy", &["address", "ipc-proto", "provenance", "toolset"]),
    ("wire", &["ipc-proto", "manifest"]),
    ("confine", &["manifest"]),
    ("agentd", &["confine", "manifest"]),
    ("agentd-config", &["ipc-proto", "manifest", "toolset", "weights"]),
    ("jail-probe", &["confine", "manifest"]),
    ("kit", &["confine", "ipc-proto", "manifest", "wire"]),
    ("upstream", &["ipc-proto"]),
    ("migration", &[]),
    ("channel", &["ipc-proto", "kit", "manifest"]),
    ("discord", &["channel", "ipc-proto", "kit", "manifest"]),
    ("email", &["channel", "ipc-proto", "kit", "manifest"]),
    ("matrix", &["channel", "ipc-proto", "kit", "manifest"]),
    ("signal", &["channel", "ipc-proto", "kit", "manifest"]),
    ("slack", &["channel", "ipc-proto", "kit", "manifest"]),
    ("telegram", &["channel", "ipc-proto", "kit", "manifest"]),
    ("webhook", &["channel", "ipc-proto", "kit", "manifest"]),
    ("whatsapp", &["channel", "ipc-proto", "kit", "manifest"]),
    ("ingress", &["ipc-proto", "kit", "manifest"]),
    ("dialer", &["address", "ipc-proto", "kit", "manifest"]),
    ("credproxy", &["address", "ipc-proto", "kit", "manifest", "upstream"]),
    ("finding", &[]),
    ("memory", &["finding", "ipc-proto", "kit", "manifest", "migration"]),
    ("egress", &["ipc-proto", "kit", "manifest", "upstream"]),
    ("web", &["address", "ipc-proto", "kit", "manifest", "upstream"]),
    ("dialect", &["ipc-proto"]),
    ("engines", &["ipc-proto"]),
    ("model", &["dialect", "ipc-proto", "kit", "manifest", "migration"]),
    ("router", STORING),
    ("weights", &[]),
    ("embedder", &["ipc-proto", "kit", "manifest", "weights"]),
    ("curator", STORING),
    ("scheduler", STORING),
    ("gate", &["address", "ipc-proto", "kit", "manifest", "policy", "provenance", "toolset"]),
    ("vendors", &["ipc-proto"]),
    ("gateway", &["ipc-proto", "kit", "manifest", "memory-tools", "vendors"]),
    ("control", CONTROL),
    ("runner", &["confine", "engines", "ipc-proto", "manifest", "toolset", "vendors", "wire"]),
    ("agentctl", &["ipc-proto", "manifest", "memory-tools", "wire"]),
];
/// Each process of the table that is an actor, in a list of names.
const EVERY_ACTOR: &str = "every actor";
const ACTOR: &[&str] = &["ipc-proto", "kit", "manifest"];
const STORING: &[&str] = &["ipc-proto", "kit", "manifest", "migration"];
/// Control speaks to `agentctl` over a socket that is no edge, so it has the hello and the codec besides.
const CONTROL: &[&str] = &["confine", "ipc-proto", "kit", "manifest", "wire"];

/// Packages that must not be linked into the supervisor, however deep: parsers, runtimes, the bus.
const NEVER_IN_AGENTD: &[&str] = &[
    "tarpc",
    "tokio",
    "ractor",
    "futures",
    "serde",
    "serde_core",
    "serde_json",
    "toml",
    "bincode",
    "ipc-proto",
    "kit",
    "wire",
    "clap",
    "regex",
    "tracing",
    "tracing-subscriber",
    "hyper",
    "rustls",
    "rusqlite",
];

/// Packages that few may link, and who.
const ONLY: &[(&[&str], &[&str])] = &[
    // The runner serves HTTP on its jail's own loopback; it has nobody to be a client of. The tests' client is made of them.
    (
        &["hyper", "hyper-util"],
        &["credproxy", "upstream", "web", "egress", "gateway", "ingress", "vendors", "runner", "tests"],
    ),
    // The MCP server has names of HTTP in its types, and no client.
    (
        &["http"],
        &[
            "credproxy", "upstream", "web", "egress", "gateway", "vendors", "runner", "memory-tools",
            "agentctl", "tests", "ingress",
        ],
    ),
    (&["rmcp"], &["memory-tools", "gateway", "agentctl", "runner"]),
    (&["axum"], &["gateway", "vendors", "runner"]),
    (&["webpki-roots", "ureq", "native-tls"], &["credproxy", "upstream", "web", "egress"]),
    // The runner ends TLS of programs in its jail, as a server.
    (&["tokio-rustls"], &["credproxy", "upstream", "web", "egress", "runner"]),
    // The servers of the tests' mail speak it.
    (&["rustls"], &["credproxy", "upstream", "web", "egress", "runner", "tests"]),
    (&["mail-parser", "mail-builder"], &["email"]),
    // It dials by itself, as clients of the API do.
    (&["reqwest"], &["tests"]),
    // The server that stands for Discord has a gateway.
    (&["tokio-tungstenite", "tungstenite"], &["credproxy", "upstream", "web", "egress", "tests"]),
    (&["hickory-resolver", "hickory-proto", "hickory-net"], &["dialer"]),
    // The bench, which is in tests, has memory's own code write.
    (
        &["rusqlite", "libsqlite3-sys"],
        &["migration", "memory", "router", "model", "scheduler", "curator", "tests"],
    ),
    (&["crypto_box", "chacha20poly1305"], &["credproxy", "agentctl"]),
    (
        &["seccompiler", "landlock"],
        &["confine", "agentd", "jail-probe", "kit", "channel", "runner", "tests", EVERY_ACTOR],
    ),
    (&["clap", "rustyline"], &["agentctl"]),
    (&["toml"], &["agentd-config"]),
    (&["candle-core", "candle-nn", "candle-transformers", "tokenizers"], &["embedder"]),
    // Setup changes a configuration line by line; what it means is read by agentd-config alone.
    (&["toml_edit"], &["agentctl"]),
];

/// The resolved packages.
struct Graph {
    names: BTreeMap<String, String>,
    members: BTreeSet<String>,
    /// By package: the packages it depends on, and whether the program itself (rather than its tests, its build script
    /// or the compiler, which runs procedural macros) does.
    edges: BTreeMap<String, Vec<(String, bool)>>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "cargo is asked for its own metadata")]
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", &target])
        .current_dir(tests::repository())
        .output();
    let stdout = output.map(|output| output.stdout).unwrap_or_default();
    serde_json::from_slice(&stdout).unwrap_or_default()
}

/// A value's part, or null.
fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    at(value, key).as_array().map_or(&[], Vec::as_slice)
}

fn graph() -> Graph {
    let metadata = metadata();
    let named = |package: &Value| (text(at(package, "id")), text(at(package, "name")));
    let names = list(&metadata, "packages").iter().map(named).collect();
    let members = list(&metadata, "workspace_members").iter().map(text).collect();
    let is_macro = |target: &Value| list(target, "kind").iter().any(|kind| kind == "proc-macro");
    let macros: BTreeSet<String> = list(&metadata, "packages")
        .iter()
        .filter(|package| list(package, "targets").iter().any(is_macro))
        .map(|package| text(at(package, "id")))
        .collect();
    let linked = |dep: &Value| {
        let kinds = list(dep, "dep_kinds");
        kinds.iter().any(|kind| at(kind, "kind").is_null()) && !macros.contains(&text(at(dep, "pkg")))
    };
    let edges = list(at(&metadata, "resolve"), "nodes").iter().map(|node| {
        let deps = list(node, "deps").iter().map(|dep| (text(at(dep, "pkg")), linked(dep)));
        (text(at(node, "id")), deps.collect())
    });
    let graph = Graph { names, members, edges: edges.collect() };
    assert!(graph.members.len() > 10, "cargo metadata could not be read");
    graph
}

impl Graph {
    fn name(&self, id: &str) -> &str {
        self.names.get(id).map_or("", String::as_str)
    }

    fn ours(&self) -> BTreeMap<&str, &str> {
        self.members.iter().map(|id| (self.name(id), id.as_str())).collect()
    }

    fn direct(&self, id: &str) -> impl Iterator<Item = &(String, bool)> {
        self.edges.get(id).into_iter().flatten()
    }

    /// Our crates that one of ours depends on directly, for its tests as well.
    fn imports(&self, id: &str) -> Names {
        let ours = self.direct(id).filter(|(dep, _)| self.members.contains(dep));
        ours.map(|(dep, _)| self.name(dep).to_owned()).collect()
    }

    /// Everything that is linked into one of ours.
    fn linked(&self, id: &str) -> Names {
        let (mut seen, mut open) = (BTreeSet::new(), vec![id.to_owned()]);
        while let Some(next) = open.pop() {
            for (dep, linked) in self.direct(&next) {
                if *linked && seen.insert(dep.clone()) {
                    open.push(dep.clone());
                }
            }
        }
        seen.iter().map(|id| self.name(id).to_owned()).collect()
    }
}

fn is_actor(name: &str) -> bool {
    manifest::TABLE.iter().any(|row| row.process.program() == name && manifest::is_actor(row.process))
}

fn may_link(who: &[&str], name: &str) -> bool {
    who.contains(&name) || (who.contains(&EVERY_ACTOR) && is_actor(name))
}

#[test]
fn each_crate_imports_only_what_it_may() {
    let graph = graph();
    let ours = graph.ours();
    for (name, id) in &ours {
        if *name == "tests" {
            continue;
        }
        let rule = MAY_IMPORT.iter().find(|(it, _)| it == name).map(|(_, may)| *may);
        let Some(may) = rule.or_else(|| is_actor(name).then_some(ACTOR)) else {
            panic!("{name} has no rule: say in MAY_IMPORT which of our crates it may import");
        };
        for import in graph.imports(id) {
            assert!(may.contains(&import.as_str()), "{name} imports {import}; it may import {may:?}");
        }
    }
    for (name, _) in MAY_IMPORT {
        assert!(ours.contains_key(name), "MAY_IMPORT names {name}, which is no crate of ours");
    }
}

#[test]
fn no_actor_imports_another_and_nothing_imports_tests() {
    let graph = graph();
    let actors: Names = manifest::TABLE.iter().map(|row| row.process.program().to_owned()).collect();
    for (name, id) in graph.ours() {
        for import in graph.imports(id) {
            assert!(!actors.contains(&import) || name == "tests", "{name} imports the process {import}");
            assert_ne!(import, "tests", "{name} imports the tests");
        }
    }
}

#[test]
fn the_table_depends_on_nothing_at_all() {
    let graph = graph();
    let direct: Vec<_> = graph.ours().get("manifest").into_iter().flat_map(|id| graph.direct(id)).collect();
    assert!(direct.is_empty(), "{direct:?}");
}

// Holds P2-35.
#[test]
fn the_supervisor_links_no_parser_no_runtime_and_no_bus() {
    let graph = graph();
    let linked = graph.ours().get("agentd").map(|id| graph.linked(id)).unwrap_or_default();
    assert!(linked.contains("confine") && linked.contains("manifest"));
    for never in NEVER_IN_AGENTD {
        assert!(!linked.contains(*never), "agentd links {never}");
    }
}

// Holds P4-31.
#[test]
fn what_few_may_link_is_linked_by_nobody_else() {
    let graph = graph();
    for (packages, who) in ONLY {
        for (name, id) in graph.ours() {
            let linked = graph.linked(id);
            let forbidden =
                packages.iter().find(|package| linked.contains(**package) && !may_link(who, name));
            assert!(forbidden.is_none(), "{name} links {forbidden:?}; only {who:?} may");
        }
    }
}

/// Apart from the workspace: libFuzzer's own main is not ours to lint. Its targets are searched like all other code.
const FUZZ: &str = "fuzz/Cargo.toml";

// Holds P2-35.
#[test]
fn only_confine_has_unsafe_code() {
    for file in source::files(".rs").iter().filter(|file| !file.path.starts_with("supervisor/confine/")) {
        let code = source::parts(&file.text).code;
        for word in ["unsafe", "unsafe_code"] {
            assert!(!source::has_word(&code, word), "{} has {word}", file.path);
        }
    }
    for file in
        source::files("Cargo.toml").iter().filter(|file| !matches!(file.path.as_str(), "Cargo.toml" | FUZZ))
    {
        let lints = file.text.split("[lints]").nth(1).map(str::trim);
        if file.path == "supervisor/confine/Cargo.toml" {
            assert!(lints.is_none(), "confine states its own lints");
        } else {
            assert_eq!(lints, Some("workspace = true"), "{} does not take the workspace's lints", file.path);
        }
    }
    assert!(source::read("Cargo.toml").contains("unsafe_code = \"deny\""));
}
