//! One cycle of an engine, and the checks after it.

use super::held::Held;
use super::mirror::Mirror;
use super::oracle;
use super::run::Run;
use super::token::Tokens;
use super::world::{Side, World};
use kbsync::drill::death;
use kbsync::engine::report::{Line, Report, Status};
use kbsync::engine::settings::CycleRequest;
use kbsync::model::{ArticleId, ExitCode, Place};
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::reconcile::plan::Kind;
use kbsync::reconcile::snapshot::Direction;
use std::collections::{BTreeMap, BTreeSet};

impl Run<'_> {
    /// Runs one cycle and the checks after it. Returns the report, unless the process died.
    pub(super) fn cycle(&mut self, request: &CycleRequest, was_settled: bool) -> Option<Report> {
        self.cycles += 1;
        self.renew_settings();
        let read = self.engine().store().meta("mirror_read").expect("readable");
        self.first = read.is_none();
        let runtime = self.runtime;
        let known = self.known_places();
        let released = self.released();
        let journal = self.engine().store().journal().expect("readable");
        let at_first = {
            let mut world = self.shared.lock();
            world.begin();
            world.ledger.unfinished = !journal.is_empty();
            world.ledger.released = released;
            world.note(&format!(
                "cycle {:?} {:?}",
                request.direction, request.scope
            ));
            world.ledger.allow_deletes = request.allow_deletes;
            world.ledger.spared = match request.direction {
                Direction::Both => None,
                Direction::Pull => Some(Side::Service),
                Direction::Push => Some(Side::Mirror),
            };
            world.ledger.limit = self.limit(known.len());
            world.ledger.births.known = known;
            self.visible(&world)
        };
        let fatal = self.fatal.take();
        death::set(fatal.map(|fatal| u64::from(fatal.after) + 1));
        let report = runtime.block_on(self.engine().cycle(request));
        let is_incremental = report
            .as_ref()
            .is_ok_and(|report| report.coverage.is_incremental);
        self.incremental += u64::from(is_incremental);
        let died = death::came();
        death::set(None);
        let shared = self.shared.clone();
        let mut world = shared.lock();
        world.armed.clear();
        if died {
            world.note("died");
            world.ledger.died = true;
            if let (Some(keep), Mirror::Memory(tree)) =
                (fatal.and_then(|fatal| fatal.power), &mut world.mirror)
            {
                tree.lose_power(keep);
                world.took_back();
            }
            drop(world);
            self.end();
            self.judge(true);
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
        let written = world.ledger.written;
        world.ledger.seen.add(&written);
        self.after(&mut world, request, &report, &at_first, was_settled);
        drop(world);
        self.judge(false);
        Some(report)
    }

    fn after(
        &mut self,
        world: &mut World,
        request: &CycleRequest,
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
        let complete = report.stopped.is_none()
            && request.scope.is_empty()
            && request.in_motion.paths.is_empty()
            && !world.ledger.head_moved
            && request.direction == Direction::Both;
        let whole = complete && !world.troubled;
        if report.outcome == ExitCode::Failed && !world.troubled {
            world.violated(
                "I12",
                format!("a cycle failed: {:?} {:?}", report.stopped, report.problems),
            );
        }
        if whole {
            world.ledger.births.known = self.known_places();
            let (mirror, service) = self.visible(world);
            world.ledger.seen.add(&at_first.0.and(&mirror));
            world.ledger.seen.add(&at_first.1.and(&service));
            // A category's words are read once a day, and come with the response to our own write.
            let category = |line: &Line| {
                line.action == Kind::UpdateCategory && line.side == kbsync::model::Side::Local
            };
            let late = !report.actions.is_empty() && report.actions.iter().all(category);
            if was_settled && world.ledger.effects > 0 && !late {
                world.violated(
                    "I4",
                    format!(
                        "both sides were quiet, and {} things were done: {:?}",
                        world.ledger.effects, report.actions
                    ),
                );
            }
            // No listing shows whether a new article was deleted or hidden meanwhile, or is not shown yet.
            let is_hidden = |id: ArticleId| {
                let sent = world.ledger.births.sent.get(&id);
                let was_shown = sent.is_none_or(|sent| sent.enabled && !sent.draft);
                let article = world.kb.articles.get(&id);
                article.is_none_or(|article| !article.is_published() && was_shown)
            };
            let is_gone = |line: &Line| {
                let is_new =
                    line.action == Kind::Create && line.side == kbsync::model::Side::Remote;
                is_new && line.status == Status::Done && line.id.is_some_and(is_hidden)
            };
            self.settled = report.outcome == ExitCode::Done
                && !world.is_rationed()
                && !self.met_an_old_copy()
                && !report.actions.iter().any(is_gone);
        }
        let held = Held::of(world, report);
        world.judge_births(&held.ids);
        for line in &report.actions {
            if line.action == Kind::Conflict
                && let Some(id) = line.id
            {
                world.judge_conflict(id, &line.path);
            }
        }
        if whole && report.outcome == ExitCode::Done {
            world.ledger.touched.clear();
            world.ledger.recategorized.clear();
            world.ledger.died = false;
            world.ledger.expected = Default::default();
            // A colleague's change of a hidden article is noticed later.
            let hidden: BTreeSet<ArticleId> = world
                .kb
                .articles
                .values()
                .filter(|article| !article.is_published())
                .map(|article| article.id)
                .collect();
            world.ledger.edited.retain(|id, _| hidden.contains(id));
        }
    }

    /// Returns the articles that the state knows, with the places of their files.
    fn known_places(&self) -> BTreeMap<ArticleId, Place> {
        let rows = match (&self.engine, &self.store) {
            (Some(engine), _) => engine.store().index(),
            (None, Some(store)) => store.index(),
            (None, None) => Ok(Vec::new()),
        };
        let rows = rows.expect("the state is readable");
        rows.into_iter().map(|row| (row.id, row.place)).collect()
    }

    /// Returns the words that kbsync can see: in ready files, and in listed articles that the state knows.
    fn visible(&self, world: &World) -> (Tokens, Tokens) {
        let mirror = world.mirror.ready_tokens();
        let mut service = Tokens::default();
        for article in world.kb.articles.values() {
            if article.is_published() && world.ledger.births.known.contains_key(&article.id) {
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

    /// Runs the checks after every cycle and every death.
    fn judge(&mut self, died: bool) {
        let store = match (&self.engine, &self.store) {
            (Some(engine), _) => engine.store(),
            (None, Some(store)) => store,
            (None, None) => return,
        };
        let mut world = self.shared.lock();
        if died {
            let known = self.known_places();
            let named = world.ids_in_mirror();
            let births = &mut world.ledger.births;
            let sent = births.sent.keys().copied();
            let lost = sent.filter(|id| !known.contains_key(id) && !named.contains_key(id));
            births.died_over.extend(lost);
            // A copy from the cycle of the death shows a conflict that the state may not have.
            world.forget_conflicts(&oracle::shown(store));
        }
        oracle::i1_reachable(&mut world, store, died);
        oracle::i2_whole(&mut world);
    }
}
