//! The outbox of messaging platforms as rows: deliveries, and the pieces of each. A piece is `sending` before its process has it, and
//! the plan of a delivery is stored before its first piece is.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::channel::{
    ANSWER_TEXT, Conversation, DeliveryId, DeliveryInfo, DeliveryState, Piece, PieceId,
};
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::{Name, Text};
use rusqlite::{Row, params};

/// A new delivery.
pub(crate) struct NewDelivery<'a> {
    pub(crate) channel: &'a str,
    pub(crate) conversation: &'a Conversation,
    /// The message that it answers.
    pub(crate) message: Option<i64>,
    pub(crate) reply_to: Option<&'a str>,
    pub(crate) edits: Option<&'a str>,
    pub(crate) text: &'a str,
    pub(crate) plain_links: bool,
    pub(crate) now_ms: u64,
}

/// A delivery that is under way.
pub(crate) struct Delivery {
    pub(crate) id: DeliveryId,
    pub(crate) conversation: Conversation,
    pub(crate) message: Option<i64>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) reply_to: Option<Text<128>>,
    pub(crate) edits: Option<Text<128>>,
    pub(crate) text: Text<ANSWER_TEXT>,
    pub(crate) plain_links: bool,
    pub(crate) planned: u8,
    /// True if a file is its last piece.
    pub(crate) has_file: bool,
}

/// A piece without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceHead {
    pub(crate) number: u8,
    pub(crate) state: DeliveryState,
    pub(crate) life: i64,
    pub(crate) attempt: u32,
    pub(crate) after_ms: u64,
}

impl Store {
    /// Returns true if an account has deliveries that are not over.
    pub(crate) fn has_open_deliveries(&self, channel: &str) -> Result<bool, StoreFault> {
        let sql = "SELECT 1 FROM deliveries WHERE channel = ? AND state IN ('ready', 'sending') LIMIT 1";
        Ok(self.one(sql, [channel], |_| Ok(()))?.is_some())
    }

    /// How many deliveries of an account, and of one conversation of it, are not over.
    pub(crate) fn open_deliveries(
        &self,
        channel: &str,
        conversation: &Conversation,
    ) -> Result<(u32, u32), StoreFault> {
        let sql = "SELECT count(*), coalesce(sum(conversation = ?2), 0) FROM deliveries
                   WHERE channel = ?1 AND state IN ('ready', 'sending')";
        let row = params![channel, to_json("conversation", conversation)?];
        Ok(self.one(sql, row, |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
    }

    /// The first delivery of each conversation of an account that is not over, oldest first.
    pub(crate) fn first_deliveries(&self, channel: &str) -> Result<Vec<i64>, StoreFault> {
        let sql = "SELECT min(id) FROM deliveries WHERE channel = ? AND state IN ('ready', 'sending')
                   GROUP BY conversation ORDER BY 1 LIMIT 64";
        self.all(sql, [channel], |row| Ok(row.get(0)?))
    }

    /// The first delivery of a conversation that is not over.
    pub(crate) fn first_delivery(
        &self,
        channel: &str,
        conversation: &Conversation,
    ) -> Result<Option<DeliveryId>, StoreFault> {
        let sql = "SELECT min(id) FROM deliveries
                   WHERE channel = ? AND conversation = ? AND state IN ('ready', 'sending')";
        let row = params![channel, to_json("conversation", conversation)?];
        let first: Option<i64> = self.one(sql, row, |row| Ok(row.get(0)?))?.flatten();
        Ok(first.map(from_sql_id))
    }

    /// A delivery of this account.
    pub(crate) fn delivery(&self, channel: &str, id: DeliveryId) -> Result<Option<Delivery>, StoreFault> {
        let sql = "SELECT d.id, d.conversation, d.message, m.turn, d.reply_to, d.edits, d.text, d.plain_links, d.planned,
                   EXISTS (SELECT 1 FROM sent_files s WHERE s.delivery = d.id)
                   FROM deliveries d LEFT JOIN messages m ON m.seq = d.message WHERE d.id = ? AND d.channel = ?";
        self.one(sql, params![to_sql_id(id), channel], delivery)
    }

    /// The pieces of a delivery, in order.
    pub(crate) fn pieces(&self, id: DeliveryId) -> Result<Vec<PieceHead>, StoreFault> {
        let sql =
            "SELECT number, state, life, attempt, after_ms FROM pieces WHERE delivery = ? ORDER BY number";
        self.all(sql, [to_sql_id(id)], |row| {
            Ok(PieceHead {
                number: row.get(0)?,
                state: parse_state(&row.get::<_, String>(1)?)?,
                life: row.get(2)?,
                attempt: row.get(3)?,
                after_ms: from_sql_ms(row.get(4)?),
            })
        })
    }

    /// The content of a piece.
    pub(crate) fn piece(&self, id: PieceId) -> Result<Option<Piece>, StoreFault> {
        let sql = "SELECT content FROM pieces WHERE delivery = ? AND number = ?";
        self.one(sql, params![to_sql_id(id.delivery), id.number], |row| {
            from_json("content", &row.get::<_, String>(0)?)
        })
    }

    /// Pieces of an account that were taken and have no outcome, each with the life that took it.
    pub(crate) fn sending(&self, channel: &str) -> Result<Vec<(PieceId, i64)>, StoreFault> {
        let sql = "SELECT p.delivery, p.number, p.life FROM deliveries d JOIN pieces p ON p.delivery = d.id
                   WHERE d.channel = ? AND d.state = 'sending' AND p.state = 'sending'";
        self.all(sql, [channel], |row| {
            let piece = PieceId { delivery: from_sql_id(row.get(0)?), number: row.get(1)? };
            Ok((piece, row.get(2)?))
        })
    }

    /// Deliveries of an account that were made before `before_ms` and of which nothing is being sent.
    pub(crate) fn old_deliveries(
        &self,
        channel: &str,
        before_ms: u64,
    ) -> Result<Vec<DeliveryId>, StoreFault> {
        let sql =
            "SELECT id FROM deliveries d WHERE channel = ? AND state IN ('ready', 'sending') AND made_ms < ?
                   AND NOT EXISTS (SELECT 1 FROM pieces p WHERE p.delivery = d.id AND p.state = 'sending')";
        self.all(sql, params![channel, to_sql_ms(before_ms)], |row| Ok(from_sql_id(row.get(0)?)))
    }

    /// Deliveries, newest first; of one user, of one message, of unknown outcome.
    pub(crate) fn deliveries(
        &self,
        user: Option<UserId>,
        message: Option<i64>,
        unknown: bool,
    ) -> Result<Vec<DeliveryInfo>, StoreFault> {
        let sql = "SELECT d.id, d.channel, m.id, d.state, d.planned,
                   (SELECT count(*) FROM pieces p WHERE p.delivery = d.id AND p.state = 'sent'), d.why, d.made_ms
                   FROM deliveries d LEFT JOIN messages m ON m.seq = d.message
                   WHERE (?1 IS NULL OR m.user = ?1) AND (?2 IS NULL OR d.message = ?2) AND (NOT ?3 OR d.state = 'unknown')
                   ORDER BY d.id DESC LIMIT 256";
        self.all(sql, params![user.map(UserId::bytes), message, unknown], |row| {
            let message: Option<[u8; 16]> = row.get(2)?;
            Ok(DeliveryInfo {
                id: from_sql_id(row.get(0)?),
                channel: bounded("channel", Name::new(row.get::<_, String>(1)?))?,
                message: message.map(MessageId::from_bytes),
                state: parse_state(&row.get::<_, String>(3)?)?,
                pieces: (row.get(4)?, row.get(5)?),
                why: Text::clip(&row.get::<_, String>(6)?),
                made_ms: from_sql_ms(row.get(7)?),
            })
        })
    }

    /// Deliveries of an account that are not over, and of unknown outcome.
    pub(crate) fn delivery_counts(&self, channel: &str) -> Result<(u32, u32), StoreFault> {
        let sql =
            "SELECT coalesce(sum(state IN ('ready', 'sending')), 0), coalesce(sum(state = 'unknown'), 0)
                   FROM deliveries WHERE channel = ?";
        Ok(self.one(sql, [channel], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
    }

    /// The message with the latest delivery of unknown outcome in a conversation that it was not shown yet.
    pub(crate) fn unknown_in(
        &self,
        channel: &str,
        conversation: &Conversation,
    ) -> Result<Option<i64>, StoreFault> {
        let sql = "SELECT message FROM deliveries
                   WHERE channel = ? AND conversation = ? AND state = 'unknown' AND offered = 0 AND message IS NOT NULL
                   ORDER BY id DESC LIMIT 1";
        let row = params![channel, to_json("conversation", conversation)?];
        self.one(sql, row, |row| Ok(row.get(0)?))
    }

    /// The nonces of the buttons below a delivery.
    pub(crate) fn buttons(&self, id: DeliveryId) -> Result<Vec<[u8; 16]>, StoreFault> {
        let sql = "SELECT nonce FROM buttons WHERE delivery = ? AND used = 0 LIMIT 8";
        self.all(sql, [to_sql_id(id)], |row| Ok(row.get(0)?))
    }

    /// The message that a button of this conversation, which was not pressed yet, has sent again.
    pub(crate) fn button(
        &self,
        channel: &str,
        conversation: &Conversation,
        nonce: [u8; 16],
    ) -> Result<Option<i64>, StoreFault> {
        let sql =
            "SELECT message FROM buttons WHERE nonce = ? AND channel = ? AND conversation = ? AND used = 0";
        let row = params![nonce, channel, to_json("conversation", conversation)?];
        self.one(sql, row, |row| Ok(row.get(0)?))
    }
}

impl Tx<'_> {
    /// Puts an answer into the outbox, and returns its id.
    pub(crate) fn add_delivery(&self, new: &NewDelivery<'_>) -> Result<DeliveryId, StoreFault> {
        let row = params![
            new.channel,
            to_json("conversation", new.conversation)?,
            new.message,
            new.reply_to,
            new.edits,
            new.text,
            new.plain_links,
            DeliveryState::Ready.name(),
            to_sql_ms(new.now_ms),
        ];
        let sql = "INSERT INTO deliveries (channel, conversation, message, reply_to, edits, text, plain_links, state, why,
                   made_ms, planned, offered) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, 0, 0)";
        self.run_one("delivery", sql, row)?;
        Ok(from_sql_id(self.0.last_insert_rowid()))
    }

    /// Adds a button below a delivery: it has the answer to `message` sent again.
    pub(crate) fn add_button(
        &self,
        delivery: DeliveryId,
        channel: &str,
        conversation: &Conversation,
        message: i64,
        nonce: [u8; 16],
    ) -> Result<(), StoreFault> {
        let row =
            params![nonce, channel, to_json("conversation", conversation)?, to_sql_id(delivery), message];
        self.run_one("button", "INSERT INTO buttons VALUES (?, ?, ?, ?, ?, 0)", row)
    }

    /// Uses up a button.
    pub(crate) fn use_button(&self, nonce: [u8; 16]) -> Result<bool, StoreFault> {
        Ok(self.run("UPDATE buttons SET used = 1 WHERE nonce = ? AND used = 0", [nonce])? == 1)
    }

    /// Notes that a conversation is shown which of its deliveries have an unknown outcome.
    pub(crate) fn offer_unknown(&self, channel: &str, conversation: &Conversation) -> Result<(), StoreFault> {
        let sql =
            "UPDATE deliveries SET offered = 1 WHERE channel = ? AND conversation = ? AND state = 'unknown'";
        self.run(sql, params![channel, to_json("conversation", conversation)?]).map(drop)
    }

    /// Stores the plan of a delivery that has none.
    pub(crate) fn plan_delivery(&self, id: DeliveryId, pieces: &[Piece]) -> Result<(), StoreFault> {
        let planned = u8::try_from(pieces.len()).map_err(|_| StoreFault::Column("pieces"))?;
        let sql = "UPDATE deliveries SET planned = ? WHERE id = ? AND planned = 0";
        self.run_one("delivery without a plan", sql, params![planned, to_sql_id(id)])?;
        for (number, piece) in (0_u8..).zip(pieces) {
            let row = params![to_sql_id(id), number, to_json("content", piece)?, DeliveryState::Ready.name()];
            self.run_one("piece", "INSERT INTO pieces VALUES (?, ?, ?, ?, 0, 0, 0, NULL)", row)?;
        }
        Ok(())
    }

    /// The answer to a message that waits goes in the place of this preview.
    pub(crate) fn set_edits(&self, message: i64, preview: &str) -> Result<(), StoreFault> {
        let sql = "UPDATE deliveries SET edits = coalesce(edits, ?)
                   WHERE message = ? AND state = 'ready' AND reply_to IS NOT NULL";
        self.run(sql, params![preview, message]).map(drop)
    }

    /// Sets the state of a delivery, and why.
    pub(crate) fn set_delivery(
        &self,
        id: DeliveryId,
        state: DeliveryState,
        why: &str,
    ) -> Result<(), StoreFault> {
        let sql = "UPDATE deliveries SET state = ?, why = ? WHERE id = ?";
        self.run_one("delivery", sql, params![state.name(), why, to_sql_id(id)])
    }

    /// Makes a delivery one of now again.
    pub(crate) fn renew_delivery(&self, id: DeliveryId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE deliveries SET state = 'ready', why = '', made_ms = ? WHERE id = ?";
        self.run_one("delivery", sql, params![to_sql_ms(now_ms), to_sql_id(id)])?;
        let sql = "UPDATE pieces SET state = 'ready', attempt = 0, after_ms = 0 WHERE delivery = ? AND state != 'sent'";
        self.run(sql, [to_sql_id(id)]).map(drop)
    }

    /// This life of its process has a piece to send from now on; the first one in the place of this preview, if there is one.
    pub(crate) fn take_piece(&self, id: PieceId, life: i64, edits: Option<&str>) -> Result<(), StoreFault> {
        if let Some(edits) = edits.filter(|_| id.number == 0) {
            let sql = "UPDATE deliveries SET edits = coalesce(edits, ?) WHERE id = ?";
            self.run_one("delivery", sql, params![edits, to_sql_id(id.delivery)])?;
        }
        let sql = "UPDATE pieces SET state = 'sending', life = ? WHERE delivery = ? AND number = ?";
        self.run_one("piece", sql, params![life, to_sql_id(id.delivery), id.number])?;
        self.set_delivery(id.delivery, DeliveryState::Sending, "")
    }

    /// Stores how a piece came out.
    pub(crate) fn settle_piece(
        &self,
        id: PieceId,
        state: DeliveryState,
        platform_id: Option<&str>,
    ) -> Result<(), StoreFault> {
        let sql = "UPDATE pieces SET state = ?, platform_id = ? WHERE delivery = ? AND number = ?";
        self.run_one("piece", sql, params![state.name(), platform_id, to_sql_id(id.delivery), id.number])
    }

    /// Puts a piece back that was not sent.
    pub(crate) fn put_piece_back(&self, id: PieceId, after_ms: u64, tried: bool) -> Result<(), StoreFault> {
        let sql = "UPDATE pieces SET state = 'ready', after_ms = ?, attempt = attempt + ? WHERE delivery = ? AND number = ?";
        self.run_one("piece", sql, params![to_sql_ms(after_ms), tried, to_sql_id(id.delivery), id.number])?;
        self.set_delivery(id.delivery, DeliveryState::Ready, "")
    }
}

fn delivery(row: &Row<'_>) -> Result<Delivery, StoreFault> {
    let short = |text: Option<String>| text.map(|text| bounded("id", Text::new(text))).transpose();
    let turn: Option<[u8; 16]> = row.get(3)?;
    Ok(Delivery {
        id: from_sql_id(row.get(0)?),
        conversation: from_json("conversation", &row.get::<_, String>(1)?)?,
        message: row.get(2)?,
        turn: turn.map(TurnId::from_bytes),
        reply_to: short(row.get(4)?)?,
        edits: short(row.get(5)?)?,
        text: bounded("text", Text::new(row.get::<_, String>(6)?))?,
        plain_links: row.get(7)?,
        planned: row.get(8)?,
        has_file: row.get(9)?,
    })
}

/// A delivery's id as a column holds it.
pub(super) fn to_sql_id(id: DeliveryId) -> i64 {
    i64::try_from(id.0).unwrap_or(i64::MAX)
}

pub(crate) fn from_sql_id(id: i64) -> DeliveryId {
    DeliveryId(u64::try_from(id).unwrap_or_default())
}

fn parse_state(name: &str) -> Result<DeliveryState, StoreFault> {
    let found = DeliveryState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or(StoreFault::Column("state"))
}
