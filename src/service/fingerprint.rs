//! Recognises the known entries of a listing by the fingerprints of their bytes, so that they need not be parsed.
//! Pure.
//!
//! Nearly every entry of a listing is byte for byte the same as in the last listing. A caller stores the fingerprints
//! of the entries, and passes them with its next request ([`KnownEntries`]). An entry with such a fingerprint is passed
//! on as [`super::Listed::Known`], without being parsed and without a digest of its body.
//!
//! A fingerprint is a keyed hash (`HighwayHash`, 128 bits) of the bytes of an entry and of the id of the category
//! around it. The key is drawn at random and stored beside the fingerprints, in the state, which nobody else can read.
//! So nobody can prepare two entries with the same fingerprint, and a collision by chance has a probability of 2^-128.
//!
//! Listings mostly keep their order, too, so the length of the next entry is known: if that many bytes have the
//! fingerprint of the next known entry, they are that entry, and its end need not be searched.

use crate::model::{ArticleId, Fingerprint};
use highway::{HighwayHash as _, HighwayHasher, Key};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

/// Makes fingerprints with its own key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprinter([u64; 4]);

impl fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprinter([redacted])")
    }
}

impl Fingerprinter {
    /// Draws a key.
    pub fn draw() -> Self {
        let (a, b) = Uuid::new_v4().as_u64_pair();
        let (c, d) = Uuid::new_v4().as_u64_pair();
        Self([a, b, c, d])
    }

    /// Returns the key as text, for the state.
    pub fn key(self) -> String {
        self.0.map(|part| format!("{part:016x}")).concat()
    }

    /// Reads a key that was stored as text.
    pub fn with_key(text: &str) -> Option<Self> {
        let mut key = [0; 4];
        for (at, part) in key.iter_mut().enumerate() {
            *part = u64::from_str_radix(text.get(at * 16..at * 16 + 16)?, 16).ok()?;
        }
        (text.len() == 64).then_some(Self(key))
    }

    /// Returns the fingerprint of a sequence of parts. Each part is preceded by its length, so that no two sequences
    /// have the same bytes.
    pub fn fingerprint(self, parts: &[&[u8]]) -> Fingerprint {
        let mut hasher = HighwayHasher::new(Key(self.0));
        for part in parts {
            hasher.append(&(part.len() as u64).to_le_bytes());
            hasher.append(part);
        }
        let [high, low] = hasher.finalize128();
        let hash = (u128::from(high) << 64) | u128::from(low);
        Fingerprint::new(hash, parts.last().map_or(0, |part| part.len()))
    }
}

/// The fingerprints of entries that need not be parsed again.
#[derive(Clone, Debug)]
pub struct KnownEntries {
    fingerprinter: Fingerprinter,
    /// In the order of the last listing.
    entries: Arc<Vec<(Fingerprint, ArticleId)>>,
    places: Arc<HashMap<Fingerprint, usize>>,
    /// Articles whose stored version has changed since the last listing: their entries are parsed.
    except: HashSet<ArticleId>,
}

impl KnownEntries {
    /// Takes the known entries. Without known entries, every entry is parsed and gets a fingerprint.
    pub fn new(fingerprinter: Fingerprinter, entries: Vec<(Fingerprint, ArticleId)>) -> Self {
        let places = entries.iter().enumerate();
        Self {
            fingerprinter,
            places: Arc::new(
                places
                    .map(|(at, (fingerprint, _))| (*fingerprint, at))
                    .collect(),
            ),
            entries: Arc::new(entries),
            except: HashSet::new(),
        }
    }

    /// Returns a copy in which the entries of some articles are parsed.
    #[must_use]
    pub fn except(&self, articles: HashSet<ArticleId>) -> Self {
        Self {
            except: articles,
            ..self.clone()
        }
    }

    /// Returns the fingerprints, in the order of the last listing.
    pub fn entries(&self) -> &[(Fingerprint, ArticleId)] {
        &self.entries
    }

    /// Returns the fingerprint of an entry and of the id of the category around it.
    pub fn fingerprint(&self, entry: &[u8], owner: &[u8]) -> Fingerprint {
        self.fingerprinter.fingerprint(&[owner, entry])
    }

    /// Returns the article of a fingerprint.
    pub fn article(&self, fingerprint: Fingerprint) -> Option<ArticleId> {
        let (_, article) = self.find(fingerprint)?;
        Some(article)
    }

    /// Returns the article of a fingerprint, and its index in the last listing.
    pub(super) fn find(&self, fingerprint: Fingerprint) -> Option<(usize, ArticleId)> {
        let at = *self.places.get(&fingerprint)?;
        let (_, article) = *self.entries.get(at)?;
        (!self.except.contains(&article)).then_some((at, article))
    }

    /// Returns the length and the article of the `at`-th known entry, if these bytes begin with that entry.
    ///
    /// Only an object is recognised, because its end does not depend on the bytes after it.
    pub(super) fn begins(
        &self,
        at: usize,
        bytes: &[u8],
        owner: &[u8],
    ) -> Option<(usize, ArticleId)> {
        let (fingerprint, article) = *self.entries.get(at)?;
        let entry = bytes.get(..usize::try_from(fingerprint.length()).ok()?)?;
        let is_object = entry.first() == Some(&b'{') && entry.last() == Some(&b'}');
        let met = is_object
            && !self.except.contains(&article)
            && self.fingerprint(entry, owner) == fingerprint;
        met.then_some((entry.len(), article))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_that_of_all_bytes_and_of_their_order() {
        let fingerprinter = Fingerprinter::draw();
        let of = |parts: &[&[u8]]| fingerprinter.fingerprint(parts);
        assert_eq!(of(&[b"ab", b"c"]), of(&[b"ab", b"c"]));
        for other in [
            &[b"a".as_slice(), b"bc"],
            &[b"c".as_slice(), b"ab"],
            &[b"ab".as_slice(), b"d"],
            &[b"ab".as_slice(), b"c\0"],
        ] {
            assert_ne!(of(&[b"ab", b"c"]), of(other), "{other:?}");
        }
        assert_ne!(of(&[b"ab"]), of(&[b"ab", b""]));
    }

    #[test]
    fn another_key_gives_other_marks_and_no_key_is_shown() {
        let (one, other) = (Fingerprinter::draw(), Fingerprinter::draw());
        assert_ne!(one.fingerprint(&[b"x"]), other.fingerprint(&[b"x"]));
        assert_eq!(format!("{one:?}"), "Fingerprinter([redacted])");
    }

    #[test]
    fn a_key_comes_back_as_it_was_stored() {
        let fingerprinter = Fingerprinter::draw();
        let again = Fingerprinter::with_key(&fingerprinter.key()).expect("a key");
        assert!(again == fingerprinter);
        let fingerprint = fingerprinter.fingerprint(&[b"some", b"bytes"]);
        assert_eq!(fingerprint.length(), 5);
        let key = fingerprinter.key();
        for other in ["", "x", &key[1..], &format!("{key}0")] {
            assert!(Fingerprinter::with_key(other).is_none(), "{other}");
        }
    }

    #[test]
    fn every_single_bit_of_an_entry_counts() {
        let known = KnownEntries::new(Fingerprinter::draw(), Vec::new());
        let entry: Vec<u8> = (0..=255).collect();
        let fingerprint = known.fingerprint(&entry, b"");
        for at in 0..entry.len() * 8 {
            let mut other = entry.clone();
            other[at / 8] ^= 1 << (at % 8);
            assert_ne!(known.fingerprint(&other, b""), fingerprint, "bit {at}");
        }
    }
}
