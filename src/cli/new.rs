//! `kbsync new`: writes a file for a new article, which is hidden until its writer publishes it.
//!
//! A new category needs consent, because the API cannot delete a category.

use super::{ExitCode, Outcome, ask, context::Context, failure::Failure, paths, print::escape};
use crate::{
    config::{self, Folders},
    mirror::{
        disk::{At, Disk as _, DiskErrorKind, Durability, Expect, Kind, RealDisk},
        document::{CategoryDocument, Changes, Document, MAX_FILE},
    },
    model::{
        Field,
        article::{MAX_CHARS, over_limit},
        path::{
            CATEGORY_FILE, EXTENSION, is_ignored, near::likely_meant, quoted, readable, safe_stem,
            slugify,
        },
    },
};
use serde_json::json;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The category: its folder's or its own name
    #[arg(value_name = "CATEGORY")]
    category: String,
    /// The article's title
    #[arg(value_name = "TITLE")]
    title: String,
    /// Make the category if there is none of this name
    #[arg(long)]
    new_category: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let folders = config::folders(&context.request())?;
    if !folders.is_mirror {
        return Err(config::no_settings(&folders.mirror, context.request().env).into());
    }
    check_words(args)?;
    let (prefix, category) = split(&folders, &args.category)?;
    let disk = RealDisk::open(&folders.mirror.join(prefix))?;
    let categories = categories(&disk)?;
    let folder = if let Some(folder) = existing(&categories, category) {
        folder.to_owned()
    } else {
        if let Some((first, _)) = category.split_once('/') {
            let meant = existing(&categories, first);
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            return Err(Failure::usage(
                format!(
                    "\"{}\" has a `/`, but a category is one folder",
                    escape(category)
                ),
                format!("write `kbsync new CATEGORY TITLE`{}", escape(&meant)),
            ));
        }
        let known = categories.iter().map(|(folder, _)| folder.as_str());
        let near = likely_meant(category, known);
        if !args.new_category && !is_meant(args, (prefix, category), near, context)? {
            context.out.note("nothing was written");
            return Ok(ExitCode::Attention);
        }
        let folder = create_folder(&disk, category)?;
        context.out.note(format!(
            "{prefix}{folder}/ is a new category; the next sync creates it on the service"
        ));
        folder
    };
    let file = format!("{}{EXTENSION}", slugify(&args.title));
    let path = format!("{prefix}{folder}/{file}");
    let text = Document::compose(&Changes {
        title: Some(args.title.trim().to_owned()),
        enabled: Some(Some(false)),
        text: Some("<p></p>".to_owned()),
        ..Changes::default()
    });
    if !write(&disk, &folder, &file, text.as_bytes())? {
        return Err(Failure::usage(
            format!("{path} exists already, and is not overwritten"),
            "choose another title, or edit that file",
        ));
    }
    if context.out.json {
        context.out.json(&json!({ "path": path }))?;
    } else {
        let near = paths::from_current(&folders.mirror, &context.current, &path);
        context.out.line(near.display().to_string())?;
        context.out.note(
            "The article is hidden. To publish it, remove the line `enabled: false` from the file.",
        );
    }
    Ok(ExitCode::Done)
}

fn check_words(args: &Args) -> Result<(), Failure> {
    let (title, category) = (args.title.trim(), args.category.trim());
    let has_letter = |text: &str| text.contains(char::is_alphanumeric);
    if !has_letter(title) || !has_letter(category) {
        return Err(Failure::usage(
            "the category or the title has no letters",
            "write `kbsync new CATEGORY TITLE`, with quotes around words with spaces",
        ));
    }
    match over_limit([(Field::Title, title), (Field::Name, category)]) {
        None => Ok(()),
        Some((field, count)) => Err(Failure::usage(
            format!("the {field} has {count} characters; the service takes {MAX_CHARS}"),
            "shorten it",
        )),
    }
}

/// Splits off the workspace's folder, which precedes the category if there are several workspaces.
fn split<'a>(folders: &'a Folders, category: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let category = category.trim().trim_end_matches('/');
    if let [only] = folders.prefixes.as_slice() {
        return Ok((
            only,
            category.strip_prefix(only.as_str()).unwrap_or(category),
        ));
    }
    folders
        .prefixes
        .iter()
        .find_map(|prefix| Some((prefix.as_str(), category.strip_prefix(prefix.as_str())?)))
        .filter(|(_, rest)| !rest.is_empty())
        .ok_or_else(|| {
            Failure::usage(
                "this mirror holds several workspaces, and the category names none of them",
                format!(
                    "write it like `{}{category}`",
                    folders.prefixes.join("…` or `")
                ),
            )
        })
}

/// Returns the folders that may be categories, with their categories' names.
fn categories(disk: &RealDisk) -> Result<Vec<(String, String)>, Failure> {
    let entries = disk.list(At::Root)?.entries.into_iter();
    entries
        .filter(|entry| entry.kind == Kind::Folder && !is_ignored(&entry.name))
        .map(|entry| {
            let name = name_of(disk, &entry.name)?;
            Ok((entry.name, name))
        })
        .collect()
}

/// Finds a category by its folder's name, else by the category's name.
fn existing<'c>(categories: &'c [(String, String)], category: &str) -> Option<&'c str> {
    let wanted = category.to_lowercase();
    let by_folder = categories.iter().find(|(folder, _)| folder == category);
    let by_name = || {
        let mut all = categories.iter();
        all.find(|(_, name)| name.to_lowercase() == wanted)
    };
    by_folder
        .or_else(by_name)
        .map(|(folder, _)| folder.as_str())
}

/// Asks whether to create a category.
fn is_meant(
    args: &Args,
    (prefix, category): (&str, &str),
    near: Option<&str>,
    context: &Context,
) -> Result<bool, Failure> {
    let meant = near.map_or_else(String::new, |near| {
        format!("; did you mean {}?", escape(near))
    });
    let missing = format!("there is no category \"{}\"{meant}", escape(category));
    if ask::possible() && !context.out.json && !context.out.quiet {
        context.out.note(missing);
        return ask::agrees("Create this category?");
    }
    let title = quoted(args.title.trim());
    let instead = near.map_or_else(String::new, |folder| {
        format!(
            "\n  kbsync new {} {title}",
            quoted(&format!("{prefix}{folder}"))
        )
    });
    Err(Failure::usage(
        missing,
        format!(
            "name an existing category, or create one (the API cannot delete a category):{instead}\n  \
             kbsync new --new-category {} {title}",
            quoted(&format!("{prefix}{category}"))
        ),
    ))
}

/// Returns a category's name: from its file, else from its folder's name.
fn name_of(disk: &RealDisk, folder: &str) -> Result<String, Failure> {
    let at = At::Folder(folder);
    if disk
        .look(at, CATEGORY_FILE)?
        .is_some_and(|entry| entry.kind == Kind::File)
    {
        let content = disk.read(at, CATEGORY_FILE, MAX_FILE + 1)?;
        // `check` reports a broken file; its folder still has a name.
        if let Ok(document) = CategoryDocument::parse(&content.bytes)
            && let Some(name) = document.name()
        {
            return Ok(name.to_owned());
        }
    }
    Ok(readable(folder))
}

/// Creates a category's folder, with a `_category.yaml` if the folder's name does not express the category's.
fn create_folder(disk: &RealDisk, category: &str) -> Result<String, Failure> {
    let folder = if safe_stem(category) {
        category.to_owned()
    } else {
        slugify(category)
    };
    if disk.look(At::Root, &folder)?.is_some() {
        return Err(Failure::usage(
            format!("the folder `{folder}` exists and belongs to another category"),
            format!(
                "write `kbsync new {folder} TITLE` if you mean that category, or choose another name"
            ),
        ));
    }
    disk.create_folder(&folder)?;
    if folder != category && readable(&folder) != category {
        let text = CategoryDocument::compose(&Changes {
            name: Some(category.to_owned()),
            ..Changes::default()
        });
        // If another process was faster, its file stays.
        write(disk, &folder, CATEGORY_FILE, text.as_bytes())?;
    }
    disk.sync_folder(At::Root)?;
    Ok(folder)
}

/// Writes a new file. Returns whether it was written; `false`: something is there already.
fn write(disk: &RealDisk, folder: &str, file: &str, bytes: &[u8]) -> Result<bool, Failure> {
    let at = At::Folder(folder);
    if disk.look(at, file)?.is_some() {
        return Ok(false);
    }
    // The journal's own slots are positive.
    let slot = -i64::from(std::process::id());
    disk.stage(slot, at, bytes, Durability::Now)?;
    match disk.publish(slot, at, file, Expect::Absent) {
        Ok(_) => disk.sync_folder(at)?,
        Err(error) if matches!(error.kind, DiskErrorKind::Exists | DiskErrorKind::Changed) => {
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}
