//! Tokens: every human write has a token of its own, so that the words in any text have a known origin.

/// The number of machine words in a set.
const WORDS: usize = 8;

/// A set of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tokens([u64; WORDS]);

/// The largest token of a run.
pub(crate) const MOST: u16 = 511;

/// Returns a token as text.
pub(crate) fn word(token: u16) -> String {
    format!("zq{token:03}z")
}

impl Tokens {
    /// Returns the tokens in some bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut tokens = Self::default();
        tokens.read(bytes);
        tokens
    }

    /// Adds the tokens in some bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(position) = memchr::memmem::find(rest, b"zq") {
            rest = &rest[position + 2..];
            if let Some([a, b, c, b'z']) = rest.get(..4).and_then(|part| part.first_chunk::<4>())
                && [a, b, c].iter().all(|digit| digit.is_ascii_digit())
            {
                let digit = |byte: &u8| u16::from(byte - b'0');
                self.insert(digit(a) * 100 + digit(b) * 10 + digit(c));
            }
        }
    }

    /// Adds a token.
    pub(crate) fn insert(&mut self, token: u16) {
        let index = usize::from(token);
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Returns whether a token is in the set.
    pub(crate) fn has(&self, token: u16) -> bool {
        let index = usize::from(token);
        self.0
            .get(index / 64)
            .is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// Adds all tokens of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    /// Removes all tokens of another set.
    pub(crate) fn remove(&mut self, other: &Self) {
        for (word, less) in self.0.iter_mut().zip(other.0) {
            *word &= !less;
        }
    }

    /// Returns the tokens that are not in another set.
    #[must_use]
    pub(crate) fn without(mut self, other: &Self) -> Self {
        self.remove(other);
        self
    }

    /// Returns the tokens that are also in another set.
    #[must_use]
    pub(crate) fn and(mut self, other: &Self) -> Self {
        for (word, both) in self.0.iter_mut().zip(other.0) {
            *word &= both;
        }
        self
    }

    /// Returns whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns all tokens of the set.
    pub(crate) fn all(&self) -> Vec<u16> {
        (0..=MOST).filter(|token| self.has(*token)).collect()
    }
}
