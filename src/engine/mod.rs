//! The engine of one workspace: both sides, the remembered state, and the commands of a caller.
//!
//! `cycle` is the recipe of one cycle. The engine owns only the order of effects: [`crate::reconcile`] decides, and
//! [`crate::mirror`], [`crate::service`] and [`crate::state`] carry out. One cycle runs at a time; the caller holds the
//! mirror's lock.

mod apply;
mod backoff;
mod by_git;
pub mod compare;
mod cycle;
mod ending;
mod facts;
mod first_sync;
mod form;
pub mod history;
mod journal;
mod listing;
mod mirror_view;
mod observation;
mod observe;
pub mod open;
pub mod open_actions;
mod pending;
mod ports;
pub mod reasons;
pub mod report;
pub mod restore;
pub mod settings;
pub mod status;

pub use ending::{Stop, StopCause, outcome_of};
pub use mirror_view::PathCheck;
pub use ports::{
    Checkout, Clock, Contents, GIT_PATIENCE, GitView, NoGit, Pause, Progress, Since, SystemClock,
    Teller,
};

use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Figures, Place};
use crate::reconcile::snapshot::Direction;
use crate::service::Service;
use crate::state::home::Home;
use crate::state::store::{Store, TimeOfDay};
use backoff::Answers;
use journal::Journal;
use listing::Memory;
use open::Neighbours;
use report::Report;
use settings::{CycleRequest, Look, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of times that a cycle looks again at articles that changed between the look and the write.
const MAX_LOOKS_AGAIN: u32 = 3;

/// Both sides of one workspace, and the remembered state.
pub struct Engine<S, D> {
    service: S,
    disk: Arc<D>,
    store: Store,
    settings: Settings,
    clock: Arc<dyn Clock>,
    teller: Teller,
    git: Arc<dyn GitView>,
    folders: Folders,
    /// The request of the present cycle, as far as the cycle has widened it. An observation keeps its own.
    request: Arc<CycleRequest>,
    /// The values of the present cycle.
    gathered: Gathered,
    /// Whether the leftovers of an earlier run are cleared up.
    cleared_up: bool,
    /// Folders within categories that were already reported as not synced.
    told_inner: BTreeSet<Place>,
}

/// The folders beside the one that is synced.
struct Folders {
    /// Those of the mirror's other workspaces.
    neighbours: Neighbours,
    /// The folder that the state belongs to.
    home: Option<Home>,
}

/// The values that one cycle gathers, and that end with it.
#[derive(Default)]
struct Gathered {
    /// Views and ratings from the service's responses.
    figures: BTreeMap<ArticleId, Figures>,
    /// The service's answers to questions.
    answers: Answers,
    /// The reason that a look at a pending request failed: nothing is deleted in this cycle.
    failed_look: Option<String>,
    /// The memory of the last listing, once it was read.
    memory: Option<Memory>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Makes an engine. The caller holds the mirror's lock for as long as it lives.
    pub fn new(service: S, disk: D, store: Store, settings: Settings) -> Self {
        Self {
            service,
            disk: Arc::new(disk),
            store,
            settings,
            clock: Arc::new(SystemClock),
            teller: Arc::new(|_| {}),
            git: Arc::new(NoGit),
            folders: Folders {
                neighbours: open::among(Vec::new()),
                home: None,
            },
            request: Arc::new(CycleRequest::new(Direction::Both)),
            gathered: Gathered::default(),
            cleared_up: false,
            told_inner: BTreeSet::new(),
        }
    }

    /// Uses another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        let time = Arc::clone(&clock);
        self.store.set_time(TimeOfDay::of(move || time.now()));
        self.clock = clock;
        self
    }

    /// Reports progress to a receiver.
    #[must_use]
    pub fn with_teller(mut self, teller: Teller) -> Self {
        self.teller = teller;
        self
    }

    /// Looks into the folders of other workspaces before an article is deleted because its file is missing. Compares
    /// the state with its own folder: a state from another folder deletes nothing.
    #[must_use]
    pub fn with_folders(mut self, neighbours: Neighbours, home: Option<Home>) -> Self {
        self.folders = Folders { neighbours, home };
        self
    }

    /// Asks this view of git about the files from the next cycle, where the answer matters.
    pub fn set_git(&mut self, git: Arc<dyn GitView>) {
        self.git = git;
    }

    /// The state, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The state, for decisions of a person between two cycles.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Uses other settings from the next cycle.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Uses another client of the same service from the next cycle.
    pub fn set_service(&mut self, service: S) {
        self.service = service;
    }

    /// The service, for its usage counts.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Takes the engine apart.
    pub fn into_parts(self) -> (S, Arc<D>, Store) {
        (self.service, self.disk, self.store)
    }

    /// Returns a check of many paths.
    pub fn path_check(&self) -> PathCheck<'_, D> {
        PathCheck::new(&*self.disk, &self.store)
    }

    /// Returns whether the mirror is exactly what the state says and nothing waits: a cycle would find nothing to do
    /// here. Scans every file, without requests.
    ///
    /// # Errors
    ///
    /// When the mirror or the state cannot be read.
    pub fn is_as_recorded(&mut self) -> anyhow::Result<bool> {
        let found = status::status(&*self.disk, &mut self.store, &self.settings)?;
        let rests = self.store.pending_requests()?.is_empty() && self.store.journal()?.is_empty();
        Ok(found.is_quiet() && rests)
    }

    /// Runs one cycle and returns its report. A stop of the whole cycle is in the report, too.
    ///
    /// # Errors
    ///
    /// When the state or the mirror itself cannot be used.
    pub async fn cycle(&mut self, request: &CycleRequest) -> anyhow::Result<Report> {
        let mut report = cycle::run_and_report(self, request).await?;
        report.put_below(&self.settings.prefix);
        Ok(report)
    }

    /// Runs one cycle. Looks again, at most three times, at articles that changed on the service between the look and
    /// the write ([`Report::look_again`]): a command does not fail because a colleague saved.
    ///
    /// # Errors
    ///
    /// When the state or the mirror itself cannot be used.
    pub async fn cycle_until_settled(&mut self, request: &CycleRequest) -> anyhow::Result<Report> {
        let mut report = cycle::run_and_report(self, request).await?;
        for _look in 0..MAX_LOOKS_AGAIN {
            if report.look_again.is_empty() {
                break;
            }
            let paths = std::mem::take(&mut report.look_again);
            let again = CycleRequest {
                look: Look::Files,
                scope: paths.iter().cloned().collect(),
                // The person's choice was between two versions, one of which has been replaced.
                resolve: BTreeMap::new(),
                ..request.clone()
            };
            report.replace(&paths, cycle::run_and_report(self, &again).await?);
        }
        report.put_below(&self.settings.prefix);
        Ok(report)
    }

    /// The way to change the mirror.
    fn journal(&mut self) -> Journal<'_, D> {
        Journal {
            disk: &self.disk,
            store: &mut self.store,
        }
    }
}
