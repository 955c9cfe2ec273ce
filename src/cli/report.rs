//! Prints the report of a cycle, as text or JSON.

use super::{
    ExitCode,
    action_lines::{action_lines, problem_line},
    conflict::{self, Conflict},
    context::Context,
    counts::{grouped, several},
    failure::Failure,
    print::DIM,
    session::SessionReport,
};
use crate::{
    config::Need,
    engine::{
        StopCause,
        report::{BudgetLeft, Line, Report, Status},
    },
    model::Side,
    reconcile::plan::{Kind, Problem},
};

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
        let path = failure.path.as_ref()?;
        Some(Problem::at(path, None, &failure.message))
    }));
    report
}

/// Returns the exit code of a report.
pub(super) fn code(report: &Report, exit_code: bool) -> ExitCode {
    let code = report.outcome;
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
    let broken = has_failed || report.outcome == ExitCode::Failed;
    if broken && lines.is_empty() {
        return String::new();
    }
    let mut summary = summary(report, problems.len(), broken);
    if let Some(left) = report.budget.filter(|_| is_verbose) {
        summary = format!("{summary}; {}", cost(report, left));
    }
    lines.push(summary);
    lines.join("\n")
}

/// Returns the lines about failures, skipped files, and actions that wait for a person.
fn wrong(report: &Report) -> Vec<String> {
    let failed = report.actions.iter();
    let mut lines = action_lines(failed.filter(|line| line.status == Status::Failed), &[]);
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

/// Returns the summary of the actions.
fn summary(report: &Report, problems: usize, broken: bool) -> String {
    let count =
        |wanted: &dyn Fn(&Line) -> bool| report.actions.iter().filter(|line| wanted(line)).count();
    let done = |line: &Line| matches!(line.status, Status::Done | Status::Planned);
    let only_noted = |line: &Line| matches!(line.action, Kind::Adopt | Kind::Forget);
    let is_conflict = |line: &Line| line.status == Status::Held && line.action == Kind::Conflict;
    let mut parts = Vec::new();
    let mut add = |number: usize, words: String| parts.extend((number > 0).then_some(words));
    for (side, place) in [
        (Side::Local, "in the mirror"),
        (Side::Remote, "on the service"),
        (Side::Both, "on both sides"),
    ] {
        let changes = count(&|line| done(line) && !only_noted(line) && line.side == side);
        add(changes, format!("{} ({place})", several(changes, "change")));
    }
    let conflicts = count(&is_conflict);
    add(conflicts, several(conflicts, "conflict"));
    for (status, word) in [
        (Status::Held, "held"),
        (Status::Failed, "failed"),
        (Status::Skipped, "postponed"),
    ] {
        let number = count(&|line| line.status == status && !is_conflict(line));
        add(number, format!("{number} {word}"));
    }
    let paired = count(&|line| done(line) && line.action == Kind::Adopt);
    add(paired, format!("{paired} paired"));
    add(problems, several(problems, "problem"));
    let parts = parts.join(", ");
    match (parts.is_empty(), broken) {
        (true, true) => "Nothing was done".to_owned(),
        (true, false) if report.coverage.is_partial => "Nothing to do".to_owned(),
        (true, false) => "Both sides are equal".to_owned(),
        (false, _) if report.dry_run => format!("Dry run, nothing was done: {parts}"),
        (false, _) => parts,
    }
}

/// Returns the requests of a report, and the rest of the budget.
fn cost(report: &Report, left: BudgetLeft) -> String {
    format!(
        "{DIM}{}, {} left this minute, {} today{DIM:#}",
        several(report.requests.total, "request"),
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
            fingerprint: None,
        }
    }

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&shown(report, false, &[], false)).to_string()
    }

    #[test]
    fn the_summary_counts_what_people_ask_for() {
        let mut report = Report::new(false);
        report.requests.total = 4;
        report.budget = Some(BudgetLeft {
            minute_left: 57,
            day_left: 1400,
        });
        assert_eq!(plain(&report), "Both sides are equal");
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
             1 change (in the mirror), 1 change (on the service), 1 conflict, 2 held"
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
}
