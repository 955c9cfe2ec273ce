//! The mirror: the folder of files, the local side.
//!
//! Read in this order: [`document`] (what a file says, pure), [`layout`] (which names count), [`disk`] (the
//! folder itself: the port and the real one), [`mod@scan`] (folder → what is there) and [`lock`] (one process
//! per mirror). No symbolic link is followed, nothing unexpected is replaced, and what cannot be read is
//! never absent. What to write is decided elsewhere.

pub(crate) mod check;
pub mod disk;
pub mod document;
pub mod git_ignore;
pub mod layout;
pub mod lock;
pub mod scan;

pub use disk::{At, Disk, DiskError, DiskErrorKind, Durability, Expect, RealDisk};
pub use document::{CategoryChanges, CategoryDocument, Changes, Document, NotReady};
pub use layout::Layout;
pub use lock::Lock;
pub use scan::{CategoryContent, Scan, ScanError, ScannedCategory, ScannedFile, scan};
