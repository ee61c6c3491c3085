-- Ids are those of one owner's rows: another owner may have the same ones. A row can be proposed, can be an entity, and
-- says from which row it was taken. What the rows of a scope take is counted, indexes and vectors apart.
ALTER TABLE scope ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER vector_goes;
CREATE TABLE kept3 (
    n INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scope (n),
    id BLOB NOT NULL CHECK (length(id) = 16),
    -- What is searched besides the content: title, subtitle, facts and files, a key, or a name.
    head TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL,
    content TEXT NOT NULL GENERATED ALWAYS AS (iif(head = '', body, head || char(10) || body)) VIRTUAL,
    tags TEXT NOT NULL,
    trust INTEGER NOT NULL CHECK (trust BETWEEN 0 AND 3),
    class INTEGER NOT NULL CHECK (class BETWEEN 0 AND 3),
    sources TEXT NOT NULL,
    session BLOB CHECK (length(session) = 16),
    created_ms INTEGER NOT NULL,
    kind INTEGER NOT NULL DEFAULT 0 CHECK (kind BETWEEN 0 AND 5),
    type INTEGER CHECK (type BETWEEN 0 AND 5),
    -- What a newer row takes the place by: of a note its key, of a fact its category and key, of a summary its session, of an
    -- entity its type and name.
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
    -- The row that it was taken from, where a model took it from one.
    origin BLOB CHECK (length(origin) = 16),
    -- 0 it holds, 1 superseded, 2 removed, 3 proposed.
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    revises BLOB CHECK (length(revises) = 16),
    superseded_by BLOB CHECK (length(superseded_by) = 16),
    state_ms INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    -- The embedder of the vector that there is of it, 0 if there is none, and the signs of that vector.
    embedder INTEGER NOT NULL DEFAULT 0,
    signs BLOB,
    UNIQUE (scope, id)
) STRICT;
INSERT INTO kept3 (n, scope, id, head, body, tags, trust, class, sources, session, created_ms, kind, type, key, files, project,
        importance, expires_ms, tokens, discovery, plain, compared, detail, state, revises, superseded_by, state_ms, reason,
        embedder, signs)
    SELECT n, scope, id, head, body, tags, trust, class, sources, session, created_ms, kind, type, key, files, project,
        importance, expires_ms, tokens, discovery, plain, compared, detail, state, revises, superseded_by, state_ms, reason,
        embedder, signs FROM kept;
CREATE TABLE raw3 (n INTEGER PRIMARY KEY REFERENCES kept3 (n), text TEXT NOT NULL) STRICT;
INSERT INTO raw3 SELECT n, text FROM raw;
DROP TABLE raw;
CREATE TABLE vector3 (n INTEGER PRIMARY KEY REFERENCES kept3 (n) ON DELETE CASCADE, floats BLOB NOT NULL) STRICT;
INSERT INTO vector3 SELECT n, floats FROM vector;
DROP TABLE vector;
DROP VIEW entry;
DROP TABLE kept;
-- A table is renamed only while every view finds what it names.
CREATE VIEW entry AS SELECT * FROM kept3 WHERE state = 0;
ALTER TABLE kept3 RENAME TO kept;
ALTER TABLE raw3 RENAME TO raw;
ALTER TABLE vector3 RENAME TO vector;
DROP VIEW entry;
CREATE VIEW entry AS SELECT * FROM kept WHERE state = 0;
CREATE INDEX kept_by_scope ON kept (scope, state, n);
CREATE INDEX kept_by_key ON kept (scope, kind, key) WHERE key IS NOT NULL AND state = 0;
CREATE INDEX kept_by_expiry ON kept (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX kept_by_project ON kept (scope, project, n) WHERE project IS NOT NULL;
CREATE INDEX kept_by_session ON kept (session, n) WHERE session IS NOT NULL;
CREATE INDEX kept_by_kind ON kept (kind, scope, n) WHERE kind <> 0;
CREATE INDEX kept_by_age ON kept (created_ms) WHERE kind = 3 AND state = 0;
CREATE INDEX kept_by_origin ON kept (scope, origin) WHERE origin IS NOT NULL;
CREATE INDEX kept_plain ON kept (n) WHERE plain = 1 AND state = 0;
CREATE INDEX kept_to_compare ON kept (n) WHERE compared = 0 AND kind = 3 AND state = 0;
CREATE INDEX kept_that_held ON kept (state_ms) WHERE state <> 0;
CREATE INDEX kept_to_embed ON kept (embedder, n) WHERE state = 0;
CREATE TRIGGER vector_goes AFTER UPDATE OF state ON kept WHEN new.state <> 0 BEGIN
    DELETE FROM vector WHERE n = new.n;
    UPDATE kept SET embedder = 0, signs = NULL WHERE n = new.n;
END;
-- What a row takes: its texts, and something for all that is of one length.
CREATE TRIGGER kept_weighs AFTER INSERT ON kept BEGIN
    UPDATE scope SET bytes = bytes + 256 + octet_length(new.head) + octet_length(new.body) + octet_length(new.tags)
        + octet_length(new.detail) WHERE n = new.scope;
END;
CREATE TRIGGER kept_weighed BEFORE DELETE ON kept BEGIN
    DELETE FROM raw WHERE n = old.n;
    UPDATE scope SET bytes = bytes - 256 - octet_length(old.head) - octet_length(old.body) - octet_length(old.tags)
        - octet_length(old.detail) WHERE n = old.scope;
END;
CREATE TRIGGER raw_weighs AFTER INSERT ON raw BEGIN
    UPDATE scope SET bytes = bytes + octet_length(new.text) WHERE n = (SELECT scope FROM kept WHERE n = new.n);
END;
CREATE TRIGGER raw_weighed AFTER DELETE ON raw BEGIN
    UPDATE scope SET bytes = bytes - octet_length(old.text) WHERE n = (SELECT scope FROM kept WHERE n = old.n);
END;
UPDATE scope SET bytes = coalesce((SELECT sum(256 + octet_length(e.head) + octet_length(e.body) + octet_length(e.tags)
        + octet_length(e.detail) + coalesce(octet_length(r.text), 0))
    FROM kept AS e LEFT JOIN raw AS r ON r.n = e.n WHERE e.scope = scope.n), 0);
CREATE TABLE gone3 (
    n INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scope (n),
    id BLOB NOT NULL,
    gone_ms INTEGER NOT NULL,
    UNIQUE (scope, id)
) STRICT;
INSERT INTO gone3 (n, scope, id, gone_ms) SELECT n, scope, id, gone_ms FROM gone;
DROP TABLE gone;
ALTER TABLE gone3 RENAME TO gone;
CREATE INDEX gone_by_scope ON gone (scope, n);
