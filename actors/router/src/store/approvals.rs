//! Questions to persons as rows. One leaves `pending` once, and what is approved is claimed once: every change
//! names the state it may come from, so that of two that come at once one finds nothing to change.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::approval::{ApprovalInfo, FORM, Question, State, USE_MS};
use ipc_proto::ids::{ApprovalId, CallId, SessionId, TurnId, UserId};
use ipc_proto::router::SessionName;
use ipc_proto::{Name, Text};
use rusqlite::{Row, params};

/// Questions that are pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// In all.
    pub(crate) all: usize,
    /// Those of one user.
    pub(crate) user: usize,
    /// Those of one session.
    pub(crate) session: usize,
}

/// A stored question without the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) id: ApprovalId,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
    pub(crate) session: SessionId,
    pub(crate) session_name: SessionName,
    pub(crate) user: UserId,
    pub(crate) user_name: Name,
    /// As the row has it; [`Asked::state_at`] is what holds.
    state: State,
    pub(crate) tool: Name,
    pub(crate) hash: [u8; 32],
    pub(crate) reason: Text<512>,
    pub(crate) asked_ms: u64,
    pub(crate) expires_ms: u64,
    /// When it ends by itself in the state it is in; 0 once it has, whatever the clock says then.
    pub(crate) ends_ms: u64,
    pub(crate) answered_by: Option<Name>,
}

impl Asked {
    /// The state now: time runs out even if the row does not have it yet.
    pub(crate) const fn state_at(&self, now_ms: u64) -> State {
        if matches!(self.state, State::Pending | State::Approved) && now_ms >= self.ends_ms {
            State::Expired
        } else {
            self.state
        }
    }

    /// As it is listed.
    pub(crate) fn info(self, now_ms: u64) -> ApprovalInfo {
        ApprovalInfo {
            id: self.id,
            state: self.state_at(now_ms),
            turn: self.turn,
            session: self.session_name,
            user: self.user_name,
            tool: self.tool,
            hash: self.hash,
            reason: self.reason,
            asked_ms: self.asked_ms,
            expires_ms: self.expires_ms,
            answered_by: self.answered_by,
        }
    }
}

/// How a question is settled by a person or by time.
pub(crate) struct Settled<'a> {
    pub(crate) id: ApprovalId,
    pub(crate) to: State,
    /// The person who answered.
    pub(crate) by: Option<&'a Name>,
    /// The values of a form that they filled in; empty without one.
    pub(crate) form: &'a str,
    pub(crate) now_ms: u64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT a.id, a.turn, a.call, a.session, s.name, s.user, u.name, a.state, a.tool, a.hash, a.reason, ",
            "a.asked_ms, a.expires_ms, a.ends_ms, a.answered_by FROM approvals a ",
            "JOIN sessions s ON s.id = a.session JOIN users u ON u.id = s.user ",
            $rest
        )
    };
}

impl Store {
    /// The question of this id.
    pub(crate) fn asked(&self, id: ApprovalId) -> Result<Option<Asked>, StoreFault> {
        self.one(select!("WHERE a.id = ?"), [id.bytes()], asked)
    }

    /// The same whole, the action in it.
    pub(crate) fn question(&self, id: ApprovalId) -> Result<Option<Question>, StoreFault> {
        let sql = "SELECT question FROM approvals WHERE id = ?";
        self.one(sql, [id.bytes()], |row| from_json("question", &row.get::<_, String>(0)?))
    }

    /// The values of the form that was filled in; empty without one.
    pub(crate) fn form(&self, id: ApprovalId) -> Result<Text<FORM>, StoreFault> {
        let sql = "SELECT form FROM approvals WHERE id = ?";
        let form = self.one(sql, [id.bytes()], |row| Ok(Text::clip(&row.get::<_, String>(0)?)))?;
        Ok(form.unwrap_or_default())
    }

    /// Questions that nobody has answered, of one user or of all, oldest first.
    pub(crate) fn waiting_approvals(&self, user: Option<UserId>) -> Result<Vec<Asked>, StoreFault> {
        let sql = select!(
            "WHERE a.state = 'pending' AND (?1 IS NULL OR s.user = ?1) ORDER BY a.asked_ms, a.id LIMIT 256"
        );
        self.all(sql, params![user.map(UserId::bytes)], asked)
    }

    /// The last questions that were settled, of one user or of all, newest first.
    pub(crate) fn settled_approvals(&self, user: Option<UserId>) -> Result<Vec<Asked>, StoreFault> {
        let sql = select!(
            "WHERE a.settled_ms IS NOT NULL AND (?1 IS NULL OR s.user = ?1) ORDER BY a.settled_ms DESC LIMIT 256"
        );
        self.all(sql, params![user.map(UserId::bytes)], asked)
    }

    /// Questions that are pending, or approved and not used, of a turn.
    pub(crate) fn open_approvals(&self, turn: TurnId) -> Result<Vec<Asked>, StoreFault> {
        self.all(select!("WHERE a.turn = ? AND a.state IN ('pending', 'approved')"), [turn.bytes()], asked)
    }

    /// Questions whose time has run out and of which that is not written down.
    pub(crate) fn overdue_approvals(&self, now_ms: u64) -> Result<Vec<Asked>, StoreFault> {
        let sql = select!("WHERE a.state IN ('pending', 'approved') AND a.ends_ms BETWEEN 1 AND ? LIMIT 64");
        self.all(sql, [to_sql_ms(now_ms)], asked)
    }

    /// Questions of which it is written down that their time has run out, and that are not settled yet.
    pub(crate) fn lapsed_approvals(&self) -> Result<Vec<Asked>, StoreFault> {
        self.all(select!("WHERE a.state IN ('pending', 'approved') AND a.ends_ms = 0 LIMIT 64"), [], asked)
    }

    /// When the next question ends by itself.
    pub(crate) fn next_expiry(&self) -> Result<Option<u64>, StoreFault> {
        let sql = "SELECT min(ends_ms) FROM approvals WHERE state IN ('pending', 'approved') AND ends_ms > 0";
        let ends = self.one(sql, [], |row| Ok(row.get::<_, Option<i64>>(0)?.map(from_sql_ms)))?;
        Ok(ends.flatten())
    }

    /// How many are pending now: in all, of this user, and in this session.
    pub(crate) fn pending_approvals(
        &self,
        session: SessionId,
        user: UserId,
        now_ms: u64,
    ) -> Result<Waiting, StoreFault> {
        let sql = "SELECT count(*), coalesce(sum(s.user = ?), 0), coalesce(sum(a.session = ?), 0)
                   FROM approvals a JOIN sessions s ON s.id = a.session
                   WHERE a.state IN ('pending', 'approved') AND a.state = 'pending' AND a.ends_ms > ?";
        let row = params![user.bytes(), session.bytes(), to_sql_ms(now_ms)];
        let counted = self.one(sql, row, |row| {
            let number = |at| row.get::<_, i64>(at).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            Ok(Waiting { all: number(0)?, user: number(1)?, session: number(2)? })
        })?;
        Ok(counted.unwrap_or_default())
    }

    /// How many are pending now.
    pub(crate) fn all_pending_approvals(&self, now_ms: u64) -> Result<u64, StoreFault> {
        let sql = "SELECT count(*) FROM approvals
                   WHERE state IN ('pending', 'approved') AND state = 'pending' AND ends_ms > ?";
        let counted = self.one(sql, params![to_sql_ms(now_ms)], |row| Ok(row.get::<_, i64>(0)?))?;
        Ok(counted.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }
}

impl Tx<'_> {
    /// Keeps a question.
    pub(crate) fn ask(
        &self,
        seq: i64,
        turn: TurnId,
        session: SessionId,
        question: &Question,
        now_ms: u64,
    ) -> Result<(), StoreFault> {
        let row = params![
            question.id.bytes(),
            seq,
            turn.bytes(),
            session.bytes(),
            question.call.bytes(),
            question.tool.as_str(),
            question.hash,
            question.reason.as_str(),
            to_sql_ms(now_ms),
            to_sql_ms(question.expires_ms),
            to_json("question", question)?,
        ];
        let sql = "INSERT INTO approvals VALUES
                   (?1, ?2, ?3, ?4, ?5, 'pending', ?6, ?7, ?8, ?9, ?10, ?10, NULL, NULL, ?11, '')";
        self.run_one("approval", sql, row)
    }

    /// Settles a question that is pending, or whose time has run out; `false` if another was first.
    pub(crate) fn settle(&self, settled: &Settled<'_>) -> Result<bool, StoreFault> {
        let from = if settled.to == State::Expired { "approved" } else { "pending" };
        let sql = "UPDATE approvals SET state = ?1, settled_ms = ?2, answered_by = coalesce(?3, answered_by),
                   ends_ms = max(ends_ms, ?4), form = ?7 WHERE id = ?5 AND state IN ('pending', ?6)";
        let row = params![
            name(settled.to),
            to_sql_ms(settled.now_ms),
            settled.by.map(|by| by.as_str()),
            to_sql_ms(settled.now_ms.saturating_add(USE_MS)),
            settled.id.bytes(),
            from,
            settled.form,
        ];
        Ok(self.run(sql, row)? == 1)
    }

    /// The time of a question has run out, for good.
    pub(crate) fn lapse(&self, id: ApprovalId) -> Result<(), StoreFault> {
        let sql = "UPDATE approvals SET ends_ms = 0 WHERE id = ? AND state IN ('pending', 'approved')";
        self.run(sql, [id.bytes()]).map(drop)
    }

    /// Uses up what a person has approved, if it is this turn's and this call's and in time; `false` if not. The values of its form are
    /// gone then.
    pub(crate) fn claim(
        &self,
        id: ApprovalId,
        turn: TurnId,
        call: CallId,
        now_ms: u64,
    ) -> Result<bool, StoreFault> {
        let sql = "UPDATE approvals SET state = 'claimed', form = ''
                   WHERE id = ? AND turn = ? AND call = ? AND state = 'approved' AND ends_ms > ?";
        Ok(self.run(sql, params![id.bytes(), turn.bytes(), call.bytes(), to_sql_ms(now_ms)])? == 1)
    }

    /// Voids the open question or the approval of this call.
    pub(crate) fn void_approval(&self, id: ApprovalId, turn: TurnId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE approvals SET state = iif(state = 'pending' AND ends_ms <= ?1, 'expired', 'void'),
                   settled_ms = coalesce(settled_ms, ?1)
                   WHERE id = ?2 AND turn = ?3 AND state IN ('pending', 'approved')";
        self.run(sql, params![to_sql_ms(now_ms), id.bytes(), turn.bytes()]).map(drop)
    }

    /// The same for everything that a turn has open.
    pub(crate) fn void_approvals(&self, turn: TurnId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE approvals SET state = iif(state = 'pending' AND ends_ms <= ?1, 'expired', 'void'),
                   settled_ms = coalesce(settled_ms, ?1)
                   WHERE turn = ?2 AND state IN ('pending', 'approved')";
        self.run(sql, params![to_sql_ms(now_ms), turn.bytes()]).map(drop)
    }
}

fn asked(row: &Row<'_>) -> Result<Asked, StoreFault> {
    let by: Option<String> = row.get(14)?;
    Ok(Asked {
        id: ApprovalId::from_bytes(row.get(0)?),
        turn: TurnId::from_bytes(row.get(1)?),
        call: CallId::from_bytes(row.get(2)?),
        session: SessionId::from_bytes(row.get(3)?),
        session_name: bounded("session name", SessionName::new(row.get::<_, String>(4)?))?,
        user: UserId::from_bytes(row.get(5)?),
        user_name: bounded("user name", Name::new(row.get::<_, String>(6)?))?,
        state: parse(&row.get::<_, String>(7)?).ok_or(StoreFault::Column("approval's state"))?,
        tool: bounded("tool", Name::new(row.get::<_, String>(8)?))?,
        hash: row.get(9)?,
        reason: bounded("reason", Text::new(row.get::<_, String>(10)?))?,
        asked_ms: from_sql_ms(row.get(11)?),
        expires_ms: from_sql_ms(row.get(12)?),
        ends_ms: from_sql_ms(row.get(13)?),
        answered_by: by.map(|by| bounded("user name", Name::new(by))).transpose()?,
    })
}

/// Every state, and the name it has in the database.
const NAMES: [(State, &str); 6] = [
    (State::Pending, "pending"),
    (State::Approved, "approved"),
    (State::Denied, "denied"),
    (State::Expired, "expired"),
    (State::Claimed, "claimed"),
    (State::Void, "void"),
];

/// A state's name, in the database and in named events.
pub(crate) fn name(state: State) -> &'static str {
    NAMES.iter().find(|(it, _)| *it == state).map_or("void", |(_, name)| name)
}

fn parse(name: &str) -> Option<State> {
    NAMES.iter().find(|(_, it)| *it == name).map(|(state, _)| *state)
}
