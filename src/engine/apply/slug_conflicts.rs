//! Addresses that turned out to be taken, where no row says so: what is asked for once a day only has to be remembered
//! until then, or what wants the address would be sent in vain.

use super::ApplyState;
use crate::model::base::Visibility;
use crate::model::{ArticleId, CategoryId, Timestamp};
use crate::reconcile::guard::{FOR_A_PERSON, NOT_SENT};
use crate::reconcile::order;
use crate::reconcile::plan::{Action, HoldRule};
use crate::reconcile::snapshot::Remote;
use crate::state::store::Store;
use crate::state::{Outcome, Parked};

/// Parks what waits for an address that a category or a hidden article has by now, which its own row does not say:
/// a category's words are read once a day, and so is a hidden article, though its file may not be ready by then.
pub(super) fn remember_taken(
    store: &mut Store,
    action: &Action,
    run: &ApplyState<'_>,
    now: Timestamp,
) -> Outcome<()> {
    let Some(held) = action
        .held
        .as_ref()
        .filter(|held| held.rule == HoldRule::Person)
    else {
        return Ok(());
    };
    let fingerprint = match order::takes(action) {
        Some((None, slug)) if is_a_categorys(&slug, run) => action.fingerprint(),
        Some((Some(category), slug)) => match action.holder() {
            // The next cycle does not know whose it is.
            Some(id) if is_hidden_there(id, category, &slug, run) => {
                let parked = store.parked()?;
                let waits = |parked: &Parked| parked.reason.starts_with(FOR_A_PERSON);
                if parked.get(&action.key()).is_some_and(waits) {
                    return Ok(());
                }
                action.unaware().fingerprint()
            }
            Some(_) | None => return Ok(()),
        },
        Some((None, _)) | None => return Ok(()),
    };
    let parked = Parked {
        key: action.key(),
        fingerprint,
        reason: format!("{NOT_SENT}{}", held.reason),
        at: now,
    };
    store.write(now, |tx| tx.park(&parked))?;
    Ok(())
}

/// Returns whether a category has a slug that its row does not say.
fn is_a_categorys(slug: &str, run: &ApplyState<'_>) -> bool {
    let rows = &run.observed.base.categories;
    let mut read = run.observed.remote.categories.iter();
    read.any(|(id, (version, _))| {
        let known = rows.get(id).map(|row| row.remote.slug.as_str());
        version.slug == slug && known != Some(slug)
    })
}

/// Returns whether an article that no listing shows has an address that its row does not say.
fn is_hidden_there(id: ArticleId, category: CategoryId, slug: &str, run: &ApplyState<'_>) -> bool {
    let Some(Remote::Present(seen)) = run.observed.remote.articles.get(&id) else {
        return false;
    };
    let recorded = run
        .row(id)
        .is_some_and(|row| (row.remote.category, row.remote.slug.as_str()) == (category, slug));
    seen.visibility == Visibility::Unpublished && !recorded
}
