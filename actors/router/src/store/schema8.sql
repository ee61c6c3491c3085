-- Version 8. A released version's file is never edited: what comes later is a new file.

-- A message that was accepted and that the scanner has not looked at yet stands in `messages` and in one small index;
-- with its first step it comes into the others, gets its first row of `states`, and is counted in its session. So what is
-- acknowledged is two pages and not eight. What an index was of by UNIQUE cannot be dropped, so the table is made anew.
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    turn BLOB NOT NULL,
    session BLOB NOT NULL,
    user BLOB NOT NULL,
    channel TEXT NOT NULL,
    key TEXT NOT NULL,             -- the platform's id: twice on one channel is one message
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,     -- runners launched for it
    failures INTEGER NOT NULL,     -- runners that ended before the turn did
    losses INTEGER NOT NULL,       -- runners that were gone when the router came back
    accepted_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    label TEXT,                    -- once the scanner has looked at it
    content TEXT NOT NULL,         -- bytes of media stand in `parts`
    task TEXT NOT NULL,
    successor BLOB,
    predecessor BLOB,
    api_key BLOB                   -- the key of the API that it came with
) STRICT;
INSERT INTO inbox
    SELECT seq, id, turn, session, user, channel, key, state, attempts, failures, losses, accepted_ms, bytes, label,
           content, task, successor, predecessor, api_key FROM messages ORDER BY seq;
DROP TABLE messages;
ALTER TABLE inbox RENAME TO messages;
CREATE UNIQUE INDEX messages_fresh ON messages (state, user, channel, key) WHERE state = 'accepted';
CREATE UNIQUE INDEX messages_key ON messages (user, channel, key) WHERE state != 'accepted';
CREATE UNIQUE INDEX messages_id ON messages (id) WHERE state != 'accepted';
CREATE UNIQUE INDEX messages_turn ON messages (turn) WHERE state != 'accepted';
CREATE INDEX messages_session ON messages (session) WHERE state != 'accepted';
CREATE INDEX messages_live ON messages (state) WHERE state IN ('queued', 'running');
CREATE INDEX messages_dead ON messages (state) WHERE state IN ('failed', 'quarantined');

UPDATE sessions SET messages = messages -
    (SELECT count(*) FROM messages m WHERE m.state = 'accepted' AND m.session = sessions.id)
    WHERE id IN (SELECT session FROM messages WHERE state = 'accepted');
DELETE FROM states WHERE message IN (SELECT seq FROM messages WHERE state = 'accepted');

-- Sessions with every message counted, those of which `sessions` does not know yet as well.
CREATE VIEW counted AS
    SELECT s.id, s.user, s.name, s.agent, s.workspace, s.label, s.messages + coalesce(f.messages, 0) AS messages,
           s.created_ms, max(s.used_ms, coalesce(f.used_ms, 0)) AS used_ms, s.ended_ms
    FROM sessions s LEFT JOIN (
        SELECT session, count(*) AS messages, max(accepted_ms) AS used_ms FROM messages
        WHERE state = 'accepted' GROUP BY session
    ) f ON f.session = s.id;
