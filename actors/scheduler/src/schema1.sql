-- Version 1. Once a version is released its file is never edited: a change is a new file.
CREATE TABLE jobs (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    user_name TEXT NOT NULL,
    name TEXT NOT NULL,
    terms TEXT NOT NULL,           -- JSON
    prompt TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    state TEXT NOT NULL,           -- active, paused or done
    why TEXT NOT NULL,
    last_ms INTEGER NOT NULL,      -- the last of its times that was dealt with; its next is later, whatever the clock says
    next_ms INTEGER,
    failures INTEGER NOT NULL,     -- in a row
    held_ms INTEGER NOT NULL,      -- failures hold it back until then
    UNIQUE (user, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_next ON jobs (next_ms) WHERE state = 'active';

-- Every time of a job, and what became of it. One that is `due` is submitted, and submitted again after a crash.
CREATE TABLE fires (
    job BLOB NOT NULL,
    due_ms INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    message BLOB,
    reason TEXT NOT NULL,
    PRIMARY KEY (job, due_ms)
) STRICT, WITHOUT ROWID;
CREATE INDEX fires_open ON fires (state) WHERE state IN ('due', 'running');
CREATE INDEX fires_at ON fires (due_ms);
