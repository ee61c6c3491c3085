//! Files of messages that come by a platform, and files that go out by one, over lives of router and within the bounds of the spool.

use super::channels::{accept, done, plan, with, write};
use super::taking::{Work, claim};
use super::world::World;
use crate::channels::admission::tests::{inbound, rules};
use crate::state::requests::NewFile;
use ipc_proto::channel::{
    Admitted, Attachment, Body, ChannelError, Claim, FILE_BYTES, FILE_PIECE, FilePart, Inbound, Missed,
    Outcome,
};
use ipc_proto::config::DmPolicy;
use ipc_proto::content::Part;
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::label::Trust;
use ipc_proto::router::{MessageState, RouterError};
use ipc_proto::{Blob, List, Text};
use manifest::Process;
use sha2::{Digest, Sha256};

/// Milliseconds of an hour.
const HOUR: u64 = 3_600_000;

fn part(upload: u64, from: u64, bytes: &[u8], last: bool) -> FilePart {
    FilePart { upload, from, bytes: Blob::new(bytes).unwrap(), last }
}

fn put(world: &mut World, account: &str, part: &FilePart) -> Result<Option<[u8; 32]>, ChannelError> {
    world.act(|router| router.channel_file(Process::Telegram, account, part))
}

/// Stores a file in one part.
fn stored(world: &mut World, upload: u64, bytes: &[u8]) -> [u8; 32] {
    put(world, "main", &part(upload, 0, bytes, true)).unwrap().unwrap()
}

fn holding(key: &str, digest: Option<[u8; 32]>, media_type: &str, size: u64) -> Inbound {
    let mut message = inbound(key, "7", "see");
    message.attachments = List::clip([Attachment {
        digest,
        name: Some(Text::clip("../a.bin")),
        media_type: Text::clip(media_type),
        size,
        missed: None,
    }]);
    message
}

/// The owner sends this message; returns its turn.
fn send(world: &mut World, message: Inbound) -> TurnId {
    let key = message.key.to_string();
    match accept(world, vec![message], &key)[..] {
        [Admitted::Accepted { turn, .. }] => turn,
        ref other => panic!("{other:?}"),
    }
}

fn bytes_in_spool(world: &mut World) -> u64 {
    world.act(|router| router.store.file_room("telegram:main")).unwrap().0
}

/// All pieces of the first file of a turn, as the jail reads them.
fn read(world: &mut World, turn: TurnId) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let from = u64::try_from(all.len()).unwrap();
        let piece = world.act(|router| router.inbox(turn, 0, from)).unwrap();
        if piece.is_empty() {
            return all;
        }
        all.extend(&*piece);
    }
}

// Holds P11-54.
#[test]
fn a_file_comes_in_parts_each_once_and_the_jail_reads_it_whole() {
    let mut world = with(DmPolicy::OwnerOnly);
    let (one, two) = (vec![1; FILE_PIECE], b"the end".to_vec());
    assert_eq!(put(&mut world, "main", &part(9, 5, &one, false)), Err(ChannelError::BadFile));
    for _ in 0..2 {
        assert_eq!(put(&mut world, "main", &part(9, 0, &one, false)), Ok(None));
    }
    let end = part(9, u64::try_from(FILE_PIECE).unwrap(), &two, true);
    let whole = [one.clone(), two].concat();
    let digest: [u8; 32] = Sha256::digest(&whole).into();
    for _ in 0..2 {
        assert_eq!(put(&mut world, "main", &end), Ok(Some(digest)));
    }
    let size = u64::try_from(whole.len()).unwrap();
    let turn = send(&mut world, holding("k", Some(digest), "application/pdf", size));
    world.restart();
    let taken = world.act(|router| router.take(turn, 1 << 20)).unwrap();
    assert_eq!(
        (taken.files[0].name.as_str(), taken.files[0].size, taken.conversation.is_some()),
        ("a.bin", size, true)
    );
    assert_eq!(read(&mut world, turn), whole);
    assert_eq!(world.act(|router| router.inbox(turn, 1, 0)), Err(RouterError::NoMessage));
}

// Holds P11-54.
#[test]
fn a_file_that_was_not_whole_when_router_died_is_sent_anew_and_kept_once() {
    let mut world = with(DmPolicy::OwnerOnly);
    assert_eq!(put(&mut world, "main", &part(9, 0, b"half", false)), Ok(None));
    world.restart();
    assert_eq!(bytes_in_spool(&mut world), 0);
    assert_eq!(put(&mut world, "main", &part(9, 4, b"rest", true)), Err(ChannelError::BadFile));
    let first = stored(&mut world, 10, b"whole");
    assert_eq!(stored(&mut world, 11, b"whole"), first);
    assert_eq!(bytes_in_spool(&mut world), 5);
    assert_eq!(put(&mut world, "main", &part(12, 0, b"given up", false)), Ok(None));
    assert_eq!(put(&mut world, "main", &part(13, 0, b"", true)).map(|it| it.is_some()), Ok(true));
    assert_eq!(bytes_in_spool(&mut world), 5, "one file of an account is under way");
}

// Holds P11-50, B-190, B-191.
#[test]
fn a_file_over_the_bound_is_dropped_and_a_full_spool_takes_no_more() {
    let mut world = with(DmPolicy::OwnerOnly);
    let piece = vec![0; FILE_PIECE];
    let mut from = 0;
    let refused = loop {
        match put(&mut world, "main", &part(9, from, &piece, false)) {
            Ok(_) => from += u64::try_from(FILE_PIECE).unwrap(),
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused, from, bytes_in_spool(&mut world)), (ChannelError::BadFile, FILE_BYTES, 0));
    let turn_file = stored(&mut world, 10, b"kept");
    let turn = send(&mut world, holding("k", Some(turn_file), "application/pdf", 4));
    let full = |world: &mut World| {
        world.act(|router| router.store.commit(|tx| tx.set_file_sizes(1 << 29))).unwrap();
    };
    full(&mut world);
    assert_eq!(put(&mut world, "main", &part(11, 0, b"more", true)), Err(ChannelError::NoSpace));
    let kept = world.act(|router| router.inbox(turn, 0, 0)).unwrap();
    assert_eq!(&*kept, b"kept", "a message that waits keeps its files");
    world.finish(turn, super::answer("done"));
    assert!(put(&mut world, "main", &part(12, 0, b"more", true)).is_ok(), "one that is over makes room");
}

// Holds P11-50.
#[test]
fn a_file_that_no_message_names_is_dropped_after_an_hour() {
    let mut world = with(DmPolicy::OwnerOnly);
    let named = stored(&mut world, 1, b"named");
    let _ = stored(&mut world, 2, b"loose");
    let turn = send(&mut world, holding("k", Some(named), "application/pdf", 5));
    world.finish(turn, super::answer("done"));
    world.ms += HOUR + 600_000;
    world.pass(500);
    assert_eq!(bytes_in_spool(&mut world), 5);
    world.ms += 8 * 24 * HOUR;
    world.pass(500);
    assert_eq!(bytes_in_spool(&mut world), 0);
}

// Holds P11-50.
#[test]
fn the_files_of_strangers_and_of_messages_that_came_before_are_not_wanted() {
    let mut world = with(DmPolicy::OwnerOnly);
    send(&mut world, holding("old", None, "application/pdf", 5));
    let mut strangers = holding("k1", None, "application/pdf", 5);
    strangers.sender.id = Text::clip("8");
    let asked =
        [strangers, holding("old", None, "a/b", 5), holding("k2", None, "a/b", 5), inbound("k3", "7", "x")];
    let wanted = world.act(|router| router.channel_wants(Process::Telegram, "main", &asked)).unwrap();
    assert_eq!(wanted.to_vec(), [false, false, true, false]);
    let other = world.act(|router| router.channel_wants(Process::Gateway, "main", &asked));
    assert_eq!(other, Err(ChannelError::NoChannel));
}

// Holds P11-08, P11-51.
#[test]
fn a_digest_gives_no_account_the_file_of_another() {
    let mut world = with(DmPolicy::OwnerOnly);
    world.config.channels.insert("second".into(), rules(DmPolicy::OwnerOnly));
    world.restart();
    let digest = put(&mut world, "second", &part(1, 0, b"theirs", true)).unwrap();
    let turn = send(&mut world, holding("k", digest, "application/pdf", 6));
    assert!(world.act(|router| router.take(turn, 1 << 20)).unwrap().files.is_empty());
}

// Holds P11-51, P11-52.
#[test]
fn a_file_makes_message_and_workspace_untrusted_and_a_picture_is_shown() {
    let mut world = with(DmPolicy::OwnerOnly);
    let digest = stored(&mut world, 1, b"picture");
    let turn = send(&mut world, holding("k", Some(digest), "image/png", 7));
    let taken = world.act(|router| router.take(turn, 1 << 20)).unwrap();
    let trusts = [taken.label.trust, taken.session_label.trust, taken.workspace_label.trust];
    assert_eq!(trusts, [Trust::Untrusted; 3]);
    let shown: Vec<_> = taken.content.images().map(|(kind, bytes)| (kind.as_str(), bytes.to_vec())).collect();
    assert_eq!(shown, [("image/png", b"picture".to_vec())]);
    let said = taken.content.plain();
    assert!(said.contains("a.bin, image/png, 7 bytes; read-only at /workspace/inbox/"), "{said}");
}

// Holds P11-52.
#[test]
fn an_agent_that_sees_no_images_is_told_of_the_picture() {
    let mut world = with(DmPolicy::OwnerOnly);
    world.config.agents.get_mut("default").unwrap().sees = false;
    world.restart();
    let digest = stored(&mut world, 1, b"picture");
    let turn = send(&mut world, holding("k", Some(digest), "image/png", 7));
    let content = world.act(|router| router.take(turn, 1 << 20)).unwrap().content;
    assert!(!content.parts.iter().any(|part| matches!(part, Part::Image(_))));
    assert!(content.plain().contains("image/png, 7 bytes, a picture that you are not shown; read-only at"));
}

// Holds P11-50.
#[test]
fn a_sender_reads_which_file_was_not_taken_and_why_once() {
    let mut world = with(DmPolicy::OwnerOnly);
    let mut message = holding("k", None, "application/pdf", 30 << 20);
    let mut missed = message.attachments.first().unwrap().clone();
    missed.missed = Some(Missed::TooLarge);
    message.attachments = List::clip([missed]);
    for _ in 0..2 {
        accept(&mut world, vec![message.clone()], "1");
    }
    let works = claim(&mut world, 1, &[]);
    let [Work::Plan(answer)] = &works[..] else { panic!("{works:?}") };
    assert!(answer.text.contains("`a.bin`: it is over 20 MiB"), "{}", answer.text);
}

fn sends(world: &mut World, turn: TurnId, call: CallId) -> Result<(), RouterError> {
    let file = NewFile {
        call,
        name: Text::clip("out/../table.csv"),
        caption: Text::clip("the-table"),
        bytes: Blob::new(b"a,b".as_slice()).unwrap(),
    };
    world.act(|router| router.send_file(turn, &file))
}

/// The next piece that the process is given.
fn given(world: &mut World) -> Claim {
    loop {
        match claim(world, 1, &[]).into_iter().next() {
            Some(Work::Plan(answer)) => plan(world, &answer),
            Some(Work::Send(claim)) => return claim,
            Some(Work::Check(_) | Work::Find(_)) | None => panic!("nothing to send"),
        }
    }
}

// Holds P11-53, P11-54.
#[test]
fn a_file_goes_out_once_behind_its_caption_and_ahead_of_the_answer() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = write(&mut world, "k", "make a table");
    let call = CallId::random();
    assert_eq!(sends(&mut world, turn, call), Ok(()));
    world.restart();
    assert_eq!(sends(&mut world, turn, call), Ok(()), "a call is done once");
    let caption = given(&mut world);
    assert_eq!(caption.content.body, Body::Text(Text::clip("the-table")));
    let sent = Outcome::Sent { id: Text::clip("1") };
    assert_eq!(done(&mut world, caption.piece, &sent), Ok(()));
    let file = given(&mut world);
    let bytes = Blob::new(b"a,b".as_slice()).unwrap();
    assert_eq!(file.content.body, Body::File { name: Text::clip("table.csv"), bytes });
    assert_eq!(done(&mut world, file.piece, &sent), Ok(()));
    assert!(claim(&mut world, 1, &[]).is_empty(), "and no more");
    world.finish(turn, super::answer("there"));
    let answer = given(&mut world);
    assert_eq!(done(&mut world, answer.piece, &sent), Ok(()));
    let id = world.act(|router| router.messages(None, 1, false)).unwrap()[0].id;
    assert_eq!(world.state(id), MessageState::Delivered, "it is the answer that delivers the message");
}

// Holds P11-53.
#[test]
fn a_turn_without_a_conversation_sends_no_file() {
    let mut world = with(DmPolicy::OwnerOnly);
    let turn = world.say("s", "hello").turn;
    assert_eq!(sends(&mut world, turn, CallId::random()), Err(RouterError::NotByChannel));
}
