-- Whether nobody deleted it: a person did not want what a model proposed. Of each so many are remembered.
ALTER TABLE gone ADD COLUMN unwanted INTEGER NOT NULL DEFAULT 0 CHECK (unwanted IN (0, 1));
DROP INDEX gone_by_scope;
CREATE INDEX gone_by_scope ON gone (scope, unwanted, n);
-- What this one served is counted below.
DROP INDEX kept_by_kind;
-- How many episodic and semantic rows of a scope hold, which are bounded for each owner: it is asked before each write of one.
ALTER TABLE scope ADD COLUMN episodic INTEGER NOT NULL DEFAULT 0 CHECK (episodic >= 0);
ALTER TABLE scope ADD COLUMN semantic INTEGER NOT NULL DEFAULT 0 CHECK (semantic >= 0);
UPDATE scope SET
    episodic = (SELECT count(*) FROM kept AS e WHERE e.scope = scope.n AND e.kind = 1 AND e.state = 0),
    semantic = (SELECT count(*) FROM kept AS e WHERE e.scope = scope.n AND e.kind = 2 AND e.state = 0);
CREATE TRIGGER kept_counts AFTER INSERT ON kept WHEN new.kind IN (1, 2) AND new.state = 0 BEGIN
    UPDATE scope SET episodic = episodic + (new.kind = 1), semantic = semantic + (new.kind = 2) WHERE n = new.scope;
END;
CREATE TRIGGER kept_counted AFTER DELETE ON kept WHEN old.kind IN (1, 2) AND old.state = 0 BEGIN
    UPDATE scope SET episodic = episodic - (old.kind = 1), semantic = semantic - (old.kind = 2) WHERE n = old.scope;
END;
CREATE TRIGGER kept_came AFTER UPDATE OF state ON kept
    WHEN new.kind IN (1, 2) AND old.state <> 0 AND new.state = 0 BEGIN
    UPDATE scope SET episodic = episodic + (new.kind = 1), semantic = semantic + (new.kind = 2) WHERE n = new.scope;
END;
CREATE TRIGGER kept_went AFTER UPDATE OF state ON kept
    WHEN new.kind IN (1, 2) AND old.state = 0 AND new.state <> 0 BEGIN
    UPDATE scope SET episodic = episodic - (new.kind = 1), semantic = semantic - (new.kind = 2) WHERE n = new.scope;
END;
