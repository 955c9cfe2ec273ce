//! Runs a trace: step by step, in virtual time, and judges what has to hold after each.
//!
//! One thread, and nothing that is not in the trace: the same trace gives the same run, down to the digest
//! of everything that happened.

use super::author::Author;
use super::kb::workspace;
use super::mirror::Mirror;
use super::oracle;
use super::ports::{Files, Remote, Time};
use super::step::{At, Command, Kept, Probing, Setup, Step, Trace};
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Armed, Shared, Side, Violation, World};
use kbsync::drill::death;
use kbsync::engine::Engine;
use kbsync::engine::report::{Ending, Report, Status};
use kbsync::engine::settings::{Request, Settings};
use kbsync::mirror::RealDisk;
use kbsync::model::{ArticleId, Timestamp};
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::reconcile::plan::HoldRule;
use kbsync::reconcile::snapshot::{Direction, Keep, OnConflict};
use kbsync::service::Purpose;
use kbsync::state::{Binding, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

type Machine = Engine<Remote, Files>;

/// When all simulated worlds begin, in milliseconds since 1970.
const BEGIN: i64 = 1_780_000_000_000;

/// Where the steps come from.
pub(crate) enum Source<'a> {
    /// They are made up as the world goes.
    Author(Box<Author>),
    /// They are given.
    Steps(&'a [Step]),
}

/// Where the files and the state are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground<'a> {
    /// In memory.
    Memory,
    /// In a real folder, with a real database.
    Folder(&'a Path),
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What happened, to be run again.
    pub(crate) trace: Trace,
    /// What did not hold.
    pub(crate) violation: Option<Violation>,
    /// A digest of everything that happened.
    pub(crate) hash: u64,
    /// Cycles that were run.
    pub(crate) cycles: usize,
    /// All files and articles at the end.
    pub(crate) end: Vec<String>,
    /// What happened, in words, if that was asked for.
    pub(crate) log: Vec<String>,
}

/// What is kept between runs, since making it takes longer than a run.
pub(crate) struct Bench {
    runtime: Runtime,
    store: Option<Store>,
    /// Whether runs are to be told in words.
    pub(crate) talk: bool,
}

fn binding() -> Binding {
    Binding {
        service: "https://kb.example.com".to_owned(),
        workspace: workspace(),
    }
}

impl Bench {
    /// A new one.
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        Self {
            runtime,
            store: None,
            talk: false,
        }
    }

    /// Runs a trace on some ground.
    pub(crate) fn run(&mut self, setup: Setup, source: Source<'_>, ground: Ground<'_>) -> Outcome {
        death::set(None);
        let (mirror, now) = match ground {
            Ground::Memory => {
                let now = BEGIN * 1_000_000;
                (Mirror::Memory(Box::new(Tree::new(now))), now)
            }
            Ground::Folder(root) => {
                let wall = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .expect("after 1970");
                let now = i64::try_from(wall.as_nanos()).expect("in range");
                let root = root.to_owned();
                std::fs::create_dir_all(root.join(".kbsync")).expect("made");
                (Mirror::Real { root, now }, now)
            }
        };
        let store = match ground {
            Ground::Memory => match self.store.take() {
                Some(mut store) => {
                    store.clear().expect("cleared");
                    store
                }
                None => Store::in_memory(&binding()).expect("a state"),
            },
            Ground::Folder(root) => open(root, now),
        };
        let mut world = World::new(setup, mirror, now);
        world.log = self.talk.then(Vec::new);
        let mut run = Run {
            shared: Shared::new(world),
            runtime: &self.runtime,
            setup,
            engine: None,
            store: Some(store),
            root: match ground {
                Ground::Memory => None,
                Ground::Folder(root) => Some(root.to_owned()),
            },
            saved: None,
            fatal: None,
            settled: false,
            cycles: 0,
        };
        let steps = run.all(source);
        run.finish();
        let outcome = run.outcome(Trace { setup, steps });
        if ground == Ground::Memory {
            self.store = run.take_store();
        }
        outcome
    }
}

fn open(root: &Path, now: i64) -> Store {
    Store::open(
        &root.join(".kbsync"),
        &binding(),
        Timestamp(now / 1_000_000),
    )
    .expect("a state")
}

/// How the process is going to die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fatal {
    after: u16,
    /// Of what is not durable, what stays; `None`: the machine lives on.
    power: Option<u8>,
}

/// A run under way.
struct Run<'a> {
    shared: Shared,
    runtime: &'a Runtime,
    setup: Setup,
    engine: Option<Machine>,
    store: Option<Store>,
    root: Option<PathBuf>,
    saved: Option<Store>,
    fatal: Option<Fatal>,
    /// Whether the last thing that happened was a cycle that left both sides equal.
    settled: bool,
    cycles: usize,
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

    fn violated(&self) -> bool {
        self.shared.lock().ledger.violation.is_some()
    }

    fn outcome(&self, trace: Trace) -> Outcome {
        let mut world = self.shared.lock();
        let mut end = Vec::new();
        world.mirror.each(&mut |folder, name, bytes, _| {
            end.push(format!(
                "{folder}/{name}: {}",
                String::from_utf8_lossy(bytes)
            ));
        });
        for article in world.kb.articles.values() {
            end.push(format!(
                "{} {} {} {} {:?} {:?} {:?} {:?}",
                article.id,
                article.slug,
                article.enabled,
                article.draft,
                article.title,
                article.text,
                article.introtext,
                article.keywords
            ));
        }
        for category in world.kb.categories.values() {
            end.push(format!("{:?} {:?}", category.id, category.version));
        }
        for line in &end {
            world.note(line);
        }
        Outcome {
            trace,
            violation: world.ledger.violation.clone(),
            hash: world.hash,
            cycles: self.cycles,
            end,
            log: world.log.take().unwrap_or_default(),
        }
    }

    fn take_store(&mut self) -> Option<Store> {
        match self.engine.take() {
            Some(engine) => Some(engine.into_parts().2),
            None => self.store.take(),
        }
    }

    fn settings(&self) -> Settings {
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

    fn engine(&mut self) -> &mut Machine {
        if self.engine.is_none() {
            let settings = self.settings();
            let store = self.store.take().expect("a state when there is no engine");
            let remote = Remote {
                shared: self.shared.clone(),
            };
            let files = Files {
                shared: self.shared.clone(),
                real: self
                    .root
                    .as_ref()
                    .map(|root| RealDisk::open(root).expect("a mirror")),
            };
            let clock = Time {
                shared: self.shared.clone(),
            };
            let engine = Engine::new(remote, files, store, settings);
            self.engine = Some(engine.with_clock(Arc::new(clock)));
        }
        let settings = self.settings();
        let engine = self.engine.as_mut().expect("just made");
        engine.set_settings(settings);
        engine
    }

    /// The process ends.
    fn end(&mut self) {
        if let Some(engine) = self.engine.take() {
            let (_, _, store) = engine.into_parts();
            self.store = Some(match &self.root {
                // A new process opens the database anew.
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
                self.settled = was_settled && seconds < 3600;
            }
            Step::Restart {} => {
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
            Step::SaveState {} => {
                self.end();
                self.saved = self
                    .store
                    .as_ref()
                    .filter(|_| self.root.is_none())
                    .map(|store| store.copy().expect("copied"));
            }
            Step::RestoreState {} => {
                if let Some(saved) = self.saved.take() {
                    self.end();
                    self.store = Some(saved);
                    self.forgot();
                }
            }
            Step::LoseState {} => {
                self.end();
                if let Some(store) = self.store.as_mut() {
                    store.clear().expect("cleared");
                }
                self.forgot();
            }
        }
    }

    /// What only the state knew is lost with it, and that is no concern of the oracles'.
    fn forgot(&mut self) {
        let mut world = self.shared.lock();
        let history = self
            .store
            .as_ref()
            .map_or_else(Tokens::default, |store| oracle::history(&world, store));
        let mut known = world.kb.tokens();
        known.add(&world.mirror.all_tokens());
        known.add(&history);
        let owed = world.ledger.owed.and(&known);
        world.ledger.owed = owed;
        world.ledger.seen = history;
        world.ledger.archived = Tokens::default();
    }

    fn wait(&self, seconds: u64) {
        {
            let mut world = self.shared.lock();
            world.now += i64::try_from(seconds).expect("short") * 1_000_000_000;
            let now = world.now;
            world.mirror.set_time(now);
        }
        let wait = tokio::time::advance(Duration::from_secs(seconds));
        self.runtime.block_on(wait);
    }

    fn command(&mut self, command: Command, was_settled: bool) {
        let Some(request) = self.request(command) else {
            return;
        };
        match command {
            Command::DryThenSync {} => {
                let planned = self.dry(&request);
                let report = self.cycle(&request, was_settled);
                if let (Some(planned), Some(report)) = (planned, report) {
                    self.i14_as_planned(&planned, &report);
                }
            }
            Command::Approve {} => self.approve(&request),
            Command::PreferLocal {} | Command::PreferRemote {} | Command::Resolve { .. } => {
                self.loosen(true);
                self.cycle(&request, false);
                self.loosen(false);
            }
            Command::Sync {}
            | Command::Poll {}
            | Command::Pull {}
            | Command::Push {}
            | Command::One { .. }
            | Command::Folder { .. }
            | Command::AllowDeletes {} => {
                self.cycle(&request, was_settled);
            }
        }
        if self.setup.commands {
            self.end();
        }
    }

    fn request(&mut self, command: Command) -> Option<Request> {
        let both = Request::new(Direction::Both);
        Some(match command {
            Command::Sync {} | Command::Approve {} | Command::DryThenSync {} => both,
            Command::Poll {} => Request {
                purpose: Purpose::Poll,
                ..both
            },
            Command::Pull {} => Request::new(Direction::Pull),
            Command::Push {} => Request::new(Direction::Push),
            Command::One { at } => Request {
                scope: vec![format!("{}/{}", at.folder(), at.file())],
                ..both
            },
            Command::Folder { folder } => Request {
                scope: vec![super::step::folder_name(folder).to_owned()],
                ..both
            },
            Command::PreferLocal {} => Request {
                prefer: Some(OnConflict::Local),
                ..both
            },
            Command::PreferRemote {} => Request {
                prefer: Some(OnConflict::Remote),
                ..both
            },
            Command::AllowDeletes {} => Request {
                allow_deletes: true,
                ..both
            },
            Command::Resolve { at, keep } => return self.resolution(at, keep),
        })
    }

    fn resolution(&mut self, at: At, keep: Kept) -> Option<Request> {
        let file = at.file();
        let conflicts = self.engine().store().conflicts().expect("readable");
        let row = conflicts
            .into_iter()
            .find(|row| row.place.folder == at.folder() && row.place.file == file)?;
        let keep = match keep {
            Kept::Local => Keep::Local,
            Kept::Remote => Keep::Remote,
            Kept::Both => Keep::Both,
        };
        Some(Request {
            resolve: BTreeMap::from([(row.id, keep)]),
            scope: vec![row.place.to_string()],
            ..Request::new(Direction::Both)
        })
    }

    /// A person has the sides settled in bulk: whatever is on one of them only may go.
    fn loosen(&mut self, on: bool) {
        let mut world = self.shared.lock();
        let (mirror, service) = (world.mirror.tokens(), world.kb.tokens());
        world.ledger.loose = on;
        let mut apart = mirror.without(&service);
        apart.add(&service.without(&mirror));
        let mut copies = Tokens::default();
        world.mirror.each(&mut |_, name, bytes, _| {
            if name.ends_with(".conflict.html") {
                copies.read(bytes);
            }
        });
        apart.add(&copies);
        world.ledger.removed.add(&apart);
    }

    fn dry(&mut self, request: &Request) -> Option<Report> {
        let request = Request {
            dry_run: true,
            ..request.clone()
        };
        let armed = {
            let mut world = self.shared.lock();
            world.begin();
            world.ledger.dry = true;
            std::mem::take(&mut world.armed)
        };
        let runtime = self.runtime;
        let report = runtime.block_on(self.engine().cycle(&request));
        let mut world = self.shared.lock();
        world.ledger.dry = false;
        world.armed = armed;
        match report {
            Ok(report) => Some(report),
            Err(error) => {
                world.violated("I12", format!("a dry run failed: {error:#}"));
                None
            }
        }
    }

    /// I14: what a dry run shows is what is then done.
    fn i14_as_planned(&self, planned: &Report, report: &Report) {
        let mut world = self.shared.lock();
        if world.troubled || self.fatal.is_some() {
            return;
        }
        let lines = |report: &Report| -> Vec<String> {
            let mut lines: Vec<String> = report
                .actions
                .iter()
                .map(|line| {
                    let held = line.status == Status::Held;
                    format!("{:?} {:?} {} {held}", line.action, line.side, line.path)
                })
                .collect();
            lines.sort();
            lines
        };
        let (wished, done) = (lines(planned), lines(report));
        if wished != done {
            world.violated("I14", format!("planned {wished:?}, done {done:?}"));
        }
    }

    fn approve(&mut self, request: &Request) {
        let runtime = self.runtime;
        let armed = {
            let mut world = self.shared.lock();
            world.begin();
            world.ledger.dry = true;
            std::mem::take(&mut world.armed)
        };
        let plan = runtime.block_on(self.engine().plan(request));
        let now = {
            let mut world = self.shared.lock();
            world.ledger.dry = false;
            world.armed = armed;
            Timestamp(world.now / 1_000_000)
        };
        let Ok(plan) = plan else {
            return;
        };
        let held = plan.actions.iter().filter(|action| {
            let rule = action.held.as_ref().map(|hold| hold.rule);
            rule.is_some_and(HoldRule::approvable)
        });
        let mut marks = Vec::new();
        for action in held {
            marks.push((action.side, action.fingerprint()));
            self.shared.lock().ledger.released.extend(action.id);
        }
        if marks.is_empty() {
            return;
        }
        let store = self.engine().store_mut();
        store
            .write(now, |state| {
                marks
                    .iter()
                    .try_for_each(|(side, mark)| state.approve(*side, &mark.to_string(), *mark))
            })
            .expect("written");
        let report = self.cycle(request, false);
        if report.is_some_and(|report| report.stopped.is_none()) {
            let store = self.engine().store_mut();
            store
                .write(now, |state| {
                    marks.iter().try_for_each(|(side, mark)| {
                        state
                            .take_approval(*side, &mark.to_string(), *mark)
                            .map(|_was_left| ())
                    })
                })
                .expect("written");
        }
        self.shared.lock().ledger.released.clear();
    }

    /// One cycle, and all that is judged after it. Gives the report, if the process lived to make one.
    fn cycle(&mut self, request: &Request, was_settled: bool) -> Option<Report> {
        self.cycles += 1;
        let runtime = self.runtime;
        let rows = self
            .engine()
            .store()
            .articles()
            .map_or(0, |rows| rows.len());
        let at_first = {
            let mut world = self.shared.lock();
            world.begin();
            world.note(&format!(
                "cycle {:?} {:?}",
                request.direction, request.scope
            ));
            world.ledger.allow_deletes = request.allow_deletes;
            world.ledger.limit = self.limit(rows);
            self.visible(&world)
        };
        let fatal = self.fatal.take();
        death::set(fatal.map(|fatal| u64::from(fatal.after) + 1));
        let report = runtime.block_on(self.engine().cycle(request));
        let died = death::came();
        death::set(None);
        let shared = self.shared.clone();
        let mut world = shared.lock();
        world.armed.clear();
        if died {
            world.note("died");
            if let (Some(keep), Mirror::Memory(tree)) =
                (fatal.and_then(|fatal| fatal.power), &mut world.mirror)
            {
                world_lost_power(tree, keep);
            }
            drop(world);
            self.end();
            self.judge();
            return None;
        }
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                if !world.troubled {
                    world.violated("I12", format!("a cycle failed: {error:#}"));
                }
                return None;
            }
        };
        self.after(&mut world, request, &report, &at_first, was_settled);
        drop(world);
        self.judge();
        Some(report)
    }

    fn after(
        &mut self,
        world: &mut World,
        request: &Request,
        report: &Report,
        at_first: &(Tokens, Tokens),
        was_settled: bool,
    ) {
        if world.log.is_some() {
            for line in &report.actions {
                world.note(&format!(
                    "  {} {:?} {} {:?} {:?}",
                    line.action.word(),
                    line.side,
                    line.path,
                    line.status,
                    line.reason
                ));
            }
            for problem in &report.problems {
                world.note(&format!("  problem {} {}", problem.path, problem.message));
            }
        }
        let whole = !world.troubled
            && report.stopped.is_none()
            && request.scope.is_empty()
            && request.direction == Direction::Both;
        if report.outcome == Ending::Failed && !world.troubled {
            world.violated(
                "I12",
                format!("a cycle failed: {:?} {:?}", report.stopped, report.problems),
            );
        }
        if whole {
            let (mirror, service) = self.visible(world);
            world.ledger.seen.add(&at_first.0.and(&mirror));
            world.ledger.seen.add(&at_first.1.and(&service));
            if was_settled && world.ledger.effects > 0 {
                world.violated(
                    "I4",
                    format!(
                        "both sides were quiet, and {} things were done: {:?}",
                        world.ledger.effects, report.actions
                    ),
                );
            }
            self.settled = report.outcome == Ending::Done;
        }
        world.judge_births();
    }

    /// The words that kbsync can see: in files that are ready, and in listed articles that it has met.
    fn visible(&self, world: &World) -> (Tokens, Tokens) {
        let rows = match (&self.engine, &self.store) {
            (Some(engine), _) => engine.store().articles(),
            (None, Some(store)) => store.articles(),
            (None, None) => Ok(Vec::new()),
        };
        let rows = rows.expect("the state is readable");
        let known: BTreeSet<ArticleId> = rows.into_iter().map(|row| row.id).collect();
        let mut mirror = Tokens::default();
        world.mirror.each(&mut |folder, name, bytes, _| {
            if super::world::is_article(folder, name) && super::world::is_ready(bytes) {
                mirror.read(bytes);
            }
        });
        let mut service = Tokens::default();
        for article in world.kb.articles.values() {
            if article.is_published() && known.contains(&article.id) {
                service.add(&article.tokens);
            }
        }
        if self.setup.by_category {
            service = service.and(&mirror);
        }
        (mirror, service)
    }

    fn limit(&self, rows: usize) -> usize {
        let limits = MaxDeletes {
            count: u32::from(self.setup.max_deletes),
            percent: 25,
        };
        limits.limit(rows)
    }

    /// What is judged after every cycle and every death.
    fn judge(&mut self) {
        let store = match (&self.engine, &self.store) {
            (Some(engine), _) => engine.store(),
            (None, Some(store)) => store,
            (None, None) => return,
        };
        let mut world = self.shared.lock();
        oracle::i1_reachable(&mut world, store);
        oracle::i2_whole(&mut world);
    }

    /// The end of every run: nothing goes wrong any more, both sides are quiet, and within three cycles
    /// nothing is left to do. The next one costs a listing and changes nothing (I3, I12).
    fn finish(&mut self) {
        if self.violated() {
            return;
        }
        self.fatal = None;
        self.shared.lock().armed.clear();
        self.end();
        let request = Request::new(Direction::Both);
        let mut effects = Vec::new();
        for _ in 0..4 {
            self.wait(60);
            let Some(report) = self.cycle(&request, false) else {
                return;
            };
            if self.violated() {
                return;
            }
            let done = self.shared.lock().ledger.effects;
            effects.push(done);
            if done == 0 {
                self.rest(&request, report);
                return;
            }
        }
        let message = format!("no fixed point: changes per cycle {effects:?}");
        self.shared.lock().violated("I3", message);
    }

    /// Nothing was done in the last cycle: nothing is in the next.
    fn rest(&mut self, request: &Request, before: Report) {
        self.wait(60);
        let Some(report) = self.cycle(request, false) else {
            return;
        };
        let store = match (&self.engine, &self.store) {
            (Some(engine), _) => engine.store(),
            (None, Some(store)) => store,
            (None, None) => return,
        };
        let mut world = self.shared.lock();
        if world.ledger.effects > 0 {
            let message = format!("a quiet cycle did something: {:?}", report.actions);
            world.violated("I3", message);
        }
        let listing = if self.setup.by_category { u64::MAX } else { 1 };
        let quiet = before.outcome == Ending::Done && report.outcome == Ending::Done;
        if quiet && report.requests.total > listing {
            let message = format!("a quiet cycle costs {:?}", report.requests);
            world.violated("I3", message);
        }
        oracle::i12_told(&mut world, store, &report);
        if quiet {
            oracle::i9_identity(&mut world, store);
        }
        // What the books believed to be in the history is there.
        world.ledger.archived = Tokens::default();
        oracle::i1_reachable(&mut world, store);
        let live = world.tokens(Side::Mirror);
        world.note(&format!("{:?}", live.all()));
    }
}

fn world_lost_power(tree: &mut Tree, keep: u8) {
    tree.lose_power(keep);
}
