//! Brings a database to this program's version, one transaction a step. It must never touch one that is newer.

use super::StoreFault;
use rusqlite::Connection;

/// What leads from version n to version n + 1.
const STEPS: &[&str] = &[include_str!("schema1.sql"), include_str!("schema2.sql")];

/// Brings `db` up to date.
pub(super) fn migrate(db: &mut Connection) -> Result<(), StoreFault> {
    let have: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(have).unwrap_or(usize::MAX);
    if done > STEPS.len() {
        return Err(StoreFault::Newer(have));
    }
    for (version, step) in (have + 1..).zip(STEPS.iter().skip(done)) {
        let tx = db.transaction()?;
        tx.execute_batch(step)?;
        tx.pragma_update(None, "user_version", version)?;
        tx.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_database_is_brought_to_the_version_of_this_program_once() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db).unwrap();
        migrate(&mut db).unwrap();
        let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version as usize, STEPS.len());
    }

    #[test]
    fn a_database_of_the_first_version_keeps_what_is_in_it() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch(STEPS[0]).unwrap();
        db.pragma_update(None, "user_version", 1).unwrap();
        let row = "INSERT INTO sessions VALUES (x'01', x'02', 's', 'default', x'03', '{}', 1, 2, 3, NULL)";
        db.execute(row, []).unwrap();
        migrate(&mut db).unwrap();
        let kept = "SELECT name, conversation FROM sessions";
        let kept: (String, Option<String>) =
            db.query_row(kept, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(kept, ("s".to_owned(), None));
    }

    #[test]
    fn a_newer_database_is_refused_and_left_as_it_is() {
        let mut db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "user_version", 999).unwrap();
        assert!(matches!(migrate(&mut db), Err(StoreFault::Newer(999))));
        let tables: u32 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 0);
    }
}
