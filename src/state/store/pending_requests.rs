//! Pending requests: stored before they are sent, and removed with their outcome.
//!
//! Their table keeps its first name, `intents`. The digests that a pending request names stand beside it, so that its bodies and versions are not pruned.

use super::{Store, Writing, columns::Json};
use crate::model::ArticleId;
use crate::state::{Creation, Outcome, PendingRequest, RequestId};
use rusqlite::params;

impl Store {
    /// Reads the pending requests, oldest first.
    pub fn pending_requests(&self) -> Outcome<Vec<(RequestId, PendingRequest)>> {
        self.all("SELECT id, json FROM intents ORDER BY id", [], |row| {
            Ok((
                RequestId(row.get(0)?),
                row.get::<_, Json<PendingRequest>>(1)?.0,
            ))
        })
    }

    /// Reads the articles that are being created, oldest first.
    pub fn creations(&self) -> Outcome<Vec<Creation>> {
        let pending_requests = self.pending_requests()?.into_iter();
        let creations = pending_requests.filter_map(|(id, pending)| match pending {
            PendingRequest::CreateArticle(creation) => Some(Creation {
                request: id.0,
                ..creation
            }),
            PendingRequest::UpdateArticle(_) | PendingRequest::DeleteArticle(_) => None,
        });
        Ok(creations.collect())
    }
}

impl Writing<'_> {
    /// Stores a request before it is sent.
    pub fn add_pending_request(&mut self, pending: &PendingRequest) -> Outcome<RequestId> {
        self.run("INSERT INTO intents (json) VALUES (?1)", [Json(pending)])?;
        let id = RequestId(self.sql()?.last_insert_rowid());
        self.name_digests(id, pending)?;
        Ok(id)
    }

    /// Ends a pending request: its outcome is recorded, or it never took place.
    pub fn end_pending_request(&mut self, id: RequestId) -> Outcome<()> {
        self.run("DELETE FROM intents WHERE id = ?1", [id.0])
    }

    /// Writes down what else was sent to create an article, or its row.
    pub fn put_creation(&mut self, creation: &Creation) -> Outcome<()> {
        let pending = PendingRequest::CreateArticle(creation.clone());
        self.run(
            "UPDATE intents SET json = ?2 WHERE id = ?1",
            params![creation.request, Json(&pending)],
        )?;
        self.name_digests(RequestId(creation.request), &pending)
    }

    /// Ends the request that created an article: the article's id is in its file.
    pub fn end_creation(&mut self, id: ArticleId) -> Outcome<()> {
        self.run(
            "DELETE FROM intents WHERE json ->> '$.create_article.row.id' = ?1",
            [id.to_string()],
        )
    }

    fn name_digests(&mut self, id: RequestId, pending: &PendingRequest) -> Outcome<()> {
        let sql = "INSERT OR IGNORE INTO intent_digests (intent, digest) VALUES (?1, ?2)";
        let mut named = named_by(pending).into_iter();
        named.try_for_each(|digest| self.run(sql, params![id.0, digest]))
    }
}

/// Lists the bodies and versions that a pending request names.
fn named_by(pending: &PendingRequest) -> Vec<[u8; 32]> {
    let of =
        |version: &crate::model::Version| [*version.text.as_bytes(), *version.digest().as_bytes()];
    match pending {
        PendingRequest::CreateArticle(creation) => {
            let sent = creation.sent().map(|sent| &sent.version);
            let remote = creation.row.iter().map(|row| &row.remote);
            sent.chain(remote).flat_map(of).collect()
        }
        PendingRequest::UpdateArticle(update) => {
            let mut named = of(&update.version).to_vec();
            named.push(*update.over.as_bytes());
            named
        }
        PendingRequest::DeleteArticle(_) => Vec::new(),
    }
}
