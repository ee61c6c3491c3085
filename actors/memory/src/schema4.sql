-- What a block reads first is found without looking at the rows of a whole scope: the newest of a project, the rows of
-- a session and how many of them there are of a kind, the newest of a kind that hold, and the newest sessions.
DROP INDEX kept_by_project;
CREATE INDEX kept_by_project ON kept (scope, project, state, n) WHERE project IS NOT NULL;
DROP INDEX kept_by_session;
CREATE INDEX kept_by_session ON kept (scope, session, state, n, kind) WHERE session IS NOT NULL;
CREATE INDEX kept_that_holds ON kept (scope, kind, n) WHERE state = 0;
CREATE INDEX session_by_scope ON session (scope, n);
