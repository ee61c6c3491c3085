-- Times are unix ms. A job of memory's holds no text: which row or session it is about, and where it stands.
CREATE TABLE job (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    -- 0 is done first.
    priority INTEGER NOT NULL,
    owner BLOB NOT NULL,
    area TEXT NOT NULL,
    about TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    -- Not begun before then.
    due_ms INTEGER NOT NULL,
    -- When it last was taken, given up or done.
    changed_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    -- Instead of the configured one; '' for that.
    model TEXT NOT NULL,
    wants TEXT NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT NOT NULL
) STRICT;
CREATE INDEX job_state ON job (state, changed_ms);

-- One row: whether nothing is begun.
CREATE TABLE pause (since_ms INTEGER NOT NULL) STRICT;

-- Tokens by the day (UTC), counted from 1970-01-01.
CREATE TABLE used (
    day INTEGER PRIMARY KEY,
    tokens INTEGER NOT NULL
) STRICT;
