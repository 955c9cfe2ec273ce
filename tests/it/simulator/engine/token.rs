//! Tokens: every human write carries one of its own, so that any text can be asked whose words it holds.

/// How many tokens a run may have.
const WORDS: usize = 8;

/// A set of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tokens([u64; WORDS]);

/// The most tokens of one run.
pub(crate) const MOST: u16 = 511;

/// A token as it is written.
pub(crate) fn word(token: u16) -> String {
    format!("zq{token:03}z")
}

impl Tokens {
    /// The tokens in some bytes.
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

    /// Adds one.
    pub(crate) fn insert(&mut self, token: u16) {
        let index = usize::from(token);
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Returns whether one is in.
    pub(crate) fn has(&self, token: u16) -> bool {
        let index = usize::from(token);
        self.0
            .get(index / 64)
            .is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// Adds all of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    /// Takes all of another set out.
    pub(crate) fn remove(&mut self, other: &Self) {
        for (word, less) in self.0.iter_mut().zip(other.0) {
            *word &= !less;
        }
    }

    /// Those that are not in another set.
    #[must_use]
    pub(crate) fn without(mut self, other: &Self) -> Self {
        self.remove(other);
        self
    }

    /// Those that are in another set, too.
    #[must_use]
    pub(crate) fn and(mut self, other: &Self) -> Self {
        for (word, both) in self.0.iter_mut().zip(other.0) {
            *word &= both;
        }
        self
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<u16> {
        (0..=MOST).filter(|token| self.has(*token)).collect()
    }
}
