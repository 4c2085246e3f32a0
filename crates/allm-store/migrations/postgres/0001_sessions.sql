CREATE TABLE sessions (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    uid bytea NOT NULL,
    version bigint NOT NULL,
    status text NOT NULL,
    runnable boolean NOT NULL,
    tags bytea[] NOT NULL,
    next_expiry bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    -- The last version that was trimmed.
    trimmed bigint NOT NULL DEFAULT 0,
    -- The number of the last acquisition. It is current only while there is a holder.
    fence bigint NOT NULL DEFAULT 0,
    holder bytea,
    lease_until bigint
    -- Room for new versions of a row beside the old ones: an append that changes no indexed column touches no index.
) WITH (fillfactor = 70);

CREATE INDEX sessions_created ON sessions (created_at, id);
CREATE INDEX sessions_status ON sessions (status, created_at, id);
CREATE INDEX sessions_runnable ON sessions (created_at, id) WHERE runnable;
CREATE INDEX sessions_expiry ON sessions (next_expiry) WHERE next_expiry IS NOT NULL;
CREATE INDEX sessions_tags ON sessions USING gin (tags) WHERE tags <> '{}';

CREATE TABLE entries (
    session bigint NOT NULL,
    version bigint NOT NULL,
    class smallint NOT NULL,
    at bigint NOT NULL,
    chain bytea NOT NULL,
    -- The last entry of an append carries its id.
    append_id bytea,
    -- One of these: the content, or its hash.
    bytes bytea,
    blob bytea,
    PRIMARY KEY (session, version)
);

CREATE UNIQUE INDEX entries_append ON entries (session, append_id) WHERE append_id IS NOT NULL;

-- The append ids of entries that were trimmed.
CREATE TABLE appends (
    session bigint NOT NULL,
    append_id bytea NOT NULL,
    version bigint NOT NULL,
    chain bytea NOT NULL,
    PRIMARY KEY (session, append_id)
);

-- The newest snapshot of each session.
CREATE TABLE snapshots (
    session bigint PRIMARY KEY,
    version bigint NOT NULL,
    state_hash bytea NOT NULL,
    chain bytea NOT NULL,
    bytes bytea,
    blob bytea
);

-- Content above 64 KiB, once by its hash, with the number of rows that name it.
CREATE TABLE blobs (
    hash bytea PRIMARY KEY,
    refs bigint NOT NULL,
    content bytea NOT NULL
);

CREATE TABLE tombstones (
    id text COLLATE "C" NOT NULL,
    uid bytea NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (id, uid)
);

CREATE INDEX tombstones_until ON tombstones (until);

-- What a write answers: `ok`, or the reason why not, with what belongs to it.
CREATE TYPE answer AS (code text, version bigint, uid bytea, fence bigint, holder bytea, until bigint);

-- Every write below is one call, so it is one transaction and one way to the server and back. Each takes the lock of at
-- most one session, and after it those of blobs in the order of their hashes, so no two can wait for each other.

CREATE FUNCTION millis() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- What is committed is on the disk, whatever the server's own setting is.
CREATE FUNCTION durable_1() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END $$;

-- The session with this id and this uid, locked; or why there is none.
CREATE FUNCTION exact_1(p_id text, p_uid bytea, OUT code text, OUT head sessions)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM sessions WHERE id = p_id) OR EXISTS (
            SELECT FROM tombstones WHERE id = p_id AND uid = p_uid AND until > millis()
        ) THEN
            code := 'gone';
        ELSE
            code := 'not_found';
        END IF;
    ELSIF head.uid <> p_uid THEN
        code := 'gone';
    ELSE
        code := 'ok';
    END IF;
END $$;

CREATE FUNCTION refer_1(p_hash bytea, p_content bytea) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $$
    INSERT INTO blobs AS b (hash, refs, content) VALUES (p_hash, 1, p_content)
    ON CONFLICT (hash) DO UPDATE SET refs = b.refs + 1
$$;

-- Takes back what the entries through a version name, and the snapshot if that is asked for.
CREATE FUNCTION forget_1(p_session bigint, p_through bigint, p_snapshot boolean) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    named record;
BEGIN
    FOR named IN
        SELECT blob, count(*) AS times FROM (
            SELECT blob FROM entries WHERE session = p_session AND version <= p_through AND blob IS NOT NULL
            UNION ALL
            SELECT blob FROM snapshots WHERE p_snapshot AND session = p_session AND blob IS NOT NULL
        ) AS all_named GROUP BY blob ORDER BY blob
    LOOP
        UPDATE blobs SET refs = refs - named.times WHERE hash = named.blob;
        DELETE FROM blobs WHERE hash = named.blob AND refs <= 0;
    END LOOP;
END $$;

CREATE FUNCTION create_1(
    p_id text, p_uid bytea, p_status text, p_runnable boolean, p_tags bytea[], p_expiry bigint,
    p_class smallint, p_at bigint, p_chain bytea, p_bytes bytea, p_hash bytea
) RETURNS answer LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
    v_key bigint;
BEGIN
    PERFORM durable_1();
    INSERT INTO sessions (id, uid, version, status, runnable, tags, next_expiry, created_at, updated_at)
    VALUES (p_id, p_uid, 1, p_status, p_runnable, p_tags, p_expiry, p_at, p_at)
    ON CONFLICT (id) DO NOTHING RETURNING key INTO v_key;
    IF v_key IS NULL THEN
        result.code := 'already_exists';
        RETURN result;
    END IF;
    IF p_hash IS NOT NULL THEN
        PERFORM refer_1(p_hash, p_bytes);
        p_bytes := NULL;
    END IF;
    INSERT INTO entries (session, version, class, at, chain, bytes, blob)
    VALUES (v_key, 1, p_class, p_at, p_chain, p_bytes, p_hash);
    result.code := 'ok';
    RETURN result;
END $$;

-- With the name of the schema in its text: to set the search path for each call would take a fifth of its time.
DO $do$ BEGIN EXECUTE format($text$
CREATE FUNCTION %1$I.append_1(
    p_id text, p_uid bytea, p_at bigint, p_fence bigint, p_append bytea,
    p_classes smallint[], p_times bigint[], p_chains bytea[], p_bytes bytea[], p_hashes bytea[],
    p_status text, p_runnable boolean, p_tags bytea[], p_expiry bigint
) RETURNS %1$I.answer LANGUAGE plpgsql AS $$
DECLARE
    result %1$I.answer;
    v_count int := cardinality(p_classes);
    v_key bigint;
    v_exact record;
    v_known record;
    v_blob record;
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    -- The usual case: nothing is in the way. Who comes second waits here for the lock of the row, and then finds another
    -- version.
    UPDATE %1$I.sessions s SET version = p_at + v_count, updated_at = p_times[v_count], status = p_status,
        runnable = p_runnable, tags = p_tags, next_expiry = p_expiry
    WHERE id = p_id AND uid = p_uid AND version = p_at
        AND (p_fence IS NULL OR (fence = p_fence AND holder IS NOT NULL))
        AND NOT EXISTS (SELECT FROM %1$I.entries e WHERE e.session = s.key AND e.append_id = p_append)
        AND (trimmed = 0
            OR NOT EXISTS (SELECT FROM %1$I.appends a WHERE a.session = s.key AND a.append_id = p_append))
    RETURNING key INTO v_key;
    IF v_key IS NULL THEN
        -- What is in the way, check by check, under the lock.
        SELECT * INTO v_exact FROM %1$I.exact_1(p_id, p_uid);
        result.code := v_exact.code;
        IF result.code <> 'ok' THEN
            RETURN result;
        END IF;
        v_key := (v_exact.head).key;
        result.version := (v_exact.head).version;
        SELECT version, chain INTO v_known FROM (
            SELECT version, chain FROM %1$I.entries WHERE session = v_key AND append_id = p_append
            UNION ALL
            SELECT version, chain FROM %1$I.appends WHERE session = v_key AND append_id = p_append
        ) AS known;
        IF FOUND THEN
            IF v_known.version <> p_at + v_count OR v_known.chain <> p_chains[v_count] THEN
                result.code := 'conflict';
            END IF;
            RETURN result;
        ELSIF p_fence IS NOT NULL AND ((v_exact.head).holder IS NULL OR (v_exact.head).fence <> p_fence) THEN
            result.code := 'fenced';
            RETURN result;
        ELSIF (v_exact.head).version <> p_at THEN
            result.code := 'conflict';
            RETURN result;
        END IF;
        UPDATE %1$I.sessions SET version = p_at + v_count, updated_at = p_times[v_count], status = p_status,
            runnable = p_runnable, tags = p_tags, next_expiry = p_expiry
        WHERE key = v_key;
    END IF;
    IF p_hashes IS NOT NULL THEN
        FOR v_blob IN
            SELECT hash, content, number FROM unnest(p_hashes, p_bytes)
            WITH ORDINALITY AS all_blobs (hash, content, number)
            WHERE hash IS NOT NULL ORDER BY hash, number
        LOOP
            PERFORM %1$I.refer_1(v_blob.hash, v_blob.content);
            p_bytes[v_blob.number] := NULL;
        END LOOP;
    END IF;
    IF v_count = 1 THEN
        INSERT INTO %1$I.entries (session, version, class, at, chain, append_id, bytes, blob)
        VALUES (v_key, p_at + 1, p_classes[1], p_times[1], p_chains[1], p_append, p_bytes[1], p_hashes[1]);
    ELSE
        INSERT INTO %1$I.entries (session, version, class, at, chain, append_id, bytes, blob)
        SELECT v_key, p_at + number, p_classes[number], p_times[number], p_chains[number],
            CASE WHEN number = v_count THEN p_append END, p_bytes[number], p_hashes[number]
        FROM generate_series(1, v_count) AS number;
    END IF;
    result.code := 'ok';
    RETURN result;
END $$;
$text$, current_schema()); END $do$;

CREATE FUNCTION delete_1(p_id text, p_version bigint, p_force boolean, p_tombstone bigint) RETURNS answer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
    v_session sessions;
    v_now bigint;
BEGIN
    PERFORM durable_1();
    SELECT * INTO v_session FROM sessions WHERE id = p_id FOR UPDATE;
    v_now := millis();
    IF NOT FOUND THEN
        result.code := 'not_found';
    ELSIF p_version <> v_session.version THEN
        result.code := 'conflict';
        result.version := v_session.version;
    ELSIF NOT p_force AND v_session.holder IS NOT NULL AND v_session.lease_until > v_now THEN
        result.code := 'lease_held';
        result.holder := v_session.holder;
        result.until := v_session.lease_until;
    ELSE
        result.code := 'ok';
        PERFORM forget_1(v_session.key, 9223372036854775807, true);
        DELETE FROM entries WHERE session = v_session.key;
        DELETE FROM appends WHERE session = v_session.key;
        DELETE FROM snapshots WHERE session = v_session.key;
        DELETE FROM sessions WHERE key = v_session.key;
        DELETE FROM tombstones WHERE until <= v_now;
        INSERT INTO tombstones (id, uid, until) VALUES (p_id, v_session.uid, v_now + p_tombstone)
        ON CONFLICT (id, uid) DO UPDATE SET until = EXCLUDED.until;
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION acquire_1(p_id text, p_holder bytea, p_ttl bigint, p_force boolean) RETURNS answer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
    v_session sessions;
    v_now bigint;
BEGIN
    PERFORM durable_1();
    SELECT * INTO v_session FROM sessions WHERE id = p_id FOR NO KEY UPDATE;
    v_now := millis();
    IF NOT FOUND THEN
        result.code := 'not_found';
    ELSIF NOT p_force AND v_session.holder IS NOT NULL AND v_session.lease_until > v_now THEN
        result.code := 'lease_held';
        result.holder := v_session.holder;
        result.until := v_session.lease_until;
    ELSE
        result := ('ok', v_session.version, v_session.uid, v_session.fence + 1, p_holder, v_now + p_ttl);
        UPDATE sessions SET fence = result.fence, holder = p_holder, lease_until = result.until
        WHERE key = v_session.key;
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION renew_1(p_id text, p_uid bytea, p_fence bigint, p_ttl bigint) RETURNS answer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
    v_exact record;
    v_session sessions;
BEGIN
    PERFORM durable_1();
    SELECT * INTO v_exact FROM exact_1(p_id, p_uid);
    result.code := v_exact.code;
    v_session := v_exact.head;
    IF result.code = 'ok' THEN
        IF v_session.holder IS NULL OR v_session.fence <> p_fence THEN
            result.code := 'fenced';
        ELSE
            result.until := millis() + p_ttl;
            UPDATE sessions SET lease_until = result.until WHERE key = v_session.key;
        END IF;
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION release_1(p_id text, p_uid bytea, p_fence bigint) RETURNS answer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
BEGIN
    PERFORM durable_1();
    UPDATE sessions SET holder = NULL, lease_until = NULL
    WHERE id = p_id AND uid = p_uid AND fence = p_fence AND holder IS NOT NULL;
    result.code := 'ok';
    RETURN result;
END $$;

CREATE FUNCTION put_snapshot_1(
    p_id text, p_uid bytea, p_at bigint, p_version bigint, p_state_hash bytea, p_chain bytea, p_bytes bytea,
    p_hash bytea
) RETURNS answer LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
    v_exact record;
    v_session sessions;
    v_kept snapshots;
    v_old bytea;
BEGIN
    PERFORM durable_1();
    SELECT * INTO v_exact FROM exact_1(p_id, p_uid);
    result.code := v_exact.code;
    v_session := v_exact.head;
    IF result.code <> 'ok' THEN
        RETURN result;
    END IF;
    SELECT * INTO v_kept FROM snapshots WHERE session = v_session.key;
    IF p_at <> p_version OR NOT (
        EXISTS (SELECT FROM entries WHERE session = v_session.key AND version = p_version AND chain = p_chain)
        OR coalesce(v_kept.version = p_version AND v_kept.chain = p_chain, false)
    ) THEN
        result.code := 'refused';
    ELSIF v_kept.version IS NULL OR v_kept.version <= p_version THEN
        v_old := v_kept.blob;
        -- The lower hash first, and a hash that stays is not touched.
        IF v_old IS NOT DISTINCT FROM p_hash THEN
            NULL;
        ELSIF p_hash IS NOT NULL AND (v_old IS NULL OR p_hash < v_old) THEN
            PERFORM refer_1(p_hash, p_bytes);
            PERFORM forget_1(v_session.key, 0, true);
        ELSE
            PERFORM forget_1(v_session.key, 0, true);
            IF p_hash IS NOT NULL THEN
                PERFORM refer_1(p_hash, p_bytes);
            END IF;
        END IF;
        IF p_hash IS NOT NULL THEN
            p_bytes := NULL;
        END IF;
        INSERT INTO snapshots (session, version, state_hash, chain, bytes, blob)
        VALUES (v_session.key, p_version, p_state_hash, p_chain, p_bytes, p_hash)
        ON CONFLICT (session) DO UPDATE SET version = EXCLUDED.version, state_hash = EXCLUDED.state_hash,
            chain = EXCLUDED.chain, bytes = EXCLUDED.bytes, blob = EXCLUDED.blob;
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION trim_1(p_id text, p_uid bytea, p_at bigint, p_through bigint) RETURNS answer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    result answer;
    v_exact record;
    v_session sessions;
BEGIN
    PERFORM durable_1();
    SELECT * INTO v_exact FROM exact_1(p_id, p_uid);
    result.code := v_exact.code;
    v_session := v_exact.head;
    IF result.code <> 'ok' THEN
        RETURN result;
    END IF;
    result.version := v_session.version;
    IF v_session.version <> p_at THEN
        result.code := 'conflict';
    ELSIF NOT EXISTS (SELECT FROM snapshots WHERE session = v_session.key AND version >= p_through) THEN
        result.code := 'refused';
    ELSE
        PERFORM forget_1(v_session.key, p_through, false);
        INSERT INTO appends (session, append_id, version, chain)
        SELECT session, append_id, version, chain FROM entries
        WHERE session = v_session.key AND version <= p_through AND append_id IS NOT NULL;
        DELETE FROM entries WHERE session = v_session.key AND version <= p_through;
        UPDATE sessions SET trimmed = greatest(trimmed, p_through) WHERE key = v_session.key;
    END IF;
    RETURN result;
END $$;

-- The head, then the snapshot if it is wanted or needed, then the entries after it. One statement, so all of it is as of
-- one instant. Before version 0 stands for the newest snapshot.
CREATE FUNCTION load_1(p_id text, p_after bigint) RETURNS TABLE (
    id text, uid bytea, head_version bigint, status text, runnable boolean, tags bytea, next_expiry bigint,
    created_at bigint, updated_at bigint, holder bytea, lease_until bigint,
    kind int, version bigint, class smallint, at bigint, state_hash bytea, chain bytea, bytes bytea, blob bytea,
    content bytea
) LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH s AS (
        SELECT * FROM sessions WHERE sessions.id = p_id
    ), n AS (
        SELECT k.* FROM s JOIN snapshots k ON k.session = s.key WHERE s.trimmed > p_after
    ), a AS (
        SELECT coalesce((SELECT n.version FROM n), greatest(p_after, 0)) AS version
    )
    SELECT s.id, s.uid, s.version, s.status, s.runnable,
        (SELECT coalesce(string_agg(t, ''::bytea ORDER BY i), ''::bytea)
         FROM unnest(s.tags) WITH ORDINALITY AS u (t, i)),
        s.next_expiry, s.created_at, s.updated_at,
        CASE WHEN s.lease_until > floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
             THEN s.holder END,
        s.lease_until, 0 AS kind, 0::bigint AS number, NULL::smallint, NULL::bigint, NULL::bytea, NULL::bytea,
        NULL::bytea, NULL::bytea, NULL::bytea
    FROM s
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        1, n.version, NULL, NULL, n.state_hash, n.chain, n.bytes, n.blob, b.content
    FROM n LEFT JOIN blobs b ON b.hash = n.blob
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        2, e.version, e.class, e.at, NULL, e.chain, e.bytes, e.blob, b.content
    FROM s, a, entries e LEFT JOIN blobs b ON b.hash = e.blob
    WHERE e.session = s.key AND e.version > a.version
    ORDER BY kind, number;
END $$;
