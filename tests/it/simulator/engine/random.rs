//! Pseudo-random numbers that are the same for the same seed, on every machine.
//!
//! Each purpose has a stream of its own, keyed by the seed and a name: numbers taken from one stream do not shift
//! another.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns the stream of that name.
    pub(crate) fn stream(seed: u64, name: &str) -> Self {
        let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        Self(state)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `limit`; 0 if the limit is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % limit).unwrap_or_default()
    }

    /// Like [`Self::below`], for small numbers.
    pub(crate) fn small(&mut self, limit: u8) -> u8 {
        u8::try_from(self.below(usize::from(limit))).unwrap_or_default()
    }

    /// Returns true so many times in a hundred.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// Returns one of several; `None`: there are none.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}

/// Mixes the bits of a number (splitmix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
