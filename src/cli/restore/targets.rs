//! Finds the versions that the arguments of `kbsync restore` name, by workspace.
//!
//! Each argument is judged on its own: an argument that names nothing does not stop the others.

use super::{
    Args,
    folder::{self, WorkspaceRestore},
    prospects,
};
use crate::{
    cli::{
        context::Context,
        exit::ExitCode,
        failure::Failure,
        paths::in_mirror,
        scope::Part,
        version_spec::{VersionSpec, became, described, is_folder, lookup},
    },
    config::Config,
    engine::restore::{Prospect, Refusal, Refused, RefusedKind, Wish},
    model::{ArticleId, Place, path::quoted},
};
use std::path::Path;

/// The versions to restore, and the arguments that name none.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// The versions, by workspace.
    pub(super) groups: Vec<WorkspaceRestore>,
    /// The refused arguments, each in place of a path.
    pub(super) refusals: Vec<Refusal>,
}

impl Targets {
    /// Finds the versions of all arguments.
    pub(super) fn of(args: &Args, context: &Context, config: &Config) -> Result<Self, Failure> {
        if args.to.is_some() && args.paths.len() > 1 {
            return Err(to_is_for_one());
        }
        let mut wanted = Self::default();
        for path in &args.paths {
            match one_argument(path, args, context, config) {
                Ok(found) => wanted.add(found),
                Err(failure) if args.paths.len() > 1 => wanted.refuse(path, failure)?,
                Err(failure) => return Err(failure),
            }
        }
        Ok(wanted)
    }

    fn add(&mut self, mut found: WorkspaceRestore) {
        self.refusals.append(&mut found.refusals);
        let known = self.groups.iter_mut();
        let Some(group) = known.into_iter().find(|group| group.part == found.part) else {
            self.groups.push(found);
            return;
        };
        group.whole |= found.whole;
        for wish in found.wishes {
            let twice = group.wishes.iter_mut();
            match twice
                .into_iter()
                .find(|known| known.subject == wish.subject)
            {
                None => group.wishes.push(wish),
                // The argument of a file overrides the argument of its folder: only the file's argument chooses a version.
                Some(known) if known.missing => *known = wish,
                Some(known) if wish.missing || *known == wish => {}
                Some(_) => self.refusals.push(Refusal {
                    path: found.name.clone(),
                    id: None,
                    why: Refused {
                        kind: RefusedKind::Impossible,
                        message: "the file is named twice, with different versions".to_owned(),
                        help: "name one version".to_owned(),
                    },
                }),
            }
        }
    }

    /// Adds an argument that names nothing to the refusals. A failure of the machine stops all arguments.
    fn refuse(&mut self, path: &Path, failure: Failure) -> Result<(), Failure> {
        let kind = match failure.code {
            ExitCode::Usage => RefusedKind::Impossible,
            ExitCode::Attention => RefusedKind::Undecided,
            ExitCode::Done
            | ExitCode::Failed
            | ExitCode::Partial
            | ExitCode::Retry
            | ExitCode::Interrupted => return Err(failure),
        };
        self.refusals.push(Refusal {
            path: path.display().to_string(),
            id: None,
            why: Refused {
                kind,
                message: failure.error.to_string(),
                help: failure.help.unwrap_or_default(),
            },
        });
        Ok(())
    }
}

fn to_is_for_one() -> Failure {
    Failure::usage(
        "--to is for one article",
        "name one file, or leave --to out",
    )
}

/// Finds the versions of one argument.
fn one_argument(
    path: &Path,
    args: &Args,
    context: &Context,
    config: &Config,
) -> Result<WorkspaceRestore, Failure> {
    let of_folder = if args.deleted {
        folder::deleted(context, config, path)?
    } else {
        folder::missing(context, config, path)?
    };
    match of_folder {
        Some(_) if args.to.is_some() => Err(Failure::usage(
            "--to is for one article, and this is a folder",
            "name a file, or leave --to out",
        )),
        Some(found) => Ok(found),
        None if args.deleted => Err(Failure::usage(
            format!("{} is not a category's folder", path.display()),
            format!(
                "`--deleted` is for folders; one article comes back with `kbsync restore {}`",
                quoted(&path.to_string_lossy())
            ),
        )),
        None => {
            let (named, wish) = wish(path, args, context, config)?;
            is_named_now(config, &named, &wish)?;
            Ok(WorkspaceRestore {
                name: named.name,
                part: named.part,
                wishes: vec![wish],
                whole: false,
                refusals: Vec::new(),
            })
        }
    }
}

/// Makes the wish for a file's path or an article's id.
fn wish(
    path: &Path,
    args: &Args,
    context: &Context,
    config: &Config,
) -> Result<(VersionSpec, Wish), Failure> {
    let named = one(context, lookup(context, config, path)?)?;
    if named.number.is_some() {
        named.version()?;
    }
    let to = match &args.to {
        Some(to) => Some(place(context, config, &named.part, to)?),
        None => None,
    };
    let wish = Wish {
        subject: named.past.subject.clone(),
        number: named.number,
        to,
        missing: false,
    };
    Ok((named, wish))
}

/// Refuses the former path of a moved file without a version's number: the user expects a missing file there, and would
/// get the file's previous version at its new path.
fn is_named_now(config: &Config, named: &VersionSpec, wish: &Wish) -> Result<(), Failure> {
    if wish.number.is_some() || named.past.article().is_none() {
        return Ok(());
    }
    let found = prospects(config, &named.part, std::slice::from_ref(wish))?;
    let moved = found.iter().find_map(|prospect| match prospect {
        Ok(Prospect::Write(prepared)) if prepared.old.is_some() => {
            Some((prepared.place.clone(), true))
        }
        Ok(Prospect::Write(_) | Prospect::IsBack { .. }) => None,
        // A file that was only moved has no previous version.
        Err(refusal) => {
            let is_there = named.part.root.path.join(&refusal.path).is_file();
            let (folder, file) = refusal.path.split_once('/').filter(|_| is_there)?;
            Some((Place::new(folder, file), false))
        }
    });
    let Some((place, has_older)) = moved.filter(|(place, _)| !named.names(place)) else {
        return Ok(());
    };
    let path = named.path(&place);
    let shown = quoted(&path);
    let help = if has_older {
        format!(
            "`kbsync restore {shown}` restores its previous version; `kbsync log {shown}` lists all versions"
        )
    } else {
        format!("`kbsync log {shown}` lists its versions")
    };
    Err(Failure::usage(
        format!("the file of {} is {path} now", named.name),
        help,
    ))
}

/// Of several articles that had a path, chooses the article that was deleted last. If time does not decide, the user
/// names the article.
fn one(context: &Context, named: VersionSpec) -> Result<VersionSpec, Failure> {
    let articles = std::iter::once(&named.past).chain(&named.others);
    let articles: Vec<_> = articles
        .filter_map(|past| Some((past.article()?, past)))
        .collect();
    if articles.len() < 2 || named.is_meant() {
        return Ok(named);
    }
    let number = named
        .number
        .map_or_else(String::new, |number| format!("@{number}"));
    let command = |id: &ArticleId| format!("kbsync restore {id}{number}");
    if named.ended_last() {
        context.out.note(format!(
            "several articles had this path; the article that was deleted last comes back: {}",
            described(&named.past)
        ));
        for (id, other) in &articles[1..] {
            let command = command(id);
            context.out.note(format!(
                "for another article: `{command}` ({})",
                became(other)
            ));
        }
        return Ok(named);
    }
    let commands: Vec<String> = articles
        .iter()
        .map(|(id, past)| format!("{}  # {}", command(id), became(past)))
        .collect();
    Err(Failure::usage(
        format!("several articles had the path {}", named.name),
        format!("name the article by its id:\n  {}", commands.join("\n  ")),
    ))
}

/// The place behind `--to`: a file in a category's folder of the same workspace.
fn place(context: &Context, config: &Config, part: &Part, to: &Path) -> Result<Place, Failure> {
    let path = in_mirror(&config.mirror, &context.current, to)?;
    let below = if part.prefix.is_empty() {
        Some(path.as_str())
    } else {
        path.strip_prefix(&part.prefix)
            .and_then(|rest| rest.strip_prefix('/'))
    };
    match below.and_then(|below| below.split_once('/')) {
        // A typing error would make a category, which the API cannot delete.
        Some((folder, file)) if !file.contains('/') && !is_folder(config, part, folder)? => {
            Err(Failure::usage(
                format!("{} is in no category's folder", to.display()),
                "check the folder's name; for a new category, make its folder first",
            ))
        }
        Some((folder, file)) if !file.contains('/') => Ok(Place::new(folder, file)),
        Some(_) | None => Err(Failure::usage(
            format!("an article of this workspace cannot be at {}", to.display()),
            "name a file like FOLDER/NAME.html",
        )),
    }
}
