//! Articles whose file another article's took the place of, as `mv b.html a.html` does: that file may come back as well
//! as one that was removed, and its article has the same grace time.
//!
//! Nobody was told that it went, since something lies there. So the time begins when a cycle sees it first, and anew with
//! each process.

use super::Engine;
use super::observe::{Looked, Sight};
use super::settings::Request;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Place};
use crate::reconcile::plan::{Action, HoldRule, Plan, Step};
use crate::service::Service;
use std::collections::{BTreeMap, HashSet};
use tokio::time::Instant;

/// Since when articles have been known to be without their file, which another one replaced.
pub(super) type Replaced = BTreeMap<ArticleId, Instant>;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Leaves the deletion of such articles to a later cycle, and says when.
    pub(super) fn wait_for_replaced(
        &mut self,
        plan: &mut Plan,
        sight: &mut Sight,
        request: &Request,
    ) {
        let files = &sight.paired.files;
        self.replaced.retain(|id, _| !files.contains_key(id));
        if sight.looked == Looked::All {
            let rows = &sight.base.articles;
            self.replaced.retain(|id, _| rows.contains_key(id));
        }
        let Some(grace) = request.grace else {
            return;
        };
        if !plan.actions.iter().any(|action| deleted(action).is_some()) {
            return;
        }
        let now = Instant::now();
        let lying: HashSet<&Place> = sight.local.files.iter().map(|file| &file.place).collect();
        let mut again = BTreeMap::new();
        for action in &mut plan.actions {
            let replaced = deleted(action).filter(|(id, place)| {
                let mut homes = homes(sight, *id, place).into_iter();
                homes.any(|home| lying.contains(&home))
            });
            let Some((id, place)) = replaced else {
                continue;
            };
            let end = *self.replaced.entry(id).or_insert(now) + grace;
            if end > now {
                again.insert(place.clone(), end);
                action.hold(HoldRule::Grace, "its file may come back");
            }
        }
        sight.again = again;
    }
}

/// Where an article's file was: at its place, which its folder may have left since.
fn homes(sight: &Sight, id: ArticleId, place: &Place) -> [Place; 2] {
    let row = sight.base.articles.get(&id);
    let folder = row.and_then(|row| sight.paired.folder(row.local.category));
    let along = Place::new(folder.unwrap_or(&place.folder), &place.file);
    [place.clone(), along]
}

fn deleted(action: &Action) -> Option<(ArticleId, &Place)> {
    match &action.step {
        Step::DeleteArticle { id, place, .. } => Some((*id, place)),
        Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::CreateArticle { .. }
        | Step::Settle(_)
        | Step::ParkSlug { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}
