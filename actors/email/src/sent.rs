//! The mailbox of sent mail: what was answered lately, what is known of a piece, and a copy of each.

use crate::answers::Answered;
use crate::compose::{MARK, answered};
use crate::cursor::{Position, arrival};
use crate::imap::{Fault, Session, quoted};
use crate::line::Line;
use crate::mail::{Header, Origin};

/// The mailbox where the server names none.
const NAME: &[u8] = b"Sent";
/// Answers of one day that are looked at.
const LATELY: usize = 256;

/// Selects the mailbox of sent mail. Returns false if there is none.
async fn select<L: Line>(session: &mut Session<L>) -> Result<bool, Fault> {
    let name = name(session).await?;
    Ok(session.select(&name, true).await?.is_some())
}

async fn name<L: Line>(session: &mut Session<L>) -> Result<Vec<u8>, Fault> {
    Ok(session.mailbox_with("\\sent").await?.unwrap_or_else(|| NAME.to_vec()))
}

/// The answers of the last day.
pub(crate) async fn lately<L: Line>(session: &mut Session<L>, now: i64) -> Result<Vec<Answered>, Fault> {
    if !select(session).await? {
        return Ok(Vec::new());
    }
    let since = Position { validity: 0, uid: 0, arrival: now }.since();
    let found = session.search(&format!("SINCE {since} HEADER Message-ID \"{MARK}\"")).await?;
    let mut all = Vec::new();
    for uid in found.into_iter().rev().take(LATELY) {
        let Some((date, fields)) = session.dated_fields(uid, "MESSAGE-ID").await? else { continue };
        let id = Header::parse(&fields).and_then(|header| header.ids("Message-ID").into_iter().next());
        let at = arrival(&date).unwrap_or(now);
        all.extend(id.and_then(|id| answered(&id, at)));
    }
    Ok(all)
}

/// Returns true if a mail of this message id is there.
pub(crate) async fn holds<L: Line>(session: &mut Session<L>, id: &str) -> Result<bool, Fault> {
    Ok(select(session).await? && !with_id(session, id).await?.is_empty())
}

/// The origin of the first piece of a delivery, which its further pieces go on from.
pub(crate) async fn origin<L: Line>(session: &mut Session<L>, mark: &str) -> Result<Option<Origin>, Fault> {
    if !select(session).await? {
        return Ok(None);
    }
    let Some(uid) = with_id(session, mark).await?.first().copied() else { return Ok(None) };
    Ok(session.fields(uid, Origin::FIELDS).await?.map(|block| Origin::of(&block)))
}

/// Keeps a copy, unless the server has put one there by itself. A server that has no such mailbox is asked for one.
pub(crate) async fn keep<L: Line>(session: &mut Session<L>, id: &str, mail: &[u8]) -> Result<(), Fault> {
    if holds(session, id).await? {
        return Ok(());
    }
    let name = name(session).await?;
    if session.append(&name, mail).await? {
        return Ok(());
    }
    session.create(&name).await?;
    session.append(&name, mail).await.map(drop)
}

/// The mails of the selected mailbox whose message id holds this text.
pub(crate) async fn with_id<L: Line>(session: &mut Session<L>, id: &str) -> Result<Vec<u32>, Fault> {
    let Some(id) = quoted(id.as_bytes()) else { return Ok(Vec::new()) };
    session.search(&format!("HEADER Message-ID {}", String::from_utf8_lossy(&id))).await
}
