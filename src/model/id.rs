//! Identifiers of the service: UUIDs (`docs/api.md`, A2), one type for each kind of object.
//!
//! They are always written in lower case with hyphens.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// Returns the UUID's bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text.trim()).map(Self)
            }
        }
    };
}

identifier! {
    /// An article's id.
    ArticleId
}
identifier! {
    /// A category's id.
    CategoryId
}
identifier! {
    /// A workspace's id (the service calls a workspace a "base").
    WorkspaceId
}

impl CategoryId {
    /// Makes a placeholder for the category of a folder that the service does not know yet.
    ///
    /// A plan may name the category before it exists; the engine replaces the placeholder by the real id. The
    /// placeholder is a version 8 UUID, which services do not assign.
    pub fn provisional(folder: &str) -> Self {
        let digest = super::digest::sha256(&[b"kbsync folder", folder.as_bytes()]);
        let mut bytes = [0_u8; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// Returns whether this id is a placeholder for a category to be created.
    pub fn is_provisional(self) -> bool {
        self.0.get_version_num() == 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_in_any_case_and_written_in_one() {
        let id: ArticleId = "5D0C3C1E-8A37-4C8E-9B1C-6A8F0A1F2B3C"
            .parse()
            .expect("a UUID");
        assert_eq!(id.to_string(), "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c");
        assert!("../../etc".parse::<ArticleId>().is_err());
    }

    #[test]
    fn provisional_ids_differ_by_folder_and_are_recognised() {
        let one = CategoryId::provisional("billing");
        assert_eq!(one, CategoryId::provisional("billing"));
        assert_ne!(one, CategoryId::provisional("Billing"));
        assert!(one.is_provisional());
        assert!(!CategoryId::new(Uuid::new_v4()).is_provisional());
    }
}
