//! Bodies and whole files: packed, and stored once however many versions name them.
//!
//! A body is there as long as a base, a version, a conflict or a pending request names it, and at least a day
//! after it was last put: `history` removes the rest. A body comes out as it went in, or not at all.
//!
//! The working memory of zstd is made once per store: making it anew costs more than packing a small body.

use super::{Store, Writing, one};
use crate::{
    model::{TextDigest, Timestamp},
    state::{StateError, StateResult},
};
use rusqlite::{Connection, params};
use std::{
    cell::RefCell,
    io::{self, Read as _},
};

/// The age at which the time of the last put is renewed, in milliseconds.
const RENEW_AFTER: i64 = 12 * 3_600_000;

impl Store {
    /// Reads a body; `None`: the body was never stored, or was pruned.
    pub fn body(&self, digest: TextDigest) -> StateResult<Option<String>> {
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

    /// Returns whether a body is stored.
    pub fn has_body(&self, digest: TextDigest) -> StateResult<bool> {
        let found = self.read(|conn| put_at(conn, digest))?;
        Ok(found.is_some())
    }
}

impl Writing<'_> {
    /// Stores a body. A body that is stored already costs one read.
    ///
    /// A row that names the body should be written within a day, at best in the same transaction.
    pub fn put_body(&mut self, text: &str) -> StateResult<TextDigest> {
        let digest = TextDigest::of(text);
        match put_at(self.sql()?, digest)? {
            Some(at) if at.is_recent(self.now, RENEW_AFTER) => {}
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
        Ok(digest)
    }
}

fn put_at(conn: &Connection, digest: TextDigest) -> rusqlite::Result<Option<Timestamp>> {
    let sql = "SELECT put_at FROM bodies WHERE digest = ?1";
    one(conn, sql, [digest], |row| row.get(0))
}

/// Unpacks a body, and trusts neither its size nor its bytes.
fn unpack(packing: &Packing, digest: TextDigest, size: u64, packed: &[u8]) -> StateResult<String> {
    let damaged = |source: Option<io::Error>| StateError {
        source: source.map(Into::into),
        ..StateError::corrupt(format!(
            "the stored body {digest} does not match its digest"
        ))
    };
    let bytes = packing
        .unpack(packed, size)
        .map_err(|error| damaged(Some(error)))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| damaged(Some(io::Error::new(io::ErrorKind::InvalidData, error))))?;
    if TextDigest::of(&text) == digest {
        Ok(text)
    } else {
        Err(damaged(None))
    }
}

/// Level 1 makes bodies of a few kilobytes as small as level 3 does, in two thirds of the time.
const LEVEL: i32 = 1;

/// The largest body for the kept packer and unpacker, in bytes. It is also the largest buffer that is reserved
/// before unpacking; the buffer of a larger body grows on the way.
const LARGE: usize = 1 << 20;

/// The packer and the unpacker, kept between bodies.
#[derive(Default)]
pub(super) struct Packing {
    packer: RefCell<Option<zstd::bulk::Compressor<'static>>>,
    unpacker: RefCell<Option<zstd::bulk::Decompressor<'static>>>,
}

impl std::fmt::Debug for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packing")
    }
}

impl Packing {
    /// Packs a body.
    pub(super) fn pack(&self, text: &str) -> io::Result<Vec<u8>> {
        if text.len() > LARGE {
            return zstd::bulk::compress(text.as_bytes(), LEVEL);
        }
        let mut kept = self.packer.borrow_mut();
        let packer = match &mut *kept {
            Some(packer) => packer,
            empty @ None => empty.insert(zstd::bulk::Compressor::new(LEVEL)?),
        };
        packer.compress(text.as_bytes())
    }

    /// Unpacks a body, up to `size` bytes and one more: the extra byte shows that the body is longer than it should be.
    pub(super) fn unpack(&self, packed: &[u8], size: u64) -> io::Result<Vec<u8>> {
        let Some(room) = usize::try_from(size).ok().filter(|&size| size <= LARGE) else {
            let mut text = Vec::with_capacity(LARGE);
            zstd::stream::read::Decoder::new(packed)?
                .take(size.saturating_add(1))
                .read_to_end(&mut text)?;
            return Ok(text);
        };
        let mut kept = self.unpacker.borrow_mut();
        let unpacker = match &mut *kept {
            Some(unpacker) => unpacker,
            empty @ None => empty.insert(zstd::bulk::Decompressor::new()?),
        };
        unpacker.decompress(packed, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_bodies_come_back_in_any_order() {
        let packing = Packing::default();
        let sizes = [0, 1, 7_000, LARGE, LARGE + 1, 12, 3 * LARGE, 500];
        let texts = sizes.map(|size| {
            "<p>Grüße</p>\n"
                .chars()
                .cycle()
                .take(size)
                .collect::<String>()
        });
        let packed = texts
            .clone()
            .map(|text| packing.pack(&text).expect("packed"));
        for (text, packed) in texts.iter().zip(&packed).rev() {
            let size = text.len() as u64;
            let unpacked = packing.unpack(packed, size).expect("unpacked");
            assert_eq!(unpacked, text.as_bytes(), "{size} bytes");
        }
    }

    #[test]
    fn what_unpacks_to_more_than_was_said_does_not_fill_the_memory() {
        let packing = Packing::default();
        let packed = packing.pack(&"x".repeat(50 << 20)).expect("packed");
        assert!(packed.len() < 10_000);
        packing
            .unpack(&packed, 10)
            .expect_err("more than there is room for");
        let size = LARGE as u64 + 1;
        let unpacked = packing.unpack(&packed, size).expect("cut off");
        assert_eq!(unpacked.len() as u64, size + 1);
        // An error leaves nothing behind.
        let small = packing.pack("small").expect("packed");
        assert_eq!(packing.unpack(&small, 5).expect("unpacked"), b"small");
        packing.unpack(b"no zstd at all", 5).expect_err("damaged");
        assert_eq!(packing.unpack(&small, 5).expect("unpacked"), b"small");
    }
}
