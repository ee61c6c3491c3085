-- Version 4. A released version's file is never edited: what comes later is a new file.

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
