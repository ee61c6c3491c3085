//! Second pass over `[[user]]`: every name, uid and account belongs to one user, and no process of the host is a user.

use crate::host::Host;
use crate::problem::Problems;
use crate::shape::Value;
use crate::view::View;
use ipc_proto::config::{User, UserRole};
use manifest::settings::ordinary;
use std::collections::BTreeMap;

/// The accounts so far, by kind and text, each with the user that had it first.
type Seen = BTreeMap<(&'static str, String), String>;

/// Reads them.
#[must_use]
pub fn resolve(file: &View<'_>, host: &Host, problems: &mut Problems) -> Vec<User> {
    let mut seen = Seen::new();
    file.rows("user").iter().map(|view| user(view, host, &mut seen, problems)).collect()
}

/// Checks that the person who runs the host has a uid of their own: no process answers the uid of `nobody`.
pub fn run_by(owner: u32, file: &View<'_>, problems: &mut Problems) {
    if owner != 0 && !ordinary(owner) {
        let host = file.table("host");
        let what = format!("it would be run by uid {owner}, the uid of `nobody`, which no process answers");
        problems.add(host.line("mode"), &host.key(""), what, "a user of its own, to run agentd as");
    }
}

fn user(view: &View<'_>, host: &Host, seen: &mut Seen, problems: &mut Problems) -> User {
    let name = view.word("name");
    let role = match view.word("role").as_str() {
        "owner" => UserRole::Owner,
        "user" => UserRole::User,
        _ => UserRole::Guest,
    };
    // A name that is missing or wrong was reported.
    if view.given("name").is_some() {
        once(seen, "name", &name, &name, |_| {
            problems.add(
                view.line("name"),
                &view.key("name"),
                "this name belongs to another user",
                "a name of its own",
            );
        });
    }
    let uids = uids(view, host, role, &name, seen, problems);
    let mut identities = Vec::new();
    for (n, (line, identity)) in view.texts("channels").into_iter().enumerate() {
        once(seen, "channel", &identity, &name, |other| {
            let key = format!("{}[{n}]", view.key("channels"));
            problems.add(
                line,
                &key,
                format!("{identity} is user {other} already"),
                "an identity of one user",
            );
        });
        identities.push(identity);
    }
    User { name, uids, role, identities }
}

fn uids(
    view: &View<'_>,
    host: &Host,
    role: UserRole,
    name: &str,
    seen: &mut Seen,
    problems: &mut Problems,
) -> Vec<u32> {
    let mut uids = Vec::new();
    for (n, leaf) in view.list("uids").into_iter().enumerate() {
        let Value::Number(uid) = leaf.value else { continue };
        let key = format!("{}[{n}]", view.key("uids"));
        once(seen, "uid", &uid.to_string(), name, |other| {
            problems.add(leaf.line, &key, format!("uid {uid} is user {other} already"), "a uid of one user");
        });
        if uid == 0 && role != UserRole::Owner && view.given("role").is_some() {
            problems.add(
                leaf.line,
                &key,
                "root is always an owner",
                "a uid other than 0, or `role = \"owner\"`",
            );
        } else if uid != 0 && !ordinary(uid) {
            problems.add(leaf.line, &key, format!("uid {uid} is the uid of `nobody`"), "a person's uid");
        } else if host.owns(uid) {
            problems.add(leaf.line, &key, format!("uid {uid} is a process of this host"), "a person's uid");
        }
        uids.push(uid);
    }
    uids
}

/// Notes that `user` has `what`; tells `twice` which user had it first.
fn once(seen: &mut Seen, kind: &'static str, what: &str, user: &str, twice: impl FnOnce(&str)) {
    match seen.get(&(kind, what.to_owned())) {
        Some(other) => twice(other),
        None => {
            seen.insert((kind, what.to_owned()), user.to_owned());
        }
    }
}
