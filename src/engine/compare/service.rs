//! The comparison with the service: a few articles are fetched one by one, many are listed.

use super::{Comparer, Comparison, Other, Pair};
use crate::engine::mirror_view::{Difference, MirrorView};
use crate::engine::observation::version_with;
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::path::{EXTENSION, safe_stem};
use crate::model::{ArticleId, CategoryId, CategoryVersion, Place, TextDigest};
use crate::reconcile::plan::Problem;
use crate::service::{
    ErrorKind, ListRequest, Listed, Purpose, RemoteArticle, Service, ServiceError,
};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of articles that are fetched one by one; for more, a listing is cheaper.
const MAX_FETCHED: usize = 3;

/// The largest number of categories that are fetched if none is named: a listing does not show them, and each costs a
/// request.
const UNNAMED: usize = 5;

/// The versions that the service showed.
#[derive(Default)]
struct Shown {
    /// The articles that may differ from their files.
    articles: Vec<RemoteArticle>,
    /// The ids of all shown articles.
    ids: BTreeSet<ArticleId>,
    /// The categories in the listing.
    categories: BTreeMap<CategoryId, CategoryVersion>,
}

impl<D: Disk> Comparer<'_, D> {
    /// Compares the files with the service. Fails with [`ServiceError`] if the service does.
    pub async fn with_service<S: Service>(
        mut self,
        service: &S,
        settings: &Settings,
    ) -> anyhow::Result<Comparison> {
        let files = self.view.paired.files.iter();
        let files = files.map(|(id, file)| (*id, &file.place));
        let rows = self.view.base.articles.values();
        let known = files.chain(rows.map(|row| (row.id, &row.place)));
        let known: BTreeMap<ArticleId, Place> = known
            .filter(|(_, place)| self.covers(place))
            .map(|(id, place)| (id, place.clone()))
            .collect();
        let is_few = known.len() <= MAX_FETCHED && !self.scope.is_empty();
        let shown = if is_few && self.scope.iter().all(|path| path.contains('/')) {
            fetch(service, known.keys()).await?
        } else {
            list(&self.view, service, settings).await?
        };
        let mut pairs = Vec::new();
        for article in &shown.articles {
            pairs.extend(self.remote(article)?);
        }
        let unseen = known.iter().filter(|(id, _)| !shown.ids.contains(id));
        self.view.problems.extend(unseen.map(|(id, place)| {
            let why = "the service does not show it (a draft, disabled or deleted)";
            Problem::at(place, Some(*id), why)
        }));
        for Difference { row, file } in self.view.differences() {
            let file = file.filter(|file| row.is_none() && self.covers(&file.place));
            let is_shown = |id| shown.ids.contains(&id);
            if let Some(file) = file.filter(|file| !file.id.is_some_and(is_shown)) {
                pairs.extend(self.article(None, Some(&file.place))?);
            }
        }
        pairs.extend(self.categories_there(service, shown.categories).await?);
        Ok(self.done(pairs, settings))
    }

    /// Compares the listed categories and a few others, starting with those that were edited here.
    async fn categories_there<S: Service>(
        &mut self,
        service: &S,
        mut shown: BTreeMap<CategoryId, CategoryVersion>,
    ) -> anyhow::Result<Vec<Pair>> {
        let is_unedited = |(id, folder): &(CategoryId, String)| {
            let row = self.view.base.categories.get(id);
            let file = self.view.paired.categories.get(id);
            let words = file.and_then(|category| category.version.as_ref());
            row.is_some_and(|row| words == Some(&row.local) && row.folder.as_ref() == Some(folder))
        };
        let mut folders = self.categories();
        folders.sort_by_key(|one| (!shown.contains_key(&one.0), is_unedited(one)));
        let (mut pairs, mut asked) = (Vec::new(), 0);
        for (id, folder) in folders {
            let version = match shown.remove(&id) {
                Some(version) => version,
                None if self.scope.is_empty() && asked == UNNAMED => {
                    let why = "not all categories were asked for: `kbsync diff --remote FOLDER` compares one";
                    self.view.problems.push(Problem::at("", None, why));
                    break;
                }
                None => {
                    asked += 1;
                    match service.category(id, Purpose::Push).await {
                        Ok((category, _)) => category.version,
                        Err(error) if error.stops_all() => return Err(error.into()),
                        Err(error) => {
                            let why = format!("its category cannot be read: {error}");
                            self.view.problems.push(Problem::at(folder, None, why));
                            continue;
                        }
                    }
                }
            };
            pairs.extend(self.category(id, &folder, Some((&folder, &version)))?);
        }
        Ok(pairs)
    }

    /// Compares one article of the service with its file.
    fn remote(&self, article: &RemoteArticle) -> anyhow::Result<Option<Pair>> {
        let (id, view) = (article.id, &self.view);
        if view.paired.unknown.contains_key(&id) {
            return Ok(None);
        }
        let category = view.base.categories.get(&article.category);
        let known = category.map(|row| row.folder.as_ref().unwrap_or(&row.remote.slug).as_str());
        let folder = view.paired.folder(article.category).or(known);
        let folder = folder.map_or_else(|| article.category.to_string(), str::to_owned);
        let file = view.paired.files.get(&id).map(|file| &file.place);
        let row = view.base.articles.get(&id).map(|row| &row.place);
        let name = match file.or(row) {
            Some(known) => known.file.clone(),
            None if safe_stem(&article.slug) => format!("{}{EXTENSION}", article.slug),
            None => format!("{id}{EXTENSION}"),
        };
        let place = &Place::new(folder, name);
        if !self.covers(place) && !file.is_some_and(|file| self.covers(file)) {
            return Ok(None);
        }
        let text = article.text.clone().unwrap_or_default();
        let other = Other {
            id,
            place,
            flags: None,
            version: &version_with(article, TextDigest::of(&text)),
            text: Some(text),
        };
        self.article(Some(&other), file)
    }
}

async fn fetch<S: Service>(
    service: &S,
    ids: impl Iterator<Item = &ArticleId>,
) -> Result<Shown, ServiceError> {
    let mut shown = Shown::default();
    for &id in ids {
        match service.article(id, Purpose::Push).await {
            Ok(article) => {
                shown.ids.insert(id);
                shown.articles.push(article);
            }
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(shown)
}

async fn list<S: Service>(
    view: &MirrorView,
    service: &S,
    settings: &Settings,
) -> Result<Shown, ServiceError> {
    let request = ListRequest {
        workspace: settings.workspace,
        categories: view.base.categories.keys().copied().collect(),
        validator: None,
        known: None,
        purpose: Purpose::Push,
    };
    let mut shown = Shown::default();
    // Equal articles are dropped as they stream, so that memory does not grow with the bodies.
    let mut take = |entry| match entry {
        Listed::Article(article) => {
            shown.ids.insert(article.id);
            if !is_equal(view, &article) {
                shown.articles.push(*article);
            }
        }
        Listed::Category(category) => {
            shown.categories.insert(category.id, category.version);
        }
        Listed::Restart => {
            shown.ids.clear();
            shown.articles.clear();
        }
        Listed::Known(_) | Listed::Unreadable { .. } => {}
    };
    service.list(&request, &mut take).await?;
    for article in &mut shown.articles {
        if article.text.is_none() {
            *article = service.article(article.id, Purpose::Push).await?;
        }
    }
    Ok(shown)
}

/// Returns whether a listed article equals its file, as far as the listing shows it.
fn is_equal(view: &MirrorView, article: &RemoteArticle) -> bool {
    let row = view.base.articles.get(&article.id);
    let known = row.filter(|row| row.revision == article.revision);
    let text = match &article.text {
        Some(text) => Some(TextDigest::of(text)),
        None => known.map(|row| row.remote.text),
    };
    let file = view.paired.files.get(&article.id);
    file.zip(text)
        .is_some_and(|(file, text)| file.version == version_with(article, text))
}
