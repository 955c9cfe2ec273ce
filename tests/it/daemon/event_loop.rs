//! The daemon's event loop in virtual time, with fake cycles.

use crate::support::canary::{Ears, hear_by};
use crate::support::clocks::TokioClock;
use chrono::{DateTime, Utc};
use kbsync::{
    config::{Options, Poll, PublishedBranch, parse_poll},
    daemon::{
        Event,
        control::{ProgressSink, QueuedCommand, Refusal, Response},
        debounce::{DuePaths, Touch},
        event_loop::{Ended, EventLoop, GRACE},
        git::{self, Head, Known, Remembered},
        job::{CycleCommand, CycleOutcome, CycleRunner, Job, OpenItems, Scope, Trigger},
        loop_state::LoopState,
        outage::{Outage, OutageBackoff},
        schedule::Moment,
        watch::{Mode, Rescan, RescanCause},
        work_queue::WorkQueue,
    },
    engine::{
        Progress, Stop, StopCause,
        report::{BudgetLeft, Line, Report, Status},
        restore::RestoreRequest,
    },
    model::{ExitCode, Side},
    reconcile::{plan::Kind, snapshot::Direction},
    service::{
        ErrorKind, Purpose,
        budget::{Budget, BudgetLimits, Refusal as NoBudget},
    },
    web::{health::illness, shared_status::SharedStatus},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    path::PathBuf,
    slice,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::mpsc::{Sender, channel},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

/// The behaviour of the fake cycles, and a record of them.
#[derive(Default)]
struct Script {
    /// The start of each cycle, its trigger and its paths.
    jobs: Vec<(Duration, Trigger, Vec<String>)>,
    full: Vec<Job>,
    /// The end of the outage, and its kind.
    down_until: Option<(Instant, Outage)>,
    /// The outage that each cycle over paths meets.
    paths_down: Option<Outage>,
    /// Whether each full cycle fails in one of the workspaces.
    full_cycles_fail: bool,
    /// Why each full cycle leaves an action to the next one.
    leaves: Option<String>,
    /// The duration of a cycle.
    takes: Duration,
    /// The times of our requests.
    sent: Vec<(Duration, Purpose)>,
    /// The times of the requests that the service counted, ours and others'.
    counted: VecDeque<Instant>,
    refused: usize,
    /// The end of the time in which the service refuses everything (429).
    stormy_until: Option<Instant>,
    /// The files that a full cycle misses.
    missing: Vec<String>,
    /// Held deletions, as the engines count them.
    held_deletions: usize,
    told_to_wait: Vec<(Duration, Duration)>,
    reload: Option<Result<Options, String>>,
    heads: BTreeMap<String, Head>,
    branches: BTreeMap<String, String>,
    /// The folder that is removed right before the next look at the repositories.
    removed_next: Option<PathBuf>,
    /// Whether a scan finds the files as recorded in the state.
    as_recorded: bool,
    /// Whether the scans are incomplete.
    doubt: bool,
    /// Paths whose files are as recorded in the state.
    known: BTreeSet<String>,
    /// The numbers of paths that were compared with the state at a time.
    compared: Vec<usize>,
}

#[derive(Clone)]
struct Fake {
    start: Instant,
    script: Arc<Mutex<Script>>,
    budget: Option<Budget>,
    progress: ProgressSink,
    stop: CancellationToken,
    /// Whether a cycle ends when requests are cancelled.
    obeys: bool,
    trees: Trees,
}

/// The folders of the workspaces, each with its path prefix.
type Trees = Vec<(String, PathBuf)>;

fn look(job: &Job) -> Vec<String> {
    match &job.scope {
        Scope::Everything => vec!["whole".to_owned()],
        Scope::Paths(due) => {
            let of = |wanted| due.iter().filter(move |(_, touch)| **touch == wanted);
            let gone = of(Touch::Removed).map(|(path, _)| format!("-{path}"));
            let changed = of(Touch::Changed).map(|(path, _)| path.clone());
            changed.chain(gone).collect()
        }
        Scope::Command(_) => vec!["wish".to_owned()],
    }
}

fn update(path: String, status: Status, reason: Option<String>) -> Line {
    Line {
        action: Kind::Update,
        side: Side::Remote,
        path,
        id: None,
        fields: Vec::new(),
        status,
        reason,
        rule: None,
        fingerprint: None,
    }
}

impl Fake {
    /// Pays for a request as the client does: waits while the minute's budget is spent, fails when the day's budget is.
    async fn pay(&self, purpose: Purpose) -> Result<(), Outage> {
        let Some(budget) = &self.budget else {
            return Ok(());
        };
        loop {
            match budget.acquire(purpose).await {
                Ok(_counted) => break,
                Err(NoBudget::Minute { free_in } | NoBudget::Blocked { free_in }) => {
                    sleep(free_in.max(Duration::from_millis(1))).await;
                }
                Err(NoBudget::Day { free_in }) => {
                    return Err(Outage::BudgetSpent { free_in });
                }
                Err(error @ NoBudget::Broken { .. }) => panic!("{error:?}"),
            }
        }
        let now = Instant::now();
        let (left, wait) = {
            let mut script = self.script.lock().expect("script");
            script.sent.push((now - self.start, purpose));
            while script
                .counted
                .front()
                .is_some_and(|at| now - *at >= Duration::from_mins(1))
            {
                script.counted.pop_front();
            }
            let stormy = script.stormy_until.filter(|until| now < *until);
            let full = script.counted.len() >= 60;
            if stormy.is_some() || full {
                script.refused += 1;
                let wait = stormy.map_or(Duration::from_secs(20), |until| until - now);
                script.told_to_wait.push((now - self.start, wait));
                (0, Some(wait))
            } else {
                script.counted.push_back(now);
                let left = 60 - u32::try_from(script.counted.len()).expect("few");
                (left, None)
            }
        };
        let Some(wait) = wait else {
            budget
                .observe(Some(60), Some(left))
                .await
                .expect("in memory");
            return Ok(());
        };
        budget.block(wait).await.expect("in memory");
        Err(Outage::Throttled { wait: Some(wait) })
    }

    async fn requests(&self, job: &Job) -> Result<(), Outage> {
        match &job.scope {
            Scope::Everything | Scope::Command(_) => self.pay(job.purpose()).await,
            Scope::Paths(due) => {
                for _ in 0..=due.len() {
                    self.pay(Purpose::Push).await?;
                }
                Ok(())
            }
        }
    }
}

impl CycleRunner for Fake {
    async fn run(&mut self, job: &Job) -> CycleOutcome {
        let (takes, down) = {
            let mut script = self.script.lock().expect("script");
            let began = self.start.elapsed();
            script.jobs.push((began, job.trigger, look(job)));
            script.full.push(job.clone());
            let down = script
                .down_until
                .filter(|(until, _)| Instant::now() < *until);
            let of_paths = script.paths_down;
            let of_paths = of_paths.filter(|_| matches!(job.scope, Scope::Paths(_)));
            (script.takes, down.map(|(_, outage)| outage).or(of_paths))
        };
        self.progress.send(Progress::Phase {
            name: "pushing".to_owned(),
            total: Some(1),
            requests: 1,
        });
        if self.obeys {
            tokio::select! {
                () = sleep(takes) => {}
                () = self.stop.cancelled() => {}
            }
        } else {
            sleep(takes).await;
        }
        let outage = match down {
            Some(wall) => Some(wall),
            None => self.requests(job).await.err(),
        };
        let mut report = Report::new(false);
        if let Some(outage) = outage {
            report.outcome = ExitCode::Retry;
            let kind = match outage {
                Outage::BudgetSpent { free_in } => ErrorKind::BudgetSpent { free_in },
                Outage::Throttled { wait } => ErrorKind::RateLimited { retry_after: wait },
                Outage::Unreachable | Outage::MirrorUnusable => {
                    ErrorKind::Unavailable { retry_after: None }
                }
                Outage::UnusableAnswer => ErrorKind::Unreadable,
                Outage::TokenRejected => ErrorKind::Unauthorized,
                Outage::Stopping => ErrorKind::Closed,
            };
            report.stopped = Some(Stop::new(StopCause::Service(kind), outage.to_string()));
        } else if let Scope::Paths(due) = &job.scope {
            let done = due
                .keys()
                .map(|path| update(path.clone(), Status::Done, None));
            report.actions = done.collect();
        } else if let Some(why) = self.script.lock().expect("script").leaves.clone() {
            report.actions = vec![update("a/left.html".to_owned(), Status::Skipped, Some(why))];
        }
        if job.scope == Scope::Everything {
            let missing = self.script.lock().expect("script").missing.clone();
            report.missing = missing.into_iter().collect();
        }
        report.requests.get = 1;
        report.coverage.has_doubt = self.script.lock().expect("script").doubt;
        let polls = job.purpose() == Purpose::Poll;
        let fails =
            job.scope == Scope::Everything && self.script.lock().expect("script").full_cycles_fail;
        CycleOutcome {
            report,
            // The same as with the engines: neither a poll without budget nor an unusable answer is an outage.
            outage: outage
                .filter(|outage| !(polls && outage.is_of_budget()))
                .filter(|outage| *outage != Outage::UnusableAnswer),
            failures: fails.then(Refusal::default).into_iter().collect(),
            open_items: OpenItems {
                held_deletions: self.script.lock().expect("script").held_deletions,
                ..OpenItems::default()
            },
        }
    }

    fn refusal(&self, _command: &CycleCommand) -> Option<Refusal> {
        None
    }

    fn drop_unchanged(&mut self, mut due: DuePaths) -> DuePaths {
        let mut script = self.script.lock().expect("script");
        script.compared.push(due.len());
        due.retain(|path, touch| *touch == Touch::Removed || !script.known.contains(path));
        due
    }

    fn budget_left(&self) -> BudgetLeft {
        match &self.budget {
            Some(budget) => budget.left(),
            None => BudgetLeft {
                minute_left: 60,
                day_left: 1440,
            },
        }
    }

    fn remember(&mut self, prefix: &str, what: &Remembered) {
        let mut script = self.script.lock().expect("script");
        if let Some(head) = what.head.clone() {
            script.heads.insert(prefix.to_owned(), head);
        }
        if let Some(branch) = what.branch.clone() {
            script.branches.insert(prefix.to_owned(), branch);
        }
    }

    fn repositories(&self, setting: &PublishedBranch) -> Vec<Known> {
        let mut script = self.script.lock().expect("script");
        let trees = self.trees.iter();
        if let Some(folder) = script.removed_next.take() {
            std::fs::remove_dir_all(folder).expect("removed");
        }
        let folders = trees.map(|(prefix, folder)| (prefix.as_str(), folder.as_path()));
        git::look(folders, setting, |prefix| Remembered {
            head: script.heads.get(prefix).cloned(),
            branch: script.branches.get(prefix).cloned(),
        })
    }

    fn is_as_recorded(&mut self) -> bool {
        self.script.lock().expect("script").as_recorded
    }

    fn lost_mirror(&self) -> Option<String> {
        let mut trees = self.trees.iter();
        let (_, lost) = trees.find(|(_, folder)| !folder.exists())?;
        Some(format!("{} is lost", lost.display()))
    }

    fn reload(&mut self) -> Result<Options, String> {
        let mut script = self.script.lock().expect("script");
        script.reload.take().expect("asked once")
    }
}

fn settings() -> Options {
    Options {
        git_branch: PublishedBranch::Any,
        ..Options::standard()
    }
}

/// A loop under test, with its script and its clock.
struct Bench {
    to: Sender<Event>,
    script: Arc<Mutex<Script>>,
    status: Arc<SharedStatus>,
    start: Instant,
    rescan: Rescan,
    ahead: Arc<AtomicI64>,
}

/// An hour in seconds.
const HOUR: i64 = 3_600;

impl Bench {
    /// Changes the time of day by so many seconds.
    fn jump(&self, seconds: i64) {
        self.ahead.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Clears all jobs except the polls.
    fn clear_watch(&self) {
        let mut script = self.script.lock().expect("script");
        script
            .jobs
            .retain(|(_, trigger, _)| *trigger == Trigger::Poll);
    }

    async fn touch(&self, path: &str) {
        self.event(Event::Touched {
            path: path.to_owned(),
            touch: Touch::Changed,
        })
        .await;
    }

    async fn remove(&self, path: &str) {
        self.event(Event::Touched {
            path: path.to_owned(),
            touch: Touch::Removed,
        })
        .await;
    }

    async fn event(&self, event: Event) {
        self.to.send(event).await.expect("the loop runs");
    }

    /// Makes the file at a path equal to the state.
    fn knows(&self, path: &str) {
        let mut script = self.script.lock().expect("script");
        script.known.insert(path.to_owned());
    }

    fn jobs(&self) -> Vec<(Trigger, Vec<String>)> {
        let script = self.script.lock().expect("script");
        script
            .jobs
            .iter()
            .map(|(_, trigger, paths)| (*trigger, paths.clone()))
            .collect()
    }

    fn clear(&self) {
        let mut script = self.script.lock().expect("script");
        script.jobs.clear();
        script.full.clear();
    }

    fn full(&self) -> Vec<Job> {
        self.script.lock().expect("script").full.clone()
    }
}

struct Stage {
    settings: Options,
    budget: Option<Budget>,
    tick: Duration,
    obeys: bool,
    trees: Trees,
    watching: bool,
}

impl Stage {
    fn new() -> Self {
        Self {
            settings: settings(),
            budget: None,
            tick: Duration::from_secs(1),
            obeys: true,
            trees: Trees::default(),
            watching: true,
        }
    }

    /// Plays a scene with a loop, and stops the loop afterwards.
    async fn play<F: Future>(self, scene: impl FnOnce(Arc<Bench>) -> F) -> (Ended, F::Output) {
        let (to, events) = channel(64);
        let (script, stop, progress) = (
            Arc::default(),
            CancellationToken::new(),
            ProgressSink::default(),
        );
        let start = Instant::now();
        let epoch: DateTime<Utc> = "2026-11-20T00:00:00Z".parse().expect("a time");
        let fake = Fake {
            start,
            script: Arc::clone(&script),
            budget: self.budget,
            progress: progress.clone(),
            stop: stop.clone(),
            obeys: self.obeys,
            trees: self.trees,
        };
        let now = Moment {
            wall: epoch,
            steady: start,
        };
        let status = Arc::new(SharedStatus::new(epoch));
        let rescan = Rescan::new(self.settings.rescan);
        let ahead = Arc::<AtomicI64>::default();
        let leaps = Arc::clone(&ahead);
        let state = LoopState::new(
            WorkQueue::new(self.settings, now, OutageBackoff::new(0)),
            Arc::clone(&status),
            progress,
            rescan.clone(),
            Box::new(move || {
                let ahead = chrono::Duration::seconds(leaps.load(Ordering::Relaxed));
                epoch + start.elapsed() + ahead
            }),
            stop,
        );
        let turn = EventLoop::new(fake, state);
        let bench = Arc::new(Bench {
            to: to.clone(),
            script,
            status,
            start,
            rescan,
            ahead,
        });
        let tick = {
            let to = to.clone();
            tokio::spawn(async move {
                loop {
                    sleep(self.tick).await;
                    if to.send(Event::Tick).await.is_err() {
                        return;
                    }
                }
            })
        };
        if self.watching {
            to.send(Event::Watching(Mode::Events)).await.expect("room");
        }
        let scene = scene(bench);
        let play = async {
            let output = scene.await;
            // The loop may have ended already.
            to.send(Event::Stop).await.ok();
            output
        };
        let (ended, output) = tokio::join!(turn.run(events), play);
        tick.abort();
        (ended, output)
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn it_looks_at_everything_once_the_watch_is_set_up() {
    let stage = Stage {
        watching: false,
        ..Stage::new()
    };
    let (ended, ()) = stage
        .play(|bench| async move {
            seconds(3).await;
            assert_eq!(bench.jobs(), []);
            bench.touch("a/early.html").await;
            seconds(1).await;
            bench.event(Event::Watching(Mode::Events)).await;
            seconds(3).await;
            // The first cycle also saw the early file.
            assert_eq!(bench.jobs()[0], (Trigger::Startup, strings(&["whole"])));
            assert_eq!(bench.jobs().len(), 1, "{:?}", bench.jobs());
            assert!(bench.status.snapshot().ready);
        })
        .await;
    assert_eq!(ended, Ended::Stopped);
}

#[tokio::test(start_paused = true)]
async fn what_comes_in_while_a_cycle_runs_is_one_cycle_afterwards() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.script.lock().expect("script").takes = Duration::from_secs(30);
            bench.clear();
            bench.touch("a/first.html").await;
            seconds(1).await;
            for _ in 0..50 {
                for name in ["x", "y", "z"] {
                    bench.touch(&format!("a/{name}.html")).await;
                }
                sleep(Duration::from_millis(100)).await;
            }
            bench.event(Event::SyncNow).await;
            bench.event(Event::SyncNow).await;
            seconds(120).await;
            assert_eq!(
                bench.jobs(),
                [
                    (Trigger::Watch, strings(&["a/first.html"])),
                    (
                        Trigger::Watch,
                        strings(&["a/x.html", "a/y.html", "a/z.html"])
                    ),
                    (Trigger::Manual, strings(&["whole"])),
                ],
                "pushes go first, triggers fold"
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f109_a_storm_of_saves_puts_off_no_poll_and_no_rescan_for_ever() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            // There is always something to push: each cycle lasts longer than the pause before the next save.
            bench.script.lock().expect("script").takes = Duration::from_secs(3);
            bench.event(Event::Rescan(RescanCause::Overflow)).await;
            for save in 0..1000 {
                bench.touch(&format!("a/{save:04}.html")).await;
                seconds(1).await;
            }
            let jobs = bench.script.lock().expect("script").jobs.clone();
            let when = |trigger| {
                let of = jobs.iter().filter(move |(_, why, _)| *why == trigger);
                of.map(|(at, _, _)| at.as_secs()).collect::<Vec<_>>()
            };
            let rescans = when(Trigger::Rescan);
            assert!(matches!(rescans[..], [60..=70]), "{rescans:?}");
            let polls = when(Trigger::Poll);
            // A poll is due five minutes after the rescan; pushes go before a poll for one more minute.
            assert_eq!(polls.len(), 2, "{polls:?}");
            assert!((420..440).contains(&polls[0]), "{polls:?}");
            assert!(when(Trigger::Watch).len() > 200, "and pushes go on");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f025_a_save_whose_cycle_met_an_answer_that_cannot_be_used_does_not_wait_for_the_next_poll()
{
    rarely_polled()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            let until = Instant::now() + Duration::from_mins(30);
            bench.script.lock().expect("script").down_until = Some((until, Outage::UnusableAnswer));
            bench.touch("a/b.html").await;
            seconds(10).await;
            let save = (Trigger::Watch, strings(&["a/b.html"]));
            assert_eq!(bench.jobs(), slice::from_ref(&save));
            seconds(30 * 60).await;
            let tries = bench.jobs();
            // The back-off grows: 15 s, 30 s, a minute and so on.
            assert!((6..=8).contains(&tries.len()), "{tries:?}");
            assert!(tries.iter().all(|job| *job == save), "{tries:?}");
            // Another file is not delayed.
            bench.clear();
            bench.touch("a/c.html").await;
            seconds(5).await;
            assert_eq!(bench.jobs()[0].1, ["a/c.html"], "{:?}", bench.jobs());
            seconds(20 * 60).await;
            assert!(bench.jobs().contains(&save), "{:?}", bench.jobs());
            let done = bench.jobs().len();
            seconds(3600).await;
            assert_eq!(bench.jobs().len(), done, "and that is all");
        })
        .await;
}

/// A file with the log of this thread.
fn logged() -> (tempfile::NamedTempFile, Ears) {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let writer = Mutex::new(log.reopen().expect("the same file"));
    let subscriber = tracing_subscriber::fmt().with_writer(writer);
    (log, hear_by(subscriber.with_ansi(false).finish()))
}

/// A stage whose polls come twice a day.
fn rarely_polled() -> Stage {
    Stage {
        settings: Options {
            poll: Poll::Every(Duration::from_hours(12)),
            ..settings()
        },
        ..Stage::new()
    }
}

#[tokio::test(start_paused = true)]
async fn f025_a_start_whose_cycle_failed_does_not_wait_for_the_next_poll() {
    let (log, _ears) = logged();
    rarely_polled()
        .play(|bench| {
            let until = bench.start + Duration::from_secs(20);
            {
                let mut script = bench.script.lock().expect("script");
                script.down_until = Some((until, Outage::UnusableAnswer));
                script.as_recorded = true;
            }
            async move {
                let startup = (Trigger::Startup, strings(&["whole"]));
                seconds(5).await;
                assert_eq!(bench.jobs(), slice::from_ref(&startup));
                assert!(!bench.status.snapshot().ready);
                // The back-off: 15 s, then 30 s.
                seconds(60).await;
                let again = [Trigger::Poll; 2].map(|by| (by, strings(&["whole"])));
                assert_eq!(bench.jobs()[1..], again);
                assert!(bench.status.snapshot().ready);
                seconds(3600).await;
                assert_eq!(bench.jobs().len(), 3, "and that is all");
            }
        })
        .await;
    let log = std::fs::read_to_string(log.path()).expect("text");
    assert_eq!(log.matches("both sides are equal").count(), 1, "{log}");
}

#[tokio::test(start_paused = true)]
async fn f025_due_polls_do_not_hasten_the_retries_of_a_save_that_fails_alone() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            let until = Instant::now() + Duration::from_hours(2);
            bench.script.lock().expect("script").down_until = Some((until, Outage::UnusableAnswer));
            bench.touch("a/b.html").await;
            seconds(3_590).await;
            let jobs = bench.jobs();
            let polls = jobs.iter().filter(|job| job.1 == ["whole"]).count();
            // The save is tried after 15 s, 30 s and so on, a poll every five minutes.
            assert!((11..=12).contains(&polls), "{jobs:?}");
            assert!((8..=10).contains(&(jobs.len() - polls)), "{jobs:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f073_a_removal_that_waits_in_an_outage_is_forgotten_when_the_file_comes_back() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            let until = Instant::now() + Duration::from_mins(10);
            bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
            bench.event(Event::SyncNow).await;
            bench.remove("a/back.html").await;
            bench.remove("a/gone.html").await;
            seconds(120).await;
            let removals = (Trigger::Watch, strings(&["-a/back.html", "-a/gone.html"]));
            assert!(bench.jobs().contains(&removals), "{:?}", bench.jobs());
            bench.touch("a/back.html").await;
            seconds(30 * 60).await;
            let jobs = bench.jobs();
            let last = jobs.iter().rfind(|job| job.0 == Trigger::Watch);
            let paths = &last.expect("a push").1;
            assert_eq!(paths, &["a/back.html", "-a/gone.html"], "{jobs:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f073_a_second_removal_in_an_outage_has_a_grace_time_of_its_own() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            let until = Instant::now() + Duration::from_secs(121);
            bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
            bench.event(Event::SyncNow).await;
            bench.remove("a/back.html").await;
            bench.remove("a/gone.html").await;
            seconds(120).await;
            bench.touch("a/back.html").await;
            bench.remove("a/back.html").await;
            let before = bench.jobs().len();
            seconds(50).await;
            bench.event(Event::SyncNow).await;
            seconds(5).await;
            let jobs = bench.jobs().split_off(before);
            let has = |path: &str| jobs.iter().any(|job| job.1.iter().any(|one| one == path));
            assert!(has("-a/gone.html"), "{jobs:?}");
            assert!(!has("-a/back.html"), "{jobs:?}");
            seconds(60).await;
            let jobs = bench.jobs();
            let last = &jobs.last().expect("a job").1;
            assert!(last.iter().any(|path| path == "-a/back.html"), "{jobs:?}");
        })
        .await;
}

/// A path whose first touch waits for another cycle when the path is removed (again).
struct Again {
    name: &'static str,
    first: Touch,
    /// What the cycles meet, and until when.
    outage: Outage,
    down: u64,
    /// The duration of a cycle.
    takes: u64,
    /// The time of the removal. The next cycle begins before its grace time is over.
    removed: u64,
}

#[tokio::test(start_paused = true)]
async fn f073_a_second_removal_has_a_grace_time_of_its_own_wherever_the_first_touch_waits() {
    for case in [
        Again {
            name: "deferred: the tries are after 60 s, 75 s and 105 s",
            first: Touch::Removed,
            outage: Outage::UnusableAnswer,
            down: 95,
            takes: 0,
            removed: 85,
        },
        Again {
            name: "running: a cycle of 30 s, and the next one 15 s later",
            first: Touch::Removed,
            outage: Outage::Unreachable,
            down: 95,
            takes: 30,
            removed: 70,
        },
        Again {
            name: "due: the save is tried again after 15 s",
            first: Touch::Changed,
            outage: Outage::Unreachable,
            down: 10,
            takes: 0,
            removed: 5,
        },
    ] {
        rarely_polled()
            .play(|bench| async move {
                seconds(1).await;
                bench.clear();
                let path = "a/back.html";
                let until = Instant::now() + Duration::from_secs(case.down);
                {
                    let mut script = bench.script.lock().expect("script");
                    script.down_until = Some((until, case.outage));
                    script.takes = Duration::from_secs(case.takes);
                }
                match case.first {
                    Touch::Changed => bench.touch(path).await,
                    Touch::Removed => bench.remove(path).await,
                }
                seconds(case.removed).await;
                assert!(!bench.jobs().is_empty(), "{}", case.name);
                bench.touch(path).await;
                bench.remove(path).await;
                let grace_end = bench.start.elapsed() + Duration::from_mins(1);
                let tries = bench.jobs().len();
                seconds(600).await;
                let jobs = bench.script.lock().expect("script").jobs.clone();
                let is_about = |paths: &[String]| paths.iter().any(|one| one.contains(path));
                let later = jobs[tries..].iter().find(|(.., paths)| is_about(paths));
                let (at, _, paths) = later.expect("a cycle over the removal");
                assert!(*at >= grace_end, "{}: {jobs:?}", case.name);
                assert_eq!(*paths, strings(&["-a/back.html"]), "{}", case.name);
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn f073_a_file_that_came_back_between_two_looks_has_a_new_grace_time() {
    // Its return is seen by an event, or by a scan after lost events.
    for seen in [true, false] {
        Stage::new()
            .play(|bench| async move {
                seconds(2).await;
                let gone =
                    || bench.script.lock().expect("script").missing = strings(&["a/gone.html"]);
                gone();
                bench.event(Event::SyncNow).await;
                seconds(70).await;
                {
                    let mut script = bench.script.lock().expect("script");
                    script.missing.clear();
                    script.as_recorded = !seen;
                }
                if seen {
                    bench.touch("a/gone.html").await;
                } else {
                    bench.event(Event::Rescan(RescanCause::Overflow)).await;
                }
                seconds(30).await;
                bench.script.lock().expect("script").as_recorded = false;
                gone();
                bench.clear();
                bench.event(Event::SyncNow).await;
                seconds(70).await;
                assert_eq!(bench.full()[0].removed, BTreeSet::new(), "{seen}");
                let removal = (Trigger::Watch, strings(&["-a/gone.html"]));
                assert_eq!(bench.jobs()[1..], [removal], "{seen}");
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_every_cycle_leaves_to_the_next_one_is_one_line_in_the_log() {
    let (log, _ears) = logged();
    Stage::new()
        .play(|bench| {
            let why = "the disk is full".to_owned();
            bench.script.lock().expect("script").leaves = Some(why);
            async move {
                seconds(3_600).await;
                assert!(bench.jobs().len() > 10);
            }
        })
        .await;
    let log = std::fs::read_to_string(log.path()).expect("text");
    assert_eq!(log.matches("the disk is full").count(), 1, "{log}");
}

#[tokio::test(start_paused = true)]
async fn f118_each_command_behind_a_long_cycle_gets_its_report() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.script.lock().expect("script").takes = Duration::from_secs(30);
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            let mut outcomes = Vec::new();
            for _ in 0..5 {
                let command = CycleCommand::new(Direction::Push);
                let (queued, _steps, outcome) = QueuedCommand::new(command);
                bench.event(Event::Command(queued)).await;
                outcomes.push(outcome);
            }
            for outcome in outcomes {
                assert!(matches!(outcome.await, Ok(Response::Report(..))));
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f025_saves_do_not_hasten_the_retries_of_a_failed_start() {
    rarely_polled()
        .play(|bench| {
            // As with one unusable workspace of two: each full cycle fails, each save is sent.
            bench.script.lock().expect("script").full_cycles_fail = true;
            async move {
                for number in 0..60 {
                    bench.touch(&format!("a/{number}.html")).await;
                    seconds(10).await;
                }
                let whole = strings(&["whole"]);
                let jobs = bench.jobs();
                let tries = jobs.iter().filter(|job| job.1 == whole).count();
                // The back-off grows: 15 s, 30 s, a minute and so on.
                assert!((5..=7).contains(&tries), "{jobs:?}");
                assert_eq!(jobs.len() - tries, 60, "{jobs:?}");
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f082_a_minute_of_autosave_is_five_pushes() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            for _ in 0..60 {
                bench.touch("a/b.html").await;
                seconds(1).await;
            }
            seconds(20).await;
            let pushes = bench.jobs();
            assert_eq!(pushes.len(), 5, "{pushes:?}");
            assert!(pushes.iter().all(|job| job.1 == ["a/b.html"]));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f075_any_number_of_overflows_is_one_rescan() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            bench.script.lock().expect("script").takes = Duration::from_secs(2);
            bench.event(Event::Rescan(RescanCause::Overflow)).await;
            sleep(Duration::from_millis(100)).await;
            for _ in 0..100 {
                bench.event(Event::Rescan(RescanCause::Overflow)).await;
            }
            seconds(20).await;
            let rescan = (Trigger::Rescan, strings(&["whole"]));
            assert_eq!(
                bench.jobs(),
                [rescan.clone(), rescan],
                "one ran, one folded"
            );
            let now = Instant::now();
            let text =
                bench
                    .status
                    .metrics
                    .text(&bench.status.snapshot(), BudgetLeft::default(), now);
            let text = text.expect("text");
            assert!(text.contains("kbsync_rescans_total{cause=\"overflow\"} 101"));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f025_a_saved_file_that_always_meets_an_outage_puts_off_no_poll() {
    Stage::new()
        .play(|bench| async move {
            seconds(2).await;
            bench.clear();
            bench.script.lock().expect("script").paths_down = Some(Outage::Unreachable);
            bench.touch("a/b.html").await;
            seconds(3_600).await;
            let jobs = bench.jobs();
            let polls = jobs.iter().filter(|(trigger, _)| *trigger == Trigger::Poll);
            assert!(polls.count() > 1, "{jobs:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f075_a_rescan_does_not_end_with_a_poll_that_fails() {
    rarely_polled()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            let until = Instant::now() + Duration::from_secs(20);
            {
                let mut script = bench.script.lock().expect("script");
                script.down_until = Some((until, Outage::UnusableAnswer));
                script.as_recorded = true;
            }
            bench.event(Event::Rescan(RescanCause::Rules)).await;
            seconds(3_600).await;
            let whole = |trigger| (trigger, strings(&["whole"]));
            // The back-off: 15 s, then 30 s.
            let retried = [Trigger::Poll; 3].map(whole);
            assert_eq!(bench.jobs(), retried, "and that is all");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_rescan_waits_for_files_in_motion_but_not_for_ever() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            bench.remove("a/gone.html").await;
            bench.event(Event::Rescan(RescanCause::Error)).await;
            seconds(30).await;
            assert_eq!(bench.jobs(), [], "a removal waits for its grace");
            seconds(40).await;
            assert_eq!(bench.jobs(), [(Trigger::Rescan, strings(&["whole"]))]);
            assert!(bench.full()[0].removed.contains("a/gone.html"));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f073_what_is_in_motion_is_named_to_a_poll() {
    Stage::new()
        .play(|bench| async move {
            seconds(290).await;
            bench.clear();
            bench.remove("a/gone.html").await;
            seconds(15).await;
            let polls = bench.full();
            assert_eq!(polls.len(), 1);
            assert_eq!(polls[0].trigger, Trigger::Poll);
            let in_motion: Vec<_> = polls[0].in_motion.iter().cloned().collect();
            assert_eq!(in_motion, ["a/gone.html"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f079_a_look_at_everything_leaves_out_no_file_that_was_only_touched() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            bench.knows("a/echo.html");
            bench.touch("a/echo.html").await;
            // The second half of an exchange of names: the path that was removed has a file again.
            bench.remove("a/replaced.html").await;
            bench.knows("a/replaced.html");
            bench.touch("a/saved.html").await;
            bench.event(Event::SyncNow).await;
            sleep(Duration::from_millis(100)).await;
            let looks = bench.full();
            assert_eq!(looks.len(), 1, "{looks:?}");
            assert_eq!(looks[0].trigger, Trigger::Manual);
            let in_motion: Vec<_> = looks[0].in_motion.iter().collect();
            assert_eq!(in_motion, ["a/saved.html"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_poll_left_out_and_is_unchanged_after_all_is_caught_up_with() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            bench.touch("a/saved.html").await;
            bench.remove("a/moved.html").await;
            bench.event(Event::SyncNow).await;
            sleep(Duration::from_millis(100)).await;
            assert_eq!(bench.full()[0].in_motion.len(), 2);
            // One file was saved unchanged, and the replaced file comes back later.
            bench.knows("a/saved.html");
            seconds(5).await;
            let whole = |trigger| (trigger, strings(&["whole"]));
            assert_eq!(bench.jobs(), [whole(Trigger::Manual), whole(Trigger::Poll)]);
            bench.touch("a/moved.html").await;
            bench.knows("a/moved.html");
            seconds(5).await;
            let look = &bench.full()[2];
            assert_eq!(
                (look.trigger, &look.scope),
                (Trigger::Poll, &Scope::Everything)
            );
            assert!(look.in_motion.is_empty(), "{look:?}");
            // The next job is a poll.
            seconds(60).await;
            assert_eq!(bench.jobs().len(), 3);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f025_edits_made_without_a_network_are_pushed_when_it_is_back() {
    Stage {
        tick: Duration::from_mins(1),
        ..Stage::new()
    }
    .play(|bench| async move {
        seconds(1).await;
        bench.clear();
        let until = bench.start + Duration::from_hours(48);
        bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
        for hour in 0..40 {
            bench.touch(&format!("a/{hour:02}.html")).await;
            bench.touch(&format!("a/.{hour:02}.html.swp")).await;
            bench.touch("a/4913").await;
            seconds(3_600).await;
        }
        let tries = bench.jobs().len();
        assert!(tries < 40 * 5, "{tries} tries in 40 hours");
        assert!(bench.status.snapshot().queue.outage.is_some());
        assert_eq!(
            bench.status.snapshot().queue.pending,
            40,
            "editors' files do not count"
        );
        bench.clear();
        tokio::time::sleep_until(until + Duration::from_mins(16)).await;
        let jobs = bench.jobs();
        let last = jobs.iter().rfind(|job| job.0 == Trigger::Watch);
        let pushed = last.expect("a push").1.iter();
        let pushed = pushed.filter(|path| !path.contains("/.") && !path.ends_with("4913"));
        assert_eq!(pushed.count(), 40, "all of it, in order");
        assert_eq!(jobs.last().expect("a poll").1, ["whole"], "then the poll");
        assert_eq!(bench.status.snapshot().queue.outage, None);
        assert_eq!(bench.status.snapshot().queue.pending, 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f009_a_stop_lets_the_cycle_end() {
    let (ended, began) = Stage::new()
        .play(|bench| async move {
            bench.script.lock().expect("script").takes = Duration::from_hours(1);
            bench.clear();
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            assert_eq!(bench.jobs().len(), 1);
            Instant::now()
        })
        .await;
    assert_eq!(ended, Ended::Stopped);
    assert!(began.elapsed() < Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn f009_a_request_that_hangs_is_left_within_the_grace() {
    let stage = Stage {
        obeys: false,
        ..Stage::new()
    };
    let (ended, began) = stage
        .play(|bench| async move {
            bench.script.lock().expect("script").takes = Duration::from_hours(1);
            bench.clear();
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            Instant::now()
        })
        .await;
    assert_eq!(ended, Ended::GaveUp);
    assert_eq!(began.elapsed(), GRACE);
    assert!(GRACE < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_was_abandoned_is_not_called_unbegun() {
    let stage = Stage {
        obeys: false,
        ..Stage::new()
    };
    let (ended, [begun, queued]) = stage
        .play(|bench| async move {
            bench.script.lock().expect("script").takes = Duration::from_hours(1);
            let command = || QueuedCommand::new(CycleCommand::new(Direction::Push));
            let (first, _steps, begun) = command();
            let (second, _steps, queued) = command();
            bench.event(Event::Command(first)).await;
            bench.event(Event::Command(second)).await;
            seconds(1).await;
            [begun, queued]
        })
        .await;
    assert_eq!(ended, Ended::GaveUp);
    let Ok(Response::Failed(refusal)) = begun.await else {
        panic!("not refused");
    };
    let said = refusal.to_string();
    assert!(said.contains("while it ran this command"), "{said}");
    // The socket says that the daemon stopped before.
    assert!(queued.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_second_stop_waits_for_nothing() {
    let stage = Stage {
        obeys: false,
        ..Stage::new()
    };
    let (ended, began) = stage
        .play(|bench| async move {
            bench.script.lock().expect("script").takes = Duration::from_hours(1);
            bench.clear();
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            bench.event(Event::Stop).await;
            Instant::now()
        })
        .await;
    assert_eq!(ended, Ended::AtOnce);
    assert!(began.elapsed() < Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_a_command_meets_is_tried_again_without_another_command() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            let until = Instant::now() + Duration::from_secs(10);
            bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
            bench.clear();
            let (wished, _steps, outcome) = QueuedCommand::new(CycleCommand::new(Direction::Both));
            bench.event(Event::Command(wished)).await;
            assert!(matches!(outcome.await, Ok(Response::Report(..))));
            seconds(20).await;
            let jobs = bench.jobs().into_iter().map(|(trigger, _)| trigger);
            assert_eq!(jobs.collect::<Vec<_>>(), [Trigger::Manual, Trigger::Poll]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_as_long_as_it_was_with_the_cycle_that_met_it_first() {
    let (log, _ears) = logged();
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            let until = Instant::now() + Duration::from_secs(10);
            {
                let mut script = bench.script.lock().expect("script");
                script.down_until = Some((until, Outage::Unreachable));
                script.takes = Duration::from_secs(20);
            }
            // A cycle of 20 s that fails, a pause of 15 s, and a cycle that succeeds.
            bench.event(Event::SyncNow).await;
            seconds(60).await;
        })
        .await;
    let log = std::fs::read_to_string(log.path()).expect("text");
    assert!(log.contains("syncing works again, after 55s"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn f118_a_command_gets_progress_and_its_report_even_when_polls_fail() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            let until = Instant::now() + Duration::from_hours(10);
            bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
            bench.event(Event::SyncNow).await;
            seconds(2).await;
            bench.clear();
            let (wished, mut steps, outcome) =
                QueuedCommand::new(CycleCommand::new(Direction::Both));
            bench.event(Event::Command(wished)).await;
            let mut heard = Vec::new();
            while let Some(step) = steps.recv().await {
                heard.push(step);
            }
            assert!(matches!(&heard[..], [Progress::Phase { name, .. }] if name == "pushing"));
            let Response::Report(report, stopped, _) = outcome.await.expect("an answer") else {
                panic!("no report");
            };
            assert_eq!(report.outcome, ExitCode::Retry);
            let cause = stopped.map(|stop| stop.cause);
            assert_eq!(
                cause,
                Some(StopCause::Service(ErrorKind::Unavailable {
                    retry_after: None
                }))
            );
            assert_eq!(bench.jobs(), [(Trigger::Manual, strings(&["wish"]))]);
            // The command of a client that has disconnected is carried out all the same.
            let (wished, steps, outcome) = QueuedCommand::new(CycleCommand::new(Direction::Push));
            drop((steps, outcome));
            bench.event(Event::Command(wished)).await;
            seconds(1).await;
            assert_eq!(bench.jobs().len(), 2);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn many_saved_files_are_compared_with_the_state_together() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            let paths = ["a/1.html", "a/2.html", "a/3.html"];
            for path in paths {
                bench.touch(path).await;
            }
            seconds(1).await;
            bench.clear();
            bench.script.lock().expect("script").compared.clear();
            for path in paths {
                bench.touch(path).await;
            }
            // They wait for their push interval, and are announced.
            seconds(5).await;
            assert_eq!(bench.jobs(), []);
            let compared = bench.script.lock().expect("script").compared.clone();
            // Once to count the unsent files, and once for the announcement.
            let together: Vec<_> = compared.into_iter().filter(|paths| *paths > 0).collect();
            assert_eq!(together, [3, 3]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f105_a_night_of_sleep_is_one_poll_of_the_loop() {
    Stage {
        tick: Duration::from_secs(5),
        ..Stage::new()
    }
    .play(|bench| async move {
        seconds(1).await;
        bench.clear();
        // The monotonic clock stood still during the sleep.
        bench.jump(9 * HOUR);
        seconds(10).await;
        assert_eq!(bench.jobs(), [(Trigger::Poll, strings(&["whole"]))]);
        seconds(200).await;
        assert_eq!(bench.jobs().len(), 1, "{:?}", bench.jobs());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f104_f106_a_clock_that_is_set_back_and_forth_neither_stops_the_loop_nor_makes_a_burst() {
    let stage = Stage {
        tick: Duration::from_secs(5),
        ..Stage::new()
    };
    stage
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            let mut dice = Dice(20_261_122);
            let mut forward = 0;
            for round in 0..24 {
                let far = i64::try_from(dice.below(30 * 24 * 3_600)).expect("small");
                let back = round % 2 == 0;
                bench.jump(if back { -far } else { far });
                forward += usize::from(!back);
                // A save and a removal use the monotonic clock, whatever the time of day.
                bench.clear_watch();
                bench.touch(&format!("a/{round}.html")).await;
                bench.remove("a/gone.html").await;
                seconds(2).await;
                let save = (Trigger::Watch, vec![format!("a/{round}.html")]);
                assert!(bench.jobs().contains(&save), "{round}: {:?}", bench.jobs());
                seconds(50).await;
                let gone = |bench: &Bench| {
                    let of = |(_, paths): &(Trigger, Vec<String>)| {
                        paths.contains(&"-a/gone.html".to_owned())
                    };
                    bench.jobs().iter().filter(|job| of(job)).count()
                };
                assert_eq!(gone(&bench), 0, "{round}: its grace is not over");
                seconds(30).await;
                assert_eq!(gone(&bench), 1, "{round}: {:?}", bench.jobs());
                seconds(3_600 - 82).await;
                assert_eq!(illness(&bench.status.snapshot(), Instant::now()), None);
            }
            let jobs = bench.jobs();
            let polls = jobs.iter().filter(|job| job.0 == Trigger::Poll).count();
            // Twelve polls an hour, and one more for each leap forward.
            let steady = 24 * 12;
            assert!(
                (steady - 24..=steady + forward + 1).contains(&polls),
                "{polls} polls, {forward} leaps"
            );
        })
        .await;
}

/// A stage where no tick comes, as after a clock was set back.
fn without_ticks(poll: u64) -> Stage {
    Stage {
        settings: Options {
            poll: Poll::Every(Duration::from_secs(poll)),
            ..settings()
        },
        tick: Duration::from_hours(24 * 365),
        ..Stage::new()
    }
}

#[tokio::test(start_paused = true)]
async fn f104_without_ticks_the_loop_is_alive_and_follows_the_clock() {
    without_ticks(12 * 3600)
        .play(|bench| async move {
            let is_well = || assert_eq!(illness(&bench.status.snapshot(), Instant::now()), None);
            seconds(600).await;
            is_well();
            bench.clear();
            bench.jump(13 * HOUR);
            seconds(6).await;
            assert_eq!(bench.jobs(), [(Trigger::Poll, strings(&["whole"]))]);
            // A cycle of days that makes progress.
            bench.script.lock().expect("script").takes = Duration::from_hours(48);
            bench.event(Event::SyncNow).await;
            seconds(40 * 3600).await;
            let now = Instant::now();
            bench.status.update(|status| status.progress = now);
            is_well();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f104_a_retry_is_on_time_although_a_poll_is_overdue() {
    // The pauses of a long outage are longer than this interval.
    without_ticks(302)
        .play(|bench| async move {
            let until = bench.start + Duration::from_hours(2);
            seconds(1).await;
            bench.clear();
            bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
            seconds(1_400).await;
            let script = bench.script.lock().expect("script");
            let tries: Vec<u64> = script.jobs.iter().map(|(at, ..)| at.as_secs()).collect();
            assert_eq!(tries, [302, 317, 347, 407, 527, 767, 1_247]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f012_health_goes_by_the_polls_of_a_cron_line() {
    let stage = Stage {
        // The clock starts on a Friday.
        settings: Options {
            poll: parse_poll("*/10 8-18 * * 1-5").expect("a cron line"),
            ..settings()
        },
        tick: Duration::from_secs(20),
        ..Stage::new()
    };
    stage
        .play(|bench| async move {
            let at = |hours: u64, minutes: u64| {
                let time = Duration::from_hours(hours) + Duration::from_mins(minutes);
                tokio::time::sleep_until(bench.start + time)
            };
            let is_ill = || illness(&bench.status.snapshot(), Instant::now()).is_some();
            let down = |from: Instant, long| {
                let mut script = bench.script.lock().expect("script");
                script.down_until = Some((from + long, Outage::Unreachable));
            };
            at(17, 5).await;
            down(
                Instant::now(),
                Duration::from_hours(1) + Duration::from_mins(42),
            );
            at(17, 25).await;
            assert!(!is_ill(), "two polls failed");
            at(18, 45).await;
            assert!(is_ill(), "the gap to Monday is no excuse");
            // No poll is due on the weekend.
            for hours in [20, 48, 79] {
                at(hours, 20).await;
                assert!(!is_ill(), "{hours}");
            }
            down(Instant::now(), Duration::from_hours(9));
            at(80, 15).await;
            assert!(!is_ill(), "two polls of Monday failed");
            at(80, 25).await;
            assert!(is_ill());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn settings_that_cannot_be_used_change_nothing() {
    Stage::new()
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            bench.script.lock().expect("script").reload = Some(Err("line 3: no".to_owned()));
            bench.event(Event::Reload).await;
            seconds(1).await;
            seconds(310).await;
            assert_eq!(bench.jobs().len(), 1, "still every five minutes");
            let mut fresh = settings();
            fresh.poll = Poll::Every(Duration::from_secs(20));
            fresh.rescan = Duration::from_secs(7);
            assert_eq!(bench.rescan.every(), Duration::from_mins(1));
            bench.script.lock().expect("script").reload = Some(Ok(fresh));
            bench.event(Event::Reload).await;
            seconds(1).await;
            assert_eq!(bench.rescan.every(), Duration::from_secs(7));
            bench.clear();
            seconds(300).await;
            // The budget does not allow a poll every 20 seconds; every 75 seconds is possible.
            assert_eq!(bench.jobs().len(), 4, "{:?}", bench.jobs());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f086_nothing_is_done_while_git_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let git = folder.path().join(".git");
    std::fs::create_dir(&git).expect("made");
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    let stage = Stage {
        trees: trees(&[folder.path()]),
        ..Stage::new()
    };
    stage
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            std::fs::write(git.join("index.lock"), "").expect("written");
            bench.touch("a/b.html").await;
            bench.event(Event::SyncNow).await;
            seconds(400).await;
            assert_eq!(
                bench.jobs(),
                [],
                "paused: {:?}",
                bench.status.snapshot().queue.paused
            );
            assert!(bench.status.snapshot().queue.paused.is_some());
            // A command that writes is refused; a dry run is carried out.
            let (wished, _steps, outcome) = QueuedCommand::new(CycleCommand::new(Direction::Both));
            bench.event(Event::Command(wished)).await;
            let Response::Failed(Refusal { code, message, .. }) = outcome.await.expect("an answer")
            else {
                panic!("not refused");
            };
            assert_eq!(
                (code, message.as_str()),
                (5, "paused: git is changing files")
            );
            let (wished, _steps, outcome) = QueuedCommand::new(CycleCommand {
                dry_run: true,
                ..CycleCommand::new(Direction::Both)
            });
            bench.event(Event::Command(wished)).await;
            assert!(matches!(outcome.await, Ok(Response::Report(..))));
            bench.clear();
            bench.touch("a/c.html").await;
            seconds(1).await;
            std::fs::remove_file(git.join("index.lock")).expect("removed");
            seconds(2).await;
            assert_eq!(
                bench.jobs(),
                [
                    (Trigger::Watch, strings(&["a/b.html", "a/c.html"])),
                    (Trigger::Manual, strings(&["whole"])),
                ],
                "the whole change is one plan"
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_mirror_that_is_moved_away_during_a_look_at_git_is_lost_and_not_paused() {
    let (folder, stage) = on_branch("main", PublishedBranch::Named("main".to_owned()));
    let (ended, paused) = stage
        .play(|bench| async move {
            seconds(2).await;
            bench.script.lock().expect("script").removed_next = Some(folder.path().to_owned());
            seconds(10).await;
            bench.status.snapshot().queue.paused
        })
        .await;
    assert_eq!((ended, paused), (Ended::Lost, None));
}

#[tokio::test(start_paused = true)]
async fn a_command_waits_for_a_short_git_command() {
    let (folder, stage) = work_tree();
    stage
        .play(|bench| async move {
            seconds(2).await;
            bench.clear();
            std::fs::write(folder.path().join(".git/index.lock"), "").expect("written");
            let (queued, _steps, outcome) = QueuedCommand::new(CycleCommand::new(Direction::Both));
            bench.event(Event::Command(queued)).await;
            // The engine waits for git in its cycle.
            assert!(matches!(outcome.await, Ok(Response::Report(..))));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f086_a_restore_is_refused_while_git_changes_files() {
    let (folder, stage) = work_tree();
    stage
        .play(|bench| async move {
            seconds(2).await;
            std::fs::write(folder.path().join(".git/index.lock"), "").expect("written");
            let id = "00000000-0000-4000-8000-000000000001"
                .parse()
                .expect("an id");
            let (queued, _steps, outcome) = QueuedCommand::new(CycleCommand {
                restore: vec![RestoreRequest::missing(id)],
                ..CycleCommand::new(Direction::Both)
            });
            bench.event(Event::Command(queued)).await;
            // Versions are restored before the cycle, and so before the engine waits for git.
            let answer = outcome.await.expect("an answer");
            assert!(
                matches!(answer, Response::Failed(Refusal { code: 5, .. })),
                "{answer:?}"
            );
        })
        .await;
}

/// A workspace in each folder.
fn trees(folders: &[&std::path::Path]) -> Trees {
    let prefixed = folders.iter().enumerate();
    prefixed
        .map(|(at, folder)| (format!("{at}/"), (*folder).to_owned()))
        .collect()
}

/// A work tree with a detached HEAD.
fn work_tree() -> (tempfile::TempDir, Stage) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".git")).expect("made");
    check_out(folder.path(), "one");
    let stage = Stage {
        trees: trees(&[folder.path()]),
        ..Stage::new()
    };
    (folder, stage)
}

/// Plays a scene in a work tree whose HEAD moved after the first cycle.
async fn after_a_checkout<F: Future<Output = ()>>(scene: impl FnOnce(Arc<Bench>) -> F) {
    let (folder, stage) = work_tree();
    stage
        .play(|bench| async move {
            seconds(2).await;
            bench.clear();
            check_out(folder.path(), "two");
            scene(bench).await;
        })
        .await;
}

/// A work tree on a branch, of which some branch is published.
fn on_branch(branch: &str, published: PublishedBranch) -> (tempfile::TempDir, Stage) {
    let (folder, mut stage) = work_tree();
    check_out(folder.path(), &format!("ref: refs/heads/{branch}"));
    stage.settings.git_branch = published;
    (folder, stage)
}

/// Returns whether the job's removals may be git's: HEAD moved since both sides last agreed.
fn is_head_moved(job: &Job) -> bool {
    let mut repositories = job.git.iter();
    repositories.any(|known| known.agreed != known.state.head)
}

fn check_out(folder: &std::path::Path, commit: &str) {
    std::fs::write(folder.join(".git/HEAD"), format!("{commit}\n")).expect("written");
}

#[tokio::test(start_paused = true)]
async fn f086_a_repository_that_is_made_around_any_workspace_later_counts() {
    let folders = [
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    ];
    let stage = Stage {
        trees: trees(&[folders[0].path(), folders[1].path()]),
        ..Stage::new()
    };
    stage
        .play(|bench| async move {
            seconds(1).await;
            bench.clear();
            let git = folders[1].path().join(".git");
            std::fs::create_dir(&git).expect("made");
            for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("index.lock", "")] {
                std::fs::write(git.join(name), text).expect("written");
            }
            bench.touch("1/a/b.html").await;
            seconds(10).await;
            assert_eq!(bench.jobs(), []);
            let paused = bench.status.snapshot().queue.paused;
            assert_eq!(paused.as_deref(), Some("paused: git is changing files"));
            std::fs::remove_file(git.join("index.lock")).expect("removed");
            seconds(2).await;
            assert_eq!(bench.jobs(), [(Trigger::Watch, strings(&["1/a/b.html"]))]);
            // The new repository's HEAD is stored, and a checkout there holds the removals.
            bench.event(Event::SyncNow).await;
            seconds(2).await;
            std::fs::write(git.join("HEAD"), "1234\n").expect("written");
            bench.clear();
            bench.event(Event::SyncNow).await;
            seconds(2).await;
            assert!(is_head_moved(&bench.full()[0]));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f084_removals_without_an_event_are_held_as_gits_all_the_same() {
    after_a_checkout(|bench| async move {
        // The removal is among the lost events.
        bench.event(Event::Rescan(RescanCause::Overflow)).await;
        bench.touch("a/changed.html").await;
        seconds(5).await;
        let jobs = bench.full();
        assert_eq!(
            bench.jobs(),
            [
                (Trigger::Watch, strings(&["a/changed.html"])),
                (Trigger::Rescan, strings(&["whole"])),
            ]
        );
        assert!(jobs.iter().all(is_head_moved), "{jobs:?}");
        bench.clear();
        bench.touch("a/changed.html").await;
        seconds(20).await;
        assert!(!is_head_moved(&bench.full()[0]), "both sides agree now");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f075_lost_events_that_hid_nothing_cost_no_request() {
    Stage::new()
        .play(|bench| async move {
            seconds(2).await;
            // As after a first sync, whose own writes overflow the queue of events.
            bench.clear();
            bench.script.lock().expect("script").as_recorded = true;
            bench.event(Event::Rescan(RescanCause::Overflow)).await;
            seconds(5).await;
            assert_eq!(bench.jobs(), []);
            // A scan of the files does not find files under new ignore rules.
            bench.event(Event::Rescan(RescanCause::Overflow)).await;
            bench.event(Event::Rescan(RescanCause::Rules)).await;
            seconds(5).await;
            assert_eq!(bench.jobs(), [(Trigger::Poll, strings(&["whole"]))]);
            bench.clear();
            bench.script.lock().expect("script").as_recorded = false;
            bench.event(Event::Rescan(RescanCause::Overflow)).await;
            seconds(5).await;
            assert_eq!(bench.jobs(), [(Trigger::Rescan, strings(&["whole"]))]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_rescan_that_met_an_outage_finds_the_end_of_the_outage() {
    rarely_polled()
        .play(|bench| async move {
            seconds(2).await;
            bench.clear();
            let until = Instant::now() + Duration::from_secs(10);
            bench.script.lock().expect("script").down_until = Some((until, Outage::Unreachable));
            bench.event(Event::Rescan(RescanCause::Overflow)).await;
            seconds(5).await;
            bench.script.lock().expect("script").as_recorded = true;
            seconds(60).await;
            let rescan = (Trigger::Rescan, strings(&["whole"]));
            assert_eq!(bench.jobs(), [rescan.clone(), rescan]);
            assert_eq!(bench.status.snapshot().queue.outage, None);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f084_where_a_folder_cannot_be_read_head_is_not_agreed_on() {
    after_a_checkout(|bench| async move {
        for (doubt, held) in [(true, true), (false, true), (true, false)] {
            bench.clear();
            bench.script.lock().expect("script").doubt = doubt;
            bench.event(Event::SyncNow).await;
            seconds(2).await;
            assert_eq!(is_head_moved(&bench.full()[0]), held, "{doubt}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f084_an_edit_elsewhere_releases_nothing_that_is_held() {
    after_a_checkout(|bench| async move {
        bench.script.lock().expect("script").held_deletions = 1;
        for held in [1, 1, 0] {
            bench.clear();
            bench.script.lock().expect("script").held_deletions = held;
            // The cycle is about this file alone, and its report names nothing else.
            bench.touch("a/changed.html").await;
            seconds(20).await;
            assert!(is_head_moved(&bench.full()[0]));
        }
        bench.clear();
        bench.touch("a/changed.html").await;
        seconds(20).await;
        assert!(!is_head_moved(&bench.full()[0]), "both sides agree now");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f073_what_went_before_the_start_has_its_grace_time() {
    Stage::new()
        .play(|bench| {
            bench.script.lock().expect("script").missing = strings(&["a/gone.html", "b/gone.html"]);
            async move {
                seconds(2).await;
                assert_eq!(bench.full()[0].removed, BTreeSet::new());
                bench.clear();
                bench.touch("a/gone.html").await;
                seconds(70).await;
                assert_eq!(
                    bench.jobs(),
                    [
                        (Trigger::Watch, strings(&["a/gone.html"])),
                        (Trigger::Watch, strings(&["-b/gone.html"])),
                    ]
                );
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f073_a_removal_without_an_event_has_its_grace_time_when_a_poll_finds_it() {
    Stage::new()
        .play(|bench| async move {
            seconds(2).await;
            bench.clear();
            bench.script.lock().expect("script").missing = strings(&["a/gone.html"]);
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            assert_eq!(bench.full()[0].removed, BTreeSet::new());
            bench.clear();
            seconds(70).await;
            assert_eq!(bench.jobs(), [(Trigger::Watch, strings(&["-a/gone.html"]))]);
            // The file is still missing, and its grace time is over.
            bench.clear();
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            assert!(bench.full()[0].in_motion.is_empty());
            assert!(bench.full()[0].removed.contains("a/gone.html"));
            // A removal that had an event, its own or that of its folder, keeps its grace time.
            for gone in ["a/other.html", "b"] {
                bench.script.lock().expect("script").missing =
                    strings(&["a/gone.html", "a/other.html", "b/c.html"]);
                bench.remove(gone).await;
            }
            seconds(50).await;
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            bench.clear();
            seconds(15).await;
            let removed = strings(&["-a/other.html", "-b"]);
            assert_eq!(bench.jobs(), [(Trigger::Watch, removed)]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f073_a_missing_file_that_comes_back_during_the_cycle_has_no_grace_time() {
    Stage::new()
        .play(|bench| async move {
            seconds(2).await;
            bench.clear();
            {
                let mut script = bench.script.lock().expect("script");
                script.missing = strings(&["a/back.html"]);
                script.takes = Duration::from_secs(3);
            }
            bench.event(Event::SyncNow).await;
            seconds(1).await;
            bench.touch("a/back.html").await;
            seconds(70).await;
            let back = (Trigger::Watch, strings(&["a/back.html"]));
            assert_eq!(bench.jobs()[1..], [back]);
        })
        .await;
}

/// A file that came back without an event, and went again, has not been away for its grace time.
#[tokio::test(start_paused = true)]
async fn f073_a_missing_file_within_its_grace_time_does_not_count_as_removed() {
    Stage::new()
        .play(|bench| async move {
            seconds(2).await;
            bench.script.lock().expect("script").missing = strings(&["a/back.html"]);
            bench.event(Event::SyncNow).await;
            seconds(2).await;
            bench.script.lock().expect("script").known =
                strings(&["a/back.html"]).into_iter().collect();
            bench.clear();
            bench.event(Event::SyncNow).await;
            seconds(2).await;
            assert_eq!(bench.full()[0].removed, BTreeSet::new());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f084_head_is_not_agreed_on_while_a_missing_file_has_its_grace_time() {
    after_a_checkout(|bench| async move {
        bench.script.lock().expect("script").missing = strings(&["a/gone.html"]);
        bench.event(Event::SyncNow).await;
        seconds(2).await;
        bench.clear();
        bench.event(Event::SyncNow).await;
        seconds(2).await;
        assert!(is_head_moved(&bench.full()[0]));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f084_a_removal_whose_grace_ends_while_a_poll_runs_is_still_gits() {
    after_a_checkout(|bench| async move {
        bench.remove("a/gone.html").await;
        seconds(59).await;
        bench.script.lock().expect("script").takes = Duration::from_secs(3);
        bench.event(Event::SyncNow).await;
        seconds(5).await;
        let jobs = bench.full();
        assert_eq!(
            bench.jobs(),
            [
                (Trigger::Manual, strings(&["whole"])),
                (Trigger::Watch, strings(&["-a/gone.html"])),
            ]
        );
        assert!(jobs[0].in_motion.contains("a/gone.html"));
        assert!(is_head_moved(&jobs[1]));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_the_branch_of_the_settings_is_synced() {
    let (folder, stage) = on_branch("draft", PublishedBranch::Named("main".to_owned()));
    stage
        .play(|bench| async move {
            seconds(700).await;
            assert_eq!(bench.jobs(), []);
            let paused = bench.status.snapshot().queue.paused.expect("paused");
            assert_eq!(
                paused,
                "paused: branch draft is checked out, and only branch main is published"
            );
            check_out(folder.path(), "ref: refs/heads/main");
            seconds(2).await;
            assert_eq!(bench.jobs(), [(Trigger::Startup, strings(&["whole"]))]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_branch_of_the_first_cycle_is_the_published_one() {
    let (folder, stage) = on_branch("main", PublishedBranch::Auto);
    stage
        .play(|bench| async move {
            seconds(2).await;
            let branches = bench.script.lock().expect("script").branches.clone();
            assert_eq!(branches.into_values().collect::<Vec<_>>(), ["main"]);
            check_out(folder.path(), "ref: refs/heads/draft");
            bench.clear();
            bench.touch("0/a/b.html").await;
            seconds(700).await;
            assert_eq!(bench.jobs(), []);
            assert!(bench.status.snapshot().queue.paused.is_some());
            // No event reports the return to the branch.
            check_out(folder.path(), "ref: refs/heads/main");
            seconds(2).await;
            assert!(!bench.jobs().is_empty());
            assert_eq!(bench.status.snapshot().queue.paused, None);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_first_cycle_that_fails_chooses_no_published_branch() {
    let (folder, stage) = on_branch("draft", PublishedBranch::Auto);
    stage
        .play(|bench| {
            let until = bench.start + Duration::from_mins(10);
            bench.script.lock().expect("script").down_until = Some((until, Outage::TokenRejected));
            async move {
                seconds(300).await;
                assert!(!bench.jobs().is_empty());
                assert_eq!(
                    bench.script.lock().expect("script").branches,
                    BTreeMap::new()
                );
                check_out(folder.path(), "ref: refs/heads/main");
                seconds(30 * 60).await;
                let branches = bench.script.lock().expect("script").branches.clone();
                assert_eq!(branches.into_values().collect::<Vec<_>>(), ["main"]);
            }
        })
        .await;
}

/// A source of small pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Returns the largest number of requests in any window of that length.
fn most(sent: &[(Duration, Purpose)], window: Duration) -> usize {
    let mut from = 0;
    (0..sent.len())
        .map(|to| {
            while sent[to].0.saturating_sub(sent[from].0) >= window {
                from += 1;
            }
            to - from + 1
        })
        .max()
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn f109_a_day_of_storms_never_exceeds_the_budget() {
    let stage = Stage {
        budget: Some(Budget::in_memory(
            BudgetLimits::default(),
            Arc::new(TokioClock::default()),
        )),
        tick: Duration::from_secs(15),
        ..Stage::new()
    };
    stage
        .play(|bench| async move {
            let mut dice = Dice(20_261_120);
            // A day and an hour, with bursts of edits and another consumer of the same token.
            while bench.start.elapsed() < Duration::from_hours(25) {
                seconds(60 + dice.below(900)).await;
                match dice.below(5) {
                    4 => {
                        // Phases of 429s, from half a minute to half an hour.
                        let long = Duration::from_secs(30 + dice.below(1_800));
                        let until = Instant::now() + long;
                        bench.script.lock().expect("script").stormy_until = Some(until);
                        bench.touch(&format!("a/{}.html", dice.below(50))).await;
                    }
                    0 => {
                        for file in 0..20 + dice.below(60) {
                            bench.touch(&format!("a/{file}.html")).await;
                        }
                    }
                    1 => {
                        let now = Instant::now();
                        let others = 10 + dice.below(60);
                        bench
                            .script
                            .lock()
                            .expect("script")
                            .counted
                            .extend((0..others).map(|_| now));
                        bench.touch(&format!("a/{}.html", dice.below(50))).await;
                    }
                    _ => bench.touch(&format!("a/{}.html", dice.below(50))).await,
                }
            }
            let script = bench.script.lock().expect("script");
            let sent = &script.sent;
            let (minute, day) = (
                most(sent, Duration::from_mins(1)),
                most(sent, Duration::from_hours(24)),
            );
            assert!(minute <= 60, "{minute} in a minute");
            assert!(day <= 1440, "{day} in a day");
            assert!(day > 1000, "{day}: the day was busy");
            assert!(
                script.refused > 20,
                "{}: the others were felt",
                script.refused
            );
            for (at, wait) in &script.told_to_wait {
                let early = sent
                    .iter()
                    .find(|(then, _)| then > at && *then < *at + *wait);
                assert_eq!(early, None, "told at {at:?} to wait {wait:?}");
            }
            let polls = sent.iter().filter(|(_, why)| *why == Purpose::Poll).count();
            assert!(polls > 24, "{polls} polls");
            assert!(polls <= 1440 * 8 / 10 * 25 / 24, "{polls} polls");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f109_what_was_saved_goes_before_a_poll_all_day_long() {
    Stage::new()
        .play(|bench| async move {
            let mut rounds = 0;
            while bench.start.elapsed() < Duration::from_hours(24) {
                seconds(60).await;
                bench.script.lock().expect("script").takes = Duration::from_secs(20);
                let next = bench.status.snapshot().queue.next_poll.expect("known");
                let epoch: DateTime<Utc> = "2026-11-20T00:00:00Z".parse().expect("a time");
                let until = (next - epoch).to_std().expect("to come");
                tokio::time::sleep_until(bench.start + until - Duration::from_secs(10)).await;
                bench.clear();
                // A cycle runs when the poll falls due, and another file is saved before the poll starts.
                bench.touch("a/one.html").await;
                seconds(5).await;
                bench.touch("a/two.html").await;
                seconds(70).await;
                let order: Vec<Trigger> = bench.jobs().iter().map(|job| job.0).collect();
                assert_eq!(
                    order,
                    [Trigger::Watch, Trigger::Watch, Trigger::Poll],
                    "round {rounds}"
                );
                rounds += 1;
            }
            assert!(rounds > 200, "{rounds}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn f113_pushes_go_on_from_the_reserve_when_polls_may_not() {
    let budget = Budget::in_memory(BudgetLimits::default(), Arc::new(TokioClock::default()));
    let stage = Stage {
        budget: Some(budget.clone()),
        tick: Duration::from_secs(5),
        ..Stage::new()
    };
    stage
        .play(|bench| async move {
            seconds(1).await;
            // Another process spends the day's budget except the reserve.
            let spent = Instant::now();
            while budget.acquire(Purpose::Poll).await.map_or_else(
                |refusal| !matches!(refusal, NoBudget::Day { .. }),
                |_counted| true,
            ) {
                seconds(1).await;
                assert!(spent.elapsed() < Duration::from_hours(2));
            }
            seconds(61).await;
            bench.clear();
            bench.touch("a/b.html").await;
            seconds(2).await;
            assert_eq!(
                bench.jobs().last(),
                Some(&(Trigger::Watch, strings(&["a/b.html"])))
            );
            let requests = bench.script.lock().expect("script").sent.clone();
            assert_eq!(requests.last().expect("sent").1, Purpose::Push);
            // Polls stop instead of failing every five minutes.
            bench.clear();
            seconds(3_600).await;
            assert!(bench.jobs().len() <= 2, "{:?}", bench.jobs());
        })
        .await;
}
