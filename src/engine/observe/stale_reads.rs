//! Stale reads in the listing: entries with a superseded version. See `docs/decisions/03-superseded-versions.md`.
//!
//! The first stale read of an article changes nothing. If the next listing shows one as well, a probe shows whether a
//! replica is behind, or the service went back to the older version, as after a restored backup. Then the older version
//! is a change like any other. If no probe answers, a person is told.

use super::absent::ask;
use super::questions::Question;
use crate::engine::Engine;
use crate::engine::backoff::{Backoff, StoredAnswer};
use crate::engine::observation::Observation;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::reconcile::guard::MAX_ROLLBACKS;
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::Service;
use crate::state::Target;
use crate::state::store::Store;

/// The problem of an article whose stale reads have no explanation.
const UNEXPLAINED: &str = "the service lists an older version of this article than kbsync saw before, and no probe tells \
                        which of the two counts, so kbsync waits for the newer one; if this goes on, save the article \
                        in the dashboard";

/// The number of probes in one cycle: enough that the roll-backs after a restored backup are more than go through
/// without a person.
const MAX_PROBES: usize = 2 * MAX_ROLLBACKS;

/// Asks for the articles of which the last listing was a stale read, too.
pub(super) async fn ask_for_stale_reads<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    let policy = engine.settings.policy(&observed.request);
    let mut old = observed.stale_reads();
    // The validator of such a listing proves nothing. A cycle may look twice, and the second look is no later listing.
    observed.service.validator_unsafe |= !old.is_empty();
    let answers = &engine.gathered.answers;
    old.retain(|id| {
        let row = observed.row(*id);
        row.is_some_and(|row| policy.scope.covers(&row.place)) && !answers.has(Target::Article(*id))
    });
    if old.is_empty() {
        return Ok(());
    }
    let backoff = Backoff::read(&engine.store, &engine.request)?;
    let (mut found, mut probes) = (Vec::new(), 0);
    for id in old {
        let target = Target::Article(id);
        engine
            .gathered
            .answers
            .note(target, StoredAnswer::StaleRead);
        let row = observed.row(id);
        let is_again = backoff.had_stale_read(target) && probes < MAX_PROBES;
        let Some(row) = row.filter(|_| is_again) else {
            continue;
        };
        probes += 1;
        let question = Question {
            id,
            get: false,
            listed: true,
        };
        match ask(engine, question, Some(row)).await? {
            Ok(Remote::Present(seen)) => found.push((id, seen)),
            Ok(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign) => {
                observed.note_problem(id, UNEXPLAINED);
            }
            Err(error) => {
                // No answer counts: a part of them would stay below the guard of roll-backs.
                observed.stop_for(error);
                return Ok(());
            }
        }
    }
    for (id, seen) in found {
        if let Some(row) = observed.base.articles.get_mut(&id) {
            believe(&mut engine.store, row, &seen)?;
        }
        // The answer explains the version, which is no stale read in the next listing.
        let is_hidden = seen.visibility != Visibility::Published;
        let answer = is_hidden.then_some(StoredAnswer::AsRecorded);
        engine.gathered.answers.note(Target::Article(id), answer);
        observed.remote.articles.insert(id, Remote::Present(seen));
    }
    Ok(())
}

/// Records that a version is not superseded, because a probe showed it.
pub(super) fn believe(store: &mut Store, row: &mut ArticleRow, seen: &Seen) -> anyhow::Result<()> {
    if row.has_superseded(&seen.version, &seen.revision) {
        let version = (seen.version.digest(), seen.revision.clone());
        row.superseded.retain(|known| *known != version);
        store.write_unless_dry_run(|tx| tx.put_article(row))?;
    }
    Ok(())
}
