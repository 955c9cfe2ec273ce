//! The steps of one cycle, in their order: recover, observe, reconcile, guard, apply, record, report.

use crate::engine::apply::{
    PlanSummary, apply, finish_cycle, other_checkout, refresh_stamps, remove_settled_copies,
};
use crate::engine::ending::service_stop;
use crate::engine::facts::{facts, forget_parked, note_rollbacks};
use crate::engine::first_sync::{begin_state, bind_home};
use crate::engine::journal::recover::Recovered;
use crate::engine::observation::{Extent, Observation};
use crate::engine::observe::{bodies, is_enough, is_first_pull, observe, record_unknown_articles};
use crate::engine::open_actions::forget_restored;
use crate::engine::pending::creations::end_at_taken_places;
use crate::engine::pending::settle_pending;
use crate::engine::report::Report;
use crate::engine::settings::{CycleRequest, InMotion, Look};
use crate::engine::{Engine, Gathered, Stop};
use crate::mirror::disk::Disk;
use crate::model::Place;
use crate::reconcile::plan::{Plan, Problem};
use crate::reconcile::{self, World};
use crate::service::Service;
use std::sync::Arc;
use tokio::time::Instant;

/// Runs one cycle, and reports it.
pub(super) async fn run_and_report<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    request: &CycleRequest,
) -> anyhow::Result<Report> {
    let started = Instant::now();
    begin(engine, request);
    let before = engine.service.requests();
    let mut report = Report::new(request.dry_run);
    report.coverage.is_partial = !request.is_whole();
    let ran = run_cycle(engine, &mut report).await;
    engine.store.set_dry_run(false);
    let stop = ran.or_else(|error| service_stop(error).map(Some))?;
    if let Some(stop) = &stop {
        let problem = Problem::at("", None, stop.message.clone());
        report.problems.push(problem);
        // The next command or cycle looks again.
        report.look_again.clear();
    }
    report.conclude(stop.as_ref().map(Stop::outcome));
    report.stopped = stop;
    report.requests = engine.service.requests().since(before);
    report.budget = Some(engine.service.budget_left());
    report.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// Prepares the engine for a request.
fn begin<S, D>(engine: &mut Engine<S, D>, request: &CycleRequest) {
    engine.request = Arc::new(request.clone());
    engine.gathered = Gathered::default();
    engine.store.set_dry_run(request.dry_run);
}

/// Widens the next look to both sides as a whole.
fn widen_look<S, D>(engine: &mut Engine<S, D>) {
    Arc::make_mut(&mut engine.request).look = Look::Whole;
}

/// Crash recovery: settles the open journal entries of an earlier run.
pub(super) fn recover<S: Service, D: Disk>(engine: &mut Engine<S, D>) -> anyhow::Result<Recovered> {
    let first = !engine.cleared_up;
    let recovered = engine.journal().recover(first)?;
    if first {
        begin_state(&mut engine.store, engine.folders.home.as_ref())?;
    }
    engine.cleared_up = true;
    Ok(recovered)
}

/// Carries out the steps of one cycle. Returns the reason for an early end, if any.
async fn run_cycle<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    report: &mut Report,
) -> anyhow::Result<Option<Stop>> {
    let mut recovered = Recovered::default();
    if !engine.request.dry_run {
        recovered = recover(engine)?;
        settle_pending(engine).await?;
    }
    if !recovered.open.is_empty() {
        // A look at some paths also sees the paths in motion, so everything is looked at.
        widen_look(engine);
        // Paths with an open journal entry are excluded: their state is neither an edit nor a removal by a person.
        let request = Arc::make_mut(&mut engine.request);
        request.in_motion.paths.extend(recovered.open);
    }
    let (plan, mut observed) = decide(engine).await?;
    let was_first_pull = is_first_pull(&observed);
    report.missing = std::mem::take(&mut observed.mirror.missing);
    report.problems.clone_from(&plan.problems);
    report.problems.extend(recovered.problems);
    report.coverage.is_incremental = observed.extent == Extent::Differences;
    report.coverage.has_doubt = observed.mirror.may_hide_removals || observed.doubt.is_some();
    if engine.request.dry_run {
        report.plan(&plan);
        return Ok(observed.service.stop);
    }
    forget_parked(&mut engine.store, &plan, &observed)?;
    forget_restored(&mut engine.store, &observed)?;
    end_at_taken_places(&mut engine.store, &observed)?;
    let summary = PlanSummary::of(&plan, &observed);
    if let Some(why) = other_checkout(&*engine.git).await {
        return Ok(Some(Stop::of_git(&why)));
    }
    let applied = apply(engine, plan, &mut observed, report).await;
    // Also after a failed apply: late text must not wait for a cycle that succeeds.
    let late = if observed.extent == Extent::Paths {
        // A look at each displaced file would delay every save after a large pull.
        Ok(Vec::new())
    } else {
        engine.journal().look_at_displaced()
    };
    if engine.git.is_there() {
        report.want_ids_committed();
    }
    let stop = applied?;
    remove_settled_copies(&mut engine.journal(), &observed, report)?;
    report.problems.extend(late?);
    if summary.is_still {
        refresh_stamps(&mut engine.store, &observed)?;
    }
    finish_cycle(engine, &observed, report, &summary, stop.is_some())?;
    // An editor may have saved half of the ignore rules; the second look finds them whole.
    report.look_again.append(&mut observed.mirror.unhidden);
    if stop.is_none() {
        bind_home(&mut engine.store, engine.folders.home.as_ref(), &observed)?;
    }
    if was_first_pull {
        record_unknown_articles(&mut engine.store, &observed)?;
    }
    note_rollbacks(&mut engine.store, &observed, report)?;
    // Dropped now: until the next cycle they would keep memory pages alive.
    engine.gathered = Gathered::default();
    Ok(stop)
}

/// Observes both sides and makes the plan. If the plan of a partial look concerns other articles, looks at everything
/// and plans again.
async fn decide<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
) -> anyhow::Result<(Plan, Observation)> {
    loop {
        let Some(observed) = Box::pin(observe(engine)).await? else {
            widen_look(engine);
            continue;
        };
        let extent = observed.extent;
        let (plan, observed) = plan_for(engine, observed)?;
        if extent == Extent::All || is_enough(&plan) {
            return Ok((plan, observed));
        }
        // The plan reaches beyond these articles: the next look compares everything.
        if extent == Extent::Differences {
            engine.store.write_unless_dry_run(|tx| {
                tx.end_rest()?;
                Ok(())
            })?;
        }
        widen_look(engine);
    }
}

/// Makes the plan for an observation.
fn plan_for<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    mut observed: Observation,
) -> anyhow::Result<(Plan, Observation)> {
    observed.mark_read_first();
    if engine.git.is_there() {
        observed.reopen_conflicts();
    }
    let bodies = bodies(&engine.store, &observed)?;
    let policy = engine.settings.policy(&engine.request);
    let in_motion = InMotion::new(&engine.request.in_motion);
    let layout = &observed.mirror.layout;
    let out_of_reach = |place: &Place| layout.ignores(place) || in_motion.covers(place);
    let world = World {
        out_of_reach: &out_of_reach,
        base: &observed.base,
        local: &observed.local,
        paired: &observed.paired,
        remote: &observed.remote,
        bodies: &bodies,
        policy: &policy,
    };
    let mut plan = reconcile::reconcile(world);
    let facts = facts(engine, &plan, &observed)?;
    // A rolled-back version on the service may be real or a stale read: the article is read before it is replaced.
    observed
        .service
        .read_first
        .extend(facts.rollbacks.remote.iter().copied());
    reconcile::guard::hold(&mut plan, &facts);
    observed.mirror.unhidden = facts.unhidden;
    // An approved roll-back is no mistake, so its files do not count towards the next one.
    let older = &facts.rollbacks.local;
    let gone_back = plan.actions.iter().filter(|action| {
        action.id.is_some_and(|id| older.contains(&id))
            && !facts.approved.contains(&action.fingerprint())
    });
    observed.gone_back = gone_back.filter_map(|action| action.id).collect();
    if let Some(doubt) = &observed.doubt {
        reconcile::guard::hold_restores(&mut plan, doubt);
    }
    plan.problems.append(&mut observed.problems);
    reconcile::order::arrange(&mut plan, &observed.base, &observed.remote);
    Ok((plan, observed))
}
