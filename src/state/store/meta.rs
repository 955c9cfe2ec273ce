//! Single values by key, the figures of articles, and the meaning of each entry of the last listing.

use super::{
    Store, Writing,
    columns::{Json, flags},
};
use crate::{
    model::{ArticleId, Figures, Fingerprint, Flags},
    state::StateResult,
};
use rusqlite::{Row, params};
use serde::{Serialize, de::DeserializeOwned};

const SET: &str = "INSERT INTO meta (key, value) VALUES (?1, ?2) \
                   ON CONFLICT (key) DO UPDATE SET value = excluded.value \
                   WHERE value IS NOT excluded.value";

impl Store {
    /// Reads a single value.
    pub fn meta(&self, key: &str) -> StateResult<Option<String>> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        self.one(sql, [key], |row| row.get(0))
    }

    /// Reads a single value that [`Writing::put_value`] wrote; `None` also if a later kbsync wrote it in another form.
    pub fn value<T: DeserializeOwned>(&self, key: &str) -> StateResult<Option<T>> {
        let text = self.meta(key)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Reads views, ratings and public addresses.
    pub fn figures(&self) -> StateResult<Vec<(ArticleId, Figures)>> {
        self.all(
            "SELECT article, views, happy, neutral, sad, full_url FROM figures",
            [],
            |row| Ok((row.get(0)?, figures(row)?)),
        )
    }

    /// Reads the figures of one article.
    pub fn figures_of(&self, id: ArticleId) -> StateResult<Option<Figures>> {
        self.one(
            "SELECT article, views, happy, neutral, sad, full_url FROM figures WHERE article = ?1",
            [id],
            figures,
        )
    }

    /// Reads the entries of the last listing, in their order.
    pub fn listing_entries(&self) -> StateResult<Vec<ListingEntry>> {
        self.all(
            "SELECT article, fingerprint, said, enabled, draft FROM listing_entries \
             ORDER BY position",
            [],
            entry,
        )
    }
}

fn figures(row: &Row<'_>) -> rusqlite::Result<Figures> {
    Ok(Figures {
        views: row.get(1)?,
        happy: row.get(2)?,
        neutral: row.get(3)?,
        sad: row.get(4)?,
        full_url: row.get(5)?,
    })
}

impl Writing<'_> {
    /// Sets a single value. An unchanged value costs no write.
    pub fn set_meta(&mut self, key: &str, value: &str) -> StateResult<()> {
        self.run(SET, [key, value])
    }

    /// Removes a single value.
    pub fn remove_meta(&mut self, key: &str) -> StateResult<()> {
        self.run("DELETE FROM meta WHERE key = ?1", [key])
    }

    /// Sets a single value that is more than a text, as JSON; `None` removes it.
    pub fn put_value<T: Serialize>(&mut self, key: &str, value: Option<&T>) -> StateResult<()> {
        match value {
            Some(value) => self.run(SET, params![key, Json(value)]),
            None => self.remove_meta(key),
        }
    }

    /// Writes an article's figures, if they differ. A known address stays if the new figures have none.
    pub fn put_figures(&mut self, id: ArticleId, figures: &Figures) -> StateResult<()> {
        insert!(self, "INSERT INTO figures", {
            article: id,
            views: figures.views,
            happy: figures.happy,
            neutral: figures.neutral,
            sad: figures.sad,
            full_url: figures.full_url,
        }, "ON CONFLICT (article) DO UPDATE SET \
             views = excluded.views, happy = excluded.happy, neutral = excluded.neutral, \
             sad = excluded.sad, full_url = coalesce(excluded.full_url, full_url) \
             WHERE (views, happy, neutral, sad, full_url) IS NOT (excluded.views, \
             excluded.happy, excluded.neutral, excluded.sad, \
             coalesce(excluded.full_url, full_url))")
    }

    /// Writes or replaces the entry at a position.
    pub fn put_listing_entry(&mut self, position: usize, entry: &ListingEntry) -> StateResult<()> {
        insert!(self, "INSERT OR REPLACE INTO listing_entries", {
            position: number(position),
            article: entry.article,
            fingerprint: entry.fingerprint,
            said: entry.version,
            enabled: entry.flags.enabled,
            draft: entry.flags.draft,
        })
    }

    /// Removes the entries from a position on.
    pub fn cut_listing_entries(&mut self, position: usize) -> StateResult<()> {
        self.run(
            "DELETE FROM listing_entries WHERE position >= ?1",
            [number(position)],
        )
    }
}

/// One entry of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListingEntry {
    /// The article of the entry.
    pub article: ArticleId,
    /// The fingerprint of the entry's bytes.
    pub fingerprint: Fingerprint,
    /// The fingerprint of the version and revision in the entry.
    pub version: Fingerprint,
    /// The flags in the entry.
    pub flags: Flags,
}

fn number(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ListingEntry> {
    Ok(ListingEntry {
        article: row.get(0)?,
        fingerprint: row.get(1)?,
        version: row.get(2)?,
        flags: flags(row, 3)?,
    })
}
