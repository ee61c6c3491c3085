-- Of the answers of a row, those whose provider's count was not believed, and what all would have cost by the providers' own.
ALTER TABLE used ADD COLUMN disbelieved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE used ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0;
UPDATE used SET claimed = micros;
