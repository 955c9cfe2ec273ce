//! The first half of a cycle: look at both sides, once each, and pair what was found.
//!
//! Order matters. The mirror is scanned first, so that the listing's bodies can be compared as they
//! stream by; categories that nobody knows are read next, since files are placed by them; and only then is
//! it clear which absent articles have to be asked for.

mod foreign;
mod lately;
pub(in crate::engine) mod local;
mod moved;
pub(in crate::engine) mod paths;
mod posted;
pub(in crate::engine) mod questions;
pub(in crate::engine) mod remote;
pub(in crate::engine) mod sift;
mod unread;
pub(in crate::engine) mod unsettled;

use super::kept::Kept;
use super::memory::Entries;
use super::recover;
use super::settings::Request;
use super::spool::Spool;
use super::{Engine, Stop, waiting};
use crate::drill::defect::{self, Defect};
use crate::mirror::disk::Disk;
use crate::mirror::layout::Layout;
use crate::model::base::{CategoryRow, Visibility};
use crate::model::{ArticleId, CategoryId, Field, Place, Stamp, TextDigest, Timestamp, path};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{
    Base, Bodies, Direction, LocalCategory, LocalSnapshot, Remote, RemoteSnapshot,
};
use crate::service::{
    ListEnd, ListRequest, Purpose, RemoteArticle, Service, ServiceError, Validator,
};
use crate::state::StateError;
use crate::state::store::Store;
use remote::{Known, Listing, Marks, Rows};
use sift::Handed;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;
use tokio::time::Instant;
use unsettled::Unsettled;
use uuid::Uuid;

/// How far a cycle looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Looked {
    /// At everything, and everything is compared.
    All,
    /// At everything; only a few articles are not as they were, and the base has the rows of these.
    Sifted,
    /// At a few files and their articles: nothing was listed, and nothing is said of the rest.
    Paths,
}

impl Looked {
    /// Tells whether the workspace was listed.
    pub(in crate::engine) const fn lists(self) -> bool {
        match self {
            Self::All | Self::Sifted => true,
            Self::Paths => false,
        }
    }

    /// Tells whether the base has the rows of a few articles only.
    pub(in crate::engine) const fn has_few(self) -> bool {
        match self {
            Self::Sifted | Self::Paths => true,
            Self::All => false,
        }
    }
}

/// What one cycle saw.
pub(in crate::engine) struct Sight {
    pub(in crate::engine) base: Base,
    pub(in crate::engine) local: LocalSnapshot,
    pub(in crate::engine) paired: Paired,
    pub(in crate::engine) remote: RemoteSnapshot,
    pub(in crate::engine) problems: Vec<Problem>,
    /// Stamps of the files that were scanned.
    pub(in crate::engine) stamps: BTreeMap<Place, Stamp>,
    pub(in crate::engine) category_stamps: BTreeMap<String, Stamp>,
    /// What is out of scope in the mirror.
    pub(in crate::engine) layout: Layout,
    /// Scanned stamps that were too young to vouch for what was read.
    pub(in crate::engine) racy: Vec<Stamp>,
    /// Digests of bodies with their CRLF read as LF.
    pub(in crate::engine) text_lf: HashMap<TextDigest, TextDigest>,
    /// When the service's versions were seen.
    pub(in crate::engine) seen_at: Instant,
    /// What to send back with the next listing, if this cycle leaves nothing open.
    pub(in crate::engine) validator: Option<Validator>,
    /// Whether the listing was answered with "not modified".
    pub(in crate::engine) not_modified: bool,
    pub(in crate::engine) spool: Spool,
    /// Why nothing may be deleted, if a part of the looking failed.
    pub(in crate::engine) doubt: Option<String>,
    /// Whether removals in the mirror may have gone unseen.
    pub(in crate::engine) hides: bool,
    /// Why nothing may be deleted on the service because of git, as of the end of the scan.
    pub(in crate::engine) git: Option<String>,
    /// Articles whose file equals an older version, of those that are to be settled and were not released.
    pub(in crate::engine) older: BTreeSet<ArticleId>,
    /// What ended the asking before its end.
    pub(in crate::engine) stop: Option<Stop>,
    /// Articles that were not asked for and go by what is known of them, or of which two answers differed:
    /// whoever changes them on the service reads them first.
    pub(in crate::engine) recalled: BTreeSet<ArticleId>,
    /// How far it looked.
    pub(in crate::engine) looked: Looked,
    /// What was kept of the base and holds on, if this cycle leaves nothing open.
    pub(in crate::engine) kept: Option<Kept>,
    /// What the listing's entries stood for, to be remembered once their figures are recorded.
    pub(in crate::engine) met: Option<Entries>,
}

/// The stored validator of the last listing that left nothing open.
pub(in crate::engine) const VALIDATOR: &str = "listing_validator";

impl<S: Service, D: Disk> Engine<S, D> {
    /// Looks at both sides. A listing may have been asked for before.
    pub(in crate::engine) async fn observe(
        &mut self,
        request: &Request,
        handed: Option<Handed>,
    ) -> anyhow::Result<Sight> {
        let now = self.clock.now();
        if !request.dry_run {
            self.store.begin_noting()?;
        }
        let mut base = load_base(&self.store)?;
        let mut spool = Spool::new(request.dry_run, now);
        self.tell("scanning", None, 0);
        let mut unsettled = Unsettled::new(&request.unsettled);
        if let Some(since) = request.since {
            unsettled = unsettled.since(since, &waiting::held(&self.store)?);
        }
        let scanned = local::scan(&*self.disk, &mut self.store, &base, &unsettled, &mut spool)?;
        let git = (self.git)();
        let racy = scanned.racy(now);
        let mut tombstones: HashSet<_> = self.store.tombstones()?.into_iter().collect();
        if defect::is(Defect::TombstonesForgotten) {
            tombstones.clear();
        }
        let changed = scanned.changed.clone();
        let marks = Marks {
            tombstones: &tombstones,
            changed: &changed,
            now,
        };
        let known = marks.with(&base.articles);
        let Handed {
            mut listing,
            seen_at,
        } = if let Some(handed) = handed {
            handed
        } else {
            let categories = &scanned.snapshot.categories;
            let list = self.list_request(&base, categories, request)?;
            self.list_all(list, marks, &base, &mut spool).await?
        };
        listing.recall(&known, &self.memory);
        let mut sight = Sight {
            base: Base::default(),
            local: scanned.snapshot,
            paired: Paired::default(),
            remote: RemoteSnapshot::default(),
            problems: scanned.problems,
            racy,
            stamps: scanned.stamps,
            category_stamps: scanned.category_stamps,
            layout: scanned.layout,
            text_lf: scanned.text_lf,
            seen_at,
            validator: None,
            not_modified: false,
            spool,
            doubt: scanned.doubt,
            hides: scanned.hides,
            git,
            older: BTreeSet::new(),
            stop: None,
            recalled: BTreeSet::new(),
            looked: Looked::All,
            kept: None,
            met: None,
        };
        self.take_listing(&base, listing, request, &known, &mut sight)
            .await?;
        recover::settle_intents(self, &mut base, &sight, request, None)?;
        sight.paired = pairing::pair(&base, &sight.local, &sight.remote);
        let listed = sight.extent(&base);
        let asked = self
            .ask_absent(&mut base, request, marks, &mut sight)
            .await?;
        if !asked.is_empty() {
            recover::settle_intents(self, &mut base, &sight, request, Some(&asked))?;
        }
        let known = marks.with(&base.articles);
        self.place_strangers(&base, request, &known, &mut sight)
            .await?;
        self.keep_strangers(&base, request, &asked, &sight)?;
        // A file may meet an article that only the answers brought to light. With many articles there is no
        // room for both.
        if !asked.is_empty() || listed.is_none() || sight.extent(&base) != listed {
            sight.paired = Paired::default();
            sight.paired = pairing::pair(&base, &sight.local, &sight.remote);
        }
        self.hold_posted(&base, &mut sight)?;
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

    /// Asks for the listing, with everything loaded that it is compared with.
    async fn list_all(
        &mut self,
        mut request: ListRequest,
        marks: Marks<'_>,
        base: &Base,
        spool: &mut Spool,
    ) -> anyhow::Result<Handed> {
        self.tell("listing", None, 0);
        request.familiar = Some(self.memory.familiar(&base.articles));
        let seen_at = Instant::now();
        let mut rows = Rows::Whole(&base.articles);
        let (store, memory) = (&mut self.store, &self.memory);
        let listing = remote::list(
            &self.service,
            request,
            marks,
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
            familiar: None,
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

    /// Categories are read when first seen, once a day, when an article moved into or out of them, when a command
    /// names their folder, and before their words are changed.
    fn categories_to_read(
        &self,
        base: &Base,
        listing: &Listing,
        request: &Request,
        sight: &mut Sight,
    ) -> anyhow::Result<Vec<CategoryId>> {
        let now = self.clock.now();
        let unread = self.unread()?;
        let mut wanted: BTreeSet<CategoryId> = listing
            .bodiless
            .iter()
            .map(|article| article.category)
            .chain(
                sight
                    .local
                    .categories
                    .iter()
                    .filter_map(|category| category.id),
            )
            .chain(self.settings.categories.iter().copied())
            .filter(|id| !base.categories.contains_key(id))
            .collect();
        for (id, entry) in &listing.articles {
            let Remote::Present(seen) = entry else {
                continue;
            };
            let row = base.articles.get(id);
            let moved = row.is_some_and(|row| row.remote.category != seen.version.category);
            if moved || !base.categories.contains_key(&seen.version.category) {
                wanted.insert(seen.version.category);
            }
            if let Some(row) = row.filter(|_| moved) {
                wanted.insert(row.remote.category);
            }
        }
        // Once a day, and not all on the same poll: the oldest first.
        let mut old: Vec<&CategoryRow> = base
            .categories
            .values()
            .filter(|row| now.millis_since(row.read_at) >= questions::ASK_AGAIN)
            .collect();
        old.sort_by_key(|row| (unread.knows(row.id), row.read_at));
        wanted.extend(old.iter().take(MAX_REFRESHED).map(|row| row.id));
        // Whoever names a folder wants to see it as it is.
        if !request.patient && !request.scope.is_empty() {
            let policy = self.policy(request);
            let named = |row: &&CategoryRow| {
                let folder = row.folder.as_deref();
                folder.is_some_and(|folder| policy.covers_folder(folder))
            };
            let rows = base.categories.values().filter(named);
            wanted.extend(rows.take(MAX_REFRESHED).map(|row| row.id));
        }
        if request.purpose == Purpose::Poll {
            unread.pass_over(&mut wanted, now, base, sight);
        }
        let changed = changed_categories(base, sight, request, now, self.settings.guard_window);
        wanted.extend(changed);
        wanted.retain(|id| !sight.remote.categories.contains_key(id));
        Ok(wanted.into_iter().collect())
    }

    async fn read_categories(
        &mut self,
        wanted: &[CategoryId],
        base: &Base,
        listing: &mut Listing,
        request: &Request,
        known: &Known<'_>,
        sight: &mut Sight,
    ) -> anyhow::Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        self.tell("reading categories", Some(wanted.len() as u64), 1);
        let now = self.clock.now();
        let mut unread = self.unread()?;
        for (done, &id) in wanted.iter().enumerate() {
            match self.service.category(id, request.purpose).await {
                Ok((category, articles)) => {
                    if self.is_foreign(&category, base, sight) {
                        unread.note(id, foreign::of_another(id), true, now);
                        continue;
                    }
                    unread.forget(id);
                    sight
                        .remote
                        .categories
                        .insert(id, (category.version, category.revision));
                    self.use_bodies(articles, listing, known, sight)?;
                }
                Err(error) if error.stops_all() => {
                    sight.stop_for(error);
                    break;
                }
                Err(error) => {
                    let message = format!("its category cannot be read: {error}");
                    unread.note(id, message.clone(), false, now);
                    sight.problems.push(Problem {
                        path: folder_of(base, &sight.local, id),
                        id: None,
                        message,
                    });
                }
            }
            self.told(done as u64 + 1);
        }
        self.keep_unread(unread, request)
    }

    /// A category's answer carries bodies anyway: they serve the articles that the listing left without. One
    /// that it shows under another revision changed since it was listed, or before: nobody has seen which of
    /// the two is the present one, so whoever replaces it reads it first.
    fn use_bodies(
        &mut self,
        articles: Vec<crate::service::Listed>,
        listing: &mut Listing,
        known: &Known<'_>,
        sight: &mut Sight,
    ) -> anyhow::Result<()> {
        for entry in articles {
            let crate::service::Listed::Article(article) = entry else {
                continue;
            };
            if let Some(Remote::Present(seen)) = listing.articles.get(&article.id)
                && seen.revision != article.revision
            {
                sight.recalled.insert(article.id);
            }
            let waiting = listing
                .bodiless
                .iter()
                .position(|left| left.id == article.id && left.revision == article.revision);
            if let (Some(position), true) = (waiting, article.text.is_some()) {
                listing.bodiless.swap_remove(position);
                listing.article(*article, known, &mut self.store, &mut sight.spool)?;
            }
        }
        sight.spool.flush(&mut self.store)?;
        Ok(())
    }

    /// Fetches the bodies that the listing does not carry: by category where several of one are new.
    async fn fetch_bodies(
        &mut self,
        listing: &mut Listing,
        request: &Request,
        known: &Known<'_>,
        sight: &mut Sight,
    ) -> anyhow::Result<()> {
        let mut by_category: BTreeMap<CategoryId, u32> = BTreeMap::new();
        for article in &listing.bodiless {
            *by_category.entry(article.category).or_default() += 1;
        }
        let several: Vec<CategoryId> = by_category
            .into_iter()
            .filter(|(id, count)| *count > 1 && !sight.remote.categories.contains_key(id))
            .map(|(id, _)| id)
            .collect();
        self.read_categories(&several, &Base::default(), listing, request, known, sight)
            .await?;
        let left: Vec<RemoteArticle> = listing.bodiless.clone();
        if left.is_empty() || sight.stop.is_some() {
            return Ok(());
        }
        self.tell("reading articles", Some(left.len() as u64), 1);
        for (done, article) in left.into_iter().enumerate() {
            let id = article.id;
            match self.service.article(id, request.purpose).await {
                Ok(article) if article.text.is_some() => {
                    listing.bodiless.retain(|left| left.id != id);
                    listing.article(article, known, &mut self.store, &mut sight.spool)?;
                }
                Ok(_) => {}
                Err(error) if error.stops_all() => {
                    sight.stop_for(error);
                    break;
                }
                Err(error) => sight.problems.push(Problem {
                    path: String::new(),
                    id: Some(id),
                    message: format!("its body cannot be read: {error}"),
                }),
            }
            self.told(done as u64 + 1);
        }
        sight.spool.flush(&mut self.store)?;
        Ok(())
    }

    /// Asks for the articles that left the listing, for known drafts now and then, and for strangers' ids.
    /// Gives those that it meant to ask for.
    async fn ask_absent(
        &mut self,
        base: &mut Base,
        request: &Request,
        marks: Marks<'_>,
        sight: &mut Sight,
    ) -> anyhow::Result<BTreeSet<ArticleId>> {
        if !sight.remote.complete {
            return Ok(BTreeSet::new());
        }
        if defect::is(Defect::AbsenceIsDeletion) {
            for id in base.articles.keys() {
                sight.remote.articles.entry(*id).or_insert(Remote::Gone);
            }
        }
        let limit = self.settings.max_deletes.limit(base.articles.len());
        let approvals = self.store.approvals()?;
        let approved = approvals.into_iter().map(|approval| approval.set).collect();
        let lately = self.lately(request)?;
        let rules = questions::Rules {
            limit: if request.allow_deletes {
                usize::MAX
            } else {
                limit
            },
            approved: &approved,
            lately: &lately,
            sent: &self.unanswered()?,
            now: marks.now,
        };
        let listed = &sight.remote.articles;
        let mut absent = questions::sort_absent(base, &sight.paired, listed, &rules);
        sight.remote.articles.append(&mut absent.known);
        sight.recalled.append(&mut absent.recalled);
        let listed = &mut sight.remote.articles;
        let doubtful = questions::listed_but_disabled(base, listed, &lately, marks.now);
        absent
            .ask
            .extend(doubtful.into_iter().map(|id| questions::Question {
                id,
                get: false,
                listed: true,
            }));
        absent
            .ask
            .retain(|question| self.in_scope(base, &sight.paired, request, question.id));
        if !absent.ask.is_empty() {
            self.tell(
                "asking for absent articles",
                Some(absent.ask.len() as u64),
                2,
            );
        }
        for (done, question) in absent.ask.iter().enumerate() {
            let known = marks.with(&base.articles);
            let asked = self
                .ask(*question, request, &known, &mut sight.spool)
                .await?;
            match asked {
                Ok(answer) => {
                    let listed_before = question.get && base.articles.contains_key(&question.id);
                    if listed_before && shows_a_gap(&answer) {
                        let gap = "the listing left out an article that can be read";
                        sight.doubt.get_or_insert_with(|| gap.to_owned());
                    }
                    self.remember_answer(base, question.id, &answer, request)?;
                    sight.remote.articles.insert(question.id, answer);
                }
                Err(error) => {
                    sight.stop_for(error);
                    break;
                }
            }
            self.told(done as u64 + 1);
        }
        for row in base.articles.values() {
            sight.remote.articles.entry(row.id).or_insert_with(|| {
                Remote::Unknown("it was not asked for in this cycle".to_owned())
            });
        }
        Ok(absent.ask.iter().map(|question| question.id).collect())
    }

    /// Articles to which a PUT was sent that got no answer.
    fn unanswered(&self) -> anyhow::Result<BTreeSet<ArticleId>> {
        let intents = self.store.intents()?;
        let sent = intents
            .iter()
            .filter_map(|(_, intent)| recover::put_to(intent));
        Ok(sent.collect())
    }

    fn in_scope(&self, base: &Base, paired: &Paired, request: &Request, id: ArticleId) -> bool {
        let policy = self.policy(request);
        base.articles
            .get(&id)
            .is_some_and(|row| policy.covers(&row.place))
            || paired
                .files
                .get(&id)
                .is_some_and(|file| policy.covers(&file.place))
    }

    /// A confirmed 404 is remembered, and so is when an article was asked for.
    fn remember_answer(
        &mut self,
        base: &mut Base,
        id: ArticleId,
        answer: &Remote,
        request: &Request,
    ) -> anyhow::Result<()> {
        let Some(row) = base.articles.get_mut(&id).filter(|_| !request.dry_run) else {
            return Ok(());
        };
        let now = self.clock.now();
        // What is recorded later in this cycle is made from this row: it must not forget the question.
        row.asked = Some(now);
        match answer {
            Remote::Gone => row.visibility = Visibility::Gone,
            Remote::NotVisible(_) => row.visibility = Visibility::NotVisible,
            Remote::Present(_) | Remote::Unknown(_) => {}
        }
        let row = row.clone();
        self.store.write(now, |tx| tx.put_article(&row))?;
        Ok(())
    }

    /// Loads the bodies that a merge needs: of articles whose body changed on both sides, or on the service
    /// after that had rewritten it.
    pub(in crate::engine) fn bodies(
        &self,
        sight: &Sight,
        request: &Request,
    ) -> anyhow::Result<Bodies> {
        let mut wanted: BTreeSet<TextDigest> = BTreeSet::new();
        for (id, file) in &sight.paired.files {
            let Some(Remote::Present(seen)) = sight.remote.articles.get(id) else {
                continue;
            };
            let (ours, theirs) = (file.version.text, seen.version.text);
            if let Some(shown) = sight
                .base
                .conflicts
                .get(id)
                .and_then(|row| row.remote.as_ref())
            {
                wanted.extend([shown.text, ours, theirs]);
            }
            let Some(row) = sight.base.articles.get(id) else {
                if request.resolve.contains_key(id) {
                    wanted.extend([ours, theirs]);
                }
                continue;
            };
            let rewritten = row.local.text != row.remote.text;
            if (rewritten || !file.version.agrees(&row.local, Field::Text))
                && !seen.version.agrees(&row.remote, Field::Text)
            {
                wanted.extend([row.local.text, row.remote.text, ours, theirs]);
            }
        }
        let mut bodies = Bodies::new();
        for digest in wanted {
            if let Some(text) = sight.spool.text(&self.store, digest)? {
                bodies.insert(digest, text);
            }
        }
        Ok(bodies)
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
fn load_beside(store: &Store) -> Result<Base, StateError> {
    let (categories, conflicts) = (store.categories()?, store.conflicts()?);
    Ok(Base {
        articles: BTreeMap::new(),
        categories: categories.into_iter().map(|row| (row.id, row)).collect(),
        conflicts: conflicts.into_iter().map(|row| (row.id, row)).collect(),
    })
}

/// Categories that are read again in one cycle, once their day is over.
const MAX_REFRESHED: usize = 5;

impl Sight {
    /// Tells whether a file with this stamp is just what the scan found at a place.
    pub(in crate::engine) fn vouches(&self, place: Option<&Place>, stamp: Stamp) -> bool {
        let scanned = place.and_then(|place| self.stamps.get(place));
        scanned == Some(&stamp) && !self.racy.contains(&stamp)
    }

    /// How much was seen of the service: where that stays the same and nothing was asked for, pairing once
    /// more would come to the same. `None` where there are files of articles that the base does not know.
    fn extent(&self, base: &Base) -> Option<[usize; 3]> {
        let mut files = self.paired.files.keys();
        let remote = &self.remote;
        files.all(|id| base.articles.contains_key(id)).then_some([
            remote.articles.len(),
            remote.categories.len(),
            remote.foreign.len(),
        ])
    }

    /// Tells whether everything on both sides was seen, and nothing that is there was left out.
    pub(in crate::engine) fn saw_all(&self, request: &Request) -> bool {
        let local = &self.local;
        request.direction == Direction::Both
            && request.scope.is_empty()
            && request.unsettled.is_empty()
            && self.looked == Looked::All
            && self.doubt.is_none()
            && !self.hides
            && self.recalled.is_empty()
            && self.base.conflicts.is_empty()
            && self.remote.complete
            && self.remote.foreign.is_empty()
            && local.complete
            && local.unknown.is_empty()
            && local.unread.is_empty()
            && local.unreadable.is_empty()
            && local.unready_categories.is_empty()
            && local.copies.is_empty()
            && local.ignored.is_empty()
    }

    /// Remembers what ended the looking; nothing is deleted in such a cycle.
    pub(in crate::engine) fn stop_for(&mut self, error: ServiceError) {
        self.doubt = Some(format!("the service could not be asked ({error})"));
        self.stop = Some(Stop::of(error));
        self.remote.complete = false;
    }
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

/// Categories whose words are about to change, and that nobody has looked at just now.
fn changed_categories(
    base: &Base,
    sight: &Sight,
    request: &Request,
    now: Timestamp,
    window: Duration,
) -> Vec<CategoryId> {
    let window = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
    let changed = |row: &&CategoryRow| {
        request.direction.pushes()
            && now.millis_since(row.read_at) >= window
            && sight.local.categories.iter().any(|category| {
                let mine = category.id == Some(row.id)
                    || (category.id.is_none() && row.folder.as_deref() == Some(&category.folder));
                mine && (category
                    .version
                    .as_ref()
                    .is_some_and(|version| *version != row.local)
                    || row.folder.as_deref() != Some(&category.folder))
            })
    };
    let rows = base.categories.values().filter(changed);
    rows.map(|row| row.id).collect()
}

/// Nothing hides the article, and still it was not listed: what else is missing may be there as well.
fn shows_a_gap(answer: &Remote) -> bool {
    match answer {
        Remote::Present(seen) => !seen.flags.hides(),
        Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => false,
    }
}

fn folder_of(base: &Base, local: &LocalSnapshot, id: CategoryId) -> String {
    local
        .categories
        .iter()
        .find(|category| category.id == Some(id))
        .map(|category| category.folder.clone())
        .or_else(|| base.categories.get(&id).and_then(|row| row.folder.clone()))
        .unwrap_or_default()
}
