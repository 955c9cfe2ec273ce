//! Records the outcome of a request. The rows that become true with the response to an update are made by pure code.

use super::Recorded;
use crate::engine::history::entry::edited_there;
use crate::engine::observation::version_of;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{Field, TextDigest, Texts, Version, html};
use crate::service::RemoteArticle;
use crate::state::store::Store;
use crate::state::{PutOrDelete, RowChange, SeenVersion, Target, Update};

/// Records a request that was carried out, and ends it.
pub(super) fn record_arrived(
    store: &mut Store,
    request: &PutOrDelete,
    answer: Option<&RemoteArticle>,
) -> anyhow::Result<Recorded> {
    let (mut rewritten, mut warning) = (None, None);
    let rows = match (request, answer) {
        (PutOrDelete::Put(update), Some(answer)) => {
            let text = answer.text.as_deref();
            rewritten = text.filter(|text| TextDigest::of(text) != update.version.text);
            if let Some(text) = rewritten.filter(|_| update.fields.contains(&Field::Text)) {
                let sent = store.body(update.version.text)?;
                warning = sent.and_then(|sent| html::shrank(&sent, text));
            }
            rows_after(update, answer)
        }
        // Only a DELETE arrives without an answer.
        (PutOrDelete::Put(_), None) => Vec::new(),
        (PutOrDelete::Delete(deletion), _) => deletion.rows.clone(),
    };
    if let Some(lost) = &warning {
        tracing::warn!(id = %request.id(), "the service keeps less than it was sent: {lost}");
    }
    let before = store.article(request.id())?;
    store.write(|tx| {
        tx.end_put_or_delete(request.id())?;
        if let Some(text) = rewritten {
            tx.put_body(text)?;
        }
        if let PutOrDelete::Delete(deletion) = request {
            tx.bury(deletion.id, &deletion.revision, before.as_ref())?;
        }
        rows.iter().try_for_each(|row| tx.apply(row))
    })?;
    let row = rows.into_iter().find_map(|row| {
        if let RowChange::Article(row) = row {
            Some(row)
        } else {
            None
        }
    });
    Ok(Recorded { row, warning })
}

/// Ends a request whose article changed or vanished since. The version to be replaced counts as superseded.
pub(super) fn record_changed(
    store: &mut Store,
    request: &PutOrDelete,
    found: Option<&RemoteArticle>,
) -> anyhow::Result<()> {
    let row = store.article(request.id())?;
    let (over, revision) = request.over();
    let over = over.map(|digest| (digest, revision.clone()));
    store.write(|tx| {
        tx.end_put_or_delete(request.id())?;
        // Ask for a hidden article at once.
        tx.remove_attempt(Target::Article(request.id()))?;
        let Some(mut row) = row else {
            return Ok(());
        };
        if let Some(found) = found
            && let Some(text) = &found.text
        {
            tx.put_body(text)?;
            tx.record(&edited_there(
                row.id,
                &row.place,
                &version_of(found, &row.remote),
            ))?;
        }
        let by = found
            .map(|found| found.revision.clone())
            .unwrap_or_default();
        if let Some(over) = over.filter(|over| by != over.1) {
            row.was_replaced(over, &by);
            tx.put_article(&row)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns the rows of a request, with the version in the response.
///
/// An unsent field that differs from the seen version is a colleague's edit of the same moment. The base keeps the seen
/// version and its revision, so that the next cycle pulls the edit.
fn rows_after(update: &Update, answer: &RemoteArticle) -> Vec<RowChange> {
    let mut rows = Vec::with_capacity(update.rows.len() + 1);
    let mut rewritten: Option<Version> = None;
    for change in &update.rows {
        if let RowChange::Article(row) = change {
            let row = as_answered(update, (**row).clone(), answer);
            rewritten = Some(row.remote.clone()).filter(|remote| *remote != row.local);
            rows.push(RowChange::Article(Box::new(row)));
            continue;
        }
        rows.push(change.clone());
        if let RowChange::Version(sent) = change
            && let Some(version) = rewritten.take()
        {
            rows.push(RowChange::Version(Box::new(SeenVersion {
                cause: "rewritten by the service".to_owned(),
                version,
                ..(**sent).clone()
            })));
        }
    }
    rows
}

fn as_answered(update: &Update, mut row: ArticleRow, answer: &RemoteArticle) -> ArticleRow {
    let answered = version_of(answer, &row.remote);
    let mut is_ours = true;
    for &field in Version::FIELDS {
        if update.fields.contains(&field) {
            row.remote.take(field, &answered);
        } else {
            is_ours &= answered.agrees(&row.remote, field);
        }
    }
    // A colleague published or hid the article in the same moment.
    let (told, known) = (answer.flags, row.remote_flags);
    let is_shown_otherwise = (update.enabled.is_none() && differ(told.enabled, known.enabled))
        || differ(told.draft, known.draft);
    if !is_shown_otherwise {
        row.remote_flags = told.or(known);
    }
    if row.remote_flags.hides() {
        row.visibility = Visibility::Unpublished;
    } else if update.enabled == Some(true) {
        row.visibility = Visibility::Published;
    }
    let over = (update.over, update.over_revision.clone());
    row.was_replaced(over, &answer.revision);
    row.written = (!is_shown_otherwise).then(|| answer.revision.clone());
    if is_ours && !is_shown_otherwise {
        row.revision = answer.revision.clone();
    }
    row
}

/// Returns whether an answered flag differs from the known flag.
fn differ(told: Option<bool>, known: Option<bool>) -> bool {
    told.zip(known).is_some_and(|(told, known)| told != known)
}

#[cfg(test)]
mod tests;
