//! POST: creates an article, never twice, then writes its id into its file.
//!
//! The slug is the idempotency key: it is always sent, and the service refuses a second article with the same slug in a
//! category. So after a lost response the POST is sent again, in this cycle or a later one, and a 422 means that an
//! earlier try may have arrived. The next listing shows whether it did (`pending::creations`).

use super::{ApplyState, NotDone, StepResult, park, park_or_fail};
use crate::engine::Engine;
use crate::engine::form::{MAX_FILE, says};
use crate::engine::journal::Journal;
use crate::engine::listing::visibility_of;
use crate::engine::observation::version_of;
use crate::engine::pending::creations::{drop_creation, new_row, record_created};
use crate::engine::pending::post_until_answered;
use crate::mirror::disk::{At, Content, Disk};
use crate::mirror::document::{Changes, Document};
use crate::model::base::{ArticleRow, Creation, Sent};
use crate::model::{ArticleId, Figures, Flags, KnownFile, Place};
use crate::reconcile::plan::Action;
use crate::service::{ErrorKind, NewArticle, RemoteArticle, Service};
use crate::state::store::Store;
use crate::state::{PendingRequest, RowChange};

/// A new article for a file.
pub(super) struct New<'a> {
    pub(super) action: &'a Action,
    pub(super) place: &'a Place,
    /// The words of the file.
    pub(super) file: Sent,
    pub(super) instead_of: Option<ArticleId>,
}

/// Creates an article from a file, and writes the id into it.
pub(super) async fn create_article<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    new: &New<'_>,
    state: &mut ApplyState<'_>,
) -> StepResult {
    remove_old_id(&mut engine.journal(), new, state)?;
    let mut creations = engine.store.creations()?.into_iter();
    let category = new.file.version.category;
    let begun = creations.find(|creation| creation.is_at(category, &new.place.file));
    let row = match begun {
        Some(Creation { row: Some(row), .. }) => row,
        begun => post(engine, new, begun, state).await?,
    };
    state.new_ids.insert(new.action.path.clone(), row.id);
    let sent_flags = row.file_flags;
    let defaults = engine.settings.new_articles;
    // The article exists and is recorded; a failure of its file is left to the next cycle.
    let row = match write_id(&mut engine.journal(), defaults, new, &row, state) {
        Ok(row) => row,
        Err(why) => {
            let what = "the article is created, but its id is not in the file yet";
            return state.obstacles.outcome_without_file(what, why);
        }
    };
    if let Some(old) = new.instead_of {
        state.observed.base.articles.remove(&old);
    }
    engine.gathered.answers.note_as_recorded(row.id);
    engine.gathered.figures.insert(row.id, Figures::default());
    let is_as_sent = (&row.local, sent_flags) == (&new.file.version, new.file.flags);
    let has_changed = state.observed.service.read_first.contains(&row.id);
    state.observed.base.articles.insert(row.id, row);
    if has_changed || !is_as_sent {
        // Another look at once takes the later changes of both sides.
        state.report.look_again.insert(new.action.path.clone());
        return Ok(Some("as first sent; later changes follow".to_owned()));
    }
    Ok(None)
}

/// Removes the id of the deleted article from the file: after a crash, it would pair the file with the deleted article.
fn remove_old_id<D: Disk>(
    journal: &mut Journal<'_, D>,
    new: &New<'_>,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    if new.instead_of.is_none() {
        return Ok(());
    }
    let (content, document) = file_at(journal.disk, new.place)?;
    if document.id().is_none() {
        return Ok(());
    }
    let source = document.without_id();
    let over = KnownFile::of(content.stamp, &content.bytes);
    let stamp = journal.write_file(new.place, source.as_bytes(), Some(over), Vec::new())??;
    let stamps = &mut state.observed.mirror.stamps;
    stamps.insert(new.place.clone(), stamp);
    Ok(())
}

/// Sends the POST, with retries. Returns the article's row.
async fn post<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    new: &New<'_>,
    begun: Option<Creation>,
    state: &mut ApplyState<'_>,
) -> Result<Box<ArticleRow>, NotDone> {
    let text = super::text(&engine.store, new.file.version.text)?;
    let has_earlier_try = begun.is_some();
    let (creation, sent) = begin_creation(&mut engine.store, new, begun, &text)?;
    let request = new_article(&sent, text);
    let path = new.place.to_string();
    let service = &engine.service;
    let create = async || service.create_article(&request).await;
    let (answer, is_lost) = post_until_answered(&*engine.clock, &path, create).await;
    let error = match answer {
        Ok(article) => {
            let row = record_answer(&mut engine.store, new, creation, &sent, article);
            return Ok(row?);
        }
        Err(error) => error,
    };
    if !is_lost && !has_earlier_try {
        drop_creation(&mut engine.store, &creation)?;
    } else if error.kind == ErrorKind::Refused && !is_lost {
        // The earlier try may have arrived, and the listing of this cycle shows no article at the address.
        let reason = format!(
            "the service refuses it ({}), and lists no article that an earlier try could have made. The next sync looks \
             again. If that does not help, publish the article in the dashboard, or put its id into the file; if there \
             is none, edit the file, and kbsync tries again",
            error.message
        );
        return Err(park(&mut engine.store, new.action, reason, true));
    } else if error.kind == ErrorKind::Refused {
        let reason = format!(
            "the service did not answer, and then refused it ({}); the next look shows whether the new article arrived",
            error.message
        );
        return Err(NotDone::Overtaken(reason));
    }
    Err(park_or_fail(&mut engine.store, new.action, error, state))
}

/// Stores the content to send. It goes to the address of the first try, because only that slug shows whether a try
/// arrived; a new address becomes an edit later.
fn begin_creation(
    store: &mut Store,
    new: &New<'_>,
    begun: Option<Creation>,
    text: &str,
) -> anyhow::Result<(Creation, Sent)> {
    let mut sent = new.file.clone();
    if let Some(mut creation) = begun {
        sent.version.slug.clone_from(&creation.first.version.slug);
        if creation.sent().all(|before| *before != sent) {
            creation.later.push(sent.clone());
            store.write(|tx| {
                tx.put_body(text)?;
                tx.put_creation(&creation)
            })?;
        }
        return Ok((creation, sent));
    }
    let mut creation = Creation {
        request: 0,
        place: new.place.clone(),
        first: sent.clone(),
        later: Vec::new(),
        row: None,
        unclear: None,
    };
    let pending = PendingRequest::CreateArticle(creation.clone());
    let request = store.write(|tx| {
        tx.put_body(text)?;
        tx.add_pending_request(&pending)
    })?;
    creation.request = request.0;
    Ok((creation, sent))
}

fn new_article(sent: &Sent, text: String) -> NewArticle {
    NewArticle {
        category: sent.version.category,
        title: sent.version.title.clone(),
        slug: sent.version.slug.clone(),
        text,
        introtext: sent.version.introtext.clone(),
        keywords: sent.version.keywords.clone(),
        enabled: sent.flags.enabled.unwrap_or(true),
        draft: sent.flags.draft.unwrap_or(false),
    }
}

/// Records the answer to a POST.
fn record_answer(
    store: &mut Store,
    new: &New<'_>,
    mut creation: Creation,
    sent: &Sent,
    article: RemoteArticle,
) -> anyhow::Result<Box<ArticleRow>> {
    let flags = article.flags.or(sent.flags);
    let row = Box::new(ArticleRow {
        remote: version_of(&article, &sent.version),
        revision: article.revision.clone(),
        written: Some(article.revision),
        remote_flags: flags,
        visibility: visibility_of(flags),
        ..new_row(article.id, &creation.place, sent)
    });
    let text = article.text.filter(|_| row.remote.text != row.local.text);
    creation.row = Some(row.clone());
    record_created(store, &creation, text.as_deref(), new.instead_of)?;
    Ok(row)
}

/// Writes the id into the file of a new article, with the resulting `enabled` and `draft`. `defaults`: the flags of a
/// new file without any. Returns the resulting row, without a stamp, because the file may have later edits.
fn write_id<D: Disk>(
    journal: &mut Journal<'_, D>,
    defaults: Flags,
    new: &New<'_>,
    row: &ArticleRow,
    state: &ApplyState<'_>,
) -> Result<ArticleRow, NotDone> {
    let (content, document) = file_at(journal.disk, new.place)?;
    if !is_scanned(new, &content, &document, state) {
        return Err(NotDone::file_changed());
    }
    let (had, wish, sent) = (document.flags(), row.file_flags, row.remote_flags);
    let as_enabled = had.enabled.or(defaults.enabled) == wish.enabled.or(Some(true));
    let as_drafted = had.draft.or(defaults.draft) == wish.draft.or(Some(false));
    let hidden = sent.enabled.filter(|on| as_enabled && !on);
    let drafted = sent.draft.filter(|on| as_drafted && *on);
    let flags = Flags {
        enabled: hidden.or(had.enabled),
        draft: drafted.or(had.draft),
    };
    let source = document.edit(&Changes {
        id: Some(row.id.uuid()),
        enabled: Some(flags.enabled),
        draft: Some(flags.draft),
        ..Changes::default()
    });
    let row = ArticleRow {
        file_flags: Flags {
            enabled: if as_enabled {
                flags.enabled
            } else {
                sent.enabled
            },
            draft: if as_drafted { flags.draft } else { sent.draft },
        },
        place: new.place.clone(),
        ..row.clone()
    };
    let old = new.instead_of.into_iter();
    let mut rows: Vec<_> = old
        .flat_map(|old| [RowChange::NoArticle(old), RowChange::NoConflict(old)])
        .collect();
    rows.push(RowChange::Article(Box::new(row.clone())));
    rows.push(RowChange::Created(row.id));
    let over = KnownFile::of(content.stamp, &content.bytes);
    journal.write_file(new.place, source.as_bytes(), Some(over), rows)??;
    Ok(row)
}

/// Returns whether a file is still the scanned one, even if it was saved since, and not another file that was moved to
/// its place. A copy has another article's id.
fn is_scanned(
    new: &New<'_>,
    content: &Content,
    document: &Document,
    state: &ApplyState<'_>,
) -> bool {
    let scanned = state.observed.mirror.stamps.get(new.place);
    let is_copy = |id: ArticleId| {
        let original = state.observed.paired.files.get(&id);
        original.is_some_and(|file| file.place != *new.place)
    };
    let is_same = scanned.is_some_and(|stamp| stamp.inode == content.stamp.inode);
    document.id().is_none_or(is_copy) && (is_same || says(document, new.place, &new.file.version))
}

/// Returns the present file of a new article.
fn file_at(disk: &impl Disk, place: &Place) -> Result<(Content, Document), NotDone> {
    let content = disk.read(At::Folder(&place.folder), &place.file, MAX_FILE)?;
    let document = Document::parse_leniently(&content.bytes);
    let document = document.map_err(|_not_ready| NotDone::file_changed())?;
    Ok((content, document))
}
