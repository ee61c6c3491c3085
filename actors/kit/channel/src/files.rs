//! Files of messages: fetched from the platform piece by piece and handed to router before the message is, if its sender is admitted. Of a
//! file that is a reply's body no more than a piece is in memory, and nothing looks into it but for its first bytes, which tell its type.

use crate::account::{Account, flat, pause};
use crate::media_type::{LOOKED_AT, media_type};
use crate::platform::{NoFile, Platform, Polled};
use ipc_proto::channel::{
    Attachment, BATCH, ChannelError, FILE_BYTES, FILE_PIECE, FilePart, MESSAGE_BYTES, Missed,
};
use ipc_proto::router::method;
use ipc_proto::{Blob, List, Text};
use std::time::Duration;

/// Times that a file is tried.
const TRIES: u32 = 3;
/// The pause before another try.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a file may take in all.
const PATIENCE: Duration = Duration::from_secs(180);

/// A file that router has.
struct Fetched {
    digest: [u8; 32],
    media_type: &'static str,
    size: u64,
}

/// The reason for which a try gave nothing.
enum Failed {
    /// The file is not fetched.
    Missed(Missed),
    /// It may be fetched by another try.
    Again,
    /// Router took nothing; the poll is done again after this time.
    Router(Duration),
}

/// Fetches the files of what a poll gave, as far as their senders are admitted. An attachment says afterwards which bytes it has, or why it
/// has none.
///
/// # Errors
/// Router is away or refuses: the poll is to be done again after this time.
pub(crate) async fn fetch<P: Platform>(account: &Account<P>, polled: &mut Polled) -> Result<(), Duration> {
    if polled.files.is_empty() {
        return Ok(());
    }
    let wanted = wanted(account, polled).await?;
    for (number, message) in polled.messages.iter_mut().enumerate() {
        if wanted.get(number) != Some(&true) {
            continue;
        }
        let mut all = std::mem::take(&mut message.attachments).into_vec();
        let mut left = MESSAGE_BYTES;
        for file in polled.files.iter().filter(|file| file.message == number) {
            let Some(attachment) = all.get_mut(file.attachment) else { continue };
            match one(account, &file.source, attachment.size, left).await {
                Ok(fetched) => {
                    left = left.saturating_sub(fetched.size);
                    settle(attachment, &fetched);
                }
                Err(Ok(missed)) => attachment.missed = Some(missed),
                Err(Err(wait)) => return Err(wait),
            }
        }
        message.attachments = List::clip(all);
    }
    Ok(())
}

fn settle(attachment: &mut Attachment, fetched: &Fetched) {
    attachment.digest = Some(fetched.digest);
    attachment.media_type = Text::clip(fetched.media_type);
    attachment.size = fetched.size;
}

async fn wanted<P: Platform>(account: &Account<P>, polled: &Polled) -> Result<List<bool, BATCH>, Duration> {
    let messages = List::clip(polled.messages.iter().cloned());
    let asked = account.router.call(&method::channel_wants, |router, context| {
        let (name, messages) = (account.name.clone(), messages.clone());
        async move { router.channel_wants(context, name, messages).await }
    });
    flat(asked.await).map_err(|refused| pause(&refused))
}

/// Fetches one file of which the platform says that it has `size` bytes, 0 if it does not say.
async fn one<P: Platform>(
    account: &Account<P>,
    source: &str,
    size: u64,
    left: u64,
) -> Result<Fetched, Result<Missed, Duration>> {
    if size > FILE_BYTES {
        return Err(Ok(Missed::TooLarge));
    }
    if size > left {
        return Err(Ok(Missed::TooMuch));
    }
    let tried = tokio::time::timeout(PATIENCE, async {
        for _ in 0..TRIES {
            match attempt(account, source, left).await {
                Ok(fetched) => return Ok(fetched),
                Err(Failed::Missed(missed)) => return Err(Ok(missed)),
                Err(Failed::Router(wait)) => return Err(Err(wait)),
                Err(Failed::Again) => tokio::time::sleep(AGAIN).await,
            }
        }
        Err(Ok(Missed::Gone))
    });
    tried.await.unwrap_or(Err(Ok(Missed::Gone)))
}

async fn attempt<P: Platform>(account: &Account<P>, source: &str, left: u64) -> Result<Fetched, Failed> {
    let mut file = account.platform.open_file(source).await.map_err(|fault| match fault {
        NoFile::Missed(missed) => Failed::Missed(missed),
        NoFile::Later => Failed::Again,
    })?;
    let upload = getrandom::u64().map_err(|_| Failed::Again)?;
    let (mut begin, mut piece, mut size) = (Vec::new(), Vec::new(), 0_u64);
    loop {
        let (bytes, last) = file.next().await.ok_or(Failed::Again)?;
        let room = LOOKED_AT.saturating_sub(begin.len());
        begin.extend(bytes.iter().take(room));
        piece.extend(bytes);
        let whole = size.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        if whole > FILE_BYTES.min(left) {
            return Err(Failed::Missed(if whole > FILE_BYTES { Missed::TooLarge } else { Missed::TooMuch }));
        }
        while last || piece.len() > FILE_PIECE {
            let rest = piece.split_off(piece.len().min(FILE_PIECE));
            let is_end = last && rest.is_empty();
            let sent = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            let digest =
                store(account, part(upload, size, std::mem::replace(&mut piece, rest), is_end)?).await?;
            size = size.saturating_add(sent);
            if is_end {
                let digest = digest.ok_or(Failed::Again)?;
                return Ok(Fetched { digest, media_type: media_type(&begin), size });
            }
        }
    }
}

fn part(upload: u64, from: u64, bytes: Vec<u8>, last: bool) -> Result<FilePart, Failed> {
    let bytes = Blob::new(bytes).map_err(|_| Failed::Again)?;
    Ok(FilePart { upload, from, bytes, last })
}

async fn store<P: Platform>(account: &Account<P>, part: FilePart) -> Result<Option<[u8; 32]>, Failed> {
    let stored = account.router.call(&method::channel_file, |router, context| {
        let (name, part) = (account.name.clone(), part.clone());
        async move { router.channel_file(context, name, part).await }
    });
    flat(stored.await).map_err(|refused| match refused {
        Ok(ChannelError::NoSpace) => Failed::Missed(Missed::NoRoom),
        // Router began anew in between.
        Ok(ChannelError::BadFile) => Failed::Again,
        other => Failed::Router(pause(&other)),
    })
}
