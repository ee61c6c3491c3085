//! Files of messages that come by platforms: which of them are fetched, the spool that holds them until the jail has them, and what a
//! message says of them. Admission comes before a file is fetched. Nothing here looks into a file.

use crate::channel_accounts::Channel;
use crate::channels::admission::{self, Decision};
use crate::state::RouterState;
use crate::state::uploads::Upload;
use ipc_proto::channel::{
    Attachment, BATCH, ChannelError, ConversationKind, FILE_BYTES, FILE_PIECE, FilePart, Inbound, InboxFile,
    PartKind, clean_name, inbox_path,
};
use ipc_proto::content::{IMAGES_BOUND, MEDIA_BOUND, Media, PARTS, Part, Place};
use ipc_proto::ids::TurnId;
use ipc_proto::router::RouterError;
use ipc_proto::{Blob, List, Text};
use manifest::Process;
use sha2::{Digest, Sha256};

/// Bytes of all files, and of the files of one account.
const SPOOL: (u64, u64) = (1 << 30, 1 << 29);
/// How long a file is kept that no message names, ms.
const LOOSE_MS: u64 = 3_600_000;
/// How long a file is kept whose messages are over, ms: a dead letter that is queued again has its files.
const OVER_MS: u64 = 7 * 86_400_000;
/// Media types of images that models take.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// A file of a message that is here.
pub(crate) struct ReceivedFile {
    id: i64,
    file: InboxFile,
    /// Its bytes, if it is an image that a model may be shown.
    image: Option<Blob<MEDIA_BOUND>>,
}

impl RouterState {
    /// Says of each message whether its files are to be fetched.
    pub(crate) fn channel_wants(
        &self,
        caller: Process,
        account: &str,
        messages: &[Inbound],
    ) -> Result<List<bool, BATCH>, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let wanted: Result<Vec<bool>, _> =
            messages.iter().map(|inbound| self.wants_files(&channel, inbound)).collect();
        Ok(List::clip(wanted?))
    }

    fn wants_files(&self, channel: &Channel, inbound: &Inbound) -> Result<bool, ChannelError> {
        let identity = channel.rules.platform.identity(&channel.account, &inbound.sender.id);
        let Some(identity) = identity.filter(|_| !inbound.attachments.is_empty()) else { return Ok(false) };
        if self.store.arrival_keyed(&channel.name, &inbound.key)?.is_some() {
            return Ok(false);
        }
        let group = match inbound.conversation.kind {
            ConversationKind::Group => self.group_rule(channel, &inbound.conversation.id)?,
            ConversationKind::Direct => None,
        };
        let known = self.people.by_identity(&identity).map(|person| person.role);
        let decision = admission::decide(&channel.rules, inbound, known, group);
        Ok(matches!(decision, Decision::User | Decision::Guest | Decision::Group))
    }

    /// Stores a part of a file. A part that is here already is one part.
    pub(crate) fn channel_file(
        &mut self,
        caller: Process,
        account: &str,
        part: &FilePart,
    ) -> Result<Option<[u8; 32]>, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let more = u64::try_from(part.bytes.len()).unwrap_or(u64::MAX);
        if let Some(Upload { size, whole, .. }) = self.uploads.find(&channel.name, part.upload) {
            let (end, whole) = (part.from.saturating_add(more), *whole);
            match (part.from == *size, end == *size) {
                (_, true) if whole.is_some() == part.last && (more > 0 || part.last) => return Ok(whole),
                (true, _) if whole.is_none() => {}
                _ => return Err(ChannelError::BadFile),
            }
        } else {
            if part.from != 0 {
                return Err(ChannelError::BadFile);
            }
            self.begin_file(&channel, part.upload)?;
        }
        if let Err(full) = self.make_room(&channel, more, SPOOL) {
            if let Some(file) = self.uploads.find(&channel.name, part.upload).map(|upload| upload.file) {
                self.drop_upload(file)?;
            }
            return Err(full);
        }
        self.add_part(&channel, part, more)
    }

    fn begin_file(&mut self, channel: &Channel, number: u64) -> Result<(), ChannelError> {
        self.disk_has_room().map_err(|_| ChannelError::NoSpace)?;
        for broken in self.uploads.broken(&channel.name) {
            self.drop_upload(broken)?;
        }
        let now_ms = self.now.ms;
        let file = self.store.commit(|tx| tx.begin_file(&channel.name, now_ms))?;
        let channel = channel.name.clone();
        self.uploads.add(Upload { channel, number, file, size: 0, hash: Sha256::new(), whole: None });
        Ok(())
    }

    fn drop_upload(&mut self, file: i64) -> Result<(), ChannelError> {
        self.uploads.forget(file);
        Ok(self.store.commit(|tx| tx.drop_file(file))?)
    }

    fn add_part(
        &mut self,
        channel: &Channel,
        part: &FilePart,
        more: u64,
    ) -> Result<Option<[u8; 32]>, ChannelError> {
        let now_ms = self.now.ms;
        let Some(upload) = self.uploads.find(&channel.name, part.upload) else {
            return Err(ChannelError::BadFile);
        };
        let (file, size) = (upload.file, upload.size.saturating_add(more));
        if size > FILE_BYTES || (more == 0 && !part.last) {
            self.drop_upload(file)?;
            return Err(ChannelError::BadFile);
        }
        let mut hash = upload.hash.clone();
        hash.update(&*part.bytes);
        let digest: Option<[u8; 32]> = part.last.then(|| hash.clone().finalize().into());
        let same = digest.map(|digest| self.store.whole_file(&channel.name, &digest)).transpose()?.flatten();
        self.store.commit(|tx| {
            if more > 0 {
                tx.add_file_part(file, part.from, &part.bytes)?;
            }
            digest.map_or(Ok(()), |digest| tx.finish_file(file, &digest, same, now_ms))
        })?;
        kit::fault_point!("router.file.committed");
        (upload.size, upload.hash, upload.whole) = (size, hash, digest);
        Ok(digest)
    }

    /// Fails if so many more bytes are over the bounds of the spool, all files together and those of the account, even without the files
    /// of messages that are over.
    fn make_room(
        &mut self,
        channel: &Channel,
        more: u64,
        (all, own): (u64, u64),
    ) -> Result<(), ChannelError> {
        loop {
            let (used, used_here) = self.store.file_room(&channel.name)?;
            if used.saturating_add(more) <= all && used_here.saturating_add(more) <= own {
                return Ok(());
            }
            if self.drop_files(u64::MAX)? == 0 {
                return Err(ChannelError::NoSpace);
            }
        }
    }

    /// Drops files that no message has named for an hour, and those whose messages are over and that came before `over_ms`.
    fn drop_files(&mut self, over_ms: u64) -> Result<usize, ChannelError> {
        let old = self.store.files_to_drop(self.now.ms.saturating_sub(LOOSE_MS), over_ms)?;
        self.store.commit(|tx| old.iter().try_for_each(|file| tx.drop_file(*file)))?;
        Ok(old.len())
    }

    /// Drops the files that are kept no longer.
    pub(crate) fn files_tick(&mut self) {
        if self.now.at < self.files_due {
            return;
        }
        self.files_due = self.now.at + std::time::Duration::from_millis(LOOSE_MS / 6);
        if let Err(fault) = self.drop_files(self.now.ms.saturating_sub(OVER_MS)) {
            tracing::warn!(%fault, "old files could not be dropped; it is tried again");
        }
    }

    /// The files of a message that are here, each in the place of its attachment.
    pub(crate) fn taken_files(
        &self,
        channel: &Channel,
        inbound: &Inbound,
    ) -> Result<Vec<Option<ReceivedFile>>, ChannelError> {
        let mut left = IMAGES_BOUND;
        let mut all = Vec::new();
        for attachment in &inbound.attachments {
            let digest = attachment.digest.as_ref();
            let found =
                digest.map(|digest| self.store.whole_file(&channel.name, digest)).transpose()?.flatten();
            let Some((found, digest)) = found.zip(attachment.digest) else {
                all.push(None);
                continue;
            };
            let fits = usize::try_from(found.size).is_ok_and(|size| size > 0 && size <= left);
            let image = if fits && IMAGES.contains(&attachment.media_type.as_str()) {
                Blob::new(self.store.file_bytes(found.id)?).ok()
            } else {
                None
            };
            left -= image.as_ref().map_or(0, |image| image.len());
            let file = InboxFile { digest, name: name_of(attachment), size: found.size };
            all.push(Some(ReceivedFile { id: found.id, file, image }));
        }
        Ok(all)
    }

    /// Names the files of a message that was stored.
    pub(crate) fn name_files(
        &mut self,
        seq: i64,
        taken: &[Option<ReceivedFile>],
    ) -> Result<(), ChannelError> {
        let files = taken.iter().flatten();
        Ok(self.store.commit(|tx| {
            (0_u8..)
                .zip(files)
                .try_for_each(|(number, taken)| tx.name_file(seq, number, taken.id, &taken.file.name))
        })?)
    }

    /// Has a sender read which files were not taken, and why.
    pub(crate) fn tell_missed(&mut self, channel: &Channel, inbound: &Inbound) -> Result<(), ChannelError> {
        let missed = inbound.attachments.iter().filter_map(|it| Some((name_of(it), it.missed?)));
        let lines: Vec<String> =
            missed.map(|(name, why)| format!("I did not take `{name}`: {}.", why.phrase())).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.send_notice(&channel.name, &inbound.conversation, None, &lines.join("\n\n"))
    }

    /// A piece of a file of a turn under way, from this byte on; empty at its end.
    pub(crate) fn inbox(
        &mut self,
        turn: TurnId,
        number: u8,
        from: u64,
    ) -> Result<Blob<FILE_PIECE>, RouterError> {
        let head = self.under_way(turn)?;
        let files = self.store.files_of(head.seq)?;
        let (file, about) = files.get(usize::from(number)).ok_or(RouterError::NoMessage)?;
        match self.store.file_part(*file, from)? {
            Some(bytes) => Blob::new(bytes).map_err(|_| RouterError::NotDurable),
            None if from == about.size => Ok(Blob::default()),
            None => Err(RouterError::NoMessage),
        }
    }
}

/// The cleaned name of a file: one segment of a path, whatever its process says.
fn name_of(attachment: &Attachment) -> Text<255> {
    match &attachment.name {
        Some(name) => clean_name(name),
        None => {
            let kind = attachment.media_type.split('/').next().unwrap_or_default();
            let stem = match kind {
                "image" => "picture",
                "audio" => "sound",
                "video" => "film",
                _ => "file",
            };
            let end = match attachment.media_type.as_str() {
                "image/jpeg" => ".jpg",
                "image/png" => ".png",
                "image/webp" => ".webp",
                "image/gif" => ".gif",
                "application/pdf" => ".pdf",
                "audio/ogg" => ".ogg",
                "video/mp4" => ".mp4",
                _ => "",
            };
            Text::clip(&format!("{stem}{end}"))
        }
    }
}

/// The parts of a message that say and show its files: one with a line for each, and then the images that a model is shown.
pub(crate) fn parts(
    attachments: &[Attachment],
    taken: &[Option<ReceivedFile>],
    shows_images: bool,
    before: usize,
) -> Vec<Part> {
    if attachments.is_empty() {
        return Vec::new();
    }
    let mut room = if shows_images { PARTS.saturating_sub(before + 1) } else { 0 };
    let (mut lines, mut images) = (Vec::new(), Vec::new());
    for (attachment, taken) in attachments.iter().zip(taken) {
        let shown = taken.as_ref().and_then(|taken| taken.image.clone()).filter(|_| room > 0);
        lines.push(line(attachment, taken.as_ref(), shown.is_some()));
        if let Some(bytes) = shown {
            room -= 1;
            let media_type = attachment.media_type.clone();
            images.push(Part::Image(Media { place: Place::Bytes(bytes), media_type, name: None }));
        }
    }
    let said = Part::Foreign { kind: PartKind::Attachment, text: Text::clip(&lines.join("\n")) };
    std::iter::once(said).chain(images).collect()
}

/// The line about a file: name, type, size, and where it is.
fn line(attachment: &Attachment, taken: Option<&ReceivedFile>, shown: bool) -> String {
    let media_type: String = attachment.media_type.chars().filter(|c| !c.is_control()).collect();
    let picture = media_type.starts_with("image/");
    let about = format!("{}, {media_type}, {} bytes", name_of(attachment), attachment.size);
    let how = match (picture, shown) {
        (true, false) => ", a picture that you are not shown",
        _ => "",
    };
    match (taken, attachment.missed) {
        (Some(taken), _) => {
            format!(
                "{about}{how}; read-only at /workspace/{}",
                inbox_path(&taken.file.digest, &taken.file.name)
            )
        }
        (None, Some(why)) => format!("{about}{how}; not taken: {}", why.phrase()),
        (None, None) => format!("{about}{how}; not fetched"),
    }
}
