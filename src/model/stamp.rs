//! A file's stamp: equal stamps mean that the file was not touched.

use serde::{Deserialize, Serialize};

/// What tells whether a file was touched, without reading it.
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
