//! A look at a few saved files and their articles only.
//!
//! It handles the common case: a writer saved a file or two of known articles at their known places. Neither the mirror
//! nor the workspace is listed, and no other row is loaded, so the cost does not grow with the number of articles.
//! Every other case is left to a look at everything, if possible before the first request; [`is_enough`] checks the
//! plan once more.

use super::absent::take_answer;
use super::index::Index;
use super::local::Scanned;
use crate::engine::backoff::{StoredAnswer, may_probe};
use crate::engine::listing::{Listing, read_one};
use crate::engine::ports::begin_phase;
use crate::engine::{Engine, open_actions};
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, CategoryRow, Visibility};
use crate::model::{ArticleId, CategoryId, Field, Place};
use crate::reconcile::plan::{Plan, Settle, Step};
use crate::reconcile::snapshot::{Base, Remote, Seen};
use crate::service::Service;
use crate::state::Target;
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of paths without a listing. A cycle over `n` paths costs `n` reads and `n` writes, a whole cycle
/// one listing and `n` writes: at three paths, avoiding a large listing costs two more of the sixty requests a minute.
pub(super) const MAX_PATHS: usize = 3;

/// Loads the index of the articles at these places, and the base of their categories. `None`: a look at them is not
/// enough, because a request is pending, the request asks for more, or a place has no simple article.
pub(super) fn indexed_at<S, D>(
    engine: &Engine<S, D>,
    places: &BTreeSet<Place>,
) -> anyhow::Result<Option<(Index, Base)>> {
    let store = &engine.store;
    let is_few = (1..=MAX_PATHS).contains(&places.len());
    if !engine.request.is_plain() || !is_few || !store.pending_requests()?.is_empty() {
        return Ok(None);
    }
    let mut base = Base::default();
    for place in places {
        let rows = store.articles_at(place)?;
        let [row] = rows.as_slice() else {
            return Ok(None);
        };
        base.articles.insert(row.id, row.clone());
    }
    let conflicts = store.conflicts()?;
    // The copy of a new conflict must not take the name of a standing conflict's copy.
    let in_conflict = |row: &ArticleRow| {
        conflicts
            .iter()
            .any(|conflict| conflict.id == row.id || conflict.place.folder == row.place.folder)
    };
    let held = open_actions::held(store)?;
    let is_held = |row: &ArticleRow| {
        let path = row.place.to_string();
        held.iter()
            .any(|held| held.id == Some(row.id) || held.path == path)
    };
    let may_probe = may_probe(engine)?;
    let readable = |row: &ArticleRow| match row.visibility {
        // For an article that was disabled, only the listing shows its state.
        Visibility::Published => !row.remote_flags.hides(),
        Visibility::Unpublished => may_probe,
        Visibility::NotVisible | Visibility::Gone => false,
    };
    for category in store.categories()? {
        let here = |row: &&ArticleRow| category.folder.as_ref() == Some(&row.place.folder);
        if base.articles.values().any(|row| here(&row)) {
            base.categories.insert(category.id, category);
        }
    }
    let at_home = |row: &ArticleRow| is_in_its_folder(row, &base.categories);
    let simple =
        |row: &ArticleRow| !in_conflict(row) && !is_held(row) && readable(row) && at_home(row);
    if !base.articles.values().all(simple) {
        return Ok(None);
    }
    let rows = std::mem::take(&mut base.articles);
    let index = Index::of(rows.values().map(ArticleRow::index).collect());
    Ok(Some((index, base)))
}

/// Reads the articles whose files changed, and takes the others from the base. `None`: a response leaves something
/// open.
pub(super) async fn read_saved<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    scanned: &Scanned,
) -> anyhow::Result<Option<Listing>> {
    let rows = scanned.rows(&engine.store)?;
    let edited: BTreeSet<ArticleId> = scanned
        .snapshot
        .files
        .iter()
        .filter_map(|file| {
            let row = rows.get(&file.id?)?;
            (file.version != row.local || file.flags != row.file_flags).then_some(row.id)
        })
        .collect();
    if !edited.is_empty() {
        begin_phase(&engine.teller, "reading articles", Some(edited.len()), 1);
        // A read without its write would be wasted.
        let requests = u32::try_from(edited.len() * 2).unwrap_or(u32::MAX);
        engine
            .service
            .wait_for_room(requests, engine.request.purpose)
            .await
            .context("failed to read the article")?;
    }
    let mut listing = Listing::default();
    for row in rows.values() {
        if !edited.contains(&row.id) {
            let entry = Remote::Present(Seen::recorded(row));
            listing.articles.insert(row.id, entry);
            continue;
        }
        match ask_one(engine, row).await? {
            Some(seen) if stays(row, &seen) => {
                let answer = Remote::Present(seen);
                if row.visibility == Visibility::Unpublished {
                    let noted = StoredAnswer::Article {
                        remote: answer.clone(),
                        file: None,
                    };
                    engine.gathered.answers.note(Target::Article(row.id), noted);
                }
                listing.articles.insert(row.id, answer);
            }
            Some(_) | None => return Ok(None),
        }
    }
    Ok(Some(listing))
}

/// Reads one article: by a GET, or by a probe if it is known to be unpublished.
async fn ask_one<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    row: &ArticleRow,
) -> anyhow::Result<Option<Seen>> {
    let purpose = engine.request.purpose;
    let article = match read_one(&engine.service, row.id, row.visibility, purpose).await {
        Ok(article) => article,
        // With a server error about one article, the others do not wait: the whole look counts such errors.
        Err(error) if error.stops_all() && !error.is_server_error() => {
            return Err(anyhow::Error::new(error)).context("failed to read the article");
        }
        Err(_) => return Ok(None),
    };
    let answer = take_answer(engine, article, row.visibility, Some(row))?;
    Ok(answer.present().cloned())
}

/// Returns whether an article is in the folder of its category, on both sides.
pub(super) fn is_in_its_folder(
    row: &ArticleRow,
    categories: &BTreeMap<CategoryId, CategoryRow>,
) -> bool {
    let category = categories.get(&row.remote.category);
    row.local.category == row.remote.category
        && category.and_then(|category| category.folder.as_ref()) == Some(&row.place.folder)
}

/// Returns whether the article's address and visibility on the service equal the base.
pub(super) fn stays(row: &ArticleRow, seen: &Seen) -> bool {
    let shown = match row.visibility {
        Visibility::Published => true,
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => seen.flags.hides(),
    };
    shown
        && seen.visibility == row.visibility
        && seen.version.category == row.remote.category
        && seen.version.slug == row.remote.slug
}

/// Returns whether a plan stays within the look: it changes content of these articles, but no place or address.
pub(in crate::engine) fn is_enough(plan: &Plan) -> bool {
    let stays = |settle: &Settle| {
        settle.from() == Some(&settle.to)
            && !settle.send.contains(&Field::Slug)
            && !settle.send.contains(&Field::Category)
    };
    let actions = plan.actions.iter().all(|action| {
        matches!(&action.step, Step::Settle(settle) if stays(settle))
            || matches!(action.step, Step::Conflict(_))
    });
    actions && plan.records.iter().all(stays) && plan.category_records.is_empty()
}
