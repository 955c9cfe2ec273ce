//! When the service was last asked for what it did not list or show.

use super::{Store, Writing};
use crate::{
    model::{ArticleId, CategoryId},
    state::{Attempt, Outcome, Target},
};
use rusqlite::{params, types::ToSql};
use std::collections::BTreeMap;

const ARTICLE: &str = "article";

const CATEGORY: &str = "category";

const REQUEST: &str = "request";

impl Store {
    /// Reads all attempts.
    pub fn backoff(&self) -> Outcome<BTreeMap<Target, Attempt>> {
        self.all(
            "SELECT kind, id, last_asked, failures, answer FROM backoff",
            [],
            |row| {
                let target = match row.get_ref(0)?.as_str()? {
                    ARTICLE => Target::Article(row.get::<_, ArticleId>(1)?),
                    REQUEST => Target::Request(row.get::<_, ArticleId>(1)?),
                    _ => Target::Category(row.get::<_, CategoryId>(1)?),
                };
                let attempt = Attempt {
                    last_asked: row.get(2)?,
                    failures: row.get(3)?,
                    answer: row.get(4)?,
                };
                Ok((target, attempt))
            },
        )
    }
}

impl Writing<'_> {
    /// Records an attempt, in place of the one before.
    pub fn put_attempt(&mut self, target: Target, attempt: &Attempt) -> Outcome<()> {
        let (kind, id) = columns(&target);
        self.run(
            "INSERT OR REPLACE INTO backoff (kind, id, last_asked, failures, answer) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                kind,
                id,
                attempt.last_asked,
                attempt.failures,
                attempt.answer
            ],
        )
    }

    /// Forgets an attempt: the service is asked again at once.
    pub fn remove_attempt(&mut self, target: Target) -> Outcome<()> {
        let (kind, id) = columns(&target);
        self.run(
            "DELETE FROM backoff WHERE kind = ?1 AND id = ?2",
            params![kind, id],
        )
    }
}

fn columns(target: &Target) -> (&'static str, &dyn ToSql) {
    match target {
        Target::Article(id) => (ARTICLE, id),
        Target::Category(id) => (CATEGORY, id),
        Target::Request(id) => (REQUEST, id),
    }
}
