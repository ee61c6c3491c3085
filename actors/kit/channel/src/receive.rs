//! Receiving: a poll, the messages and the cursor accepted by router in one commit, and only then the next poll, which
//! acknowledges them to the platform.

use crate::account::{Account, flat, pause};
use crate::follow;
use crate::platform::{Platform, PollFault, Polled, Pressed};
use ipc_proto::channel::{Admitted, BATCH, Batch, Conversation, Health, Link, Opened, Report};
use ipc_proto::router::method;
use ipc_proto::{List, Text};
use std::rc::Rc;
use std::time::Duration;

/// The pause after a first failure of the platform, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Receives for an account, for ever.
pub async fn receive<P: Platform>(account: Rc<Account<P>>) {
    let mut failures = 0;
    let mut reported = None;
    loop {
        let opened = match open(&account).await {
            Ok(opened) => opened,
            Err(wait) => {
                tokio::time::sleep(wait).await;
                continue;
            }
        };
        let is_up = matches!(reported, Some((Link::Up, _)));
        match account.platform.poll(opened.cursor.as_ref().map(Text::as_str), is_up).await {
            Ok(polled) => {
                failures = 0;
                report(&account, &mut reported, Link::Up, "", polled.malformed).await;
                if let Err(wait) = accept(&account, polled).await {
                    tokio::time::sleep(wait).await;
                }
            }
            Err(PollFault { link, reason, after }) => {
                failures += 1;
                report(&account, &mut reported, link, &reason, 0).await;
                tokio::time::sleep(after.unwrap_or_else(|| backoff(failures))).await;
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
async fn accept<P: Platform>(account: &Rc<Account<P>>, polled: Polled) -> Result<(), Duration> {
    for pressed in polled.presses {
        press(account, pressed).await?;
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

async fn press<P: Platform>(account: &Account<P>, pressed: Pressed) -> Result<(), Duration> {
    let answered = account.router.call(&method::channel_press, |router, context| {
        let (name, press) = (account.name.clone(), pressed.press.clone());
        async move { router.channel_press(context, name, press).await }
    });
    let answer = flat(answered.await).map_err(|refused| pause(&refused))?;
    account.platform.answer(&pressed.id, &answer).await;
    Ok(())
}

/// Reports the connection where it has changed, or a payload could not be read.
async fn report<P: Platform>(
    account: &Account<P>,
    reported: &mut Option<(Link, String)>,
    link: Link,
    reason: &str,
    malformed: u32,
) {
    let now = (link, reason.to_owned());
    if malformed == 0 && reported.as_ref() == Some(&now) {
        return;
    }
    if reported.as_ref() != Some(&now) {
        tracing::info!(channel = %account.name, link = link.name(), reason, "the channel's connection");
    }
    let own_id = account.platform.own_id();
    let health = Health { state: link, reason: Text::clip(reason), own_id, malformed };
    let report = Report { health, presence: List::default() };
    let stored = account.router.call(&method::channel_report, |router, context| {
        let (name, report) = (account.name.clone(), report.clone());
        async move { router.channel_report(context, name, report).await }
    });
    *reported = flat(stored.await).is_ok().then_some(now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_wait_ever_longer_up_to_a_minute() {
        let pauses: Vec<u64> = (1..=8).map(|failures| backoff(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff(u32::MAX), LONGEST);
    }
}
