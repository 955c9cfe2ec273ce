//! Bodies and whole files: packed, and stored once however many versions name them.
//!
//! A body is there as long as a base, a version, a conflict or a pending request names it, and at least a day
//! after it was last put: `history` removes the rest. What comes out is what went in, or an error.

use super::{Store, Writing, one, packing::Packing};
use crate::{
    model::{TextDigest, Timestamp},
    state::{Outcome, StateError},
};
use rusqlite::{Connection, params};

/// The age at which the mark of the last put is renewed, in milliseconds.
const RENEW_AFTER: u64 = 12 * 3_600_000;

impl Store {
    /// Loads a body. `None`: it is not there, or no longer.
    pub fn body(&self, digest: TextDigest) -> Outcome<Option<String>> {
        let found = self.one(
            "SELECT size, packed FROM bodies WHERE digest = ?1",
            [digest],
            |row| {
                let size = row.get::<_, i64>(0)?.cast_unsigned();
                let packed = row.get_ref(1)?.as_blob()?;
                Ok(unpack(&self.packing, digest, size, packed))
            },
        )?;
        let text = found.transpose();
        text.map_err(|error| error.at(self.path.as_deref()))
    }

    /// Returns whether a body is there.
    pub fn has_body(&self, digest: TextDigest) -> Outcome<bool> {
        let found = self.read(|conn| put_at(conn, digest))?;
        Ok(found.is_some())
    }
}

impl Writing<'_> {
    /// Keeps a body. One that is there already costs a look.
    ///
    /// A row that names the body should be written within a day, at best in the same transaction.
    pub fn put_body(&mut self, text: &str) -> Outcome<TextDigest> {
        let digest = TextDigest::of(text);
        self.put_body_of(digest, text)?;
        Ok(digest)
    }

    /// Keeps a body whose digest is known.
    pub fn put_body_of(&mut self, digest: TextDigest, text: &str) -> Outcome<()> {
        debug_assert_eq!(digest, TextDigest::of(text));
        match put_at(self.sql()?, digest)? {
            Some(at) if at <= self.now && self.now.millis_since(at) < RENEW_AFTER => {}
            Some(_stale) => {
                self.run(
                    "UPDATE bodies SET put_at = ?2 WHERE digest = ?1",
                    params![digest, self.now],
                )?;
            }
            None => {
                let packed = self.packing.pack(text).map_err(StateError::io)?;
                let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
                self.run(
                    "INSERT INTO bodies (digest, size, packed, put_at) VALUES (?1, ?2, ?3, ?4)",
                    params![digest, size, packed, self.now],
                )?;
            }
        }
        Ok(())
    }
}

fn put_at(conn: &Connection, digest: TextDigest) -> rusqlite::Result<Option<Timestamp>> {
    let sql = "SELECT put_at FROM bodies WHERE digest = ?1";
    one(conn, sql, [digest], |row| row.get(0))
}

/// Unpacks a body, and trusts neither its size nor its bytes.
fn unpack(packing: &Packing, digest: TextDigest, size: u64, packed: &[u8]) -> Outcome<String> {
    let damaged = |source: Option<std::io::Error>| StateError {
        source: source.map(Into::into),
        ..StateError::corrupt(format!("the body {digest} is not what was kept"))
    };
    let bytes = packing
        .unpack(packed, size)
        .map_err(|error| damaged(Some(error)))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        damaged(Some(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            error,
        )))
    })?;
    if TextDigest::of(&text) == digest {
        Ok(text)
    } else {
        Err(damaged(None))
    }
}
