//! `agentctl manifest`: the table of privileges that this program was built with, as text, JSON or a graph.
//! It needs no host.

use crate::app::{App, Outcome};
use manifest::syscalls::{Call, Is, When};
use manifest::{Access, Network, Open, Place, Row, TABLE};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Shows the table, or draws it.
pub(crate) fn manifest(app: &App, dot: bool) -> Outcome {
    if dot {
        let mut graph = String::new();
        // Writing into a string cannot fail.
        let _ = manifest::dot::draw(&mut graph);
        if app.out.json {
            app.out.document(json!({ "dot": graph }))?;
        } else {
            app.out.piece(&graph)?;
        }
    } else if app.out.json {
        app.out.document(json!({ "processes": TABLE.iter().map(row).collect::<Vec<_>>() }))?;
    } else {
        for (number, row) in TABLE.iter().enumerate() {
            if number > 0 {
                app.out.line("")?;
            }
            app.out.pairs(&facts(row))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A row as JSON.
pub(crate) fn row(row: &Row) -> Value {
    json!({
        "name": row.process.name(),
        "does": row.does,
        "user": row.user,
        "opens": row.opens.iter().map(open).collect::<Vec<_>>(),
        "shows": row.shows,
        "network": network(row.network),
        "capabilities": row.capabilities.iter().map(|c| json!({ "name": c.name, "why": c.why })).collect::<Vec<_>>(),
        "syscalls": row.syscalls.iter().map(|group| json!({
            "group": group.name,
            "why": group.why,
            "calls": group.calls.iter().map(call).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "limits": {
            "memory_mib": row.limits.memory_mib,
            "files": row.limits.files,
            "processes": row.limits.processes,
            "file_mib": row.limits.file_mib,
        },
        "restart": {
            "first_ms": row.restart.first_ms,
            "max_ms": row.restart.max_ms,
            "hold_after": row.restart.hold_after,
            "quiet_ms": row.restart.quiet_ms,
        },
        "config": row.config,
        "commands": row.commands.iter().map(|kind| format!("{kind:?}")).collect::<Vec<_>>(),
        "inherits": row.inherits.iter().map(|inherited| inherited.name()).collect::<Vec<_>>(),
        "optional": row.optional,
        "serves": row.methods().map(|(method, callers)| json!({
            "method": method,
            "callers": callers.iter().map(|caller| caller.name()).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

/// A row as names and values.
pub(crate) fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("PROCESS", row.process.name().to_owned()),
        ("does", row.does.to_owned()),
        ("user", row.user.to_owned()),
        ("network", network(row.network).to_owned()),
        ("capabilities", none_or(row.capabilities.iter().map(|c| format!("{} ({})", c.name, c.why)))),
    ];
    facts.extend(
        row.opens
            .iter()
            .map(|open| ("opens", format!("{} {}: {}", access(open.access), place(open.place), open.why))),
    );
    facts.extend(row.shows.map(|file| ("shows", file.to_owned())));
    facts.extend(
        row.syscalls
            .iter()
            .map(|group| ("syscalls", format!("{}: {} calls; {}", group.name, group.calls.len(), group.why))),
    );
    facts.push(("limits", limits(row)));
    facts.push(("restart", restart(row)));
    facts.push(("config", none_or(row.config.iter().map(|name| format!("[{name}]")))));
    facts.push(("optional", if row.optional { "yes" } else { "no" }.to_owned()));
    facts.push(("commands", none_or(row.commands.iter().map(|kind| format!("{kind:?}")))));
    facts.push(("inherits", none_or(row.inherits.iter().map(|inherited| inherited.name().to_owned()))));
    facts.extend(row.serves.iter().map(|audience| {
        let callers: Vec<_> = audience.callers.iter().map(|caller| caller.name()).collect();
        ("serves", format!("{} to {}; {}", audience.methods.join(", "), callers.join(", "), audience.why))
    }));
    facts
}

fn limits(row: &Row) -> String {
    let limits = &row.limits;
    let processes = if limits.processes == 0 { "no".to_owned() } else { limits.processes.to_string() };
    format!(
        "{} MiB of memory, {} files, {processes} processes of its own, {} MiB a file",
        limits.memory_mib, limits.files, limits.file_mib
    )
}

fn restart(row: &Row) -> String {
    let back_off = &row.restart;
    format!(
        "at once, then {} ms doubling to {} ms; held after {} ends in a row within {} ms",
        back_off.first_ms, back_off.max_ms, back_off.hold_after, back_off.quiet_ms
    )
}

fn open(open: &Open) -> Value {
    json!({ "place": place(open.place), "access": access(open.access), "why": open.why })
}

fn place(place: Place) -> String {
    match place {
        Place::Own => "its own folder".to_owned(),
        Place::State(folder) => format!("the state folder {folder}"),
        Place::System(path) => path.to_owned(),
        Place::Named(names) => format!("{} in the configured folder", names.join(", ")),
    }
}

const fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Execute => "execute",
    }
}

/// The name of a network, as it stands in JSON.
pub(crate) const fn network(network: Network) -> &'static str {
    match network {
        Network::None => "none",
        Network::Loopback => "loopback",
        Network::Client => "client",
    }
}

fn call(call: &Call) -> String {
    if call.when.is_empty() {
        return call.name.to_owned();
    }
    let alternatives: Vec<String> =
        call.when.iter().map(|all| all.iter().map(condition).collect::<Vec<_>>().join(" and ")).collect();
    format!("{} if {}", call.name, alternatives.join(" or "))
}

fn condition(when: &When) -> String {
    let argument = when.argument;
    match when.is {
        Is::Equal(value) => format!("argument {argument} = {value:#x}"),
        Is::Without(bits) => format!("argument {argument} without {bits:#x}"),
        Is::Bits(of, set) => format!("argument {argument} & {of:#x} = {set:#x}"),
        Is::OwnPid => format!("argument {argument} = its own pid"),
    }
}

fn none_or(items: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = items.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
