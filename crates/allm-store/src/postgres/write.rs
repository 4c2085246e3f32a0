//! Everything that writes: one call of a function of the database each.

use std::time::Duration;

use allm_core::{
    AppendId, Claim, DeleteIf, Entry, EntryClass, Fence, Head, HeadUpdate, Lease, NewSession,
    Position, SessionId, Snapshot, StoreError, StoreReason, Takeover, Version, check_append,
};

use super::answer::Answer;
use super::sql::Sql;
use super::{Again, PostgresStore};
use crate::clock::whole_millis;
use crate::database::content::Place;
use crate::database::{count, integer, tags};
use crate::rules::{
    TOMBSTONE_MILLIS, check_claim, is_appended, timely, uncovered_trim, unfit_snapshot,
};

/// A lease that lasts this many milliseconds lasts for ever; a time has room for it twice.
const LONGEST_TTL: i64 = 253_402_300_799_999;

impl Sql {
    /// The part of a head that a writer computes: status, runnable, tags, next expiry.
    fn head(self, head: &HeadUpdate) -> Self {
        let tag = |sql: Self, (key, value): (&String, &String)| sql.bytes(&tags::one(key, value));
        let sql = self.push("'").push(head.status.as_str()).push("',");
        let sql = sql.flag(head.runnable).push(",");
        let sql = sql.array(&head.tags, tag, "bytea[]").push(",");
        sql.time(head.next_expiry)
    }

    fn class(self, class: EntryClass) -> Self {
        self.push(match class {
            EntryClass::Input => "0::smallint",
            EntryClass::Progress => "1::smallint",
        })
    }

    fn id(self, id: &SessionId) -> Self {
        self.text(id.as_str())
    }

    /// The id and the `uid` of a session.
    fn session(self, at: &Position) -> Self {
        self.id(&at.id).push(",").bytes(at.uid.as_bytes())
    }
}

/// A lease as long as asked, or as there is.
fn millis(ttl: Duration) -> i64 {
    whole_millis(ttl).min(LONGEST_TTL)
}

/// The lease that the database gave.
fn given(id: &SessionId, claim: &Claim, answer: Answer) -> Result<Lease, StoreError> {
    let answer = answer.ok(Version(0))?;
    Ok(Lease {
        id: id.clone(),
        uid: answer.uid()?,
        holder: claim.holder.clone(),
        fence: Fence(count(answer.fence.unwrap_or_default())),
        ttl: claim.ttl,
        expires_at: answer.until(),
        version: answer.version(),
    })
}

impl PostgresStore {
    async fn call(&self, sql: Sql, again: Again) -> Result<Answer, StoreError> {
        Answer::read(&self.row(sql.push(")"), again).await?)
    }

    fn function(&self, name: &'static str) -> Sql {
        self.sql().push("SELECT * FROM ").name(name)
    }

    pub(super) async fn create_new(&self, new: &NewSession) -> Result<Head, StoreError> {
        new.check()?;
        let first = &new.first;
        let place = Place::of(&first.bytes);
        let sql = self.function("create_1(").id(&new.id).push(",");
        let sql = sql.bytes(new.uid.as_bytes()).push(",").head(&new.head);
        let sql = sql.push(",").class(first.class).push(",");
        let sql = sql.int(first.at.as_millis()).push(",");
        let sql = sql.bytes(first.chain.as_bytes()).push(",");
        let sql = sql
            .bytes(&first.bytes)
            .push(",")
            .optional_bytes(place.hash());
        let answer = self.call(sql, Again::Never).await?;
        answer.ok(Version(0))?;
        Ok(Head::created(new))
    }

    /// The call that appends, under the fence that is written here.
    fn append_call(
        sql: Sql,
        at: &Position,
        fence: impl FnOnce(Sql) -> Sql,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
    ) -> Sql {
        let places: Vec<Place> = entries
            .iter()
            .map(|entry| Place::of(&entry.bytes))
            .collect();
        let sql = sql.name("append_1(").session(at).push(",");
        let sql = sql.int(integer(at.version.0)).push(",");
        let sql = fence(sql).push(",");
        let sql = sql.bytes(append_id.as_bytes()).push(",");
        let sql = sql
            .array(entries, |sql, entry| sql.class(entry.class), "smallint[]")
            .push(",");
        let at_millis = |sql: Sql, entry: &Entry| sql.int(entry.at.as_millis());
        let sql = sql.array(entries, at_millis, "bigint[]").push(",");
        let chain = |sql: Sql, entry: &Entry| sql.bytes(entry.chain.as_bytes());
        let sql = sql.array(entries, chain, "bytea[]").push(",");
        let bytes = |sql: Sql, entry: &Entry| sql.bytes(&entry.bytes);
        let sql = sql.array(entries, bytes, "bytea[]").push(",");
        let sql = if places.iter().any(|place| place.hash().is_some()) {
            let hash = |sql: Sql, place: &Place| sql.optional_bytes(place.hash());
            sql.array(&places, hash, "bytea[]")
        } else {
            sql.push("NULL")
        };
        sql.push(",").head(head).push(")")
    }

    pub(super) async fn append_all(
        &self,
        at: &Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
    ) -> Result<Version, StoreError> {
        let version = check_append(at, fence, entries)?;
        let sql = self.sql().push("SELECT * FROM ");
        let number = fence.map(|fence| integer(fence.0));
        let fence = |sql: Sql| sql.optional_int(number);
        let sql = Self::append_call(sql, at, fence, append_id, entries, head);
        // Its id makes the second time the same as the first.
        let answer = Answer::read(&self.row(sql, Again::Safe).await?)?;
        answer.ok(at.version)?;
        Ok(version)
    }

    /// The same, with a snapshot and the release of the lease: what comes second is done if the first was, and what it
    /// wrote is seen.
    pub(super) async fn append_last(
        &self,
        at: &Position,
        lease: &Lease,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), StoreError> {
        let version = check_append(at, Some(lease.fence), entries)?;
        let fence = |sql: Sql| sql.int(integer(lease.fence.0));
        let sql = self.sql().push("WITH a AS MATERIALIZED (SELECT * FROM ");
        let sql = Self::append_call(sql, at, fence, append_id, entries, head);
        let sql = match snapshot {
            Some(snapshot) => {
                let sql = sql.push("), s AS MATERIALIZED (SELECT ");
                let sql = Self::snapshot_call(sql, at, version, snapshot);
                sql.push(" FROM a WHERE a.code = 'ok'")
            }
            None => sql.push("), s AS MATERIALIZED (SELECT NULL FROM a WHERE a.code = 'ok'"),
        };
        let sql = sql.push("), r AS MATERIALIZED (SELECT ");
        let sql = Self::release_call(sql, lease).push(" FROM s) ");
        let sql = sql.push("SELECT a.* FROM a LEFT JOIN r ON true");
        let answer = Answer::read(&self.row(sql, Again::Safe).await?)?;
        answer.ok(at.version).map(drop)
    }

    pub(super) async fn delete_if(
        &self,
        id: &SessionId,
        condition: DeleteIf,
    ) -> Result<(), StoreError> {
        let (version, force) = match condition {
            DeleteIf::Version(version) => (Some(version), false),
            DeleteIf::Any => (None, false),
            DeleteIf::Force => (None, true),
        };
        let sql = self.function("delete_1(").id(id).push(",");
        let sql = sql.optional_int(version.map(|version| integer(version.0)));
        let sql = sql.push(",").flag(force).push(",").int(TOMBSTONE_MILLIS);
        let answer = self.call(sql, Again::Never).await?;
        answer.ok(version.unwrap_or_default()).map(drop)
    }

    pub(super) async fn acquire_for(
        &self,
        id: &SessionId,
        claim: &Claim,
    ) -> Result<Lease, StoreError> {
        check_claim(claim)?;
        let sql = self.sql().push("SELECT * FROM ");
        let sql = Self::acquire_call(sql, id, claim);
        let answer = Answer::read(&self.row(sql, Again::Never).await?)?;
        given(id, claim, answer)
    }

    fn acquire_call(sql: Sql, id: &SessionId, claim: &Claim) -> Sql {
        let sql = sql.name("acquire_1(").id(id).push(",");
        let sql = sql.bytes(claim.holder.as_str().as_bytes()).push(",");
        let sql = sql.int(millis(claim.ttl)).push(",");
        sql.flag(claim.takeover == Takeover::Force).push(")")
    }

    /// The lease, and whether what begins a run was appended under it.
    pub(super) async fn acquire_with(
        &self,
        claim: &Claim,
        at: &Position,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
    ) -> Result<(Lease, bool), StoreError> {
        check_claim(claim)?;
        check_append(at, Some(Fence(0)), entries)?;
        let sql = self.sql().push("WITH l AS MATERIALIZED (SELECT * FROM ");
        let sql = Self::acquire_call(sql, &at.id, claim);
        // `is_untimely`, where the time is known.
        let sql =
            sql.push("), g AS MATERIALIZED (SELECT * FROM l WHERE code = 'ok' AND (version <> ");
        let sql = sql.int(integer(at.version.0)).push(" OR until - ");
        let (from, to) = timely(entries);
        let sql = sql.int(millis(claim.ttl)).push(" BETWEEN ");
        let sql = sql.int(from).push(" AND ").int(to);
        let sql = sql.push(")), a AS MATERIALIZED (SELECT a.code FROM g, LATERAL ");
        let fence = |sql: Sql| sql.push("g.fence");
        let sql = Self::append_call(sql, at, fence, append_id, entries, head);
        let sql = sql.push(" AS a) SELECT l.*, a.code FROM l LEFT JOIN a ON true");
        let row = self.row(sql, Again::Never).await?;
        let lease = given(&at.id, claim, Answer::read(&row)?)?;
        let is_appended = match Answer::code(&row, 6)? {
            Some(appended) => is_appended(appended.ok(at.version))?,
            None => false,
        };
        Ok((lease, is_appended))
    }

    pub(super) async fn renew_lease(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let sql = self.function("renew_1(").id(&lease.id).push(",");
        let sql = sql.bytes(lease.uid.as_bytes()).push(",");
        let sql = sql
            .int(integer(lease.fence.0))
            .push(",")
            .int(millis(lease.ttl));
        let answer = self.call(sql, Again::Safe).await?;
        let answer = answer.ok(Version(0))?;
        Ok(Lease {
            expires_at: answer.until(),
            ..lease.clone()
        })
    }

    fn release_call(sql: Sql, lease: &Lease) -> Sql {
        let sql = sql.name("release_1(").id(&lease.id).push(",");
        let sql = sql.bytes(lease.uid.as_bytes()).push(",");
        sql.int(integer(lease.fence.0)).push(")")
    }

    pub(super) async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let sql = self.sql().push("SELECT * FROM ");
        let sql = Self::release_call(sql, lease);
        let answer = Answer::read(&self.row(sql, Again::Safe).await?)?;
        answer.ok(Version(0)).map(drop)
    }

    fn snapshot_call(sql: Sql, at: &Position, version: Version, snapshot: &Snapshot) -> Sql {
        let place = Place::of(&snapshot.bytes);
        let sql = sql.name("put_snapshot_1(").session(at).push(",");
        let sql = sql.int(integer(version.0)).push(",");
        let sql = sql.int(integer(snapshot.version.0)).push(",");
        let sql = sql.bytes(snapshot.state_hash.as_bytes()).push(",");
        let sql = sql.bytes(snapshot.chain.as_bytes()).push(",");
        let sql = sql.bytes(&snapshot.bytes).push(",");
        sql.optional_bytes(place.hash()).push(")")
    }

    pub(super) async fn keep_snapshot(
        &self,
        at: &Position,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let sql = self.sql().push("SELECT * FROM ");
        let sql = Self::snapshot_call(sql, at, at.version, snapshot);
        let answer = Answer::read(&self.row(sql, Again::Safe).await?)?;
        match answer.ok(at.version) {
            Err(error) if error.reason == StoreReason::Refused => Err(unfit_snapshot()),
            answer => answer.map(drop),
        }
    }

    pub(super) async fn trim_to(&self, at: &Position, before: Version) -> Result<(), StoreError> {
        let sql = self.function("trim_1(").session(at).push(",");
        let sql = sql.int(integer(at.version.0)).push(",");
        let sql = sql.int(integer(before.0).saturating_sub(1));
        let answer = self.call(sql, Again::Safe).await?;
        match answer.ok(at.version) {
            Err(error) if error.reason == StoreReason::Refused => Err(uncovered_trim()),
            answer => answer.map(drop),
        }
    }
}
