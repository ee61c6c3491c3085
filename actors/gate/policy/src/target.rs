//! The target of a call: an address, a path, a command, an amount. It is found among the arguments by their names, which the
//! built-in tools use and foreign tools mostly share.

use crate::catalogue::Declared;
use address::{Target as Address, Unfit};
use provenance::command::{self, Command};
use provenance::path::{self, Path};
use serde_json::{Map, Value};

/// Arguments that hold an address.
const ADDRESSES: &[&str] = &["url", "uri", "href", "endpoint"];
/// Arguments that hold a path.
const PATHS: &[&str] = &["path", "file_path", "filepath", "cwd"];
/// Arguments that hold a command line.
const COMMANDS: &[&str] = &["command", "cmd"];
/// Arguments that hold money.
const AMOUNTS: &[&str] = &["amount", "price", "total"];
/// The argument that names a service of the owner's, the one that says what is asked of it, and the one that is sent.
const SERVICE: [&str; 3] = ["service", "path", "body"];
/// Read-only places and scratch space of the jail beside the workspace; nothing protected stands in them.
const JAIL: &[&str] = &["/skills", "/tmp"];

/// The target of a call.
#[derive(Debug, Default)]
pub(crate) struct Target {
    pub(crate) address: Option<Result<Address, Unfit>>,
    pub(crate) path: Option<Path>,
    pub(crate) command: Option<Command>,
    pub(crate) method: Option<String>,
    /// A service by its name, and the path of the call.
    pub(crate) service: Option<(String, String)>,
    /// Hundredths of a unit, rounded up.
    pub(crate) amount: Option<i64>,
}

impl Target {
    pub(crate) fn of(declared: &Declared, args: &Map<String, Value>) -> Self {
        let text = |names: &[&str]| {
            names.iter().find_map(|name| args.get(*name)).and_then(Value::as_str).map(str::to_owned)
        };
        let jailed = declared.allowed_paths.is_some();
        let network = declared.capability.network.access != ipc_proto::capability::Access::None;
        let [name, path, body] = SERVICE;
        // A call of a service reaches no other place: the configuration names its host.
        let calls = declared.capability.network.access == ipc_proto::capability::Access::Limited;
        let method = text(&["method"]).map(|method| method.to_ascii_uppercase());
        Self {
            address: text(ADDRESSES).filter(|_| network).map(|url| address::parse(&url)),
            path: text(PATHS)
                .filter(|_| jailed || !declared.blocked_paths.is_empty())
                .map(|path| place(&path)),
            command: text(COMMANDS).map(|command| command::verdict(&command)),
            method: method.filter(|_| network),
            service: text(&[name]).filter(|_| calls).map(|name| (name, text(&[path]).unwrap_or_default())),
            amount: amount(args).or_else(|| args.get(body).and_then(Value::as_object).and_then(amount)),
        }
    }

    /// It goes to an address or a service.
    pub(crate) const fn reaches(&self) -> bool {
        self.address.is_some() || self.service.is_some()
    }

    /// The address as it will be dialled.
    pub(crate) fn url(&self) -> Option<String> {
        self.address.as_ref().and_then(|address| address.as_ref().ok()).map(ToString::to_string)
    }

    /// The host of the address.
    pub(crate) fn host(&self) -> Option<String> {
        let address = self.address.as_ref().and_then(|address| address.as_ref().ok())?;
        Some(address.host_port().host.to_string())
    }

    /// One of kind and value, for the resource of a request.
    pub(crate) fn named(&self) -> (&'static str, String) {
        if let Some(host) = self.host() {
            return ("host", host);
        }
        if let Some((name, _)) = &self.service {
            return ("service", name.clone());
        }
        match (&self.path, &self.command) {
            (Some(path), _) => ("path", path.canonical.clone()),
            (_, Some(command)) => ("command", command.programs.join(" ")),
            _ => ("none", String::new()),
        }
    }
}

fn amount(args: &Map<String, Value>) -> Option<i64> {
    AMOUNTS.iter().find_map(|name| args.get(*name)).and_then(hundredths)
}

/// Where a path leads. What stands in the jail beside the workspace is judged like a place in the workspace, so that
/// the same names are protected and the same tricks refused.
pub(crate) fn place(path: &str) -> Path {
    let beside = JAIL.iter().find_map(|root| {
        let rest = path.strip_prefix(root)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((*root, rest.trim_start_matches('/')))
    });
    let Some((root, rest)) = beside else { return path::verdict(path) };
    let judged = path::verdict(if rest.is_empty() { "." } else { rest });
    let inner = judged.canonical.strip_prefix("/workspace").unwrap_or_default();
    Path { canonical: format!("{root}{inner}"), ..judged }
}

/// A number as hundredths, rounded away from zero, so that a bound in a policy is not slipped under.
fn hundredths(value: &Value) -> Option<i64> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().trim_start_matches(['$', '€', '£']).replace(',', ""),
        _ => return None,
    };
    let (sign, text) = text.strip_prefix('-').map_or((1, text.as_str()), |rest| (-1, rest));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        // Exponents and other notations: as much as there can be, since a policy asks whether it is too much.
        return matches!(value, Value::Number(_)).then_some(i64::MAX);
    }
    let padded = format!("{part:0<2}");
    let (cents, rest) = padded.split_at(2);
    let up = i64::from(rest.bytes().any(|byte| byte != b'0'));
    let whole: i64 = whole.parse().unwrap_or(i64::MAX);
    let sum = whole.saturating_mul(100).saturating_add(cents.parse().unwrap_or(0)).saturating_add(up);
    Some(sum.saturating_mul(sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_amount_is_never_read_as_less_than_it_is() {
        let cases = [
            (json!(12), Some(1200)),
            (json!(0.01), Some(1)),
            (json!(98.705), Some(9871)),
            (json!(-3.5), Some(-350)),
            (json!("$1,000.50"), Some(100_050)),
            (json!(1e40), Some(i64::MAX)),
            (json!("a lot"), None),
            (json!([1]), None),
        ];
        for (value, expected) in cases {
            assert_eq!(hundredths(&value), expected, "{value}");
        }
    }
}
