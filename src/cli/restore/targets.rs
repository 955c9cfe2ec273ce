//! Finds the versions that the arguments of `kbsync restore` name, by workspace.
//!
//! An argument that names nothing stops all: nothing is asked and nothing is restored.

use super::{Args, folder};
use crate::{
    cli::{
        context::Context,
        failure::Failure,
        paths::in_mirror,
        scope::Part,
        version_spec::{VersionSpec, became, described, is_at, lookup},
    },
    config::Config,
    engine::{
        open,
        restore::{self, Refused, RestoreRequest, RestoredFile},
    },
    mirror::RealDisk,
    model::{Digest, Place, path::quoted},
};
use std::{mem::take, path::Path};

/// The versions to restore in one workspace.
#[derive(Debug)]
pub(super) struct Group {
    /// The workspace.
    pub(super) part: Part,
    /// The versions.
    pub(super) asked: Vec<Asked>,
    /// Whether the versions are all missing files of the workspace.
    pub(super) whole: bool,
    /// The files that would be written; none before [`Group::prepare`].
    pub(super) found: Vec<RestoredFile>,
    /// The requests that are refused.
    pub(super) refused: Vec<Refused>,
}

/// A version that an argument named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    /// The version.
    pub(super) request: RestoreRequest,
    /// Only for an article that was named by its path: the argument, and the path in the workspace.
    named: Option<(String, String)>,
}

impl Group {
    /// Makes a group without versions.
    pub(super) const fn new(part: Part) -> Self {
        Self {
            part,
            asked: Vec::new(),
            whole: false,
            found: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Prepares the files. Returns the requests that the engine refuses, and will refuse again.
    pub(super) fn prepare(&mut self, config: &Config) -> Result<Vec<Refused>, Failure> {
        let part = &self.part;
        let mut store = open::read_state(config, &part.root)?;
        let disk = RealDisk::open(&part.root.path)?;
        let requests = self.asked.iter().map(|one| one.request.clone());
        let requests: Vec<RestoreRequest> = requests.collect();
        let each = restore::prepare(&disk, &mut store, &requests)?;
        let mut refused = Vec::new();
        for (mut one, file) in take(&mut self.asked).into_iter().zip(each) {
            if let Some(moved) = one.moved(part, &file) {
                self.refused.push(moved);
                continue;
            }
            match file {
                Ok(file) => {
                    one.request = file.agreed(&one.request);
                    self.found.push(file);
                }
                Err(why) => {
                    // Nothing was shown: a file that can be restored by then is left as it is.
                    one.request.shown = Some(Digest::of_parts(&[]));
                    let path = part.path(&why.path);
                    refused.push(Refused { path, ..why });
                }
            }
            self.asked.push(one);
        }
        Ok(refused)
    }
}

impl Asked {
    /// A version that was named by an id or a folder.
    pub(super) const fn of(request: RestoreRequest) -> Self {
        Self {
            request,
            named: None,
        }
    }

    /// Refuses the former path of a moved file without a version's number: the user expects a missing file there, and
    /// would get the previous version of the file at its new path.
    fn moved(&self, part: &Part, found: &Result<RestoredFile, Refused>) -> Option<Refused> {
        let named = self.named.as_ref();
        let (name, below) = named.filter(|_| self.request.number.is_none())?;
        let (path, id) = match found {
            Ok(file) => (file.target.place.to_string(), file.target.id),
            Err(refused) => (refused.path.clone(), refused.id),
        };
        let is_there = match found {
            Ok(file) => file.old().is_some(),
            // A file that was only moved has no previous version.
            Err(_) => part.root.path.join(&path).is_file(),
        };
        if !is_there || is_at(&path, below) {
            return None;
        }
        let path = part.path(&path);
        let shown = quoted(&path);
        let help = format!(
            "`kbsync log {shown}` lists its versions, `kbsync restore {shown}` restores the previous one"
        );
        let message = format!("the file of {name} is {path} now");
        Some(Refused::impossible(message, help).at(path, id))
    }
}

/// Finds the versions of all arguments, by workspace.
pub(super) fn groups(
    args: &Args,
    context: &Context,
    config: &Config,
) -> Result<Vec<Group>, Failure> {
    if args.to.is_some() && args.paths.len() > 1 {
        return Err(Failure::usage(
            "--to is for one article",
            "name one file, or leave --to out",
        ));
    }
    let mut groups = Vec::new();
    for path in &args.paths {
        add(
            &mut groups,
            one_argument(path, args, context, config)?,
            path,
        )?;
    }
    Ok(groups)
}

fn add(groups: &mut Vec<Group>, mut found: Group, path: &Path) -> Result<(), Failure> {
    let Some(group) = groups.iter_mut().find(|group| group.part == found.part) else {
        groups.push(found);
        return Ok(());
    };
    group.whole |= found.whole;
    group.refused.append(&mut found.refused);
    for asked in found.asked {
        let mut known = group.asked.iter_mut();
        let subject = &asked.request.subject;
        match known.find(|known| known.request.subject == *subject) {
            None => group.asked.push(asked),
            // The argument of a file overrides the argument of its folder: only the file's argument chooses a version.
            Some(known) if known.request.missing => *known = asked,
            Some(known) if asked.request.missing || known.request == asked.request => {}
            Some(_) => {
                return Err(Failure::usage(
                    format!(
                        "the file of {} is named twice, with different versions",
                        path.display()
                    ),
                    "name one version",
                ));
            }
        }
    }
    Ok(())
}

/// Finds the versions of one argument.
fn one_argument(
    path: &Path,
    args: &Args,
    context: &Context,
    config: &Config,
) -> Result<Group, Failure> {
    match folder::group(context, config, path, args.deleted)? {
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
        None => one_version(path, args, context, config),
    }
}

/// Finds the version of a file's path or an article's id.
fn one_version(
    path: &Path,
    args: &Args,
    context: &Context,
    config: &Config,
) -> Result<Group, Failure> {
    let named = one(context, lookup(context, config, path)?)?;
    if named.number.is_some() {
        named.version()?;
    }
    let to = args.to.as_deref();
    let to = to.map(|to| place(context, config, &named.part, to));
    let below = named.below.filter(|_| named.history.article().is_some());
    let asked = Asked {
        request: RestoreRequest {
            number: named.number,
            to: to.transpose()?,
            ..RestoreRequest::of(named.history.subject)
        },
        named: below.map(|below| (named.name, below)),
    };
    Ok(Group {
        asked: vec![asked],
        ..Group::new(named.part)
    })
}

/// Of several articles that had a path, chooses the article that was deleted last. If the times do not decide, the user
/// must name the article.
fn one(context: &Context, named: VersionSpec) -> Result<VersionSpec, Failure> {
    let articles = std::iter::once(&named.history).chain(&named.others);
    let articles = articles.filter_map(|history| Some((history.article()?, history)));
    let number = named.number;
    let number = number.map_or_else(String::new, |number| format!("@{number}"));
    let commands: Vec<(String, String)> = articles
        .map(|(id, history)| (format!("kbsync restore {id}{number}"), became(history)))
        .collect();
    if commands.len() < 2 || named.is_meant() {
        return Ok(named);
    }
    if !named.ended_last() {
        let lines = commands
            .iter()
            .map(|(command, became)| format!("\n  {command}  # {became}"));
        return Err(Failure::usage(
            format!("several articles had the path {}", named.name),
            format!("name the article by its id:{}", lines.collect::<String>()),
        ));
    }
    context.out.note(format!(
        "several articles had this path; the article that was deleted last comes back: {}",
        described(&named.history)
    ));
    for (command, _) in &commands[1..] {
        context
            .out
            .note(format!("for another article: `{command}`"));
    }
    Ok(named)
}

/// Returns the place for `--to`: a file in a category's folder of the same workspace.
fn place(context: &Context, config: &Config, part: &Part, to: &Path) -> Result<Place, Failure> {
    let path = in_mirror(&config.mirror, &context.current, to)?;
    let below = part.below(&path).and_then(|below| below.split_once('/'));
    match below.filter(|(_, file)| !file.contains('/')) {
        // A typing error would make a category, which the API cannot delete.
        Some((folder, _)) if !part.has_folder(config, folder)? => Err(Failure::usage(
            format!("{} is in no category's folder", to.display()),
            "check the folder's name; for a new category, make its folder first",
        )),
        Some((folder, file)) => Ok(Place::new(folder, file)),
        None => Err(Failure::usage(
            format!("an article of this workspace cannot be at {}", to.display()),
            "name a file like FOLDER/NAME.html",
        )),
    }
}
