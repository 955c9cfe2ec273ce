//! Files that are not ready and name no article: one may be that of a new article whose id never came into it, though
//! it lies where another article was.

use super::Sight;
use super::akin::words_of;
use crate::engine::Engine;
use crate::engine::apply::MAX_FILE;
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::model::base::ArticleRow;
use crate::model::html::units;
use crate::model::{ArticleId, Place};
use crate::reconcile::pairing;
use crate::reconcile::snapshot::Base;
use crate::service::Service;
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
                if self.may_be(row, file, base, sight)? {
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

    /// Tells whether a file may be that of this article.
    fn may_be(
        &self,
        row: &ArticleRow,
        file: &Found<'_>,
        base: &Base,
        sight: &Sight,
    ) -> anyhow::Result<bool> {
        let Some(units) = &file.units else {
            return Ok(true);
        };
        let others = || base.articles.values().filter(|other| other.id != row.id);
        let title = &row.local.title;
        let titled = |unit: &String| unit.starts_with("title:") && unit.contains(title.as_str());
        if !title.is_empty()
            && units.iter().any(titled)
            && others().all(|other| other.local.title != *title)
        {
            return Ok(true);
        }
        let words = words_of(&self.store, &sight.spool, row.local.text)?;
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
