-- Entries are longer than a kilobyte, and without row ids whatever is longer spills over to pages of its own, each of which is
-- written for each append. With them, a row may fill a page.
CREATE TABLE entries_with_rows (
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
) STRICT;

INSERT INTO entries_with_rows (session, version, class, at, chain, append_id, bytes, blob)
SELECT session, version, class, at, chain, append_id, bytes, blob FROM entries ORDER BY session, version;

DROP TABLE entries;
ALTER TABLE entries_with_rows RENAME TO entries;
CREATE UNIQUE INDEX entries_append ON entries (session, append_id) WHERE append_id IS NOT NULL;
