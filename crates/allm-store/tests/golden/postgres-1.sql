-- A session as schema 1 keeps it. It never changes: people have stored such rows.
CREATE TABLE allm_schema (number bigint PRIMARY KEY, checksum bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
INSERT INTO allm_schema (number, checksum) VALUES (1, '\x4decac7c0c9b8981e78278e15fda176312f4bb14356b2665a269d309c332858e');
INSERT INTO sessions (key, id, uid, version, status, runnable, tags, next_expiry, created_at, updated_at, fence, holder, lease_until)
OVERRIDING SYSTEM VALUE
VALUES (7, 'order-42', '\x9f2c7be01d6a4c5e8b3f0a7d12e4c6b8', 3, 'awaiting_user', true, ARRAY['\x000000047465616d00000007737570706f7274'::bytea], 1900000000000, 1000, 3000, 4, '\x7772697465722d31', 4000000000000);
INSERT INTO entries (session, version, class, at, chain, append_id, bytes, blob) VALUES
    (7, 1, 0, 1000, '\x29cecc91e68d3dffede939118bf4bbc6d970cf01aa0b9e6bde45692fabfdf661', NULL, '\x7b226e223a317d', NULL),
    (7, 2, 1, 2000, '\x2dab848542ce086de08d7fabfaee9ac07fee0d37cd527ed771668db1da2434f7', '\xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', NULL, '\x7bbf87d4966c7564b56abe81909ba102b9670eefef62b9c64c9a058d141201e9'),
    (7, 3, 0, 3000, '\xa752196537ce94d957ccb6a942400c9f8e97d0b9b51a6d6a71aa284b7588ac84', '\xa2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2', '\x7b226e223a337d', NULL);
INSERT INTO blobs VALUES ('\x7bbf87d4966c7564b56abe81909ba102b9670eefef62b9c64c9a058d141201e9', 1, '\x61207069656365206f6620636f6e74656e742074686174206973206b657074206279206974732068617368');
INSERT INTO snapshots VALUES (7, 2, '\x1111111111111111111111111111111111111111111111111111111111111111', '\x2dab848542ce086de08d7fabfaee9ac07fee0d37cd527ed771668db1da2434f7', '\x7b22736e617073686f74223a327d', NULL);
