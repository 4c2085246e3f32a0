//! Migrations: numbered, forward only, each recorded with its checksum.

use allm_core::{Hash, StoreError, StoreReason};

/// What opening a store does about a database that is empty or of an older release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Migrate {
    /// It is migrated. Programs that start together migrate it once.
    #[default]
    Auto,
    /// It is left as it is, and opening it is `schema_too_old`.
    Never,
}

/// One step from a schema to the next.
pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) sql: &'static str,
}

impl Migration {
    pub(crate) fn checksum(&self) -> Hash {
        Hash::of_bytes(self.sql.as_bytes())
    }
}

/// The first migration that a database still needs, by the numbers and checksums that it recorded, in order.
///
/// # Errors
///
/// `schema_too_new` when it has one that is not known here; `corrupt` when it was migrated with another text of one.
pub(crate) fn next<'a>(
    known: &'a [Migration],
    applied: &[(i64, Vec<u8>)],
) -> Result<Option<&'a Migration>, StoreError> {
    if let Some((newest, _)) = applied.last()
        && known.iter().all(|migration| migration.number < *newest)
    {
        let message = format!("the database has schema {newest}, which is newer than this library");
        return Err(StoreError::new(StoreReason::SchemaTooNew, message));
    }
    for migration in known {
        let found = (applied.iter()).find(|(number, _)| *number == migration.number);
        match found {
            None => return Ok(Some(migration)),
            Some((_, checksum)) if checksum == migration.checksum().as_bytes() => {}
            Some(_) => {
                let number = migration.number;
                let message = format!("migration {number} is not the one this database has had");
                return Err(StoreError::new(StoreReason::Corrupt, message));
            }
        }
    }
    Ok(None)
}

pub(crate) fn too_old(next: &Migration) -> StoreError {
    let number = next.number;
    let message = format!("the database needs migration {number} first");
    StoreError::new(StoreReason::SchemaTooOld, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s118_the_next_migration_and_what_does_not_fit() {
        let known = [1, 2].map(|number| Migration { number, sql: "x" });
        let sum = known[0].checksum().as_bytes().to_vec();
        let found = |applied: &[(i64, Vec<u8>)]| {
            let found = next(&known, applied);
            found
                .map(|next| next.map(|next| next.number))
                .map_err(|error| error.reason)
        };
        assert_eq!(found(&[]), Ok(Some(1)));
        assert_eq!(found(&[(1, sum.clone())]), Ok(Some(2)));
        assert_eq!(found(&[(1, sum.clone()), (2, sum.clone())]), Ok(None));
        assert_eq!(found(&[(1, vec![0; 32])]), Err(StoreReason::Corrupt));
        // Newer comes first: what a newer library has made of the others is not ours to judge.
        let newer = [(1, vec![0; 32]), (2, sum.clone()), (3, sum)];
        assert_eq!(found(&newer), Err(StoreReason::SchemaTooNew));
    }
}
