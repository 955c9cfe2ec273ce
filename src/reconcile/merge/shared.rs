//! Which of the changes of a newer version an edit has: an edit of the newer version has them, an edit of the version
//! before lacks them.
//!
//! A change that the edit touches counts for neither: nobody can tell which of the two versions was edited. White space
//! does not count, and a unit without text has no place of its own.

use super::hunks::{Stretch, hunks, stretches};
use super::{Units, has_only_tags};
use crate::model::Texts;
use imara_diff::Token;

/// The changes from an older version to a newer one, as far as an edit has or lacks them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shared {
    has_some: bool,
    lacks_some: bool,
}

impl Shared {
    /// Returns whether the edit is one of the older version: it lacks a change of the newer version, and has none.
    pub const fn is_of_older(self) -> bool {
        self.lacks_some && !self.has_some
    }

    /// Adds the fields that the newer version changed, except the place: a file may be renamed back without its words.
    #[must_use]
    pub fn words<T: Texts>(self, older: &T, edit: &T, newer: &T) -> Self {
        let mut changed = older.differing(newer);
        changed.retain(|field| !field.is_of_place());
        self.and(
            changed.iter().any(|field| edit.agrees(newer, *field)),
            changed.iter().any(|field| edit.agrees(older, *field)),
        )
    }

    /// Adds a value that the newer version may have changed.
    #[must_use]
    pub fn value<T: PartialEq>(self, older: &T, edit: &T, newer: &T) -> Self {
        let is_changed = older != newer;
        self.and(is_changed && edit == newer, is_changed && edit == older)
    }

    /// Adds the places of a body that the newer version changed.
    #[must_use]
    pub fn body(self, older: &str, edit: &str, newer: &str) -> Self {
        let Units {
            interner,
            mut texts,
            blank,
        } = Units::of([older, edit, newer]);
        for text in &mut texts {
            text.retain(|unit| !blank[unit.0 as usize]);
        }
        let [older, edit, newer] = &texts;
        let is_blank = |_: Token| false;
        let sides = [edit, newer].map(|side| hunks(older, side, blank.len(), &is_blank));
        let places = stretches(&sides, older, &is_blank);
        let [in_older, in_edit, in_newer] = texts.each_ref().map(|text| {
            let mut is_there = vec![false; blank.len()];
            for unit in text {
                is_there[unit.0 as usize] = true;
            }
            is_there
        });
        let has_text = |unit: &Token| !has_only_tags(interner[*unit]);
        // Neighbouring changes of the edit and of the newer version are one place, but show by their units.
        let has_added = newer.iter().any(|unit| {
            let at = unit.0 as usize;
            in_edit[at] && !in_older[at] && has_text(unit)
        });
        // A move alone adds and removes no unit, and an edit of a moved unit looks like the older order.
        let lacks = |place: &Stretch<'_>| {
            let [ours, theirs] = place.renditions(older);
            let mut added = theirs.iter().filter(|unit| has_text(unit));
            added.any(|unit| !in_edit[unit.0 as usize])
                || ours.iter().any(|unit| !in_newer[unit.0 as usize])
        };
        let mut untouched = places.iter().filter(|place| place.is_only_theirs());
        self.and(
            has_added || places.iter().any(|place| place.is_agreed(older)),
            untouched.any(lacks),
        )
    }

    const fn and(self, has_some: bool, lacks_some: bool) -> Self {
        Self {
            has_some: self.has_some || has_some,
            lacks_some: self.lacks_some || lacks_some,
        }
    }
}
