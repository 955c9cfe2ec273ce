//! The rows that become true with the answer to an update. Pure.

use crate::engine::observation::version_of;
use crate::model::Version;
use crate::model::base::{ArticleRow, Visibility};
use crate::service::RemoteArticle;
use crate::state::{RowChange, SeenVersion, Update};

/// Returns the rows that are true once the service has answered: those of the request, with the answered version.
///
/// A field that was not sent and is not as it was seen is a colleague's edit of this very instant: the base has what was
/// seen, and its revision, so that the next cycle pulls the edit.
pub(super) fn rows_after(update: &Update, answer: &RemoteArticle) -> Vec<RowChange> {
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
    for field in Version::FIELDS {
        if update.fields.contains(&field) {
            row.remote.take(field, &answered);
        } else {
            is_ours &= answered.agrees(&row.remote, field);
        }
    }
    // A colleague published or hid it in this very instant.
    let (told, known) = (answer.flags, row.remote_flags);
    let is_shown_otherwise = (update.enabled.is_none() && differ(told.enabled, known.enabled))
        || differ(told.draft, known.draft);
    if !is_shown_otherwise {
        row.remote_flags.enabled = told.enabled.or(known.enabled);
        row.remote_flags.draft = told.draft.or(known.draft);
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
