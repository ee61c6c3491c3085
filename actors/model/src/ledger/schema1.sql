-- Money is in millionths of a US dollar. Hours, days and months are numbers of UTC; '' is nobody.

-- What is set aside for answers that are coming. A row that is here at a start is of an answer that a kill interrupted.
CREATE TABLE reserved (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    model TEXT NOT NULL,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    key TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    micros INTEGER NOT NULL
) STRICT;

-- What was used, by the hour in which it was asked for.
CREATE TABLE used (
    hour INTEGER NOT NULL,
    model TEXT NOT NULL,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    key TEXT NOT NULL,
    answers INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    -- Of these answers, those that the provider did not count.
    estimated INTEGER NOT NULL DEFAULT 0,
    -- Of these answers, those whose provider's count was not believed, and the cost of all by the providers' counts.
    disbelieved INTEGER NOT NULL DEFAULT 0,
    claimed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hour, model, user, session, agent, key)
) STRICT, WITHOUT ROWID;

-- What was spent of each budget, whether or not it has a bound today.
CREATE TABLE spent (
    per TEXT NOT NULL,
    whose TEXT NOT NULL,
    period INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    -- The day of the last change.
    day INTEGER NOT NULL,
    -- Of a key, its bound as it was last told; 0 if none.
    bound INTEGER NOT NULL,
    PRIMARY KEY (per, whose, period)
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_day ON spent (per, day);
