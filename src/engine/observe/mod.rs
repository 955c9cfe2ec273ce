//! The first half of a cycle: one look at both sides, and the pairing of files with articles, again after the
//! questions.
//!
//! [`observe`] is the only way of looking. Its scope is everything, or the paths of some saved files. It compares the
//! mirror and the listing with the index. If only the content of a few known articles differs, it loads their rows;
//! otherwise all rows. The rest of a cycle sees no difference.
//!
//! Order matters. The mirror is scanned first, so that the listing's bodies can be compared as they stream. Unknown
//! categories are read next, because they decide the place of files. Only then is it clear which absent articles have
//! to be asked for.

mod absent;
mod categories;
pub(super) mod index;
pub(super) mod local;
mod missing;
mod paths;
mod questions;
mod reader;
mod remote;
mod stale_reads;

use crate::engine::Engine;
use crate::engine::listing::Memory;
use crate::engine::observation::{Extent, MIRROR_READ, Observation, SeenAt, ServiceFacts};
use crate::engine::pending::creations::set_creations_aside;
use crate::engine::ports::begin_phase;
use crate::engine::settings::InMotion;
use crate::mirror::disk::Disk;
use crate::mirror::layout::INNER;
use crate::model::Place;
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::snapshot::{Base, RemoteSnapshot};
use crate::service::Service;
use absent::ask_absent;
use categories::{drop_damaged, place_unknown_ids};
use index::{Index, differences, indexed, is_as_indexed, load_base};
use local::Scanned;
use missing::forget_out_of_scope;
pub(super) use paths::is_enough;
use paths::read_saved;
use remote::{add_listing, list};
pub(super) use remote::{bodies, is_first_pull, record_unknown_articles};
use stale_reads::ask_for_stale_reads;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The mirror as it was found, and the rows to compare it with.
struct Mirror {
    /// The index, while the differences from it are enough.
    index: Option<Index>,
    /// The base: where there is an index, without articles until the differences are known.
    base: Base,
    scanned: Scanned,
    in_motion: InMotion,
}

/// Observes both sides: the differences from the index or, where these are not enough, everything. `None`: a look at
/// some paths is not enough.
pub(super) async fn observe<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
) -> anyhow::Result<Option<Observation>> {
    let now = engine.store.now();
    let is_paths = engine.request.files().is_some();
    let Some(mut mirror) = look_at_mirror(engine)? else {
        return Ok(None);
    };
    let seen_at = SeenAt::now();
    let listing = if is_paths {
        read_saved(engine, &mirror.scanned).await?
    } else {
        Some(list(engine, &mirror).await?)
    };
    let Some(mut listing) = listing else {
        return Ok(None);
    };
    let mut extent = Extent::All;
    if let Some(index) = &mirror.index {
        match differences(engine, index, &mirror, &mut listing)? {
            Some(rows) if is_paths => (mirror.base.articles, extent) = (rows, Extent::Paths),
            Some(rows) => (mirror.base.articles, extent) = (rows, Extent::Differences),
            None if is_paths => return Ok(None),
            None => mirror.use_all_rows(engine)?,
        }
        mirror.finish(engine)?;
    }
    let Mirror {
        base, mut scanned, ..
    } = mirror;
    listing.recall(
        &base.articles,
        Memory::of(&mut engine.gathered.memory, &engine.store)?,
    );
    scanned.side.racy = scanned.racy(now);
    let mut observed = Observation {
        base,
        local: scanned.snapshot,
        remote: RemoteSnapshot::default(),
        paired: Paired::default(),
        mirror: scanned.side,
        service: ServiceFacts::default(),
        request: Arc::clone(&engine.request),
        seen_at,
        extent,
        doubt: scanned.doubt,
        gone_back: BTreeSet::new(),
        problems: scanned.problems,
    };
    add_listing(engine, listing, &mut observed).await?;
    ask_for_stale_reads(engine, &mut observed).await?;
    if extent == Extent::All {
        observed.local.first = engine.store.meta(MIRROR_READ)?.is_none();
    } else {
        // A row that is not loaded would count as absent.
        observed.local.complete = false;
        observed.remote.complete = false;
    }
    set_creations_aside(&mut engine.store, &engine.settings, &mut observed)?;
    observed.pair();
    let listed = observed.remote.articles.len();
    let has_asked = ask_open_questions(engine, &mut observed).await?;
    let mut ids = observed.paired.files.keys();
    let names_unknown = ids.any(|id| observed.row(*id).is_none());
    // Otherwise another pairing would give the same result.
    if has_asked || names_unknown || observed.remote.articles.len() > listed {
        // A file may belong to an article that only the answers showed.
        observed.pair();
        // If an answer says that another article is gone, the file may belong to its own id.
        if has_unasked_ids(&observed) && ask_open_questions(engine, &mut observed).await? {
            observed.pair();
        }
    }
    Ok(Some(observed))
}

/// Asks for unlisted articles, and for ids that only files name. Returns whether there was anything to ask.
async fn ask_open_questions<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    observed: &mut Observation,
) -> anyhow::Result<bool> {
    let has_asked = ask_absent(engine, observed).await?;
    place_unknown_ids(engine, observed).await?;
    if has_asked {
        record_unknown_articles(&mut engine.store, observed)?;
    }
    Ok(has_asked)
}

/// Returns whether a file has an id that neither the base nor an answer knows.
fn has_unasked_ids(observed: &Observation) -> bool {
    let (remote, mut ids) = (&observed.remote, observed.paired.files.keys());
    ids.any(|id| observed.row(*id).is_none() && !remote.articles.contains_key(id))
}

/// Scans the mirror: with the index, if the differences from it may be enough, otherwise with all rows.
fn look_at_mirror<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
) -> anyhow::Result<Option<Mirror>> {
    let request = Arc::clone(&engine.request);
    let paths = request.files();
    let paths = paths.as_ref();
    let (index, base) = match indexed(engine)? {
        Some((index, base)) => (Some(index), base),
        None if paths.is_some() => return Ok(None),
        None => (None, whole_base(engine)?),
    };
    if paths.is_none() {
        begin_phase(&engine.teller, "scanning", None, 0);
    }
    // A look at some paths sees the paths in motion as well, to recognise moves.
    let in_motion = match paths {
        Some(_) => InMotion::default(),
        None => InMotion::new(&request.in_motion),
    };
    let (disk, store) = (&*engine.disk, &mut engine.store);
    let looked = Scanned::look(disk, store, &in_motion, &base, index.as_ref(), paths)?;
    let Some(scanned) = looked else {
        return Ok(None);
    };
    let mut mirror = Mirror {
        index,
        base,
        scanned,
        in_motion,
    };
    if let Some(index) = &mirror.index
        && !is_as_indexed(engine, index, &mirror)?
    {
        if paths.is_some() {
            return Ok(None);
        }
        mirror.use_all_rows(engine)?;
    }
    if mirror.index.is_none() {
        // The listing reads the rows that this leaves.
        mirror.finish(engine)?;
    }
    Ok(Some(mirror))
}

impl Mirror {
    /// Loads all rows, in place of the index.
    fn use_all_rows<S: Service, D: Disk>(
        &mut self,
        engine: &mut Engine<S, D>,
    ) -> anyhow::Result<()> {
        self.index = None;
        self.base = whole_base(engine)?;
        Ok(())
    }

    /// Compares the scan with the base.
    fn finish<S: Service, D: Disk>(&mut self, engine: &mut Engine<S, D>) -> anyhow::Result<()> {
        let is_part = self.index.is_some();
        let (scanned, base, in_motion) = (&mut self.scanned, &mut self.base, &self.in_motion);
        scanned.finish(&*engine.disk, &mut engine.store, in_motion, base, is_part)?;
        forget_out_of_scope(engine, base, scanned, in_motion)?;
        warn_of_inner(engine, &scanned.inner);
        Ok(())
    }
}

/// Loads the base with all rows.
fn whole_base<S: Service, D: Disk>(engine: &mut Engine<S, D>) -> anyhow::Result<Base> {
    let mut base = load_base(&engine.store)?;
    drop_damaged(&mut engine.store, &mut base)?;
    Ok(base)
}

/// Warns once about each article's file in a folder within a category, which is not synced.
fn warn_of_inner<S: Service, D: Disk>(engine: &mut Engine<S, D>, inner: &[Place]) {
    for place in inner {
        if engine.told_inner.insert(place.clone()) {
            tracing::warn!(path = %place, "{INNER}");
        }
    }
}

impl Observation {
    /// Pairs the files with the articles.
    fn pair(&mut self) {
        // Drop an earlier pairing before the next one is made: two take too much memory.
        self.paired = Paired::default();
        self.paired = pairing::pair(&self.base, &self.local, &self.remote);
    }
}
