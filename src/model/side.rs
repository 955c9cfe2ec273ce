//! The two sides of a sync.

use serde::{Deserialize, Serialize};

/// The side of a version.
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

impl Side {
    /// Returns the name, for logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Both => "both",
        }
    }
}
