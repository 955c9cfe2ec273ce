//! Whether the base is at rest: the last whole look left nothing open, and no row was written since that a look at
//! a few articles could not see.
//!
//! The mark is a value that the engine chooses. It goes with a write of a category's words, of a conflict, of a new
//! or removed article, of an article's place, and of a row that waits for another write.

use super::{Store, Writing, columns::place, one};
use crate::model::{ArticleId, Place};
use crate::state::{ArticleRow, CategoryRow, Outcome};

/// The mark's key.
const AT_REST: &str = "at_rest";

impl Store {
    /// Returns the mark, while the base is at rest.
    pub fn at_rest(&self) -> Outcome<Option<String>> {
        self.meta(AT_REST)
    }
}

impl Writing<'_> {
    /// Marks the base as at rest.
    pub fn rest(&mut self, mark: &str) -> Outcome<()> {
        self.set_meta(AT_REST, mark)
    }

    /// Removes the mark.
    pub fn end_rest(&mut self) -> Outcome<()> {
        self.remove_meta(AT_REST)
    }

    fn is_at_rest(&self) -> Outcome<bool> {
        let sql = "SELECT 1 FROM meta WHERE key = ?1";
        Ok(one(self.sql()?, sql, [AT_REST], |_row| Ok(()))?.is_some())
    }

    /// Removes the mark before a write of an article's row, unless only its versions change.
    pub(super) fn end_rest_before_article(&mut self, row: &ArticleRow) -> Outcome<()> {
        if !self.is_at_rest()? {
            return Ok(());
        }
        let waits =
            row.local.slug != row.remote.slug || row.has_replaced(&row.remote, &row.revision);
        if waits || self.place_of(row.id)?.as_ref() != Some(&row.place) {
            self.end_rest()?;
        }
        Ok(())
    }

    /// Removes the mark before a write of a category's row, unless only its times change.
    pub(super) fn end_rest_before_category(&mut self, row: &CategoryRow) -> Outcome<()> {
        if !self.is_at_rest()? {
            return Ok(());
        }
        let same = self.category(row.id)?.is_some_and(|known| {
            (&known.folder, &known.local, &known.remote) == (&row.folder, &row.local, &row.remote)
        });
        if same { Ok(()) } else { self.end_rest() }
    }

    fn place_of(&self, id: ArticleId) -> Outcome<Option<Place>> {
        let sql = "SELECT folder, file FROM articles WHERE id = ?1";
        Ok(one(self.sql()?, sql, [id], |row| place(row, 0))?)
    }
}
