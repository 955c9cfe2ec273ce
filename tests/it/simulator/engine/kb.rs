//! The service in memory, after `docs/api.md`: its content and its answers.
//!
//! Where a fact is "not shown", the [`Setup`] chooses. For every article the service remembers the version that
//! kbsync's last write replaced: stale reads come from a replica that lags behind by this one write.

use super::random::mix;
use super::step::{Probing, Rewriting, Setup};
use super::token::Tokens;
use kbsync::model::{
    ArticleId, CategoryId, CategoryVersion, Figures, Flags, Revision, WorkspaceId,
};
use kbsync::service::fingerprint::KnownEntries;
use kbsync::service::{
    Answer, ArticlePatch, CategoryPatch, ErrorKind, ListEnd, ListRequest, Listed, NewArticle,
    NewCategory, RemoteArticle, RemoteCategory, Requests, ServiceError, Validator,
};
use std::collections::BTreeMap;

/// The workspace of all worlds.
pub(crate) fn workspace() -> WorkspaceId {
    WorkspaceId::new(uuid::Uuid::from_u128(
        0x5_0000_0000_4000_8000_0000_0000_0001,
    ))
}

/// An article.
#[derive(Clone, Debug)]
pub(crate) struct Article {
    pub(crate) id: ArticleId,
    pub(crate) category: CategoryId,
    pub(crate) title: String,
    pub(crate) slug: String,
    pub(crate) text: String,
    pub(crate) introtext: String,
    pub(crate) keywords: String,
    pub(crate) enabled: bool,
    pub(crate) draft: bool,
    pub(crate) revision: i64,
    pub(crate) tokens: Tokens,
    /// The words that kbsync sent for the article because they were in its file.
    pub(crate) sent: Tokens,
    /// Title and text before the last edit.
    pub(crate) before: Option<(String, String)>,
    /// Whether kbsync was shown the present version.
    shown: bool,
    /// The version that a stale read shows.
    stale: Stale,
}

/// The version of an article on a replica that lags behind by one write.
#[derive(Clone, Debug)]
enum Stale {
    /// The present version.
    Not,
    /// No article: kbsync has just created it.
    Absent,
    /// The version that kbsync replaced last, and the revision of kbsync's write: a replica may lag behind this write,
    /// and behind colleagues' writes since.
    Older(Box<Article>, i64),
}

/// A category.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Category {
    pub(crate) id: CategoryId,
    pub(crate) version: CategoryVersion,
    pub(crate) revision: i64,
}

/// The service.
#[derive(Clone, Debug)]
pub(crate) struct Kb {
    pub(crate) setup: Setup,
    pub(crate) articles: BTreeMap<ArticleId, Article>,
    pub(crate) categories: BTreeMap<CategoryId, Category>,
    /// Articles that kbsync deleted.
    ghosts: BTreeMap<ArticleId, Article>,
    /// Whether kbsync has lost the knowledge of its own writes.
    forgotten: bool,
    born: BTreeMap<String, u64>,
    known: Vec<ArticleId>,
    revision: i64,
    pub(crate) requests: Requests,
    /// Whether listings ignore fingerprints and send every entry.
    pub(crate) reads_all: bool,
}

/// The author of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// A person in the dashboard.
    Colleague,
    /// kbsync.
    Us,
}

/// A refusal or failure, as the port returns it.
pub(crate) fn failure(
    kind: ErrorKind,
    method: &'static str,
    status: Option<u16>,
    response_lost: bool,
) -> ServiceError {
    ServiceError {
        kind,
        method: method.parse().expect("a method"),
        path: "/api/…".to_owned(),
        status,
        message: "as the simulation wants it".to_owned(),
        response_lost,
        source: None,
    }
}

fn refused(method: &'static str) -> ServiceError {
    failure(ErrorKind::Refused, method, Some(422), false)
}

fn missing(method: &'static str) -> ServiceError {
    failure(ErrorKind::NotFound, method, Some(404), false)
}

impl Article {
    /// Returns the article as a line, for comparisons.
    pub(crate) fn line(&self) -> String {
        format!(
            "{} {} {} {} {:?} {:?} {:?} {:?}",
            self.id,
            self.slug,
            self.enabled,
            self.draft,
            self.title,
            self.text,
            self.introtext,
            self.keywords
        )
    }

    fn count(&mut self) {
        let mut tokens = Tokens::of(self.text.as_bytes());
        tokens.read(self.title.as_bytes());
        tokens.read(self.introtext.as_bytes());
        tokens.read(self.keywords.as_bytes());
        self.tokens = tokens;
    }

    /// Returns whether readers see the article.
    pub(crate) fn is_published(&self) -> bool {
        self.enabled && !self.draft
    }

    /// Returns the article's entry in a listing; an entry with a known fingerprint is only named.
    fn listed(&self, body: bool, known: Option<&KnownEntries>) -> Listed {
        let mut article = self.answer(true, body);
        if let Some(known) = known {
            let words = [
                &article.title,
                &article.slug,
                article.text.as_ref().unwrap_or(&article.title),
                &article.introtext,
                &article.keywords,
                &article.revision.0,
            ];
            let mut bytes = vec![u8::from(body)];
            bytes.extend_from_slice(article.id.uuid().as_bytes());
            bytes.extend_from_slice(article.category.uuid().as_bytes());
            for word in words {
                bytes.extend_from_slice(&word.len().to_le_bytes());
                bytes.extend_from_slice(word.as_bytes());
            }
            let fingerprint = known.fingerprint(&bytes, b"");
            if let Some(id) = known.article(fingerprint) {
                return Listed::Known(id);
            }
            article.fingerprint = Some(fingerprint);
        }
        Listed::Article(Box::new(article))
    }

    fn answer(&self, read: bool, body: bool) -> RemoteArticle {
        RemoteArticle {
            id: self.id,
            category: self.category,
            title: self.title.clone(),
            slug: self.slug.clone(),
            text: body.then(|| self.text.clone()),
            introtext: self.introtext.clone(),
            keywords: self.keywords.clone(),
            flags: if read {
                Flags::default()
            } else {
                Flags {
                    enabled: Some(self.enabled),
                    draft: Some(self.draft),
                }
            },
            revision: revision(self.revision),
            figures: read.then(Figures::default),
            fingerprint: None,
        }
    }
}

fn revision(number: i64) -> Revision {
    Revision(format!("r{number}"))
}

impl Category {
    fn answer(&self) -> RemoteCategory {
        RemoteCategory {
            id: self.id,
            workspace: Some(workspace()),
            version: self.version.clone(),
            revision: revision(self.revision),
        }
    }
}

impl Kb {
    /// An empty service.
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            setup,
            articles: BTreeMap::new(),
            categories: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            forgotten: false,
            born: BTreeMap::new(),
            known: Vec::new(),
            revision: 0,
            requests: Requests::default(),
            reads_all: false,
        }
    }

    fn next_revision(&mut self) -> i64 {
        self.revision += 1;
        self.revision
    }

    /// Returns an id that depends only on the address and on how often it was used.
    fn identifier(&mut self, address: String) -> uuid::Uuid {
        let mut state = 7;
        for byte in address.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        let count = self.born.entry(address).or_default();
        *count += 1;
        let number = (u128::from(mix(state ^ *count)) << 64) | u128::from(mix(state + *count));
        uuid::Builder::from_random_bytes(number.to_be_bytes()).into_uuid()
    }

    /// Returns a text as the service rewrites it.
    pub(crate) fn text(&self, text: &str) -> String {
        rewritten(self.setup.rewriting, text)
    }

    /// Returns a slug as the service rewrites it.
    pub(crate) fn slug(&self, slug: &str) -> String {
        match self.setup.rewriting {
            Rewriting::Nothing => slug.to_owned(),
            Rewriting::Trim | Rewriting::Editor => slug.trim().to_lowercase(),
        }
    }

    /// Returns a title or another line as the service rewrites it.
    pub(crate) fn line(&self, line: &str) -> String {
        match self.setup.rewriting {
            Rewriting::Nothing => line.to_owned(),
            Rewriting::Trim | Rewriting::Editor => line.trim().to_owned(),
        }
    }

    /// The category with a slug.
    pub(crate) fn category_at(&self, slug: &str) -> Option<CategoryId> {
        let slug = self.slug(slug);
        self.categories
            .values()
            .find(|category| category.version.slug == slug)
            .map(|category| category.id)
    }

    /// The article with an address.
    pub(crate) fn article_at(&self, category: &str, slug: &str) -> Option<ArticleId> {
        let category = self.category_at(category)?;
        self.taken(category, &self.slug(slug), None)
    }

    fn taken(&self, category: CategoryId, slug: &str, but: Option<ArticleId>) -> Option<ArticleId> {
        self.articles
            .values()
            .find(|article| {
                article.category == category && article.slug == slug && Some(article.id) != but
            })
            .map(|article| article.id)
    }

    /// All articles that ever existed.
    pub(crate) fn ids(&self) -> Vec<ArticleId> {
        self.known.clone()
    }

    /// All tokens of all articles.
    pub(crate) fn tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        for article in self.articles.values() {
            tokens.add(&article.tokens);
        }
        tokens
    }

    // Writes.

    pub(crate) fn create_category(&mut self, new: &NewCategory) -> Answer<RemoteCategory> {
        let slug = self.slug(&new.version.slug);
        if self.category_at(&slug).is_some() {
            return Err(refused("POST"));
        }
        let id = CategoryId::new(self.identifier(format!("category {slug}")));
        let category = Category {
            id,
            version: CategoryVersion {
                slug,
                name: self.line(&new.version.name),
                ..new.version.clone()
            },
            revision: self.next_revision(),
        };
        let answer = category.answer();
        self.categories.insert(id, category);
        Ok(answer)
    }

    pub(crate) fn update_category(
        &mut self,
        id: CategoryId,
        patch: &CategoryPatch,
    ) -> Answer<RemoteCategory> {
        let slug = patch.slug.as_deref().map(|slug| self.slug(slug));
        if let Some(other) = slug.as_deref().and_then(|slug| self.category_at(slug))
            && other != id
        {
            return Err(refused("PUT"));
        }
        let name = patch.name.as_deref().map(|name| self.line(name));
        let number = self.next_revision();
        let category = self.categories.get_mut(&id).ok_or_else(|| missing("PUT"))?;
        let version = &mut category.version;
        if let Some(slug) = slug {
            version.slug = slug;
        }
        if let Some(name) = name {
            version.name = name;
        }
        if let Some(description) = &patch.description {
            version.description.clone_from(description);
        }
        if let Some(description) = &patch.meta_description {
            version.meta_description.clone_from(description);
        }
        category.revision = number;
        Ok(category.answer())
    }

    pub(crate) fn create(&mut self, new: &NewArticle, by: By) -> Answer<RemoteArticle> {
        let slug = self.slug(&new.slug);
        let Some(category) = self.categories.get(&new.category) else {
            return Err(refused("POST"));
        };
        if new.title.is_empty() || self.taken(new.category, &slug, None).is_some() {
            return Err(refused("POST"));
        }
        let address = format!("article {}/{slug}", category.version.slug);
        let id = ArticleId::new(self.identifier(address));
        let mut article = Article {
            id,
            category: new.category,
            title: self.line(&new.title),
            slug,
            text: self.text(&new.text),
            introtext: self.line(&new.introtext),
            keywords: self.line(&new.keywords),
            enabled: new.enabled,
            draft: new.draft,
            revision: self.next_revision(),
            tokens: Tokens::default(),
            sent: Tokens::default(),
            before: None,
            shown: by == By::Us,
            stale: match by {
                By::Us => Stale::Absent,
                By::Colleague => Stale::Not,
            },
        };
        article.count();
        if by == By::Us {
            article.sent = article.tokens;
        }
        let answer = article.answer(false, true);
        self.articles.insert(id, article);
        self.known.push(id);
        Ok(answer)
    }

    pub(crate) fn update(
        &mut self,
        id: ArticleId,
        patch: &ArticlePatch,
        by: By,
    ) -> Answer<RemoteArticle> {
        let Some(old) = self.articles.get(&id).cloned() else {
            return Err(missing("PUT"));
        };
        let mut article = old.clone();
        if let Some(category) = patch.category {
            if !self.categories.contains_key(&category) {
                return Err(refused("PUT"));
            }
            article.category = category;
        }
        if let Some(slug) = &patch.slug {
            article.slug = self.slug(slug);
        }
        if self
            .taken(article.category, &article.slug, Some(id))
            .is_some()
        {
            return Err(refused("PUT"));
        }
        if let Some(title) = &patch.title {
            article.title = self.line(title);
        }
        if let Some(text) = &patch.text {
            article.text = self.text(text);
        }
        if let Some(line) = &patch.introtext {
            article.introtext = self.line(line);
        }
        if let Some(line) = &patch.keywords {
            article.keywords = self.line(line);
        }
        if let Some(enabled) = patch.enabled {
            article.enabled = enabled;
        }
        if article.title.is_empty() {
            return Err(refused("PUT"));
        }
        article.shown = by == By::Us;
        article.revision = self.next_revision();
        article.before = Some((old.title.clone(), old.text.clone()));
        let had = old.tokens;
        article.count();
        article.stale = match (by, old.stale) {
            // A replica does not show a version that nobody has seen before.
            (By::Us, _) if !old.shown => Stale::Not,
            (By::Us, _) => {
                let before = Article {
                    stale: Stale::Not,
                    ..old
                };
                Stale::Older(Box::new(before), article.revision)
            }
            (By::Colleague, older @ Stale::Older(..)) if !self.forgotten => older,
            (By::Colleague, _) => Stale::Not,
        };
        if by == By::Us {
            article.sent.add(&article.tokens.without(&had));
        }
        let answer = article.answer(false, true);
        self.articles.insert(id, article);
        Ok(answer)
    }

    pub(crate) fn probe(&self, id: ArticleId) -> Answer<RemoteArticle> {
        if self.setup.probing == Probing::Forbidden {
            return Err(failure(ErrorKind::Forbidden, "PUT", Some(403), false));
        }
        let article = self.articles.get(&id).ok_or_else(|| missing("PUT"))?;
        Ok(article.answer(false, true))
    }

    pub(crate) fn delete(&mut self, id: ArticleId, by: By) -> Answer<()> {
        let gone = self.articles.remove(&id).ok_or_else(|| missing("DELETE"))?;
        if by == By::Us && gone.shown {
            self.ghosts.insert(id, gone);
        }
        Ok(())
    }

    /// The articles that kbsync deleted, and that a stale replica still shows.
    pub(crate) fn ghosts(&self) -> impl Iterator<Item = &Article> {
        self.ghosts.values()
    }

    /// A day passed: no replica shows a deleted article any more. kbsync remembers a deletion for three days.
    pub(crate) fn catch_up(&mut self) {
        self.ghosts.clear();
    }

    /// kbsync has lost the knowledge of its own writes. From here on no superseded version hides colleagues' edits over
    /// these writes, because nobody could distinguish it from a colleague's revert (`docs/guide/limits.md`).
    pub(crate) fn forget_writes(&mut self) {
        self.forgotten = true;
        for article in self.articles.values_mut() {
            if matches!(article.stale, Stale::Older(_, revision) if revision != article.revision) {
                article.stale = Stale::Not;
            }
        }
    }

    /// The articles that a stale replica shows as before kbsync's last write, each with the words and the revision of
    /// this write.
    pub(crate) fn outdated(&self) -> impl Iterator<Item = (ArticleId, (Tokens, i64))> {
        self.articles
            .values()
            .filter_map(|article| match &article.stale {
                Stale::Older(before, _) => {
                    let words = article.tokens.without(&before.tokens);
                    Some((article.id, (words, article.revision)))
                }
                Stale::Not | Stale::Absent => None,
            })
    }

    /// Records that kbsync was shown an article.
    pub(crate) fn showed(&mut self, id: ArticleId) {
        if let Some(article) = self.articles.get_mut(&id) {
            article.shown = true;
        }
    }

    // Reads.

    /// Returns whether the read endpoints show an article.
    pub(crate) fn is_readable(&self, article: &Article) -> bool {
        article.is_published() || (self.setup.lists_disabled && !article.draft)
    }

    /// Returns the articles as readers see them; a stale replica lacks kbsync's last writes.
    fn visible(&self, stale: bool) -> Vec<&Article> {
        let mut articles: Vec<&Article> = Vec::with_capacity(self.articles.len());
        for article in self.articles.values() {
            match (&article.stale, stale) {
                (Stale::Older(before, ..), true) => articles.push(before),
                (Stale::Absent, true) => {}
                (Stale::Older(..) | Stale::Absent, false) | (Stale::Not, _) => {
                    articles.push(article);
                }
            }
        }
        if stale {
            articles.extend(self.ghosts.values());
        }
        articles.retain(|article| self.is_readable(article));
        articles.sort_by_key(|article| article.id);
        articles
    }

    pub(crate) fn read(&self, id: ArticleId, stale: bool) -> Answer<RemoteArticle> {
        self.visible(stale)
            .into_iter()
            .find(|article| article.id == id)
            .map(|article| article.answer(true, true))
            .ok_or_else(|| missing("GET"))
    }

    pub(crate) fn read_category(
        &self,
        id: CategoryId,
        stale: bool,
    ) -> Answer<(RemoteCategory, Vec<Listed>)> {
        let category = self.categories.get(&id).ok_or_else(|| missing("GET"))?;
        let articles = self.visible(stale).into_iter();
        let listed = articles
            .filter(|article| article.category == id)
            .map(|article| Listed::Article(Box::new(article.answer(true, true))))
            .collect();
        Ok((category.answer(), listed))
    }

    /// Returns a listing. `skip` leaves an entry out, `garble` makes an entry unreadable.
    pub(crate) fn list(
        &self,
        request: &ListRequest,
        stale: bool,
        skip: Option<u8>,
        garble: Option<u8>,
    ) -> (Vec<Listed>, ListEnd) {
        let visible = self.visible(stale);
        // An entry that is left out lies between two pages, and pages have no validator.
        let etag = self.setup.etag && !self.setup.by_category && skip.is_none();
        let validator = etag.then(|| {
            let mut sum = 3;
            for article in &visible {
                let id = article.id.uuid().as_u128();
                let low = u64::try_from(id & u128::from(u64::MAX)).unwrap_or_default();
                let number = u64::try_from(article.revision).unwrap_or_default();
                sum = mix(sum ^ low ^ number);
            }
            Validator {
                etag: format!("\"{sum:x}\""),
            }
        });
        if validator.is_some() && request.validator == validator {
            return (Vec::new(), ListEnd::NotModified);
        }
        let mut entries = Vec::new();
        let bodies = self.setup.bodies || self.setup.by_category;
        let known = request.known.as_deref().filter(|_| !self.reads_all);
        let mut number = 0_u8;
        let mut take = |article: &Article, entries: &mut Vec<Listed>| {
            let at = Some(number);
            number = number.saturating_add(1);
            if at == garble {
                entries.push(Listed::Unreadable {
                    id: Some(article.id),
                    why: "as the simulation wants it".to_owned(),
                });
            } else if at != skip {
                entries.push(article.listed(bodies, known));
            }
        };
        if self.setup.by_category {
            for id in &request.categories {
                let Some(category) = self.categories.get(id) else {
                    continue;
                };
                entries.push(Listed::Category(Box::new(category.answer())));
                for article in visible.iter().filter(|article| article.category == *id) {
                    take(article, &mut entries);
                }
            }
        } else {
            for article in visible {
                take(article, &mut entries);
            }
        }
        let end = ListEnd::Whole {
            validator,
            by_category: self.setup.by_category,
        };
        (entries, end)
    }
}

/// Returns a text as a service with this rewriting stores it.
pub(crate) fn rewritten(rewriting: Rewriting, text: &str) -> String {
    match rewriting {
        Rewriting::Nothing => text.to_owned(),
        Rewriting::Trim => text.trim().to_owned(),
        Rewriting::Editor => {
            let plain = text.trim().replace(">\n<", "><");
            let marked = plain.ends_with("<!-- -->") || plain.is_empty();
            if marked { plain } else { plain + "<!-- -->" }
        }
    }
}
