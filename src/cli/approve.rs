//! `kbsync approve`: shows the held deletions, roll-backs and new categories, and approves exactly the actions shown.
//!
//! The list comes from a fresh look at both sides. If the set grows before the approval is carried out, the approval is
//! void. Without a question (`--yes`), only actions that a sync has already held with the same content are approved.

use super::ExitCode;
use super::action_lines::{Entry, described, listed};
use super::connect::budget_left;
use super::context::Context;
use super::counts::{several, waiting as waiting_for};
use super::failure::Failure;
use super::print::{DIM, ERROR};
use super::session::Session;
use super::{Outcome, ask, cycle, git_head, locks, report, via_daemon};
use crate::config::{Config, Need};
use crate::daemon::job::{Approval, CycleCommand};
use crate::engine::report::{Line, Report, Requests};
use crate::engine::{open, open_actions};
use crate::model::Side;
use crate::reconcile::plan::{HoldRule, Kind};
use crate::reconcile::snapshot::Direction;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Do not ask: approve what the last sync held. If more is held by now, nothing is approved
    #[arg(short, long)]
    yes: bool,
}

/// The held actions of one workspace.
struct HeldItems {
    /// The prefix of the workspace's paths.
    prefix: String,
    actions: Vec<Line>,
    /// The articles in a new category that wait only for the category.
    with_category: Vec<Line>,
    /// The number of actions that no sync has reported yet.
    unreported: usize,
}

impl HeldItems {
    fn approvals(&self) -> impl Iterator<Item = Approval> {
        self.actions.iter().filter_map(|line| {
            Some(Approval {
                workspace: self.prefix.clone(),
                side: line.side,
                mark: line.fingerprint?,
            })
        })
    }
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let mut report = Report::new(false);
    let outcome = approve(args, context, &mut report).await;
    cycle::as_report(context, report, outcome)
}

/// `report` receives the actions that the question is about.
async fn approve(args: &Args, context: &Context, report: &mut Report) -> Outcome {
    let config = context.config(Need::Workspace)?;
    git_head::may_write(&config).await?;
    // If another process has the mirror, the command fails before the question.
    if via_daemon::status(&config).await.is_none() {
        drop(locks::take(&config, "approve", None)?);
    }
    let mut requests = Requests::default();
    let session = Session::open(context, &config)?;
    let held = look(&session, &config, &mut requests).await?;
    if held.is_empty() {
        if context.out.json {
            let mut empty = Report::new(false);
            empty.budget = budget_left(&config);
            context.out.json(&empty)?;
        }
        context
            .out
            .note("nothing waits for `approve`; `kbsync status` shows what else waits");
        return Ok(ExitCode::Done);
    }
    show(context, &held)?;
    report.actions = held.iter().flat_map(|one| one.actions.clone()).collect();
    if args.yes {
        all_reported(&held)?;
    } else if !agreed(context, &held)? {
        return Ok(ExitCode::Attention);
    }
    let approve = held.iter().flat_map(HeldItems::approvals).collect();
    let command = CycleCommand {
        approve,
        ..CycleCommand::new(Direction::Both)
    };
    let done = via_daemon::to_daemon(context, &config, command.clone()).await?;
    let mut session_report = match done {
        Some(done) => done,
        None => session.here("approve", command, None).await?,
    };
    session_report.report.requests.add(requests);
    let code = session_report.code(false);
    report::print(context, &session_report, code)?;
    Ok(code)
}

/// Returns the held actions of every workspace, from a fresh look at both sides. Adds the requests of the look.
async fn look(
    session: &Session<'_>,
    config: &Config,
    requests: &mut Requests,
) -> Result<Vec<HeldItems>, Failure> {
    let found = session.look().await?;
    requests.add(found.requests);
    // A conflict is settled by `resolve`: an approval would send neither version.
    let is_approvable =
        |line: &Line| line.action != Kind::Conflict && line.rule.is_some_and(HoldRule::approvable);
    let mut held = Vec::new();
    for root in config.roots() {
        let lines = found.actions.iter().cloned();
        let lines = lines.filter(|line| line.path.starts_with(&root.prefix));
        let (actions, mut with_category): (Vec<Line>, Vec<Line>) = lines.partition(is_approvable);
        with_category.retain(|line| {
            line.rule == Some(HoldRule::Waits) && is_in_new_category(line, &actions)
        });
        if actions.is_empty() {
            continue;
        }
        let store = open::read_state(config, &root)?;
        held.push(HeldItems {
            unreported: open_actions::count_unreported(&store, &root.prefix, &actions)?,
            prefix: root.prefix,
            actions,
            with_category,
        });
    }
    Ok(held)
}

/// Returns whether an action is about a file in the folder of a held new category.
fn is_in_new_category(line: &Line, held: &[Line]) -> bool {
    let mut created = held
        .iter()
        .filter(|held| held.action == Kind::CreateCategory);
    created.any(|category| {
        let below = line.path.strip_prefix(&category.path);
        below.is_some_and(|below| below.starts_with('/'))
    })
}

/// Checks for `--yes` that a sync has already reported every action.
fn all_reported(held: &[HeldItems]) -> Result<(), Failure> {
    let unreported: usize = held.iter().map(|one| one.unreported).sum();
    if unreported == 0 {
        return Ok(());
    }
    let all: usize = held.iter().map(|one| one.actions.len()).sum();
    Err(Failure::new(
        ExitCode::Attention,
        format!(
            "the last sync did not hold {unreported} of the {} above, so nothing was approved",
            several(all, "action")
        ),
        "run `kbsync sync`, look at what it holds, then run `kbsync approve --yes`",
    ))
}

fn show(context: &Context, held: &[HeldItems]) -> Result<(), Failure> {
    if context.out.json {
        return Ok(());
    }
    for one in held {
        let entries = one.actions.iter().map(|line| {
            let inside = one.with_category.iter();
            let inside = inside.filter(|with| is_in_new_category(with, std::slice::from_ref(line)));
            let inside = inside.map(|with| shown(with, "  and then "));
            let shown: Vec<String> = std::iter::once(shown(line, "")).chain(inside).collect();
            let reason = line.reason.as_deref().unwrap_or_default();
            Entry::new(shown.join("\n"), &line.path, reason)
        });
        // Only what is shown is approved, so every action is listed.
        for line in listed(&entries.collect::<Vec<_>>(), usize::MAX) {
            context.out.line(line)?;
        }
    }
    Ok(())
}

fn shown(line: &Line, before: &str) -> String {
    let place = match line.side {
        Side::Remote => "on the service",
        Side::Local => "in the mirror",
        Side::Both => "on both sides",
    };
    let described = described(ERROR, line.action.verb(), &line.path, &line.fields);
    format!("{before}{described} {DIM}{place}{DIM:#}")
}

/// The warning about actions that the API cannot undo.
const FINAL: &str =
    "A deletion on the service is permanent, and a category cannot be deleted through the API.";

fn agreed(context: &Context, held: &[HeldItems]) -> Result<bool, Failure> {
    let actions = || held.iter().flat_map(|one| &one.actions);
    if context.out.json || context.out.quiet || !ask::possible() {
        let why = if context.out.quiet {
            "-q asks no questions"
        } else {
            "there is no terminal to ask on"
        };
        let these = waiting_for(actions().count(), "action");
        return Err(Failure::new(
            ExitCode::Attention,
            format!("{these} for approval, and {why}"),
            "look at the list, then run `kbsync approve --yes`",
        ));
    }
    let is_final = |line: &Line| {
        let is_deletion = line.action == Kind::Delete && line.side == Side::Remote;
        is_deletion || line.action == Kind::CreateCategory
    };
    if actions().any(is_final) {
        context.out.note(FINAL);
    }
    let yes = ask::agrees("Approve this?")?;
    if !yes {
        context.out.note("nothing was approved");
    }
    Ok(yes)
}
