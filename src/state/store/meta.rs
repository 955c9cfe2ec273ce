//! Single values by key, and the figures that readers make.
//!
//! The values are read all at once and kept until the next cycle begins ([`Store::reread`]): a cycle asks for some ten
//! of them. What this store writes is kept along; what is taken back drops all that is kept.

use super::{Store, Writing};
use crate::{
    model::ArticleId,
    state::{FigureRow, Outcome},
};
use rusqlite::{Row, params};
use std::collections::BTreeMap;

impl Store {
    /// Reads a single value. What another process wrote since the values were last read is not in it.
    pub fn meta(&self, key: &str) -> Outcome<Option<String>> {
        let mut kept = self.values.borrow_mut();
        if let Some(values) = kept.as_ref() {
            return Ok(values.get(key).cloned());
        }
        let read = self.read(|conn| {
            conn.prepare_cached("SELECT key, value FROM meta")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Values>>()
        })?;
        let values = kept.insert(read);
        Ok(values.get(key).cloned())
    }

    /// Reads single values anew from then on: another process may have written some.
    pub fn reread(&mut self) {
        self.values.get_mut().take();
    }

    /// Reads views, ratings and public addresses.
    pub fn figures(&self) -> Outcome<Vec<(ArticleId, FigureRow)>> {
        self.all(
            "SELECT article, views, happy, neutral, sad, full_url FROM figures",
            [],
            |row| Ok((row.get(0)?, figures(row)?)),
        )
    }

    /// Reads the figures of one article.
    pub fn figures_of(&self, id: ArticleId) -> Outcome<Option<FigureRow>> {
        self.one(
            "SELECT article, views, happy, neutral, sad, full_url FROM figures WHERE article = ?1",
            [id],
            figures,
        )
    }
}

/// Single values by their keys.
pub(super) type Values = BTreeMap<String, String>;

fn figures(row: &Row<'_>) -> rusqlite::Result<FigureRow> {
    Ok(FigureRow {
        views: row.get(1)?,
        happy: row.get(2)?,
        neutral: row.get(3)?,
        sad: row.get(4)?,
        full_url: row.get(5)?,
    })
}

impl Writing<'_> {
    /// Sets a single value. One that it has already costs no write.
    pub fn set_meta(&mut self, key: &str, value: &str) -> Outcome<()> {
        if let Some(values) = self.values.as_deref_mut() {
            if values.get(key).is_some_and(|known| known == value) {
                return Ok(());
            }
            values.insert(key.to_owned(), value.to_owned());
        }
        self.run(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value \
             WHERE value IS NOT excluded.value",
            [key, value],
        )
    }

    /// Returns whether there is certainly no value under a key.
    pub(super) fn is_without(&self, key: &str) -> bool {
        let values = self.values.as_deref();
        values.is_some_and(|values| !values.contains_key(key))
    }

    /// Removes a single value.
    pub fn remove_meta(&mut self, key: &str) -> Outcome<()> {
        if let Some(values) = self.values.as_deref_mut()
            && values.remove(key).is_none()
        {
            return Ok(());
        }
        self.run("DELETE FROM meta WHERE key = ?1", [key])
    }

    /// Writes an article's figures, if they differ. An address that is not shown this time stays known.
    pub fn put_figures(&mut self, id: ArticleId, figures: &FigureRow) -> Outcome<()> {
        self.run(
            "INSERT INTO figures (article, views, happy, neutral, sad, full_url) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (article) DO UPDATE SET \
             views = excluded.views, happy = excluded.happy, neutral = excluded.neutral, \
             sad = excluded.sad, full_url = coalesce(excluded.full_url, full_url) \
             WHERE (views, happy, neutral, sad, full_url) IS NOT (excluded.views, \
             excluded.happy, excluded.neutral, excluded.sad, \
             coalesce(excluded.full_url, full_url))",
            params![
                id,
                figures.views,
                figures.happy,
                figures.neutral,
                figures.sad,
                figures.full_url
            ],
        )
    }
}
