//! Tells an entry of a listing again by its bytes, so that it need not be read a second time. Pure.
//!
//! Nearly every entry of a listing is, byte for byte, what it was the last time. Whoever kept the *marks* of
//! the entries that stand for what he holds gives them along ([`Familiar`]): such an entry is handed over as
//! [`super::Listed::Familiar`], with nothing unpacked, and without the digest of its body.
//!
//! A mark is a keyed hash (`HighwayHash`, 128 bits) of the bytes of an entry and of the category around it.
//! The key is drawn anew in each process and never leaves it, so that nobody can prepare two entries with
//! one mark, and two that meet by chance do so once in 2^128. A mark is no digest: it means nothing to
//! another process, and is never stored.
//!
//! Listings come in the same order, too, most of the time. So it is even known where an entry should end: when
//! the bytes up to there have the mark of the entry that is due, they are that entry, which was cut out and read
//! once, and nobody needs to look for its end a second time.

use crate::model::ArticleId;
use highway::{HighwayHash as _, HighwayHasher, Key};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

/// What an entry's bytes come to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mark {
    sum: [u64; 2],
    /// How many bytes that were, as far as this number goes.
    length: u32,
}

/// Makes marks, under a key of its own.
#[derive(Clone, Copy)]
pub struct Marker([u64; 4]);

impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Marker([redacted])")
    }
}

impl Marker {
    /// Draws a key.
    pub fn draw() -> Self {
        let (a, b) = Uuid::new_v4().as_u64_pair();
        let (c, d) = Uuid::new_v4().as_u64_pair();
        Self([a, b, c, d])
    }

    /// Marks a sequence of parts. Each is preceded by its length, so that no two sequences share a form.
    pub fn mark(self, parts: &[&[u8]]) -> Mark {
        let mut hasher = HighwayHasher::new(Key(self.0));
        for part in parts {
            hasher.append(&(part.len() as u64).to_le_bytes());
            hasher.append(part);
        }
        let length = parts.last().map_or(0, |part| part.len());
        Mark {
            sum: hasher.finalize128(),
            length: u32::try_from(length).unwrap_or(u32::MAX),
        }
    }
}

/// The marks of entries that need not be read again.
#[derive(Clone, Debug)]
pub struct Familiar {
    marker: Marker,
    /// In the order in which they came the last time.
    entries: Arc<Vec<(Mark, ArticleId)>>,
    places: Arc<HashMap<Mark, usize>>,
    /// Of these articles, what is held is something else by now: their entries are read.
    but: HashSet<ArticleId>,
}

impl Familiar {
    /// Entries with these marks are these articles. With none, every entry is read, and marked.
    pub fn new(marker: Marker, entries: Vec<(Mark, ArticleId)>) -> Self {
        let places = entries.iter().enumerate();
        Self {
            marker,
            places: Arc::new(places.map(|(at, (mark, _))| (*mark, at)).collect()),
            entries: Arc::new(entries),
            but: HashSet::new(),
        }
    }

    /// The same, but for the entries of some articles, which are read.
    #[must_use]
    pub fn but(&self, articles: HashSet<ArticleId>) -> Self {
        Self {
            but: articles,
            ..self.clone()
        }
    }

    /// The marks, in the order in which they came.
    pub fn entries(&self) -> &[(Mark, ArticleId)] {
        &self.entries
    }

    /// Marks the bytes of an entry, and of the id of the category around it.
    pub fn mark(&self, entry: &[u8], owner: &[u8]) -> Mark {
        self.marker.mark(&[owner, entry])
    }

    /// The article that a mark stands for.
    pub fn article(&self, mark: Mark) -> Option<ArticleId> {
        let (_, article) = self.find(mark)?;
        Some(article)
    }

    /// The article that a mark stands for, and where it came the last time.
    pub(super) fn find(&self, mark: Mark) -> Option<(usize, ArticleId)> {
        let at = *self.places.get(&mark)?;
        let (_, article) = *self.entries.get(at)?;
        (!self.but.contains(&article)).then_some((at, article))
    }

    /// The article whose entry was the `at`-th, and the entry's length, where these bytes begin with it.
    ///
    /// Only an entry that is an object is told: it ends where it ends, whatever comes after it.
    pub(super) fn begins(
        &self,
        at: usize,
        bytes: &[u8],
        owner: &[u8],
    ) -> Option<(usize, ArticleId)> {
        let (mark, article) = *self.entries.get(at)?;
        let entry = bytes.get(..usize::try_from(mark.length).ok()?)?;
        let is_object = entry.first() == Some(&b'{') && entry.last() == Some(&b'}');
        let met = is_object && !self.but.contains(&article) && self.mark(entry, owner) == mark;
        met.then_some((entry.len(), article))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_that_of_all_bytes_and_of_their_order() {
        let marker = Marker::draw();
        let mark = |parts: &[&[u8]]| marker.mark(parts);
        assert_eq!(mark(&[b"ab", b"c"]), mark(&[b"ab", b"c"]));
        for other in [
            &[b"a".as_slice(), b"bc"],
            &[b"c".as_slice(), b"ab"],
            &[b"ab".as_slice(), b"d"],
            &[b"ab".as_slice(), b"c\0"],
        ] {
            assert_ne!(mark(&[b"ab", b"c"]), mark(other), "{other:?}");
        }
        assert_ne!(mark(&[b"ab"]), mark(&[b"ab", b""]));
    }

    #[test]
    fn another_key_gives_other_marks_and_no_key_is_shown() {
        let (one, other) = (Marker::draw(), Marker::draw());
        assert_ne!(one.mark(&[b"x"]), other.mark(&[b"x"]));
        assert_eq!(format!("{one:?}"), "Marker([redacted])");
    }

    #[test]
    fn every_single_bit_of_an_entry_counts() {
        let familiar = Familiar::new(Marker::draw(), Vec::new());
        let entry: Vec<u8> = (0..=255).collect();
        let mark = familiar.mark(&entry, b"");
        for at in 0..entry.len() * 8 {
            let mut other = entry.clone();
            other[at / 8] ^= 1 << (at % 8);
            assert_ne!(familiar.mark(&other, b""), mark, "bit {at}");
        }
    }
}
