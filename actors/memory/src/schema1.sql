-- Version 1. Once a version is released its file is never edited: a change is a new file.

-- The owner of a memory, and the part of it. Every statement on rows names one of these numbers.
CREATE TABLE scope (
    n INTEGER PRIMARY KEY,
    owner BLOB NOT NULL CHECK (length(owner) = 16),
    area INTEGER NOT NULL CHECK (area BETWEEN 0 AND 2),
    agent TEXT NOT NULL,
    held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    -- Bytes of its rows, without indexes and vectors.
    bytes INTEGER NOT NULL DEFAULT 0,
    -- Episodic and semantic rows that hold: both are bounded for each owner, and asked for before each write of one.
    episodic INTEGER NOT NULL DEFAULT 0 CHECK (episodic >= 0),
    semantic INTEGER NOT NULL DEFAULT 0 CHECK (semantic >= 0),
    UNIQUE (owner, area, agent)
) STRICT;
-- Ids of rows that were deleted lately: a delete asked again is one delete, a write asked again after it is none.
CREATE TABLE gone (
    n INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scope (n),
    id BLOB NOT NULL,
    gone_ms INTEGER NOT NULL,
    -- 1 for a proposal that nobody wanted, 0 for a row that somebody deleted. The number of each is bounded.
    unwanted INTEGER NOT NULL DEFAULT 0 CHECK (unwanted IN (0, 1)),
    UNIQUE (scope, id)
) STRICT;
CREATE INDEX gone_by_scope ON gone (scope, unwanted, n);

-- Every row in any state. `entry` has those that hold: only they are in an index of words. Ids are of one owner's rows: another
-- owner may have the same ones.
CREATE TABLE kept (
    n INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scope (n),
    id BLOB NOT NULL CHECK (length(id) = 16),
    -- What is searched besides the content: title, subtitle, facts and files, a key, or a name.
    head TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL,
    content TEXT NOT NULL GENERATED ALWAYS AS (iif(head = '', body, head || char(10) || body)) VIRTUAL,
    tags TEXT NOT NULL,
    trust INTEGER NOT NULL CHECK (trust BETWEEN 0 AND 3),
    class INTEGER NOT NULL CHECK (class BETWEEN 0 AND 3),
    sources TEXT NOT NULL,
    session BLOB CHECK (length(session) = 16),
    created_ms INTEGER NOT NULL,
    kind INTEGER NOT NULL DEFAULT 0 CHECK (kind BETWEEN 0 AND 5),
    type INTEGER CHECK (type BETWEEN 0 AND 5),
    -- What a newer row takes the place by: of a note its key, of a fact its category and key, of a summary its session, of an
    -- entity its type and name.
    key TEXT,
    files TEXT NOT NULL DEFAULT '[]',
    project TEXT,
    importance INTEGER NOT NULL DEFAULT 3 CHECK (importance BETWEEN 1 AND 5),
    expires_ms INTEGER,
    tokens INTEGER NOT NULL DEFAULT 0,
    discovery INTEGER NOT NULL DEFAULT 0,
    -- Of an observation: 1 as it was captured, 2 left so, 0 not so.
    plain INTEGER NOT NULL DEFAULT 0 CHECK (plain BETWEEN 0 AND 2),
    -- Of an observation: 1 once it was compared with similar ones.
    compared INTEGER NOT NULL DEFAULT 0 CHECK (compared IN (0, 1)),
    -- JSON; empty for a note without anything.
    detail TEXT NOT NULL DEFAULT '',
    -- The row that it was taken from, where a model took it from one.
    origin BLOB CHECK (length(origin) = 16),
    -- 0 it holds, 1 superseded, 2 removed, 3 proposed.
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    revises BLOB CHECK (length(revises) = 16),
    superseded_by BLOB CHECK (length(superseded_by) = 16),
    state_ms INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    -- The embedder of the vector that there is of it, 0 if there is none, and the signs of that vector.
    embedder INTEGER NOT NULL DEFAULT 0,
    signs BLOB,
    -- When it came here; an imported row was created earlier. It is stored its time from then on, and makes room in this order.
    arrived_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, id)
) STRICT;
CREATE VIEW entry AS SELECT * FROM kept WHERE state = 0;
CREATE INDEX kept_by_scope ON kept (scope, state, n);
CREATE INDEX kept_by_key ON kept (scope, kind, key) WHERE key IS NOT NULL AND state = 0;
CREATE INDEX kept_by_expiry ON kept (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX kept_by_project ON kept (scope, project, state, n) WHERE project IS NOT NULL;
CREATE INDEX kept_by_session ON kept (scope, session, state, n, kind) WHERE session IS NOT NULL;
CREATE INDEX kept_that_holds ON kept (scope, kind, n) WHERE state = 0;
CREATE INDEX kept_by_arrival ON kept (arrived_ms) WHERE kind = 3 AND state = 0;
CREATE INDEX kept_by_origin ON kept (scope, origin) WHERE origin IS NOT NULL;
CREATE INDEX kept_plain ON kept (n) WHERE plain = 1 AND state = 0;
CREATE INDEX kept_to_compare ON kept (n) WHERE compared = 0 AND kind = 3 AND state = 0;
CREATE INDEX kept_that_held ON kept (max(state_ms, arrived_ms)) WHERE state <> 0;
CREATE INDEX kept_to_embed ON kept (embedder, n) WHERE state = 0;
-- What an observation was made from.
CREATE TABLE raw (n INTEGER PRIMARY KEY REFERENCES kept (n), text TEXT NOT NULL) STRICT;
-- Sessions of clients.
CREATE TABLE session (
    n INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scope (n),
    id BLOB NOT NULL CHECK (length(id) = 16),
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    status INTEGER NOT NULL DEFAULT 0 CHECK (status BETWEEN 0 AND 2),
    -- 0: no summary is wanted yet; 1: one is; 2: there is one, or none is to be made.
    summary INTEGER NOT NULL DEFAULT 0 CHECK (summary BETWEEN 0 AND 2),
    UNIQUE (scope, id)
) STRICT;
CREATE INDEX session_to_summarise ON session (n) WHERE summary = 1;
CREATE INDEX session_by_scope ON session (scope, n);
-- Muted sessions, by client and name, and muted projects, whose client is empty.
CREATE TABLE muted (
    scope INTEGER NOT NULL REFERENCES scope (n),
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (scope, client, name)
) STRICT, WITHOUT ROWID;
-- Work that somebody has in hand, until when.
CREATE TABLE lease (
    task INTEGER NOT NULL,
    n INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;
-- Embedders that vectors were made by, the one that is configured last, and the length of its vectors once one is known.
CREATE TABLE embedder (n INTEGER PRIMARY KEY, name TEXT NOT NULL, length INTEGER) STRICT;
-- What an embedder made of a row that holds: 32-bit floats, little-endian.
CREATE TABLE vector (n INTEGER PRIMARY KEY REFERENCES kept (n) ON DELETE CASCADE, floats BLOB NOT NULL) STRICT;
CREATE TRIGGER vector_goes AFTER UPDATE OF state ON kept WHEN new.state <> 0 BEGIN
    DELETE FROM vector WHERE n = new.n;
    UPDATE kept SET embedder = 0, signs = NULL WHERE n = new.n;
END;
-- What a row takes: its texts, and something for all that is of one length.
CREATE TRIGGER kept_weighs AFTER INSERT ON kept BEGIN
    UPDATE scope SET bytes = bytes + 256 + octet_length(new.head) + octet_length(new.body) + octet_length(new.tags)
        + octet_length(new.detail) WHERE n = new.scope;
END;
CREATE TRIGGER kept_weighed BEFORE DELETE ON kept BEGIN
    DELETE FROM raw WHERE n = old.n;
    UPDATE scope SET bytes = bytes - 256 - octet_length(old.head) - octet_length(old.body) - octet_length(old.tags)
        - octet_length(old.detail) WHERE n = old.scope;
END;
CREATE TRIGGER raw_weighs AFTER INSERT ON raw BEGIN
    UPDATE scope SET bytes = bytes + octet_length(new.text) WHERE n = (SELECT scope FROM kept WHERE n = new.n);
END;
CREATE TRIGGER raw_weighed AFTER DELETE ON raw BEGIN
    UPDATE scope SET bytes = bytes - octet_length(old.text) WHERE n = (SELECT scope FROM kept WHERE n = old.n);
END;
CREATE TRIGGER kept_counts AFTER INSERT ON kept WHEN new.kind IN (1, 2) AND new.state = 0 BEGIN
    UPDATE scope SET episodic = episodic + (new.kind = 1), semantic = semantic + (new.kind = 2) WHERE n = new.scope;
END;
CREATE TRIGGER kept_counted AFTER DELETE ON kept WHEN old.kind IN (1, 2) AND old.state = 0 BEGIN
    UPDATE scope SET episodic = episodic - (old.kind = 1), semantic = semantic - (old.kind = 2) WHERE n = old.scope;
END;
CREATE TRIGGER kept_came AFTER UPDATE OF state ON kept
    WHEN new.kind IN (1, 2) AND old.state <> 0 AND new.state = 0 BEGIN
    UPDATE scope SET episodic = episodic + (new.kind = 1), semantic = semantic + (new.kind = 2) WHERE n = new.scope;
END;
CREATE TRIGGER kept_went AFTER UPDATE OF state ON kept
    WHEN new.kind IN (1, 2) AND old.state = 0 AND new.state <> 0 BEGIN
    UPDATE scope SET episodic = episodic - (new.kind = 1), semantic = semantic - (new.kind = 2) WHERE n = new.scope;
END;
-- How often a row was read whole or captured again, and when last; a row that never was has no row here.
CREATE TABLE used (
    n INTEGER PRIMARY KEY REFERENCES kept (n) ON DELETE CASCADE,
    times INTEGER NOT NULL CHECK (times BETWEEN 1 AND 100),
    last_ms INTEGER NOT NULL
) STRICT;
