//! Articles under creation: from before the POST until the article's id is in its file.
//!
//! - During a creation its article is not in the base, whatever the service shows of it, and its file counts as new.
//!   The step that creates the article settles it: it sends the POST again, or only writes the missing id.
//! - A listing that shows the sent article, at the address to which it was sent, is an answer to the POST as well. If
//!   the listing shows other content there, either the service rewrote it or somebody else wrote it: a person decides.
//! - A creation ends with the rows of its article, in the change that writes the id. It ends without rows if its file
//!   is certainly gone, or belongs to an article: an article that arrived is then an ordinary article of the service.
//!
//! | a creation ends, because | found by | rows |
//! |---|---|---|
//! | the id was written into its file | `write_id` in `apply/create.rs` | the article's |
//! | a file has the id already | `row_of_named_file` | the article's |
//! | its file is certainly gone | `is_file_gone` | none |
//! | an article of the base has its address | `is_address_taken` | none |
//! | an article has its file at the place | `is_place_taken`, after the pairing | none |
//! | its first POST was not carried out | `post` in `apply/create.rs` | none |

use crate::engine::history::ended::note_recreated;
use crate::engine::listing::visibility_of;
use crate::engine::observation::Observation;
use crate::engine::settings::Settings;
use crate::model::base::{ArticleRow, Creation, Sent, Visibility};
use crate::model::{
    ArticleId, CategoryId, Field, Flags, Place, Revision, Side, Texts, Version, html, path,
};
use crate::reconcile::pairing::may_be_of;
use crate::reconcile::plan::{Kind, Problem};
use crate::reconcile::snapshot::{Base, LocalFile, Remote, Seen};
use crate::state::store::Store;
use crate::state::{Deed, RequestId, SeenVersion, Subject};

/// Removes the articles under creation from the observation. Ends a creation when a file has its id.
pub(in crate::engine) fn set_creations_aside(
    store: &mut Store,
    settings: &Settings,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    for mut creation in std::mem::take(&mut observed.base.creations) {
        if let Some(row) = row_of_named_file(settings, &creation, observed) {
            end_with_row(store, row, &mut observed.base)?;
            continue;
        }
        if is_file_gone(&creation, observed) {
            end_without_file(store, &creation, observed)?;
            continue;
        }
        let mut made = creation.row.as_ref().map(|row| row.id);
        if made.is_none() && is_address_taken(&creation, observed) {
            drop_creation(store, &creation)?;
            continue;
        }
        if made.is_none() {
            made = answer_by_listing(store, &mut creation, observed)?;
        }
        let seen = made.and_then(|id| observed.remote.articles.remove(&id));
        // The validator of the listing does not cover a removed entry.
        observed.service.validator_unsafe |= seen.is_some();
        if let Some(row) = &creation.row {
            if let Some(Remote::Present(seen)) = seen {
                let is_as_recorded = seen.version == row.remote
                    && seen.visibility == row.visibility
                    && seen.revision == row.revision;
                if !is_as_recorded {
                    observed.service.read_first.insert(row.id);
                }
            }
            forget_replaced(store, &creation, row.id, &mut observed.base)?;
        }
        observed.base.creations.push(creation);
    }
    Ok(())
}

/// Returns the row of a new article whose id is in a file.
fn row_of_named_file(
    settings: &Settings,
    creation: &Creation,
    observed: &Observation,
) -> Option<ArticleRow> {
    let row = creation.row.as_ref()?;
    let mut files = observed.local.files.iter();
    let file = files.find(|file| file.id == Some(row.id))?;
    Some(ArticleRow {
        place: file.place.clone(),
        file_flags: flags_when_sent(settings, file.flags, row.file_flags),
        ..(**row).clone()
    })
}

/// Ends a creation whose id is in a file, with the row of its article.
fn end_with_row(store: &mut Store, row: ArticleRow, base: &mut Base) -> anyhow::Result<()> {
    store.write_unless_dry_run(|tx| {
        tx.put_article(&row)?;
        tx.end_creation(row.id)
    })?;
    base.articles.insert(row.id, row);
    Ok(())
}

/// Drops the row of the deleted article that the new article replaces.
fn forget_replaced(
    store: &mut Store,
    creation: &Creation,
    new: ArticleId,
    base: &mut Base,
) -> anyhow::Result<()> {
    let mut rows = base.articles.values();
    let old = rows.find(|row| row.place == creation.place && is_known_gone(row.id, base));
    let Some(old) = old.map(|row| row.id) else {
        return Ok(());
    };
    base.articles.remove(&old);
    base.conflicts.remove(&old);
    store.write_unless_dry_run(|tx| {
        tx.remove_article(old)?;
        tx.remove_conflict(old)?;
        tx.rename_subject(&Subject::Article(old), &Subject::Article(new))?;
        note_recreated(tx, old, new)
    })?;
    Ok(())
}

/// Looks in the listing for the created article: at the sent address, or the unclear article of an earlier cycle.
/// Returns its id, whether or not it has the sent content.
fn answer_by_listing(
    store: &mut Store,
    creation: &mut Creation,
    observed: &Observation,
) -> anyhow::Result<Option<ArticleId>> {
    let is_named_by_a_file =
        |id: ArticleId| observed.local.files.iter().any(|file| file.id == Some(id));
    let mut entries = observed.remote.articles.iter();
    let found = entries.find_map(|(id, entry)| {
        let seen = entry.present()?;
        let is_it =
            creation.unclear == Some(*id) || has_address(creation, address_of(&seen.version));
        is_it.then_some((*id, seen))
    });
    let found = found.filter(|(id, _)| observed.row(*id).is_none() && !is_named_by_a_file(*id));
    let before = creation.unclear.take();
    if let Some((id, seen)) = found {
        let text = store.text(seen.version.text)?;
        match find_sent(store, creation, &seen.version, text.as_deref())? {
            Some(sent) => {
                creation.row = Some(Box::new(row_of(&creation.place, &sent, id, seen)));
            }
            // A dry run stores no body to compare.
            None if text.is_some() => creation.unclear = Some(id),
            None => {}
        }
    }
    if creation.row.is_some() {
        record_created(store, creation, None, None)?;
    } else if creation.unclear != before {
        store.write_unless_dry_run(|tx| tx.put_creation(creation))?;
    }
    Ok(found.map(|(id, _)| id))
}

/// The fields of an article under creation that the service may store in another form.
const LENIENT: [Field; 4] = [Field::Title, Field::Slug, Field::Category, Field::Text];

/// Returns the try with the title and text of an article: the first one, or one with all of its words; of several such
/// tries, a visible one. Case, outer spaces and the form of the HTML do not count.
fn find_sent(
    store: &Store,
    creation: &Creation,
    found: &Version,
    text: Option<&str>,
) -> anyhow::Result<Option<Sent>> {
    let rank = |sent: &Sent| {
        let differ = sent.version.differing(found);
        let is_same = differ.iter().all(|field| LENIENT.contains(field));
        (is_same, is_same && !sent.flags.hides())
    };
    let mut likely: Option<&Sent> = None;
    for sent in creation.sent() {
        let is_better = likely.is_none_or(|likely| rank(likely) < rank(sent));
        if !is_better || !is_same_word(&sent.version.title, &found.title) {
            continue;
        }
        let is_same_text = sent.version.text == found.text || {
            let sent = store.body(sent.version.text)?;
            let both = sent.as_deref().zip(text);
            both.is_some_and(|(sent, text)| html::is_same_markup(sent, text))
        };
        if is_same_text {
            likely = Some(sent);
        }
    }
    Ok(likely.cloned())
}

/// Records a created article before its id is in the file. `text`: its body, if the service rewrote it.
pub(in crate::engine) fn record_created(
    store: &mut Store,
    creation: &Creation,
    text: Option<&str>,
    instead_of: Option<ArticleId>,
) -> anyhow::Result<()> {
    let Some(row) = &creation.row else {
        return Ok(());
    };
    let (id, place) = (row.id, &creation.place);
    let path = place.to_string();
    store.write_unless_dry_run(|tx| {
        if let Some(text) = text {
            tx.put_body(text)?;
        }
        if let Some(old) = instead_of {
            tx.rename_subject(&Subject::Article(old), &Subject::Article(id))?;
            note_recreated(tx, old, id)?;
        }
        tx.rename_subject(&Subject::File(place.clone()), &Subject::Article(id))?;
        let side = Side::Both;
        tx.record(&SeenVersion::of_article(
            id, place, side, "created", &row.local,
        ))?;
        tx.put_creation(creation)?;
        tx.unpark(&Kind::Create.key(None, &path))?;
        tx.event(&Deed::new("create", Side::Remote, &path, Some(id), ""))
    })?;
    Ok(())
}

/// Returns the base's flags of a file that was sent with `sent` and has `now`: a flag equal to the sent one is no new
/// edit.
fn flags_when_sent(settings: &Settings, now: Flags, sent: Flags) -> Flags {
    let usual = settings.new_articles;
    let said = |now: Option<bool>, sent: Option<bool>, usual: Option<bool>| {
        if sent.is_none() || now.or(usual) == sent {
            now
        } else {
            sent
        }
    };
    Flags {
        enabled: said(now.enabled, sent.enabled, usual.enabled),
        draft: said(now.draft, sent.draft, usual.draft),
    }
}

/// Ends a creation whose file is gone: an article that arrived is an ordinary article.
fn end_without_file(
    store: &mut Store,
    creation: &Creation,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    if let Some(row) = &creation.row {
        let message = format!(
            "article {} was created from this file, which went before it got its `id:` line; the article stays on \
             the service, and has a file again once the service lists it",
            row.id
        );
        let problem = Problem::at(&creation.place, Some(row.id), message);
        observed.problems.push(problem);
    }
    drop_creation(store, creation)
}

/// Ends the creations at places where an article has its file by now.
pub(in crate::engine) fn end_at_taken_places(
    store: &mut Store,
    observed: &Observation,
) -> anyhow::Result<()> {
    for creation in &observed.base.creations {
        if is_place_taken(creation, observed) {
            drop_creation(store, creation)?;
        }
    }
    Ok(())
}

/// Deletes the creation's request. The article gets no row.
pub(in crate::engine) fn drop_creation(
    store: &mut Store,
    creation: &Creation,
) -> anyhow::Result<()> {
    let request = RequestId(creation.request);
    store.write_unless_dry_run(|tx| tx.end_pending_request(request))?;
    Ok(())
}

/// Returns whether an address is the one to which a creation was sent.
fn has_address(creation: &Creation, found: (CategoryId, &str)) -> bool {
    let (category, slug) = creation.address();
    found.0 == category && is_same_word(slug, found.1)
}

/// Returns whether an article of the base has the creation's address. An article that arrived nevertheless has another
/// address by now, and is an ordinary article.
fn is_address_taken(creation: &Creation, observed: &Observation) -> bool {
    let mut entries = observed.remote.articles.iter();
    entries.any(|(id, entry)| {
        let known = entry.present().zip(observed.row(*id));
        known.is_some_and(|(seen, row)| {
            has_address(creation, address_of(&seen.version))
                && !row.has_superseded(&seen.version, &seen.revision)
        })
    })
}

fn address_of(version: &Version) -> (CategoryId, &str) {
    (version.category, &version.slug)
}

/// Returns whether a found word equals the sent one: the service may trim it or change it to lower case.
fn is_same_word(sent: &str, found: &str) -> bool {
    sent.trim().to_lowercase() == found.trim().to_lowercase()
}

/// Returns the row of an article that was found at the sent address. Other differences may come from the service or a
/// colleague: the base is the sent version, and the next cycle pulls the rest.
fn row_of(place: &Place, sent: &Sent, id: ArticleId, seen: &Seen) -> ArticleRow {
    let mut remote = sent.version.clone();
    remote.text = seen.version.text;
    // An article that was sent hidden and is listed was published since.
    let is_as_sent = remote == seen.version && !sent.flags.hides();
    let revision = if is_as_sent {
        seen.revision.clone()
    } else {
        Revision::default()
    };
    ArticleRow {
        remote,
        written: is_as_sent.then(|| revision.clone()),
        revision,
        visibility: seen.visibility,
        ..new_row(id, place, sent)
    }
}

/// Returns the row of a new article as sent. Its file's flags are the sent ones, until the file is read again.
pub(in crate::engine) fn new_row(id: ArticleId, place: &Place, sent: &Sent) -> ArticleRow {
    ArticleRow {
        id,
        place: place.clone(),
        local: sent.version.clone(),
        remote: sent.version.clone(),
        revision: Revision::default(),
        file_flags: sent.flags,
        remote_flags: sent.flags,
        visibility: visibility_of(sent.flags),
        stamp: None,
        superseded: Vec::new(),
        written: None,
    }
}

/// Returns whether the file of a creation is certainly gone. A file with the same title and text may be it, moved.
fn is_file_gone(creation: &Creation, observed: &Observation) -> bool {
    let local = &observed.local;
    let (category, _) = creation.address();
    let mut folders = local.categories.iter();
    let paired = folders.find(|folder| folder.id == Some(category));
    let known = observed.base.categories.get(&category);
    let folder = paired
        .map(|paired| &paired.folder)
        .or_else(|| known?.folder.as_ref())
        .unwrap_or(&creation.place.folder);
    let taken = local.names.get(folder);
    let is_seen = local.closed.is_empty()
        && !local.unreadable.contains(folder)
        && taken.is_none_or(|taken| !taken.contains(&path::fold(&creation.place.file)));
    let may_be = |file: &LocalFile| may_be_of(creation, file, &observed.base);
    // A file that is not ready may be the moved file. It has a problem of its own; an ignored file has none.
    let has_problem = |place: &Place| {
        let path = place.to_string();
        observed.problems.iter().any(|problem| problem.path == path)
    };
    let mut unknown = local.unknown.iter().filter(|file| file.id.is_none());
    let is_unready = unknown.any(|file| has_problem(&file.place));
    observed.request.in_motion.paths.is_empty()
        && local.complete
        && is_seen
        && !is_unready
        && !local.files.iter().any(may_be)
}

/// Returns whether an article has its file at the place of a creation.
fn is_place_taken(creation: &Creation, observed: &Observation) -> bool {
    let mut files = observed.paired.files.iter();
    let owner = files.find(|(_, file)| creation.is_at(file.version.category, &file.place.file));
    owner.is_some_and(|(id, _)| !is_gone(*id, observed))
}

/// Returns whether an article is gone from the service: its file becomes a new article.
fn is_gone(id: ArticleId, observed: &Observation) -> bool {
    observed.remote.articles.get(&id) == Some(&Remote::Gone) || is_known_gone(id, &observed.base)
}

/// Returns whether an earlier cycle found that an article is gone from the service.
fn is_known_gone(id: ArticleId, base: &Base) -> bool {
    let row = base.articles.get(&id);
    let conflict = base.conflicts.get(&id);
    row.is_some_and(|row| row.visibility == Visibility::Gone)
        || conflict.is_some_and(|conflict| conflict.remote.is_none())
}
