//! Files that are not ready and name no article: one may be that of a new article whose id never came into it, though
//! it lies where another article was; or of what was posted, and got no answer.

use super::Sight;
use super::akin::words_of;
use super::unsettled::Unsettled;
use crate::engine::Engine;
use crate::engine::apply::MAX_FILE;
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::model::base::ArticleRow;
use crate::model::html::units;
use crate::model::{ArticleId, Place, Version};
use crate::reconcile::pairing;
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use crate::state::Intent;
use std::collections::BTreeSet;

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
        for row in missing {
            for file in &found {
                if self.may_be((Some(row.id), &row.local), file, base, sight)? {
                    pairs.insert((row.id, file.place.clone()));
                }
            }
        }
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
    /// and lies where no article was. One that is in motion or cannot be read may be any.
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
        let known: BTreeSet<&Place> = base.articles.values().map(|row| &row.place).collect();
        let unknown = sight.local.unknown.iter();
        for file in unknown.filter(|file| file.id.is_none() && !known.contains(&file.place)) {
            let Some(mut found) = self.found(&file.place) else {
                continue;
            };
            if unsettled.covers(&file.place) {
                found.units = None;
            }
            for (place, sent) in &posts {
                if self.may_be((None, sent), &found, base, sight)? {
                    places.insert(place.clone());
                }
            }
        }
        Ok(places)
    }

    /// Tells whether a file may be that of this article, which has no id yet if it was only sent.
    fn may_be(
        &self,
        (id, version): (Option<ArticleId>, &Version),
        file: &Found<'_>,
        base: &Base,
        sight: &Sight,
    ) -> anyhow::Result<bool> {
        let Some(units) = &file.units else {
            return Ok(true);
        };
        let others = || base.articles.values().filter(|other| Some(other.id) != id);
        let title = &version.title;
        let titled = |unit: &String| unit.starts_with("title:") && unit.contains(title.as_str());
        if !title.is_empty()
            && units.iter().any(titled)
            && others().all(|other| other.local.title != *title)
        {
            return Ok(true);
        }
        let words = words_of(&self.store, &sight.spool, version.text)?;
        let mut both: BTreeSet<String> = words.iter().map(|unit| plain(unit)).collect();
        both.retain(|unit| units.contains(unit));
        // What another article says as well is a phrase that many have.
        for other in others() {
            if both.is_empty() {
                break;
            }
            let words = words_of(&self.store, &sight.spool, other.local.text)?;
            for unit in words {
                both.remove(&plain(&unit));
            }
        }
        Ok(!both.is_empty())
    }
}

/// Tells whether nothing lies there that could be an article's file.
fn is_no_file(kind: DiskErrorKind) -> bool {
    matches!(kind, DiskErrorKind::NotFound | DiskErrorKind::WrongKind)
}

/// A line or a block without what indents it and ends it.
fn plain(unit: &str) -> String {
    unit.trim().to_owned()
}
