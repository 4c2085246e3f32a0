CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    uid BLOB NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    runnable INTEGER NOT NULL,
    tags BLOB NOT NULL,
    next_expiry INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- The last version that was trimmed.
    trimmed INTEGER NOT NULL DEFAULT 0,
    -- The number of the last acquisition. It is current only while there is a holder.
    fence INTEGER NOT NULL DEFAULT 0,
    holder TEXT,
    lease_until INTEGER
) STRICT;

CREATE INDEX sessions_created ON sessions (created_at, id);
CREATE INDEX sessions_status ON sessions (status, created_at, id);
CREATE INDEX sessions_runnable ON sessions (created_at, id) WHERE runnable = 1;
CREATE INDEX sessions_expiry ON sessions (next_expiry) WHERE next_expiry IS NOT NULL;

CREATE TABLE tags (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX tags_value ON tags (key, value, session);

CREATE TABLE entries (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    class INTEGER NOT NULL,
    at INTEGER NOT NULL,
    chain BLOB NOT NULL,
    -- The last entry of an append carries its id.
    append_id BLOB,
    -- One of these: the content, or its hash.
    bytes BLOB,
    blob BLOB,
    PRIMARY KEY (session, version)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX entries_append ON entries (session, append_id) WHERE append_id IS NOT NULL;

-- The append ids of entries that were trimmed.
CREATE TABLE appends (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    append_id BLOB NOT NULL,
    version INTEGER NOT NULL,
    chain BLOB NOT NULL,
    PRIMARY KEY (session, append_id)
) STRICT, WITHOUT ROWID;

-- The newest snapshot of each session.
CREATE TABLE snapshots (
    session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    state_hash BLOB NOT NULL,
    chain BLOB NOT NULL,
    bytes BLOB,
    blob BLOB
) STRICT;

-- Content above 64 KiB, once by its hash, with the number of rows that name it.
CREATE TABLE blobs (
    hash BLOB PRIMARY KEY,
    refs INTEGER NOT NULL,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE tombstones (
    id TEXT NOT NULL,
    uid BLOB NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (id, uid)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_until ON tombstones (until);
