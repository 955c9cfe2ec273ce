//! The handle: the actions of colleagues in the dashboard, the views for tests, and the switches.
//!
//! All actions are immediate and bypass the API: nothing is counted, limited or recorded. A call waits at most for the
//! change of one other call.

use super::{
    gate::Interceptor,
    options::{Options, Rights},
    store::{Article, Category, NewSeed, Workspace},
    world::{Counts, RequestRecord, World},
};
use chrono::{DateTime, Utc};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use uuid::Uuid;

/// A handle to a stand-in service; clones are the same service.
#[derive(Clone, Debug)]
pub struct Sandbox {
    world: Arc<Mutex<World>>,
    interceptor: Arc<OnceLock<Box<dyn Interceptor>>>,
}

impl Sandbox {
    /// Makes an empty service.
    pub fn new(options: Options) -> Self {
        Self {
            world: Arc::new(Mutex::new(World::new(options))),
            interceptor: Arc::default(),
        }
    }

    /// A poisoned lock is safe to use: a closure that panics under the lock leaves the store between two changes.
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

    /// Adds a category. Nothing is checked, because imports and colleagues are not checked either.
    pub fn add_category(&self, workspace: Uuid, name: &str, slug: &str) -> Uuid {
        self.lock().add_category(workspace, name, slug)
    }

    /// Adds an article. Nothing is checked.
    pub fn add_article(&self, new: NewSeed) -> Uuid {
        self.lock().add_article(new)
    }

    /// Changes an article as the web editor does, with a new `updated_at`. Returns the article.
    pub fn edit(&self, id: Uuid, change: impl FnOnce(&mut Article)) -> Option<Article> {
        self.lock().edit(id, change)
    }

    /// Publishes a draft.
    pub fn publish(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.draft = false)
    }

    /// Turns an article into a draft.
    pub fn unpublish(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.draft = true)
    }

    /// Enables an article.
    pub fn enable(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.enabled = true)
    }

    /// Disables an article.
    pub fn disable(&self, id: Uuid) -> Option<Article> {
        self.edit(id, |article| article.enabled = false)
    }

    /// Adds to the views of an article; `updated_at` stays.
    pub fn visit(&self, id: Uuid, times: i64) -> Option<Article> {
        let mut world = self.lock();
        let mut article = Article::clone(world.store.article(id)?);
        article.views += times;
        world.store.put_article(article.clone());
        Some(article)
    }

    /// Restores an article exactly as given, `updated_at` included, as from a backup.
    pub fn restore(&self, article: Article) {
        self.lock().store.put_article(article);
    }

    /// Deletes and returns an article.
    pub fn remove(&self, id: Uuid) -> Option<Article> {
        let removed = self.lock().store.remove_article(id)?;
        Some(Article::clone(&removed))
    }

    /// Changes a category, with a new `updated_at`. Returns the category.
    pub fn edit_category(&self, id: Uuid, change: impl FnOnce(&mut Category)) -> Option<Category> {
        self.lock().edit_category(id, change)
    }

    /// Renames a category and changes its slug.
    pub fn rename_category(&self, id: Uuid, name: &str, slug: &str) -> Option<Category> {
        self.edit_category(id, |category| {
            name.clone_into(&mut category.name);
            slug.clone_into(&mut category.slug);
        })
    }

    /// Returns an article in any state.
    pub fn article(&self, id: Uuid) -> Option<Article> {
        self.lock().store.article(id).map(|one| Article::clone(one))
    }

    /// Returns all articles, in the order of their creation.
    pub fn articles(&self) -> Vec<Article> {
        let world = self.lock();
        world
            .store
            .articles()
            .map(|one| Article::clone(one))
            .collect()
    }

    /// Returns a category.
    pub fn category(&self, id: Uuid) -> Option<Category> {
        self.lock().store.category(id).cloned()
    }

    /// Returns all categories, in the order of their creation.
    pub fn categories(&self) -> Vec<Category> {
        self.lock().store.categories().to_vec()
    }

    /// Returns all workspaces, in the order of their creation.
    pub fn workspaces(&self) -> Vec<Workspace> {
        self.lock().store.workspaces().to_vec()
    }

    /// Returns the API requests so far, the oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.lock().requests.iter().cloned().collect()
    }

    /// Returns the last `n` API requests, the newest first.
    pub fn recent_requests(&self, n: usize) -> Vec<RequestRecord> {
        self.lock().requests.iter().rev().take(n).cloned().collect()
    }

    /// Returns the number of API requests.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Deletes the recorded requests and their counts; the rate limits stay.
    pub fn clear_requests(&self) {
        let mut world = self.lock();
        world.requests.clear();
        world.counts = Counts::default();
    }

    /// Resets every user's rate limits.
    pub fn reset_limits(&self) {
        self.lock().limits.reset();
    }

    /// Returns the options.
    pub fn options(&self) -> Options {
        self.lock().options.clone()
    }

    /// Changes the options.
    pub fn set_options(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.lock().options);
    }

    /// Adds a token, or changes its rights.
    pub fn add_token(&self, token: &str, rights: Rights) {
        self.lock().tokens.insert(token.to_owned(), rights);
    }

    /// Revokes a token, including [`Options::token`].
    pub fn revoke_token(&self, token: &str) {
        let mut world = self.lock();
        world.tokens.remove(token);
        if world.options.token == token {
            world.options.token = format!("revoked-{}", Uuid::new_v4());
        }
    }

    /// Starts the clock at `moment`; each change is a microsecond later.
    pub fn set_clock(&self, moment: DateTime<Utc>) {
        self.lock().clock.fix(moment);
    }

    /// Returns the interceptor of API requests, and makes it if there is none.
    pub fn interceptor_or(&self, make: impl FnOnce() -> Box<dyn Interceptor>) -> &dyn Interceptor {
        self.interceptor.get_or_init(make).as_ref()
    }

    pub(super) fn interceptor(&self) -> Option<&dyn Interceptor> {
        self.interceptor.get().map(AsRef::as_ref)
    }
}
