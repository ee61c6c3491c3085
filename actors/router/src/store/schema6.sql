-- Version 6. A released version's file is never edited: what comes later is a new file.

-- What an engine needs to go on with a session, as it was after the turn of message `after`. It is found by the session
-- alone, so that it is of use in no other.
CREATE TABLE engine_states (
    session BLOB PRIMARY KEY,
    engine TEXT NOT NULL,
    token TEXT NOT NULL,           -- the engine's own name of the session
    state BLOB NOT NULL,
    after INTEGER NOT NULL
) STRICT;
