//! The capabilities of the browser tools. What a page shows is untrusted, and what is done on a page is sent to its site.

use ipc_proto::capability::{Access, Approval, Audit, Capability, Data, Effect, Execution, Labels, Network};
use ipc_proto::label::{Class, Trust};

/// Milliseconds of one command; a page has 30 s to load.
const TIMEOUT: u32 = 40_000;
/// The tools that act on a page, each with the arguments that decide its harm.
const ACTING: [(&str, &[&str]); 4] = [
    ("browser_click", &["url", "element"]),
    ("browser_type", &["url", "text"]),
    ("browser_select", &["url", "values"]),
    ("browser_press", &["url", "key"]),
];
/// The tools that show what there is.
const LOOKING: [&str; 4] = ["browser_snapshot", "browser_screenshot", "browser_back", "browser_close"];

/// Every browser tool with its capability.
pub(crate) fn capabilities() -> Vec<(&'static str, Capability)> {
    let acting = ACTING.iter().map(|(name, told)| (*name, acting(told)));
    let looking = LOOKING.iter().map(|name| (*name, looking()));
    acting.chain(looking).chain([("browser_navigate", opening())]).collect()
}

/// Shows what the session's browser has, or lets go of it. It tells nobody anything.
fn looking() -> Capability {
    Capability {
        approval: Approval { trust_after_approval: true, ..Approval::default() },
        execution: Execution { timeout: TIMEOUT, ..Execution::default() },
        labels: Labels {
            output_trust: Trust::Untrusted,
            output_data_class: Class::Internal,
            ..Labels::default()
        },
        effect: Effect::Read,
        ..Capability::default()
    }
}

/// As a fetch of the same address.
fn opening() -> Capability {
    Capability {
        data: Data { can_leak_data: true, ..Data::default() },
        network: Network { access: Access::Full, ..Network::default() },
        audit: Audit { alert_on: vec!["blocked".to_owned()], ..Audit::default() },
        relevant_args: vec!["url".to_owned()],
        ..looking()
    }
}

/// Sends to the site of the page.
fn acting(told: &[&str]) -> Capability {
    Capability {
        effect: Effect::Send,
        relevant_args: told.iter().map(|name| (*name).to_owned()).collect(),
        ..opening()
    }
}
