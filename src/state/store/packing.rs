//! Packing and unpacking of bodies, with what zstd needs for it made once per store: making that anew costs
//! more than packing a small body.
//!
//! The packer and the unpacker are kept between bodies, and are bounded: a large body gets its own.

use std::cell::RefCell;
use std::io::{self, Read as _};

/// Level 1 makes bodies of a few kilobytes as small as level 3 does, in two thirds of the time.
const LEVEL: i32 = 1;

/// The largest body for the kept packer and unpacker, in bytes. It is also the largest buffer that is reserved
/// before unpacking; the buffer of a larger body grows on the way.
const LARGE: usize = 1 << 20;

/// The packer and the unpacker, kept between bodies.
#[derive(Default)]
pub(super) struct Packing {
    packer: RefCell<Option<zstd::bulk::Compressor<'static>>>,
    unpacker: RefCell<Option<zstd::bulk::Decompressor<'static>>>,
}

impl std::fmt::Debug for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packing")
    }
}

impl Packing {
    /// Packs a body.
    pub(super) fn pack(&self, text: &str) -> io::Result<Vec<u8>> {
        if text.len() > LARGE {
            return zstd::bulk::compress(text.as_bytes(), LEVEL);
        }
        let mut kept = self.packer.borrow_mut();
        let packer = match &mut *kept {
            Some(packer) => packer,
            empty @ None => empty.insert(zstd::bulk::Compressor::new(LEVEL)?),
        };
        packer.compress(text.as_bytes())
    }

    /// Unpacks at most `size` bytes, and one more if there are more.
    pub(super) fn unpack(&self, packed: &[u8], size: u64) -> io::Result<Vec<u8>> {
        let Some(room) = usize::try_from(size).ok().filter(|&size| size <= LARGE) else {
            let mut text = Vec::with_capacity(LARGE);
            zstd::stream::read::Decoder::new(packed)?
                .take(size.saturating_add(1))
                .read_to_end(&mut text)?;
            return Ok(text);
        };
        let mut kept = self.unpacker.borrow_mut();
        let unpacker = match &mut *kept {
            Some(unpacker) => unpacker,
            empty @ None => empty.insert(zstd::bulk::Decompressor::new()?),
        };
        unpacker.decompress(packed, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_bodies_come_back_in_any_order() {
        let packing = Packing::default();
        let sizes = [0, 1, 7_000, LARGE, LARGE + 1, 12, 3 * LARGE, 500];
        let texts = sizes.map(|size| {
            "<p>Grüße</p>\n"
                .chars()
                .cycle()
                .take(size)
                .collect::<String>()
        });
        let packed = texts
            .clone()
            .map(|text| packing.pack(&text).expect("packed"));
        for (text, packed) in texts.iter().zip(&packed).rev() {
            let size = text.len() as u64;
            let unpacked = packing.unpack(packed, size).expect("unpacked");
            assert_eq!(unpacked, text.as_bytes(), "{size} bytes");
        }
    }

    #[test]
    fn what_unpacks_to_more_than_was_said_does_not_fill_the_memory() {
        let packing = Packing::default();
        let packed = packing.pack(&"x".repeat(50 << 20)).expect("packed");
        assert!(packed.len() < 10_000);
        packing
            .unpack(&packed, 10)
            .expect_err("more than there is room for");
        let size = LARGE as u64 + 1;
        let unpacked = packing.unpack(&packed, size).expect("cut off");
        assert_eq!(unpacked.len() as u64, size + 1);
        // An error leaves nothing behind.
        let small = packing.pack("small").expect("packed");
        assert_eq!(packing.unpack(&small, 5).expect("unpacked"), b"small");
        packing.unpack(b"no zstd at all", 5).expect_err("damaged");
        assert_eq!(packing.unpack(&small, 5).expect("unpacked"), b"small");
    }
}
