//! The mirror: the folder of files, the local side.
//!
//! Reading order: [`document`] (the content of a file, pure), [`layout`] (the meaning of names), [`disk`] (the folder:
//! the port and its real implementation), [`mod@scan`] (folder → a list of its files) and [`lock`] (one process per
//! mirror). No symbolic link is followed, no unexpected file is replaced, and an unreadable file never counts as
//! absent. The decision what to write is made elsewhere.

pub(crate) mod check;
pub mod disk;
pub mod document;
pub mod git_ignore;
pub mod layout;
pub mod lock;
pub mod scan;

pub use disk::{At, Disk, DiskError, DiskErrorKind, Durability, Expect, RealDisk};
pub use document::{CategoryDocument, Changes, Document, NotReady};
pub use layout::Layout;
pub use lock::Lock;
pub use scan::{
    CategoryContent, KnownCategories, Scan, ScanError, ScannedCategory, ScannedFile, scan,
};
