//! A PUT without an answer: whether it arrived is told by what the service shows now.

use super::Verdict;
use crate::engine::observe::Sight;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Field, Side};
use crate::reconcile::snapshot::{Base, LocalFile, Remote};
use crate::state::store::Store;
use crate::state::{Intent, IntentId, StateError};
use std::collections::BTreeSet;

/// The article of a PUT.
pub(in crate::engine) fn put_to(intent: &Intent) -> Option<ArticleId> {
    let Intent::UpdateArticle { id, .. } = intent else {
        return None;
    };
    Some(*id)
}

/// The articles of PUTs that are shown as they were some time ago.
pub(super) fn shown_before(
    store: &Store,
    sight: &Sight,
    intents: &[(IntentId, Intent)],
) -> Result<BTreeSet<ArticleId>, StateError> {
    let mut before = BTreeSet::new();
    for id in intents.iter().filter_map(|(_, intent)| put_to(intent)) {
        if let Some(Remote::Present(seen)) = sight.remote.articles.get(&id)
            && store
                .knew(id, seen.version.digest(), Side::Remote)?
                .is_some()
        {
            before.insert(id);
        }
    }
    Ok(before)
}

/// A PUT found as it was sent is the base for its fields.
pub(super) fn put_arrived(
    base: &Base,
    sight: &Sight,
    intent: &Intent,
    before: &BTreeSet<ArticleId>,
) -> Verdict {
    let Intent::UpdateArticle {
        id,
        version,
        fields,
        over,
        over_revision,
        enabled,
        ..
    } = intent
    else {
        return Verdict::Void;
    };
    let Some(row) = base.articles.get(id) else {
        return Verdict::Void;
    };
    let seen = match sight.remote.articles.get(id) {
        Some(Remote::Present(seen)) => seen,
        Some(Remote::Gone) => return Verdict::Void,
        // An unlisted article is asked for later in this cycle.
        Some(Remote::NotVisible(_) | Remote::Unknown(_)) | None => return Verdict::Open,
    };
    // An old copy from before an earlier write of ours may happen to say the same, and says nothing of this one.
    if row.has_replaced(&seen.version, &seen.revision) {
        return Verdict::Open;
    }
    // Nor does what it was to replace, which may be an old copy: whoever sends or deletes reads the article first, and
    // leaves to this intent what is found changed by then. With nothing to be done that is not waited for.
    let over = (*over, over_revision.clone());
    let old = (seen.version.digest(), seen.revision.clone());
    if old == over {
        return if is_as_before(sight, row, fields, *enabled) {
            Verdict::Void
        } else {
            Verdict::Open
        };
    }
    // A listed article is not hidden: a wish to hide it did not arrive, or is not ours any more.
    let shown = *enabled == Some(true);
    let arrived = seen.revision != *over_revision
        && (shown || !fields.is_empty())
        && fields
            .iter()
            .all(|field| seen.version.agrees(version, *field));
    // A listing shows what is published; only a probe tells `enabled` itself.
    let listed = seen.visibility == Visibility::Published;
    let enabled_arrived = enabled.is_none_or(|wish| seen.flags.enabled.unwrap_or(listed) == wish);
    let mut row = row.clone();
    if !arrived || !enabled_arrived {
        // The service may have rewritten it, or a colleague. One that was there before may be an old copy itself.
        if seen.revision == over.1 || before.contains(id) {
            return Verdict::Void;
        }
        row.was_replaced(over, &seen.revision);
        return Verdict::Article(Box::new(row));
    }
    for field in fields {
        row.local.take(*field, version);
        row.remote.take(*field, version);
    }
    if shown {
        row.file_flags.enabled = Some(true);
        row.remote_flags.enabled = Some(true);
    }
    row.was_replaced(over, &seen.revision);
    row.stamp = None;
    Verdict::Article(Box::new(row))
}

/// Returns whether the article's file says what it said before a PUT: nothing is to be sent.
fn is_as_before(sight: &Sight, row: &ArticleRow, fields: &[Field], enabled: Option<bool>) -> bool {
    let as_before = |file: &LocalFile| {
        let mut fields = fields.iter();
        file.id == Some(row.id)
            && fields.all(|field| file.version.agrees(&row.local, *field))
            && (enabled.is_none() || file.flags.enabled == row.file_flags.enabled)
    };
    sight.local.files.iter().any(as_before)
}
