//! The handle: what colleagues do in the dashboard, what tests look at, and the switches.
//!
//! All of it is immediate and goes past the API: nothing is counted, limited or recorded. Calls never wait for
//! each other longer than one change takes.

use super::{
    clock::Clock,
    faults::Fault,
    limits::Limits,
    listing::Cache,
    options::{Access, Options, Rights},
    store::{Article, Category, NewSeed, Store, Workspace},
};
use chrono::{DateTime, Utc};
use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use uuid::Uuid;

/// Requests that are kept for [`Sandbox::requests`]; older ones are dropped.
const KEPT_REQUESTS: usize = 10_000;

/// `user_id` of what colleagues create in the dashboard.
const COLLEAGUE: u64 = 2;

/// A request to the API, as it was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestRecord {
    /// Its number, from 1.
    pub number: u64,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers but `Authorization`, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The status of the answer; 0 when the connection was dropped without one.
    pub status: u16,
}

/// How many API requests there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// All of them.
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
    /// Requests that change something.
    pub fn writes(self) -> u64 {
        self.post + self.put + self.delete
    }
}

/// An old copy that some reads still see.
#[derive(Clone, Debug)]
pub(super) struct Stale {
    pub(super) store: Store,
    pub(super) reads: u32,
}

/// Everything behind the handle.
#[derive(Debug)]
pub(super) struct World {
    pub(super) options: Options,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) tokens: HashMap<String, Rights>,
    pub(super) limits: Limits,
    pub(super) faults: Vec<Fault>,
    pub(super) stale: Option<Stale>,
    pub(super) cache: Cache,
    /// The file that keeps the content.
    pub(super) file: Option<PathBuf>,
    /// The changes that the file has.
    pub(super) saved: u64,
    requests: VecDeque<RequestRecord>,
    counts: Counts,
    /// Requests ever, for their numbers.
    arrived: u64,
    /// Ids ever, for predictable ones.
    ids: u64,
}

impl World {
    /// Gives the moment of a change.
    pub(super) fn tick(&mut self) -> DateTime<Utc> {
        self.clock.tick(self.options.time_grain)
    }

    /// Gives a new id.
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

    /// What a token may do.
    pub(super) fn rights(&self, token: &str) -> Option<Rights> {
        if let Some(rights) = self.tokens.get(token) {
            return Some(rights.clone());
        }
        (token == self.options.token).then(|| Rights::everywhere(Access::Owner))
    }

    /// Notes a request, and answers with its number.
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
        if self.requests.len() >= KEPT_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
        self.arrived
    }

    /// Notes how a request was answered.
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

    /// Adds a category, as colleagues do.
    pub(super) fn add_category(&mut self, workspace: Uuid, name: &str, slug: &str) -> Uuid {
        let (id, now) = (self.new_id(), self.tick());
        self.store.put_category(Category {
            id,
            user_id: COLLEAGUE,
            workspace,
            name: name.to_owned(),
            slug: slug.to_owned(),
            description: None,
            meta_description: None,
            updated_at: now,
            created_at: now,
        });
        id
    }

    /// Adds an article, as colleagues do.
    pub(super) fn add_article(&mut self, new: NewSeed) -> Uuid {
        let (id, now) = (self.new_id(), self.tick());
        self.store.put_article(Article {
            id,
            user_id: COLLEAGUE,
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
        });
        id
    }
}

/// A handle to a stand-in service; clones are the same service.
#[derive(Clone, Debug)]
pub struct Sandbox {
    world: Arc<Mutex<World>>,
}

impl Sandbox {
    /// An empty service.
    pub fn new(options: Options) -> Self {
        Self {
            world: Arc::new(Mutex::new(World {
                options,
                store: Store::default(),
                clock: Clock::default(),
                tokens: HashMap::new(),
                limits: Limits::default(),
                faults: Vec::new(),
                stale: None,
                cache: Cache::default(),
                file: None,
                saved: 0,
                requests: VecDeque::new(),
                counts: Counts::default(),
                arrived: 0,
                ids: 0,
            })),
        }
    }

    /// A closure that panicked while it held the lock leaves the store as it was between two changes.
    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a workspace.
    pub fn add_workspace(&self, name: &str) -> Uuid {
        let mut world = self.lock();
        let id = world.new_id();
        world.store.put_workspace(Workspace {
            id,
            name: name.to_owned(),
            description: format!("<p>{name}</p>"),
            meta_description: None,
            custom_domain: None,
        });
        id
    }

    /// Adds a category. Nothing is checked: colleagues and their imports do what they do.
    pub fn add_category(&self, workspace: Uuid, name: &str, slug: &str) -> Uuid {
        self.lock().add_category(workspace, name, slug)
    }

    /// Adds an article. Nothing is checked.
    pub fn add_article(&self, new: NewSeed) -> Uuid {
        self.lock().add_article(new)
    }

    /// Changes an article as the web editor does, with a new `updated_at`; answers with the article as it is then.
    pub fn edit(&self, id: Uuid, change: impl FnOnce(&mut Article)) -> Option<Article> {
        let mut world = self.lock();
        let mut article = Article::clone(world.store.article(id)?);
        change(&mut article);
        article.id = id;
        article.updated_at = world.tick();
        world.store.put_article(article.clone());
        Some(article)
    }

    /// Publishes a draft.
    pub fn publish(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.draft = false)
    }

    /// Makes a draft of an article.
    pub fn unpublish(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.draft = true)
    }

    /// Shows an article.
    pub fn enable(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.enabled = true)
    }

    /// Hides an article.
    pub fn disable(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.enabled = false)
    }

    /// Moves an article to another category.
    pub fn move_article(&self, id: Uuid, category: Uuid) -> Option<Article> {
        self.edit(id, |article| article.category_id = category)
    }

    /// Counts readers of an article; `updated_at` stays.
    pub fn visit(&self, id: Uuid, times: i64) -> Option<Article> {
        let mut world = self.lock();
        let mut article = Article::clone(world.store.article(id)?);
        article.views += times;
        world.store.put_article(article.clone());
        Some(article)
    }

    /// Puts an article back exactly as given, `updated_at` included: a restored backup.
    pub fn restore(&self, article: Article) {
        self.lock().store.put_article(article);
    }

    /// Removes an article for ever, and answers with what it was.
    pub fn remove(&self, id: Uuid) -> Option<Article> {
        let removed = self.lock().store.remove_article(id)?;
        Some(Article::clone(&removed))
    }

    /// Changes a category, with a new `updated_at`; answers with the category as it is then.
    pub fn edit_category(&self, id: Uuid, change: impl FnOnce(&mut Category)) -> Option<Category> {
        let mut world = self.lock();
        let mut category = world.store.category(id)?.clone();
        change(&mut category);
        category.id = id;
        category.updated_at = world.tick();
        world.store.put_category(category.clone());
        Some(category)
    }

    /// Gives a category another name and slug.
    pub fn rename_category(&self, id: Uuid, name: &str, slug: &str) -> Option<Category> {
        self.edit_category(id, |category| {
            name.clone_into(&mut category.name);
            slug.clone_into(&mut category.slug);
        })
    }

    /// An article, in whatever state.
    pub fn article(&self, id: Uuid) -> Option<Article> {
        self.lock().store.article(id).map(|one| Article::clone(one))
    }

    /// All articles, in the order of their creation.
    pub fn articles(&self) -> Vec<Article> {
        let world = self.lock();
        world
            .store
            .articles()
            .map(|one| Article::clone(one))
            .collect()
    }

    /// A category.
    pub fn category(&self, id: Uuid) -> Option<Category> {
        self.lock().store.category(id).cloned()
    }

    /// All categories, in the order of their creation.
    pub fn categories(&self) -> Vec<Category> {
        self.lock().store.categories().to_vec()
    }

    /// All workspaces, in the order of their creation.
    pub fn workspaces(&self) -> Vec<Workspace> {
        self.lock().store.workspaces().to_vec()
    }

    /// The API requests so far, the oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.lock().requests.iter().cloned().collect()
    }

    /// The last `n` API requests, the newest first.
    pub fn recent_requests(&self, n: usize) -> Vec<RequestRecord> {
        self.lock().requests.iter().rev().take(n).cloned().collect()
    }

    /// How many API requests there were.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Forgets the requests and their counts (not what the rate limits know).
    pub fn clear_requests(&self) {
        let mut world = self.lock();
        world.requests.clear();
        world.counts = Counts::default();
    }

    /// Gives every user their whole minute and day again.
    pub fn reset_limits(&self) {
        self.lock().limits.reset();
    }

    /// The choices in force.
    pub fn options(&self) -> Options {
        self.lock().options.clone()
    }

    /// Changes the choices.
    pub fn set_options(&self, change: impl FnOnce(&mut Options)) {
        let mut world = self.lock();
        change(&mut world.options);
        world.cache = Cache::default();
    }

    /// Adds a token, or gives one other rights.
    pub fn add_token(&self, token: &str, rights: Rights) {
        self.lock().tokens.insert(token.to_owned(), rights);
    }

    /// Makes a token worthless, [`Options::token`] too.
    pub fn revoke_token(&self, token: &str) {
        let mut world = self.lock();
        world.tokens.remove(token);
        if world.options.token == token {
            world.options.token = format!("revoked-{}", Uuid::new_v4());
        }
    }

    /// Counts the moments of changes from `moment` on, a microsecond for each change.
    pub fn set_clock(&self, moment: DateTime<Utc>) {
        self.lock().clock.fix(moment);
    }

    /// Lets the next `reads` API reads see what is there now, whatever changes meanwhile.
    pub fn serve_stale(&self, reads: u32) {
        let mut world = self.lock();
        world.stale = Some(Stale {
            store: world.store.clone(),
            reads,
        });
    }

    /// Arms a fault.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Disarms all faults.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }
}
