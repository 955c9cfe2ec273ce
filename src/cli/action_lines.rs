//! Formats actions, changes and problems as lines for a person, the same in every list.
//!
//! A list groups lines of the same kind with the same reason, and names the reason once.

use super::{
    conflict::Conflict,
    counts::several,
    print::{DIM, ERROR, GOOD, WARNING, escape},
};
use crate::{
    engine::{
        reasons::{common_reason, in_groups, reason_of_group},
        report::{Line, Status},
    },
    model::{Field, Side},
    reconcile::plan::{Kind, Problem},
};
use anstyle::Style;

/// The most entries of a group that are listed in a report.
pub(super) const NAMED: usize = 30;

/// Formats a skipped file or folder, with the reason.
pub(super) fn problem_line(problem: &Problem) -> String {
    let path = escape(&problem.path);
    let message = escape(&problem.message);
    let gap = if path.is_empty() { "" } else { ": " };
    format!("{WARNING}!{WARNING:#} {path}{gap}{message}")
}

/// A line of a list. Lines of the same kind with the same reason are put together.
pub(super) struct Entry<'l> {
    kind: Option<(Kind, Side, Status)>,
    line: String,
    path: &'l str,
    reason: &'l str,
}

impl<'l> Entry<'l> {
    /// Makes an entry with a reason; an empty reason is none.
    pub(super) const fn new(line: String, path: &'l str, reason: &'l str) -> Self {
        Self {
            kind: None,
            line,
            path,
            reason,
        }
    }
}

/// Lists entries. A reason that a group has in common follows the group once. Of a large group, as in a first sync,
/// only the first `named` entries are listed.
pub(super) fn listed(entries: &[Entry<'_>], named: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let key = |one: &Entry<'_>| (one.kind, common_reason(one.reason, one.path));
    for group in in_groups(entries, key) {
        // A rest of at most five is listed, too.
        let more = group.len().checked_sub(named).filter(|more| *more > 5);
        let named = more.map_or(group.len(), |_| named);
        lines.extend(group[..named].iter().map(|one| one.line.clone()));
        lines.extend(more.map(|more| {
            let more = several(more, "other");
            format!("    {DIM}… and {more} like this; --json names all{DIM:#}")
        }));
        let reason = reason_of_group(group.len(), group[0].reason, group[0].path);
        if !reason.is_empty() {
            lines.push(format!("    {DIM}{}{DIM:#}", escape(&reason)));
        }
    }
    lines
}

/// Returns a line for each action, and the differences of a conflict below its line.
pub(super) fn action_lines<'l>(
    actions: impl IntoIterator<Item = &'l Line>,
    conflicts: &[Conflict],
) -> Vec<String> {
    let entries = actions.into_iter().map(|line| {
        let is_conflict = line.action == Kind::Conflict && line.status == Status::Held;
        let mut conflicts = conflicts.iter().filter(|_| is_conflict);
        let sides = conflicts.find(|one| Some(one.id) == line.id && one.has_differences());
        let sides = sides.map(Conflict::lines).unwrap_or_default();
        let lines: Vec<String> = std::iter::once(action_line(line)).chain(sides).collect();
        Entry {
            kind: Some((line.action, line.side, line.status)),
            ..Entry::new(
                lines.join("\n"),
                &line.path,
                line.reason.as_deref().unwrap_or_default(),
            )
        }
    });
    listed(&entries.collect::<Vec<_>>(), NAMED)
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
    let word = format!(
        "{} {:<9}",
        sign(Some(line.action), line.side),
        line.action.verb()
    );
    let described = described(style, &word, &line.path, &line.fields);
    format!("{described}{style}{note}{style:#}")
}

/// Formats a change: its word, its path and its fields.
pub(super) fn described(style: Style, word: &str, path: &str, fields: &[Field]) -> String {
    let fields = match Field::keys(fields, ", ") {
        keys if keys.is_empty() => keys,
        keys => format!(" {DIM}({keys}){DIM:#}"),
    };
    format!("{style}{word:<9}{style:#} {}{fields}", escape(path))
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

#[cfg(test)]
mod tests {
    use super::*;

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
            fingerprint: None,
        };
        let many: Vec<Line> = (0..1_234).map(line).collect();
        let lines = action_lines(&many, &[]);
        assert_eq!(lines.len(), NAMED + 1);
        assert!(lines[NAMED].contains("1,204 others"), "{}", lines[NAMED]);
        assert_eq!(action_lines(&many[..NAMED + 5], &[]).len(), NAMED + 5);
    }
}
