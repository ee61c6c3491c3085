//! Channels, by what the running host knows of them: the connection and the trouble behind it, the secret, what came and went last,
//! and what waits for a person. Each finding names the command that mends it.

use super::{Row, Status};
use crate::app::App;
use crate::commands::tunnel;
use crate::failure::Failure;
use crate::{host, text};
use ipc_proto::channel::{ChannelView, Finding, Link, Trouble};
use ipc_proto::control::method;
use ipc_proto::credproxy::SecretInfo;

/// Seconds by which the clocks of this machine and of a platform may differ.
const CLOCK: i32 = 60;

/// The rows of every channel; with `deep` each process is asked to look at its accounts now.
///
/// # Errors
/// No host answers, or the caller is not its owner.
pub(super) async fn rows(app: &App, deep: bool) -> Result<Vec<Row>, Failure> {
    let found = app.link.ask(&method::channels, async |c, cx| c.channels(cx).await).await?;
    if found.is_empty() {
        let message = "none is configured; agentctl channel add PLATFORM adds one";
        return Ok(vec![Row::new("channel.connection", "channels", Status::Pass, message)]);
    }
    let secrets = app.link.ask(&method::cred_list, async |c, cx| c.cred_list(cx).await).await?;
    let mut rows: Vec<Row> = way_in(app).await.into_iter().collect();
    for info in found {
        let name = info.name;
        let view = app.link.ask(&method::channel, async |c, cx| c.channel(cx, name.clone()).await).await?;
        rows.extend(judge(&view, &secrets, text::now_ms()));
        if deep {
            let asked =
                app.link.ask(&method::check_channel, async |c, cx| c.check_channel(cx, name.clone()).await);
            rows.extend(match asked.await {
                Ok(findings) => findings.iter().map(|finding| looked_at(&name, finding)).collect(),
                Err(failure) => {
                    vec![Row::new("channel.deep", format!("{name}: look"), Status::Warn, failure.to_string())]
                }
            });
        }
    }
    Ok(rows)
}

/// The tunnel, where it does not do its work.
async fn way_in(app: &App) -> Option<Row> {
    let host = host::status(app).await.ok()?;
    let fault = tunnel::fault(&host.state_dir)?;
    Some(Row::new("channel.tunnel", "tunnel", Status::Fail, fault.sentence))
}

fn looked_at(channel: &str, finding: &Finding) -> Row {
    let status = if finding.well { Status::Pass } else { Status::Fail };
    Row::new("channel.deep", format!("{channel}: {}, asked now", finding.id), status, finding.said.as_str())
}

/// The rows of one channel, from what the host knows of it.
pub(super) fn judge(view: &ChannelView, secrets: &[SecretInfo], now_ms: u64) -> Vec<Row> {
    let name = &view.info.name;
    let row = |id: &'static str, subject: &str, (status, message): (Status, String)| {
        Row::new(id, format!("{name}: {subject}"), status, message)
    };
    let mut rows = vec![
        row("channel.connection", "connection", connection(view)),
        row("channel.secret", "secret", secret(view, secrets, now_ms)),
        row("channel.token", "token", token(view)),
        row("channel.poller", "second poller", apart(view, Trouble::Rival, "no other program receives")),
        row("channel.hook", "hook", apart(view, Trouble::Hook, "none stands in the way")),
        row("channel.admitted", "last admitted", admitted(view)),
        row("channel.sent", "last sent", sent(view)),
        row("channel.pairings", "pairings", pairings(view)),
        row("channel.unknown", "unknown outcome", unknown(view)),
        row("channel.clock", "clock", clock(view)),
    ];
    if view.approve_code {
        rows.push(row("channel.code", "code of approvals", code(view, secrets, now_ms)));
    }
    rows
}

fn connection(view: &ChannelView) -> (Status, String) {
    let info = &view.info;
    if info.paused {
        return (Status::Warn, format!("paused; agentctl channel resume {} resumes it", info.name));
    }
    let reason = |otherwise: &str| {
        if info.reason.is_empty() { otherwise.to_owned() } else { info.reason.to_string() }
    };
    match info.link {
        Link::Up => (Status::Pass, "up".to_owned()),
        Link::Connecting => (Status::Warn, reason("not tried yet; agentctl channel test waits for it")),
        Link::Down => (Status::Warn, reason("down; it is tried again by itself")),
        Link::Refused => (Status::Fail, reason("refused; agentctl channel show says why")),
    }
}

/// A missing token and a missing network are told apart.
fn token(view: &ChannelView) -> (Status, String) {
    let info = &view.info;
    match (view.trouble, info.link) {
        (Trouble::Token, _) => (Status::Fail, info.reason.to_string()),
        (_, Link::Up) => (Status::Pass, format!("{} accepts it", info.platform.name())),
        (Trouble::Rival | Trouble::Hook, _) => (Status::Pass, format!("{} accepts it", info.platform.name())),
        (Trouble::Network, _) => (
            Status::Warn,
            "not known while the platform cannot be reached; agentctl logs dialer says why".to_owned(),
        ),
        _ => (Status::Warn, format!("not known yet; agentctl channel test {} waits for it", info.name)),
    }
}

/// A trouble that has a row of its own.
fn apart(view: &ChannelView, trouble: Trouble, well: &str) -> (Status, String) {
    if view.trouble == trouble {
        (Status::Fail, view.info.reason.to_string())
    } else {
        (Status::Pass, well.to_owned())
    }
}

/// A fault of a stored secret; none if it can be used.
fn fault<'a>(secrets: &'a [SecretInfo], name: &str, now_ms: u64) -> Result<&'a SecretInfo, &'static str> {
    let found = secrets.iter().find(|secret| secret.name.as_str() == name).ok_or("is not stored")?;
    let ended = found.lease.until_ms.is_some_and(|until| until <= now_ms);
    let spent = found.lease.uses.is_some_and(|uses| found.uses >= uses);
    match (found.revoked, ended, spent) {
        (true, ..) => Err("is revoked"),
        (_, true, _) => Err("has expired"),
        (.., true) => Err("is used up"),
        _ => Ok(found),
    }
}

fn secret(view: &ChannelView, secrets: &[SecretInfo], now_ms: u64) -> (Status, String) {
    let (name, platform) = (&view.info.name, view.info.platform.name());
    let again = format!("agentctl channel add {platform} {name} stores it");
    if view.secret.is_empty() {
        return (Status::Pass, "the account needs none".to_owned());
    }
    let found = match fault(secrets, &view.secret, now_ms) {
        Ok(found) => found,
        Err(fault) => return (Status::Fail, format!("{} {fault}; {again}", view.secret)),
    };
    let bound: Vec<&str> = found.binding.hosts.iter().map(|host| host.as_str()).collect();
    let reached = |bound: &str| {
        view.hosts
            .iter()
            .any(|host| host.as_str() == bound || host.rsplit_once(':').is_some_and(|(it, _)| it == bound))
    };
    if bound.iter().any(|bound| reached(bound)) {
        return (Status::Pass, format!("{} goes to {} alone", view.secret, bound.join(" and ")));
    }
    let hosts: Vec<&str> = view.hosts.iter().map(|host| host.as_str()).collect();
    let message = format!(
        "{} goes to {} alone, and the account reaches {}; {again}",
        view.secret,
        bound.join(" and "),
        hosts.join(" and ")
    );
    (Status::Fail, message)
}

fn code(view: &ChannelView, secrets: &[SecretInfo], now_ms: u64) -> (Status, String) {
    let name = view.info.platform.code_secret(&view.info.name);
    match fault(secrets, &name, now_ms) {
        Ok(_) => (Status::Pass, format!("compared with {name}")),
        Err(fault) => {
            let mend = format!("agentctl channel totp {} makes it", view.info.name);
            (Status::Fail, format!("{name} {fault}, so nothing can be approved; {mend}"))
        }
    }
}

fn when(ms: u64) -> String {
    if ms == 0 { "never".to_owned() } else { text::utc(ms) }
}

fn admitted(view: &ChannelView) -> (Status, String) {
    let dropped: u64 = view.dropped.iter().map(|(_, count)| count).sum();
    let some =
        if dropped == 0 { String::new() } else { format!("; {dropped} dropped since the host's start") };
    if view.info.admitted_ms > 0 {
        return (Status::Pass, format!("{}{some}", when(view.info.admitted_ms)));
    }
    let how = format!(
        "agentctl channel add {} {} gives a code that links you",
        view.info.platform.name(),
        view.info.name
    );
    (Status::Warn, format!("never{some}; {how}"))
}

fn sent(view: &ChannelView) -> (Status, String) {
    let at = when(view.info.sent_ms);
    if view.waiting > 0 {
        let wait = text::count(view.waiting, "answer waits", "answers wait");
        return (Status::Warn, format!("{at}; {wait} to be sent: agentctl message list shows them"));
    }
    (Status::Pass, at)
}

fn pairings(view: &ChannelView) -> (Status, String) {
    match view.pairings {
        0 => (Status::Pass, "none waits".to_owned()),
        some => {
            let wait = text::count(some, "waits", "wait");
            (
                Status::Warn,
                format!("{wait}: agentctl pairing list, then agentctl pairing approve CODE --as NAME"),
            )
        }
    }
}

fn unknown(view: &ChannelView) -> (Status, String) {
    match view.unknown {
        0 => (Status::Pass, "no answer".to_owned()),
        some => {
            let may = text::count(some, "answer may not have arrived", "answers may not have arrived");
            (Status::Warn, format!("{may}: agentctl message list --unknown, then agentctl message resend ID"))
        }
    }
}

fn clock(view: &ChannelView) -> (Status, String) {
    match view.clock_s {
        None => (Status::Pass, "not compared yet; agentctl channel test NAME --to ID does".to_owned()),
        Some(seconds) if seconds.abs() <= CLOCK => (Status::Pass, "as the platform's".to_owned()),
        Some(seconds) => {
            let way = if seconds > 0 { "behind" } else { "ahead of" };
            let message = format!(
                "{} s {way} the platform's; timedatectl set-ntp true sets it",
                seconds.unsigned_abs()
            );
            (Status::Warn, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::channel::{ChannelInfo, Platform};
    use ipc_proto::credproxy::{Binding, Lease};
    use ipc_proto::{List, Name, Text};

    fn view() -> ChannelView {
        ChannelView {
            info: ChannelInfo {
                name: Name::clip("main"),
                platform: Platform::Telegram,
                paused: false,
                link: Link::Up,
                reason: Text::default(),
                admitted_ms: 1,
                sent_ms: 1,
            },
            dm: Name::clip("owner_only"),
            waiting: 0,
            unknown: 0,
            pairings: 0,
            malformed: 0,
            dropped: List::default(),
            groups: List::default(),
            trouble: Trouble::None,
            clock_s: Some(0),
            secret: Name::clip("telegram-main"),
            hosts: List::clip([Text::clip("api.telegram.org:443")]),
            approve_code: false,
        }
    }

    fn stored(name: &str, host: &str) -> SecretInfo {
        SecretInfo {
            name: Name::clip(name),
            binding: Binding { hosts: List::clip([Text::clip(host)]), ..Binding::default() },
            lease: Lease::default(),
            revoked: false,
            set_ms: 1,
            uses: 1,
            used_ms: 1,
            login: None,
        }
    }

    /// The rows that are not in order.
    fn ill(view: &ChannelView, secrets: &[SecretInfo]) -> Vec<(&'static str, Status, String)> {
        let rows = judge(view, secrets, 1000);
        let ill = rows.into_iter().filter(|row| row.status != Status::Pass);
        ill.map(|row| (row.id, row.status, row.message)).collect()
    }

    fn bound() -> Vec<SecretInfo> {
        vec![stored("telegram-main", "api.telegram.org")]
    }

    #[test]
    fn a_channel_in_order_has_no_finding() {
        assert_eq!(ill(&view(), &bound()), []);
        let local = ChannelView { hosts: List::clip([Text::clip("127.0.0.1:9")]), ..view() };
        assert_eq!(ill(&local, &[stored("telegram-main", "127.0.0.1:9")]), []);
    }

    #[test]
    fn a_refused_token_is_told_apart_from_a_network_that_is_away() {
        let with = |trouble, link, reason: &str| {
            let mut view = view();
            (view.trouble, view.info.link, view.info.reason) = (trouble, link, Text::clip(reason));
            ill(&view, &bound())
        };
        let refused = with(Trouble::Token, Link::Refused, "refused; agentctl channel add telegram main");
        assert_eq!(
            refused.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>(),
            [("channel.connection", Status::Fail), ("channel.token", Status::Fail)]
        );
        assert!(refused[1].2.contains("agentctl channel add telegram main"));
        let away = with(Trouble::Network, Link::Down, "cannot be reached");
        assert!(away.iter().all(|row| row.1 == Status::Warn), "{away:?}");
        assert!(away[1].2.contains("cannot be reached"));
        let rival = with(Trouble::Rival, Link::Refused, "another program polls");
        assert_eq!(
            rival.iter().map(|row| row.0).collect::<Vec<_>>(),
            ["channel.connection", "channel.poller"]
        );
        let hook = with(Trouble::Hook, Link::Refused, "a webhook is set");
        assert_eq!(hook.iter().map(|row| row.0).collect::<Vec<_>>(), ["channel.connection", "channel.hook"]);
    }

    #[test]
    fn a_secret_that_is_gone_or_bound_elsewhere_fails() {
        let revoked = SecretInfo { revoked: true, ..stored("telegram-main", "api.telegram.org") };
        for secrets in [vec![], vec![revoked], vec![stored("telegram-main", "evil.example")]] {
            let found = ill(&view(), &secrets);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].2.contains("agentctl channel add telegram main"), "{found:?}");
        }
    }

    #[test]
    fn what_waits_for_a_person_names_its_command() {
        let mut busy = view();
        (busy.pairings, busy.unknown, busy.waiting, busy.info.admitted_ms) = (1, 2, 3, 0);
        (busy.clock_s, busy.approve_code) = (Some(-3600), true);
        let found = ill(&busy, &bound());
        for (id, command) in [
            ("channel.pairings", "agentctl pairing approve"),
            ("channel.unknown", "agentctl message resend"),
            ("channel.sent", "agentctl message list"),
            ("channel.admitted", "agentctl channel add"),
            ("channel.clock", "ahead of the platform's; timedatectl"),
            ("channel.code", "agentctl channel totp main"),
        ] {
            assert!(found.iter().any(|row| row.0 == id && row.2.contains(command)), "{id}: {found:?}");
        }
        assert_eq!(found.len(), 6, "{found:?}");
    }
}
