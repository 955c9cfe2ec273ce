//! `GET /api/base/{id}/articles` (A4.5), in one plausible shape.
//!
//! The JSON of each article is cached, because tests list the same articles again and again. An answer is a stream of
//! cached chunks, so it needs almost no memory of its own.

use super::{
    options::Options,
    store::{Article, Store},
    wire,
};
use axum::body::Bytes;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};
use uuid::Uuid;

/// The cached JSON of articles in listings.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache(HashMap<Uuid, (Weak<Article>, Bytes)>);

impl Cache {
    /// Returns the JSON of `article`; it is rebuilt if the article has changed.
    fn piece(&mut self, article: &Arc<Article>) -> serde_json::Result<Bytes> {
        if let Some((version, piece)) = self.0.get(&article.id)
            && version.as_ptr() == Arc::as_ptr(article)
        {
            return Ok(piece.clone());
        }
        let piece = Bytes::from(serde_json::to_vec(&wire::read_article(article))?);
        self.0
            .insert(article.id, (Arc::downgrade(article), piece.clone()));
        Ok(piece)
    }
}

/// Writes the articles of a workspace as of `store`, as chunks of JSON.
pub(super) fn all(
    store: &Store,
    options: &Options,
    cache: &mut Cache,
    workspace: Uuid,
) -> serde_json::Result<Vec<Bytes>> {
    let mut pieces = vec![Bytes::from_static(br#"{"success":true,"articles":["#)];
    for article in store.listed_in_workspace(options, workspace) {
        if pieces.len() > 1 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(cache.piece(article)?);
    }
    pieces.push(Bytes::from_static(b"]}"));
    Ok(pieces)
}
