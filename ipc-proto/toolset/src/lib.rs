//! The built-in tools: what each is called, says of itself and accepts. The gate checks by it before it releases a
//! call, the runner before it runs one. It depends on `serde_json` alone and must never touch a file.

pub mod browser_tools;
pub mod channel_tools;
pub mod delegation_tools;
pub mod host_tools;
pub mod jail_tools;
pub mod schedule_tools;
pub mod server_tools;
pub mod service_tools;
pub mod spec;
pub mod validate;
pub mod web_tools;

pub use spec::{ToolSpec, parse_args};

/// Every tool that a configuration may name: those that run in the jail, then those the gate runs or has run. Names are unique.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let mut all = jail_tools::specs();
    all.extend(host_tools::specs());
    all.extend(web_tools::specs());
    all.extend(service_tools::specs());
    all.extend(channel_tools::specs());
    all.extend(browser_tools::specs());
    all.extend(schedule_tools::specs());
    all
}

/// Returns true for a built-in tool that runs in no jail.
#[must_use]
pub fn is_hosts(name: &str) -> bool {
    all().iter().any(|spec| spec.name == name && !spec.in_jail)
}

/// Every tool there is: besides those, the ones that agents with servers get, and agents that may delegate.
#[must_use]
pub fn all() -> Vec<ToolSpec> {
    let mut all = specs();
    all.extend(server_tools::specs());
    all.extend(delegation_tools::specs());
    all
}

/// Checks a call: the tool exists, `args` is a JSON object (nothing at all counts as `{}`), every field is known,
/// present where required and within its bounds.
///
/// # Errors
/// Text for the model: for each field what was wrong and what is valid.
pub fn check(name: &str, args: &str) -> Result<serde_json::Value, String> {
    let specs = all();
    let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
        let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
        return Err(format!(
            "there is no tool named {}; there are {}",
            validate::show(name),
            names.join(", ")
        ));
    };
    let checked = parse_args(args).and_then(|args| spec.check(&args).map(|()| args));
    checked.map_err(|problem| format!("{name}: {problem}"))
}
