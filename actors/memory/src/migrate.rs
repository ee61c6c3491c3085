//! The steps from one version of the database to the next: data alone, applied by `migration`.

/// The steps, in order. A released step is never edited: a change comes as a further one.
pub(crate) const STEPS: &[&str] = &["
    -- Whose memory, and which part of it. Every statement on rows names one of these numbers.
    CREATE TABLE scope (
        n INTEGER PRIMARY KEY,
        owner BLOB NOT NULL CHECK (length(owner) = 16),
        area INTEGER NOT NULL CHECK (area BETWEEN 0 AND 2),
        agent TEXT NOT NULL,
        held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
        UNIQUE (owner, area, agent)
    ) STRICT;
    CREATE TABLE entry (
        n INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scope (n),
        id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
        content TEXT NOT NULL,
        tags TEXT NOT NULL,
        trust INTEGER NOT NULL CHECK (trust BETWEEN 0 AND 3),
        class INTEGER NOT NULL CHECK (class BETWEEN 0 AND 3),
        sources TEXT NOT NULL,
        session BLOB CHECK (length(session) = 16),
        created_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX entry_by_scope ON entry (scope, n);
    -- Ids of rows that were deleted lately: a delete asked again is one delete, a write asked again after it is none.
    CREATE TABLE gone (
        n INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scope (n),
        id BLOB NOT NULL UNIQUE,
        gone_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX gone_by_scope ON gone (scope, n);
", "
    -- Every row, whatever became of it. `entry` is those that hold: only they are in an index.
    CREATE TABLE kept (
        n INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scope (n),
        id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
        -- What is searched besides the content: title, subtitle, facts and files, or a key.
        head TEXT NOT NULL DEFAULT '',
        body TEXT NOT NULL,
        content TEXT NOT NULL GENERATED ALWAYS AS (iif(head = '', body, head || char(10) || body)) VIRTUAL,
        tags TEXT NOT NULL,
        trust INTEGER NOT NULL CHECK (trust BETWEEN 0 AND 3),
        class INTEGER NOT NULL CHECK (class BETWEEN 0 AND 3),
        sources TEXT NOT NULL,
        session BLOB CHECK (length(session) = 16),
        created_ms INTEGER NOT NULL,
        kind INTEGER NOT NULL DEFAULT 0 CHECK (kind BETWEEN 0 AND 4),
        type INTEGER CHECK (type BETWEEN 0 AND 5),
        -- What a newer row takes the place by: of a note its key, of a fact its category and key, of a summary its session.
        key TEXT,
        files TEXT NOT NULL DEFAULT '[]',
        project TEXT,
        importance INTEGER NOT NULL DEFAULT 3 CHECK (importance BETWEEN 1 AND 5),
        expires_ms INTEGER,
        tokens INTEGER NOT NULL DEFAULT 0,
        discovery INTEGER NOT NULL DEFAULT 0,
        -- Of an observation: 1 as it was captured, 2 left so, 0 not so.
        plain INTEGER NOT NULL DEFAULT 0 CHECK (plain BETWEEN 0 AND 2),
        -- Of an observation: whether it was compared with those like it.
        compared INTEGER NOT NULL DEFAULT 0 CHECK (compared IN (0, 1)),
        -- JSON; empty for a note without anything.
        detail TEXT NOT NULL DEFAULT '',
        state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
        revises BLOB CHECK (length(revises) = 16),
        superseded_by BLOB CHECK (length(superseded_by) = 16),
        state_ms INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        -- The embedder of the vector that there is of it, 0 if there is none, and the signs of that vector.
        embedder INTEGER NOT NULL DEFAULT 0,
        signs BLOB
    ) STRICT;
    INSERT INTO kept (n, scope, id, body, tags, trust, class, sources, session, created_ms, tokens)
        SELECT n, scope, id, content, tags, trust, class, sources, session, created_ms, (length(content) + 3
            + (SELECT coalesce(sum(length(value)), 0) FROM json_each(tags))) / 4 FROM entry;
    DROP TABLE entry;
    CREATE VIEW entry AS SELECT * FROM kept WHERE state = 0;
    CREATE INDEX kept_by_scope ON kept (scope, state, n);
    CREATE INDEX kept_by_key ON kept (scope, kind, key) WHERE key IS NOT NULL AND state = 0;
    CREATE INDEX kept_by_expiry ON kept (expires_ms) WHERE expires_ms IS NOT NULL;
    CREATE INDEX kept_by_project ON kept (scope, project, n) WHERE project IS NOT NULL;
    CREATE INDEX kept_by_session ON kept (session, n) WHERE session IS NOT NULL;
    CREATE INDEX kept_by_kind ON kept (kind, scope, n) WHERE kind <> 0;
    CREATE INDEX kept_by_age ON kept (created_ms) WHERE kind = 3 AND state = 0;
    CREATE INDEX kept_plain ON kept (n) WHERE plain = 1 AND state = 0;
    CREATE INDEX kept_to_compare ON kept (n) WHERE compared = 0 AND kind = 3 AND state = 0;
    CREATE INDEX kept_that_held ON kept (state_ms) WHERE state <> 0;
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
        -- Whether a summary is wanted: 0 not yet, 1 yes, 2 there is one or none is to be made.
        summary INTEGER NOT NULL DEFAULT 0 CHECK (summary BETWEEN 0 AND 2),
        UNIQUE (scope, id)
    ) STRICT;
    CREATE INDEX session_to_summarise ON session (n) WHERE summary = 1;
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
", include_str!("schema3.sql"), include_str!("schema4.sql"), include_str!("schema5.sql"),
    include_str!("schema6.sql"), include_str!("schema7.sql")];
