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

impl Side {
    /// The word for it, in logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Both => "both",
        }
    }
}
