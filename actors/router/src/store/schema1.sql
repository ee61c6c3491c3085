-- Version 1. Once a version is released its file is never edited: a change is a new file.
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
    conversation TEXT,             -- the scanner's counts over the session's messages; NULL before the first
    UNIQUE (user, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    attached INTEGER NOT NULL,     -- 1: a directory of the user's own
    label TEXT NOT NULL,
    gone_ms INTEGER                -- when forgotten; its label stays
) STRICT, WITHOUT ROWID;

-- The inbox. `seq` is the order of acceptance. A message that was accepted and not scanned yet is in this table and in one small
-- index, so that an acknowledgement writes two pages. With its first step it enters the other indexes, gets its first row of
-- `states`, and is counted in its session.
CREATE TABLE messages (
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
    successor BLOB,                -- of a dead letter that was queued again: the message in its place
    predecessor BLOB,              -- the dead letter in whose place this one is
    api_key BLOB                   -- the key of the API that it came with, whose day pays for its turn
) STRICT;
CREATE UNIQUE INDEX messages_fresh ON messages (state, user, channel, key) WHERE state = 'accepted';
CREATE UNIQUE INDEX messages_key ON messages (user, channel, key) WHERE state != 'accepted';
CREATE UNIQUE INDEX messages_id ON messages (id) WHERE state != 'accepted';
CREATE UNIQUE INDEX messages_turn ON messages (turn) WHERE state != 'accepted';
CREATE INDEX messages_session ON messages (session) WHERE state != 'accepted';
CREATE INDEX messages_live ON messages (state) WHERE state IN ('queued', 'running');
CREATE INDEX messages_dead ON messages (state) WHERE state IN ('failed', 'quarantined');

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

-- Messages of jobs, which have turns that nobody sits before.
CREATE TABLE fires (
    message INTEGER PRIMARY KEY,
    unattended TEXT NOT NULL,      -- JSON
    channel TEXT,                  -- PLATFORM:NAME of the account that the answer is sent by
    conversation TEXT              -- JSON
) STRICT;

-- Tasks that turns handed to agents, and the bounds of the turns that work on them.
CREATE TABLE delegations (
    message INTEGER PRIMARY KEY,
    parent BLOB NOT NULL,          -- the turn that handed it out
    root INTEGER NOT NULL,         -- the message at the top of the tree
    label TEXT NOT NULL,           -- of the task, JSON
    terms TEXT NOT NULL            -- JSON
) STRICT;
CREATE INDEX delegations_parent ON delegations (parent);

-- How each turn ended, the answer included.
CREATE TABLE outbox (
    message INTEGER PRIMARY KEY,
    finished TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    delivered_ms INTEGER
) STRICT;

-- Questions to persons. What is listed stands in columns, so that a listing reads no canonical action.
CREATE TABLE approvals (
    id BLOB PRIMARY KEY,
    message INTEGER NOT NULL,
    turn BLOB NOT NULL,
    session BLOB NOT NULL,
    call BLOB NOT NULL,
    state TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash BLOB NOT NULL,            -- SHA-256 of the canonical action
    reason TEXT NOT NULL,
    asked_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,   -- when it is denied if nobody has answered
    ends_ms INTEGER NOT NULL,      -- when it ends by itself in the state it is in
    settled_ms INTEGER,            -- when it was answered, or ended without an answer
    answered_by TEXT,
    question TEXT NOT NULL,
    form TEXT NOT NULL             -- the values of a form that was filled in, a JSON object
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_open ON approvals (ends_ms) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_turn ON approvals (turn);
CREATE INDEX approvals_settled ON approvals (settled_ms) WHERE settled_ms IS NOT NULL;

-- Grants of sessions. One that was taken back stays, so that taking it back twice is once.
CREATE TABLE grants (
    id BLOB PRIMARY KEY,           -- of the approval it was given with
    session BLOB NOT NULL,
    tool TEXT NOT NULL,
    scope BLOB NOT NULL,           -- SHA-256 of the tool and its security-relevant arguments
    given_by TEXT NOT NULL,
    given_ms INTEGER NOT NULL,
    revoked_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_session ON grants (session) WHERE revoked_ms IS NULL;

-- Where each call was decided on.
CREATE TABLE calls (
    id BLOB PRIMARY KEY,
    message INTEGER NOT NULL,
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0 -- the attempt that released it last
) STRICT, WITHOUT ROWID;
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

-- Keys of the API. What is kept of one is the SHA-256 of what its client presents, which is itself the key's SHA-256.
CREATE TABLE keys (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    user BLOB NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    scope TEXT NOT NULL,           -- JSON
    created_ms INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,      -- to the minute; 0 for never
    revoked_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX keys_living ON keys (name) WHERE revoked_ms IS NULL;

-- What an engine needs to go on with a session, as it was after the turn of message `after`. It is found by the session
-- alone, so that it is of use in no other.
CREATE TABLE engine_states (
    session BLOB PRIMARY KEY,
    engine TEXT NOT NULL,
    token TEXT NOT NULL,           -- the engine's own name of the session
    state BLOB NOT NULL,
    after INTEGER NOT NULL
) STRICT;

-- Messages that were said into a turn under way: `turn` takes them in, those that are urgent first. One that it ends
-- before is a message like any other.
CREATE TABLE words (
    message INTEGER PRIMARY KEY,
    turn BLOB NOT NULL,
    urgent INTEGER NOT NULL
) STRICT;
CREATE INDEX words_turn ON words (turn);

-- Sessions with every message counted, those of which `sessions` does not know yet as well.
CREATE VIEW counted AS
    SELECT s.id, s.user, s.name, s.agent, s.workspace, s.label, s.messages + coalesce(f.messages, 0) AS messages,
           s.created_ms, max(s.used_ms, coalesce(f.used_ms, 0)) AS used_ms, s.ended_ms
    FROM sessions s LEFT JOIN (
        SELECT session, count(*) AS messages, max(accepted_ms) AS used_ms FROM messages
        WHERE state = 'accepted' GROUP BY session
    ) f ON f.session = s.id;

-- Accounts of messaging platforms. `cursor` is the platform's position after the last batch that was accepted.
CREATE TABLE channels (
    name TEXT PRIMARY KEY,         -- PLATFORM:NAME
    cursor TEXT,
    paused INTEGER NOT NULL,
    admitted_ms INTEGER NOT NULL,  -- 0 for never
    sent_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The keys of everything that an account accepted: one message for one key, whoever its sender is by now.
CREATE TABLE inbound (
    channel TEXT NOT NULL,
    key TEXT NOT NULL,
    message INTEGER,               -- none for a command or a pairing
    identity TEXT NOT NULL,        -- PLATFORM:NAME:ID of its sender
    conversation TEXT NOT NULL,    -- JSON
    reply_to TEXT NOT NULL,        -- the platform's id of it
    preview TEXT,                  -- the platform's id of the preview of its answer
    PRIMARY KEY (channel, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX inbound_message ON inbound (message) WHERE message IS NOT NULL;

-- Answers on their way to platforms.
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,    -- JSON; deliveries of one conversation go one after the other
    message INTEGER,               -- none for a notice of the host's own
    reply_to TEXT,
    edits TEXT,
    text TEXT NOT NULL,
    plain_links INTEGER NOT NULL,
    state TEXT NOT NULL,
    why TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    planned INTEGER NOT NULL,      -- pieces of its plan; 0 before there is one
    offered INTEGER NOT NULL       -- 1 once the conversation was shown that its outcome is unknown
) STRICT;
CREATE INDEX deliveries_open ON deliveries (channel, conversation) WHERE state IN ('ready', 'sending');
CREATE INDEX deliveries_message ON deliveries (message) WHERE message IS NOT NULL;
CREATE INDEX deliveries_unknown ON deliveries (channel, conversation) WHERE state = 'unknown';

-- A file that goes out by a delivery, behind its text. The call that sent it is done once.
CREATE TABLE sent_files (
    delivery INTEGER PRIMARY KEY,
    call BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- Files of messages on their way to the jail. A file is whole once it has a digest.
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    size INTEGER NOT NULL,         -- bytes that are here
    digest BLOB,                   -- SHA-256
    at_ms INTEGER NOT NULL         -- when it came last
) STRICT;
CREATE UNIQUE INDEX files_digest ON files (channel, digest) WHERE digest IS NOT NULL;

CREATE TABLE file_parts (
    file INTEGER NOT NULL,
    start INTEGER NOT NULL,        -- its place in the file
    bytes BLOB NOT NULL,
    PRIMARY KEY (file, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE message_files (
    message INTEGER NOT NULL,
    number INTEGER NOT NULL,
    file INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_files_file ON message_files (file);

CREATE TABLE pieces (
    delivery INTEGER NOT NULL,
    number INTEGER NOT NULL,
    content TEXT NOT NULL,         -- JSON
    state TEXT NOT NULL,
    life INTEGER NOT NULL,         -- the process that it was given out to last; 0 for none
    attempt INTEGER NOT NULL,
    after_ms INTEGER NOT NULL,     -- it is not given out before
    platform_id TEXT,
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX pieces_sending ON pieces (delivery) WHERE state = 'sending';

-- Buttons that have an answer of unknown outcome sent again. Each is pressed once.
CREATE TABLE buttons (
    nonce BLOB PRIMARY KEY,
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    delivery INTEGER NOT NULL,     -- the delivery that shows it
    message INTEGER NOT NULL,      -- the message whose answer is sent again
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX buttons_delivery ON buttons (delivery);

-- Choices below a question that a channel shows: its buttons, and its code. They go with the question.
CREATE TABLE choices (
    nonce BLOB PRIMARY KEY,        -- of a button; the hash of a code
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    delivery INTEGER NOT NULL,     -- the delivery that shows it
    identity TEXT NOT NULL,        -- PLATFORM:NAME:ID of the one person who may take it
    approval BLOB NOT NULL,
    hash BLOB NOT NULL,            -- of the action that is shown
    reply TEXT NOT NULL            -- once or deny; a code that says once can deny as well
) STRICT, WITHOUT ROWID;
CREATE INDEX choices_delivery ON choices (delivery);

-- Pairings, one for each identity. Codes are stored hashed.
CREATE TABLE pairings (
    identity TEXT PRIMARY KEY,     -- PLATFORM:NAME:ID
    channel TEXT NOT NULL,
    conversation TEXT NOT NULL,
    display TEXT NOT NULL,
    hash BLOB NOT NULL,
    state TEXT NOT NULL,
    asked_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One-time codes by which an identity links itself to a user.
CREATE TABLE links (
    hash BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Identities that were added to users.
CREATE TABLE identities (
    identity TEXT PRIMARY KEY,
    user BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Groups that an operator admitted.
CREATE TABLE groups (
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    rule TEXT NOT NULL,            -- JSON
    PRIMARY KEY (channel, id)
) STRICT, WITHOUT ROWID;

-- Groups that became another conversation, by the id they have now, with the one they had first.
CREATE TABLE moves (
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    first TEXT NOT NULL,
    PRIMARY KEY (channel, id)
) STRICT, WITHOUT ROWID;

-- The usage of each user's turns on each day (UTC).
CREATE TABLE usage (
    user BLOB NOT NULL,
    day INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    input INTEGER NOT NULL,        -- tokens
    output INTEGER NOT NULL,       -- tokens
    cost_micros INTEGER NOT NULL,  -- millionths of a US dollar
    PRIMARY KEY (user, day)
) STRICT, WITHOUT ROWID;

-- How often a person began a conversation anew: the number is part of the session's name.
CREATE TABLE renewals (
    user BLOB NOT NULL,
    base TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (user, base)
) STRICT, WITHOUT ROWID;
