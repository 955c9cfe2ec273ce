//! Files that are not ready and name no article: one may be that of a new article whose id never came into it, though
//! it lies where another article was; or of what was posted, and got no answer.

use super::Sight;
use super::akin::{leave_out_phrases, words_of};
use super::unsettled::Unsettled;
use crate::engine::Engine;
use crate::engine::apply::MAX_FILE;
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::model::base::ArticleRow;
use crate::model::html::units;
use crate::model::{ArticleId, Place, TextDigest, Version};
use crate::reconcile::pairing;
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use crate::state::Intent;
use std::collections::{BTreeMap, BTreeSet};

/// What can be told of a file that is not ready.
struct Found<'a> {
    place: &'a Place,
    /// Its lines and blocks; `None`: it cannot be read.
    units: Option<BTreeSet<String>>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Finds the files that are not ready, name no article, and have the title or words of a new article that has no
    /// file, which no other article has. Hardly ever is there anything of the kind.
    pub(super) fn nameless(
        &self,
        base: &Base,
        sight: &Sight,
    ) -> anyhow::Result<BTreeSet<(ArticleId, Place)>> {
        let mut pairs = BTreeSet::new();
        let local = &sight.local;
        let named = |id: ArticleId| {
            local.files.iter().any(|file| file.id == Some(id))
                || local.unknown.iter().any(|unknown| unknown.id == Some(id))
        };
        let rows = base.articles.values().filter(|row| pairing::is_unread(row));
        let missing: Vec<&ArticleRow> = rows.filter(|row| !named(row.id)).collect();
        if missing.is_empty() {
            return Ok(pairs);
        }
        let unknown = local.unknown.iter().filter(|file| file.id.is_none());
        let found: Vec<Found<'_>> = unknown.filter_map(|file| self.found(&file.place)).collect();
        let words = |digest| self.plain_words(digest, sight);
        let mut shared = BTreeMap::new();
        for row in missing {
            for file in &found {
                let pair = (row.id, file.place.clone());
                match &file.units {
                    Some(units) if !is_titled(Some(row.id), &row.local, units, base) => {
                        let both = words(row.local.text)?;
                        shared.insert(pair, both.intersection(units).cloned().collect());
                    }
                    Some(_) | None => {
                        pairs.insert(pair);
                    }
                }
            }
        }
        let own = |(id, _): &(ArticleId, Place), row: &ArticleRow| row.id == *id;
        leave_out_phrases(base, &mut shared, &own, &words)?;
        pairs.extend(shared.into_keys());
        Ok(pairs)
    }

    fn found<'a>(&self, place: &'a Place) -> Option<Found<'a>> {
        let at = At::Folder(&place.folder);
        let units = match self.disk.read(at, &place.file, MAX_FILE) {
            Ok(content) => {
                let text = String::from_utf8_lossy(&content.bytes);
                Some(units(&text).into_iter().map(plain).collect())
            }
            Err(error) if is_no_file(error.kind) => return None,
            Err(_) => None,
        };
        Some(Found { place, units })
    }

    /// Finds the places from which something was posted without an answer, and whose file may be one that is not ready
    /// and names no article, wherever it lies: over another article's as well. One that is in motion or cannot be read
    /// may be any.
    pub(super) fn unposted(
        &self,
        base: &Base,
        sight: &Sight,
        unsettled: &Unsettled,
    ) -> anyhow::Result<BTreeSet<Place>> {
        let mut places = BTreeSet::new();
        let mut posts = Vec::new();
        for (_, intent) in self.store.intents()? {
            if let Intent::CreateArticle { place, version, .. } = intent {
                posts.push((place, version));
            }
        }
        if posts.is_empty() {
            return Ok(places);
        }
        let words = |digest| self.plain_words(digest, sight);
        let mut shared = BTreeMap::new();
        for file in sight.local.unknown.iter().filter(|file| file.id.is_none()) {
            let Some(mut found) = self.found(&file.place) else {
                continue;
            };
            if unsettled.covers(&file.place) {
                found.units = None;
            }
            for (place, sent) in &posts {
                match &found.units {
                    Some(units) if !is_titled(None, sent, units, base) => {
                        let both = words(sent.text)?;
                        let pair = (place.clone(), found.place.clone());
                        shared.insert(pair, both.intersection(units).cloned().collect());
                    }
                    Some(_) | None => {
                        places.insert(place.clone());
                    }
                }
            }
        }
        leave_out_phrases(base, &mut shared, &|_, _| false, &words)?;
        places.extend(shared.into_keys().map(|(place, _)| place));
        Ok(places)
    }

    /// The lines and blocks of a text that say something, as they stand in a file.
    fn plain_words(&self, digest: TextDigest, sight: &Sight) -> anyhow::Result<BTreeSet<String>> {
        let words = words_of(&self.store, &sight.spool, digest)?;
        Ok(words.iter().map(|unit| plain(unit)).collect())
    }
}

/// Returns whether a file has an article's title, which no other one has.
fn is_titled(
    id: Option<ArticleId>,
    version: &Version,
    units: &BTreeSet<String>,
    base: &Base,
) -> bool {
    let title = &version.title;
    let titled = |unit: &String| unit.starts_with("title:") && unit.contains(title.as_str());
    let mut others = base.articles.values().filter(|other| Some(other.id) != id);
    !title.is_empty() && units.iter().any(titled) && others.all(|other| other.local.title != *title)
}

/// Returns whether nothing lies there that could be an article's file.
fn is_no_file(kind: DiskErrorKind) -> bool {
    matches!(kind, DiskErrorKind::NotFound | DiskErrorKind::WrongKind)
}

/// A line or a block without what indents it and ends it.
fn plain(unit: &str) -> String {
    unit.trim().to_owned()
}
