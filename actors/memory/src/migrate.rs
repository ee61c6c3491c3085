//! What leads from one version of the database to the next: data alone, applied by `migration`.

/// The steps, in order. A released step is never edited: what is to change comes as a further one.
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
"];
