//! The hosted service: its requests and its answers.
//!
//! [`ServiceRead`] and [`ServiceWrite`] are the port that the engine uses; `client` implements it over HTTP. Each
//! endpoint is one method; numbers such as A4.6 are facts of `docs/api.md`. Only `wire` knows the JSON shapes.
//! Nothing here decides what to do with an answer.

mod answer;
pub mod budget;
pub mod client;
mod endpoints;
mod entry_reader;
pub mod error;
pub mod fingerprint;
#[cfg(feature = "drill")]
pub mod fuzz_entry;
mod json_depth;
mod listing;
mod options;
pub mod origin;
mod paging;
mod reading;
pub mod retry;
mod splitter;
mod splitter_types;
pub mod token;
mod wire;

#[cfg(test)]
mod tests;

pub use error::{ErrorKind, ServiceError};
pub use wire::{ArticlePatch, CategoryPatch, NewArticle, NewCategory};

use crate::model::{
    ArticleId, CategoryId, CategoryVersion, Figures, Fingerprint, Flags, Revision, WorkspaceId,
};
use fingerprint::KnownEntries;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use std::{future::Future, sync::Arc};

/// The outcome of one request.
pub type Answer<T> = Result<T, ServiceError>;

/// The part of a workspace (`docs/api.md`, A2.1) that kbsync uses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Whether the public may read it.
    pub public: bool,
    /// Its custom host name.
    pub custom_domain: Option<String>,
}

/// A category as the service stores it (A2.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteCategory {
    /// Its id.
    pub id: CategoryId,
    /// The workspace that owns it, if the answer names it.
    pub workspace: Option<WorkspaceId>,
    /// Its texts.
    pub version: CategoryVersion,
    /// `updated_at`.
    pub revision: Revision,
}

/// An article as the service stores it (A2.3). A field that the answer lacks is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteArticle {
    /// Its id.
    pub id: ArticleId,
    /// Its category.
    pub category: CategoryId,
    /// Its title.
    pub title: String,
    /// Its slug.
    pub slug: String,
    /// Its body; `None` in a listing without bodies.
    pub text: Option<String>,
    /// Empty when unset.
    pub introtext: String,
    /// Empty when unset.
    pub keywords: String,
    /// `enabled` and `draft`, in answers to writes.
    pub flags: Flags,
    /// `updated_at`.
    pub revision: Revision,
    /// Views, ratings and public address, in answers to reads.
    pub figures: Option<Figures>,
    /// The fingerprint of its entry, in listings with known entries.
    pub fingerprint: Option<Fingerprint>,
}

/// One entry of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listed {
    /// A readable article, with or without its body.
    Article(Box<RemoteArticle>),
    /// An article whose entry has a known fingerprint: the entry was not parsed.
    Known(ArticleId),
    /// A category, if the listing goes category by category.
    Category(Box<RemoteCategory>),
    /// An unreadable entry: the article is unknown, not absent (failures row 39).
    Unreadable {
        /// Its id, if that is readable.
        id: Option<ArticleId>,
        /// The reason.
        why: String,
    },
    /// The answer broke off, and the request is repeated: all entries so far are void. They may come again.
    Restart,
}

/// A request for a listing, with the knowledge from the last listing.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The categories to read one by one if there is no listing endpoint.
    pub categories: Vec<CategoryId>,
    /// The validator of the last complete listing.
    pub validator: Option<Validator>,
    /// The entries that need not be parsed again; `None`: no fingerprints are made.
    pub known: Option<Arc<KnownEntries>>,
    /// The purpose of the requests: polls leave a reserve of the budget to pushes.
    pub purpose: Purpose,
}

/// The `ETag` of an answer. `Last-Modified` is not used: it counts whole seconds, so two changes within one second
/// would look like one change.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Validator {
    /// `ETag`, as sent.
    pub etag: String,
}

/// The end of a complete listing. An incomplete listing is an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListEnd {
    /// The service answered 304: nothing changed since the last complete listing.
    NotModified,
    /// Every page was read to its end.
    Whole {
        /// The validator for the next listing.
        validator: Option<Validator>,
        /// Whether the entries came category by category; new categories are not visible then.
        by_category: bool,
    },
}

/// The purpose of a request, for the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// For a push or a person's command: may spend the whole budget.
    Push,
    /// For a scheduled poll: leaves the reserve.
    Poll,
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

    /// `GET /api/base/{id}/articles` (A4.5): passes each entry to `sink` as it is parsed.
    ///
    /// After an error the listing is incomplete: nothing may be concluded from a missing entry. A listing with the same
    /// id twice is an error.
    fn list(
        &self,
        request: &ListRequest,
        sink: &mut (dyn FnMut(Listed) + Send),
    ) -> impl Future<Output = Answer<ListEnd>> + Send;
}

/// The writing half of the service.
///
/// A write whose answer was lost is not repeated here: the caller reads first ([`ServiceError::response_lost`]). A POST
/// that the service refuses for lack of budget (429) waits and is repeated; a PUT or DELETE returns the error instead,
/// because after a wait the read before the write would be stale.
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

    /// `PUT /api/article/{id}` with `{}`: changes nothing, and also returns an unpublished article (A4.7).
    fn probe(
        &self,
        id: ArticleId,
        purpose: Purpose,
    ) -> impl Future<Output = Answer<RemoteArticle>> + Send;

    /// `DELETE /api/article/{id}` (A4.8): irreversible.
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

/// Requests by method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    /// All of them.
    pub total: u64,
    /// GET.
    pub get: u64,
    /// POST.
    pub post: u64,
    /// PUT.
    pub put: u64,
    /// DELETE.
    pub delete: u64,
}

impl Requests {
    /// Returns the number of one request.
    fn one(method: &Method) -> Self {
        let is = |wanted| u64::from(*method == wanted);
        Self {
            total: 1,
            get: is(Method::GET),
            post: is(Method::POST),
            put: is(Method::PUT),
            delete: is(Method::DELETE),
        }
    }

    /// Returns the requests since an earlier count.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            total: self.total - before.total,
            get: self.get - before.get,
            post: self.post - before.post,
            put: self.put - before.put,
            delete: self.delete - before.delete,
        }
    }

    /// Adds other requests.
    pub fn add(&mut self, other: Self) {
        self.total += other.total;
        self.get += other.get;
        self.post += other.post;
        self.put += other.put;
        self.delete += other.delete;
    }
}

/// The requests that the budget has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BudgetLeft {
    /// In the rolling minute.
    pub minute_left: u32,
    /// In the rolling day.
    pub day_left: u32,
}

/// Both halves, with the number of requests.
pub trait Service: ServiceRead + ServiceWrite {
    /// Returns the number of requests made through this value.
    fn requests(&self) -> Requests;

    /// Returns the rest of the budget.
    fn budget_left(&self) -> BudgetLeft;

    /// Waits until there is room for all requests of an operation, so that the operation is rarely left half done
    /// (failures row 114). Fails if the day is full. A service without a budget always has room.
    fn wait_for_room(
        &self,
        _requests: u32,
        _purpose: Purpose,
    ) -> impl Future<Output = Answer<()>> + Send {
        std::future::ready(Ok(()))
    }
}
