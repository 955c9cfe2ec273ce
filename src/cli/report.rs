//! Prints the report of a cycle, as text or JSON.

use super::{
    conflict::{self, Conflict},
    context::Context,
    counts::{grouped, several},
    exit::ExitCode,
    failure::Failure,
    print::{DIM, ERROR, GOOD, WARNING, escape},
    session::SessionReport,
};
use crate::{
    config::Need,
    engine::{
        StopCause,
        reasons::{common_reason, in_groups, reason_of_group},
        report::{BudgetLeft, Ending, Line, Report, Status},
    },
    model::Side,
    reconcile::plan::{Kind, Problem},
};
use anstyle::Style;

/// Prints the report of a command, and its failures.
pub(super) fn print(
    context: &Context,
    session_report: &SessionReport,
    code: ExitCode,
) -> Result<(), Failure> {
    let report = &session_report.report;
    let failures = session_report.failures.iter().cloned();
    let failures: Vec<Failure> = failures.map(Failure::from).collect();
    if context.out.json {
        let report = with_failures(session_report);
        context.out.json_report(&report, failures.first(), code)?;
    } else if context.out.quiet {
        // Failures and skipped files are errors; the exit code shows what waits for a person.
        for line in wrong(report) {
            context.out.wrong(line);
        }
    } else {
        let text = shown(
            report,
            !failures.is_empty(),
            &conflicts(context, report),
            context.global.verbose > 0,
        );
        if !text.is_empty() {
            context.out.line(text)?;
        }
    }
    for failure in &failures {
        context.out.failure(failure);
    }
    Ok(())
}

/// Returns the report for a script: workspaces that failed are problems.
fn with_failures(session_report: &SessionReport) -> Report {
    let mut report = session_report.report.clone();
    let failures = session_report.failures.iter();
    report.problems.extend(failures.filter_map(|failure| {
        Some(Problem {
            path: failure.path.clone()?,
            id: None,
            message: failure.message.clone(),
        })
    }));
    report
}

/// Returns the exit code of a report.
pub(super) fn code(report: &Report, exit_code: bool) -> ExitCode {
    let code = match report.outcome {
        Ending::Done => ExitCode::Done,
        Ending::Failed => ExitCode::Failed,
        Ending::Attention => ExitCode::Attention,
        Ending::Partial => ExitCode::Partial,
        Ending::Retry => ExitCode::Retry,
    };
    if !report.dry_run {
        return code;
    }
    match code {
        ExitCode::Failed | ExitCode::Usage | ExitCode::Interrupted | ExitCode::Terminated => code,
        ExitCode::Retry if report.stopped.is_some() => code,
        ExitCode::Done | ExitCode::Attention | ExitCode::Partial | ExitCode::Retry => {
            if exit_code && !report.is_quiet() {
                ExitCode::Failed
            } else {
                ExitCode::Done
            }
        }
    }
}

/// Returns the open conflicts if the report has any. If they cannot be read, only their reasons are shown.
fn conflicts(context: &Context, report: &Report) -> Vec<Conflict> {
    let mut lines = report.actions.iter();
    if !lines.any(|line| line.action == Kind::Conflict && line.status == Status::Held) {
        return Vec::new();
    }
    let config = context.config(Need::Workspace);
    config
        .and_then(|config| conflict::open(&config))
        .unwrap_or_default()
}

fn shown(report: &Report, has_failed: bool, conflicts: &[Conflict], is_verbose: bool) -> String {
    let mut lines = action_lines(&report.actions, conflicts);
    let problems = problems(report);
    lines.extend(problems.iter().map(|problem| problem_line(problem)));
    let broken = has_failed || report.outcome == Ending::Failed;
    if broken && lines.is_empty() {
        return String::new();
    }
    let mut summary = summary(report, problems.len(), broken);
    if let Some(left) = report.budget.filter(|left| is_verbose || is_low(*left)) {
        summary = format!("{summary}; {}", cost(report, left));
    }
    lines.push(summary);
    lines.join("\n")
}

/// Returns the lines about failures and skipped files.
fn wrong(report: &Report) -> Vec<String> {
    let failed = report.actions.iter();
    let failed = failed.filter(|line| line.status == Status::Failed).cloned();
    let mut lines = action_lines(&failed.collect::<Vec<_>>(), &[]);
    lines.extend(problems(report).into_iter().map(problem_line));
    lines
}

/// Returns the problems, except the failure that ended the whole cycle.
fn problems(report: &Report) -> Vec<&Problem> {
    let stop = report.stopped.as_ref();
    let stop = stop.filter(|stop| stop.cause != StopCause::Git);
    let told = stop.map(|stop| &stop.message);
    let problems = report.problems.iter();
    problems
        .filter(|problem| Some(&problem.message) != told)
        .collect()
}

/// Formats a skipped file or folder, with the reason.
pub(super) fn problem_line(problem: &Problem) -> String {
    let path = escape(&problem.path);
    let message = escape(&problem.message);
    let gap = if path.is_empty() { "" } else { ": " };
    format!("{WARNING}!{WARNING:#} {path}{gap}{message}")
}

/// A report shows the budget if this minute has fewer requests left.
const LOW_MINUTE: u32 = 10;
/// A report shows the budget if this day has fewer requests left.
const LOW_DAY: u32 = 150;

/// The most actions of a group that are listed.
const NAMED: usize = 30;

/// Returns how many of a number of items are listed, and the line about the rest. A rest of at most five is listed,
/// too.
pub(super) fn some_of(number: usize) -> (usize, Option<String>) {
    if number <= NAMED + 5 {
        return (number, None);
    }
    let more = grouped(u32::try_from(number - NAMED).unwrap_or(u32::MAX));
    let line = format!("    {DIM}… and {more} more like these; --json names them all{DIM:#}");
    (NAMED, Some(line))
}

/// The common property of a group of actions.
#[derive(PartialEq, Eq, Hash)]
enum GroupKey {
    /// Actions that wait for this reason.
    Reason(String),
    /// Similar actions with only waiting actions between them. The number counts such series.
    Series(usize),
}

/// Returns one line for each action; a reason that a group has in common follows the group once. Of a large group, as
/// in a first sync, only the first actions are listed.
fn action_lines(actions: &[Line], conflicts: &[Conflict]) -> Vec<String> {
    let sides = |line: &Line| {
        let is_held = line.action == Kind::Conflict && line.status == Status::Held;
        line.id
            .filter(|_| is_held)
            .and_then(|id| conflict::with_both_sides(conflicts, id))
    };
    let alike = |line: &Line| (line.action, line.side, line.status, line.reason.clone());
    let (mut series, mut previous) = (0, None);
    let key = |line: &Line| {
        let has_sides = sides(line).is_some();
        let is_held = line.status == Status::Held && !has_sides;
        if let Some(reason) = line.reason.as_ref().filter(|_| is_held) {
            return GroupKey::Reason(common_reason(reason, &line.path));
        }
        let current = (!has_sides).then(|| alike(line));
        if current.is_none() || current != previous {
            series += 1;
        }
        previous = current;
        GroupKey::Series(series)
    };
    let mut lines = Vec::new();
    for group in in_groups(actions, key) {
        let (named, more) = some_of(group.len());
        lines.extend(group[..named].iter().map(|line| action_line(line)));
        lines.extend(more);
        lines.extend(sides(group[0]).into_iter().flat_map(Conflict::lines));
        if let Some(reason) = &group[0].reason {
            let reason = reason_of_group(group.len(), reason, &group[0].path);
            lines.push(format!("    {DIM}{}{DIM:#}", escape(&reason)));
        }
    }
    lines
}

/// Formats an action: its sign, its word, its path and its fields.
pub(super) fn action_line(line: &Line) -> String {
    let (style, note) = match line.status {
        Status::Done | Status::Planned => (style_of(line.action), ""),
        Status::Held if line.action == Kind::Conflict => (WARNING, ""),
        Status::Held => (WARNING, " held"),
        Status::Failed => (ERROR, " failed"),
        Status::Skipped => (WARNING, " postponed"),
    };
    let sign = sign(Some(line.action), line.side);
    let fields: Vec<_> = line.fields.iter().map(|field| field.key()).collect();
    let fields = if fields.is_empty() {
        String::new()
    } else {
        format!(" {DIM}({}){DIM:#}", fields.join(", "))
    };
    let (word, path) = (line.action.verb(), escape(&line.path));
    format!("{style}{sign} {word:<9}{style:#} {path}{fields}{style}{note}{style:#}")
}

/// Returns the sign of an action: of a conflict, or of the side that changes.
pub(super) const fn sign(action: Option<Kind>, side: Side) -> &'static str {
    match (action, side) {
        (Some(Kind::Conflict), _) => "⚡",
        (_, Side::Local) => "←",
        (_, Side::Remote) => "→",
        (_, Side::Both) => "↔",
    }
}

/// Returns the action with this name in JSON, in the state or in the log.
pub(super) fn kind_named(name: &str) -> Option<Kind> {
    serde_json::from_value(name.into()).ok()
}

fn style_of(kind: Kind) -> Style {
    match kind {
        Kind::Delete => ERROR,
        Kind::Conflict => WARNING,
        Kind::Adopt | Kind::Forget => DIM,
        Kind::Create
        | Kind::Update
        | Kind::Move
        | Kind::Merge
        | Kind::Restore
        | Kind::CreateCategory
        | Kind::UpdateCategory => GOOD,
    }
}

/// Returns the summary of the actions.
fn summary(report: &Report, problems: usize, broken: bool) -> String {
    let count =
        |wanted: &dyn Fn(&Line) -> bool| report.actions.iter().filter(|line| wanted(line)).count();
    let done = |line: &Line| matches!(line.status, Status::Done | Status::Planned);
    let only_noted = |line: &Line| matches!(line.action, Kind::Adopt | Kind::Forget);
    let moves = |line: &Line| done(line) && !only_noted(line);
    let here = count(&|line| moves(line) && line.side != Side::Remote);
    let there = count(&|line| moves(line) && line.side != Side::Local);
    let changes = count(&moves);
    let mut parts = Vec::new();
    if changes > 0 {
        let sides = match (here, there) {
            (0, _) => "on the service".to_owned(),
            (_, 0) => "in the mirror".to_owned(),
            (here, there) if here == changes && there == changes => "on both sides".to_owned(),
            (here, there) => format!("{here} in the mirror, {there} on the service"),
        };
        parts.push(format!("{} ({sides})", several(changes, "change")));
    }
    let mut add = |number: usize, words: &str| {
        if number > 0 {
            parts.push(words.replace('#', &number.to_string()));
        }
    };
    let conflicts = count(&|line| line.status == Status::Held && line.action == Kind::Conflict);
    add(conflicts, &several(conflicts, "conflict"));
    add(
        count(&|line| line.status == Status::Held && line.action != Kind::Conflict),
        "# held",
    );
    add(count(&|line| line.status == Status::Failed), "# failed");
    add(count(&|line| line.status == Status::Skipped), "# postponed");
    let of = |kind| count(&|line| done(line) && line.action == kind);
    add(of(Kind::Adopt), "# paired");
    // A category whose folder was removed stays on the service.
    let gone = |line: &Line| done(line) && line.action == Kind::Forget;
    let stays = count(&|line| gone(line) && line.side == Side::Local);
    add(of(Kind::Forget) - stays, "# gone from both sides");
    add(stays, "# gone from the mirror");
    add(problems, &several(problems, "problem"));
    match (parts.is_empty(), broken) {
        (true, true) => "Nothing was done".to_owned(),
        (true, false) if report.coverage.is_partial => "Nothing to do".to_owned(),
        (true, false) => "Both sides are equal".to_owned(),
        (false, _) if report.dry_run => format!("Dry run, nothing was done: {}", parts.join(", ")),
        (false, _) => parts.join(", "),
    }
}

/// Returns whether the budget is so low that a person should know.
fn is_low(left: BudgetLeft) -> bool {
    left.minute_left < LOW_MINUTE || left.day_left < LOW_DAY
}

fn cost(report: &Report, left: BudgetLeft) -> String {
    let requests = usize::try_from(report.requests.total).unwrap_or(usize::MAX);
    format!(
        "{DIM}{}, {} left this minute, {} today{DIM:#}",
        several(requests, "request"),
        grouped(left.minute_left),
        grouped(left.day_left)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::control::Refusal;
    use crate::model::Field;

    fn line(action: Kind, side: Side, path: &str, status: Status, reason: Option<&str>) -> Line {
        Line {
            action,
            side,
            path: path.into(),
            id: None,
            fields: vec![Field::Title],
            status,
            reason: reason.map(str::to_owned),
            rule: None,
        }
    }

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&shown(report, false, &[], false)).to_string()
    }

    #[test]
    fn the_summary_counts_what_people_ask_for() {
        let mut report = Report::new(false);
        report.requests.total = 4;
        let left = |minute_left| {
            Some(BudgetLeft {
                minute_left,
                day_left: 1400,
            })
        };
        report.budget = left(57);
        assert_eq!(plain(&report), "Both sides are equal");
        report.budget = left(9);
        assert_eq!(
            plain(&report),
            "Both sides are equal; 4 requests, 9 left this minute, 1,400 today"
        );
        report.budget = left(57);
        report.actions = vec![
            line(Kind::Update, Side::Remote, "a/1.html", Status::Done, None),
            line(Kind::Create, Side::Local, "a/2.html", Status::Done, None),
            line(
                Kind::Conflict,
                Side::Both,
                "a/3.html",
                Status::Held,
                Some("both"),
            ),
            line(
                Kind::Delete,
                Side::Remote,
                "a/4.html",
                Status::Held,
                Some("too many"),
            ),
            line(
                Kind::Delete,
                Side::Remote,
                "a/5.html",
                Status::Held,
                Some("too many"),
            ),
        ];
        assert_eq!(
            plain(&report),
            "→ update    a/1.html (title)\n\
             ← create    a/2.html (title)\n\
             ⚡ conflict  a/3.html (title)\n    both\n\
             → delete    a/4.html (title) held\n\
             → delete    a/5.html (title) held\n    too many\n\
             2 changes (1 in the mirror, 1 on the service), 1 conflict, 2 held"
        );
    }

    #[test]
    fn one_reason_of_several_files_is_told_once_with_a_placeholder() {
        let mut report = Report::new(false);
        report.budget = Some(BudgetLeft {
            minute_left: 57,
            day_left: 1400,
        });
        let held = |path: &str| {
            let reason = format!("it went back; `kbsync restore {path}` undoes that");
            line(
                Kind::Update,
                Side::Remote,
                path,
                Status::Held,
                Some(&reason),
            )
        };
        let other = |path| line(Kind::Move, Side::Remote, path, Status::Held, Some("taken"));
        report.actions = vec![held("a/1.html"), other("a/2.html"), held("a/3.html")];
        assert_eq!(
            plain(&report),
            "→ update    a/1.html (title) held\n\
             → update    a/3.html (title) held\n    it went back; `kbsync restore PATH` undoes that\n\
             → move      a/2.html (title) held\n    taken\n\
             3 held"
        );
        report.actions.pop();
        assert!(plain(&report).contains("`kbsync restore a/1.html` undoes"));
    }

    #[test]
    fn a_workspace_that_failed_is_a_problem_for_scripts_and_an_error_for_people() {
        let session_report = SessionReport {
            report: Report::new(false),
            failures: vec![Refusal {
                code: 1,
                message: "failed to read help: input/output error".to_owned(),
                help: String::new(),
                path: Some("help".to_owned()),
            }],
        };
        assert_eq!(shown(&session_report.report, true, &[], false), "");
        let report = with_failures(&session_report);
        assert_eq!(report.problems[0].path, "help");
        assert_eq!(
            report.problems[0].message,
            session_report.failures[0].message
        );
    }

    #[test]
    fn a_category_that_stays_on_the_service_is_not_gone_from_both_sides() {
        let mut report = Report::new(false);
        let gone = |side, path| line(Kind::Forget, side, path, Status::Done, None);
        report.actions = vec![gone(Side::Local, "a"), gone(Side::Both, "b/1.html")];
        assert!(plain(&report).contains("\n1 gone from both sides, 1 gone from the mirror"));
    }

    #[test]
    fn a_dry_run_says_that_nothing_was_done() {
        let mut report = Report::new(true);
        report.actions = vec![line(
            Kind::Delete,
            Side::Local,
            "a/1.html",
            Status::Planned,
            None,
        )];
        assert!(plain(&report).contains("Dry run, nothing was done: 1 change (in the mirror)"));
        assert_eq!(code(&report, false), ExitCode::Done);
        assert_eq!(code(&report, true), ExitCode::Failed);
    }

    #[test]
    fn f140_what_others_wrote_cannot_steer_the_terminal() {
        let mut report = Report::new(false);
        report.actions = vec![line(
            Kind::Update,
            Side::Local,
            "a/\u{1b}[2J.html",
            Status::Failed,
            Some("x\u{7}"),
        )];
        assert!(!plain(&report).contains(['\u{1b}', '\u{7}']));
    }

    #[test]
    fn of_many_like_actions_some_are_named_and_the_others_counted() {
        let line = |number: usize| Line {
            action: Kind::Create,
            side: Side::Local,
            path: format!("a/{number}.html"),
            id: None,
            fields: Vec::new(),
            status: Status::Done,
            reason: None,
            rule: None,
        };
        let many: Vec<Line> = (0..1_234).map(line).collect();
        let lines = action_lines(&many, &[]);
        assert_eq!(lines.len(), NAMED + 1);
        assert!(lines[NAMED].contains("1,204 more"), "{}", lines[NAMED]);
        assert_eq!(action_lines(&many[..NAMED + 5], &[]).len(), NAMED + 5);
    }
}
