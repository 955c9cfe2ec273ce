//! Comparing with the service: single articles are asked for, many are listed.

use super::categories::Met;
use super::other::{Other, is_equal};
use super::{Comparer, Comparison};
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::path::{EXTENSION, safe_stem};
use crate::model::{ArticleId, Place, TextDigest, Version};
use crate::service::{
    ErrorKind, ListRequest, Listed, Purpose, RemoteArticle, Service, ServiceError,
};
use std::collections::BTreeSet;

/// Up to so many articles are asked for one by one; for more a listing is cheaper.
const FEW: usize = 3;

impl<D: Disk> Comparer<'_, D> {
    /// Compares the files with what the service has.
    pub async fn with_service<S: Service>(
        mut self,
        service: &S,
        settings: &Settings,
    ) -> anyhow::Result<Result<Comparison, ServiceError>> {
        let named: BTreeSet<ArticleId> = self
            .paired
            .files
            .iter()
            .filter(|(_, file)| self.covers(&file.place))
            .map(|(id, _)| *id)
            .chain(
                self.base
                    .articles
                    .values()
                    .filter(|row| self.covers(&row.place))
                    .map(|row| row.id),
            )
            .collect();
        let single = !self.scope.is_empty()
            && named.len() <= FEW
            && self.scope.iter().all(|path| path.contains('/'));
        let fetched = if single {
            self.fetch(service, &named).await
        } else {
            self.list(service, settings, &named).await
        };
        let met = match fetched? {
            Ok(met) => met,
            Err(error) => return Ok(Err(error)),
        };
        self.new_files()?;
        if let Err(error) = self.categories_there(service, met).await? {
            return Ok(Err(error));
        }
        Ok(Ok(self.done(settings)))
    }

    async fn fetch<S: Service>(
        &mut self,
        service: &S,
        ids: &BTreeSet<ArticleId>,
    ) -> anyhow::Result<Result<Met, ServiceError>> {
        for &id in ids {
            match service.article(id, Purpose::Push).await {
                Ok(article) => self.remote(article)?,
                Err(error) if error.kind == ErrorKind::NotFound => self.unseen(id),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(Met::new()))
    }

    async fn list<S: Service>(
        &mut self,
        service: &S,
        settings: &Settings,
        ids: &BTreeSet<ArticleId>,
    ) -> anyhow::Result<Result<Met, ServiceError>> {
        let request = ListRequest {
            workspace: settings.workspace,
            categories: self.base.categories.keys().copied().collect(),
            validator: None,
            known: None,
            purpose: Purpose::Push,
        };
        // Equal articles are let go as they come, so that memory does not grow with the bodies.
        let mut seen = BTreeSet::new();
        let mut differing = Vec::new();
        let mut met = Met::new();
        let (paired, base) = (&self.paired, &self.base);
        let listed = service
            .list(&request, &mut |entry| match entry {
                Listed::Article(article) => {
                    seen.insert(article.id);
                    if !is_equal(&article, base, paired.files.get(&article.id)) {
                        differing.push(*article);
                    }
                }
                Listed::Category(category) => {
                    met.insert(category.id, category.version);
                }
                Listed::Retracted { ids, .. } => {
                    seen.retain(|id| !ids.contains(id));
                    differing.retain(|article: &RemoteArticle| !ids.contains(&article.id));
                }
                Listed::Known(_) | Listed::Unreadable { .. } => {}
            })
            .await;
        if let Err(error) = listed {
            return Ok(Err(error));
        }
        for article in differing {
            let article = if article.text.is_none() {
                match service.article(article.id, Purpose::Push).await {
                    Ok(article) => article,
                    Err(error) => return Ok(Err(error)),
                }
            } else {
                article
            };
            self.remote(article)?;
        }
        for id in ids.difference(&seen) {
            self.unseen(*id);
        }
        Ok(Ok(met))
    }

    fn unseen(&mut self, id: ArticleId) {
        let place = self
            .paired
            .files
            .get(&id)
            .map(|file| file.place.clone())
            .or_else(|| self.base.articles.get(&id).map(|row| row.place.clone()));
        if let Some(place) = place {
            self.out.notes.push(format!(
                "{place}: the service does not show it (a draft, disabled or deleted)"
            ));
        }
    }

    /// Compares one article of the service with its file.
    fn remote(&mut self, article: RemoteArticle) -> anyhow::Result<()> {
        let id = article.id;
        let row = self.base.articles.get(&id);
        let file = self.paired.files.get(&id).cloned();
        if self.paired.unknown.contains_key(&id) {
            return Ok(());
        }
        let folder = self
            .paired
            .folder(article.category)
            .map(str::to_owned)
            .or_else(|| {
                let row = self.base.categories.get(&article.category)?;
                Some(
                    row.folder
                        .clone()
                        .unwrap_or_else(|| row.remote.slug.clone()),
                )
            })
            .unwrap_or_else(|| article.category.to_string());
        let known = file
            .as_ref()
            .map(|file| &file.place)
            .or(row.map(|row| &row.place));
        let place = match known {
            Some(known) => Place::new(folder, known.file.clone()),
            None if safe_stem(&article.slug) => {
                Place::new(folder, format!("{}{EXTENSION}", article.slug))
            }
            None => Place::new(folder, format!("{id}{EXTENSION}")),
        };
        let covered =
            self.covers(&place) || file.as_ref().is_some_and(|file| self.covers(&file.place));
        if !covered {
            return Ok(());
        }
        let text = article.text.unwrap_or_default();
        let other = Other {
            id,
            place,
            flags: None,
            version: Version {
                title: article.title,
                slug: article.slug,
                category: article.category,
                introtext: article.introtext,
                keywords: article.keywords,
                text: TextDigest::of(&text),
            },
            text: Some(text),
        };
        self.article(file.as_ref(), &other)
    }
}
