-- How often a row was read whole or captured again, and when last; a row that never was has none.
CREATE TABLE used (
    n INTEGER PRIMARY KEY REFERENCES kept (n) ON DELETE CASCADE,
    times INTEGER NOT NULL CHECK (times BETWEEN 1 AND 100),
    last_ms INTEGER NOT NULL
) STRICT;
