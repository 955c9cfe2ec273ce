//! A short keyed hash of bytes; `service::fingerprint` makes it.

/// 16 bytes of a keyed hash, and the number of the hashed bytes in 4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint([u8; 20]);

impl Fingerprint {
    /// Makes a fingerprint of a hash and a number of bytes, as far as 4 bytes hold it.
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

    /// Returns the number of bytes, as far as it is held.
    pub fn length(&self) -> u32 {
        let [.., a, b, c, d] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}
