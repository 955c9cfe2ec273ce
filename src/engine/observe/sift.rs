//! The first half of a cycle in which next to nothing changed, as is so of nearly every one: everything is looked
//! at, and only what is not as it was is compared.
//!
//! Every file's stamp and every entry of the listing are compared with the index ([`Index`]), while the base is at
//! rest: the last whole look left nothing open. An article of which both are as they were is one of which the plan
//! would say [`Quiet`](crate::reconcile::plan::Outcome::Quiet): its row is not even loaded. The few that are left are
//! planned by themselves, as files that were saved are ([`super::paths`]).
//!
//! Where anything else happened, or stands open, this gives no answer: a file or an entry came, went or moved, a
//! category's words changed, something cannot be read, a person has to decide. Then everything is loaded and
//! compared; the listing need not be asked for again. [`is_enough`] looks at the plan once more.

use super::backoff::ASK_AGAIN;
use super::local::{self, Scanned};
use super::paths::{self, MAX_PATHS};
use super::remote::{self, Listing, Marks, ReadRows, Rows, as_recorded};
use super::{Looked, Sight, load_beside};
use crate::drill::defect;
use crate::engine::index::{Index, Shown, shown};
use crate::engine::memory::Memory;
use crate::engine::settings::Request;
use crate::engine::spool::Spool;
use crate::engine::{Engine, waiting};
use crate::mirror::disk::Disk;
use crate::mirror::layout::Layout;
use crate::mirror::scan::{self, Known, Touched, Vague};
use crate::model::base::{ArticleRow, IndexRow, Visibility};
use crate::model::{ArticleId, Digest, Place, Timestamp};
use crate::reconcile::plan::Plan;
use crate::reconcile::snapshot::{
    Base, Direction, LocalCategory, LocalFile, Remote, RemoteSnapshot, Seen,
};
use crate::reconcile::{listed_as_known, pairing};
use crate::service::{ListEnd, Service};
use crate::state::Target;
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// More articles than these are compared together with all others.
pub(in crate::engine) const FEW: usize = 128;

/// What came of it.
pub(in crate::engine) enum Sifted {
    /// What is left to be planned, and the listing, if that turns out not to be enough.
    Few(Box<Sight>, Handed),
    /// Everything has to be compared.
    All(Option<Handed>, Look),
}

/// How the look at the files went, before everything is looked at once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Look {
    /// Nothing was in its way.
    Clear,
    /// A folder could not be read. One that can be a moment later may be an empty one by then: what is missing in
    /// this cycle is deleted by none.
    Blurred,
}

impl From<Vague> for Look {
    fn from(vague: Vague) -> Self {
        match vague {
            Vague::More => Self::Clear,
            Vague::Unreadable => Self::Blurred,
        }
    }
}

/// A listing that was asked for already.
pub(in crate::engine) struct Handed {
    pub(in crate::engine) listing: Listing,
    /// When it was asked for.
    pub(in crate::engine) seen_at: Instant,
}

/// What is not as it was.
struct Left {
    rows: BTreeMap<ArticleId, ArticleRow>,
    touched: BTreeSet<Place>,
}

/// The look at all files: beside the listing, where the disk lets several look at once.
enum Survey {
    Running(JoinHandle<Surveyed>),
    Over(Box<Surveyed>),
}

/// What was known of the mirror, and the files that are not as they were, if that is all that happened.
type Surveyed = (Known, Result<Touched, Vague>);

impl Survey {
    fn begin<D: Disk>(disk: Arc<D>, known: Known) -> Self {
        let beside = disk.walkers() > 1;
        let survey = move || {
            let few = scan::survey(&*disk, &known).and_then(|touched| {
                if touched.files.len() <= MAX_PATHS {
                    Ok(touched)
                } else {
                    Err(Vague::More)
                }
            });
            (known, few)
        };
        if beside {
            Self::Running(tokio::task::spawn_blocking(survey))
        } else {
            Self::Over(Box::new(survey()))
        }
    }

    /// Why a few articles are not all there is to compare, if it is over already.
    fn found_too_much(&self) -> Option<Vague> {
        match self {
            Self::Running(_) => None,
            Self::Over(surveyed) => surveyed.1.as_ref().err().copied(),
        }
    }

    async fn end(self) -> anyhow::Result<Surveyed> {
        match self {
            Self::Running(look) => look.await.context("failed to look at the mirror"),
            Self::Over(surveyed) => Ok(*surveyed),
        }
    }
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Looks at everything, and finds what is not as the index says.
    pub(in crate::engine) async fn sift(&mut self, request: &Request) -> anyhow::Result<Sifted> {
        let now = self.clock.now();
        if self.store.at_rest()?.is_none() || !self.is_at_rest(request)? {
            return Ok(Sifted::All(None, Look::Clear));
        }
        let mut index = match Index::read(&*self.disk, &self.store)? {
            Ok(index) => index,
            Err(vague) => return Ok(Sifted::All(None, vague.into())),
        };
        let backoff = self.backoff(request)?;
        let rests =
            |row: &IndexRow| shown(row) != Shown::Hidden || backoff.rests(Target::Article(row.id));
        let asks_nothing = index
            .beside
            .categories
            .values()
            .all(|row| now < again(row.read_at))
            && index.rows().all(rests)
            && backoff.is_calm(|id| index.row(id).is_some());
        if !asks_nothing || self.store.at_rest()? != Some(self.rest_mark(index.mirror.layout())) {
            return Ok(Sifted::All(None, Look::Clear));
        }
        self.tell("scanning", None, 0);
        let mirror = std::mem::take(&mut index.mirror);
        let look = Survey::begin(self.disk.clone(), mirror);
        if let Some(vague) = look.found_too_much() {
            return Ok(Sifted::All(None, vague.into()));
        }
        let mut rows = ReadRows::default();
        let mut hand = self.list_few(request, &index, &mut rows, now).await?;
        let (mirror, touched) = look.end().await?;
        index.mirror = mirror;
        let mut look = Look::Clear;
        let left = match touched {
            Ok(touched) if index.words_stay(&*self.disk, &touched.words) => {
                self.warn_of_inner(&touched.inner);
                self.left(&index, &hand.listing, rows, touched.files)?
            }
            Ok(_) => None,
            Err(vague) => {
                look = vague.into();
                None
            }
        };
        let sight = match left {
            Some(left) => self.see(left, &mut hand, now)?,
            None => None,
        };
        Ok(match sight {
            Some(sight) => {
                let layout = index.mirror.layout().clone();
                Sifted::Few(Box::new(Sight { layout, ..sight }), hand)
            }
            None => Sifted::All(Some(hand), look),
        })
    }

    /// Returns the mark of a base at rest. It is another one after a change of the settings or the rules of the mirror,
    /// and under another version of kbsync.
    pub(in crate::engine) fn rest_mark(&self, layout: &Layout) -> String {
        let settings = format!("{:?}", self.settings);
        let parts = [env!("CARGO_PKG_VERSION"), &settings, layout.text()];
        Digest::of_parts(&parts.map(str::as_bytes)).to_string()
    }

    /// Returns whether nothing stands open, and nothing more is asked for than that both sides be equal.
    fn is_at_rest(&self, request: &Request) -> anyhow::Result<bool> {
        let plain = !request.dry_run
            && !request.allow_deletes
            && request.direction == Direction::Both
            && request.prefer.is_none()
            && request.resolve.is_empty()
            && request.scope.is_empty()
            && request.unsettled.is_empty();
        Ok(plain
            && !defect::any()
            && self.store.intents()?.is_empty()
            && self.store.conflicts()?.is_empty()
            && self.store.parked()?.is_empty()
            && self.store.approvals()?.is_empty()
            && waiting::held(&self.store)?.is_empty()
            && waiting::undone(&self.store)?.is_empty()
            && self.store.unconfirmed_ids()?.is_empty())
    }

    /// Lists the workspace, and reads the rows of the articles whose entries are not familiar.
    async fn list_few(
        &mut self,
        request: &Request,
        index: &Index,
        rows: &mut ReadRows,
        now: Timestamp,
    ) -> anyhow::Result<Handed> {
        self.tell("listing", None, 0);
        let tombstones: HashSet<_> = self.store.tombstones()?.into_iter().collect();
        let fingerprints = Marks {
            tombstones: &tombstones,
            // Only of a dry run does it matter which bodies may be merged.
            changed: &BTreeSet::new(),
        };
        let mut list = self.list_request(&index.beside, &[], request)?;
        let memory = Memory::of(&mut self.memory, &self.store)?;
        let said = |id| {
            let row = index.row(id)?;
            Some(memory.said(&row.remote, &row.revision))
        };
        list.known = Some(memory.known_entries_by(&said));
        let seen_at = Instant::now();
        let mut spool = Spool::new(false, now);
        let mut read = Rows::Read(std::mem::take(rows));
        let store = &mut self.store;
        let listing = remote::list(
            &self.service,
            list,
            fingerprints,
            &mut read,
            store,
            &mut spool,
            memory,
        );
        let listing = listing.await.map_err(remote::ListError::in_cycle)?;
        if let Rows::Read(read) = read {
            *rows = read;
        }
        Ok(Handed { listing, seen_at })
    }

    /// Finds the articles that are not as they were. `None`: that is not all that happened.
    fn left(
        &self,
        index: &Index,
        listing: &Listing,
        mut rows: ReadRows,
        touched: Vec<Place>,
    ) -> anyhow::Result<Option<Left>> {
        let Some(mut left) = self.not_as_listed(index, listing) else {
            return Ok(None);
        };
        let owners = touched.iter().map(|place| index.mirror.article(place));
        left.extend(owners.flatten());
        let listed = |id: &ArticleId| {
            index
                .row(*id)
                .is_some_and(|row| shown(row) == Shown::Listed)
        };
        if left.len() > FEW || !left.iter().all(listed) {
            return Ok(None);
        }
        for id in &left {
            rows.read(*id, &self.store)?;
        }
        let few = rows.few().filter(|rows| rows.keys().eq(left.iter()));
        Ok(few.map(|rows| Left {
            rows,
            touched: touched.into_iter().collect(),
        }))
    }

    /// The articles that the listing does not show as they were known. `None`: something came or went, or cannot
    /// be read.
    fn not_as_listed(&self, index: &Index, listing: &Listing) -> Option<BTreeSet<ArticleId>> {
        let again = match listing.end.as_ref()? {
            ListEnd::Whole { by_category, .. } => !by_category,
            ListEnd::NotModified => true,
        };
        let same = listing.end == Some(ListEnd::NotModified);
        let plain = again
            && listing.nameless.is_empty()
            && listing.categories.is_empty()
            && listing.bodiless.is_empty();
        if !plain {
            return None;
        }
        let mut left: BTreeSet<ArticleId> = listing.articles.keys().copied().collect();
        let mut expected = 0;
        for row in index.rows() {
            match shown(row) {
                Shown::Open => return None,
                Shown::Hidden => {}
                Shown::Listed => {
                    expected += 1;
                    if same && !listed_as_known(row.is_own, row.flags, row.flags) {
                        left.insert(row.id);
                    }
                }
            }
        }
        for id in &listing.known {
            let row = index.row(*id).filter(|row| shown(row) == Shown::Listed)?;
            let met = self.memory.as_ref()?.met(*id)?;
            if !listed_as_known(row.is_own, met.flags, row.flags) {
                left.insert(*id);
            }
        }
        // No article comes twice in a listing.
        let listed = listing.known.len() + listing.articles.len();
        (same || listed == expected).then_some(left)
    }

    /// Puts together what there is to be seen of the articles that are left. `None`: one is not as simple.
    fn see(
        &mut self,
        left: Left,
        hand: &mut Handed,
        now: Timestamp,
    ) -> anyhow::Result<Option<Sight>> {
        let listing = &hand.listing;
        let mut base = load_beside(&self.store)?;
        base.categories.retain(|_, row| row.folder.is_some());
        base.articles = left.rows;
        let Some(articles) = self.seen_in(&base, listing) else {
            return Ok(None);
        };
        let mut spool = Spool::new(false, now);
        let Some(scanned) = self.scanned_at(&base, &left.touched, &mut spool)? else {
            return Ok(None);
        };
        let remote = RemoteSnapshot {
            articles,
            ..RemoteSnapshot::default()
        };
        self.figures = listing.figures.clone();
        let (validator, not_modified) = match &listing.end {
            Some(ListEnd::Whole { validator, .. }) => (validator.clone(), false),
            Some(ListEnd::NotModified) => (None, true),
            None => return Ok(None),
        };
        let met = std::mem::take(&mut hand.listing.met);
        Ok(Some(Sight {
            paired: pairing::pair(&base, &scanned.snapshot, &remote),
            base,
            remote,
            seen_at: hand.seen_at,
            validator,
            not_modified,
            met: (!not_modified).then_some(met),
            ..Sight::of_mirror(scanned, spool, now, Looked::Sifted)
        }))
    }

    /// What the service says of these articles. `None`: one cannot be read, or is somewhere else now.
    fn seen_in(&self, base: &Base, listing: &Listing) -> Option<BTreeMap<ArticleId, Remote>> {
        let memory = self.memory.as_ref();
        let mut articles = BTreeMap::new();
        for (id, row) in &base.articles {
            let seen = match (
                listing.articles.get(id),
                memory.and_then(|memory| memory.met(*id)),
            ) {
                (Some(Remote::Present(seen)), _) => seen.clone(),
                (Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)), _) => {
                    return None;
                }
                (None, Some(met)) if listing.end != Some(ListEnd::NotModified) => Seen {
                    flags: met.flags,
                    visibility: Visibility::Published,
                    ..as_recorded(row)
                },
                (None, _) => as_recorded(row),
            };
            if !paths::stays(row, &seen) || !paths::is_at_home(row, &base.categories) {
                return None;
            }
            articles.insert(*id, Remote::Present(seen));
        }
        Some(articles)
    }

    /// What the mirror holds of these articles: the files that were touched are read, the others are what the base
    /// says. `None`: one of them is no matter for a glance.
    fn scanned_at(
        &mut self,
        base: &Base,
        touched: &BTreeSet<Place>,
        spool: &mut Spool,
    ) -> anyhow::Result<Option<Scanned>> {
        let mut scanned = Scanned::default();
        if !touched.is_empty() {
            let disk = &*self.disk;
            let Some(found) = local::glance_home(disk, &mut self.store, base, spool, touched)?
            else {
                return Ok(None);
            };
            scanned = found;
        }
        for row in base.articles.values() {
            if !touched.contains(&row.place) {
                scanned
                    .stamps
                    .extend(row.stamp.map(|stamp| (row.place.clone(), stamp)));
                scanned.snapshot.files.push(LocalFile {
                    place: row.place.clone(),
                    id: Some(row.id),
                    version: row.local.clone(),
                    flags: row.file_flags,
                });
            }
        }
        let categories = base.categories.values();
        scanned.snapshot.categories = categories
            .filter_map(|row| {
                Some(LocalCategory {
                    folder: row.folder.clone()?,
                    id: Some(row.id),
                    version: Some(row.local.clone()),
                })
            })
            .collect();
        Ok(Some(scanned))
    }
}

/// Returns when a category is read again.
fn again(at: Timestamp) -> Timestamp {
    let rest = i64::try_from(ASK_AGAIN).unwrap_or(i64::MAX);
    Timestamp(at.0.saturating_add(rest))
}

/// Returns whether a plan keeps to the articles that were left, and leaves nothing to a person.
pub(in crate::engine) fn is_enough(plan: &Plan) -> bool {
    let is_held = plan.actions.iter().any(|action| action.held.is_some());
    !is_held && plan.problems.is_empty() && paths::is_enough(plan)
}
