//! What an intent of an earlier run came to, and what the base and the state say from then on.

use crate::engine::anew;
use crate::model::ArticleId;
use crate::model::base::ArticleRow;
use crate::reconcile::snapshot::Base;
use crate::state::store::Writing;
use crate::state::{IntentId, Subject};

/// What an intent came to.
pub(super) enum Verdict {
    /// It did not happen, or the sides tell all there is: the intent goes.
    Void,
    /// It happened: the base says so. What else was at the file's place is gone from the service.
    Born(Box<ArticleRow>, Option<ArticleId>),
    /// It cannot be told yet; it stays.
    Open,
}

/// Puts into the base what is known of an intent.
pub(super) fn take(base: &mut Base, verdict: &Verdict) {
    match verdict {
        Verdict::Born(row, instead_of) => {
            if let Some(old) = instead_of {
                base.articles.remove(old);
                base.conflicts.remove(old);
            }
            base.articles.insert(row.id, (**row).clone());
            base.unconfirmed.insert(row.id);
        }
        Verdict::Void | Verdict::Open => {}
    }
}

/// Records it.
pub(super) fn write(
    tx: &mut Writing<'_>,
    id: IntentId,
    verdict: &Verdict,
) -> crate::state::Outcome<()> {
    match verdict {
        Verdict::Open => Ok(()),
        Verdict::Void => tx.remove_intent(id),
        Verdict::Born(row, instead_of) => {
            if let Some(old) = *instead_of {
                tx.remove_article(old)?;
                tx.remove_conflict(old)?;
                tx.rename_subject(&Subject::Article(old), &Subject::Article(row.id))?;
                anew::note(tx, old, row.id)?;
            }
            tx.rename_subject(&Subject::File(row.place.clone()), &Subject::Article(row.id))?;
            tx.put_article(row)?;
            tx.put_unconfirmed_id(row.id)?;
            tx.remove_intent(id)
        }
    }
}
