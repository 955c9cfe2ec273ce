//! Finds the files that git reset to the committed version (design, section 6).
//!
//! A file is *behind* when it has the content of the checked-out commit, and the newer content of the base was not committed
//! since both sides last agreed: `git stash`, `git checkout FILE` or `git restore` set the newer content aside, perhaps for a
//! `git pull`. If the newer content was committed, a later commit replaced it on purpose, and the file is an edit. A file
//! whose content was written by a commit made here is an edit, too. If git cannot say, a file with an older version counts
//! as behind. The guard in `reconcile::behind` holds these files.

use super::observe::Sight;
use super::spool::text_lf;
use super::{Committed, Engine, settings::Request, waiting::Held};
use crate::mirror::disk::Disk;
use crate::mirror::document::Document;
use crate::model::base::ArticleRow;
use crate::model::path::slug_of_stem;
use crate::model::{ArticleId, Place, Side, TextDigest, Version};
use crate::reconcile::behind::Behind;
use crate::reconcile::plan::{HoldRule, Plan, Step};
use crate::service::Service;
use std::collections::BTreeMap;

/// A file whose content differs from the newest known version of its article.
struct Changed<'a> {
    place: &'a Place,
    version: &'a Version,
    row: &'a ArticleRow,
    /// The newest known version: of the base, or of the file when a conflict was recorded.
    newest: (&'a Version, Option<TextDigest>),
    /// Whether the file has an older version that the history knows.
    is_older: bool,
    /// Whether the last cycle held the file as behind.
    was_held: bool,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Returns the articles that are behind. A conflict that a person settles is left alone. Git is asked only where a
    /// file went back to an older version, was held for that before, or git moved HEAD.
    pub(super) fn behind(
        &self,
        plan: &Plan,
        sight: &Sight,
        held: &[Held],
        request: &Request,
    ) -> anyhow::Result<BTreeMap<ArticleId, Behind>> {
        let changed = changed(plan, sight);
        let moved = !changed.is_empty() && self.git.moved();
        let mut files = Vec::new();
        for mut file in changed {
            let id = file.row.id;
            let was_held = || {
                let mut held = held.iter();
                held.any(|held| held.rule == Some(HoldRule::Behind) && held.id == Some(id))
            };
            let digest = file.version.digest();
            file.is_older = self.store.knew(id, digest, Side::Local)?.is_some();
            file.was_held = was_held();
            if (file.is_older || file.was_held || moved) && !request.resolve.contains_key(&id) {
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
            // Whatever a pull brings would wait where there is no git program.
            Err(why) => file.waits_in_doubt().then(|| Behind::Unknown(why.clone())),
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
        // A commit that wrote an older version may be from before the newer version.
        let is_written = !self.is_older && committed.written_here.contains(&self.place.to_string());
        let was_committed = match &committed.lately {
            Some(lately) => self.was_committed(lately),
            None => !self.waits_in_doubt(),
        };
        is_heads && !is_written && !was_committed
    }

    /// Returns whether the file is held when git cannot answer.
    fn waits_in_doubt(&self) -> bool {
        self.is_older || self.was_held
    }

    /// Returns whether a recent commit has the newest known version, under the file's old or new name.
    fn was_committed(&self, lately: &BTreeMap<String, Vec<Vec<u8>>>) -> bool {
        [self.place, &self.row.place].into_iter().any(|place| {
            let mut contents = lately.get(&place.to_string()).into_iter().flatten();
            contents.any(|bytes| says(bytes, place, self.newest))
        })
    }
}

/// Returns the files of planned settlements and conflicts that differ from the newest known version.
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
        // A user who removes a conflict copy accepts the content that the file had in the conflict.
        let newest = match sight.base.conflicts.get(&id) {
            Some(conflict) => (&conflict.local, None),
            None => (&row.local, row.local_text_lf),
        };
        (version != newest.0).then_some(Changed {
            place,
            version,
            row,
            newest,
            is_older: false,
            was_held: false,
        })
    });
    found.collect()
}

/// Returns whether a committed file has the content of a version. Line ends do not count: git may convert them.
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
