-- Of the answers of a row, those that the provider did not count.
ALTER TABLE used ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
