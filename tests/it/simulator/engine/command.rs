//! Commands: the request of each to an engine, and the checks of dry runs.

use super::leaving::Leaving;
use super::purse::{DAY, MINUTE};
use super::run::Run;
use super::step::{At, Command, Kept, folder_name};
use super::token::Tokens;
use super::world::id_of;
use kbsync::engine::report::{Line, Report, Status};
use kbsync::engine::settings::{Cause, CycleRequest, Look, PathsInMotion};
use kbsync::engine::{GitView, NoGit};
use kbsync::model::{ArticleId, Side, Timestamp};
use kbsync::reconcile::plan::{HoldRule, Kind, Problem};
use kbsync::reconcile::snapshot::{Decision, Direction, Keep, OnConflict};
use kbsync::service::Purpose;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A git view in which HEAD moved, so that git may have removed every missing file.
struct HeadMoved;

impl GitView for HeadMoved {
    fn is_there(&self) -> bool {
        true
    }

    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        let gone = gone.iter();
        gone.map(|path| (path.clone(), "git moved HEAD".to_owned()))
            .collect()
    }
}

impl Run<'_> {
    pub(super) fn command(&mut self, command: Command, was_settled: bool) {
        let Some(request) = self.request(command) else {
            return;
        };
        match command {
            Command::DryThenSync => {
                let began = self.shared.lock().now;
                // A dry run recovers nothing, and promises nothing about what a killed run began.
                let journal = self.engine().store().journal().expect("readable");
                let planned = self.dry(&request).filter(|_| journal.is_empty());
                let ended = self.shared.lock().now;
                let report = self.cycle(&request, was_settled);
                if let (Some(planned), Some(report)) = (planned, report) {
                    self.i14_as_planned(&planned, &report, [began, ended]);
                }
            }
            Command::Approve => self.approve(&request),
            Command::Moved => {
                self.shared.lock().ledger.head_moved = true;
                self.engine().set_git(Arc::new(HeadMoved));
                self.cycle(&request, false);
                if let Some(engine) = &mut self.engine {
                    engine.set_git(Arc::new(NoGit));
                }
                self.shared.lock().ledger.head_moved = false;
            }
            Command::InMotion { at } => self.in_motion(at, &request),
            Command::Resolve { .. } => {
                self.release(&request);
                self.cycle(&request, false);
                self.release(&request);
            }
            Command::PreferLocal | Command::PreferRemote => {
                self.loosen(true);
                self.shared.lock().ledger.local_wins = command == Command::PreferLocal;
                self.cycle(&request, false);
                self.shared.lock().ledger.local_wins = false;
                self.loosen(false);
            }
            Command::Sync
            | Command::Poll
            | Command::Pull
            | Command::Push
            | Command::One { .. }
            | Command::Folder { .. }
            | Command::Glance { .. }
            | Command::AllowDeletes => {
                self.cycle(&request, was_settled);
            }
        }
        if self.setup.commands {
            self.end();
        }
    }

    fn request(&mut self, command: Command) -> Option<CycleRequest> {
        let both = asked(Direction::Both);
        Some(match command {
            Command::Sync | Command::Approve | Command::DryThenSync | Command::Moved => both,
            Command::Poll => CycleRequest {
                purpose: Purpose::Poll,
                ..both
            },
            Command::Pull => asked(Direction::Pull),
            Command::Push => asked(Direction::Push),
            Command::One { at } => CycleRequest {
                scope: vec![format!("{}/{}", at.folder(), at.file())],
                ..both
            },
            Command::Folder { folder } => CycleRequest {
                scope: vec![folder_name(folder).to_owned()],
                ..both
            },
            Command::PreferLocal => CycleRequest {
                prefer: Some(OnConflict::Local),
                ..both
            },
            Command::PreferRemote => CycleRequest {
                prefer: Some(OnConflict::Remote),
                ..both
            },
            Command::Glance { at } => CycleRequest {
                scope: vec![format!("{}/{}", at.folder(), at.file())],
                look: Look::Files,
                ..both
            },
            Command::AllowDeletes => CycleRequest {
                allow_deletes: true,
                ..both
            },
            Command::InMotion { at } => CycleRequest {
                in_motion: PathsInMotion {
                    paths: BTreeSet::from([format!("{}/{}", at.folder(), at.file())]),
                    ..PathsInMotion::default()
                },
                cause: Cause::Background,
                purpose: Purpose::Poll,
                ..both
            },
            Command::Resolve { at, keep } => return self.resolution(at, keep),
        })
    }

    fn leaving(&mut self) -> Leaving {
        let journal = self.engine().store().journal().expect("readable");
        Leaving::of(&journal)
    }

    /// Leaves a file alone that is being written.
    fn in_motion(&mut self, at: At, request: &CycleRequest) {
        let leaving = self.leaving();
        let (before, alone) = {
            let world = self.shared.lock();
            let bytes = world.mirror.bytes(at.folder(), &at.file());
            (bytes, world.armed.is_empty() && self.fatal.is_none())
        };
        self.cycle(request, false);
        let mut world = self.shared.lock();
        let (path, now) = (
            format!("{}/{}", at.folder(), at.file()),
            world.mirror.bytes(at.folder(), &at.file()),
        );
        if alone && now != before && !leaving.ends(&path, now.as_deref()) {
            world.violated("I4", format!("{path} was changed while it was in motion"));
        }
    }

    fn resolution(&mut self, at: At, keep: Kept) -> Option<CycleRequest> {
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
        Some(CycleRequest {
            resolve: BTreeMap::from([(row.id, Decision::on(&row, keep))]),
            scope: vec![row.place.to_string()],
            ..asked(Direction::Both)
        })
    }

    /// A person settles the conflicts of some articles: words on one side only of these articles may be removed.
    fn release(&mut self, request: &CycleRequest) {
        let mut world = self.shared.lock();
        let (mirror, service) = (world.mirror.tokens(), world.kb.tokens());
        let mut apart = mirror.without(&service);
        apart.add(&service.without(&mirror));
        let mut theirs = Tokens::default();
        for id in request.resolve.keys() {
            let article = world.kb.articles.get(id);
            theirs.add(&article.map(|article| article.tokens).unwrap_or_default());
        }
        world.mirror.each(&mut |folder, name, bytes, _| {
            let stem = name.split('.').next().unwrap_or_default();
            let at = format!("{folder}/{stem}.html");
            let named = id_of(bytes).is_some_and(|id| request.resolve.contains_key(&id));
            if named || request.scope.contains(&at) {
                theirs.read(bytes);
                if name.ends_with(".conflict.html") {
                    apart.read(bytes);
                }
            }
        });
        let released = apart.and(&theirs);
        world.ledger.removed.add(&released);
    }

    /// A person settles all conflicts at once: words on one side only may be removed.
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

    fn dry(&mut self, request: &CycleRequest) -> Option<Report> {
        let request = CycleRequest {
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
        self.renew_settings();
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

    /// I14: a sync does what its dry run showed, which began and ended at these times.
    fn i14_as_planned(&mut self, planned: &Report, report: &Report, [began, ended]: [i64; 2]) {
        let counts_fewer = self.counts_fewer(ended);
        let mut world = self.shared.lock();
        if world.troubled || self.fatal.is_some() {
            return;
        }
        let waited = world.now - began > 15_000_000_000;
        if let Some(message) = differs(planned, report, waited, counts_fewer) {
            world.violated("I14", message);
        }
    }

    /// Returns whether the guard counts a deletion no more that it counted at a time: its minute or its day has ended.
    fn counts_fewer(&mut self, since: i64) -> bool {
        let now = self.shared.lock().now;
        let store = self.engine().store();
        let counted = |time: i64, window: i64, side| {
            let begin = Timestamp((time - window) / 1_000_000);
            store.deletions_since(begin, side).expect("readable")
        };
        let has_fewer = |window, side| counted(now, window, side) < counted(since, window, side);
        let mut windows = [MINUTE, DAY].into_iter();
        windows.any(|window| has_fewer(window, Side::Local) || has_fewer(window, Side::Remote))
    }

    fn approve(&mut self, request: &CycleRequest) {
        let planned = self.dry(request);
        let now = Timestamp(self.shared.lock().now / 1_000_000);
        let Some(planned) = planned.filter(|planned| planned.stopped.is_none()) else {
            return;
        };
        let mut marks = Vec::new();
        for line in planned.actions {
            let is_released = line.rule.is_some_and(HoldRule::approvable);
            let Some(mark) = line.fingerprint.filter(|_| is_released) else {
                continue;
            };
            marks.push((line.side, mark));
            self.shown.extend(line.id.map(|id| (mark, id)));
        }
        if marks.is_empty() {
            return;
        }
        let store = self.engine().store_mut();
        store
            .write_at(now, |state| {
                marks
                    .iter()
                    .try_for_each(|(side, mark)| state.approve(*side, *mark))
            })
            .expect("written");
        let report = self.cycle(request, false);
        if report.is_some_and(|report| report.stopped.is_none()) {
            let store = self.engine().store_mut();
            store
                .write_at(now, |state| {
                    let mut marks = marks.iter();
                    marks.try_for_each(|(side, mark)| state.use_up_approval(*side, *mark))
                })
                .expect("written");
        }
    }

    /// Returns the articles that a person has approved and that are not carried out yet: held actions and their
    /// approvals survive a restart, and so they outlive a cycle that was cut off.
    pub(super) fn released(&mut self) -> BTreeSet<ArticleId> {
        let approvals = self.engine().store().approvals().expect("readable");
        let marks = approvals.iter().map(|approval| approval.fingerprint);
        marks
            .filter_map(|mark| self.shown.get(&mark).copied())
            .collect()
    }
}

/// Returns the difference of a run from its dry run.
///
/// The words of a category are read once a day, and before they are written if the last read is older than the guard
/// window. If the budget made the two runs wait longer than that, the second run may have newer words.
///
/// If the second run counts fewer earlier deletions, it need not hold a deletion that the first run held, nor an action
/// that waited for it.
pub(super) fn differs(
    planned: &Report,
    report: &Report,
    waited: bool,
    counts_fewer: bool,
) -> Option<String> {
    let is_held = |line: &Line| line.status == Status::Held;
    let mut deletions = planned.actions.iter();
    let may_release =
        counts_fewer && deletions.any(|line| line.action == Kind::Delete && is_held(line));
    // A dry run does not settle a pending request, and promises nothing about its article.
    let is_pending = |problem: &&Problem| {
        let message = "it is unknown whether the last change of this article reached the service";
        problem.message.contains(message)
    };
    let pending = planned.problems.iter().filter(is_pending);
    let pending: BTreeSet<_> = pending.filter_map(|problem| problem.id).collect();
    // Nor does it promise anything about the words of a category that the request moved an article to: a moved article
    // causes a read of its category.
    let has_pending = !pending.is_empty();
    // Nor does it promise what is held: a step may wait for that article.
    let held = |line: &&Line| has_pending && is_held(line);
    let both = planned.actions.iter().chain(&report.actions);
    let waiting = both.filter(held);
    let waiting: Vec<_> = waiting.map(|line| (line.action, &line.path)).collect();
    // Nor does it promise the folder of a category that the request's article moves into.
    let is_of_pending = |line: &&Line| line.id.is_some_and(|id| pending.contains(&id));
    let moved = report.actions.iter().filter(is_of_pending);
    let folders = moved.filter_map(|line| line.path.split_once('/'));
    let folders: BTreeSet<_> = folders.map(|(folder, _)| folder).collect();
    let is_filled = |line: &Line| {
        let is_new = (line.action, line.side) == (Kind::CreateCategory, Side::Local);
        is_new && folders.contains(line.path.as_str())
    };
    // It keeps no body, so it cannot compare what stands at the address of a creation with what was sent.
    let says_unclear =
        |problem: &&Problem| problem.message.contains("cannot tell whether that request");
    let unclear = report.problems.iter().filter(says_unclear);
    let unclear: BTreeSet<_> = unclear.map(|problem| &problem.path).collect();
    let lines = |report: &Report| -> Vec<String> {
        let mut lines: Vec<String> = report
            .actions
            .iter()
            .filter(|line| line.id.is_none_or(|id| !pending.contains(&id)))
            .filter(|line| !waiting.contains(&(line.action, &line.path)))
            // Nor does it promise a deletion: the article of the request may count as one more.
            .filter(|line| !has_pending || line.action != Kind::Delete)
            .filter(|line| line.action != Kind::Create || !unclear.contains(&line.path))
            .filter(|line| !is_filled(line))
            .filter(|line| {
                let is_read = has_pending && line.side == Side::Local;
                line.action != Kind::UpdateCategory || !(waited || is_read)
            })
            .map(|line| {
                let held = is_held(line) && !may_release;
                format!("{:?} {:?} {} {held}", line.action, line.side, line.path)
            })
            .collect();
        lines.sort();
        lines
    };
    // The service's message is in the reason of a refused action that waits for a person.
    let says = |line: &Line| {
        let reason = line.reason.as_deref().unwrap_or_default();
        let is_refused =
            reason.contains("(the service says: ") || reason.starts_with("the service refuses it");
        line.status == Status::Held && is_refused
    };
    let refused =
        |line: &Line| matches!(line.status, Status::Failed | Status::Skipped) || says(line);
    if report.actions.iter().any(refused) {
        // A refusal of the service cannot be planned.
        return None;
    }
    let (wished, done) = (lines(planned), lines(report));
    (wished != done).then(|| format!("planned {wished:?}, done {done:?}"))
}

/// A request of a person who has approved the new categories of a first sync.
pub(super) fn asked(direction: Direction) -> CycleRequest {
    CycleRequest {
        asks_for_categories: false,
        ..CycleRequest::new(direction)
    }
}
