//! Edits of an older version: git took a file back to the committed version, and then somebody edited it. Sent, the file
//! would take back what a colleague changed in the newest version.
//!
//! The file is compared with both versions. If it has none of the changes of the newest version, and lacks one at a
//! place that the edit does not touch, it counts as such an edit. Its name does not count: a person may have renamed it
//! back. A person who undoes all of these changes by hand and edits the file at once is asked as well. An edit that
//! undoes only the writer's own words is sent, because the history has them; an edit that shows a hidden article again
//! is held, whoever hid it.

use super::content::Content;
use super::{Changed, Contents};
use crate::engine::form::{category_version, slug_at};
use crate::engine::history::{self, category as category_history};
use crate::engine::observation::Observation;
use crate::mirror::document::{CategoryDocument, Document};
use crate::model::path::quoted;
use crate::model::{Place, Side};
use crate::reconcile::merge::Shared;
use crate::reconcile::plan::Step;
use crate::state::store::Store;
use crate::state::{StateResult, StoredVersion, Subject};
use std::collections::BTreeSet;

/// A change that an edit of an older version would undo.
pub(super) enum Undone {
    /// The changes up to the version with this number.
    Version(u64),
    /// The line that hides the article from readers.
    Hiding,
}

impl Changed<'_> {
    /// Returns the change that the file would undo, if it is an edit of a committed older version.
    pub(super) fn undone(
        &self,
        store: &Store,
        committed: &Contents,
        observed: &Observation,
    ) -> StateResult<Option<Undone>> {
        if let Content::Article(id, ..) = self.now {
            // A person who settles a conflict has seen both versions.
            let is_in_conflict = observed.base.conflicts.contains_key(&id)
                || observed.request.resolve.contains_key(&id);
            if is_in_conflict || !matches!(self.action.step, Step::Settle(_)) {
                return Ok(None);
            }
        }
        let places: BTreeSet<&Place> = self.places.iter().chain(&self.former).collect();
        for place in places {
            let Some(bytes) = committed.get(&place.to_string()) else {
                continue;
            };
            let undone = match self.now {
                Content::Article(..) => self.undone_in_article(store, place, bytes)?,
                Content::Category(..) => self.undone_in_category(store, place, bytes)?,
            };
            if undone.is_some() {
                return Ok(undone);
            }
        }
        Ok(None)
    }

    /// Returns the change that the file would undo, if it is an edit of these committed bytes.
    fn undone_in_article(
        &self,
        store: &Store,
        place: &Place,
        bytes: &[u8],
    ) -> StateResult<Option<Undone>> {
        let (Content::Article(id, edit, _, flags), Content::Article(_, newest, _, newest_flags)) =
            (self.now, self.newest)
        else {
            return Ok(None);
        };
        let Ok(document) = Document::parse_leniently(bytes) else {
            return Ok(None);
        };
        let Ok(slug) = slug_at(&document, place) else {
            return Ok(None);
        };
        let older = document.version(slug, newest.category);
        let replaced = replaced_by_colleague(
            store,
            Subject::Article(id),
            |kept| kept.seen.version.same_words(&older),
            |kept| kept.seen.version.same_words(newest),
        )?;
        let is_shown = newest_flags.hides() && !flags.hides();
        if replaced.is_none() && !is_shown {
            return Ok(None);
        }
        let bodies = [store.text(edit.text)?, store.text(newest.text)?];
        let [Some(body), Some(newest_body)] = bodies else {
            return Ok(None);
        };
        let words = Shared::default().words(&older, edit, newest);
        let words = words.body(document.text(), &body, &newest_body);
        if words.is_of_older() && replaced.is_some() {
            return Ok(replaced);
        }
        let all = words.value(&document.flags(), &flags, &newest_flags);
        Ok((is_shown && all.is_of_older()).then_some(Undone::Hiding))
    }

    /// Returns the change that the file would undo, if it is an edit of these committed bytes.
    fn undone_in_category(
        &self,
        store: &Store,
        place: &Place,
        bytes: &[u8],
    ) -> StateResult<Option<Undone>> {
        let (Content::Category(id, edit), Content::Category(_, newest)) = (self.now, self.newest)
        else {
            return Ok(None);
        };
        let document = CategoryDocument::parse(bytes).ok();
        let older = document.and_then(|document| category_version(&place.folder, &document).ok());
        let Some(older) = older else {
            return Ok(None);
        };
        if !Shared::default().words(&older, edit, newest).is_of_older() {
            return Ok(None);
        }
        replaced_by_colleague(
            store,
            Subject::category(id),
            |kept| category_history::words(kept) == older,
            |kept| category_history::words(kept) == *newest,
        )
    }
}

impl Undone {
    /// Returns the reason for holding a file with these places, now and in the base. The history finds it by the latter.
    pub(super) fn reason(self, [now, last]: &[Place; 2]) -> String {
        let taken = "git seems to have taken this file back before it was edited";
        match self {
            Self::Version(number) => {
                let name = last.to_string();
                let name = if now == last {
                    String::new()
                } else {
                    format!(
                        "If you did not rename {}, first give it that name again. ",
                        quoted(&name)
                    )
                };
                let version = format!("{last}@{number}");
                let version = quoted(&version);
                format!(
                    "{taken}: it has nothing of what a colleague changed up to version {number}, and sending it would undo that. {name}Put \
                     these changes into the file (`kbsync show {version}` prints them); `kbsync restore {version}` brings version \
                     {number} back in place of the edit, `kbsync approve` sends the file as it is"
                )
            }
            Self::Hiding => format!(
                "{taken}: it lacks the line that hides the article (`enabled: false`, `draft: true`), and sending it would show \
                 the article to readers. Write the line into it, or let `kbsync approve` send the file as it is"
            ),
        }
    }
}

/// Returns the newest version as undone, if a colleague wrote between it and the older version before it.
fn replaced_by_colleague(
    store: &Store,
    subject: Subject,
    is_older: impl Fn(&StoredVersion) -> bool,
    is_newest: impl Fn(&StoredVersion) -> bool,
) -> StateResult<Option<Undone>> {
    let Some(history) = history::of(store, subject)? else {
        return Ok(None);
    };
    let versions = history.versions.split(|kept| is_older(kept));
    let periods: Vec<&[StoredVersion]> = versions.collect();
    let mut since_older = periods.iter().rev().skip(1);
    let newest = since_older.find_map(|period| {
        let is_colleagues = period.iter().any(|kept| kept.seen.side == Side::Remote);
        let mut versions = period.iter().filter(|_| is_colleagues);
        versions.find(|kept| is_newest(kept))
    });
    Ok(newest.map(|newest| Undone::Version(history.listed(newest).number)))
}
