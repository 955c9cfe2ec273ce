//! The laws of every plan, whatever the world.

use super::small::Small;
use crate::model::path::fold;
use crate::model::{ArticleId, Place};
use crate::reconcile::pairing::Paired;
use crate::reconcile::plan::{Key, Outcome, Plan, Step};
use crate::reconcile::snapshot::{Keep, OnConflict, Remote};
use std::collections::{BTreeMap, BTreeSet};

/// Asserts all laws.
pub(super) fn check(world: &Small, paired: &Paired, plan: &Plan) {
    books(world, paired, plan);
    deletions(world, paired, plan);
    direction(world, plan);
    one_action_an_article(plan);
    names(world, plan);
    conflicts(world, plan);
}

/// While the copy of a conflict is beside the file, only a person or the settings settle the conflict.
fn conflicts(world: &Small, plan: &Plan) {
    for action in plan.actions.iter().filter(|action| action.held.is_none()) {
        let Step::Settle(settle) = &action.step else {
            continue;
        };
        let chosen = world.policy.on_conflict != OnConflict::Hold
            || world.policy.resolve.contains_key(&settle.id);
        let mut copies = world.local.copies.values();
        let stands = world.base.conflicts.contains_key(&settle.id)
            && copies.any(|names| *names == Some(settle.id));
        // Without a file, nothing of the writer's is overwritten.
        let had = settle.had();
        let equal = had.is_none_or(|had| *had == settle.seen.version);
        assert!(!stands || chosen || equal, "nobody settled it: {action}");
    }
}

/// Every key has one outcome, and no other key has an outcome; every held action has a hold.
fn books(world: &Small, paired: &Paired, plan: &Plan) {
    let ids: BTreeSet<ArticleId> = world
        .base
        .articles
        .keys()
        .chain(world.remote.articles.keys())
        .chain(paired.files.keys())
        .chain(paired.unknown.keys())
        .copied()
        .collect();
    let articles = ids.into_iter().map(Key::Article);
    let files = paired.new_files.iter();
    let files = files.map(|file| Key::File(file.place.clone()));
    let keys: BTreeSet<Key> = articles.chain(files).collect();
    assert!(plan.outcomes.keys().eq(&keys));
    for action in &plan.actions {
        let Some(id) = action.id else { continue };
        // An article of a pending creation has the outcome of its file.
        if matches!(action.step, Step::CreateArticle { .. }) {
            continue;
        }
        let outcome = plan.outcomes.get(&Key::Article(id));
        assert_eq!(outcome, Some(&Outcome::Decided), "{action}");
    }
    for settle in &plan.records {
        let outcome = plan.outcomes.get(&Key::Article(settle.id));
        assert_eq!(outcome, Some(&Outcome::Decided));
    }
}

/// A deletion has a base row, and the side to be deleted is as in the base.
fn deletions(world: &Small, paired: &Paired, plan: &Plan) {
    for action in &plan.actions {
        match &action.step {
            Step::DeleteArticle { id, seen, .. } => {
                let row = world.base.articles.get(id).expect("a base row");
                assert_eq!(seen.version, row.remote, "{action}");
                assert!(!paired.files.contains_key(id) && !paired.unknown.contains_key(id));
                assert!(matches!(
                    world.remote.articles.get(id),
                    Some(Remote::Present(_))
                ));
                let unready = &world.local.unknown;
                assert!(!unready.iter().any(|unknown| unknown.place == row.place));
            }
            Step::RemoveFile { id, version, .. } => {
                let resolved = world
                    .policy
                    .resolve
                    .get(id)
                    .is_some_and(|decided| decided.keep == Keep::Remote);
                let chosen = resolved || world.policy.on_conflict == OnConflict::Remote;
                // Many articles that vanished at once are held before all of them are probed.
                let gone = world.remote.articles.get(id) == Some(&Remote::Gone);
                assert!(
                    gone || action.held.is_some(),
                    "not known to be gone: {action}"
                );
                assert!(!paired.unknown.contains_key(id));
                let row = world.base.articles.get(id);
                assert!(row.is_some() || resolved, "no base, no deletion: {action}");
                assert!(
                    chosen || row.is_some_and(|row| row.local == *version),
                    "an edited file goes: {action}"
                );
            }
            Step::Forget { id } => assert!(world.base.articles.contains_key(id)),
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::CreateArticle { .. }
            | Step::Settle(_)
            | Step::Conflict(_)
            | Step::Wait => {}
        }
    }
}

/// `pull` sends nothing, and `push` changes no texts in the mirror.
fn direction(world: &Small, plan: &Plan) {
    let (pulls, pushes) = (
        world.policy.direction.pulls(),
        world.policy.direction.pushes(),
    );
    for action in plan.actions.iter().filter(|action| action.held.is_none()) {
        assert!(pushes || !action.sends(), "{action}");
        match &action.step {
            Step::Settle(settle) if !pulls => {
                assert_eq!(settle.from(), Some(&settle.to), "{action}");
                assert_eq!(settle.had(), Some(&settle.file), "{action}");
            }
            Step::RemoveFile { .. } => assert!(pulls, "{action}"),
            Step::DeleteArticle { .. } => assert!(pushes, "{action}"),
            Step::SettleCategory(settle) if !pulls && settle.to.is_some() => {
                assert_eq!(settle.from, settle.to, "{action}");
                assert!(!settle.write, "{action}");
            }
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::CreateArticle { .. }
            | Step::Settle(_)
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => {}
        }
    }
}

fn one_action_an_article(plan: &Plan) {
    let mut seen: BTreeMap<ArticleId, usize> = BTreeMap::new();
    for action in &plan.actions {
        if let Some(id) = action.id {
            *seen.entry(id).or_default() += 1;
        }
    }
    seen.retain(|_, count| *count > 1);
    assert_eq!(seen, BTreeMap::new());
}

/// No two actions put a file at the same name, with case folded.
fn names(world: &Small, plan: &Plan) {
    let folded = |place: &Place| (fold(&place.folder), fold(&place.file));
    let mut written = BTreeSet::new();
    for action in plan.actions.iter().filter(|action| action.held.is_none()) {
        if let Step::Settle(settle) = &action.step {
            assert!(written.insert(folded(&settle.to)), "{action}");
            let moves = settle.from() != Some(&settle.to);
            let copied = world.local.copies.contains_key(&settle.to);
            assert!(!(moves && copied), "{action}");
        }
    }
}
