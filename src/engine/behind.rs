//! Finds the files that git took back to the committed version (design, section 6).
//!
//! A file is *behind* when it holds what the checked-out commit has, and the newer words of the base were never
//! committed since both sides last agreed: `git stash`, `git checkout FILE` and `git restore` set these words aside,
//! and nobody took them back. Where they were committed, a later commit replaced them on purpose, and the file is an
//! edit like any other. Where git cannot say, every file that went back counts as behind. Nothing is held here.

use super::observe::Sight;
use super::spool::text_lf;
use super::{Committed, Engine, settings::Request};
use crate::mirror::disk::Disk;
use crate::mirror::document::Document;
use crate::model::base::ArticleRow;
use crate::model::path::slug_of_stem;
use crate::model::{ArticleId, Place, Side, TextDigest, Version};
use crate::reconcile::behind::Behind;
use crate::reconcile::plan::{Plan, Step};
use crate::service::Service;
use std::collections::BTreeMap;

/// A file that does not hold what the base says.
struct Changed<'a> {
    place: &'a Place,
    version: &'a Version,
    row: &'a ArticleRow,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Returns the articles that are behind. A conflict that a person settles is left alone. Git is asked only where a
    /// file went back to an older version.
    pub(super) fn behind(
        &self,
        plan: &Plan,
        sight: &Sight,
        request: &Request,
    ) -> anyhow::Result<BTreeMap<ArticleId, Behind>> {
        let mut files = Vec::new();
        for file in changed(plan, sight) {
            let digest = file.version.digest();
            let knew = self.store.knew(file.row.id, digest, Side::Local)?;
            if knew.is_some() && !request.resolve.contains_key(&file.row.id) {
                files.push(file);
            }
        }
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let places = files.iter().flat_map(|file| [file.place, &file.row.place]);
        let paths = places.map(ToString::to_string).collect();
        let committed = self.git.committed(&paths);
        let why = |file: &Changed<'_>| match &committed {
            Ok(committed) => file
                .is_behind(sight, committed)
                .then_some(Behind::Committed),
            Err(why) => Some(Behind::Unknown(why.clone())),
        };
        let behind = files.iter();
        Ok(behind
            .filter_map(|file| Some((file.row.id, why(file)?)))
            .collect())
    }
}

impl Changed<'_> {
    fn is_behind(&self, sight: &Sight, committed: &Committed) -> bool {
        let now = committed.now.get(&self.place.to_string());
        let is_heads = now.is_some_and(|bytes| {
            let lf = sight.text_lf.get(&self.version.text).copied();
            says(bytes, self.place, (self.version, lf))
        });
        is_heads && !self.was_committed(&committed.lately)
    }

    /// Returns whether the words that the base has were committed lately, under the file's name then or now.
    fn was_committed(&self, lately: &BTreeMap<String, Vec<Vec<u8>>>) -> bool {
        let known = (&self.row.local, self.row.local_text_lf);
        [self.place, &self.row.place].into_iter().any(|place| {
            let mut contents = lately.get(&place.to_string()).into_iter().flatten();
            contents.any(|bytes| says(bytes, place, known))
        })
    }
}

/// The files that are about to be brought together with an article, and are not as the base says.
fn changed<'a>(plan: &'a Plan, sight: &'a Sight) -> Vec<Changed<'a>> {
    let steps = plan.actions.iter().map(|action| &action.step);
    let found = steps.filter_map(|step| match step {
        Step::Settle(settle) => Some((settle.id, settle.from.as_ref()?, settle.had.as_ref()?)),
        Step::Conflict(conflict) => Some((conflict.id, &conflict.place, &conflict.local)),
        Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::CreateArticle { .. }
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Wait => None,
    });
    let found = found.filter_map(|(id, place, version)| {
        let row = sight.base.articles.get(&id)?;
        (*version != row.local).then_some(Changed {
            place,
            version,
            row,
        })
    });
    found.collect()
}

/// Returns whether a committed file has the words of a version. Line ends do not count: git may convert them.
fn says(
    bytes: &[u8],
    place: &Place,
    (version, version_lf): (&Version, Option<TextDigest>),
) -> bool {
    let Ok(document) = Document::parse_with_markers(bytes) else {
        return false;
    };
    let text = TextDigest::of(document.text());
    let lf = text_lf(document.text()).unwrap_or(text);
    let same_text = [Some(version.text), version_lf]
        .into_iter()
        .flatten()
        .any(|known| known == text || known == lf);
    let slug = match document.slug() {
        Some(slug) => slug.to_owned(),
        None => slug_of_stem(place.stem()).unwrap_or_default(),
    };
    same_text
        && slug == version.slug
        && document.title() == version.title
        && document.introtext() == version.introtext
        && document.keywords() == version.keywords
}
