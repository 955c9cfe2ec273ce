//! Old copies in the listing: a version that a newer one superseded. See `docs/decisions/03-superseded-versions.md`.
//!
//! The first old copy of an article changes nothing. If the next listing shows one as well, a probe tells whether a
//! replica is behind, or the service went back to the older version, as after a restored backup. Then the older version
//! is a change like any other. If no probe answers, a person is told.

use super::absent::ask;
use super::questions::Question;
use crate::engine::Engine;
use crate::engine::backoff::{Answer, Backoff};
use crate::engine::observation::Observation;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::reconcile::guard::MAX_ROLLBACKS;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, Remote, Seen};
use crate::service::Service;
use crate::state::Target;
use crate::state::store::Store;

/// The problem of an article whose old copies nothing explains.
const OUTDATED: &str = "the service lists an older version of this article than kbsync saw before, and no probe tells \
                        which of the two counts, so kbsync waits for the newer one; if this goes on, save the article \
                        in the dashboard";

/// The number of answers in one cycle: more than the number of roll-backs that go through without a person.
const MAX_ANSWERS: usize = 2 * MAX_ROLLBACKS;

/// Asks for the articles of which the last listing had an old copy, too.
pub(super) async fn ask_for_old_copies<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    let policy = engine.settings.policy(&observed.request);
    let mut old = observed.old_copies(base);
    // The validator of such a listing proves nothing.
    observed.service.unlisted |= !old.is_empty();
    let answers = &engine.gathered.answers;
    old.retain(|id| {
        let row = base.articles.get(id);
        row.is_some_and(|row| policy.covers(&row.place)) && !answers.has(Target::Article(*id))
    });
    if old.is_empty() {
        return Ok(());
    }
    let backoff = Backoff::read(&engine.store, &engine.request)?;
    let mut found = Vec::new();
    for id in old {
        let target = Target::Article(id);
        engine.gathered.answers.note(target, Answer::OldCopy);
        let row = base.articles.get(&id);
        let is_again = backoff.had_old_copy(target) && found.len() < MAX_ANSWERS;
        let Some(row) = row.filter(|_| is_again) else {
            continue;
        };
        let question = Question {
            id,
            get: false,
            listed: true,
        };
        match ask(engine, question, Some(row)).await? {
            Ok(Remote::Present(seen)) => found.push((id, seen)),
            Ok(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) => {
                let problem = Problem::at(&row.place, Some(id), OUTDATED);
                observed.problems.push(problem);
            }
            Err(error) => {
                // A few answers of many would go through as a few roll-backs.
                observed.stop_for(error);
                return Ok(());
            }
        }
    }
    for (id, seen) in found {
        if let Some(row) = base.articles.get_mut(&id) {
            believe(&mut engine.store, row, &seen)?;
        }
        let is_hidden = seen.visibility != Visibility::Published;
        let answer = is_hidden.then_some(Answer::AsRecorded);
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
        store.learn(|tx| tx.put_article(row))?;
    }
    Ok(())
}
