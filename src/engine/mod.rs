//! One cycle: observe, reconcile, guard, apply, record, report.
//!
//! [`Engine::cycle`] is the recipe. The engine owns the order of effects and nothing else: what to do is
//! decided by [`crate::reconcile`], how to do it is known by [`crate::mirror`], [`crate::service`] and
//! [`crate::state`]. One cycle runs at a time; the caller holds the mirror's lock.

mod apply;
mod backoff;
mod behind;
mod clock;
pub mod compare;
mod facts;
mod form;
mod gathered;
mod git_view;
pub mod history;
mod index;
mod journal;
mod keys;
mod known;
mod listing;
mod memory;
mod mirror_view;
pub mod neighbours;
mod observation;
mod observe;
pub mod open;
mod pending;
mod progress;
mod recent_rollbacks;
pub mod recreated;
mod refusal;
pub mod report;
pub mod restore;
pub mod settings;
mod spool;
pub mod status;
mod stock;
mod stop;
pub mod unfinished;
mod unsettled;
mod waiting;

pub use clock::{Clock, Pause, SystemClock};
pub use git_view::{Checkout, Contents, GitView, NoGit, Since};
pub use progress::{Progress, Teller};
pub use stop::{Stop, StopCause, ending_of};

use crate::engine::observation::Observation;
use crate::mirror::disk::Disk;
use crate::model::Place;
use crate::reconcile::plan::{Outcome, Plan, Problem};
use crate::reconcile::snapshot::Direction;
use crate::reconcile::{self, World};
use crate::service::Service;
use crate::state::home::Home;
use crate::state::store::Store;
use apply::Rest;
use gathered::Gathered;
use journal::Journal;
use journal::recover::Recovered;
use neighbours::Neighbours;
use observation::Looked;
use report::{BudgetLeft, Report, Requests};
use settings::{Look, Request, Settings};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use stop::service_stop;
use tokio::time::Instant;

/// The number of times that a cycle looks again at articles that changed on the service between the look and the write.
const MAX_LOOKS: u32 = 3;

/// The time that a cycle waits for a git command that changes files.
const GIT_PATIENCE: Duration = Duration::from_secs(2);

/// The pause between two looks at git while a cycle waits.
const GIT_LOOK: Duration = Duration::from_millis(50);

/// One workspace's two sides, and what is remembered of them.
pub struct Engine<S, D> {
    service: S,
    disk: Arc<D>,
    store: Store,
    settings: Settings,
    clock: Arc<dyn Clock>,
    teller: Teller,
    git: Arc<dyn GitView>,
    neighbours: Neighbours,
    /// The folder that the state is compared with.
    home: Option<Home>,
    /// The values of the present cycle.
    gathered: Gathered,
    /// Cycles that compared a few articles only.
    sifted: u64,
    /// Whether the leftovers of an earlier run are cleared up.
    cleared_up: bool,
    /// Folders within categories of which it was said that they are not synced.
    told_inner: BTreeSet<Place>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Puts an engine together. The caller holds the mirror's lock for as long as it lives.
    pub fn new(service: S, disk: D, store: Store, settings: Settings) -> Self {
        Self {
            service,
            disk: Arc::new(disk),
            store,
            settings,
            clock: Arc::new(SystemClock),
            teller: Arc::new(|_| {}),
            git: Arc::new(NoGit),
            neighbours: neighbours::among(Vec::new()),
            home: None,
            gathered: Gathered::default(),
            sifted: 0,
            cleared_up: false,
            told_inner: BTreeSet::new(),
        }
    }

    /// Uses another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Reports progress to a receiver.
    #[must_use]
    pub fn with_teller(mut self, teller: Teller) -> Self {
        self.teller = teller;
        self
    }

    /// Asks git about the files, where the answer matters.
    #[must_use]
    pub fn with_git(mut self, git: Arc<dyn GitView>) -> Self {
        self.git = git;
        self
    }

    /// Looks into the folders of other workspaces, before an article is deleted because its file is missing.
    #[must_use]
    pub fn with_neighbours(mut self, neighbours: Neighbours) -> Self {
        self.neighbours = neighbours;
        self
    }

    /// Compares the state with the mirror's folder: by the word of another folder's state nothing is deleted.
    #[must_use]
    pub fn with_home(mut self, home: Home) -> Self {
        self.home = Some(home);
        self
    }

    /// Uses another view of git from the next cycle.
    pub fn set_git(&mut self, git: Arc<dyn GitView>) {
        self.git = git;
    }

    /// The state, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The state, for what a person decides between two cycles.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Goes on with other settings from the next cycle.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Goes on with another client of the same service from the next cycle.
    pub fn set_service(&mut self, service: S) {
        self.service = service;
    }

    /// The service, for reading what it cost.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Returns how many cycles compared only the few articles that differed from the index.
    pub fn sifted(&self) -> u64 {
        self.sifted
    }

    /// Takes the engine apart.
    pub fn into_parts(self) -> (S, Arc<D>, Store) {
        (self.service, self.disk, self.store)
    }

    /// Returns whether the mirror is just what the state says, and nothing of it waits: then a cycle because of it
    /// would find nothing to do. Looks at every file, and asks nobody.
    ///
    /// # Errors
    ///
    /// When the mirror or the state cannot be read.
    pub fn is_as_recorded(&mut self) -> anyhow::Result<bool> {
        let now = self.clock.now();
        let found = status::status(&*self.disk, &mut self.store, &self.settings, now)?;
        let rests = self.store.intents()?.is_empty() && self.store.journal()?.is_empty();
        Ok(found.is_quiet() && rests)
    }

    /// Makes the plan and does nothing: neither side and no row is touched.
    pub async fn plan(&mut self, request: &Request) -> anyhow::Result<Plan> {
        let request = Request {
            dry_run: true,
            ..request.clone()
        };
        self.gathered = Gathered::default();
        let (plan, observed) = self.decide(&request).await?;
        match observed.service.stop {
            Some(stop) => Err(anyhow::Error::new(stop)),
            None => Ok(plan),
        }
    }

    /// Runs one cycle and reports it. What stops all of it is in the report, too.
    ///
    /// # Errors
    ///
    /// When the state or the mirror itself cannot be used.
    pub async fn cycle(&mut self, request: &Request) -> anyhow::Result<Report> {
        let mut report = self.look_once(request).await?;
        report.put_below(&self.settings.prefix);
        Ok(report)
    }

    /// Runs one cycle. An article that changed on the service between the look and the write is looked at again, at most
    /// three times: a command does not fail because a colleague saved.
    ///
    /// # Errors
    ///
    /// When the state or the mirror itself cannot be used.
    pub async fn settle(&mut self, request: &Request) -> anyhow::Result<Report> {
        let mut report = self.look_once(request).await?;
        for _look in 0..MAX_LOOKS {
            if report.overtaken.is_empty() {
                break;
            }
            let paths = std::mem::take(&mut report.overtaken);
            let again = Request {
                look: Look::of(&paths),
                scope: paths.iter().cloned().collect(),
                // A person chose between two versions, and one of them is replaced by now.
                resolve: BTreeMap::new(),
                ..request.clone()
            };
            report.replace(&paths, self.look_once(&again).await?);
        }
        report.put_below(&self.settings.prefix);
        Ok(report)
    }

    async fn look_once(&mut self, request: &Request) -> anyhow::Result<Report> {
        let started = Instant::now();
        self.gathered = Gathered::default();
        let before = self.service.usage();
        let mut report = Report::new(request.dry_run);
        report.partial = request.direction != Direction::Both || !request.scope.is_empty();
        let ran = self.run(request, &mut report).await;
        self.service.release().await;
        let stop = match ran {
            Ok(stop) => stop,
            Err(error) => Some(service_stop(error)?),
        };
        if let Some(stop) = &stop {
            let known = report
                .problems
                .iter()
                .any(|problem| problem.message == stop.message);
            if !known {
                report.problems.push(Problem {
                    path: String::new(),
                    id: None,
                    message: stop.message.clone(),
                });
            }
        }
        if stop.is_some() {
            // The next command or cycle looks again.
            report.overtaken.clear();
        }
        report.conclude(stop.as_ref().map(Stop::ending));
        report.stopped = stop;
        let after = self.service.usage();
        report.requests = Requests::between(before, after);
        report.budget = BudgetLeft {
            minute_left: after.minute_left,
            day_left: after.day_left,
        };
        report.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(report)
    }

    /// The way to change the mirror.
    fn journal(&mut self) -> Journal<'_, D> {
        Journal {
            disk: &self.disk,
            store: &mut self.store,
            clock: &*self.clock,
        }
    }

    /// Settles what an earlier run began.
    fn recover(&mut self) -> anyhow::Result<Recovered> {
        let first = !self.cleared_up;
        let recovered = self.journal().recover(first)?;
        if first {
            self.begin_state()?;
        }
        self.cleared_up = true;
        Ok(recovered)
    }

    async fn run(
        &mut self,
        request: &Request,
        report: &mut Report,
    ) -> anyhow::Result<Option<Stop>> {
        let mut request = Cow::Borrowed(request);
        let mut recovered = Recovered::default();
        if !request.dry_run {
            recovered = self.recover()?;
            self.settle_pending(&request).await?;
        }
        if !recovered.open.is_empty() {
            // What the journal has still to settle is nobody's edit and nobody's removal.
            let request = request.to_mut();
            request.look = Look::Whole;
            request.unsettled.paths.extend(recovered.open);
        }
        let request = &*request;
        let (plan, mut observed) = self.decide(request).await?;
        report.problems.clone_from(&plan.problems);
        report.problems.extend(recovered.problems);
        report.doubt = observed.mirror.hides || observed.doubt.is_some();
        if request.dry_run {
            report.plan(&plan);
            return Ok(observed.service.stop);
        }
        let settled = plan.outcomes.values().all(|outcome| match outcome {
            Outcome::Quiet | Outcome::Recorded | Outcome::Planned => true,
            Outcome::Held | Outcome::Unknown | Outcome::Excluded => false,
        });
        let rest = Rest::of(&plan, &observed, request).filter(|_| settled);
        if let Some(stop) = self.other_checkout().await {
            return Ok(Some(stop));
        }
        let applied = self.apply(plan, &mut observed, request, report).await;
        let late = self.journal().look_at_displaced(request.patient);
        if self.git.is_there() {
            report.want_ids_committed();
        }
        let stop = applied?;
        apply::remove_settled_copies(&mut self.journal(), &observed)?;
        report.problems.extend(late?);
        let whole = settled && stop.is_none() && observed.looked.lists();
        let rest = rest.filter(|_| stop.is_none());
        self.finish_cycle(&observed, request, report, whole, rest)?;
        if stop.is_none() {
            self.bind_home(&observed, request)?;
        }
        apply::keep_unmet(&mut self.store, &observed, self.clock.now())?;
        self.note_gone_back(&observed.older, request, report)?;
        // Kept until the next cycle they would hold on to the pages of all that was made beside them.
        self.gathered = Gathered::default();
        Ok(stop.or(observed.service.stop))
    }

    /// Returns the stop of a cycle whose files git replaced, or still replaces, with those of another branch. A command of
    /// git's that only refreshes its index is waited for.
    async fn other_checkout(&self) -> Option<Stop> {
        let until = Instant::now() + GIT_PATIENCE;
        loop {
            match self.git.checkout() {
                Checkout::Same => return None,
                Checkout::Other(why) => return Some(Stop::of_git(&why)),
                Checkout::Changing(why) if Instant::now() >= until => {
                    return Some(Stop::of_git(&why));
                }
                Checkout::Changing(_) => tokio::time::sleep(GIT_LOOK).await,
            }
        }
    }

    /// Observes both sides and makes the plan. A plan for a few articles that concerns others is made anew for all.
    async fn decide(&mut self, request: &Request) -> anyhow::Result<(Plan, Observation)> {
        self.store.reread();
        let mut look = &request.look;
        loop {
            let Some(observed) = Box::pin(self.observe(look, request)).await? else {
                look = &Look::Whole;
                continue;
            };
            let looked = observed.looked;
            let (plan, observed) = self.plan_for(observed, request)?;
            if looked == Looked::All || observe::is_enough(&plan) {
                self.sifted += u64::from(looked == Looked::Differences);
                return Ok((plan, observed));
            }
            // More is to be done than with a few articles: the next look compares everything.
            if looked == Looked::Differences {
                self.store.write(self.clock.now(), |tx| {
                    tx.end_rest()?;
                    Ok(())
                })?;
            }
            look = &Look::Whole;
        }
    }

    /// Makes the plan for what was seen.
    fn plan_for(
        &mut self,
        mut observed: Observation,
        request: &Request,
    ) -> anyhow::Result<(Plan, Observation)> {
        observed.recall_old_copies();
        let bodies = self.bodies(&observed, request)?;
        let policy = self.settings.policy(request);
        let world = World {
            base: &observed.base,
            local: &observed.local,
            paired: &observed.paired,
            remote: &observed.remote,
            bodies: &bodies,
            policy: &policy,
        };
        let mut plan = reconcile::reconcile(world);
        let facts = self.facts(&plan, &observed, request)?;
        // What was there earlier may be there again, or be an old copy: it is read before something takes its place.
        observed
            .service
            .recalled
            .extend(facts.rollbacks.remote.iter().copied());
        reconcile::guard::hold(&mut plan, &facts);
        // What a person released is no mistake, nor the first of one.
        if facts.approved.is_empty() {
            observed.older.clone_from(&facts.rollbacks.local);
        }
        if let Some(doubt) = &observed.doubt {
            reconcile::guard::hold_restores(&mut plan, doubt);
        }
        if !request.dry_run {
            self.forget_refusals(&plan, &facts, &observed, request)?;
            self.forget_restored(&observed)?;
            self.end_taken(&observed)?;
        }
        plan.problems.append(&mut observed.problems);
        reconcile::order::arrange(&mut plan, &observed.base, &observed.remote);
        Ok((plan, observed))
    }
}
