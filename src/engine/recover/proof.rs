//! Whether a file that was edited since shows that a pull was written into it before: it has words that only the pull
//! put there, and none of those that this replaced.
//!
//! Without that nobody can tell, and the base stays what it was.

use super::lying::Lying;
use super::written::is_over;
use crate::engine::observe::Sight;
use crate::model::base::ArticleRow;
use crate::model::html::{is_blank, units};
use crate::model::{Field, Place, Version};
use crate::reconcile::snapshot::{Base, LocalFile};
use crate::state::store::Store;
use crate::state::{Intent, IntentId, StateError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The intents whose files show that they were written. Hardly ever is there anything of the kind.
pub(super) fn proven(
    store: &Store,
    base: &Base,
    sight: &Sight,
    (lying, names): (&Lying<'_>, &BTreeSet<Place>),
    intents: &[(IntentId, Intent)],
) -> Result<BTreeSet<IntentId>, StateError> {
    let mut proven = BTreeSet::new();
    let still = BTreeSet::new();
    for (number, intent) in intents {
        let Intent::WriteFile {
            id,
            from,
            to,
            was,
            settles,
            ..
        } = intent
        else {
            continue;
        };
        // A conflict is settled by whoever it was shown to, and half of a merge by hand is none.
        if *settles || base.conflicts.contains_key(id) {
            continue;
        }
        // A file that was written where it was lies elsewhere only because its writer moved it.
        let moving = from.as_ref().is_some_and(|from| from != to);
        let names = if moving { names } else { &still };
        let Some(row) = base
            .articles
            .get(id)
            .filter(|row| !is_over(Some(row), *was))
        else {
            continue;
        };
        let Some(file) = lying.file_of(*id, to, names) else {
            continue;
        };
        if shows(store, sight, row, file, intent)? {
            proven.insert(*number);
        }
    }
    Ok(proven)
}

/// What a file says of whether something was written into it.
#[derive(Default)]
struct Signs {
    /// It has what was to be written.
    new: bool,
    /// It has what that was to replace.
    old: bool,
}

impl Signs {
    fn add(&mut self, is_new: bool, is_old: bool) {
        self.new |= is_new;
        self.old |= is_old;
    }
}

fn shows(
    store: &Store,
    sight: &Sight,
    row: &ArticleRow,
    file: &LocalFile,
    intent: &Intent,
) -> Result<bool, StateError> {
    let Intent::WriteFile {
        version,
        flags,
        remote,
        had: Some(had),
        ..
    } = intent
    else {
        return Ok(false);
    };
    let pulled = |field: Field| {
        !remote.agrees(&row.remote, field)
            && version.agrees(remote, field)
            && !version.agrees(had, field)
    };
    let mut signs = Signs::default();
    let lines = [Field::Title, Field::Introtext, Field::Keywords];
    for field in lines.into_iter().filter(|field| pulled(*field)) {
        let said = |by: &Version| file.version.agrees(by, field);
        signs.add(said(version), said(had));
    }
    // What its place or its line says of its address it may say since before.
    let slug = (&file.version.slug, &version.slug);
    signs.add(false, slug.0 == &had.slug && slug.0 != slug.1);
    let rewritten = remote.text != row.remote.text && version.text != had.text;
    if rewritten {
        let text = |digest| sight.spool.text(store, digest);
        let texts = (
            text(file.version.text)?,
            text(had.text)?,
            text(version.text)?,
            text(remote.text)?,
        );
        let (Some(found), Some(before), Some(after), Some(theirs)) = texts else {
            return Ok(false);
        };
        let [found, before, after, theirs] = [&found, &before, &after, &theirs].map(words_of);
        let came = after.intersection(&theirs);
        let mut came = came.filter(|unit| !before.contains(*unit) && has_words(unit));
        let mut went = before.difference(&after);
        signs.add(
            came.any(|unit| found.contains(unit)),
            went.any(|unit| found.contains(unit)),
        );
    }
    // A writer may well have given the same line, unlike the same words: it proves only where nothing else was pulled.
    let alone = !rewritten && !lines.into_iter().any(pulled);
    for (now, to, from) in [
        (file.flags.enabled, flags.enabled, row.file_flags.enabled),
        (file.flags.draft, flags.draft, row.file_flags.draft),
    ] {
        signs.add(alone && to != from && now == to, to != from && now == from);
    }
    Ok(signs.new && !signs.old)
}

/// Returns whether there is something else in a unit than tags and entities, which stand in every text.
fn has_words(unit: &str) -> bool {
    let mut inside = false;
    let mut rest = unit.chars().filter(|letter| {
        let is_word = !inside && letter.is_alphanumeric();
        match letter {
            '<' | '&' => inside = true,
            '>' | ';' => inside = false,
            _ => {}
        }
        is_word
    });
    rest.next().is_some()
}

fn words_of(text: &Arc<str>) -> BTreeSet<&str> {
    let words = units(text).into_iter();
    words.filter(|unit| !is_blank(unit)).collect()
}
