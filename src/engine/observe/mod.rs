//! The first half of a cycle: look at both sides, once each, and pair what was found.
//!
//! Order matters. The mirror is scanned first, so that the listing's bodies can be compared as they
//! stream by (a listing that was asked for before is compared afterwards); categories that nobody knows are
//! read next, since files are placed by them; and only then is it clear which absent articles have to be
//! asked for.

mod absent;
pub(in crate::engine) mod backoff;
mod bodies;
mod categories;
mod dropped;
mod foreign;
pub(in crate::engine) mod local;
mod moved;
pub(in crate::engine) mod paths;
pub(in crate::engine) mod questions;
mod reader;
pub(in crate::engine) mod remote;
pub(in crate::engine) mod sift;
mod sight;
pub(in crate::engine) mod unsettled;
mod yaml;

use super::journal::recover::overlay;
use super::memory::Memory;
use super::recover;
use super::settings::Request;
use super::spool::Spool;
use super::{Engine, waiting};
use crate::drill::defect::{self, Defect};
use crate::mirror::disk::Disk;
use crate::mirror::layout::INNER;
use crate::model::{ArticleId, CategoryId, Place, path};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalCategory, Remote};
use crate::service::{ListEnd, ListRequest, Service, Validator};
use crate::state::store::Store;
use crate::state::{Intent, StateError};
use remote::{Known, Listing, Marks, Rows};
use sift::Handed;
pub(in crate::engine) use sight::{Looked, Sight};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tokio::time::Instant;
use unsettled::Unsettled;
use uuid::Uuid;

/// The stored validator of the last listing that left nothing open.
pub(in crate::engine) const VALIDATOR: &str = "listing_validator";

/// Set once all of the mirror was read with this state, and its articles are in it.
pub(in crate::engine) const MIRROR_READ: &str = "mirror_read";

impl<S: Service, D: Disk> Engine<S, D> {
    /// Looks at both sides. A listing may have been asked for before, and the mirror looked at.
    pub(in crate::engine) async fn observe(
        &mut self,
        request: &Request,
        handed: Option<Handed>,
        before: sift::Look,
    ) -> anyhow::Result<Sight> {
        let now = self.clock.now();
        let mut base = load_base(&self.store)?;
        if request.dry_run {
            overlay(&*self.disk, &self.store, &mut base)?;
        }
        self.drop_damaged(&mut base, request)?;
        let creates = |(_, intent): (_, Intent)| matches!(intent, Intent::CreateArticle { .. });
        let seeks = request.dry_run && self.store.intents()?.into_iter().any(creates);
        let mut spool = Spool::new(request.dry_run, now).seeking(seeks);
        self.tell("scanning", None, 0);
        let mut unsettled = Unsettled::new(&request.unsettled);
        if let Some(since) = request.since {
            unsettled = unsettled.since(since, &waiting::held(&self.store)?, &request.gone);
        }
        let mut scanned = local::scan(&*self.disk, &mut self.store, &base, &unsettled, &mut spool)?;
        if before == sift::Look::Blurred {
            scanned
                .doubt
                .get_or_insert_with(|| "a folder could not be read at first".to_owned());
        }
        self.forget_out_of_scope(&mut base, &mut scanned, &unsettled, request)?;
        self.warn_of_inner(&scanned.inner);
        let mut tombstones: HashSet<_> = self.store.tombstones()?.into_iter().collect();
        if defect::is(Defect::TombstonesForgotten) {
            tombstones.clear();
        }
        let changed = scanned.changed.clone();
        let fingerprints = Marks {
            tombstones: &tombstones,
            changed: &changed,
        };
        let known = fingerprints.with(&base.articles);
        let Handed {
            mut listing,
            seen_at,
        } = if let Some(handed) = handed {
            handed
        } else {
            let categories = &scanned.snapshot.categories;
            let list = self.list_request(&base, categories, request)?;
            self.list_all(list, fingerprints, &base, &mut spool).await?
        };
        listing.recall(&known, Memory::of(&mut self.memory, &self.store)?);
        let mut sight = Sight {
            seen_at,
            ..Sight::of_mirror(scanned, spool, now, Looked::All)
        };
        self.take_listing(&base, listing, request, &known, &mut sight)
            .await?;
        sight.local.first = self.store.meta(MIRROR_READ)?.is_none();
        self.recall_unanswered(&mut sight)?;
        recover::settle_intents(self, &mut base, &sight, request, None)?;
        sight.paired = pairing::pair(&base, &sight.local, &sight.remote);
        let listed = sight.extent(&base);
        let asked = self
            .ask_absent(&mut base, request, fingerprints, &mut sight)
            .await?;
        if !asked.is_empty() {
            self.recall_unanswered(&mut sight)?;
            recover::settle_intents(self, &mut base, &sight, request, Some(&asked))?;
        }
        self.forget_deleted(&mut base, request, &sight)?;
        let known = fingerprints.with(&base.articles);
        self.place_strangers(&base, request, &known, &mut sight)
            .await?;
        // A file may meet an article that only the answers brought to light. With many articles there is no
        // room for both.
        if !asked.is_empty() || listed.is_none() || sight.extent(&base) != listed {
            sight.paired = Paired::default();
            sight.paired = pairing::pair(&base, &sight.local, &sight.remote);
        }
        let out_of_reach = |place: &Place| sight.layout.ignores(place) || unsettled.covers(place);
        let ignored = ignored(&out_of_reach, &base, &sight);
        sight.local.ignored = ignored;
        sight.base = base;
        Ok(sight)
    }

    fn validator(&self) -> anyhow::Result<Option<Validator>> {
        let stored = self.store.meta(VALIDATOR)?;
        Ok(stored.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Says once that articles' files in folders within categories are not synced.
    fn warn_of_inner(&mut self, inner: &[Place]) {
        for place in inner {
            if self.told_inner.insert(place.clone()) {
                tracing::warn!(path = %place, "{INNER}");
            }
        }
    }

    /// Asks for the listing, with everything loaded that it is compared with.
    async fn list_all(
        &mut self,
        mut request: ListRequest,
        fingerprints: Marks<'_>,
        base: &Base,
        spool: &mut Spool,
    ) -> anyhow::Result<Handed> {
        self.tell("listing", None, 0);
        let memory = Memory::of(&mut self.memory, &self.store)?;
        request.known = Some(memory.known_entries(&base.articles));
        let seen_at = Instant::now();
        let mut rows = Rows::Whole(&base.articles);
        let store = &mut self.store;
        let listing = remote::list(
            &self.service,
            request,
            fingerprints,
            &mut rows,
            store,
            spool,
            memory,
        );
        let listing = listing.await.map_err(remote::ListError::in_cycle)?;
        Ok(Handed { listing, seen_at })
    }

    fn list_request(
        &self,
        base: &Base,
        local: &[LocalCategory],
        request: &Request,
    ) -> anyhow::Result<ListRequest> {
        let categories: BTreeSet<CategoryId> = base
            .categories
            .keys()
            .chain(&self.settings.categories)
            .copied()
            .chain(local.iter().filter_map(|category| category.id))
            .collect();
        Ok(ListRequest {
            workspace: self.settings.workspace,
            categories: categories.into_iter().collect(),
            validator: self.validator()?,
            known: None,
            purpose: request.purpose,
        })
    }

    async fn take_listing(
        &mut self,
        base: &Base,
        mut listing: Listing,
        request: &Request,
        known: &Known<'_>,
        sight: &mut Sight,
    ) -> anyhow::Result<()> {
        for why in &listing.nameless {
            sight.problems.push(Problem {
                path: String::new(),
                id: None,
                message: format!("the listing has an article that cannot be read: {why}"),
            });
        }
        for (id, entry) in &listing.articles {
            if let Remote::Unknown(why) = entry {
                sight.remote.unreadable.insert(*id);
                sight.problems.push(Problem {
                    path: base
                        .articles
                        .get(id)
                        .map(|row| row.place.to_string())
                        .unwrap_or_default(),
                    id: Some(*id),
                    message: format!("the service's entry of this article cannot be read: {why}"),
                });
            }
        }
        if !listing.nameless.is_empty() {
            sight.doubt = Some("the listing had an article that could not be read".to_owned());
        }
        for category in std::mem::take(&mut listing.categories).into_values() {
            if self.is_foreign(&category, base, sight) {
                continue;
            }
            if !request.dry_run {
                self.keep_category_there(category.id, &category.version)?;
            }
            sight
                .remote
                .categories
                .insert(category.id, (category.version, category.revision));
        }
        let wanted = self.categories_to_read(base, &listing, request, sight)?;
        self.read_categories(&wanted, base, &mut listing, request, known, sight)
            .await?;
        self.fetch_bodies(&mut listing, request, known, sight)
            .await?;
        match &listing.end {
            Some(ListEnd::Whole { validator, .. }) => {
                sight.validator.clone_from(validator);
                sight.met = Some(std::mem::take(&mut listing.met));
            }
            Some(ListEnd::NotModified) => sight.not_modified = true,
            None => {}
        }
        sight.remote.complete = listing.nameless.is_empty() && sight.stop.is_none();
        for left in listing.bodiless {
            let why = "its body was not read".to_owned();
            listing.articles.insert(left.id, Remote::Unknown(why));
        }
        sight.remote.articles = listing.articles;
        foreign::leave_alone(base, &mut sight.remote);
        self.figures.append(&mut listing.figures);
        Ok(())
    }
}

/// Loads the base.
pub(in crate::engine) fn load_base(store: &Store) -> Result<Base, StateError> {
    let rows = store.articles()?;
    Ok(Base {
        articles: rows.into_iter().map(|row| (row.id, row)).collect(),
        ..load_beside(store)?
    })
}

/// Loads the base but for its articles.
pub(in crate::engine) fn load_beside(store: &Store) -> Result<Base, StateError> {
    let (categories, conflicts) = (store.categories()?, store.conflicts()?);
    let unconfirmed = store.unconfirmed_ids()?;
    Ok(Base {
        articles: BTreeMap::new(),
        categories: categories.into_iter().map(|row| (row.id, row)).collect(),
        conflicts: conflicts.into_iter().map(|row| (row.id, row)).collect(),
        unconfirmed,
    })
}

/// Articles that the mirror does not want: what keeps them out is no file in motion, which is over by the next cycle.
pub(in crate::engine) fn out_of_scope(sight: &Sight) -> BTreeSet<ArticleId> {
    if sight.local.ignored.is_empty() {
        return BTreeSet::new();
    }
    ignored(&|place| sight.layout.ignores(place), &sight.base, sight)
}

/// Articles of which the mirror knows nothing, and which would be written where nothing may be: where
/// everything is ignored, or to a place in motion, whose file may turn out to be theirs.
fn ignored(
    out_of_reach: &dyn Fn(&Place) -> bool,
    base: &Base,
    sight: &Sight,
) -> BTreeSet<ArticleId> {
    let name = |slug: &str, id: Uuid| path::stem_for(slug, id, &|_| false);
    let folder = |id: CategoryId| {
        let row = base.categories.get(&id);
        let known = row.and_then(|row| row.folder.clone());
        let here = sight.paired.folder(id).map(str::to_owned).or(known);
        here.or_else(|| {
            let read = sight.remote.categories.get(&id).map(|(version, _)| version);
            let version = read.or(row.map(|row| &row.remote))?;
            Some(name(&version.slug, id.uuid()))
        })
    };
    let strangers = sight.remote.articles.iter();
    strangers
        .filter(|(id, _)| !base.articles.contains_key(id) && !sight.paired.files.contains_key(id))
        .filter_map(|(id, entry)| match entry {
            Remote::Present(seen) => Some((*id, seen)),
            Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
        })
        .filter(|(id, seen)| {
            let stem = name(&seen.version.slug, id.uuid());
            folder(seen.version.category).is_some_and(|folder| {
                out_of_reach(&Place::new(folder, format!("{stem}{}", path::EXTENSION)))
            })
        })
        .map(|(id, _)| id)
        .collect()
}
