//! The handle: what colleagues do in the dashboard, what tests look at, and the switches.
//!
//! All of it is immediate and goes past the API: nothing is counted, limited or recorded. Calls never wait for
//! each other longer than one change takes.

use super::{
    faults::Fault,
    listing::Cache,
    options::{Options, Rights},
    store::{Article, Category, NewSeed, Store, Workspace},
    world::{Counts, RequestRecord, Stale, World},
};
use chrono::{DateTime, Utc};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// A handle to a stand-in service; clones are the same service.
#[derive(Clone, Debug)]
pub struct Sandbox {
    world: Arc<Mutex<World>>,
}

/// What a service held at one moment.
#[derive(Clone, Debug)]
pub struct Past(Store);

impl Sandbox {
    /// An empty service.
    pub fn new(options: Options) -> Self {
        Self {
            world: Arc::new(Mutex::new(World::new(options))),
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
        self.lock().edit(id, change)
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
        self.lock().edit_category(id, change)
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
        world.nonce = Uuid::new_v4();
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

    /// What is there now, to be shown later by [`Sandbox::serve_past`].
    pub fn past(&self) -> Past {
        Past(self.lock().store.clone())
    }

    /// Lets the next `reads` API reads see what was there then.
    pub fn serve_past(&self, past: &Past, reads: u32) {
        self.lock().stale = Some(Stale {
            store: past.0.clone(),
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
