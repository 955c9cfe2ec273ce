//! Intents: steps under way, written before their effect.
//!
//! The digests that an intent names stand beside it, so that its bodies and versions are not pruned.

use super::{Store, Writing, columns::Json};
use crate::model::ArticleId;
use crate::state::{Creation, Intent, IntentId, Outcome};
use rusqlite::params;

impl Store {
    /// Reads the intents that were not settled, oldest first.
    pub fn intents(&self) -> Outcome<Vec<(IntentId, Intent)>> {
        self.all("SELECT id, json FROM intents ORDER BY id", [], |row| {
            Ok((IntentId(row.get(0)?), row.get::<_, Json<Intent>>(1)?.0))
        })
    }

    /// Reads the articles that are being created, oldest first.
    pub fn creations(&self) -> Outcome<Vec<Creation>> {
        let intents = self.intents()?.into_iter();
        let creations = intents.filter_map(|(id, intent)| match intent {
            Intent::CreateArticle(creation) => Some(Creation {
                request: id.0,
                ..creation
            }),
            Intent::UpdateArticle(_) | Intent::DeleteArticle(_) => None,
        });
        Ok(creations.collect())
    }
}

impl Writing<'_> {
    /// Writes down what is about to be done.
    pub fn add_intent(&mut self, intent: &Intent) -> Outcome<IntentId> {
        self.run("INSERT INTO intents (json) VALUES (?1)", [Json(intent)])?;
        let id = IntentId(self.sql()?.last_insert_rowid());
        self.name_digests(id, intent)?;
        Ok(id)
    }

    /// Settles an intent: its outcome is recorded, or it never took place.
    pub fn remove_intent(&mut self, id: IntentId) -> Outcome<()> {
        self.run("DELETE FROM intents WHERE id = ?1", [id.0])
    }

    /// Writes down what else was sent to create an article, or its row.
    pub fn put_creation(&mut self, creation: &Creation) -> Outcome<()> {
        let intent = Intent::CreateArticle(creation.clone());
        self.run(
            "UPDATE intents SET json = ?2 WHERE id = ?1",
            params![creation.request, Json(&intent)],
        )?;
        self.name_digests(IntentId(creation.request), &intent)
    }

    /// Ends the request that created an article: the article's id is in its file.
    pub fn end_creation(&mut self, id: ArticleId) -> Outcome<()> {
        self.run(
            "DELETE FROM intents WHERE json ->> '$.create_article.row.id' = ?1",
            [id.to_string()],
        )
    }

    fn name_digests(&mut self, id: IntentId, intent: &Intent) -> Outcome<()> {
        let sql = "INSERT OR IGNORE INTO intent_digests (intent, digest) VALUES (?1, ?2)";
        let mut named = named_by(intent).into_iter();
        named.try_for_each(|digest| self.run(sql, params![id.0, digest]))
    }
}

/// Lists the bodies and versions that an intent names.
fn named_by(intent: &Intent) -> Vec<[u8; 32]> {
    let of =
        |version: &crate::model::Version| [*version.text.as_bytes(), *version.digest().as_bytes()];
    match intent {
        Intent::CreateArticle(creation) => {
            let sent = creation.sent().map(|sent| &sent.version);
            let remote = creation.row.iter().map(|row| &row.remote);
            sent.chain(remote).flat_map(of).collect()
        }
        Intent::UpdateArticle(update) => {
            let mut named = of(&update.version).to_vec();
            named.push(*update.over.as_bytes());
            named
        }
        Intent::DeleteArticle(_) => Vec::new(),
    }
}
