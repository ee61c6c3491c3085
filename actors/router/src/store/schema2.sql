-- Version 2. A released version's file is never edited: what comes later is a new file.

-- What the scanner counts over a session's messages; nothing before the first.
ALTER TABLE sessions ADD COLUMN conversation TEXT;

-- Questions to persons. What is listed stands in columns, so that a listing reads no canonical action.
CREATE TABLE approvals (
    id BLOB PRIMARY KEY,
    message INTEGER NOT NULL,
    turn BLOB NOT NULL,
    session BLOB NOT NULL,
    call BLOB NOT NULL,
    state TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash BLOB NOT NULL,            -- SHA-256 of the canonical action
    reason TEXT NOT NULL,
    asked_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,   -- when it is denied if nobody has answered
    ends_ms INTEGER NOT NULL,      -- when it ends by itself in the state it is in
    settled_ms INTEGER,            -- when it was answered, or ended without an answer
    answered_by TEXT,
    question TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_open ON approvals (ends_ms) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_turn ON approvals (turn);
CREATE INDEX approvals_settled ON approvals (settled_ms) WHERE settled_ms IS NOT NULL;

-- Grants of sessions. One that was taken back stays, so that taking it back twice is once.
CREATE TABLE grants (
    id BLOB PRIMARY KEY,           -- of the approval it was given with
    session BLOB NOT NULL,
    tool TEXT NOT NULL,
    scope BLOB NOT NULL,           -- SHA-256 of the tool and its security-relevant arguments
    given_by TEXT NOT NULL,
    given_ms INTEGER NOT NULL,
    revoked_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_session ON grants (session) WHERE revoked_ms IS NULL;

-- Where each call was decided on.
CREATE TABLE calls (
    id BLOB PRIMARY KEY,
    message INTEGER NOT NULL,
    number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
