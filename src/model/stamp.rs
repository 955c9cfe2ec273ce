//! A file's stamp: equal stamps mean that the file was not touched.

use super::Digest;
use serde::{Deserialize, Serialize};

/// The properties of a file that show whether it was touched, without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    pub mtime: i64,
    /// Change time in nanoseconds since 1970.
    pub ctime: i64,
    /// The inode.
    pub inode: u64,
}

/// A file's stamp and the digest of its bytes, from one read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KnownFile {
    /// The stamp.
    pub stamp: Stamp,
    /// The digest of all bytes.
    pub digest: Digest,
}

impl KnownFile {
    /// Returns the stamp and the digest of a file that was read.
    pub fn of(stamp: Stamp, bytes: &[u8]) -> Self {
        Self {
            stamp,
            digest: Digest::of_parts(&[bytes]),
        }
    }
}

/// The clock's tick if times have fractions of a second, in nanoseconds.
const FINE: i64 = 20_000_000;

/// The tick if times are whole seconds (FAT counts in steps of two), in nanoseconds.
const COARSE: i64 = 2_000_000_000;

impl Stamp {
    /// Returns whether two stamps are of the same file with the same content. The change time may differ, because
    /// renaming a file changes it.
    pub fn same_content(&self, other: &Self) -> bool {
        (self.size, self.mtime, self.inode) == (other.size, other.mtime, other.inode)
    }

    /// Returns whether a staged file rested for a tick before it was put in place: then a write by anybody else changes
    /// its modification time.
    pub fn has_rested(&self) -> bool {
        self.mtime < self.ctime.saturating_sub(self.tick())
    }

    /// The tick of the clock that the file's times come from.
    fn tick(&self) -> i64 {
        if self.mtime % 1_000_000_000 == 0 {
            COARSE
        } else {
            FINE
        }
    }
}

/// Returns whether a stamp is not racy: a later write is certain to change it.
///
/// This is git's rule for racy entries: a file that was written within a tick of the clock before `now` (nanoseconds
/// since 1970) may be written again without a change of its stamp (failures row 83).
pub fn predates(stamp: &Stamp, now: i64) -> bool {
    let latest = now.saturating_sub(stamp.tick());
    stamp.mtime < latest && stamp.ctime < latest
}

/// Returns the stamp if it was not racy at `now`; `None`: it was racy.
pub fn trusted(stamp: Stamp, now: super::Timestamp) -> Option<Stamp> {
    predates(&stamp, now.0.saturating_mul(1_000_000)).then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f083_a_staged_file_has_rested_after_a_tick() {
        let second = 1_000_000_000;
        let cases = [
            ("put in place at once", second + 1, second + 1, false),
            ("within a tick", second + 1, second + FINE + 1, false),
            ("after a tick", second + 1, second + FINE + 2, true),
            ("whole seconds, after one", second, 2 * second, false),
            ("whole seconds, after three", second, 4 * second, true),
            ("a clock that was set back", 9 * second + 1, second, false),
        ];
        for (name, mtime, ctime, expected) in cases {
            let stamp = Stamp {
                mtime,
                ctime,
                ..Stamp::default()
            };
            assert_eq!(stamp.has_rested(), expected, "{name}");
        }
    }

    #[test]
    fn f083_stamps_within_a_tick_are_not_stored() {
        let second = 1_000_000_000;
        let now = 1_000 * second;
        let cases = [
            ("old", 10 * second + 1, 10 * second + 1, true),
            ("written just now", now - FINE + 1, now - FINE + 1, false),
            (
                "mtime put back, written just now",
                10 * second + 1,
                now - 1,
                false,
            ),
            ("fine and old enough", now - FINE - 1, now - FINE - 1, true),
            (
                "whole seconds, a second ago",
                now - second,
                now - second,
                false,
            ),
            (
                "whole seconds, three seconds ago",
                now - 3 * second,
                now - 3 * second,
                true,
            ),
            (
                "from the future",
                now + 5 * second + 1,
                now - 10 * second,
                false,
            ),
        ];
        for (name, mtime, ctime, expected) in cases {
            let stamp = Stamp {
                mtime,
                ctime,
                ..Stamp::default()
            };
            assert_eq!(predates(&stamp, now), expected, "{name}");
        }
    }
}
