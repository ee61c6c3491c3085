//! Receiving: a poll, the messages and the cursor accepted by router in one commit, and only then the next poll, which
//! acknowledges them to the platform.

use crate::account::{Account, flat, pause};
use crate::files;
use crate::follow;
use crate::platform::{Invitation, Platform, PollFault, Polled, Pressed};
use ipc_proto::channel::{Admitted, BATCH, Batch, Conversation, Health, Link, Opened, Report, Trouble};
use ipc_proto::router::method;
use ipc_proto::{List, Text};
use std::rc::Rc;
use std::time::Duration;

/// The pause after a first failure of the platform, and the longest.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(60);

/// The connection to the platform, as its polls found it.
#[derive(Debug, Default)]
struct Connection {
    /// The last poll came back well. The next one is held then, whether or not router could be told.
    is_up: bool,
    /// Polls that failed since.
    failures: u32,
    /// The state that router was told last.
    reported: Option<Reported>,
}

impl Connection {
    const fn came_back(&mut self) {
        (self.is_up, self.failures) = (true, 0);
    }

    /// Notes a failure, and returns the pause after it.
    fn failed(&mut self) -> Duration {
        (self.is_up, self.failures) = (false, self.failures.saturating_add(1));
        backoff(self.failures)
    }
}

/// Receives for an account, for ever.
pub(crate) async fn receive<P: Platform>(account: Rc<Account<P>>) {
    let mut connection = Connection::default();
    loop {
        let opened = match open(&account).await {
            Ok(opened) => opened,
            Err(wait) => {
                tokio::time::sleep(wait).await;
                continue;
            }
        };
        if !opened.reported
            && let Some(Reported { link, reason, .. }) = connection.reported.take()
        {
            // Router has started again since.
            report(&account, &mut connection.reported, link, &reason, 0).await;
        }
        match account.platform.poll(opened.cursor.as_ref().map(Text::as_str), connection.is_up).await {
            Ok(polled) => {
                connection.came_back();
                let limitation = account.platform.limitation().unwrap_or_default();
                report(&account, &mut connection.reported, Link::Up, &limitation, polled.malformed).await;
                if let Err(wait) = accept(&account, polled).await {
                    tokio::time::sleep(wait).await;
                }
            }
            Err(PollFault { link, reason, after }) => {
                let pause = connection.failed();
                report(&account, &mut connection.reported, link, &reason, 0).await;
                tokio::time::sleep(after.unwrap_or(pause)).await;
            }
        }
    }
}

/// The pause after so many failures in a row.
fn backoff(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST)
}

/// The account as it stands; or the time to wait, while it is paused or router is away.
async fn open<P: Platform>(account: &Account<P>) -> Result<Opened, Duration> {
    let opened = account.router.call(&method::channel_open, |router, context| {
        let name = account.name.clone();
        async move { router.channel_open(context, name).await }
    });
    let opened = flat(opened.await).map_err(|refused| pause(&refused))?;
    if opened.paused { Err(Duration::from_secs(2)) } else { Ok(opened) }
}

/// Hands on what a poll gave. A batch that router does not accept is polled for again.
async fn accept<P: Platform>(account: &Rc<Account<P>>, mut polled: Polled) -> Result<(), Duration> {
    for pressed in std::mem::take(&mut polled.presses) {
        press(account, pressed).await?;
    }
    for invitation in &polled.invitations {
        invited(account, invitation).await?;
    }
    if polled.cursor.is_some() {
        files::fetch(account, &mut polled).await?;
        kit::fault_point!("channel.files.fetched");
    }
    let Some(cursor) = polled.cursor else { return Ok(()) };
    let origins: Vec<(Conversation, Text<128>)> =
        polled.messages.iter().map(|one| (one.conversation.clone(), one.message.clone())).collect();
    let messages = List::<_, BATCH>::new(polled.messages).map_err(|_| LONGEST)?;
    let batch = Batch { messages, cursor };
    let accepted = account.router.call(&method::channel_accept, |router, context| {
        let (name, batch) = (account.name.clone(), batch.clone());
        async move { router.channel_accept(context, name, batch).await }
    });
    let fates = flat(accepted.await).map_err(|refused| pause(&refused))?;
    for (fate, (conversation, message)) in fates.iter().zip(origins) {
        if let Admitted::Accepted { turn, .. } = fate {
            drop(tokio::task::spawn_local(follow::turn(
                Rc::clone(account),
                *turn,
                conversation,
                Some(message),
            )));
        }
    }
    Ok(())
}

/// Accepts an invitation, if router admits its sender.
async fn invited<P: Platform>(account: &Account<P>, invitation: &Invitation) -> Result<(), Duration> {
    let admitted = account.router.call(&method::channel_invited, |router, context| {
        let (name, sender) = (account.name.clone(), invitation.sender.clone());
        async move { router.channel_invited(context, name, sender).await }
    });
    let admitted = flat(admitted.await).map_err(|refused| pause(&refused))?;
    if admitted { account.platform.join(invitation).await } else { Ok(()) }
}

async fn press<P: Platform>(account: &Account<P>, pressed: Pressed) -> Result<(), Duration> {
    let answered = account.router.call(&method::channel_press, |router, context| {
        let (name, press) = (account.name.clone(), pressed.press.clone());
        async move { router.channel_press(context, name, press).await }
    });
    let answer = flat(answered.await).map_err(|refused| pause(&refused))?;
    account.platform.answer(&pressed.id, &answer).await;
    Ok(())
}

/// The state of a connection as it was reported last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reported {
    link: Link,
    reason: String,
    clock_s: Option<i32>,
}

/// Reports the connection where it or the platform's clock has changed, or a payload could not be read.
async fn report<P: Platform>(
    account: &Account<P>,
    reported: &mut Option<Reported>,
    link: Link,
    reason: &str,
    malformed: u32,
) {
    let clock_s = account.platform.clock_s().map(coarse);
    let now = Reported { link, reason: reason.to_owned(), clock_s };
    if malformed == 0 && reported.as_ref() == Some(&now) {
        return;
    }
    if reported.as_ref().is_none_or(|before| (before.link, before.reason.as_str()) != (link, reason)) {
        tracing::info!(channel = %account.name, link = link.name(), reason, "the channel's connection");
    }
    let own_id = account.platform.own_id();
    let trouble = if link == Link::Up { Trouble::None } else { account.platform.trouble() };
    let health = Health { state: link, reason: Text::clip(reason), own_id, malformed, trouble, clock_s };
    let report = Report { health, presence: List::default() };
    let stored = account.router.call(&method::channel_report, |router, context| {
        let (name, report) = (account.name.clone(), report.clone());
        async move { router.channel_report(context, name, report).await }
    });
    *reported = flat(stored.await).is_ok().then_some(now);
}

/// A difference of clocks without what a request's own time makes of it.
const fn coarse(seconds: i32) -> i32 {
    seconds / 10 * 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_is_held_after_a_good_one_though_router_was_not_told() {
        let mut connection = Connection::default();
        assert!(!connection.is_up, "the first poll of a connection is not held");
        connection.came_back();
        // Router was away.
        connection.reported = None;
        assert!(connection.is_up);
        assert_eq!([connection.failed(), connection.failed()], [FIRST, FIRST * 2]);
        assert!(!connection.is_up);
        connection.came_back();
        assert_eq!((connection.is_up, connection.failed()), (true, FIRST));
    }

    #[test]
    fn failures_in_a_row_wait_ever_longer_up_to_a_minute() {
        let pauses: Vec<u128> = (1..=10).map(|failures| backoff(failures).as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(backoff(u32::MAX), LONGEST);
    }
}
