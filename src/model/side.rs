//! The two sides that are kept equal.

use serde::{Deserialize, Serialize};

/// Which side a version was seen on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The mirror.
    Local,
    /// The service.
    Remote,
    /// Both.
    Both,
}
