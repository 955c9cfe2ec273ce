//! New articles whose id is not confirmed: the service created them, and no `id:` line is known to be in their file.
//!
//! The id is recorded with the article's row, and goes with it. Who confirms an id has made the file durable before.

use super::{Store, Writing, columns::collect};
use crate::model::ArticleId;
use crate::state::Outcome;
use std::collections::BTreeSet;

impl Store {
    /// Reads the ids that are not confirmed.
    pub fn unconfirmed_ids(&self) -> Outcome<BTreeSet<ArticleId>> {
        self.read(|conn| {
            let ids: Vec<ArticleId> = collect(
                conn.prepare_cached("SELECT article FROM unconfirmed_ids")?
                    .query_map([], |row| row.get(0))?,
            )?;
            Ok(ids.into_iter().collect())
        })
    }
}

impl Writing<'_> {
    /// Records that no file is known to have this id.
    pub fn put_unconfirmed_id(&mut self, id: ArticleId) -> Outcome<()> {
        self.sql()?
            .prepare_cached("INSERT OR IGNORE INTO unconfirmed_ids (article) VALUES (?1)")?
            .execute([id])?;
        Ok(())
    }

    /// Records that the article's file has its id, or that the article is forgotten.
    pub fn remove_unconfirmed_id(&mut self, id: ArticleId) -> Outcome<()> {
        self.sql()?
            .prepare_cached("DELETE FROM unconfirmed_ids WHERE article = ?1")?
            .execute([id])?;
        Ok(())
    }
}
