//! The inbox: messages, and every state they went through. A state is only ever changed by [`Tx::transition`], which
//! looks the step up in the table of states.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, parts, to_json, to_sql_ms};
use crate::message_state;
use ipc_proto::content::Content;
use ipc_proto::ids::{KeyId, MessageId, SessionId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::router::{MessageInfo, MessageState, Passed, SessionName, Submission, Task};
use ipc_proto::{Name, Text};
use rusqlite::{Row, params};

/// A message without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The order of acceptance.
    pub(crate) seq: i64,
    pub(crate) id: MessageId,
    pub(crate) turn: TurnId,
    pub(crate) session: SessionId,
    pub(crate) user: UserId,
    pub(crate) channel: Name,
    pub(crate) state: MessageState,
    /// Runners launched for it.
    pub(crate) attempts: u32,
    /// Runners that ended before the turn did.
    pub(crate) failures: u32,
    /// Runners that were gone when this process came back.
    pub(crate) losses: u32,
    pub(crate) accepted_ms: u64,
    /// Bytes of its text.
    pub(crate) bytes: u32,
    /// The key of the API that it came with.
    pub(crate) key: Option<KeyId>,
}

/// A message that is to be accepted.
pub(crate) struct NewMessage<'a> {
    pub(crate) id: MessageId,
    pub(crate) turn: TurnId,
    pub(crate) session: SessionId,
    pub(crate) submission: &'a Submission,
    /// The key of the API that it comes with.
    pub(crate) key: Option<KeyId>,
    pub(crate) bytes: u32,
    pub(crate) now_ms: u64,
}

/// One step of a message.
pub(crate) struct Transition<'a> {
    pub(crate) seq: i64,
    pub(crate) to: MessageState,
    /// The counters as they are from now on.
    pub(crate) attempts: u32,
    pub(crate) failures: u32,
    pub(crate) losses: u32,
    /// The reason, in place of the step's own; it is cut at 256 bytes.
    pub(crate) note: &'a str,
    pub(crate) now_ms: u64,
}

impl Transition<'_> {
    /// The step of this message to `to`, with its counters as they are and no other reason.
    pub(crate) const fn of(head: &Head, to: MessageState, now_ms: u64) -> Self {
        let Head { seq, attempts, failures, losses, .. } = *head;
        Self { seq, to, attempts, failures, losses, note: "", now_ms }
    }
}

macro_rules! select {
    ($($rest:literal)+) => {
        concat!(
            "SELECT seq, id, turn, session, user, channel, state, attempts, failures, losses, accepted_ms, bytes, ",
            "api_key ",
            "FROM messages ",
            $($rest),+
        )
    };
}

/// A message that the scanner has not judged yet stands in an index of its own and in no other.
macro_rules! either {
    ($which:literal, $order:literal) => {
        concat!(
            select!($which " AND state = 'accepted'"),
            " UNION ALL ",
            select!($which " AND state != 'accepted' " $order)
        )
    };
}

/// One that runs while a person is asked is listed as that.
macro_rules! listed {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.turn, s.name, u.name, m.channel, m.state, m.attempts, m.accepted_ms, m.bytes, ",
            "m.state = 'running' AND EXISTS (SELECT 1 FROM approvals a ",
            "WHERE a.turn = m.turn AND a.state = 'pending' AND a.ends_ms > ?2) ",
            "FROM messages m JOIN sessions s ON s.id = m.session JOIN users u ON u.id = m.user ",
            "WHERE (?1 IS NULL OR m.user = ?1) AND ",
            $rest
        )
    };
}

impl Store {
    /// The message that came with this key by this channel.
    pub(crate) fn message_keyed(
        &self,
        user: UserId,
        channel: &str,
        key: &str,
    ) -> Result<Option<Head>, StoreFault> {
        let sql = either!("WHERE user = ?1 AND channel = ?2 AND key = ?3", "");
        self.one(sql, params![user.bytes(), channel, key], head)
    }

    /// The first key of this user's messages by this channel that begins so.
    pub(crate) fn key_beginning(
        &self,
        user: UserId,
        channel: &str,
        begin: &str,
    ) -> Result<Option<String>, StoreFault> {
        // Hexadecimal digits follow, and `g` sorts after them.
        let sql = "SELECT key FROM messages
                   WHERE user = ?1 AND channel = ?2 AND key >= ?3 AND key < ?3 || 'g' AND state = 'accepted'
                   UNION ALL
                   SELECT key FROM messages
                   WHERE user = ?1 AND channel = ?2 AND key >= ?3 AND key < ?3 || 'g' AND state != 'accepted'
                   LIMIT 1";
        self.one(sql, params![user.bytes(), channel, begin], |row| Ok(row.get(0)?))
    }

    /// The message that this turn answers.
    pub(crate) fn message_of(&self, turn: TurnId) -> Result<Option<Head>, StoreFault> {
        self.one(either!("WHERE turn = ?1", ""), [turn.bytes()], head)
    }

    /// The message of this id.
    pub(crate) fn message(&self, id: MessageId) -> Result<Option<Head>, StoreFault> {
        self.one(either!("WHERE id = ?1", ""), [id.bytes()], head)
    }

    /// The message at this place in the order of acceptance.
    pub(crate) fn message_at(&self, seq: i64) -> Result<Option<Head>, StoreFault> {
        self.one(select!("WHERE seq = ?"), [seq], head)
    }

    /// Every message whose turn is not over, in the order of acceptance.
    pub(crate) fn live(&self) -> Result<Vec<Head>, StoreFault> {
        let sql = concat!(
            select!("WHERE state = 'accepted'"),
            " UNION ALL ",
            select!("WHERE state IN ('queued', 'running') ORDER BY seq")
        );
        self.all(sql, [], head)
    }

    /// A session's messages before `seq`, newest first, at most `most`.
    pub(crate) fn earlier(&self, session: SessionId, seq: i64, most: u32) -> Result<Vec<Head>, StoreFault> {
        let sql = either!("WHERE session = ?1 AND seq < ?2", "ORDER BY seq DESC LIMIT ?3");
        self.all(sql, params![session.bytes(), seq, most], head)
    }

    /// The content and the task of a message, media included, and its label once it has one.
    pub(crate) fn content(&self, seq: i64) -> Result<(Content, Task, Option<Label>), StoreFault> {
        let (mut content, mut task, label) = self.content_without_media(seq)?;
        parts::put_back(&mut content, &mut task, self.parts(seq)?)?;
        Ok((content, task, label))
    }

    /// The same with empty media.
    pub(crate) fn content_without_media(
        &self,
        seq: i64,
    ) -> Result<(Content, Task, Option<Label>), StoreFault> {
        let sql = "SELECT content, task, label FROM messages WHERE seq = ?";
        let found = self.one(sql, [seq], |row| {
            let label: Option<String> = row.get(2)?;
            Ok((
                from_json("content", &row.get::<_, String>(0)?)?,
                from_json("task", &row.get::<_, String>(1)?)?,
                label.map(|label| from_json("label", &label)).transpose()?,
            ))
        })?;
        found.ok_or(StoreFault::Missing("message"))
    }

    /// A message's label, once the scanner has looked at it.
    pub(crate) fn message_label(&self, seq: i64) -> Result<Option<Label>, StoreFault> {
        let found = self.one("SELECT label FROM messages WHERE seq = ?", [seq], |row| {
            let label: Option<String> = row.get(0)?;
            label.map(|label| from_json("label", &label)).transpose()
        })?;
        found.ok_or(StoreFault::Missing("message"))
    }

    /// Messages of one user or of all, newest first; with `dead` the dead letters alone.
    pub(crate) fn messages(
        &self,
        user: Option<UserId>,
        most: u32,
        dead: bool,
        now_ms: u64,
    ) -> Result<Vec<MessageInfo>, StoreFault> {
        let sql = if dead {
            listed!("m.state IN ('failed', 'quarantined') ORDER BY m.seq DESC LIMIT ?3")
        } else {
            listed!("TRUE ORDER BY m.seq DESC LIMIT ?3")
        };
        self.all(sql, params![user.map(UserId::bytes), to_sql_ms(now_ms), most], info)
    }

    /// One message, listed.
    pub(crate) fn message_info(&self, seq: i64, now_ms: u64) -> Result<MessageInfo, StoreFault> {
        let found =
            self.one(listed!("m.seq = ?3"), params![None::<[u8; 16]>, to_sql_ms(now_ms), seq], info)?;
        found.ok_or(StoreFault::Missing("message"))
    }

    /// Every state a message went through, oldest first; the last 128.
    pub(crate) fn trace(&self, seq: i64) -> Result<Vec<Passed>, StoreFault> {
        let sql = "SELECT state, at_ms, attempt, note, number FROM
                   (SELECT * FROM states WHERE message = ?1 ORDER BY number DESC LIMIT 128) UNION ALL
                   SELECT state, accepted_ms, 0, '', 0 FROM messages WHERE seq = ?1 AND state = 'accepted'
                   ORDER BY number";
        self.all(sql, [seq], |row| {
            Ok(Passed {
                state: parse_state(&row.get::<_, String>(0)?)?,
                at_ms: from_sql_ms(row.get(1)?),
                attempt: row.get(2)?,
                note: Text::clip(&row.get::<_, String>(3)?),
            })
        })
    }
}

impl Tx<'_> {
    /// Accepts a message; gives its place in the order of acceptance. What there is of it besides its row comes with its
    /// first step.
    pub(crate) fn accept(&self, fresh: &NewMessage<'_>) -> Result<i64, StoreFault> {
        let said = fresh.submission;
        let (content, task, bytes) = parts::take_out(&said.content, &said.task);
        let row = params![
            fresh.id.bytes(),
            fresh.turn.bytes(),
            fresh.session.bytes(),
            said.user.bytes(),
            said.channel.as_str(),
            said.key.as_str(),
            MessageState::Accepted.name(),
            to_sql_ms(fresh.now_ms),
            fresh.bytes,
            to_json("content", &content)?,
            to_json("task", &task)?,
            fresh.key.map(KeyId::bytes),
        ];
        let sql =
            "INSERT INTO messages (id, turn, session, user, channel, key, state, attempts, failures, losses,
                   accepted_ms, bytes, content, task, api_key)
             VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?)";
        self.run_one("message", sql, row)?;
        let seq = self.0.last_insert_rowid();
        self.insert_parts(seq, &bytes)?;
        Ok(seq)
    }

    /// Takes a message one step on.
    pub(crate) fn transition(&self, transition: &Transition<'_>) -> Result<(), StoreFault> {
        let Before { state: from, attempts, session, accepted_ms } = self.before(transition.seq)?;
        let step = message_state::find(from, transition.to).filter(|step| step.is_open_after(attempts));
        let step = step.ok_or(StoreFault::NotAllowed(transition.to))?;
        let note = if transition.note.is_empty() { step.when } else { transition.note };
        if from == MessageState::Accepted {
            self.use_session(session, accepted_ms)?;
            self.insert_state(transition.seq, from, accepted_ms, 0, "")?;
        }
        let sql = "UPDATE messages SET state = ?, attempts = ?, failures = ?, losses = ? WHERE seq = ?";
        let row = params![
            transition.to.name(),
            transition.attempts,
            transition.failures,
            transition.losses,
            transition.seq
        ];
        self.run_one("message", sql, row)?;
        self.insert_state(transition.seq, transition.to, transition.now_ms, transition.attempts, note)
    }

    /// Where a message is that is to take a step.
    fn before(&self, seq: i64) -> Result<Before, StoreFault> {
        let sql = "SELECT state, attempts, session, accepted_ms FROM messages WHERE seq = ?";
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query([seq])?;
        let row = rows.next()?.ok_or(StoreFault::Missing("message"))?;
        Ok(Before {
            state: parse_state(&row.get::<_, String>(0)?)?,
            attempts: row.get(1)?,
            session: SessionId::from_bytes(row.get(2)?),
            accepted_ms: from_sql_ms(row.get(3)?),
        })
    }

    /// Gives a message its label.
    pub(crate) fn label_message(&self, seq: i64, label: &Label) -> Result<(), StoreFault> {
        let row = params![to_json("label", label)?, seq];
        self.run_one("message", "UPDATE messages SET label = ? WHERE seq = ?", row)
    }

    fn insert_state(
        &self,
        seq: i64,
        to: MessageState,
        now_ms: u64,
        attempt: u32,
        note: &str,
    ) -> Result<(), StoreFault> {
        let sql = "INSERT INTO states SELECT ?1, count(*), ?2, ?3, ?4, ?5 FROM states WHERE message = ?1";
        let note = Text::<256>::clip(note);
        self.run_one("state", sql, params![seq, to.name(), to_sql_ms(now_ms), attempt, note.as_str()])
    }
}

/// Where a message is before a step.
struct Before {
    state: MessageState,
    attempts: u32,
    session: SessionId,
    accepted_ms: u64,
}

fn head(row: &Row<'_>) -> Result<Head, StoreFault> {
    Ok(Head {
        seq: row.get(0)?,
        id: MessageId::from_bytes(row.get(1)?),
        turn: TurnId::from_bytes(row.get(2)?),
        session: SessionId::from_bytes(row.get(3)?),
        user: UserId::from_bytes(row.get(4)?),
        channel: bounded("channel", Name::new(row.get::<_, String>(5)?))?,
        state: parse_state(&row.get::<_, String>(6)?)?,
        attempts: row.get(7)?,
        failures: row.get(8)?,
        losses: row.get(9)?,
        accepted_ms: from_sql_ms(row.get(10)?),
        bytes: row.get(11)?,
        key: row.get::<_, Option<[u8; 16]>>(12)?.map(KeyId::from_bytes),
    })
}

fn info(row: &Row<'_>) -> Result<MessageInfo, StoreFault> {
    let waits: bool = row.get(9)?;
    let state = parse_state(&row.get::<_, String>(5)?)?;
    Ok(MessageInfo {
        id: MessageId::from_bytes(row.get(0)?),
        turn: TurnId::from_bytes(row.get(1)?),
        session: bounded("session name", SessionName::new(row.get::<_, String>(2)?))?,
        user: bounded("user name", Name::new(row.get::<_, String>(3)?))?,
        channel: bounded("channel", Name::new(row.get::<_, String>(4)?))?,
        state: if waits { MessageState::WaitingApproval } else { state },
        attempts: row.get(6)?,
        accepted_ms: from_sql_ms(row.get(7)?),
        bytes: row.get(8)?,
    })
}

fn parse_state(name: &str) -> Result<MessageState, StoreFault> {
    message_state::parse(name).ok_or(StoreFault::Column("state"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_state::STORED;
    use crate::store::Session;
    use crate::tests::said;
    use ipc_proto::ids::WorkspaceId;

    #[test]
    fn no_step_but_those_of_the_table_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("queue.db")).unwrap();
        let submission = said(UserId::random(), "s", "k", "hello");
        let fresh = NewMessage {
            id: MessageId::random(),
            turn: TurnId::random(),
            session: SessionId::random(),
            submission: &submission,
            key: None,
            bytes: 5,
            now_ms: 1,
        };
        let session = Session {
            id: fresh.session,
            user: submission.user,
            user_name: Name::clip("ann"),
            name: Text::clip("s"),
            agent: Name::clip("default"),
            workspace: WorkspaceId::random(),
            label: Label::bottom(),
            messages: 0,
            created_ms: 1,
            used_ms: 1,
            ended: false,
        };
        store.commit(|tx| tx.add_session(&session)).unwrap();
        let seq = store.commit(|tx| tx.accept(&fresh)).unwrap();
        assert_eq!(store.message_label(seq).unwrap(), None);
        for attempts in [0, 1] {
            for (from, to) in STORED.into_iter().flat_map(|from| STORED.map(|to| (from, to))) {
                let set = "UPDATE messages SET state = ?, attempts = ?";
                store.raw().execute(set, params![from.name(), attempts]).unwrap();
                let head = store.message(fresh.id).unwrap().unwrap();
                let passed = store.commit(|tx| tx.transition(&Transition::of(&head, to, 2)));
                let open = message_state::find(from, to).is_some_and(|step| step.is_open_after(attempts));
                assert_eq!(passed.is_ok(), open, "{from:?} to {to:?} after {attempts} attempts");
            }
        }
    }
}
