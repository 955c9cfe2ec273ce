//! What an intent of an earlier run came to, and what the base and the state say from then on.

use crate::engine::anew;
use crate::engine::apply::rows_along;
use crate::engine::observe::Sight;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::{ArticleId, Revision};
use crate::reconcile::snapshot::Base;
use crate::state::store::Writing;
use crate::state::{IntentId, Subject};

/// What an intent came to.
pub(super) enum Verdict {
    /// It did not happen, or the sides tell all there is: the intent goes.
    Void,
    /// The file that was to go is there still: the conflict goes that was to make this other article's come back.
    Kept(ArticleId),
    /// It happened: the base says so. What else was at the file's place is gone from the service.
    Born(Box<ArticleRow>, Option<ArticleId>),
    /// The article seems to be gone: should an old copy of it be shown, it is known for one.
    Deleted(ArticleId, Revision),
    /// It happened: the base says so.
    Article(Box<ArticleRow>),
    /// The same, and it settled the article's conflict.
    Settled(Box<ArticleRow>),
    /// It happened: the base says so.
    Category(Box<CategoryRow>),
    /// It cannot be told yet; it stays.
    Open,
}

/// Puts into the base what is known of an intent. Gives the rows that change along with a category's.
pub(super) fn take(base: &mut Base, sight: &Sight, verdict: &Verdict) -> Vec<ArticleRow> {
    match verdict {
        Verdict::Article(row) => {
            base.articles.insert(row.id, (**row).clone());
        }
        Verdict::Settled(row) => {
            base.conflicts.remove(&row.id);
            base.articles.insert(row.id, (**row).clone());
        }
        Verdict::Born(row, instead_of) => {
            if let Some(old) = instead_of {
                base.articles.remove(old);
                base.conflicts.remove(old);
            }
            base.articles.insert(row.id, (**row).clone());
            base.unconfirmed.insert(row.id);
        }
        Verdict::Category(row) => {
            let along = rows_along(base, sight, row);
            for row in &along {
                base.articles.insert(row.id, row.clone());
            }
            base.categories.insert(row.id, (**row).clone());
            return along;
        }
        Verdict::Kept(other) => {
            base.conflicts.remove(other);
        }
        Verdict::Void | Verdict::Open | Verdict::Deleted(..) => {}
    }
    Vec::new()
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
        Verdict::Kept(other) => {
            tx.remove_conflict(*other)?;
            tx.remove_intent(id)
        }
        Verdict::Article(row) => {
            tx.put_article(row)?;
            tx.remove_intent(id)
        }
        Verdict::Settled(row) => {
            tx.remove_conflict(row.id)?;
            tx.put_article(row)?;
            tx.remove_intent(id)
        }
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
        Verdict::Deleted(article, revision) => {
            let row = tx.article(*article)?;
            tx.bury(*article, revision, row.as_ref())?;
            tx.remove_intent(id)
        }
        Verdict::Category(row) => {
            tx.put_category(row)?;
            tx.remove_intent(id)
        }
    }
}
