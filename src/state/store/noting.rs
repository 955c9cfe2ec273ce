//! What was written since a moment: whoever keeps something of what was read knows by it what to read again.
//!
//! Every write of this store notes the articles that it concerns, whether or not it comes to its commit. What
//! another connection wrote is told by the database itself (`PRAGMA data_version`), though not what it was.

use super::Store;
use crate::model::ArticleId;
use crate::state::Outcome;
use std::collections::BTreeSet;

/// Articles beyond these are not noted one by one: reading everything is as quick.
const MOST: usize = 512;

/// What was written since the noting began.
#[derive(Debug, Default)]
pub(super) struct Noting {
    /// The database's version when it began; `None`: it did not, or there was too much to note.
    version: Option<i64>,
    articles: BTreeSet<ArticleId>,
}

impl Noting {
    /// Notes that an article's row is written.
    pub(super) fn article(&mut self, id: ArticleId) {
        if self.version.is_some() {
            self.articles.insert(id);
            if self.articles.len() > MOST {
                self.end();
            }
        }
    }

    /// Notes that something is written that concerns more than one article.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }
}

impl Store {
    /// Begins to note anew what is written to the rows of articles, categories and conflicts. Single values are read
    /// anew as well.
    pub fn begin_noting(&mut self) -> Outcome<()> {
        self.values.get_mut().take();
        self.noting = Noting {
            version: Some(self.data_version()?),
            articles: BTreeSet::new(),
        };
        Ok(())
    }

    /// Gives the articles whose rows may have been written since the noting began, and begins anew. `None`: it
    /// cannot be told, and everything that was read before is to be read again: another process wrote to the
    /// database, it was cleared, a category or a conflict was written, or many articles.
    pub fn noted(&mut self) -> Outcome<Option<BTreeSet<ArticleId>>> {
        let version = self.data_version()?;
        if self.noting.version != Some(version) {
            self.noting.end();
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.noting.articles)))
    }

    fn data_version(&self) -> Outcome<i64> {
        self.read(|conn| {
            conn.prepare_cached("PRAGMA data_version")?
                .query_row([], |row| row.get(0))
        })
    }
}
