//! The domain's types: ids, articles, categories, digests and paths.
//!
//! All types are plain values. Nothing here reads a clock, a file or the network, and nothing logs. Every other module
//! may use this one, and it uses none of them.

pub mod article;
pub mod base;
pub mod category;
pub mod digest;
pub mod exit;
pub mod host;
pub mod html;
pub mod id;
pub mod limits;
pub mod path;
pub mod stamp;
pub mod time;
pub mod yaml;

pub use article::{Field, Figures, Flags, Revision, Side, Texts, Version};
pub use category::CategoryVersion;
pub use digest::{Digest, Fingerprint, TextDigest};
pub use exit::ExitCode;
pub use id::{ArticleId, CategoryId, WorkspaceId};
pub use path::Place;
pub use stamp::{KnownFile, Stamp};
pub use time::Timestamp;
