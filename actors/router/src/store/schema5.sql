-- Version 5. A released version's file is never edited: what comes later is a new file.

-- The key of the API that a message came with: what its turn spends counts against that key's day.
ALTER TABLE messages ADD COLUMN api_key BLOB;
