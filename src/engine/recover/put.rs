//! A PUT without an answer: whether it arrived is told by what the service shows now.

use super::Verdict;
use crate::engine::observe::Sight;
use crate::model::base::Visibility;
use crate::model::{ArticleId, Field, Version};
use crate::reconcile::snapshot::{Base, LocalFile, Remote};
use crate::state::Intent;

/// The article of a PUT.
pub(in crate::engine) fn put_to(intent: &Intent) -> Option<ArticleId> {
    let Intent::UpdateArticle { id, .. } = intent else {
        return None;
    };
    Some(*id)
}

/// A PUT found as it was sent is the base for its fields.
pub(super) fn put_arrived(base: &Base, sight: &Sight, intent: &Intent) -> Verdict {
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
    // Nor may what it replaced be as it is now, while the file still wants it: the same PUT is about to be made
    // again, and finding the article changed by then it leaves to this intent what the first one replaced.
    let over = (*over, over_revision.clone());
    let old = (seen.version.digest(), seen.revision.clone());
    if old == over && is_wanted(sight, *id, version, fields) {
        return Verdict::Open;
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
    if !arrived || !enabled_arrived {
        return Verdict::Void;
    }
    let mut row = row.clone();
    for field in fields {
        row.local.take(*field, version);
        row.remote.take(*field, version);
    }
    if shown {
        row.file_flags.enabled = Some(true);
        row.remote_flags.enabled = Some(true);
    }
    // Seen again, the version that it replaced is an old copy.
    row.earlier = row.earlier_than(&over, &seen.revision);
    row.replaced = Some(over);
    row.stamp = None;
    Verdict::Article(Box::new(row))
}

/// Tells whether the article's file still says what a PUT was about.
fn is_wanted(sight: &Sight, id: ArticleId, version: &Version, fields: &[Field]) -> bool {
    let says = |file: &LocalFile| {
        let mut fields = fields.iter();
        file.id == Some(id) && fields.all(|field| file.version.agrees(version, *field))
    };
    !fields.is_empty() && sight.local.files.iter().any(says)
}
