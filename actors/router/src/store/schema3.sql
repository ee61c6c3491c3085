-- Version 3. A released version's file is never edited: what comes later is a new file.

-- A dead letter that was put into the queue again knows the message that stands in its place, and that one it.
ALTER TABLE messages ADD COLUMN successor BLOB;
ALTER TABLE messages ADD COLUMN predecessor BLOB;
CREATE INDEX messages_dead ON messages (state) WHERE state IN ('failed', 'quarantined');

-- The attempt in which a call was released last; 0 for those that an earlier version kept.
ALTER TABLE calls ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
CREATE INDEX calls_message ON calls (message);

-- Where nothing is started until somebody takes that back.
CREATE TABLE pauses (
    scope TEXT NOT NULL,           -- all, user or session
    id BLOB NOT NULL,              -- which user or session; empty for all
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;

-- Ends that are decided on and not done yet: whatever dies now, that is how the message ends.
CREATE TABLE ends (
    message INTEGER PRIMARY KEY,
    how TEXT NOT NULL,
    note TEXT NOT NULL
) STRICT;
