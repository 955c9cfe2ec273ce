//! SHA-256 of canonical forms: equal digests mean equal values.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A keyed hash in 16 bytes, and the number of hashed bytes in 4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint([u8; 20]);

impl Fingerprint {
    /// Makes a fingerprint of a hash and a number of bytes; a number beyond 4 bytes is capped.
    pub fn new(hash: u128, length: usize) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&hash.to_be_bytes());
        bytes[16..].copy_from_slice(&length.to_be_bytes());
        Self(bytes)
    }

    /// Wraps the 20 bytes of a fingerprint.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Returns the 20 bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Returns the number of hashed bytes, or `u32::MAX` if there were more.
    pub fn length(&self) -> u32 {
        let [.., a, b, c, d] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Wraps the 32 bytes of a digest.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// Returns the 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(f, &self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(f, &self.0[..4])
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                parse_hex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("a digest is 64 hex digits"))
            }
        }
    };
}

digest! {
    /// The digest of an article's canonical form.
    Digest
}
digest! {
    /// The digest of a body: an article's `text`, byte for byte.
    TextDigest
}

impl TextDigest {
    /// Returns the digest of a body.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl Digest {
    /// Returns the digest of a sequence of parts. Each part is preceded by its length, so that different sequences
    /// never hash the same bytes.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        Self(sha256(parts))
    }
}

/// Hashes parts, each preceded by its length in bytes.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Writes bytes as hex digits: formatting each byte as a number would take many times as long.
fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let mut text = String::with_capacity(64);
    for byte in bytes {
        text.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    f.write_str(&text)
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0_u8; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(
            Digest::of_parts(&[b"ab", b"c"]),
            Digest::of_parts(&[b"a", b"bc"])
        );
        assert_ne!(Digest::of_parts(&[b"a"]), Digest::of_parts(&[b"a", b""]));
    }

    #[test]
    fn a_digest_survives_its_text_form() {
        let digest = TextDigest::of("<p>Hello</p>");
        let text = serde_json::to_string(&digest).expect("a string");
        assert_eq!(
            serde_json::from_str::<TextDigest>(&text).expect("the same"),
            digest
        );
        assert_eq!(text.len(), 66);
    }
}
