-- When a row came here: what was taken in from elsewhere came later than it was written. It is kept its time from then on, and
-- makes room in this order. Of the rows that are there it is reckoned: none came before one that stands before it was
-- written, and none is still to come.
ALTER TABLE kept ADD COLUMN arrived_ms INTEGER NOT NULL DEFAULT 0;
UPDATE kept SET arrived_ms = came.at
    FROM (SELECT n, min(max(created_ms) OVER (ORDER BY n), unixepoch() * 1000) AS at FROM kept) AS came WHERE came.n = kept.n;
DROP INDEX kept_by_age;
CREATE INDEX kept_by_arrival ON kept (arrived_ms) WHERE kind = 3 AND state = 0;
DROP INDEX kept_that_held;
CREATE INDEX kept_that_held ON kept (max(state_ms, arrived_ms)) WHERE state <> 0;
