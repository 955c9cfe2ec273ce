//! Prints `kbsync restore --dry-run`: the changes in the files, in the form of `kbsync diff`.

use super::Planned;
use crate::{
    cli::{
        Outcome,
        context::Context,
        diff::{View, as_patch, formatted, show as show_text},
        exit::ExitCode,
        scope::Part,
        version_spec::below_mirror,
    },
    engine::{
        compare::Pair,
        restore::{Prepared, Prospect, Refusal},
    },
};
use serde::Serialize;

/// The JSON of the preview.
#[derive(Serialize)]
struct Shown {
    version: u32,
    files: Vec<ShownFile>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ShownFile {
    path: Option<String>,
    old_path: Option<String>,
    diff: String,
}

/// Prints the preview.
pub(super) fn show(context: &Context, planned: &[Planned], refusals: Vec<Refusal>) -> Outcome {
    let found = || {
        planned.iter().flat_map(|one| {
            let part = &one.group.part;
            one.found.iter().map(move |prospect| (part, prospect))
        })
    };
    let problems = refusals.into_iter().map(Refusal::problem);
    let problems = problems.map(|problem| format!("{}: {}", problem.path, problem.message));
    if context.out.json {
        let pairs = found().filter_map(|(part, prospect)| changed(part, prospect));
        context.out.json(&Shown {
            version: 1,
            files: pairs
                .map(|pair| ShownFile {
                    diff: as_patch(&pair),
                    path: pair.new_path,
                    old_path: pair.old_path,
                })
                .collect(),
            notes: found()
                .map(|(_, prospect)| prospect.described())
                .chain(problems)
                .collect(),
        })?;
        return Ok(ExitCode::Done);
    }
    let is_one = found().count() == 1;
    for (part, prospect) in found() {
        context.out.note(prospect.described());
        let pair = changed(part, prospect);
        // Whole articles are shown one at a time.
        if let Some(pair) = pair.filter(|pair| is_one || pair.old_path.is_some()) {
            let view = View::between("now", "restored");
            show_text(context, &formatted(context.out, &pair, view))?;
        }
    }
    for problem in problems {
        context.out.note(problem);
    }
    Ok(ExitCode::Done)
}

/// Returns a file's present and future text, if they differ.
fn changed(part: &Part, prospect: &Prospect) -> Option<Pair> {
    match prospect {
        Prospect::Write(prepared) if !prepared.is_there() => Some(pair(part, prepared)),
        Prospect::Write(_) | Prospect::IsBack { .. } => None,
    }
}

/// Returns a file's present and future text.
fn pair(part: &Part, prepared: &Prepared) -> Pair {
    let path = below_mirror(part, &prepared.place);
    Pair {
        old_path: prepared.old.as_ref().map(|_| path.clone()),
        new_path: Some(path),
        old: prepared.old.clone().unwrap_or_default(),
        new: prepared.new.clone(),
    }
}
