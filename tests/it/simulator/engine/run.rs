//! Runs a trace step by step, in virtual time, with the checks after each step.
//!
//! One thread, and no input besides the trace: the same trace gives the same run, including the digest of everything
//! that happened.

use super::author::Author;
use super::command::asked;
use super::database::{self, Saved, binding, open};
use super::files::Files;
use super::folder::Folder;
use super::held::{self, Held, Left};
use super::isolation::{self, Address, Piece, Struck};
use super::kb::{Article, workspace};
use super::mirror::Mirror;
use super::oracle;
use super::purse::Purse;
use super::remote::Remote;
use super::step::{Call, Probing, Setup, Step, Trace};
use super::time::Time;
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Armed, Shared, Side, Violation, World, has_ending};
use kbsync::drill::death;
use kbsync::engine::Engine;
use kbsync::engine::report::{Line, Report, Status};
use kbsync::engine::settings::{CycleRequest, Settings};
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::Area;
use kbsync::model::{ArticleId, Digest, ExitCode, Timestamp};
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::reconcile::snapshot::Direction;
use kbsync::state::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

type Machine = Engine<Remote, Files>;

/// The beginning of all simulated worlds, in milliseconds since 1970.
const BEGIN: i64 = 1_780_000_000_000;

/// The source of the steps.
pub(crate) enum Source<'a> {
    /// Made up while the run goes on.
    Author(Box<Author>),
    /// Given.
    Steps(&'a [Step]),
}

/// The ground of the files and the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground<'a> {
    /// In memory.
    Memory,
    /// In a real folder, with a real database.
    Folder(&'a Path),
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The steps that were taken, for a replay.
    pub(crate) trace: Trace,
    /// The violation, if there is one.
    pub(crate) violation: Option<Violation>,
    /// A digest of everything that happened.
    pub(crate) hash: u64,
    /// The number of cycles.
    pub(crate) cycles: usize,
    /// The number of cycles that compared only changed articles.
    pub(crate) incremental: u64,
    /// Everything that is held at the end.
    pub(crate) held: Held,
    /// Everything that is left at the end.
    pub(crate) left: Left,
    /// All files and articles after the last step, before the run comes to rest.
    pub(crate) halfway: Vec<Piece>,
    /// The number of calls of each kind in the last cycle before that.
    pub(crate) calls: BTreeMap<Call, u8>,
    /// The last failed call of that cycle.
    pub(crate) struck: Option<Struck>,
    /// Whether that cycle began with a state that had not read the whole mirror.
    pub(crate) first: bool,
    /// Articles whose POST was in flight when a process died.
    pub(crate) died_over: BTreeSet<ArticleId>,
    /// The addresses that the state knows after that cycle.
    pub(crate) known: Vec<(ArticleId, Address)>,
    /// The situation at the first rest, if the run continues for a day.
    pub(crate) rested: Option<Rested>,
    /// All files and articles at the end.
    pub(crate) end: Vec<String>,
    /// The events in words, if asked for.
    pub(crate) log: Vec<String>,
}

/// The situation at rest, except the words of categories, which are read once a day.
#[derive(Clone, Debug)]
pub(crate) struct Rested {
    /// All articles and their files.
    pub(crate) lines: Vec<String>,
    /// The hidden articles, which are read once a day as well.
    pub(crate) hidden: Vec<ArticleId>,
    /// Whether no article is held, in conflict or broken.
    pub(crate) equal: bool,
}

/// Objects that are reused between runs, because making them takes longer than a run.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each asks for runs of another kind"
)]
pub(crate) struct Bench {
    runtime: Runtime,
    pristine: Store,
    /// Whether runs are described in words.
    pub(crate) talk: bool,
    /// Whether every entry of every listing is parsed, even if its bytes are known.
    pub(crate) reads_all: bool,
    /// Whether every article is compared in every cycle, even if both sides are unchanged.
    pub(crate) compares_all: bool,
    /// Whether a run at rest continues for a day and comes to rest again: then everything that is read once a day is
    /// known.
    pub(crate) outlasts: bool,
}

impl Bench {
    /// A new bench.
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        Self {
            runtime,
            pristine: Store::in_memory(&binding()).expect("a state"),
            talk: false,
            reads_all: false,
            compares_all: false,
            outlasts: false,
        }
    }

    /// Runs a trace on some ground.
    pub(crate) fn run(&mut self, setup: Setup, source: Source<'_>, ground: Ground<'_>) -> Outcome {
        death::set(None);
        // Waits are whole seconds, so a world keeps its fraction.
        let fraction = if setup.fine { 300_000_000 } else { 0 };
        let now = BEGIN * 1_000_000 + fraction;
        let mirror = match ground {
            Ground::Memory => Mirror::Memory(Box::new(Tree::new(now))),
            Ground::Folder(root) => {
                std::fs::create_dir_all(root.join(".kbsync")).expect("made");
                Mirror::Real(Folder::new(root.to_owned(), now))
            }
        };
        let store = match ground {
            Ground::Memory => self.pristine.copy().expect("copied"),
            Ground::Folder(root) => open(root, now),
        };
        let mut world = World::new(setup, mirror, now);
        world.log = self.talk.then(Vec::new);
        world.kb.reads_all = self.reads_all;
        let shared = Shared::new(world);
        let purse = Purse::new(&shared);
        let mut run = Run {
            shared: shared.clone(),
            runtime: &self.runtime,
            purse,
            setup,
            engine: None,
            store: Some(store),
            root: match ground {
                Ground::Memory => None,
                Ground::Folder(root) => Some(root.to_owned()),
            },
            saved: None,
            shown: BTreeMap::new(),
            fatal: None,
            settled: false,
            outlasts: self.outlasts,
            compares_all: self.compares_all,
            first: true,
            cycles: 0,
            incremental: 0,
            rested: None,
            equal: false,
            held: Held::default(),
        };
        let steps = run.all(source);
        let (halfway, calls, struck) = {
            let world = shared.lock();
            let pieces = isolation::pieces(&world);
            (pieces, world.calls.clone(), world.struck.clone())
        };
        let (first, known) = (run.first, run.known());
        run.finish();
        Outcome {
            halfway,
            calls,
            struck,
            first,
            known,
            ..run.outcome(Trace { setup, steps })
        }
    }
}

/// The planned death of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fatal {
    pub(super) after: u16,
    /// The percentage of non-durable changes that survive; `None`: the machine does not lose its power.
    pub(super) power: Option<u8>,
}

/// A run in progress.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the run so far"
)]
pub(super) struct Run<'a> {
    pub(super) shared: Shared,
    pub(super) runtime: &'a Runtime,
    /// The budget outlives the process.
    purse: Purse,
    pub(super) setup: Setup,
    pub(super) engine: Option<Machine>,
    pub(super) store: Option<Store>,
    pub(super) root: Option<PathBuf>,
    pub(super) saved: Option<Saved>,
    /// Held actions that a person was shown and approved, by their fingerprints.
    pub(super) shown: BTreeMap<Digest, ArticleId>,
    pub(super) fatal: Option<Fatal>,
    /// Whether the last step was a cycle that left both sides equal.
    pub(super) settled: bool,
    /// Whether the last cycle began with a state that had not read the whole mirror.
    pub(super) first: bool,
    /// Whether the run continues for a day after it came to rest.
    outlasts: bool,
    compares_all: bool,
    pub(super) cycles: usize,
    /// The number of cycles that compared a few articles only.
    pub(super) incremental: u64,
    /// The situation at the first rest.
    rested: Option<Rested>,
    /// Whether the last cycle of the run left both sides equal.
    pub(super) equal: bool,
    /// Everything that the last cycle of the run held.
    held: Held,
}

impl Run<'_> {
    fn all(&mut self, source: Source<'_>) -> Vec<Step> {
        let mut done = Vec::new();
        match source {
            Source::Steps(steps) => {
                for step in steps {
                    self.step(*step);
                    done.push(*step);
                    if self.violated() {
                        break;
                    }
                }
            }
            Source::Author(mut author) => {
                while let Some(step) = {
                    let world = self.shared.lock();
                    author.next(&world)
                } {
                    self.step(step);
                    done.push(step);
                    if self.violated() {
                        break;
                    }
                }
            }
        }
        done
    }

    pub(super) fn violated(&self) -> bool {
        self.shared.lock().ledger.violation.is_some()
    }

    fn outcome(&self, trace: Trace) -> Outcome {
        let mut world = self.shared.lock();
        let mut end = articles(&world, true);
        for category in world.kb.categories.values() {
            end.push(format!("{:?} {:?}", category.id, category.version));
        }
        // Only a run that is compared with another run continues for a day.
        let state = self.state().filter(|_| self.outlasts);
        let history = state.map(|store| oracle::history(&world, store));
        let left = Left::of(&world, history.unwrap_or_default());
        for line in &end {
            world.note(line);
        }
        Outcome {
            trace,
            violation: world.ledger.violation.clone(),
            hash: world.hash,
            cycles: self.cycles,
            incremental: self.incremental,
            held: self.held.clone(),
            left,
            halfway: Vec::new(),
            calls: BTreeMap::new(),
            struck: None,
            first: false,
            died_over: world.ledger.births.died_over.clone(),
            known: Vec::new(),
            rested: self.rested.clone(),
            end,
            log: world.log.take().unwrap_or_default(),
        }
    }

    fn state(&self) -> Option<&Store> {
        let engine = self.engine.as_ref().map(Engine::store);
        engine.or(self.store.as_ref())
    }

    /// Returns the addresses that the state knows.
    fn known(&self) -> Vec<(ArticleId, Address)> {
        let Some(store) = self.state() else {
            return Vec::new();
        };
        let categories = store.categories().expect("readable");
        let categories = categories.into_iter().map(|row| (row.id, row.remote.slug));
        let categories: BTreeMap<_, _> = categories.collect();
        let rows = store.articles().expect("readable").into_iter();
        rows.map(|row| {
            let category = categories.get(&row.remote.category);
            let address = (category.cloned().unwrap_or_default(), row.remote.slug);
            (row.id, address)
        })
        .collect()
    }

    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::new(workspace());
        settings.probe = self.setup.probing != Probing::Off;
        if self.setup.no_window {
            settings.guard_window = Duration::ZERO;
        }
        settings.max_deletes = MaxDeletes {
            count: u32::from(self.setup.max_deletes),
            percent: 25,
        };
        settings.categories = self
            .shared
            .lock()
            .kb
            .categories
            .keys()
            .filter(|_| self.setup.by_category)
            .copied()
            .collect();
        settings
    }

    pub(super) fn engine(&mut self) -> &mut Machine {
        if self.engine.is_none() {
            let settings = self.settings();
            let store = self.store.take().expect("a state when there is no engine");
            let remote = Remote {
                shared: self.shared.clone(),
                purse: self.purse.clone(),
            };
            let files = Files {
                shared: self.shared.clone(),
                real: self
                    .root
                    .as_ref()
                    .map(|root| RealDisk::open(root).expect("a mirror")),
                moved: Mutex::default(),
            };
            let clock = Time {
                shared: self.shared.clone(),
            };
            let engine = Engine::new(remote, files, store, settings);
            self.engine = Some(engine.with_clock(Arc::new(clock)));
        }
        self.engine.as_mut().expect("just made")
    }

    /// Reads the settings before a cycle, because their file may name new categories.
    pub(super) fn renew_settings(&mut self) {
        let settings = self.settings();
        let compares_all = self.compares_all;
        let engine = self.engine();
        if compares_all {
            let written = engine.store_mut().write_at(Timestamp::default(), |tx| {
                tx.end_rest()?;
                Ok(())
            });
            written.expect("written");
        }
        engine.set_settings(settings);
    }

    /// Ends the process.
    pub(super) fn end(&mut self) {
        if let Some(engine) = self.engine.take() {
            let (_, _, store) = engine.into_parts();
            self.store = Some(match &self.root {
                // A new process reopens the database.
                Some(root) => {
                    drop(store);
                    open(root, self.shared.lock().now)
                }
                None => store,
            });
        }
    }

    fn step(&mut self, step: Step) {
        let was_settled = std::mem::take(&mut self.settled);
        match step {
            Step::Mirror { deed } => self.shared.lock().writer(deed),
            Step::Service { deed } => self.shared.lock().colleague(deed),
            Step::Run { command } => self.command(command, was_settled),
            Step::Wait { seconds } => {
                self.wait(u64::from(seconds));
                if seconds >= 24 * 3600 {
                    self.shared.lock().kb.catch_up();
                }
                self.settled = was_settled && seconds < 3600;
            }
            Step::Restart => {
                self.end();
                self.settled = was_settled;
            }
            Step::Fault { call, nth, what } => {
                self.shared.lock().armed.push(Armed { call, nth, what });
            }
            Step::Kill { after } => self.fatal = Some(Fatal { after, power: None }),
            Step::PowerLoss { after, keep } => {
                let power = Some(keep);
                self.fatal = Some(Fatal { after, power });
            }
            Step::SaveState => {
                self.end();
                let now = self.shared.lock().now;
                let kept = self.store.take().map(|store| database::save(store, now));
                (self.store, self.saved) = kept.unzip();
            }
            Step::RestoreState => {
                if let Some(saved) = self.saved.take() {
                    self.end();
                    let now = self.shared.lock().now;
                    let store = self.store.take();
                    self.store = store.map(|store| database::restore(store, saved, now));
                    if let Some(store) = &self.store {
                        let mut world = self.shared.lock();
                        world.forget_conflicts(&oracle::shown(store));
                        let taken = oracle::taken_for_edits(&world, store);
                        world.ledger.taken_for_edits = taken;
                        // An earlier state does not know whose the later files of the stage are.
                        let none = BTreeSet::new();
                        let staged = world.mirror.tokens_in_slots(Area::Stage, &none);
                        let staged = staged.without(&world.mirror.tokens());
                        let staged = staged.without(&world.kb.tokens());
                        let staged = staged.without(&oracle::history(&world, store));
                        let displaced = world.mirror.tokens_in_slots(Area::Displaced, &none);
                        let staged = staged.without(&displaced);
                        world.ledger.owed.remove(&staged);
                    }
                    self.forgot();
                }
            }
            Step::LoseState => {
                self.end();
                let now = self.shared.lock().now;
                self.store = self.store.take().map(|store| database::lose(store, now));
                self.forgot();
            }
        }
    }

    /// Knowledge that only the state had is lost with it, and the oracles do not ask for it any more.
    fn forgot(&mut self) {
        let mut world = self.shared.lock();
        let history = self
            .store
            .as_ref()
            .map_or_else(Tokens::default, |store| oracle::history(&world, store));
        let mut known = world.kb.tokens();
        known.add(&world.mirror.all_tokens());
        let displaced = (world.mirror).tokens_in_slots(Area::Displaced, &BTreeSet::new());
        known.add(&displaced);
        known.add(&history);
        let owed = world.ledger.owed.and(&known);
        world.ledger.owed = owed;
        let sides = [Side::Mirror, Side::Service];
        world.ledger.expected = sides.map(|side| history.without(&world.tokens(side)));
        world.ledger.seen = history;
        world.ledger.forgetful = true;
        let gone = self.store.as_ref().map(|store| oracle::gone(&world, store));
        world.ledger.count_as_deleted(&gone.unwrap_or_default());
        let ghosts = world.kb.ghosts().map(|article| article.id);
        world.ledger.unremembered = ghosts.collect();
        world.kb.forget_writes();
        world.ledger.unremembered_words = world.kb.outdated().collect();
        world.ledger.archived = Tokens::default();
    }

    pub(super) fn wait(&self, seconds: u64) {
        let wait = Duration::from_secs(seconds);
        self.shared.lock().advance(wait);
        self.runtime.block_on(tokio::time::advance(wait));
    }

    /// Ends the run: there are no more faults, both sides are quiet, and within three cycles nothing is left to do. The
    /// next cycle costs a listing and changes nothing (I3, I12).
    fn finish(&mut self) {
        if self.violated() {
            return;
        }
        self.fatal = None;
        self.shared.lock().armed.clear();
        self.end();
        if self.setup.thrifty {
            // The budget is full again.
            self.wait(25 * 3600);
            self.settled = false;
        }
        let rests = self.comes_to_rest();
        if rests && self.outlasts {
            self.rested = Some(self.rest_of_the_day());
            // A day later, the daily reads are made again.
            self.wait(25 * 3600);
            self.settled = false;
            let was_equal = self.equal;
            let rests = self.comes_to_rest();
            self.equal &= was_equal && rests && self.knows_categories();
        }
    }

    /// Returns whether nothing was left to do within three cycles.
    fn comes_to_rest(&mut self) -> bool {
        let request = asked(Direction::Both);
        let mut effects = Vec::new();
        let mut tries = 4;
        while tries > 0 && effects.len() < 16 {
            self.wait(60);
            // Any effect after a cycle that left both sides equal has no cause.
            let was_settled = std::mem::take(&mut self.settled);
            let Some(report) = self.cycle(&request, was_settled) else {
                return false;
            };
            if self.violated() {
                return false;
            }
            let (done, rationed) = {
                let world = self.shared.lock();
                // Some questions come in every cycle. By then all others have had their turn.
                let rationed = world.is_rationed() && effects.len() < 8;
                (world.ledger.effects, rationed)
            };
            effects.push(done);
            // A read that is put off to the next cycle may bring a change.
            let put_off = |line: &Line| {
                let reason = line.reason.as_deref().unwrap_or_default();
                reason.contains("it is asked about later")
            };
            let rationed = rationed || report.actions.iter().any(put_off) || self.met_an_old_copy();
            tries -= u8::from(!rationed);
            if done == 0 && !rationed {
                self.rest(&request, &report);
                return !self.violated();
            }
        }
        let message = format!("no fixed point: changes per cycle {effects:?}");
        self.shared.lock().violated("I3", message);
        false
    }

    fn rest_of_the_day(&self) -> Rested {
        let world = self.shared.lock();
        let all = world.kb.articles.values();
        let hidden = all.filter(|article| !article.is_published());
        Rested {
            lines: articles(&world, false),
            hidden: hidden.map(|article| article.id).collect(),
            equal: self.equal,
        }
    }

    /// Returns whether the last listing had an old copy: the next cycle asks whether it is one.
    pub(super) fn met_an_old_copy(&self) -> bool {
        let met = |store: &Store| {
            let mut attempts = store.backoff().expect("readable").into_values();
            attempts.any(|attempt| attempt.answer.as_deref() == Some("\"old_copy\""))
        };
        // Without probes, a person is told.
        self.setup.probing == Probing::Allowed && self.state().is_some_and(met)
    }

    fn knows_categories(&self) -> bool {
        let knows = |store| oracle::knows_categories(&self.shared.lock(), store);
        self.state().is_some_and(knows)
    }

    /// After a cycle without effects, checks that the next cycle has none either.
    fn rest(&mut self, request: &CycleRequest, before: &Report) {
        self.wait(60);
        let Some(report) = self.cycle(request, false) else {
            return;
        };
        if self.setup.thrifty && report.stopped.is_some() {
            // The cycles before have spent the day's requests.
            return;
        }
        let store = match (&self.engine, &self.store) {
            (Some(engine), _) => engine.store(),
            (None, Some(store)) => store,
            (None, None) => return,
        };
        let mut world = self.shared.lock();
        // A slug that a hidden article has is requested once a day, in vain: nothing remembers its owner. A merge that
        // requests it has written a colleague's words into its file by then.
        let is_refused = |line: &&Line| {
            let reason = line.reason.as_deref().unwrap_or_default();
            line.status == Status::Failed && reason.contains("status 422")
        };
        let refused = report.actions.iter().filter(is_refused);
        let both = |line: &Line| line.side == kbsync::model::Side::Both;
        let refused: usize = refused.map(|line| 1 + usize::from(both(line))).sum();
        if world.ledger.effects > refused {
            let message = format!("a quiet cycle did something: {:?}", report.actions);
            world.violated("I3", message);
        }
        let listing = if self.setup.by_category { u64::MAX } else { 1 };
        let quiet = before.outcome == ExitCode::Done && report.outcome == ExitCode::Done;
        if quiet && report.requests.total > listing {
            let message = format!("a quiet cycle costs {:?}", report.requests);
            world.violated("I3", message);
        }
        held::i12_told(&mut world, store, &report);
        self.equal = quiet;
        self.held = Held::of(&world, &report);
        if quiet {
            oracle::i9_identity(&mut world, store);
        }
        // Words that the ledger believed to be in the history must be there.
        world.ledger.archived = Tokens::default();
        oracle::i1_reachable(&mut world, store, false);
        let live = world.tokens(Side::Mirror);
        world.note(&format!("{:?}", live.all()));
    }
}

/// Returns all articles and their files. Either with the categories' files, or with the category's id in place of the
/// folder's name, because a category's name is read once a day.
fn articles(world: &World, categories: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let id = |folder: &str| {
        let file = world.mirror.bytes(folder, "_category.yaml")?;
        let text = String::from_utf8_lossy(&file).into_owned();
        let line = text.lines().find(|line| line.starts_with("id: "));
        line.map(str::to_owned)
    };
    world.mirror.each(&mut |folder, name, bytes, _| {
        let text = String::from_utf8_lossy(bytes);
        if categories {
            lines.push(format!("{folder}/{name}: {text}"));
        } else if has_ending(name, ".html") {
            let folder = id(folder).unwrap_or_else(|| folder.to_owned());
            lines.push(format!("{folder}/{name}: {text}"));
        }
    });
    lines.extend(world.kb.articles.values().map(Article::line));
    lines
}
