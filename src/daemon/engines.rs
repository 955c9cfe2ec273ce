//! The real cycles: an engine per workspace, asked one after the other, with one report of all.

use super::{
    asked::{may_miss, request_for},
    control::Refusal,
    git::{self, Head, Remembered, Trees, View},
    job::{Cycle, CycleWish, Done, Job, Left, Look, Release, Standing, Trigger},
    quiet::Taken,
    reach::Wall,
    settings::Settings,
    valve::Gate,
};
use crate::{
    engine::{
        self, Engine,
        report::{Ending, Report},
        restore::{Refused, RefusedKind},
        settings::Request,
    },
    mirror::{
        disk::{Disk, DiskError},
        lock::Lock,
    },
    reconcile::plan::Problem,
    service::Service,
    state::StateError,
};
use std::sync::Arc;

/// Reads the settings again: those of the loop, and those of each engine in order.
pub type Reload<'r> =
    Box<dyn FnMut() -> Result<(Settings, Vec<engine::settings::Settings>), String> + 'r>;

/// One workspace's engine.
pub struct Seat<S, D> {
    /// What stands before its paths: `""`, or the folder's name and a `/`.
    pub prefix: String,
    /// The engine.
    pub engine: Engine<S, D>,
    /// Keeps other processes out of its folder.
    pub lock: Lock,
}

/// The engines of all workspaces.
pub struct Engines<'r, S, D> {
    seats: Vec<Seat<S, D>>,
    trees: Trees,
    gate: Gate,
    reload: Reload<'r>,
}

impl<'r, S: Service, D: Disk> Engines<'r, S, D> {
    /// Puts engines behind a gate. `trees`: their folders, by the same prefixes.
    pub fn new(seats: Vec<Seat<S, D>>, trees: Trees, gate: Gate, reload: Reload<'r>) -> Self {
        Self {
            seats,
            trees,
            gate,
            reload,
        }
    }

    fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        for seat in &self.seats {
            let store = seat.engine.store();
            match seat.engine.held_deletions() {
                Ok(held) => standing.held_deletions += held,
                Err(error) => tracing::warn!("{error:#}"),
            }
            match (store.conflicts(), store.intents()) {
                (Ok(conflicts), Ok(intents)) => {
                    standing.conflicts += conflicts.len();
                    standing.intents += intents.len();
                }
                (Err(error), _) | (_, Err(error)) => {
                    tracing::warn!(%error, "the state cannot be counted");
                }
            }
        }
        standing
    }
}

impl<S: Service, D: Disk> Cycle for Engines<'_, S, D> {
    async fn cycle(&mut self, job: &Job) -> Done {
        let mut report = Report::new(matches!(&job.look, Look::Wish(wish) if wish.dry_run));
        let (mut wall, mut refused) = (None, None);
        let _before = self.gate.take_wall();
        // The job names what is in motion as of now; the last workspace's turn may come much later.
        let began = engine::Clock::now(&engine::SystemClock);
        for seat in &mut self.seats {
            let Some(mut request) = request_for(job, &seat.prefix) else {
                continue;
            };
            if may_miss(&job.look) {
                request.since = Some(began);
            }
            // Git may move HEAD while this workspace waits for its turn, or for a request.
            if let Some(folder) = self.trees.folder(&seat.prefix) {
                let view = View::new(folder, job.git.clone());
                seat.engine.set_git(Arc::new(view));
            }
            if let Look::Wish(wish) = &job.look
                && let Err(error) = seat.release(wish)
            {
                note_failure(&mut report, &seat.prefix, &error);
                continue;
            }
            if let Err(error) = seat.restore(job, &mut request, &mut report).await {
                match error.downcast::<Refused>() {
                    Ok(why) => refused = Some(refusal(why)),
                    Err(error) => note_failure(&mut report, &seat.prefix, &error),
                }
                continue;
            }
            match seat.engine.cycle(&request).await {
                Ok(found) => {
                    if let Look::Wish(wish) = &job.look
                        && found.stopped.is_none()
                        && let Err(error) = seat.take_back(wish)
                    {
                        note_failure(&mut report, &seat.prefix, &error);
                    }
                    report.add(found);
                    if let Some(met) = self.gate.take_wall() {
                        wall = Some(met);
                        break;
                    }
                }
                Err(error) => {
                    note_failure(&mut report, &seat.prefix, &error);
                    wall = Some(Wall::Broken);
                }
            }
        }
        // What a poll may not spend is there for pushes: it closes nothing.
        let is_poll = job.look == Look::Whole && job.trigger != Trigger::Startup;
        let closes = !(is_poll && matches!(wall, Some(Wall::Spent { .. })));
        Done {
            standing: self.standing(),
            wall: wall.filter(|_| closes),
            report,
            refused,
        }
    }

    fn news(&mut self, taken: Taken) -> Taken {
        let mut news = Taken::default();
        for path in taken.changed {
            if self.is_news(&path) {
                news.changed.insert(path);
            }
        }
        for (path, gone) in taken.removed {
            if self.is_news(&path) {
                news.removed.insert(path, gone);
            }
        }
        news
    }

    fn is_as_recorded(&mut self) -> bool {
        self.seats.iter_mut().all(|seat| {
            seat.engine.is_as_recorded().unwrap_or_else(|error| {
                tracing::warn!("{error:#}");
                false
            })
        })
    }

    fn left(&self) -> Left {
        let usage = self.seats.first().map(|seat| seat.engine.service().usage());
        usage.map_or_else(Left::default, |usage| Left {
            minute: usage.minute_left,
            day: usage.day_left,
        })
    }

    fn remember_head(&mut self, prefix: &str, head: &Head) {
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.prefix == prefix) else {
            return;
        };
        let now = engine::Clock::now(&engine::SystemClock);
        if let Err(error) = git::remember_head(seat.engine.store_mut(), head, now) {
            tracing::warn!(%error, "where git's HEAD was could not be remembered");
        }
    }

    fn remember_branch(&mut self, prefix: &str, branch: &str) {
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.prefix == prefix) else {
            return;
        };
        let now = engine::Clock::now(&engine::SystemClock);
        if let Err(error) = git::remember_branch(seat.engine.store_mut(), branch, now) {
            tracing::warn!(%error, "the published branch could not be remembered");
        }
    }

    fn remembered(&self, prefix: &str) -> Remembered {
        let seat = self.seats.iter().find(|seat| seat.prefix == prefix);
        seat.map(|seat| git::remembered(seat.engine.store()))
            .unwrap_or_default()
    }

    fn missing(&mut self) -> Vec<String> {
        let mut missing = Vec::new();
        for seat in &mut self.seats {
            match seat.engine.missing() {
                Ok(places) => {
                    missing.extend(places.iter().map(|place| format!("{}{place}", seat.prefix)));
                }
                Err(error) => tracing::warn!("{error:#}"),
            }
        }
        missing
    }

    fn lost(&self) -> Option<String> {
        self.seats.iter().find_map(|seat| {
            if !seat.lock.holds() {
                return Some(format!(
                    "the lock {} was removed or replaced while the daemon ran",
                    seat.lock.path().display()
                ));
            }
            seat.engine
                .store()
                .stay()
                .err()
                .map(|error| error.to_string())
        })
    }

    fn close(&mut self) {
        for seat in &mut self.seats {
            let found = seat.engine.look_back();
            tracing::debug!(
                files = found.len(),
                "looked a last time; each is in the log"
            );
        }
    }

    fn reload(&mut self) -> Result<Settings, String> {
        let (settings, each) = (self.reload)()?;
        for (seat, settings) in self.seats.iter_mut().zip(each) {
            seat.engine.set_settings(settings);
        }
        Ok(settings)
    }
}

impl<S: Service, D: Disk> Engines<'_, S, D> {
    /// Returns whether what lies at a path is anything but what the state says.
    fn is_news(&self, path: &str) -> bool {
        let Some((seat, below)) = self.seats.iter().find_map(|seat| {
            let below = path.strip_prefix(&seat.prefix)?;
            Some((seat, below))
        }) else {
            return false;
        };
        match below.split_once('/') {
            Some((folder, file)) => !seat.engine.is_known(folder, file),
            None => !seat.engine.is_folder_known(below),
        }
    }
}

impl<S: Service, D: Disk> Seat<S, D> {
    /// Remembers what a person released.
    fn release(&mut self, wish: &CycleWish) -> anyhow::Result<()> {
        if wish.approve.is_empty() || wish.dry_run {
            return Ok(());
        }
        let now = engine::Clock::now(&engine::SystemClock);
        self.engine.store_mut().write(now, |tx| {
            wish.approve
                .iter()
                .try_for_each(|Release { side, mark }| tx.approve(*side, &mark.to_string(), *mark))
        })?;
        Ok(())
    }

    /// Brings versions back, and has the cycle look at their files. Adds a line or a problem for each.
    async fn restore(
        &mut self,
        job: &Job,
        request: &mut Request,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let wishes = match &job.look {
            Look::Wish(wish) if !wish.dry_run => wish.restore.as_slice(),
            Look::Wish(_) | Look::Whole | Look::Mirror | Look::Paths(_) => &[],
        };
        if wishes.is_empty() {
            return Ok(());
        }
        let restored = self.engine.restore(wishes).await;
        report.add_restored(restored.lines, restored.refusals);
        if let Some(error) = restored.failed {
            return Err(error);
        }
        request.scope = restored.places;
        Ok(())
    }

    /// A release that was not used up by its cycle is void.
    fn take_back(&mut self, wish: &CycleWish) -> anyhow::Result<()> {
        if wish.approve.is_empty() || wish.dry_run {
            return Ok(());
        }
        let now = engine::Clock::now(&engine::SystemClock);
        self.engine.store_mut().write(now, |tx| {
            wish.approve.iter().try_for_each(|Release { side, mark }| {
                tx.take_approval(*side, &mark.to_string(), *mark)
                    .map(|_was_left| ())
            })
        })?;
        Ok(())
    }
}

/// As the command by itself would end.
fn refusal(why: Refused) -> Refusal {
    Refusal {
        code: match why.kind {
            RefusedKind::Undecided => 3,
            RefusedKind::Impossible => 2,
        },
        message: why.message,
        help: why.help,
    }
}

fn note_failure(report: &mut Report, prefix: &str, error: &anyhow::Error) {
    let message = said(error);
    tracing::error!("{message}");
    report.outcome = Ending::Failed;
    report.problems.push(Problem {
        path: prefix.trim_end_matches('/').to_owned(),
        id: None,
        message,
    });
}

/// An error in words. Bare ones of the modules below are fragments; those with context are sentences already.
fn said(error: &anyhow::Error) -> String {
    let Some(first) = error.chain().next() else {
        return format!("{error:#}");
    };
    match first.downcast_ref::<DiskError>() {
        Some(disk) if disk.kind.remedy().is_some() => format!("failed to {}", disk.with_remedy()),
        Some(_) => format!("failed to {error:#}"),
        None if first.is::<StateError>() => format!("failed to {error:#}"),
        None => format!("{error:#}"),
    }
}
