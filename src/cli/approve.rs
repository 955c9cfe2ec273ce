//! `kbsync approve`: shows the held deletions, roll-backs and new categories, and approves exactly the actions shown.
//!
//! The list comes from a fresh look at both sides. If the set grows before the approval is carried out, the approval is
//! void. Without a question (`--yes`), only actions that a sync has already held and reported are approved.

use super::connect::budget_left;
use super::context::Context;
use super::counts::{several, waiting as waiting_for};
use super::exit::ExitCode;
use super::failure::Failure;
use super::print::{DIM, ERROR, escape};
use super::report;
use super::scope::{self, Part};
use super::session::{Session, SessionReport};
use super::{Outcome, ask, cycle, git_head, via_daemon};
use crate::config::{Config, Need};
use crate::daemon::job::Approval;
use crate::engine::open_actions;
use crate::engine::report::{Line, Report, Status};
use crate::engine::settings::CycleRequest;
use crate::model::Side;
use crate::reconcile::plan::{Action, HoldRule, Kind};
use crate::reconcile::snapshot::Direction;

/// Approves what is held.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Do not ask: approve what the last sync held. If more is held by now, nothing is approved
    #[arg(short, long)]
    yes: bool,
}

/// The held actions of one workspace.
struct HeldItems {
    part: Part,
    actions: Vec<Action>,
    /// The articles in a new category that wait only for the category.
    with_category: Vec<Action>,
    /// The number of actions that no sync has reported yet.
    unreported: usize,
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
    let is_handed = via_daemon::status(&config).await.is_some();
    let mut session = if is_handed {
        Session::reading(context, &config)?
    } else {
        Session::writing(context, &config, "approve", None)?
    };
    let held = look(&mut session, &config, is_handed).await?;
    session.finish();
    let looked = Report {
        requests: session.requests(),
        ..Report::new(false)
    };
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
    report.actions = held.iter().flat_map(lines).collect();
    if args.yes {
        all_reported(&held)?;
    } else if !agreed(context, &held)? {
        return Ok(ExitCode::Attention);
    }
    let mut session_report = SessionReport {
        report: looked,
        ..SessionReport::default()
    };
    if is_handed {
        let done = to_daemon(context, &config, &held).await?;
        session_report.report.add(done.report);
        session_report.daemon_token = done.daemon_token;
    } else {
        let released = release_all(&mut session, &config, held, &mut session_report).await;
        if let Err(failure) = released {
            // The actions that were done before the failure are printed as well.
            if !context.out.json {
                report::print(context, &session_report, session_report.code(false))?;
            }
            *report = session_report.report;
            return Err(failure);
        }
    }
    let code = session_report.code(false);
    report::print(context, &session_report, code)?;
    Ok(code)
}

/// Approves the held actions of each workspace, and records git's HEADs.
async fn release_all(
    session: &mut Session<'_>,
    config: &Config,
    held: Vec<HeldItems>,
    session_report: &mut SessionReport,
) -> Result<(), Failure> {
    for held in held {
        release(session, held, session_report).await?;
    }
    let request = CycleRequest::new(Direction::Both);
    session.agree(&scope::all(config), &request, session_report)?;
    session.finish();
    Ok(())
}

/// Returns the held actions of every workspace, from a fresh look at both sides.
async fn look(
    session: &mut Session<'_>,
    config: &Config,
    read_only: bool,
) -> Result<Vec<HeldItems>, Failure> {
    let mut held = Vec::new();
    for part in scope::all(config) {
        let request = session.guarded(&CycleRequest::new(Direction::Both));
        let mut engine = session.engine(&part, read_only)?;
        let plan = engine.plan(&request).await;
        let planned = plan.map_err(Failure::of)?.actions.into_iter();
        let rule = |action: &Action| action.held.as_ref().map(|hold| hold.rule);
        let (actions, mut with_category): (Vec<Action>, Vec<Action>) =
            planned.partition(|action| {
                // A conflict is settled by `resolve`: an approval would send neither version.
                action.kind != Kind::Conflict && rule(action).is_some_and(HoldRule::approvable)
            });
        with_category.retain(|action| {
            rule(action) == Some(HoldRule::Waits) && is_in_new_category(action, &actions)
        });
        let unreported = open_actions::count_unreported(engine.store(), &actions);
        session.give_back(engine);
        if !actions.is_empty() {
            held.push(HeldItems {
                part,
                actions,
                with_category,
                unreported: unreported.map_err(Failure::of)?,
            });
        }
    }
    Ok(held)
}

/// Returns whether an action is about a file in the folder of a held new category.
fn is_in_new_category(action: &Action, held: &[Action]) -> bool {
    let mut created = held.iter().filter(|held| held.kind == Kind::CreateCategory);
    created.any(|category| {
        let below = action.path.strip_prefix(&category.path);
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
    Err(Failure {
        code: ExitCode::Attention,
        ..Failure::failed(anyhow::Error::msg(format!(
            "the last sync did not hold {unreported} of the {} above, so nothing was approved",
            several(all, "action")
        )))
        .help("run `kbsync sync`, look at what it holds, then run `kbsync approve --yes`")
    })
}

/// Returns a line for each held action of a workspace, with paths below the mirror.
fn lines(held: &HeldItems) -> impl Iterator<Item = Line> {
    held.actions.iter().map(|action| line(held, action))
}

fn line(held: &HeldItems, action: &Action) -> Line {
    Line {
        path: held.part.path(&action.path),
        ..Line::of(action, Status::Held, None)
    }
}

fn show(context: &Context, held: &[HeldItems]) -> Result<(), Failure> {
    if context.out.json {
        return Ok(());
    }
    for one in held {
        for action in &one.actions {
            context.out.line(shown(&line(one, action), ""))?;
            let inside = one.with_category.iter();
            let inside =
                inside.filter(|with| is_in_new_category(with, std::slice::from_ref(action)));
            for with in inside {
                context.out.line(shown(&line(one, with), "  and then "))?;
            }
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
    let fields: Vec<_> = line.fields.iter().map(|field| field.key()).collect();
    let fields = if fields.is_empty() {
        String::new()
    } else {
        format!(" ({})", fields.join(", "))
    };
    let (word, path) = (line.action.verb(), escape(&line.path));
    format!("{before}{ERROR}{word:<9}{ERROR:#} {path}{DIM}{fields} {place}{DIM:#}")
}

fn agreed(context: &Context, held: &[HeldItems]) -> Result<bool, Failure> {
    let actions = held.iter().flat_map(|one| &one.actions);
    let these = waiting_for(actions.clone().count(), "action");
    let with_category = held.iter().map(|one| one.with_category.len()).sum();
    let consequences = consequences(actions, with_category);
    if context.out.json || context.out.quiet || !ask::possible() {
        let why = if context.out.quiet {
            "-q asks no questions"
        } else {
            "there is no terminal to ask on"
        };
        return Err(Failure {
            code: ExitCode::Attention,
            ..Failure::failed(anyhow::Error::msg(format!(
                "{these} for approval, and {why}"
            )))
            .help("look at the list, then run `kbsync approve --yes`")
        });
    }
    context.out.note(consequences);
    let yes = ask::agrees("Approve this?")?;
    if !yes {
        context.out.note("nothing was approved");
    }
    Ok(yes)
}

/// Lets the daemon store the approvals and carry them out.
async fn to_daemon(
    context: &Context,
    config: &Config,
    held: &[HeldItems],
) -> Result<SessionReport, Failure> {
    let approvals = held
        .iter()
        .flat_map(|one| &one.actions)
        .map(|action| Approval {
            side: action.side,
            mark: action.fingerprint(),
        })
        .collect();
    let request = CycleRequest::new(Direction::Both);
    let command = via_daemon::cycle_command(&scope::all(config), &request, approvals);
    let session_report = via_daemon::to_daemon(context, config, command).await?;
    session_report.ok_or_else(|| {
        let gone = anyhow::anyhow!("the daemon ended meanwhile, and nothing was approved");
        Failure {
            code: ExitCode::Retry,
            ..Failure::failed(gone).help("run the command again")
        }
    })
}

/// Returns the consequences of the approval, for the question. `with_category`: the number of articles that come with
/// the new categories.
fn consequences<'a>(actions: impl Iterator<Item = &'a Action>, with_category: usize) -> String {
    let (mut articles, mut files, mut older, mut moved, mut created) = (0, 0, 0, 0, 0);
    let mut categories = Vec::new();
    for action in actions {
        match (action.deletes(), action.kind) {
            (Some(Side::Remote), _) => articles += 1,
            (Some(Side::Local | Side::Both), _) => files += 1,
            (None, Kind::CreateCategory) => categories.push(escape(&action.path).into_owned()),
            (None, Kind::Create) => created += 1,
            (None, Kind::Move) => moved += 1,
            (
                None,
                Kind::Update
                | Kind::Delete
                | Kind::Adopt
                | Kind::Forget
                | Kind::Merge
                | Kind::Conflict
                | Kind::Restore
                | Kind::UpdateCategory,
            ) => older += 1,
        }
    }
    let mut consequences = Vec::new();
    let mut add = |number: usize, deed: String| {
        if number > 0 {
            consequences.push(deed);
        }
    };
    add(
        articles,
        format!(
            "delete {} on the service, permanently",
            several(articles, "article")
        ),
    );
    add(files, format!("remove {}", several(files, "file")));
    add(
        older,
        format!(
            "replace the newest version of {}",
            several(older, "article")
        ),
    );
    add(moved, format!("move {} back", several(moved, "article")));
    add(created, format!("create {}", several(created, "article")));
    add(
        categories.len(),
        format!(
            "create {} ({}), which cannot be deleted through the API",
            several(categories.len(), "category"),
            categories.join(", ")
        ),
    );
    add(
        with_category,
        format!("create {} there", several(with_category, "article")),
    );
    let consequences = consequences.join("; ");
    let mut letters = consequences.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Stores the approvals and runs a cycle. Approvals that the cycle did not use are deleted, unless the cycle was
/// interrupted.
async fn release(
    session: &mut Session<'_>,
    held: HeldItems,
    session_report: &mut SessionReport,
) -> Result<(), Failure> {
    let HeldItems { part, actions, .. } = held;
    let request = session.guarded(&CycleRequest::new(Direction::Both));
    let mut engine = session.engine(&part, false)?;
    let marks: Vec<_> = actions
        .iter()
        .map(|action| (action.side, action.fingerprint()))
        .collect();
    engine.store_mut().write(|state| {
        let mut marks = marks.iter();
        marks.try_for_each(|(side, mark)| state.approve(*side, *mark))
    })?;
    let outcome = engine.settle(&request).await;
    let cut_off = outcome
        .as_ref()
        .map_or(true, |report| report.stopped.is_some());
    if !cut_off {
        engine.store_mut().write(|state| {
            let mut marks = marks.iter();
            marks.try_for_each(|(side, mark)| state.take_approval(*side, *mark))
        })?;
    }
    session.give_back(engine);
    session_report.report.add(outcome.map_err(Failure::of)?);
    Ok(())
}
