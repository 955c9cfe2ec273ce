//! All state behind the handle, under one lock.

use super::{
    clock::Clock,
    limits::Limits,
    listing::Cache,
    options::{Access, Options, Rights},
    store::{Article, Category, NewSeed, Store},
};
use chrono::{DateTime, Utc};
use std::collections::{HashMap, VecDeque};
use uuid::Uuid;

/// The most requests that `Sandbox::requests` returns; older ones are dropped.
const MAX_REQUESTS: usize = 10_000;

/// The `user_id` for objects that colleagues create in the dashboard.
const COLLEAGUE: u64 = 2;

/// An API request, with the status of its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestRecord {
    /// Its number, from 1.
    pub number: u64,
    /// When it arrived.
    pub at: chrono::DateTime<chrono::Utc>,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers but `Authorization`, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The status of the answer; 0: the connection was dropped without one.
    pub status: u16,
}

/// The numbers of API requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// All requests.
    pub total: u64,
    /// GET requests.
    pub get: u64,
    /// POST requests.
    pub post: u64,
    /// PUT requests.
    pub put: u64,
    /// DELETE requests.
    pub delete: u64,
}

impl Counts {
    /// Returns the number of requests that change something.
    pub fn writes(self) -> u64 {
        self.post + self.put + self.delete
    }
}

/// A stale copy that some reads still see.
#[derive(Clone, Debug)]
pub(super) struct Stale {
    pub(super) store: Store,
    pub(super) reads: u32,
}

/// All state behind the handle.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) options: Options,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) tokens: HashMap<String, Rights>,
    pub(super) limits: Limits,
    pub(super) stale: Option<Stale>,
    pub(super) cache: Cache,
    pub(super) requests: VecDeque<RequestRecord>,
    pub(super) counts: Counts,
    /// The number of requests so far.
    arrived: u64,
    /// The number of ids so far, for predictable ids.
    ids: u64,
}

impl World {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Returns the time of a change.
    pub(super) fn tick(&mut self) -> DateTime<Utc> {
        self.clock.tick(self.options.time_grain)
    }

    /// Returns a new id.
    pub(super) fn new_id(&mut self) -> Uuid {
        let Some(seed) = self.options.id_seed else {
            return Uuid::new_v4();
        };
        self.ids += 1;
        let (high, low) = (
            super::seed::scramble(seed ^ self.ids),
            super::seed::scramble(seed.wrapping_add(!self.ids)),
        );
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// Returns the rights of a token.
    pub(super) fn rights(&self, token: &str) -> Option<Rights> {
        if let Some(rights) = self.tokens.get(token) {
            return Some(rights.clone());
        }
        (token == self.options.token).then(|| Rights::everywhere(Access::Owner))
    }

    /// Records a request, and returns its number.
    pub(super) fn record(&mut self, mut request: RequestRecord) -> u64 {
        self.arrived += 1;
        self.counts.total += 1;
        match request.method.as_str() {
            "GET" => self.counts.get += 1,
            "POST" => self.counts.post += 1,
            "PUT" => self.counts.put += 1,
            "DELETE" => self.counts.delete += 1,
            _ => {}
        }
        request.number = self.arrived;
        if self.requests.len() >= MAX_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
        self.arrived
    }

    /// Records the status of an answer.
    pub(super) fn answered(&mut self, number: u64, status: u16) {
        let found = self
            .requests
            .iter_mut()
            .rev()
            .find(|one| one.number == number);
        if let Some(request) = found {
            request.status = status;
        }
    }

    /// Changes an article as the web editor does.
    pub(super) fn edit(&mut self, id: Uuid, change: impl FnOnce(&mut Article)) -> Option<Article> {
        let mut article = Article::clone(self.store.article(id)?);
        change(&mut article);
        article.id = id;
        article.updated_at = self.tick();
        self.store.put_article(article.clone());
        Some(article)
    }

    /// Changes a category as the web editor does.
    pub(super) fn edit_category(
        &mut self,
        id: Uuid,
        change: impl FnOnce(&mut Category),
    ) -> Option<Category> {
        let mut category = self.store.category(id)?.clone();
        change(&mut category);
        category.id = id;
        category.updated_at = self.tick();
        self.store.put_category(category.clone());
        Some(category)
    }

    /// Adds a category, as colleagues do.
    pub(super) fn add_category(&mut self, workspace: Uuid, name: &str, slug: &str) -> Uuid {
        let category = self.new_category(workspace, name.to_owned(), slug.to_owned(), COLLEAGUE);
        let id = category.id;
        self.store.put_category(category);
        id
    }

    /// Makes a category of a user, without storing it.
    pub(super) fn new_category(
        &mut self,
        workspace: Uuid,
        name: String,
        slug: String,
        user_id: u64,
    ) -> Category {
        let now = self.tick();
        Category {
            id: self.new_id(),
            user_id,
            workspace,
            name,
            slug,
            description: None,
            meta_description: None,
            updated_at: now,
            created_at: now,
        }
    }

    /// Adds an article, as colleagues do.
    pub(super) fn add_article(&mut self, new: NewSeed) -> Uuid {
        self.put_new_article(new, COLLEAGUE).id
    }

    /// Adds an article of a user.
    pub(super) fn put_new_article(&mut self, new: NewSeed, user_id: u64) -> Article {
        let now = self.tick();
        let article = Article {
            id: self.new_id(),
            user_id,
            category_id: new.category,
            title: new.title,
            slug: new.slug,
            text: new.text,
            introtext: new.introtext,
            keywords: new.keywords,
            enabled: new.enabled,
            draft: new.draft,
            views: 0,
            rating_happy: 0,
            rating_neutral: 0,
            rating_sad: 0,
            updated_at: now,
            created_at: now,
        };
        self.store.put_article(article.clone());
        article
    }
}
