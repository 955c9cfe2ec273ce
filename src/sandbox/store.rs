//! The content of the service, and its rules: ownership, free slugs, visibility.
//!
//! A plain value: ids and times are arguments. The store accepts everything that colleagues can do in the dashboard;
//! `fields` has the input rules of the API.

use super::options::Options;
use chrono::{DateTime, Utc};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use uuid::Uuid;

/// A workspace (A2.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workspace {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// HTML.
    pub description: String,
    /// For search engines.
    pub meta_description: Option<String>,
    /// A host name.
    pub custom_domain: Option<String>,
}

/// A category (A2.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Category {
    /// Its id.
    pub id: Uuid,
    /// The user who created it.
    pub user_id: u64,
    /// The workspace that owns it.
    pub workspace: Uuid,
    /// Its name.
    pub name: String,
    /// Its slug, unique in the workspace.
    pub slug: String,
    /// The description below the name.
    pub description: Option<String>,
    /// For search engines.
    pub meta_description: Option<String>,
    /// The last change.
    pub updated_at: DateTime<Utc>,
    /// The creation.
    pub created_at: DateTime<Utc>,
}

/// An article (A2.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Article {
    /// Its id.
    pub id: Uuid,
    /// The user who created it.
    pub user_id: u64,
    /// Its category.
    pub category_id: Uuid,
    /// Its title.
    pub title: String,
    /// Its slug, unique in the category.
    pub slug: String,
    /// HTML.
    pub text: String,
    /// A summary.
    pub introtext: Option<String>,
    /// Search words.
    pub keywords: Option<String>,
    /// Whether readers can see it.
    pub enabled: bool,
    /// Whether it is unpublished.
    pub draft: bool,
    /// The number of views.
    pub views: i64,
    /// Readers who were happy with it.
    pub rating_happy: i64,
    /// Readers who were neutral.
    pub rating_neutral: i64,
    /// Readers who were unhappy with it.
    pub rating_sad: i64,
    /// The last change.
    pub updated_at: DateTime<Utc>,
    /// The creation.
    pub created_at: DateTime<Utc>,
}

impl Article {
    /// `updated_at` as the API writes it.
    pub fn revision(&self) -> String {
        super::clock::stamp(self.updated_at)
    }
}

/// An article to add without the rules of the API: any slug, any length, any state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSeed {
    /// The category.
    pub category: Uuid,
    /// The title.
    pub title: String,
    /// The slug.
    pub slug: String,
    /// The body.
    pub text: String,
    /// A summary.
    pub introtext: Option<String>,
    /// Search words.
    pub keywords: Option<String>,
    /// Whether readers can see it.
    pub enabled: bool,
    /// Whether it is unpublished.
    pub draft: bool,
}

impl NewSeed {
    /// Makes a published article.
    pub fn new(category: Uuid, title: &str, slug: &str, text: &str) -> Self {
        Self {
            category,
            title: title.to_owned(),
            slug: slug.to_owned(),
            text: text.to_owned(),
            introtext: None,
            keywords: None,
            enabled: true,
            draft: false,
        }
    }

    /// Makes it a draft.
    #[must_use]
    pub fn draft(self) -> Self {
        Self {
            draft: true,
            ..self
        }
    }

    /// Disables it.
    #[must_use]
    pub fn disabled(self) -> Self {
        Self {
            enabled: false,
            ..self
        }
    }
}

/// The content of the service. Copies share the articles.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    workspaces: Vec<Workspace>,
    categories: Vec<Category>,
    /// The articles by number, in the order of their creation.
    articles: BTreeMap<u64, Arc<Article>>,
    places: HashMap<Uuid, u64>,
    next: u64,
}

impl Store {
    pub(super) fn workspaces(&self) -> &[Workspace] {
        &self.workspaces
    }

    pub(super) fn workspace(&self, id: Uuid) -> Option<&Workspace> {
        self.workspaces.iter().find(|one| one.id == id)
    }

    pub(super) fn categories(&self) -> &[Category] {
        &self.categories
    }

    pub(super) fn category(&self, id: Uuid) -> Option<&Category> {
        self.categories.iter().find(|one| one.id == id)
    }

    /// Returns all articles, in the order of their creation.
    pub(super) fn articles(&self) -> impl Iterator<Item = &Arc<Article>> {
        self.articles.values()
    }

    pub(super) fn article(&self, id: Uuid) -> Option<&Arc<Article>> {
        self.articles.get(self.places.get(&id)?)
    }

    /// Returns the workspace of an article.
    pub(super) fn workspace_of(&self, article: &Article) -> Option<Uuid> {
        self.category(article.category_id).map(|one| one.workspace)
    }

    pub(super) fn put_workspace(&mut self, workspace: Workspace) {
        self.workspaces.push(workspace);
    }

    pub(super) fn put_category(&mut self, category: Category) {
        match self.categories.iter_mut().find(|one| one.id == category.id) {
            Some(old) => *old = category,
            None => self.categories.push(category),
        }
    }

    /// Adds an article, or replaces the article with the same id.
    pub(super) fn put_article(&mut self, article: Article) {
        let place = *self.places.entry(article.id).or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.articles.insert(place, Arc::new(article));
    }

    pub(super) fn remove_article(&mut self, id: Uuid) -> Option<Arc<Article>> {
        self.articles.remove(&self.places.remove(&id)?)
    }

    /// Returns whether an article other than `but` has `slug` in the category.
    pub(super) fn article_slug_taken(&self, category: Uuid, slug: &str, but: Option<Uuid>) -> bool {
        self.articles()
            .any(|one| one.category_id == category && one.slug == slug && Some(one.id) != but)
    }

    /// Returns whether a category other than `but` has `slug` in the workspace.
    pub(super) fn category_slug_taken(
        &self,
        workspace: Uuid,
        slug: &str,
        but: Option<Uuid>,
    ) -> bool {
        self.categories
            .iter()
            .any(|one| one.workspace == workspace && one.slug == slug && Some(one.id) != but)
    }

    /// Returns the visible articles of a workspace, in the order of their creation.
    pub(super) fn listed_in_workspace<'a>(
        &'a self,
        options: &'a Options,
        workspace: Uuid,
    ) -> impl Iterator<Item = &'a Arc<Article>> {
        self.articles()
            .filter(move |one| self.workspace_of(one) == Some(workspace) && listed(options, one))
    }

    /// Returns the visible articles of a category.
    pub(super) fn listed_in_category<'a>(
        &'a self,
        options: &'a Options,
        category: Uuid,
    ) -> impl Iterator<Item = &'a Arc<Article>> {
        self.articles()
            .filter(move |one| one.category_id == category && listed(options, one))
    }
}

/// Returns whether listings show the article. Drafts are never shown (A3.1).
pub(super) fn listed(options: &Options, article: &Article) -> bool {
    !article.draft && (article.enabled || options.list_disabled)
}

/// Returns whether `GET /api/article/{id}` returns the article.
pub(super) fn readable(options: &Options, article: &Article) -> bool {
    !article.draft && (article.enabled || options.read_disabled)
}
