//! The hosted service: what may be asked of it and what it may answer.
//!
//! [`ServiceRead`] and [`ServiceWrite`] are the port that the engine works with; `client` speaks HTTP.
//! Every endpoint is one method; numbers such as A4.6 are facts of `docs/api.md`. The JSON shapes are known in
//! `wire` alone. Nothing here decides what to do with an answer.

mod answer;
pub mod budget;
pub mod client;
mod endpoints;
pub mod error;
pub mod familiar;
#[cfg(feature = "drill")]
pub mod fuzzed;
mod harvest;
mod listing;
mod loose;
mod nest;
mod options;
pub mod origin;
mod paging;
mod pieces;
mod reading;
pub mod retry;
mod silence;
mod splitter;
pub mod token;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use error::{ErrorKind, ServiceError};

use crate::model::{ArticleId, CategoryId, CategoryVersion, Flags, Revision, WorkspaceId};
use familiar::{Familiar, Mark};
use std::{collections::HashSet, future::Future, sync::Arc};

/// The outcome of one request.
pub type Answer<T> = Result<T, ServiceError>;

/// A workspace (`docs/api.md`, A2.1), as far as kbsync uses it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Whether the public may read it.
    pub public: bool,
    /// Its own host name, if it has one.
    pub custom_domain: Option<String>,
}

/// A category as the service holds it (A2.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteCategory {
    /// Its id.
    pub id: CategoryId,
    /// The workspace that owns it, where the answer says so.
    pub workspace: Option<WorkspaceId>,
    /// Its words.
    pub version: CategoryVersion,
    /// `updated_at`.
    pub revision: Revision,
}

/// An article as the service holds it (A2.3). What an answer left out is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteArticle {
    /// Its id.
    pub id: ArticleId,
    /// The category it is in.
    pub category: CategoryId,
    /// Its title.
    pub title: String,
    /// Its slug.
    pub slug: String,
    /// Its body; `None` where a listing carries no bodies.
    pub text: Option<String>,
    /// Empty when unset.
    pub introtext: String,
    /// Empty when unset.
    pub keywords: String,
    /// `enabled` and `draft`, in answers to writes.
    pub flags: Flags,
    /// `updated_at`.
    pub revision: Revision,
    /// Views and ratings, in answers to reads.
    pub figures: Option<Figures>,
    /// The public address, in answers to `GET /api/article/{id}`.
    pub full_url: Option<String>,
    /// What the bytes of its entry come to, in listings that were asked for marks.
    pub mark: Option<Mark>,
}

/// How often an article was read and how readers rated it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Times read.
    pub views: i64,
    /// Readers who were happy with it.
    pub happy: i64,
    /// Readers who were neither.
    pub neutral: i64,
    /// Readers who were not.
    pub sad: i64,
}

/// One entry of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listed {
    /// An article that could be read, with or without its body.
    Article(Box<RemoteArticle>),
    /// An article whose entry has one of the marks that were given along: it was not read.
    Familiar(ArticleId),
    /// A category that was read on the way, where a listing goes category by category.
    Category(Box<RemoteCategory>),
    /// An entry that could not: unknown, never absent (failures row 39).
    Unreadable {
        /// Its id, where that much could be read.
        id: Option<ArticleId>,
        /// What was wrong with it.
        why: String,
    },
    /// The answer broke off and is asked for again: these entries count no more. They come again, or not at all.
    TakenBack {
        /// The ids of the entries.
        ids: HashSet<ArticleId>,
        /// How many of the last entries without a readable id are among them.
        nameless: usize,
    },
}

/// What to list, and what is known from the last time.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Categories to read one by one where the listing endpoint is missing.
    pub categories: Vec<CategoryId>,
    /// The validator of the last whole listing, to be sent back.
    pub validator: Option<Validator>,
    /// Entries that need not be read again; with `None` nothing is marked.
    pub familiar: Option<Arc<Familiar>>,
    /// Who pays: polls leave a reserve to pushes.
    pub purpose: Purpose,
}

/// `ETag` or `Last-Modified` of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Validator {
    /// `ETag`, as sent.
    pub etag: Option<String>,
    /// `Last-Modified`, as sent.
    pub last_modified: Option<String>,
}

/// How a listing ended. An error instead means that it was not read whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListEnd {
    /// The service answered 304: nothing changed since the validator was given.
    NotModified,
    /// Every page was read whole.
    Whole {
        /// To be sent back next time.
        validator: Option<Validator>,
        /// Whether the entries came category by category; then categories that are not known were not seen.
        by_category: bool,
    },
}

/// What a request is for; the budget keeps a reserve for pushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Part of a push, or asked for by a person: may spend all of the budget.
    Push,
    /// A scheduled poll: leaves the reserve alone.
    Poll,
}

/// A new article (A4.6). The slug is always sent: it is the idempotency key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewArticle {
    /// The category.
    pub category: CategoryId,
    /// The title.
    pub title: String,
    /// The slug.
    pub slug: String,
    /// The body.
    pub text: String,
    /// Empty: not sent.
    pub introtext: String,
    /// Empty: not sent.
    pub keywords: String,
    /// Whether to show it.
    pub enabled: bool,
    /// Whether it starts as a draft.
    pub draft: bool,
}

/// Changes to an article (A4.7); only what is `Some` is sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArticlePatch {
    /// Moves the article.
    pub category: Option<CategoryId>,
    /// A new title.
    pub title: Option<String>,
    /// A new slug.
    pub slug: Option<String>,
    /// A new body.
    pub text: Option<String>,
    /// A new summary; `""` removes it.
    pub introtext: Option<String>,
    /// New search words; `""` removes them.
    pub keywords: Option<String>,
    /// Shows or hides it.
    pub enabled: Option<bool>,
}

/// A new category (A4.9).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCategory {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its words; the slug is always sent, empty descriptions are not.
    pub version: CategoryVersion,
}

/// Changes to a category (A4.10); only what is `Some` is sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CategoryPatch {
    /// A new name.
    pub name: Option<String>,
    /// A new slug.
    pub slug: Option<String>,
    /// A new description; `""` removes it.
    pub description: Option<String>,
    /// A new description for search engines; `""` removes it.
    pub meta_description: Option<String>,
}

/// The reading half of the service.
pub trait ServiceRead: Send + Sync {
    /// `GET /api/bases` (A4.1): the workspaces that the caller created.
    fn workspaces(&self) -> impl Future<Output = Answer<Vec<Workspace>>> + Send;

    /// `GET /api/base/{id}` (A4.2).
    fn workspace(&self, id: WorkspaceId) -> impl Future<Output = Answer<Workspace>> + Send;

    /// `GET /api/category/{id}` (A4.3): the category and its published articles.
    fn category(
        &self,
        id: CategoryId,
        purpose: Purpose,
    ) -> impl Future<Output = Answer<(RemoteCategory, Vec<Listed>)>> + Send;

    /// `GET /api/article/{id}` (A4.4). Only published articles can be fetched.
    fn article(
        &self,
        id: ArticleId,
        purpose: Purpose,
    ) -> impl Future<Output = Answer<RemoteArticle>> + Send;

    /// `GET /api/base/{id}/articles` (A4.5): hands every entry to `sink` as it is read.
    ///
    /// An error means that the listing was not read whole, whatever `sink` was given: nothing may be
    /// concluded from what was missing. Two entries with one id are such an error.
    fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> impl Future<Output = Answer<ListEnd>> + Send;
}

/// The writing half of the service.
///
/// A write whose answer was lost is never sent again from here: the caller looks first
/// ([`ServiceError::answer_lost`]). A POST waits out a refusal for want of budget (429);
/// PUT and DELETE give it back, since a wait would make the look before them an old one.
pub trait ServiceWrite: Send + Sync {
    /// `POST /api/article` (A4.6).
    fn create_article(
        &self,
        new: &NewArticle,
    ) -> impl Future<Output = Answer<RemoteArticle>> + Send;

    /// `PUT /api/article/{id}` (A4.7).
    fn update_article(
        &self,
        id: ArticleId,
        patch: &ArticlePatch,
    ) -> impl Future<Output = Answer<RemoteArticle>> + Send;

    /// `PUT /api/article/{id}` with `{}`: changes nothing, and answers with an unpublished article too (A4.7).
    fn probe(
        &self,
        id: ArticleId,
        purpose: Purpose,
    ) -> impl Future<Output = Answer<RemoteArticle>> + Send;

    /// `DELETE /api/article/{id}` (A4.8): for ever.
    fn delete_article(&self, id: ArticleId) -> impl Future<Output = Answer<()>> + Send;

    /// `POST /api/category` (A4.9).
    fn create_category(
        &self,
        new: &NewCategory,
    ) -> impl Future<Output = Answer<RemoteCategory>> + Send;

    /// `PUT /api/category/{id}` (A4.10).
    fn update_category(
        &self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> impl Future<Output = Answer<RemoteCategory>> + Send;
}

/// Requests made so far, and what is left of the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Usage {
    /// GET requests.
    pub get: u64,
    /// POST requests.
    pub post: u64,
    /// PUT requests.
    pub put: u64,
    /// DELETE requests.
    pub delete: u64,
    /// Requests left in the rolling minute.
    pub minute_left: u32,
    /// Requests left in the rolling day.
    pub day_left: u32,
}

/// Both halves, with the count of what they cost.
pub trait Service: ServiceRead + ServiceWrite {
    /// Counts the requests made through this value.
    fn usage(&self) -> Usage;

    /// Keeps so many requests of the budget for an operation that is about to begin, all of them or none, so that
    /// it is not left half done (failures row 114). Waits where the minute is full; an error when the day is.
    /// What was kept before and is enough stays as it is. A value without a budget has room for all.
    fn keep(&self, _requests: u32, _purpose: Purpose) -> impl Future<Output = Answer<()>> + Send {
        std::future::ready(Ok(()))
    }

    /// Gives back what was kept and is not needed.
    fn give_back(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}
