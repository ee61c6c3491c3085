-- Version 1. A released version's file is never edited: what comes later is a new file.
CREATE TABLE users (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    uids TEXT NOT NULL,
    identities TEXT NOT NULL,
    origin TEXT NOT NULL,          -- host, configured or added
    gone_ms INTEGER                -- when removed; their sessions stay for the record
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_living ON users (name) WHERE gone_ms IS NULL;

CREATE TABLE sessions (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    name TEXT NOT NULL,
    agent TEXT NOT NULL,
    workspace BLOB NOT NULL,
    label TEXT NOT NULL,
    messages INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    UNIQUE (user, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    attached INTEGER NOT NULL,     -- 1: a directory of the user's own
    label TEXT NOT NULL,
    gone_ms INTEGER                -- when forgotten; its label stays
) STRICT, WITHOUT ROWID;

-- The inbox. `seq` is the order of acceptance.
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    turn BLOB NOT NULL UNIQUE,
    session BLOB NOT NULL,
    user BLOB NOT NULL,
    channel TEXT NOT NULL,
    key TEXT NOT NULL,             -- the platform's id: twice on one channel is one message
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,     -- runners launched for it
    failures INTEGER NOT NULL,     -- runners that ended before the turn did
    losses INTEGER NOT NULL,       -- runners that were gone when this process came back
    accepted_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    label TEXT,                    -- once the scanner has looked at it
    content TEXT NOT NULL,         -- bytes of media stand in `parts`
    task TEXT NOT NULL,
    UNIQUE (user, channel, key)
) STRICT;
CREATE INDEX messages_session ON messages (session);
CREATE INDEX messages_live ON messages (state) WHERE state IN ('accepted', 'queued', 'running');

CREATE TABLE parts (
    message INTEGER NOT NULL,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

-- Every state a message went through.
CREATE TABLE states (
    message INTEGER NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

-- The transcript of a turn; `label` is the session's at that step.
CREATE TABLE steps (
    message INTEGER NOT NULL,
    number INTEGER NOT NULL,
    step TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

-- How each turn ended, the answer included.
CREATE TABLE outbox (
    message INTEGER PRIMARY KEY,
    finished TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    delivered_ms INTEGER
) STRICT;
