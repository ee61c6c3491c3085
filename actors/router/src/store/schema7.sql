-- Version 7. A released version's file is never edited: what comes later is a new file.

-- Messages that were said into a turn under way: `turn` takes them in, those that are urgent first. One that it ends
-- before is a message like any other.
CREATE TABLE words (
    message INTEGER PRIMARY KEY,
    turn BLOB NOT NULL,
    urgent INTEGER NOT NULL
) STRICT;
CREATE INDEX words_turn ON words (turn);
